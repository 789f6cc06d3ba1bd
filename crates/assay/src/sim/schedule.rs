//! What is due when. Simultaneous events come in an order that the seed chooses; nothing else is random
//! here but the delays that are asked for.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use wire::Time;

/// Randomness of a run, all of it from one seed.
pub(super) struct Chance(ChaCha8Rng);

impl Chance {
    pub(super) fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    pub(super) fn number(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number from 0 to `end`, exclusive; 0 if `end` is 0.
    pub(super) fn below(&mut self, end: usize) -> usize {
        let end = end as u64;
        usize::try_from(self.number().checked_rem(end).unwrap_or(0)).unwrap_or(0)
    }

    /// A delay between the two, ends included.
    pub(super) fn delay(&mut self, from_us: u64, to_us: u64) -> Duration {
        Duration::from_micros(from_us + self.number() % (to_us - from_us + 1))
    }
}

/// Things that are due, earliest first.
pub(super) struct Schedule<T> {
    heap: BinaryHeap<Reverse<Entry<T>>>,
    count: u64,
}

struct Entry<T> {
    key: (Time, u64, u64),
    what: T,
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl<T> Eq for Entry<T> {}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Entry<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}

impl<T> Schedule<T> {
    pub(super) fn new() -> Self {
        Self { heap: BinaryHeap::new(), count: 0 }
    }

    /// Adds something; `tie` orders it among what is due at the same time.
    pub(super) fn add(&mut self, at: Time, tie: u64, what: T) {
        self.count += 1;
        self.heap.push(Reverse(Entry { key: (at, tie, self.count), what }));
    }

    /// When the next is due.
    pub(super) fn next_due(&self) -> Option<Time> {
        self.heap.peek().map(|Reverse(entry)| entry.key.0)
    }

    /// Takes the next, whenever it is due.
    pub(super) fn take(&mut self) -> Option<T> {
        self.heap.pop().map(|Reverse(entry)| entry.what)
    }
}

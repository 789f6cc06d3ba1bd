//! What is on its way to the standard output and the standard error: written in order, cut as a script
//! says, floods made as they go. One turn puts out a bounded amount; the rest is due at once again.

use std::collections::VecDeque;

use scenario::script::file::Split;
use wire::Time;
use wire::trace::Entry;

use super::Output;
use super::flood::Flood;

/// Bytes that one turn puts out of floods and of cut writes, about.
const TURN_BYTES: usize = 64 * 1024;
/// What a write costs of these beside its bytes.
const WRITE_COST: usize = 256;
/// Bytes that wait at most.
const WAITING_BYTES_MAX: usize = 256 * 1024 * 1024;
/// Items that wait at most.
const WAITING_ITEMS_MAX: usize = 100_000;

/// Where bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stream {
    Out,
    Err,
}

/// One thing to put out.
#[derive(Debug)]
pub(super) enum Item {
    /// Bytes to write, and the trace entry that tells of them once all are written.
    Bytes { stream: Stream, bytes: Vec<u8>, split: Option<Split>, entry: Option<Entry> },
    /// A flood, and the trace entry that tells of its end.
    Flood { stream: Stream, flood: Flood, entry: Entry },
    /// The end of the standard output.
    Close,
}

/// The queue. Each item has a number, from 1.
#[derive(Default)]
pub(super) struct Queue {
    items: VecDeque<Item>,
    /// Bytes of the first item that are written.
    begun: usize,
    /// When the first item goes on.
    due: Time,
    taken: u64,
    done: u64,
    waiting_bytes: usize,
    closed: bool,
}

impl Queue {
    /// Appends an item and says its number.
    pub(super) fn push(&mut self, item: Item) -> u64 {
        if let Item::Bytes { bytes, .. } = &item {
            self.waiting_bytes += bytes.len();
        }
        self.items.push_back(item);
        self.taken += 1;
        self.taken
    }

    /// Whether the item of this number, and all before it, are out.
    pub(super) fn is_done(&self, number: u64) -> bool {
        self.done >= number
    }

    /// Whether more waits than may.
    pub(super) fn overflows(&self) -> bool {
        self.waiting_bytes > WAITING_BYTES_MAX || self.items.len() > WAITING_ITEMS_MAX
    }

    /// When the next item goes on.
    pub(super) fn next_deadline(&self) -> Option<Time> {
        (!self.items.is_empty()).then_some(self.due)
    }

    /// Puts out what is due, as long as the turn's `allowance` lasts.
    pub(super) fn pump(&mut self, now: Time, allowance: &mut Allowance, out: &mut Vec<Output>) {
        while let Some(item) = self.items.front_mut() {
            let finished = match item {
                _ if self.due > now => return,
                Item::Close => {
                    self.closed = true;
                    out.push(Output::CloseOutput);
                    true
                }
                Item::Bytes { split: None, .. } => true,
                Item::Bytes { stream, bytes, split: Some(split), .. } => {
                    if allowance.is_used_up() {
                        self.due = now;
                        return;
                    }
                    let size = (split.bytes as usize).max(1).min(bytes.len() - self.begun);
                    let chunk = bytes[self.begun..self.begun + size].to_vec();
                    allowance.use_up(size);
                    write(*stream, chunk, self.closed, out);
                    self.begun += size;
                    self.due = now.after(split.pause.get());
                    self.begun >= bytes.len()
                }
                Item::Flood { stream, flood, .. } => {
                    if allowance.is_used_up() {
                        self.due = now;
                        return;
                    }
                    let mut chunk = Vec::new();
                    let more = flood.next(allowance.0, &mut chunk);
                    allowance.use_up(chunk.len());
                    write(*stream, chunk, self.closed, out);
                    !more
                }
            };
            if finished {
                self.finish_first(now, out);
            }
        }
    }

    fn finish_first(&mut self, now: Time, out: &mut Vec<Output>) {
        let Some(item) = self.items.pop_front() else { return };
        self.done += 1;
        self.begun = 0;
        self.due = now;
        let (stream, entry) = match item {
            Item::Bytes { stream, entry, bytes, split } => {
                self.waiting_bytes -= bytes.len();
                if split.is_none() {
                    write(stream, bytes, self.closed, out);
                }
                (stream, entry)
            }
            Item::Flood { stream, entry, .. } => (stream, Some(entry)),
            Item::Close => return,
        };
        if let Some(entry) = entry.filter(|_| stream == Stream::Err || !self.closed) {
            out.push(Output::Trace(entry));
        }
    }
}

fn write(stream: Stream, bytes: Vec<u8>, closed: bool, out: &mut Vec<Output>) {
    match stream {
        _ if bytes.is_empty() => {}
        Stream::Out if closed => {}
        Stream::Out => out.push(Output::Write(bytes)),
        Stream::Err => out.push(Output::Stderr(bytes)),
    }
}

/// What one turn may still put out.
pub(super) struct Allowance(usize);

impl Default for Allowance {
    fn default() -> Self {
        Self(TURN_BYTES)
    }
}

impl Allowance {
    pub(super) const NOTHING: Self = Self(0);

    fn is_used_up(&self) -> bool {
        self.0 == 0
    }

    fn use_up(&mut self, bytes: usize) {
        self.0 = self.0.saturating_sub(bytes + WRITE_COST);
    }
}

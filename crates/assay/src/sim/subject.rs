//! Who is judged in the simulated world: any machine that takes the loop's events and gives its effects.

use feedback::{Config, Effect, Event, Loop};
use wire::Time;

/// A loop as a plain value. [`Loop`] is one; so are loops broken on purpose.
pub trait Subject {
    /// Takes one event and appends what is to be done.
    fn handle(&mut self, event: Event, now: Time, out: &mut Vec<Effect>);
    /// When [`Event::Wake`] is due at the latest.
    fn next_deadline(&self) -> Option<Time>;
}

impl Subject for Loop {
    fn handle(&mut self, event: Event, now: Time, out: &mut Vec<Effect>) {
        Self::handle(self, event, now, out);
    }

    fn next_deadline(&self) -> Option<Time> {
        Self::next_deadline(self)
    }
}

/// Makes a subject for a session.
pub type MakeSubject = dyn Fn(Config) -> Box<dyn Subject> + Sync;

/// The reference loop.
#[must_use]
pub fn reference(config: Config) -> Box<dyn Subject> {
    Box::new(Loop::new(config))
}

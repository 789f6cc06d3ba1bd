//! What a scenario runs in. The runner speaks to this trait alone, so that a scenario means the same in
//! the simulated and in the real world, and for every loop.

use std::time::Duration;

use thiserror::Error;
use wire::Time;
use wire::trace;

use crate::protocol::{Answer, Op};
use crate::results::WorldKind;

/// The harness could not do its work; says nothing about who is judged.
#[derive(Debug, Error)]
#[error("{what}")]
pub struct HarnessError {
    /// What failed and what to do about it.
    pub what: String,
}

impl HarnessError {
    /// An error that says what failed.
    pub fn new(what: impl Into<String>) -> Self {
        Self { what: what.into() }
    }
}

/// Names one operation under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// What came of waiting for an answer.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one per operation, and nearly all are answers")]
pub enum Awaited {
    /// The loop answered, at this time of the world.
    Answered {
        /// When.
        at: Time,
        /// What.
        answer: Answer,
    },
    /// It did not answer in time.
    TimedOut,
    /// The loop itself ended.
    LoopEnded {
        /// How, with the end of its standard error.
        how: String,
    },
}

/// One start of one fake server.
#[derive(Clone, Debug)]
pub struct Instance {
    /// The server's name in the scenario.
    pub server: String,
    /// Which start of it, from 1.
    pub number: u32,
    /// Its process id; 0 in the simulated world.
    pub pid: u32,
    /// When it started, on the world's clock.
    pub started: Time,
    /// Its trace, with times on the world's clock.
    pub lines: Vec<trace::Line>,
    /// Whether it was seen to end.
    pub ended: bool,
}

/// Everything that was seen of a run, after its end.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// Every start of every server, in order.
    pub instances: Vec<Instance>,
    /// What was still running when the world was left, 2 s after the loop's end.
    pub left_behind: Vec<String>,
    /// The end of the loop's standard error, for evidence.
    pub loop_stderr: String,
}

/// A place where one loop meets its servers.
pub trait World {
    /// Which kind of world.
    fn kind(&self) -> WorldKind;
    /// The time on the world's clock; zero at its start.
    fn now(&self) -> Time;
    /// Writes a file of the workspace, atomically. `path` is relative, with `/`.
    ///
    /// # Errors
    /// When the harness can't.
    fn write_file(&mut self, path: &str, bytes: &[u8]) -> Result<(), HarnessError>;
    /// Removes a file of the workspace.
    ///
    /// # Errors
    /// When the harness can't.
    fn remove_file(&mut self, path: &str) -> Result<(), HarnessError>;
    /// Hands an operation to the loop. Operations may overlap. The first is `start`, in which the world
    /// fills in the root and, where it is empty, each server's command.
    ///
    /// # Errors
    /// When the harness can't, not when the loop doesn't take it.
    fn submit(&mut self, op: Op) -> Result<Ticket, HarnessError>;
    /// Waits for the answer to an operation.
    ///
    /// # Errors
    /// When the harness fails; a loop that does not answer is an [`Awaited`].
    fn answer(&mut self, ticket: Ticket, wait_max: Duration) -> Result<Awaited, HarnessError>;
    /// Lets time pass.
    ///
    /// # Errors
    /// When the harness fails.
    fn pass(&mut self, duration: Duration) -> Result<(), HarnessError>;
    /// Opens a gate on which actions of a server's script wait, for all its instances, present and to come.
    ///
    /// # Errors
    /// When the harness fails.
    fn open_gate(&mut self, gate: &str) -> Result<(), HarnessError>;
    /// Waits until some server instance's trace satisfies `until`; `false` if the wait ended first.
    ///
    /// # Errors
    /// When the harness fails.
    fn await_instances(
        &mut self,
        until: &mut dyn FnMut(&[Instance]) -> bool,
        wait_max: Duration,
    ) -> Result<bool, HarnessError>;
    /// Kills the newest instance of a server from outside.
    ///
    /// # Errors
    /// When the harness fails.
    fn kill_server(&mut self, server: &str) -> Result<(), HarnessError>;
    /// Ends the world: whatever still runs is noted, then ended.
    ///
    /// # Errors
    /// When the harness fails.
    fn finish(self: Box<Self>) -> Result<Observed, HarnessError>;
}

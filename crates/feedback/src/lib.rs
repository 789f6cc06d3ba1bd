//! A diagnostic feedback loop as one deterministic state machine: no processes, no files, no clock,
//! no randomness inside. [`Loop::handle`] takes an [`Event`] and appends [`Effect`]s;
//! [`Loop::next_deadline`] says when it wants to be woken. `runtime` (a cargo feature, on by default)
//! drives it with tokio over real processes and files; a simulator can drive it just as well.
//!
//! After an edit, a call ends in exactly one of five [`Conclusion`]s, and carries the
//! [`Certificate`] that justifies it: the messages it rests on and the rule that was applied.

mod answers;
mod call;
mod capabilities;
pub mod certificate;
mod clean;
mod client;
mod core;
mod diagnostic;
mod document;
mod event;
mod fault;
mod learned;
mod policy;
mod pull;
mod push;
mod render;
mod report;
mod roots;
#[cfg(feature = "runtime")]
pub mod runtime;
mod server;
mod session;
mod sync;
mod text;
mod uri;

pub use certificate::{Certificate, MessageRef, Rule};
pub use core::Loop;
pub use event::{
    Answer, CallId, Command, Effect, Event, ExitStatus, FileError, FileKind, OpId, ProcessId, Record, Request, Signal,
};
pub use fault::Fault;
pub use policy::Policy;
pub use report::{
    Conclusion, Counts, Finding, KnownBy, Note, Place, Reason, Report, Severity, TextHash, Timings, ToldBefore,
};
pub use server::{Config, Launch, ServerSpec};
pub use wire::Time;

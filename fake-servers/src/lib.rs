//! Scriptable fake language servers: an interpreter of scripts without I/O, and the scripts themselves.
//!
//! [`Fake`] is a plain value: inputs and the time go in, outputs come out; it reads no clock, no file and
//! no randomness but its seed's. The module [`run`] puts it behind standard input and output.

pub mod control;
mod findings;
mod machine;
pub mod run;
mod scripts;

pub use findings::{Finding, finding_tag, findings};
pub use machine::{Fake, Input, Options, Output};
pub use scripts::{LoadError, embedded, load, names};

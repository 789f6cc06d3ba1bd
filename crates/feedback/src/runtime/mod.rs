//! The edge: everything of this crate that touches a process, a file or the clock. It performs what
//! the loop asks for and reports back what came of it; it decides nothing.
//!
//! [`Feedback`] is what hosts use. [`discover`] finds the servers that are installed.

pub mod discover;
mod driver;
mod files;
mod handle;
pub mod lookup;
mod pipes;
pub mod process;
mod program;
mod watchdog;

pub use handle::{Feedback, Pending, Refused};

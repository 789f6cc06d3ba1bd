//! The edge: everything of this crate that touches a process, a file or the clock. It performs what
//! the loop asks for and reports back what came of it; it decides nothing.

mod discover;
pub mod lookup;
pub mod process;
mod watchdog;

//! The real world: loops and fake servers as processes, joined by pipes and a control socket. What a
//! scenario means and what is judged live elsewhere; this makes the same things happen for real.

mod adapter;
mod agree;
mod control;
mod launcher;
mod lines;
mod process;
mod run;
mod subject;
mod world;

pub use agree::{AGREE, agreement};
pub use launcher::FakeCommand;
pub use run::{RealOptions, run};
pub use subject::{AdapterCommand, Subject};
pub use world::{RealWorld, ServerSetup, Setup};

#[cfg(test)]
mod tests;

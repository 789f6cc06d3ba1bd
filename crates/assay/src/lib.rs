//! The judge: it runs scenarios against loops in a simulated and in a real world, checks language
//! servers, and measures latency. It words nothing for people; `report` does.

pub mod fixture;
mod history;
pub mod latency;
mod laws;
#[cfg(feature = "mutants")]
pub mod mutants;
pub mod protocol;
pub mod real;
pub mod results;
pub mod runner;
pub mod server;
pub mod sim;
pub mod suite;
pub mod world;

//! The loop as a machine, driven by hand: stories of single behaviours, and any events in any order.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

mod any_events;
mod bench;
mod stories;

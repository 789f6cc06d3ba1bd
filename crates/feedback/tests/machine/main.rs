//! The loop as a machine, driven by hand: stories of single behaviours, and any events in any order.

mod any_events;
mod bench;
mod stories;

//! Tests of the fake servers: the interpreter in pure form, the built-in scripts, and the command over
//! real pipes.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails here")]

mod any_bytes;
mod client;
mod machine;
mod process;
mod scripts;

//! Where commands write: results to standard output, words about the run to standard error. A reader
//! that has gone away (`| head`) is no error.

use std::io::{self, Write as _};
use std::process::ExitCode;

use miette::{Diagnostic, IntoDiagnostic as _, Report, Result};
use serde::Serialize;

/// The harness failed, or there is no conclusion.
pub(crate) const FAILED: u8 = 3;

/// The user interrupted: 128 and the number of `SIGINT`, as shells have it.
pub(crate) const INTERRUPTED: u8 = 130;

/// Results that could not be written, which is no fault of the call.
#[derive(Debug, thiserror::Error, Diagnostic)]
#[error("the results could not be written to standard output: {0}")]
#[diagnostic(help("write them to a place that has room"))]
struct Unwritten(io::Error);

/// How a command ends: its own code, 3 if its results could not be written, or 2 for a call that was wrong.
pub(crate) fn exit(outcome: Result<u8>) -> ExitCode {
    match outcome {
        Ok(code) => code.into(),
        Err(error) => {
            say(&format!("{error:?}"));
            if error.is::<Unwritten>() { FAILED.into() } else { 2.into() }
        }
    }
}

/// Writes text to standard output.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    written(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// How a write of results to standard output went.
pub(crate) fn written(outcome: io::Result<()>) -> Result<()> {
    match outcome {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Unwritten(error).into()),
        _ => Ok(()),
    }
}

/// Writes a value as JSON to standard output.
pub(crate) fn print_json(value: &impl Serialize) -> Result<()> {
    let text = serde_json::to_string_pretty(value).into_diagnostic()?;
    print(&format!("{text}\n"))
}

/// Writes a line to standard error; there is nowhere to say that it failed.
pub(crate) fn say(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// An error of the caller's, with what to do about it.
pub(crate) fn wrong(what: impl std::fmt::Display, help: impl std::fmt::Display) -> Report {
    miette::miette!(help = help.to_string(), "{what}")
}

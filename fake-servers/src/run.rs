//! The command: its arguments, its errors, and the script put behind standard input and output. One
//! thread waits for whatever comes next (input, room in a pipe, the judge, a signal, the script's clock);
//! no async runtime, so that it starts in a few milliseconds and keeps its delays.

mod judge;
mod outbox;
mod process;

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use miette::Diagnostic;
use thiserror::Error;

use crate::{LoadError, embedded, load, names};

/// The call was wrong.
const EXIT_USAGE: u8 = 2;
/// The system did not do what it should.
const EXIT_FAILED: u8 = 3;

/// Runs a fake language server on standard input and output.
///
/// The script says what the server announces and what it does upon each message. Findings come from the
/// text of the documents: a line that says `ERROR E1 words`, `WARNING W2 words`, `INFO I3 words` or
/// `HINT H4 words` is one.
#[derive(Debug, Parser)]
#[command(name = "fake-lsp", version, after_help = EXAMPLES)]
struct Arguments {
    /// A script file, or the name of a built-in script (see --list)
    #[arg(value_name = "NAME|FILE", required_unless_present_any = ["list", "print"])]
    script: Option<String>,
    /// Seeds the script's jitter
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Writes everything that crosses the pipes to this file, as JSON Lines
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Reports to the judge that listens at this socket
    #[arg(long, value_name = "SOCKET", requires = "token")]
    control: Option<PathBuf>,
    /// What the judge knows this server by
    #[arg(long, value_name = "TOKEN")]
    token: Option<String>,
    /// Lists the built-in scripts
    #[arg(long)]
    list: bool,
    /// Prints the text of a built-in script, to start one's own from
    #[arg(long, value_name = "NAME")]
    print: Option<String>,
    /// Taken and without effect: clients add it
    #[arg(long, hide = true)]
    stdio: bool,
    /// Taken and without effect: clients add it
    #[arg(long = "clientProcessId", hide = true, value_name = "PID")]
    client_process_id: Option<String>,
}

const EXAMPLES: &str = "Examples:
  fake-lsp stale-push                 a built-in server
  fake-lsp --print stale-push > my.toml; fake-lsp my.toml --trace my.jsonl

Exit codes: what the script says; else 0 after shutdown and exit, 1 after exit or the
end of the input alone, 143 upon SIGTERM; 2 if the call or the script is wrong, 3 if the
system fails, 4 if the judge or the parent has gone, 70 if the client made it hold too much.";

/// What goes wrong around a script.
#[derive(Debug, Error, Diagnostic)]
pub(crate) enum RunError {
    /// The trace file can't be made.
    #[error("cannot write the trace {path}", path = path.display())]
    Trace { path: PathBuf, source: io::Error },
    /// The judge can't be reached or says nothing.
    #[error("the judge at {socket} {what}", socket = socket.display())]
    #[diagnostic(help("the judge listens there only while it runs; start the launcher from within its run"))]
    Judge { socket: PathBuf, what: String },
    /// A system call failed.
    #[error("cannot {what}")]
    System { what: &'static str, source: io::Error },
}

/// Runs the command with these arguments, the program's name first.
#[must_use]
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments = match Arguments::try_parse_from(args) {
        Ok(arguments) => arguments,
        Err(error) => {
            let code = if error.use_stderr() { EXIT_USAGE } else { 0 };
            // Nothing is left to be told to somebody who closed both streams.
            let _ = error.print();
            return ExitCode::from(code);
        }
    };
    match carry_out(&arguments) {
        Ok(code) => code,
        Err((code, report)) => {
            let _ = writeln!(io::stderr().lock(), "{report:?}");
            ExitCode::from(code)
        }
    }
}

fn carry_out(arguments: &Arguments) -> Result<ExitCode, (u8, miette::Report)> {
    let usage = |error: LoadError| (EXIT_USAGE, miette::Report::new(error));
    if arguments.list {
        return Ok(print(&list().map_err(usage)?));
    }
    if let Some(name) = &arguments.print {
        let text = embedded(name).ok_or_else(|| usage(LoadError::Unknown { wanted: name.clone() }))?;
        return Ok(print(text));
    }
    let script = load(arguments.script.as_deref().unwrap_or_default()).map_err(usage)?;
    let setup = process::Setup {
        script: Arc::new(script),
        seed: arguments.seed,
        trace: arguments.trace.clone(),
        judge: arguments.control.clone().zip(arguments.token.clone()),
    };
    process::run(setup).map_err(|error| (EXIT_FAILED, miette::Report::new(error)))
}

fn list() -> Result<String, LoadError> {
    let width = names().iter().map(|name| name.len()).max().unwrap_or_default();
    names().into_iter().map(|name| Ok(format!("{name:width$}  {}\n", load(name)?.summary))).collect()
}

fn print(text: &str) -> ExitCode {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // A reader that has gone away (`| head`) has what it wants.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            let _ = writeln!(io::stderr().lock(), "the text could not be written to standard output: {error}");
            ExitCode::from(EXIT_FAILED)
        }
        _ => ExitCode::SUCCESS,
    }
}

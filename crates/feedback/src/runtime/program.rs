//! Which program a command names, and why a process could not be started from it.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use super::lookup::{SearchPath, is_executable};

/// Linux reads no more of a script's first line.
const FIRST_LINE_BYTES_MAX: u64 = 256;

/// Why a server process could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpawnError {
    /// A bare name was found in no folder of `PATH`.
    #[error("`{program}` was not found{}; looked in {looked}", hint(.install))]
    NotFound {
        /// The name.
        program: String,
        /// Where it was looked for, in words.
        looked: String,
        /// What installs it, if that is known.
        install: Option<String>,
    },
    /// The path names no executable file.
    #[error("{} {why}", .program.display())]
    NotExecutable {
        /// The path.
        program: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// There is no such working directory.
    #[error("the working directory {} does not exist", .0.display())]
    NoDirectory(PathBuf),
    /// The system refused.
    #[error("{} could not be started: {error}", .program.display())]
    Refused {
        /// The program.
        program: PathBuf,
        /// In the system's words.
        error: io::Error,
    },
    /// The helper that ends servers when this process dies could not be started, and without it none
    /// is: it could be left behind.
    #[error("/bin/sh could not be started to watch over server processes: {0}")]
    NoWatchdog(io::Error),
}

fn hint(install: &Option<String>) -> String {
    install.as_ref().map(|install| format!("; {install}")).unwrap_or_default()
}

/// The file to execute: a bare name is looked for, a path is looked at.
///
/// # Errors
/// [`SpawnError`] for what is not there or can't be executed.
pub(super) fn resolve(program: &Path, workspace: Option<&Path>) -> Result<PathBuf, SpawnError> {
    let bare = program.components().count() == 1 && program.is_relative();
    let found = match program.to_str().filter(|_| bare) {
        // The working directory of the process will be another one.
        None => std::path::absolute(program).unwrap_or_else(|_| program.to_owned()),
        Some(name) => {
            let search = SearchPath::of_environment(workspace);
            search.find(name).ok_or_else(|| SpawnError::NotFound {
                program: name.to_owned(),
                looked: search.in_words(),
                install: super::discover::install_hint(name).map(str::to_owned),
            })?
        }
    };
    let why = if !found.exists() {
        "does not exist"
    } else if !is_executable(&found) {
        "is not an executable file"
    } else if interpreter(&found).is_some_and(|interpreter| !interpreter.exists()) {
        "needs an interpreter that does not exist; see its first line"
    } else {
        return Ok(found);
    };
    Err(SpawnError::NotExecutable { program: found, why })
}

/// The interpreter that a script's first line names.
fn interpreter(program: &Path) -> Option<PathBuf> {
    let mut start = Vec::new();
    File::open(program).ok()?.take(FIRST_LINE_BYTES_MAX).read_to_end(&mut start).ok()?;
    let line = start.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = String::from_utf8_lossy(line);
    line.split_whitespace().next().map(PathBuf::from)
}

//! What the loop is given in place of a server: a small executable file that holds everything a fake
//! needs to report home, so that neither arguments nor environment have to survive the way to it.

use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::{Mutex, PoisonError};

use crate::world::HarnessError;

/// A launcher that is still open for writing in a child that another thread has just forked cannot be
/// executed ("text file busy"), so nothing is forked while one is written.
static FORK_OR_WRITE: Mutex<()> = Mutex::new(());

/// How a fake server is started: a program and its first arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FakeCommand {
    /// Absolute path of the program.
    pub program: PathBuf,
    /// What comes before the script's name.
    pub args: Vec<OsString>,
}

impl FakeCommand {
    /// The running executable with `fake`. A `fake-lsp` beside it might be of another build, and would
    /// start one millisecond sooner.
    ///
    /// # Errors
    /// When the system does not tell the path of the running executable.
    pub fn within_this_executable() -> Result<Self, HarnessError> {
        let program = std::env::current_exe()
            .map_err(|error| HarnessError::new(format!("the path of the running executable is unknown: {error}")))?;
        Ok(Self { program, args: vec!["fake".into()] })
    }
}

/// Everything that a launcher holds.
#[derive(Debug)]
pub(super) struct Launcher<'a> {
    pub(super) fake: &'a FakeCommand,
    pub(super) script: &'a Path,
    pub(super) socket: &'a Path,
    pub(super) token: &'a str,
    pub(super) seed: u64,
}

impl Launcher<'_> {
    /// Writes the executable file.
    pub(super) fn write(&self, path: &Path) -> Result<(), HarnessError> {
        let _nothing_forks = FORK_OR_WRITE.lock().unwrap_or_else(PoisonError::into_inner);
        fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o700)
            .open(path)
            .and_then(|mut file| file.write_all(&self.text()))
            .map_err(|error| HarnessError::new(format!("the launcher {} was not written: {error}", path.display())))
    }

    fn text(&self) -> Vec<u8> {
        let mut text = b"#!/bin/sh\nexec".to_vec();
        let seed = self.seed.to_string();
        let words = [self.fake.program.as_os_str()]
            .into_iter()
            .chain(self.fake.args.iter().map(OsString::as_os_str))
            .chain([self.script.as_os_str(), "--control".as_ref(), self.socket.as_os_str()])
            .chain(["--token".as_ref(), self.token.as_ref(), "--seed".as_ref(), seed.as_ref()]);
        for word in words {
            text.push(b' ');
            text.extend(quoted(word.as_bytes()));
        }
        text.extend(b" \"$@\"\n");
        text
    }
}

/// Starts a process while no launcher is open for writing.
pub(super) fn spawn(command: &mut Command) -> std::io::Result<Child> {
    let _nothing_is_written = FORK_OR_WRITE.lock().unwrap_or_else(PoisonError::into_inner);
    command.spawn()
}

/// A word as the shell reads it back exactly.
fn quoted(word: &[u8]) -> Vec<u8> {
    let mut text = vec![b'\''];
    for byte in word {
        match byte {
            b'\'' => text.extend(b"'\\''"),
            byte => text.push(*byte),
        }
    }
    text.push(b'\'');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launcher_passes_awkward_paths_and_further_arguments_exactly() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("server");
        let fake = FakeCommand { program: "/usr/bin/printf".into(), args: vec!["%s|".into()] };
        let script = Path::new("/tmp/it's a $HOME \"script\"");
        Launcher { fake: &fake, script, socket: Path::new("/s"), token: "t", seed: 7 }.write(&path).unwrap();
        let output = Command::new(&path).arg("one more").output().unwrap();
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            "/tmp/it's a $HOME \"script\"|--control|/s|--token|t|--seed|7|one more|"
        );
    }
}

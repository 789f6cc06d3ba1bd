//! One server process: started in a session of its own, its standard error drained into a bounded tail,
//! its whole group signalled, and nothing of it left when the handle is dropped or this process ends.

use std::collections::VecDeque;
use std::io::{self, PipeWriter, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use process_wrap::tokio::{ChildWrapper, CommandWrap, ProcessSession};
use rustix::process::{Pid, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::task::JoinHandle;

use super::program::resolve;
use super::watchdog;
use crate::{Command, ExitStatus, Signal};

pub use super::program::SpawnError;

/// How much of a process's standard error is kept: its end.
pub const STDERR_TAIL_BYTES: usize = 8 * 1024;

/// How long after the end of a group its standard error is still read: a process that left the group
/// may hold the pipe open.
const STDERR_GRACE: Duration = Duration::from_millis(200);

/// The process group of a server. Clones name the same group; once it has ended, signals go nowhere,
/// never to somebody who was given the same number.
#[derive(Clone, Debug)]
pub struct Group(Arc<Mutex<Option<Pid>>>);

impl Group {
    /// Signals every process of the group. Nothing happens if it has ended.
    pub fn signal(&self, signal: Signal) {
        if let Some(pid) = *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            // It fails only when no process is left, which is what was wanted.
            let _ = kill_process_group(pid, raw(signal));
        }
    }

    /// Kills what is left of the group and forgets its number. To be called before the leader is reaped.
    fn finish(&self) {
        if let Some(pid) = self.0.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let _ = kill_process_group(pid, raw(Signal::Kill));
            watchdog::release(pid.as_raw_nonzero().get());
        }
    }
}

fn raw(signal: Signal) -> rustix::process::Signal {
    match signal {
        Signal::Terminate => rustix::process::Signal::TERM,
        Signal::Kill => rustix::process::Signal::KILL,
    }
}

/// A running server process. Dropping it kills its whole group.
#[derive(Debug)]
pub struct ServerProcess {
    child: Box<dyn ChildWrapper>,
    pid: Pid,
    group: Group,
    stdin: Option<ChildStdin>,
    #[cfg(target_os = "linux")]
    ended: Option<tokio::io::unix::AsyncFd<OwnedFd>>,
    tail: Arc<Mutex<Tail>>,
    drain: JoinHandle<()>,
}

impl ServerProcess {
    /// Starts a process in a session and group of its own, with pipes on all three streams. A bare name
    /// is looked for in the absolute folders of `PATH`. To be called within a tokio runtime that has
    /// its I/O driver enabled.
    ///
    /// # Errors
    /// [`SpawnError`] says what was looked for, and where.
    pub fn spawn(command: &Command) -> Result<Self, SpawnError> {
        Self::spawn_outside(command, None)
    }

    /// As [`Self::spawn`], and a bare name is not looked for in folders inside the workspace.
    ///
    /// # Errors
    /// As [`Self::spawn`].
    pub fn spawn_outside(command: &Command, workspace: Option<&Path>) -> Result<Self, SpawnError> {
        let program = resolve(&command.program, workspace)?;
        if !command.cwd.is_dir() {
            return Err(SpawnError::NoDirectory(command.cwd.clone()));
        }
        Self::gated(&program, command).map_err(|error| match error {
            Gate::Watchdog(error) => SpawnError::NoWatchdog(error),
            Gate::System(error) => SpawnError::Refused { program: program.clone(), error },
        })
    }

    /// Starts a shell that becomes the program only once the watchdog knows it: were this process killed
    /// in between, the shell would read the end of its input and end.
    fn gated(program: &Path, command: &Command) -> Result<Self, Gate> {
        let (input, mut output) = io::pipe()?;
        let mut wrapped = CommandWrap::with_new("/bin/sh", |shell| {
            shell
                .args(["-c", GATE])
                .arg(program)
                .args(&command.args)
                .envs(command.env.iter().map(|(name, value)| (name, value)))
                .current_dir(&command.cwd)
                .stdin(Stdio::from(input))
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
        });
        wrapped.wrap(ProcessSession);
        // Without the wrapper's own waiting, which would wait for everybody of the group.
        let mut child = wrapped.spawn()?.into_inner();
        // Its end of the pipe is the only one left: writes fail once the program has gone.
        drop(wrapped);
        let pid = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        let pid = pid.ok_or_else(|| io::Error::other("it has no process id"))?;
        let group = Group(Arc::new(Mutex::new(Some(pid))));
        watchdog::guard(pid.as_raw_nonzero().get()).map_err(|error| {
            group.finish();
            Gate::Watchdog(error)
        })?;
        let opened = output.write_all(b"\n").and_then(|()| stdin(output));
        let stdin = opened.inspect_err(|_| group.finish())?;
        let tail = Arc::new(Mutex::new(Tail::default()));
        let drain = tokio::spawn(drain(child.stderr().take(), Arc::clone(&tail)));
        Ok(Self {
            child,
            pid,
            group,
            stdin: Some(stdin),
            #[cfg(target_os = "linux")]
            ended: watch(pid),
            tail,
            drain,
        })
    }

    /// The system's process id of the leader, which is also the number of its group and session.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// Its standard input; `None` if it was taken before.
    pub fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.stdin.take()
    }

    /// Its standard output; `None` if it was taken before.
    pub fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.child.stdout().take()
    }

    /// Its group, for whoever may signal it.
    #[must_use]
    pub fn group(&self) -> Group {
        self.group.clone()
    }

    /// Signals every process of its group. Nothing happens if it has ended.
    pub fn signal(&self, signal: Signal) {
        self.group.signal(signal);
    }

    /// Waits for the end of the leader. Where the system can tell without reaping it (Linux 5.3 and
    /// later) everything else is left as it is: others of its group may live and write on until
    /// [`Self::wait`]. Elsewhere they are killed at once, while the group's number is still its own.
    pub async fn leader_ended(&mut self) {
        #[cfg(target_os = "linux")]
        if let Some(ended) = &self.ended {
            // An error means that the runtime is going down; `wait` will tell.
            let _ = ended.readable().await;
            return;
        }
        let _ = self.child.wait().await;
        self.group.finish();
    }

    /// Waits for the end of the leader, then kills whatever is left of its group. May be called again.
    ///
    /// # Errors
    /// In the system's words; not to be expected.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.leader_ended().await;
        self.group.finish();
        let status = self.child.wait().await?;
        if !self.drain.is_finished() {
            let _ = tokio::time::timeout(STDERR_GRACE, &mut self.drain).await;
            self.drain.abort();
        }
        Ok(ExitStatus { code: status.code(), signal: status.signal() })
    }

    /// The end of what it wrote to standard error so far, at most [`STDERR_TAIL_BYTES`], decoded with
    /// replacement characters.
    #[must_use]
    pub fn stderr_tail(&self) -> String {
        self.tail.lock().unwrap_or_else(PoisonError::into_inner).text()
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        self.group.finish();
        self.drain.abort();
    }
}

/// Reads one line from standard input, byte by byte as `read` has to, then turns into the program: the
/// process id stays the same.
const GATE: &str = r#"read -r _ && exec "$0" "$@""#;

/// What can go wrong before the gate is open.
enum Gate {
    Watchdog(io::Error),
    System(io::Error),
}

impl From<io::Error> for Gate {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

fn stdin(output: PipeWriter) -> io::Result<ChildStdin> {
    ChildStdin::from_std(OwnedFd::from(output).into())
}

/// A descriptor that becomes readable when the process ends, without reaping it.
#[cfg(target_os = "linux")]
fn watch(pid: Pid) -> Option<tokio::io::unix::AsyncFd<OwnedFd>> {
    use rustix::process::{PidfdFlags, pidfd_open};
    let descriptor = pidfd_open(pid, PidfdFlags::NONBLOCK).or_else(|_| pidfd_open(pid, PidfdFlags::empty())).ok()?;
    #[expect(deprecated, reason = "sound for a descriptor that is owned; its successor asks for `unsafe`")]
    tokio::io::unix::AsyncFd::with_interest(descriptor, tokio::io::Interest::READABLE).ok()
}

async fn drain(stderr: Option<impl AsyncRead + Unpin>, tail: Arc<Mutex<Tail>>) {
    let Some(mut stderr) = stderr else { return };
    let mut chunk = vec![0; STDERR_TAIL_BYTES];
    while let Ok(read @ 1..) = stderr.read(&mut chunk).await {
        tail.lock().unwrap_or_else(PoisonError::into_inner).push(&chunk[..read]);
    }
}

/// The last bytes of a stream.
#[derive(Debug, Default)]
struct Tail(VecDeque<u8>);

impl Tail {
    fn push(&mut self, bytes: &[u8]) {
        self.0.extend(bytes);
        self.0.drain(..self.0.len().saturating_sub(STDERR_TAIL_BYTES));
    }

    /// As text; a character of which the first bytes were dropped is left out.
    fn text(&self) -> String {
        let bytes: Vec<u8> = self.0.iter().copied().collect();
        let full = bytes.len() == STDERR_TAIL_BYTES;
        let torn = if full { bytes.iter().take(3).take_while(|byte| **byte & 0xc0 == 0x80).count() } else { 0 };
        String::from_utf8_lossy(&bytes[torn..]).into_owned()
    }
}

#[cfg(test)]
mod tests;

//! One server process: started in a session of its own, its standard error drained into a bounded tail,
//! its whole group signalled, and nothing of it left when the handle is dropped or this process ends.

use std::collections::VecDeque;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use process_wrap::tokio::{ChildWrapper, CommandWrap, ProcessSession};
use rustix::process::{Pid, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::task::JoinHandle;

use super::lookup::{SearchPath, is_executable};
use super::watchdog;
use crate::{Command, ExitStatus, Signal};

/// How much of a process's standard error is kept: its end.
pub const STDERR_TAIL_BYTES: usize = 8 * 1024;

/// How long after the end of a group its standard error is still read: a process that left the group
/// may hold the pipe open.
const STDERR_GRACE: Duration = Duration::from_millis(200);

/// Why a server process could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpawnError {
    /// A bare name was found in no folder of `PATH`.
    #[error("`{program}` was not found in {looked}{}", hint(.install))]
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
    id: u32,
    group: Group,
    #[cfg(target_os = "linux")]
    ended: Option<tokio::io::unix::AsyncFd<std::os::fd::OwnedFd>>,
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
        let refused = |error: io::Error| refusal(&program, error);
        let mut wrapped = CommandWrap::with_new(&program, |child| {
            child
                .args(&command.args)
                .envs(command.env.iter().map(|(name, value)| (name, value)))
                .current_dir(&command.cwd)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
        });
        wrapped.wrap(ProcessSession);
        let mut child = wrapped
            .spawn()
            .map_err(refused)?
            // Without the wrapper's own waiting, which would wait for everybody of the group.
            .into_inner();
        let id = child.id().ok_or_else(|| refused(io::Error::other("it has no process id")))?;
        let pid = i32::try_from(id)
            .ok()
            .and_then(Pid::from_raw)
            .ok_or_else(|| refused(io::Error::other("its process id is out of range")))?;
        let group = Group(Arc::new(Mutex::new(Some(pid))));
        if let Err(error) = watchdog::guard(pid.as_raw_nonzero().get()) {
            group.finish();
            return Err(SpawnError::NoWatchdog(error));
        }
        let tail = Arc::new(Mutex::new(Tail::default()));
        let drain = tokio::spawn(drain(child.stderr().take(), Arc::clone(&tail)));
        Ok(Self {
            child,
            id,
            group,
            #[cfg(target_os = "linux")]
            ended: watch(pid),
            tail,
            drain,
        })
    }

    /// The system's process id of the leader, which is also the number of its group and session.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Its standard input; `None` if it was taken before.
    pub fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.child.stdin().take()
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

    /// Waits for the end of the leader and leaves everything else as it is: others of its group may
    /// live and write on until [`Self::wait`]. Where the system can't tell without reaping (it needs
    /// Linux 5.3), this returns at once.
    pub async fn leader_ended(&self) {
        #[cfg(target_os = "linux")]
        if let Some(ended) = &self.ended {
            // An error means that the runtime is going down; `wait` will tell.
            let _ = ended.readable().await;
        }
    }

    /// Waits for the end of the leader, then kills whatever is left of its group. May be called again.
    ///
    /// # Errors
    /// In the system's words; not to be expected.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.leader_ended().await;
        #[cfg(target_os = "linux")]
        if self.ended.is_some() {
            self.group.finish();
        }
        let status = self.child.wait().await?;
        self.group.finish();
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

/// A descriptor that becomes readable when the process ends, without reaping it.
#[cfg(target_os = "linux")]
fn watch(pid: Pid) -> Option<tokio::io::unix::AsyncFd<std::os::fd::OwnedFd>> {
    use rustix::process::{PidfdFlags, pidfd_open};
    let descriptor = pidfd_open(pid, PidfdFlags::NONBLOCK).or_else(|_| pidfd_open(pid, PidfdFlags::empty())).ok()?;
    #[expect(deprecated, reason = "sound for a descriptor that is owned; its successor asks for `unsafe`")]
    tokio::io::unix::AsyncFd::with_interest(descriptor, tokio::io::Interest::READABLE).ok()
}

fn resolve(program: &Path, workspace: Option<&Path>) -> Result<PathBuf, SpawnError> {
    let bare = program.components().count() == 1 && program.is_relative();
    let Some(name) = program.to_str().filter(|_| bare) else {
        return check_executable(program);
    };
    let search = SearchPath::of_environment(workspace);
    search.find(name).ok_or_else(|| SpawnError::NotFound {
        program: name.to_owned(),
        looked: search.in_words(),
        install: super::discover::install_hint(name).map(str::to_owned),
    })
}

fn check_executable(program: &Path) -> Result<PathBuf, SpawnError> {
    let why = if !program.exists() {
        "does not exist"
    } else if !is_executable(program) {
        "is not an executable file"
    } else {
        return Ok(program.to_owned());
    };
    Err(SpawnError::NotExecutable { program: program.to_owned(), why })
}

/// The program and the directory are there, so "no such file" speaks of something else.
fn refusal(program: &Path, error: io::Error) -> SpawnError {
    if error.kind() == io::ErrorKind::NotFound {
        let why = "needs an interpreter that does not exist; see its first line";
        return SpawnError::NotExecutable { program: program.to_owned(), why };
    }
    SpawnError::Refused { program: program.to_owned(), error }
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
mod tests {
    use tokio::io::AsyncBufReadExt as _;

    use super::*;

    fn sh(script: &str) -> Command {
        Command {
            program: "sh".into(),
            args: vec!["-c".to_owned(), script.to_owned()],
            env: vec![("GREETING".to_owned(), "hello".to_owned())],
            cwd: "/".into(),
        }
    }

    /// The first line that the process prints.
    async fn line(process: &mut ServerProcess) -> String {
        let mut text = String::new();
        tokio::io::BufReader::new(process.take_stdout().unwrap()).read_line(&mut text).await.unwrap();
        text.trim_end().to_owned()
    }

    /// Waits for the end of a process that is not ours.
    async fn gone(pid: &str) {
        let pid = Pid::from_raw(pid.parse().unwrap()).unwrap();
        if let Some(ended) = watch(pid) {
            let ready = tokio::time::timeout(Duration::from_secs(2), ended.readable()).await;
            assert!(ready.is_ok(), "process {pid:?} still runs");
        }
    }

    #[tokio::test]
    async fn a_process_gets_its_environment_and_ends_with_its_status_and_the_end_of_its_stderr() {
        let mut process = ServerProcess::spawn(&sh("echo $GREETING; echo oops >&2; exit 3")).unwrap();
        assert_eq!(line(&mut process).await, "hello");
        assert_eq!(process.wait().await.unwrap(), ExitStatus { code: Some(3), signal: None });
        assert_eq!(process.wait().await.unwrap(), ExitStatus { code: Some(3), signal: None });
        assert_eq!(process.stderr_tail(), "oops\n");
    }

    #[tokio::test]
    async fn a_flood_on_stderr_neither_blocks_nor_grows() {
        let script =
            "i=0; while [ $i -lt 2000 ]; do echo 0123456789012345678901234567890123456789é; i=$((i+1)); done >&2";
        let mut process = ServerProcess::spawn(&sh(script)).unwrap();
        process.wait().await.unwrap();
        let tail = process.stderr_tail();
        assert!(tail.len() <= STDERR_TAIL_BYTES && tail.len() > STDERR_TAIL_BYTES - 4, "{}", tail.len());
        assert!(tail.ends_with("9é\n"), "{tail}");
        assert!(!tail.contains('\u{fffd}'), "{tail}");
    }

    #[tokio::test]
    async fn a_signal_reaches_the_whole_group_and_the_end_of_the_leader_ends_the_rest() {
        let cases = [("sleep 600 & echo $!; wait", true), ("trap '' TERM; sleep 600 & echo $!; exit 0", false)];
        for (script, signalled) in cases {
            let mut process = ServerProcess::spawn(&sh(script)).unwrap();
            let grandchild = line(&mut process).await;
            if signalled {
                process.signal(Signal::Terminate);
            }
            let status = process.wait().await.unwrap();
            assert_eq!(status.signal, signalled.then_some(15), "{script}");
            gone(&grandchild).await;
            process.signal(Signal::Kill);
        }
    }

    #[tokio::test]
    async fn dropping_the_handle_kills_the_group() {
        let mut process = ServerProcess::spawn(&sh("trap '' TERM; sleep 600 & echo $!; wait")).unwrap();
        let grandchild = line(&mut process).await;
        let leader = process.id().to_string();
        drop(process);
        gone(&grandchild).await;
        gone(&leader).await;
    }

    #[tokio::test]
    async fn what_cannot_be_started_is_said_with_where_it_was_looked_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("plain"), "").unwrap();
        std::fs::write(path("script"), "#!/no/such/interpreter\n").unwrap();
        std::fs::set_permissions(path("script"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let cases = [
            (PathBuf::from("no-such-server"), "`no-such-server` was not found in the folders of PATH: /"),
            (path("absent"), "absent does not exist"),
            (path("plain"), "plain is not an executable file"),
            (path("script"), "script needs an interpreter that does not exist; see its first line"),
        ];
        for (program, expected) in cases {
            let error = ServerProcess::spawn(&Command { program, ..sh("") }).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        let error = ServerProcess::spawn(&Command { cwd: path("nowhere"), ..sh("") }).unwrap_err().to_string();
        assert!(error.ends_with("nowhere does not exist"), "{error}");
    }
}

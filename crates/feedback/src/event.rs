//! What goes into the loop and what comes out: events, effects, and the ids that join an effect to its
//! completion. Whoever drives the loop performs the effects; each completion may be late and may fail.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use wire::Time;
use wire::trace::Direction;

use crate::Report;

/// Names one call of the host; chosen by the host, never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CallId(pub u64);

/// Names one effect whose completion comes back as an event; chosen by the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct OpId(pub u64);

/// Names one server process; chosen by the loop, never reused. It is not the system's process id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ProcessId(pub u64);

/// What a host asks of the loop.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Request {
    /// A file was edited and is on disk: sync it and conclude. Answered by [`Answer::Report`].
    Check {
        /// The file, absolute or relative to the workspace.
        path: PathBuf,
    },
    /// A file is being read: start its server and open it, wait for nothing. Answered by [`Answer::Done`].
    Read {
        /// The file.
        path: PathBuf,
    },
    /// A file is no longer of interest: close it at its server. Answered by [`Answer::Done`].
    Close {
        /// The file.
        path: PathBuf,
    },
    /// A file was deleted: close it and forget its findings. Answered by [`Answer::Done`].
    Delete {
        /// The file.
        path: PathBuf,
    },
    /// Results that came after their call had ended and still hold. Answered by [`Answer::Late`].
    Late,
    /// End an earlier call now; it is answered with what is known. Answered by [`Answer::Done`].
    Cancel {
        /// The call to end.
        call: CallId,
    },
    /// Shut every server down, in order and bounded. Answered by [`Answer::Done`] when all have ended;
    /// calls under way are answered first.
    Stop,
}

/// The one answer to a [`Request`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Answer {
    /// To [`Request::Check`].
    Report(Box<Report>),
    /// To [`Request::Late`]: oldest first, each told once.
    Late(Vec<Report>),
    /// To everything else.
    Done,
    /// The request made no sense: a file outside the workspace, a call after [`Request::Stop`].
    Refused {
        /// Why, as a sentence fragment.
        reason: String,
    },
}

/// How to start a server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// The program: an absolute path, or a name that the driver looks up.
    pub program: PathBuf,
    /// Its arguments, passed exactly.
    pub args: Vec<String>,
    /// Variables set for the child, on top of the host's environment.
    pub env: Vec<(String, String)>,
    /// The child's working directory.
    pub cwd: PathBuf,
}

/// A request to a process group to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// May be handled (`SIGTERM`).
    Terminate,
    /// May not (`SIGKILL`).
    Kill,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExitStatus {
    /// The exit code, if it exited.
    pub code: Option<i32>,
    /// The signal, if it was killed by one.
    pub signal: Option<i32>,
}

/// Why a file could not be read or looked at.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// There is no such file.
    #[error("no such file")]
    NotFound,
    /// It is larger than was allowed.
    #[error("larger than {bytes_max} bytes")]
    TooLarge {
        /// What was allowed.
        bytes_max: u64,
    },
    /// It resolves to a place outside the workspace.
    #[error("resolves to {resolved}, outside the workspace")]
    OutsideWorkspace {
        /// Where.
        resolved: String,
    },
    /// Anything else, in the system's words.
    #[error("{0}")]
    Other(String),
}

/// What a path names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// Something else.
    Other,
}

/// What happened outside.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    /// The host asks something.
    Call {
        /// Under which id the answer comes.
        call: CallId,
        /// What.
        request: Request,
    },
    /// [`Effect::Spawn`] succeeded.
    Spawned {
        /// Which.
        process: ProcessId,
    },
    /// [`Effect::Spawn`] failed; the process will not be heard of again.
    SpawnFailed {
        /// Which.
        process: ProcessId,
        /// Why, in words that name what was looked for.
        error: String,
    },
    /// Bytes from the process's standard output, in any split.
    Output {
        /// Which.
        process: ProcessId,
        /// At least one byte.
        bytes: Vec<u8>,
    },
    /// The process's standard output ended. It may go on running.
    OutputEnded {
        /// Which.
        process: ProcessId,
    },
    /// [`Effect::Write`] is done: every byte is in the pipe.
    Written {
        /// Which process.
        process: ProcessId,
        /// Which write.
        op: OpId,
    },
    /// [`Effect::Write`] failed; the process's input counts as closed.
    WriteFailed {
        /// Which process.
        process: ProcessId,
        /// Which write.
        op: OpId,
        /// Why, in the system's words.
        error: String,
    },
    /// The process has ended. All its output was delivered before.
    Exited {
        /// Which.
        process: ProcessId,
        /// How.
        status: ExitStatus,
        /// The end of what it wrote to standard error, bounded.
        stderr_tail: String,
    },
    /// [`Effect::ReadFile`] is done.
    FileRead {
        /// Which.
        op: OpId,
        /// The bytes of the file.
        result: Result<Vec<u8>, FileError>,
    },
    /// [`Effect::Stat`] is done.
    Statted {
        /// Which.
        op: OpId,
        /// What is there.
        result: Result<FileKind, FileError>,
    },
    /// Time has passed, at least to [`crate::Loop::next_deadline`].
    Wake,
}

/// What the driver is to do. Effects are performed in order; completions may come in any.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Effect {
    /// Start a server in a process group of its own. Completed by [`Event::Spawned`] or
    /// [`Event::SpawnFailed`].
    Spawn {
        /// Its id from here on.
        process: ProcessId,
        /// What to start.
        command: Command,
    },
    /// Write to the process's standard input. Completed by [`Event::Written`] or
    /// [`Event::WriteFailed`]; at most one write per process is under way.
    Write {
        /// Which process.
        process: ProcessId,
        /// Which write.
        op: OpId,
        /// What.
        bytes: Vec<u8>,
    },
    /// Close the process's standard input.
    CloseInput {
        /// Which process.
        process: ProcessId,
    },
    /// Signal the process's whole group. Not completed; [`Event::Exited`] follows if it ends.
    Signal {
        /// Which process.
        process: ProcessId,
        /// How.
        signal: Signal,
    },
    /// Read a file whole. Completed by [`Event::FileRead`].
    ReadFile {
        /// Which.
        op: OpId,
        /// Absolute path.
        path: PathBuf,
        /// A larger file is an error, not a partial read.
        bytes_max: u64,
    },
    /// Look whether a path exists. Completed by [`Event::Statted`].
    Stat {
        /// Which.
        op: OpId,
        /// Absolute path.
        path: PathBuf,
    },
    /// The one answer to a call.
    Answer {
        /// Which call.
        call: CallId,
        /// What.
        answer: Answer,
    },
    /// A message that crossed a pipe, for whoever keeps a trace. Only with [`crate::Policy::record`].
    Record(Record),
}

/// One message between the loop and a server, as certificates refer to it.
#[derive(Clone, Debug)]
pub struct Record {
    /// Which server process.
    pub process: ProcessId,
    /// Which way.
    pub dir: Direction,
    /// Its number among the messages of that process and direction, from 0.
    pub seq: u64,
    /// When the loop queued or received it.
    pub at: Time,
    /// The content of its frame.
    pub content: Arc<[u8]>,
}

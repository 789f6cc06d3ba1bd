//! The judged loop's process: requests in, answers out, one JSON object a line. It is strict, because a
//! loop that breaks the protocol cannot be judged: the first broken line ends the conversation.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::io::ioctl_fionbio;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use wire::Time;

use super::launcher;
use super::lines::{LineSplitter, LineTooLong, Outgoing, Stream, Tail, read_available};
use super::process::{Held, MARK};
use super::subject::Subject;
use crate::protocol::{Answer, Request};
use crate::world::HarnessError;

/// Longest answer of a loop.
const LINE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Bytes of requests that a loop may leave unread before that counts as a fault.
const UNREAD_BYTES_MAX: usize = 16 * 1024 * 1024;
/// How long the exit of a loop that closed its output is waited for, so that it can be told.
const EXIT_AFTER_OUTPUT: Duration = Duration::from_millis(500);

/// A running loop.
#[derive(Debug)]
pub(super) struct Adapter {
    child: Child,
    held: Held,
    input: Option<ChildStdin>,
    outgoing: Outgoing,
    output: Option<ChildStdout>,
    splitter: LineSplitter,
    lines_read: u64,
    stderr: Option<ChildStderr>,
    stderr_tail: Tail,
    awaited: BTreeSet<u64>,
    answers: BTreeMap<u64, (Time, Answer)>,
    fault: Option<String>,
    output_ended: Option<Instant>,
}

impl Adapter {
    /// Starts the loop in a process group of its own, marked as belonging to `world`.
    pub(super) fn start(subject: &dyn Subject, world: &str) -> Result<Self, HarnessError> {
        let mut command = subject.command();
        command.env(MARK, world).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = launcher::spawn(&mut command).map_err(|error| {
            let program = command.get_program().to_string_lossy().into_owned();
            HarnessError::new(format!(
                "the loop `{program}` could not be started: {error}; give its path, or install it"
            ))
        })?;
        let held = Held::of(child.id());
        let (input, output, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let nonblocking = input.iter().try_for_each(|fd| ioctl_fionbio(fd, true)).and_then(|()| {
            output.iter().try_for_each(|fd| ioctl_fionbio(fd, true))?;
            stderr.iter().try_for_each(|fd| ioctl_fionbio(fd, true))
        });
        let (Some(held), Ok(())) = (held, nonblocking) else {
            // Without its descriptors it can be neither heard nor watched. The only failure of these
            // two is that it has ended.
            let _ = child.kill();
            let _ = child.wait();
            return Err(HarnessError::new("the loop's process could not be held (pidfd_open, Linux 5.3 or later)"));
        };
        Ok(Self {
            child,
            held,
            input,
            outgoing: Outgoing::default(),
            output,
            splitter: LineSplitter::new(LINE_BYTES_MAX),
            lines_read: 0,
            stderr,
            stderr_tail: Tail::default(),
            awaited: BTreeSet::new(),
            answers: BTreeMap::new(),
            fault: None,
            output_ended: None,
        })
    }

    /// The process group's id. It stays the loop's until the world is left: the child is not reaped before.
    pub(super) fn group(&self) -> u32 {
        self.held.pid
    }

    /// The process, to be waited for.
    pub(super) fn held(&self) -> &Held {
        &self.held
    }

    /// Queues a request.
    pub(super) fn send(&mut self, request: &Request) -> Result<(), HarnessError> {
        let mut line = serde_json::to_vec(request)
            .map_err(|error| HarnessError::new(format!("a request could not be written: {error}")))?;
        line.push(b'\n');
        self.awaited.insert(request.id);
        if self.input.is_some() && self.fault.is_none() {
            self.outgoing.push(&line);
            if self.outgoing.len() > UNREAD_BYTES_MAX {
                self.break_off(format!("it left {UNREAD_BYTES_MAX} bytes of requests unread"));
            }
        }
        Ok(())
    }

    /// Closes its input once what is queued has been written.
    pub(super) fn close_input(&mut self) {
        if let Some(input) = &mut self.input {
            // A loop that reads nothing is not waited for here; whoever calls bounds its end.
            self.outgoing.flush(input);
        }
        self.input = None;
    }

    /// Its answer to a request, once.
    pub(super) fn take_answer(&mut self, id: u64) -> Option<(Time, Answer)> {
        self.answers.remove(&id)
    }

    /// The descriptors that are waited for.
    pub(super) fn poll_fds(&self) -> impl Iterator<Item = PollFd<'_>> {
        let input = self.input.as_ref().filter(|_| self.outgoing.len() > 0);
        let exit = self.output.is_some() || self.output_ended.is_some_and(|at| at.elapsed() < EXIT_AFTER_OUTPUT);
        let exit = exit && !self.held.has_ended();
        (input.map(|fd| PollFd::new(fd, PollFlags::OUT)).into_iter())
            .chain(self.output.as_ref().map(|fd| PollFd::new(fd, PollFlags::IN)))
            .chain(self.stderr.as_ref().map(|fd| PollFd::new(fd, PollFlags::IN)))
            .chain(exit.then(|| self.held.poll_fd()))
    }

    /// Does what can be done without waiting. `now` is the world's time.
    pub(super) fn progress(&mut self, now: Time) {
        if let Some(input) = &mut self.input
            && self.outgoing.flush(input) == Stream::Ended
        {
            self.input = None;
        }
        self.read_stderr();
        // Looked at before the output is read: what an ended loop has written is then complete.
        let exited = self.held.has_ended();
        self.read_output(now);
        if exited {
            // One reading takes more than a pipe holds. Whoever else may keep the pipe open is not heard.
            self.end_output();
        }
    }

    /// When a change is due without anything becoming ready.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.output_ended.map(|at| at + EXIT_AFTER_OUTPUT).filter(|at| *at > Instant::now())
    }

    /// How the conversation ended, if it did.
    pub(super) fn ended(&self) -> Option<String> {
        let how = if let Some(fault) = &self.fault {
            format!("the loop broke the adapter protocol: {fault}")
        } else {
            let at = self.output_ended?;
            match self.exit_status() {
                Some(status) => format!("the loop {status}"),
                None if at.elapsed() < EXIT_AFTER_OUTPUT => return None,
                None => "the loop closed its standard output and runs on".to_owned(),
            }
        };
        let stderr = self.stderr_tail.text();
        Some(if stderr.is_empty() { how } else { format!("{how}; its standard error ends with: {stderr}") })
    }

    /// The end of its standard error.
    pub(super) fn stderr_text(&self) -> String {
        self.stderr_tail.text()
    }

    fn read_output(&mut self, now: Time) {
        let Some(output) = &mut self.output else { return };
        let mut bytes = Vec::new();
        let stream = read_available(output, &mut bytes);
        let mut lines = Vec::new();
        let split = self.splitter.push(&bytes, &mut lines);
        for line in lines {
            self.take_line(&line, now);
        }
        if let Err(LineTooLong { bytes_max }) = split {
            self.break_off(format!("line {} is longer than {bytes_max} bytes", self.lines_read + 1));
        }
        if stream == Stream::Ended {
            self.end_output();
        }
    }

    fn end_output(&mut self) {
        self.output = None;
        self.output_ended.get_or_insert_with(Instant::now);
    }

    fn take_line(&mut self, line: &[u8], now: Time) {
        if self.fault.is_some() {
            return;
        }
        self.lines_read += 1;
        let number = self.lines_read;
        match serde_json::from_slice::<Answer>(line) {
            Ok(answer) if self.awaited.remove(&answer.id) => drop(self.answers.insert(answer.id, (now, answer))),
            Ok(answer) => self.break_off(format!("line {number} answers id {}, which is not open", answer.id)),
            Err(error) => {
                self.break_off(format!("line {number} is no answer: {error}: {}", excerpt(line)));
            }
        }
    }

    fn break_off(&mut self, fault: String) {
        self.fault.get_or_insert(fault);
        self.input = None;
        self.end_output();
    }

    fn read_stderr(&mut self) {
        if let Some(stderr) = &mut self.stderr {
            let mut bytes = Vec::new();
            let stream = read_available(stderr, &mut bytes);
            self.stderr_tail.push(&bytes);
            if stream == Stream::Ended {
                self.stderr = None;
            }
        }
    }

    /// How it exited, without reaping it.
    fn exit_status(&self) -> Option<String> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let status = waitid(WaitId::PidFd(self.held.fd()), options).ok()??;
        Some(match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => format!("exited with code {code}"),
            (None, Some(signal)) => format!("was killed by signal {signal}"),
            (None, None) => "ended".to_owned(),
        })
    }
}

impl Drop for Adapter {
    /// Ends the loop's whole group. Until here the child is not reaped, so the group's id is still its own.
    fn drop(&mut self) {
        if let Some(group) = i32::try_from(self.group()).ok().and_then(Pid::from_raw) {
            // The only failure is that nothing of the group is left.
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.wait();
    }
}

/// The start of a line that is no answer, for the fault's words.
fn excerpt(line: &[u8]) -> String {
    const SHOWN: usize = 200;
    let text = String::from_utf8_lossy(&line[..line.len().min(SHOWN)]).into_owned();
    if line.len() > SHOWN { format!("{text}…") } else { text }
}

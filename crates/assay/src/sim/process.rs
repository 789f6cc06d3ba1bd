//! A simulated process: a fake server, its two pipes, the end of its standard error, and how it ended.
//! What the fake wants is turned into state here; what follows from it is scheduled by the engine.

use fake_lsp::{Fake, Input, Output};
use feedback::{ExitStatus, OpId, ProcessId};
use wire::Time;
use wire::trace::{Entry, Line};

use super::pipe::Pipe;

/// Bytes kept of what a process wrote to its standard error.
const STDERR_BYTES_MAX: usize = 8 * 1024;

/// One start of one fake server.
pub(super) struct Process {
    pub(super) id: ProcessId,
    /// Where its trace goes: an index into the engine's instances.
    pub(super) instance: usize,
    /// The fake, until the process has ended.
    fake: Option<Fake>,
    /// When the fake wants to be woken.
    deadline: Option<Time>,
    pub(super) stdin: Pipe,
    pub(super) stdout: Pipe,
    /// Whether it has begun to run; before, bytes wait in its pipe.
    pub(super) started: bool,
    reading: bool,
    /// A write of the loop that is not wholly in the pipe yet.
    pub(super) write: Option<OpId>,
    pub(super) ended: Option<ExitStatus>,
    /// Whether the loop was told that it has ended.
    pub(super) exit_told: bool,
    stderr: Vec<u8>,
    outputs: Vec<Output>,
}

impl Process {
    pub(super) fn new(id: ProcessId, instance: usize, fake: Fake) -> Self {
        Self {
            id,
            instance,
            fake: Some(fake),
            deadline: None,
            stdin: Pipe::default(),
            stdout: Pipe::default(),
            started: false,
            reading: true,
            write: None,
            ended: None,
            exit_told: false,
            stderr: Vec::new(),
            outputs: Vec::new(),
        }
    }

    pub(super) fn is_alive(&self) -> bool {
        self.fake.is_some()
    }

    /// When it is to be woken; a process whose output is blocked does nothing.
    pub(super) fn deadline(&self) -> Option<Time> {
        if self.stdout.is_full() { None } else { self.deadline }
    }

    /// Whether it would take from its standard input now.
    pub(super) fn takes_input(&self) -> bool {
        self.is_alive() && self.started && self.reading && !self.stdout.is_full()
    }

    /// Takes the next bytes of its input, or its end.
    pub(super) fn take_input(&mut self, count: usize, now: Time, lines: &mut Vec<Line>) {
        let Some(mut fake) = self.fake.take() else { return };
        if self.stdin.readable() > 0 {
            let outputs = &mut self.outputs;
            self.stdin.read(count, |bytes| fake.handle(Input::Bytes(bytes), now, outputs));
        } else {
            self.stdin.ended = true;
            fake.handle(Input::InputClosed, now, &mut self.outputs);
        }
        self.fake = Some(fake);
        self.obey(now, lines);
    }

    /// Gives it anything but input.
    pub(super) fn give(&mut self, input: Input<'_>, now: Time, lines: &mut Vec<Line>) {
        if let Some(fake) = &mut self.fake {
            fake.handle(input, now, &mut self.outputs);
            self.obey(now, lines);
        }
    }

    /// Ends it as `SIGKILL` does.
    pub(super) fn kill(&mut self) {
        if self.is_alive() {
            self.end(ExitStatus { code: None, signal: Some(9) });
            self.stdout.writer_died();
        }
    }

    fn obey(&mut self, now: Time, lines: &mut Vec<Line>) {
        let mut outputs = std::mem::take(&mut self.outputs);
        for output in outputs.drain(..) {
            match output {
                Output::Write(bytes) if !self.stdout.closed => self.stdout.write(&bytes),
                Output::Write(_) => {}
                Output::CloseOutput => self.stdout.closed = true,
                Output::StopReading => self.reading = false,
                Output::ResumeReading => self.reading = true,
                Output::Stderr(bytes) => self.keep_stderr(&bytes),
                Output::Trace(entry) => note(lines, now, entry),
                Output::Exit { code } => {
                    self.end(ExitStatus { code: Some(code), signal: None });
                    self.stdout.closed = true;
                }
                Output::Die => {
                    self.end(ExitStatus { code: None, signal: Some(9) });
                    self.stdout.writer_died();
                }
            }
        }
        self.outputs = outputs;
        self.deadline = self.fake.as_ref().and_then(Fake::next_deadline);
    }

    fn end(&mut self, status: ExitStatus) {
        self.fake = None;
        self.deadline = None;
        self.stdin.reader_died();
        self.ended = Some(status);
    }

    fn keep_stderr(&mut self, bytes: &[u8]) {
        self.stderr.extend_from_slice(bytes);
        let over = self.stderr.len().saturating_sub(STDERR_BYTES_MAX);
        self.stderr.drain(..over);
    }

    pub(super) fn stderr_tail(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }
}

fn note(lines: &mut Vec<Line>, us: Time, entry: Entry) {
    lines.push(Line { us, seq: lines.len() as u64, entry });
}

//! A script as a process. It decides nothing: it feeds the machine with what happens and does what the
//! machine says. Nothing in here waits but the one poll.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;
use scenario::Script;
use wire::Time;
use wire::trace::{Entry, Line};

use super::RunError;
use super::judge::{Control, Judge};
use super::outbox::{Outbox, own};
use crate::control::{FromFake, FromJudge, monotonic_us, to_line};
use crate::{Fake, Input, Options, Output};

/// Bytes that may wait for room in the pipes before input and the script's clock are held back.
const WAITING_MAX: usize = 256 * 1024;
/// Bytes of one reading.
const READ_BYTES: usize = 64 * 1024;
/// How long an ending fake goes on trying to write what it said before.
const FLUSH_WAIT: Duration = Duration::from_secs(1);
/// How often a fake that hears nothing looks whether its parent is still there, and how long it outlives
/// it: a script that ignores everything must not run for ever.
const PARENT_LOOK: Duration = Duration::from_secs(5);
const ORPHAN_LIFE: Duration = Duration::from_secs(60);
/// The exit code of a fake whose judge or parent has gone.
const EXIT_ABANDONED: i32 = 4;

/// What to run.
pub(super) struct Setup {
    pub(super) script: Arc<Script>,
    pub(super) seed: u64,
    pub(super) trace: Option<PathBuf>,
    /// Socket and token.
    pub(super) judge: Option<(PathBuf, String)>,
}

struct Process {
    fake: Fake,
    zero_us: u64,
    stdin: OwnedFd,
    input_open: bool,
    reading: bool,
    stdout: Outbox<OwnedFd>,
    stderr: Outbox<OwnedFd>,
    signals: UnixStream,
    control: Option<Control>,
    trace: Option<BufWriter<File>>,
    seq: u64,
    parent: Option<rustix::process::Pid>,
    orphaned_since: Option<Time>,
    end: Option<End>,
}

#[derive(Clone, Copy)]
enum End {
    /// With everything written that was said before.
    Exit(i32),
    /// As upon a signal: what the pipes don't take at once is lost.
    Abrupt(i32),
    Die,
}

/// What the poll found.
#[derive(Default)]
struct Ready {
    stdin: bool,
    signal: bool,
    judge: bool,
}

/// Runs a script to its end.
pub(super) fn run(setup: Setup) -> Result<ExitCode, RunError> {
    let mut process = Process::start(setup)?;
    let mut out = Vec::new();
    process.feed(Input::Start, &mut out);
    while process.end.is_none() {
        process.turn(&mut out)?;
    }
    process.flush();
    Ok(match process.end {
        Some(End::Exit(code) | End::Abrupt(code)) => ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX)),
        _ => die(),
    })
}

impl Process {
    fn start(setup: Setup) -> Result<Self, RunError> {
        let system = |what| move |source| RunError::System { what, source };
        let zero_us = monotonic_us();
        let trace = setup.trace.as_ref().map(|path| {
            File::create(path).map(BufWriter::new).map_err(|source| RunError::Trace { path: path.clone(), source })
        });
        let hello = |token: &str| FromFake::Hello {
            token: token.to_owned(),
            pid: std::process::id(),
            monotonic_us: zero_us,
            script: setup.script.name.clone(),
        };
        let judge = setup.judge.as_ref().map(|(socket, token)| Control::connect(socket, &hello(token)));
        let (control, instance) = match judge.transpose() {
            Ok(connected) => connected.map_or((None, 1), |(control, instance)| (Some(control), instance)),
            // Without its judge a fake that has another place for its trace still serves.
            Err(_) if trace.is_some() => (None, 1),
            Err(error) => return Err(error),
        };
        let (signals, raised) = UnixStream::pair().map_err(system("make a socket pair"))?;
        signal_hook::low_level::pipe::register(signal_hook::consts::SIGTERM, raised)
            .map_err(system("handle SIGTERM"))?;
        let owned = |fd: &dyn AsFd| own(fd.as_fd()).map_err(system("duplicate a standard stream"));
        let stdout = owned(&io::stdout())?;
        // From here on the copy is the only one: closing it closes the pipe.
        let nowhere = File::options().write(true).open("/dev/null").map_err(system("open /dev/null"))?;
        rustix::stdio::dup2_stdout(&nowhere).map_err(|error| system("replace stdout")(error.into()))?;
        Ok(Self {
            fake: Fake::new(setup.script, Options { seed: setup.seed, instance }),
            zero_us,
            stdin: owned(&io::stdin())?,
            input_open: true,
            reading: true,
            stdout: Outbox::new(stdout),
            stderr: Outbox::new(owned(&io::stderr())?),
            signals,
            control,
            trace: trace.transpose()?,
            seq: 0,
            parent: rustix::process::getppid(),
            orphaned_since: None,
            end: None,
        })
    }

    fn now(&self) -> Time {
        Time(monotonic_us().saturating_sub(self.zero_us))
    }

    /// Whether so much waits to be written that nothing more should be made.
    fn is_congested(&self) -> bool {
        self.stdout.waiting() + self.stderr.waiting() > WAITING_MAX
    }

    /// Waits for one thing or more, and handles each.
    fn turn(&mut self, out: &mut Vec<Output>) -> Result<(), RunError> {
        let ready = self.wait()?;
        if ready.judge {
            self.hear_judge(out);
        }
        if ready.signal && self.end.is_none() {
            let mut byte = [0; 16];
            // Only that there was a signal matters, not how many.
            let _ = rustix::io::read(&self.signals, &mut byte);
            self.feed(Input::Terminate, out);
            if let Some(End::Exit(code)) = self.end {
                self.end = Some(End::Abrupt(code));
            }
        }
        if ready.stdin && self.end.is_none() {
            self.read(out);
        }
        let due = self.fake.next_deadline().is_some_and(|due| due <= self.now());
        if due && self.end.is_none() && !self.is_congested() {
            self.feed(Input::Wake, out);
        }
        self.look_after_parent();
        self.write();
        Ok(())
    }

    fn wait(&self) -> Result<Ready, RunError> {
        let timeout = self.timeout().map(|wait| Timespec {
            tv_sec: i64::try_from(wait.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: wait.subsec_nanos().into(),
        });
        let reads = self.reading && self.input_open && !self.is_congested();
        let mut fds = vec![PollFd::new(&self.signals, PollFlags::IN)];
        let mut add = |fd, flags| {
            fds.push(PollFd::from_borrowed_fd(fd, flags));
            fds.len() - 1
        };
        let stdin_at = reads.then(|| add(self.stdin.as_fd(), PollFlags::IN));
        let judge_at = self.control.as_ref().map(|control| add(control.socket.as_fd(), PollFlags::IN));
        let outgoing = [
            self.stdout.interest(),
            self.stderr.interest(),
            self.control.as_ref().and_then(|control| control.outbox.interest()),
        ];
        for fd in outgoing.into_iter().flatten() {
            add(fd, PollFlags::OUT);
        }
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(Ready::default()),
            Err(error) => return Err(RunError::System { what: "poll", source: error.into() }),
        }
        let is_ready = |at: Option<usize>| at.is_some_and(|at| !fds[at].revents().is_empty());
        Ok(Ready { stdin: is_ready(stdin_at), signal: is_ready(Some(0)), judge: is_ready(judge_at) })
    }

    /// How long nothing may happen; `None` for ever.
    fn timeout(&self) -> Option<Duration> {
        let deadline = self.fake.next_deadline().filter(|_| !self.is_congested());
        let script = deadline.map(|deadline| deadline.since(self.now()));
        let parent = (!self.hears_its_client()).then_some(PARENT_LOOK);
        script.into_iter().chain(parent).min()
    }

    /// Whether the end of the input would be noticed.
    fn hears_its_client(&self) -> bool {
        self.reading && self.input_open && !self.is_congested()
    }

    fn look_after_parent(&mut self) {
        if self.hears_its_client() || rustix::process::getppid() == self.parent {
            self.orphaned_since = None;
            return;
        }
        let now = self.now();
        let since = *self.orphaned_since.get_or_insert(now);
        if now.since(since) > ORPHAN_LIFE {
            self.abandon("the parent has gone");
        }
    }

    fn read(&mut self, out: &mut Vec<Output>) {
        let mut bytes = vec![0; READ_BYTES];
        match rustix::io::read(&self.stdin, &mut bytes[..]) {
            Ok(0) => {
                self.input_open = false;
                self.feed(Input::InputClosed, out);
            }
            Ok(read) => self.feed(Input::Bytes(&bytes[..read]), out),
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
            Err(_) => {
                self.input_open = false;
                self.feed(Input::InputClosed, out);
            }
        }
    }

    fn hear_judge(&mut self, out: &mut Vec<Output>) {
        let Some(control) = &mut self.control else { return };
        let judge = control.read();
        let gates: Vec<String> = std::iter::from_fn(|| control.next_message())
            .filter_map(|message| match message {
                FromJudge::Gate { name } => Some(name),
                FromJudge::Welcome { .. } => None,
            })
            .collect();
        for name in &gates {
            self.feed(Input::Gate(name), out);
        }
        if judge == Judge::Gone && self.end.is_none() {
            // Whatever the script ignores, a fake does not outlive its judge.
            self.control = None;
            self.abandon("the judge has gone");
        }
    }

    fn abandon(&mut self, why: &str) {
        self.trace(Entry::Exit { why: why.to_owned(), code: Some(EXIT_ABANDONED) });
        self.end = Some(End::Abrupt(EXIT_ABANDONED));
    }

    /// Hands one input to the machine and does what it says.
    fn feed(&mut self, input: Input<'_>, out: &mut Vec<Output>) {
        let now = self.now();
        self.fake.handle(input, now, out);
        for output in out.drain(..) {
            match output {
                Output::Write(bytes) => self.stdout.push(bytes),
                Output::CloseOutput => self.stdout.close(),
                Output::StopReading => self.reading = false,
                Output::ResumeReading => self.reading = true,
                Output::Stderr(bytes) => self.stderr.push(bytes),
                Output::Exit { code } => self.end = Some(End::Exit(code)),
                Output::Die => self.end = Some(End::Die),
                Output::Trace(entry) => self.trace(entry),
            }
        }
    }

    fn trace(&mut self, mut entry: Entry) {
        if self.control.is_none() && self.trace.is_none() {
            return;
        }
        if let Entry::Start { pid, .. } = &mut entry {
            *pid = std::process::id();
        }
        let line = Line { us: self.now(), seq: self.seq, entry };
        self.seq += 1;
        if let Some(file) = &mut self.trace {
            // A full disk costs the trace, not the run.
            let _ = writeln!(file, "{}", line.to_json());
        }
        if let Some(control) = &mut self.control {
            control.outbox.push(to_line(&FromFake::Line { line }));
        }
    }

    /// Writes what there is room for. The judge is told first: who hears of a message on the pipe can
    /// rely on its trace line being on its way.
    fn write(&mut self) {
        if let Some(control) = &mut self.control {
            control.outbox.write();
        }
        if let Some(file) = &mut self.trace {
            let _ = file.flush();
        }
        self.stdout.write();
        self.stderr.write();
    }

    /// Writes what is left before the end, as long as that may take: the trace in any case, the streams
    /// unless the end is abrupt.
    fn flush(&mut self) {
        let until = self.now().after(FLUSH_WAIT);
        let streams = matches!(self.end, Some(End::Exit(_)));
        loop {
            self.write();
            let control = self.control.as_ref().and_then(|control| control.outbox.interest());
            let (stdout, stderr) = (self.stdout.interest(), self.stderr.interest());
            let left = [stdout.filter(|_| streams), stderr.filter(|_| streams), control];
            let mut fds: Vec<_> =
                left.into_iter().flatten().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::OUT)).collect();
            let wait = until.since(self.now());
            if fds.is_empty() || wait.is_zero() {
                return;
            }
            let wait = Timespec { tv_sec: 0, tv_nsec: wait.subsec_nanos().max(1).into() };
            if poll(&mut fds, Some(&wait)).is_err_and(|error| error != rustix::io::Errno::INTR) {
                return;
            }
        }
    }
}

/// Ends as by `SIGKILL`.
fn die() -> ExitCode {
    let killed = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    // Not reached: nobody is denied a signal to itself.
    ExitCode::from(u8::from(killed.is_err()))
}

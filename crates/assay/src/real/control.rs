//! Where fake servers report home: a socket that takes their greetings and traces, numbers their starts,
//! hands out gates, and keeps hold of their processes until these have ended.

use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use fake_lsp::control::{FromFake, FromJudge, LINE_BYTES_MAX, to_line};
use rustix::event::{PollFd, PollFlags};
use rustix::net::sockopt::socket_peercred;
use wire::Time;
use wire::trace::Entry;

use super::lines::{LineSplitter, Outgoing, Stream, read_available};
use super::process::Held;
use crate::world::{HarnessError, Instance};

/// Bytes of trace kept of one world; of what comes after, only notes and ends are kept.
const TRACE_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Connections that have not greeted yet.
const GREETING_MAX: usize = 64;
/// Readings of what an ended process left in its socket.
const LAST_READINGS_MAX: usize = 16;

/// One server's secret, by which its starts are known.
#[derive(Debug)]
pub(super) struct Token {
    pub(super) token: String,
    pub(super) server: String,
}

/// The judge's end of the control socket.
#[derive(Debug)]
pub(super) struct Control {
    listener: UnixListener,
    tokens: Vec<Token>,
    epoch_us: u64,
    gates: Vec<String>,
    greeting: Vec<Connection>,
    /// One entry per instance, in the same order.
    fakes: Vec<Fake>,
    instances: Vec<Instance>,
    trace_bytes: usize,
    trace_cut: u64,
}

/// What is kept of a running fake beside its [`Instance`].
#[derive(Debug)]
struct Fake {
    held: Option<Held>,
    connection: Option<Connection>,
    /// Added to the fake's own times to get the world's.
    offset_us: u64,
}

#[derive(Debug)]
struct Connection {
    stream: UnixStream,
    splitter: LineSplitter,
    outgoing: Outgoing,
}

impl Control {
    /// Listens at `socket`.
    /// `epoch_us` is the system's monotonic clock at the world's time zero.
    pub(super) fn listen(socket: &Path, tokens: Vec<Token>, epoch_us: u64) -> Result<Self, HarnessError> {
        let listener = UnixListener::bind(socket)
            .and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
            .map_err(|error| {
                let hint = "set TMPDIR to a folder with a short path that allows sockets";
                HarnessError::new(format!("the control socket {} was not made: {error}; {hint}", socket.display()))
            })?;
        Ok(Self {
            listener,
            tokens,
            epoch_us,
            gates: Vec::new(),
            greeting: Vec::new(),
            fakes: Vec::new(),
            instances: Vec::new(),
            trace_bytes: 0,
            trace_cut: 0,
        })
    }

    /// Every start so far, in the order of their greetings.
    pub(super) fn instances(&self) -> &[Instance] {
        &self.instances
    }

    /// The instances, and how many trace lines were not kept.
    pub(super) fn take_instances(&mut self) -> (Vec<Instance>, u64) {
        self.fakes.clear();
        (std::mem::take(&mut self.instances), self.trace_cut)
    }

    /// The newest instance of a server that has not ended.
    pub(super) fn newest(&self, server: &str) -> Option<(usize, &Held)> {
        let running = |index: &usize| self.instances[*index].server == server && !self.instances[*index].ended;
        let index = (0..self.instances.len()).rev().find(running)?;
        Some((index, self.fakes[index].held.as_ref()?))
    }

    /// The processes of instances that have not ended.
    pub(super) fn running(&self) -> impl Iterator<Item = (&Instance, &Held)> {
        let held = self.fakes.iter().map(|fake| fake.held.as_ref());
        self.instances.iter().zip(held).filter(|(instance, _)| !instance.ended).filter_map(|(i, held)| Some((i, held?)))
    }

    /// Opens a gate for every instance, present and to come.
    pub(super) fn open_gate(&mut self, gate: &str) {
        self.gates.push(gate.to_owned());
        let message = FromJudge::Gate { name: gate.to_owned() };
        self.fakes
            .iter_mut()
            .filter_map(|fake| fake.connection.as_mut())
            .for_each(|connection| connection.send(&message));
    }

    /// The descriptors that are waited for.
    pub(super) fn poll_fds(&self) -> impl Iterator<Item = PollFd<'_>> {
        let connections = self.fakes.iter().filter_map(|fake| fake.connection.as_ref()).chain(&self.greeting);
        std::iter::once(PollFd::new(&self.listener, PollFlags::IN))
            .chain(connections.map(Connection::poll_fd))
            .chain(self.running().map(|(_, held)| held.poll_fd()))
    }

    /// Does what can be done without waiting.
    pub(super) fn progress(&mut self) -> Result<(), HarnessError> {
        self.accept()?;
        self.greet()?;
        (0..self.fakes.len()).try_for_each(|index| self.hear(index))
    }

    fn accept(&mut self) -> Result<(), HarnessError> {
        loop {
            match self.listener.accept() {
                Ok((stream, _)) if self.greeting.len() < GREETING_MAX => {
                    stream
                        .set_nonblocking(true)
                        .map_err(|error| HarnessError::new(format!("a fake's socket: {error}")))?;
                    self.greeting.push(Connection::new(stream));
                }
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    return Err(HarnessError::new(format!("the control socket takes no more fakes: {error}")));
                }
            }
        }
    }

    /// Turns connections that have greeted into instances, and drops those that ended or told nonsense.
    fn greet(&mut self) -> Result<(), HarnessError> {
        for mut connection in std::mem::take(&mut self.greeting) {
            let mut lines = Vec::new();
            let stream = connection.read(&mut lines)?;
            let Some((first, rest)) = lines.split_first() else {
                if stream == Stream::Open {
                    self.greeting.push(connection);
                }
                continue;
            };
            if let Some(index) = self.admit(first, connection)? {
                rest.iter().try_for_each(|line| self.take_line(index, line))?;
            }
        }
        Ok(())
    }

    /// Makes an instance of a connection whose greeting holds a known token.
    fn admit(&mut self, greeting: &[u8], mut connection: Connection) -> Result<Option<usize>, HarnessError> {
        let Ok(FromFake::Hello { token, pid, monotonic_us, .. }) = serde_json::from_slice(greeting) else {
            return Ok(None);
        };
        let Some(server) = self.tokens.iter().find(|known| known.token == token).map(|known| known.server.clone())
        else {
            return Ok(None);
        };
        // The kernel's word on who is at the other end counts more than the fake's own, which may be
        // of another pid namespace.
        let pid = socket_peercred(&connection.stream)
            .ok()
            .and_then(|peer| u32::try_from(peer.pid.as_raw_nonzero().get()).ok())
            .unwrap_or(pid);
        let number =
            1 + u32::try_from(self.instances.iter().filter(|i| i.server == server).count()).unwrap_or(u32::MAX - 1);
        connection.send(&FromJudge::Welcome { instance: number });
        for gate in &self.gates {
            connection.send(&FromJudge::Gate { name: gate.clone() });
        }
        let offset_us = monotonic_us.saturating_sub(self.epoch_us);
        let started = Time(offset_us);
        self.instances.push(Instance { server, number, pid, started, lines: Vec::new(), ended: false });
        self.fakes.push(Fake { held: Held::of(pid), connection: Some(connection), offset_us });
        Ok(Some(self.instances.len() - 1))
    }

    /// Takes what one fake has written, and notices its end.
    fn hear(&mut self, index: usize) -> Result<(), HarnessError> {
        if self.instances[index].ended {
            return Ok(());
        }
        // Looked at before the socket is read: the trace of an ended process is then complete.
        let ended = self.fakes[index].held.as_ref().is_none_or(Held::has_ended);
        for _ in 0..if ended { LAST_READINGS_MAX } else { 1 } {
            let Some(connection) = &mut self.fakes[index].connection else { break };
            let mut lines = Vec::new();
            if connection.read(&mut lines)? == Stream::Ended {
                self.fakes[index].connection = None;
            }
            lines.iter().try_for_each(|line| self.take_line(index, line))?;
        }
        if ended {
            self.instances[index].ended = true;
            self.fakes[index].connection = None;
        }
        Ok(())
    }

    /// Keeps one line of a fake's trace, with its time on the world's clock.
    fn take_line(&mut self, index: usize, bytes: &[u8]) -> Result<(), HarnessError> {
        let nonsense = |why: String| {
            let server = &self.instances[index].server;
            let text = String::from_utf8_lossy(&bytes[..bytes.len().min(200)]).into_owned();
            HarnessError::new(format!("the fake `{server}` wrote a line that is no trace line: {why}: {text}"))
        };
        let mut line = match serde_json::from_slice(bytes) {
            Ok(FromFake::Line { line }) => line,
            Ok(FromFake::Hello { .. }) => return Err(nonsense("it greeted twice".to_owned())),
            Err(error) => return Err(nonsense(error.to_string())),
        };
        line.us = Time(line.us.0.saturating_add(self.fakes[index].offset_us));
        let small = matches!(line.entry, Entry::Start { .. } | Entry::Note { .. } | Entry::Exit { .. });
        if !small && self.trace_bytes + bytes.len() > TRACE_BYTES_MAX {
            self.trace_cut += 1;
            return Ok(());
        }
        self.trace_bytes += bytes.len();
        self.instances[index].lines.push(line);
        Ok(())
    }
}

impl Connection {
    fn new(stream: UnixStream) -> Self {
        Self { stream, splitter: LineSplitter::new(LINE_BYTES_MAX), outgoing: Outgoing::default() }
    }

    fn send(&mut self, message: &FromJudge) {
        self.outgoing.push(&to_line(message));
        // If the other end has gone, reading says so.
        self.outgoing.flush(&mut self.stream);
    }

    /// Writes what waits and reads what is there.
    fn read(&mut self, lines: &mut Vec<Vec<u8>>) -> Result<Stream, HarnessError> {
        self.outgoing.flush(&mut self.stream);
        let mut bytes = Vec::new();
        let stream = read_available(&mut self.stream, &mut bytes);
        self.splitter.push(&bytes, lines).map_err(|error| {
            HarnessError::new(format!("a fake's trace line is longer than {} bytes", error.bytes_max))
        })?;
        Ok(stream)
    }

    fn poll_fd(&self) -> PollFd<'_> {
        let writes = if self.outgoing.len() > 0 { PollFlags::OUT } else { PollFlags::empty() };
        PollFd::new(&self.stream, PollFlags::IN | writes)
    }
}

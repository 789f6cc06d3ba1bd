//! One server process from spawn to exit: framing, numbering, requests under way, the queue towards its
//! input, the order of shutdown. What messages mean for documents is `client`'s business.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use wire::trace::Direction;
use wire::{Decoded, Decoder, FrameErrorKind, Id, Outgoing, ResponseError, Time};

use crate::capabilities::{Provider, ServerCapabilities};
use crate::fault::{Fault, Faults};
use crate::render::fragment;
use crate::{Effect, OpId, Policy, ProcessId, Record, Signal};

/// What a machine needs while it handles one event: the time, the place for effects, fresh ids.
pub(crate) struct Io<'a> {
    pub(crate) now: Time,
    pub(crate) effects: &'a mut Vec<Effect>,
    pub(crate) ids: &'a mut Ids,
    pub(crate) policy: &'a Policy,
    pub(crate) faults: Faults,
}

/// The source of ids of effects and processes.
#[derive(Debug, Default)]
pub(crate) struct Ids {
    op: u64,
    process: u64,
}

impl Ids {
    pub(crate) fn op(&mut self) -> OpId {
        self.op += 1;
        OpId(self.op)
    }

    pub(crate) fn process(&mut self) -> ProcessId {
        self.process += 1;
        ProcessId(self.process)
    }
}

/// Where a session stands between spawn and exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The spawn is under way.
    Starting,
    /// `initialize` is sent.
    Initializing,
    /// `initialized` is sent; documents may follow.
    Ready,
    /// `shutdown` is sent.
    ShuttingDown { until: Time },
    /// `exit` is sent and the input closed.
    Exiting { until: Time },
    /// The group was asked to terminate.
    Terminating { until: Time },
    /// The group was killed; only its exit is awaited.
    Killed,
}

/// A request of ours that is not answered yet.
#[derive(Clone, Debug)]
pub(crate) enum Asked {
    Initialize,
    Shutdown,
    Pull(AskedPull),
}

/// What a pull was asked about, to judge its answer by.
#[derive(Clone, Debug)]
pub(crate) struct AskedPull {
    /// Key of the document.
    pub(crate) document: Vec<u8>,
    pub(crate) identifier: Option<String>,
    /// Revision of the text that the server had been sent.
    pub(crate) revision: u64,
    /// Number of the request.
    pub(crate) seq: u64,
    /// Whether a result id was sent along.
    pub(crate) with_result_id: bool,
}

/// One running server.
pub(crate) struct Session {
    pub(crate) process: ProcessId,
    pub(crate) spawned: Time,
    /// When `initialize` was answered.
    pub(crate) initialized: Option<Time>,
    pub(crate) phase: Phase,
    pub(crate) capabilities: Option<ServerCapabilities>,
    /// Sources of pull diagnostics: the static one and registered ones.
    pub(crate) providers: Vec<Provider>,
    pub(crate) loading: Loading,
    /// Declared length of a message that was skipped for its size.
    pub(crate) too_large: Option<u64>,
    decoder: Decoder,
    queue: VecDeque<Vec<u8>>,
    queued_bytes: usize,
    writing: Option<(OpId, Time)>,
    input_open: bool,
    /// Close the input as soon as everything is written.
    closing: bool,
    /// Since when one of its pipes is gone though the process may still run.
    pub(crate) cut_off: Option<Time>,
    next_request: i64,
    asked: BTreeMap<i64, Asked>,
    sent: u64,
    received: u64,
}

/// What a server has told about its readiness by work-done progress.
#[derive(Debug, Default)]
pub(crate) struct Loading {
    active: BTreeSet<String>,
    /// When the last active token ended.
    pub(crate) ended: Option<Time>,
    /// How often that was.
    pub(crate) ends: u32,
}

/// Tokens that one server may have active; more are ignored.
const TOKENS_MAX: usize = 1_000;

impl Loading {
    pub(crate) fn now(&self) -> bool {
        !self.active.is_empty()
    }

    /// Takes one progress payload; `true` when the last active token ended.
    pub(crate) fn progress(&mut self, token: &Value, kind: &str, now: Time) -> bool {
        let token = token.to_string();
        match kind {
            "begin" if self.active.len() < TOKENS_MAX => {
                self.active.insert(token);
                false
            }
            "end" if self.active.remove(&token) && self.active.is_empty() => {
                self.ended = Some(now);
                self.ends = self.ends.saturating_add(1);
                true
            }
            _ => false,
        }
    }
}

/// One thing that the decoder found in a server's output.
pub(crate) enum Inbound {
    /// The content of a frame.
    Content(Vec<u8>),
    /// Something that is no message, in words.
    Broken(String),
}

impl Session {
    pub(crate) fn new(process: ProcessId, io: &Io<'_>) -> Self {
        Self {
            process,
            spawned: io.now,
            initialized: None,
            phase: Phase::Starting,
            capabilities: None,
            providers: Vec::new(),
            loading: Loading::default(),
            too_large: None,
            decoder: Decoder::new(io.policy.limits),
            queue: VecDeque::new(),
            queued_bytes: 0,
            writing: None,
            input_open: true,
            closing: false,
            cut_off: None,
            next_request: 0,
            asked: BTreeMap::new(),
            sent: 0,
            received: 0,
        }
    }

    pub(crate) fn ready(&self) -> bool {
        self.phase == Phase::Ready
    }

    /// Whether the session is on its way out.
    pub(crate) fn ending(&self) -> bool {
        !matches!(self.phase, Phase::Starting | Phase::Initializing | Phase::Ready)
    }

    /// Sends a notification; its number.
    pub(crate) fn notify<P: Serialize>(
        &mut self,
        method: &str,
        params: Option<P>,
        hint: usize,
        io: &mut Io<'_>,
    ) -> u64 {
        self.send(Outgoing::notification(method, params).to_frame(hint), io)
    }

    /// Sends a request; its number. The answer comes back with `asked`.
    pub(crate) fn request<P: Serialize>(
        &mut self,
        asked: Asked,
        method: &str,
        params: Option<P>,
        io: &mut Io<'_>,
    ) -> i64 {
        self.next_request += 1;
        let id = self.next_request;
        let frame = Outgoing::request(&Id::Number(id), method, params).to_frame(256);
        let seq = self.send(frame, io);
        let asked = match asked {
            Asked::Pull(pull) => Asked::Pull(AskedPull { seq, ..pull }),
            other => other,
        };
        self.asked.insert(id, asked);
        id
    }

    /// Answers a request of the server.
    pub(crate) fn respond(&mut self, id: &Id, answer: Result<Value, ResponseError>, io: &mut Io<'_>) {
        let frame = match &answer {
            Ok(result) => Outgoing::result(id, result).to_frame(64),
            Err(error) => Outgoing::<Value>::error(id, error).to_frame(128),
        };
        self.send(frame, io);
    }

    /// Tells the server that an answer is no longer of use; it may still come.
    pub(crate) fn cancel(&mut self, id: i64, io: &mut Io<'_>) {
        if self.asked.contains_key(&id) {
            self.notify("$/cancelRequest", Some(serde_json::json!({ "id": id })), 96, io);
        }
    }

    /// The request that a response answers; `None` if it was never asked or was answered before.
    pub(crate) fn answered(&mut self, id: Option<&Id>) -> Option<(i64, Asked)> {
        let Some(Id::Number(number)) = id else { return None };
        self.asked.remove(number).map(|asked| (*number, asked))
    }

    fn send(&mut self, frame: Vec<u8>, io: &mut Io<'_>) -> u64 {
        let seq = self.sent;
        self.sent += 1;
        if io.policy.record {
            let header = frame.windows(4).position(|window| window == b"\r\n\r\n").map_or(0, |at| at + 4);
            self.record(Direction::ToServer, seq, &frame[header..], io);
        }
        if self.input_open {
            self.queued_bytes += frame.len();
            self.queue.push_back(frame);
            self.pump(io);
        }
        seq
    }

    fn record(&self, dir: Direction, seq: u64, content: &[u8], io: &mut Io<'_>) {
        let content = Arc::from(content);
        io.effects.push(Effect::Record(Record { process: self.process, dir, seq, at: io.now, content }));
    }

    /// Hands all that waits to the driver, if the last write is done.
    pub(crate) fn pump(&mut self, io: &mut Io<'_>) {
        if self.writing.is_some() || self.queue.is_empty() || self.phase == Phase::Starting || !self.input_open {
            return;
        }
        let mut bytes = self.queue.pop_front().unwrap_or_default();
        bytes.reserve(self.queued_bytes.saturating_sub(bytes.len()));
        for frame in self.queue.drain(..) {
            bytes.extend_from_slice(&frame);
        }
        self.queued_bytes = 0;
        let op = io.ids.op();
        self.writing = Some((op, io.now));
        io.effects.push(Effect::Write { process: self.process, op, bytes });
    }

    /// A write is done; what came meanwhile goes next.
    pub(crate) fn written(&mut self, op: OpId, io: &mut Io<'_>) {
        if self.writing.is_some_and(|(current, _)| current == op) {
            self.writing = None;
            self.pump(io);
            self.close_if_written(io);
        }
    }

    fn close_if_written(&mut self, io: &mut Io<'_>) {
        if self.closing && self.writing.is_none() {
            self.closing = false;
            io.effects.push(Effect::CloseInput { process: self.process });
        }
    }

    /// The input is gone: nothing more is sent.
    pub(crate) fn input_failed(&mut self) {
        self.input_open = false;
        self.closing = false;
        self.writing = None;
        self.queue.clear();
        self.queued_bytes = 0;
    }

    /// When the server counts as not reading, if a write is under way.
    pub(crate) fn write_deadline(&self, policy: &Policy) -> Option<Time> {
        self.writing.map(|(_, since)| since.after(policy.write_budget))
    }

    /// Whether a write is under way.
    pub(crate) fn write_stuck(&self) -> bool {
        self.writing.is_some()
    }

    /// Whether more waits for the server's input than is allowed.
    pub(crate) fn queue_over(&self, policy: &Policy) -> bool {
        self.queued_bytes > policy.write_queue_bytes_max
    }

    /// Takes bytes of the server's output; [`Session::next_inbound`] tells what they hold.
    pub(crate) fn receive(&mut self, bytes: &[u8]) {
        self.decoder.push(bytes);
    }

    /// The next thing in the output, if it is whole.
    pub(crate) fn next_inbound(&mut self) -> Option<Inbound> {
        Some(match self.decoder.next()? {
            Decoded::Content(content) => Inbound::Content(content),
            Decoded::Error(error) => {
                if let FrameErrorKind::TooLarge { length, .. } = error.kind {
                    self.too_large = Some(length);
                    self.received += 1;
                }
                Inbound::Broken(fragment(&format!("wrote something that is no message: {error}")))
            }
        })
    }

    /// Gives a content that is JSON its number.
    pub(crate) fn number(&mut self, content: &[u8], io: &mut Io<'_>) -> u64 {
        let seq = self.received;
        self.received += 1;
        if io.policy.record {
            self.record(Direction::ToClient, seq, content, io);
        }
        seq
    }

    /// The output ended inside a message.
    pub(crate) fn output_ended(&self) -> Option<String> {
        self.decoder.finish().map(|error| error.to_string())
    }

    /// Whether an oversized message is still being skipped.
    pub(crate) fn skipping(&self) -> bool {
        self.too_large.is_some() && self.decoder.finish().is_some()
    }

    /// Begins the end: in order as far as the server has come.
    pub(crate) fn shut_down(&mut self, io: &mut Io<'_>) {
        if io.faults.has(Fault::LeavesOrphans) {
            return;
        }
        match self.phase {
            Phase::Ready => {
                self.request::<Value>(Asked::Shutdown, "shutdown", None, io);
                self.phase = Phase::ShuttingDown { until: io.now.after(io.policy.shutdown_budget) };
            }
            // Before the answer to initialize nothing else may be sent.
            Phase::Initializing => self.terminate(io),
            // Killed as soon as it is there.
            Phase::Starting => self.phase = Phase::Killed,
            _ => {}
        }
    }

    /// The answer to `shutdown` came: exit, and close the input, which some servers wait for.
    pub(crate) fn exit(&mut self, io: &mut Io<'_>) {
        self.notify::<Value>("exit", None, 64, io);
        self.phase = Phase::Exiting { until: io.now.after(io.policy.exit_budget) };
        self.closing = true;
        self.close_if_written(io);
    }

    fn terminate(&mut self, io: &mut Io<'_>) {
        self.phase = Phase::Terminating { until: io.now.after(io.policy.terminate_budget) };
        self.input_failed();
        io.effects.push(Effect::CloseInput { process: self.process });
        io.effects.push(Effect::Signal { process: self.process, signal: Signal::Terminate });
    }

    /// Kills the group at once.
    pub(crate) fn kill(&mut self, io: &mut Io<'_>) {
        if io.faults.has(Fault::LeavesOrphans) {
            return;
        }
        if self.phase != Phase::Killed {
            self.phase = Phase::Killed;
            self.input_failed();
            io.effects.push(Effect::Signal { process: self.process, signal: Signal::Kill });
        }
    }

    /// When the order of shutdown takes its next step by itself.
    pub(crate) fn ending_deadline(&self) -> Option<Time> {
        match self.phase {
            Phase::ShuttingDown { until } | Phase::Exiting { until } | Phase::Terminating { until } => Some(until),
            _ => None,
        }
    }

    /// Takes that step if it is due.
    pub(crate) fn step_ending(&mut self, io: &mut Io<'_>) {
        if self.ending_deadline().is_none_or(|until| until > io.now) {
            return;
        }
        match self.phase {
            Phase::ShuttingDown { .. } | Phase::Exiting { .. } => self.terminate(io),
            Phase::Terminating { .. } => self.kill(io),
            _ => {}
        }
    }
}

/// Whether a content is JSON, and so has a number.
pub(crate) fn is_json(content: &[u8]) -> bool {
    std::str::from_utf8(content).is_ok_and(|text| serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok())
}

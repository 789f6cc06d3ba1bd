//! The interpreter: one script, one process, no I/O. Here are its inputs, its outputs and its turn; what
//! it does with messages, rules, lists of actions and verbs is in the modules below, one subject each.

mod client;
mod defaults;
mod documents;
mod flood;
mod list;
mod position;
mod receive;
mod rules;
mod stdout;
mod template;
mod verbs;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;
use scenario::Script;
use scenario::script::Trigger;
use serde_json::{Value, json};
use wire::trace::{Direction, Entry, TRACE_VERSION};
use wire::{Decoded, Decoder, Id, Time};

use self::client::Client;
use self::documents::Documents;
use self::list::{Context, List};
use self::stdout::{Allowance, Item, Queue, Stream};

/// Gates, requests and lists of actions under way at most, each.
const HELD_MAX: usize = 10_000;
/// The exit code of a fake that was made to hold more than it may (`EX_SOFTWARE` of sysexits.h).
const EXIT_OVERFLOW: i32 = 70;
/// The exit code of a process that ended upon `SIGTERM`, as a shell tells it.
const EXIT_TERMINATED: i32 = 143;

/// What differs between two runs of one script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Seeds jitter.
    pub seed: u64,
    /// Which start of this server it is, from 1.
    pub instance: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self { seed: 0, instance: 1 }
    }
}

/// What happened outside.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// The process has started. The first input.
    Start,
    /// Bytes from the standard input, in any split.
    Bytes(&'a [u8]),
    /// The standard input ended.
    InputClosed,
    /// The judge opened a gate, for good.
    Gate(&'a str),
    /// The process is asked to end (`SIGTERM`).
    Terminate,
    /// Time has passed, at least to [`Fake::next_deadline`].
    Wake,
}

/// What is to be done, in order.
#[derive(Clone, Debug)]
pub enum Output {
    /// Write these bytes to the standard output.
    Write(Vec<u8>),
    /// Close the standard output.
    CloseOutput,
    /// Take nothing further from the standard input. What was taken before and is handed in all the
    /// same is kept until reading is resumed.
    StopReading,
    /// Take from it again.
    ResumeReading,
    /// Write these bytes to the standard error.
    Stderr(Vec<u8>),
    /// End with this code. The last output.
    Exit {
        /// The code.
        code: i32,
    },
    /// End as by `SIGKILL`. The last output.
    Die,
    /// A line of the trace.
    Trace(Entry),
}

/// How far the conversation has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Nothing was asked yet.
    New,
    /// `initialize` was asked and not yet answered.
    Initializing,
    /// It was answered; the client has not yet said `initialized`.
    Answered,
    /// It has.
    Running,
    /// `shutdown` was asked.
    ShutDown,
}

/// A fake language server: inputs and the time in, outputs out.
pub struct Fake {
    script: Arc<Script>,
    options: Options,
    decoder: Decoder,
    phase: Phase,
    client: Client,
    documents: Documents,
    /// Requests of the client that are not answered, and their methods.
    incoming: BTreeMap<Id, String>,
    /// Requests to the client that are not answered.
    outgoing: BTreeSet<Id>,
    requests_sent: i64,
    /// How many messages met each rule's other conditions.
    counts: Vec<u64>,
    /// Lists of actions under way, oldest first.
    lists: Vec<List>,
    gates: BTreeSet<String>,
    state: String,
    queue: Queue,
    rng: ChaCha8Rng,
    reading: bool,
    input_closed: bool,
    ended: bool,
}

/// One call of [`Fake::handle`]: when, where to, and how much.
struct Turn<'a> {
    now: Time,
    out: &'a mut Vec<Output>,
    allowance: Allowance,
}

impl Turn<'_> {
    fn trace(&mut self, entry: Entry) {
        self.out.push(Output::Trace(entry));
    }

    fn note(&mut self, what: &str, data: Value) {
        self.trace(Entry::Note { what: what.to_owned(), data });
    }

    /// Something that a client should not have done.
    fn unexpected(&mut self, why: &str, message: &str) {
        self.note("unexpected", json!({ "why": why, "message": message }));
    }
}

impl Fake {
    /// A server that runs `script`; it does nothing before [`Input::Start`].
    #[must_use]
    pub fn new(script: Arc<Script>, options: Options) -> Self {
        let counts = vec![0; script.rules.len()];
        // Instances of one run draw different numbers.
        let seed = options.seed ^ (u64::from(options.instance) << 32);
        Self {
            script,
            options,
            decoder: Decoder::default(),
            phase: Phase::New,
            client: Client::default(),
            documents: Documents::default(),
            incoming: BTreeMap::new(),
            outgoing: BTreeSet::new(),
            requests_sent: 0,
            counts,
            lists: Vec::new(),
            gates: BTreeSet::new(),
            state: "start".to_owned(),
            queue: Queue::default(),
            rng: ChaCha8Rng::seed_from_u64(seed),
            reading: true,
            input_closed: false,
            ended: false,
        }
    }

    /// Takes one input and appends what is to be done to `out`. `now` never goes back.
    pub fn handle(&mut self, input: Input<'_>, now: Time, out: &mut Vec<Output>) {
        if self.ended {
            return;
        }
        // Floods and cut writes go on upon `Wake` alone, so that it makes no difference how input is split.
        let allowance = if matches!(input, Input::Wake) { Allowance::default() } else { Allowance::NOTHING };
        let turn = &mut Turn { now, out, allowance };
        match input {
            Input::Start => self.start(turn),
            Input::Bytes(bytes) => self.decoder.push(bytes),
            Input::InputClosed => self.input_closed = true,
            Input::Gate(name) => self.open_gate(name, turn),
            Input::Terminate => self.terminate(turn),
            Input::Wake => {}
        }
        self.advance(turn);
        self.take_messages(turn);
    }

    /// When [`Input::Wake`] is due at the latest; `None` if nothing waits for time. A driver whose pipe
    /// is full holds `Wake` back: that is what keeps a flood in bounds.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Time> {
        if self.ended {
            return None;
        }
        let lists = self.lists.iter().filter_map(|list| list.due(&self.gates, &self.outgoing, &self.queue));
        lists.chain(self.queue.next_deadline()).min()
    }

    fn start(&mut self, turn: &mut Turn<'_>) {
        let writer = self.script.name.clone();
        turn.trace(Entry::Start { trace: TRACE_VERSION, writer, pid: 0, instance: self.options.instance });
        self.begin_lists(&Trigger::Start, Context::default(), turn);
    }

    fn terminate(&mut self, turn: &mut Turn<'_>) {
        let handled = self.begin_lists(&Trigger::Terminate, Context::default(), turn);
        if !handled {
            self.exit(EXIT_TERMINATED, "terminated", turn);
        }
    }

    fn open_gate(&mut self, name: &str, turn: &mut Turn<'_>) {
        if self.gates.contains(name) {
            return;
        }
        if self.gates.len() >= HELD_MAX {
            return self.overflow("gates", turn);
        }
        turn.note("gate", json!({ "name": name }));
        self.gates.insert(name.to_owned());
    }

    /// Handles what has come whole, one message after the other, unless reading was stopped.
    fn take_messages(&mut self, turn: &mut Turn<'_>) {
        while self.reading && !self.ended {
            match self.decoder.next() {
                Some(Decoded::Content(content)) => self.content(&content, turn),
                Some(Decoded::Error(error)) => turn.trace(Entry::raw(Direction::ToServer, b"", error.to_string())),
                None => break,
            }
            self.advance(turn);
        }
        if self.input_closed && self.reading && !self.ended {
            self.input_closed = false;
            self.end_of_input(turn);
            self.advance(turn);
        }
    }

    fn end_of_input(&mut self, turn: &mut Turn<'_>) {
        if let Some(error) = self.decoder.finish() {
            turn.trace(Entry::raw(Direction::ToServer, b"", error.to_string()));
        }
        turn.note("stdin-closed", json!({}));
        let handled = self.begin_lists(&Trigger::StdinClosed, Context::default(), turn);
        if !handled {
            self.exit(self.orderly_code(), "stdin-closed", turn);
        }
    }

    /// 0 after `shutdown`, else 1 (LSP 3.17, `exit`).
    fn orderly_code(&self) -> i32 {
        i32::from(self.phase != Phase::ShutDown)
    }

    fn exit(&mut self, code: i32, why: &str, turn: &mut Turn<'_>) {
        if self.ended {
            return;
        }
        self.ended = true;
        turn.trace(Entry::Exit { why: why.to_owned(), code: Some(code) });
        turn.out.push(Output::Exit { code });
    }

    fn die(&mut self, turn: &mut Turn<'_>) {
        self.ended = true;
        turn.trace(Entry::Exit { why: "die".to_owned(), code: None });
        turn.out.push(Output::Die);
    }

    fn overflow(&mut self, of: &str, turn: &mut Turn<'_>) {
        turn.note("overflow", json!({ "of": of }));
        self.exit(EXIT_OVERFLOW, "overflow", turn);
    }

    /// Queues a message; says the number under which it will be written.
    fn send(&mut self, message: Value, split: Option<scenario::script::file::Split>) -> u64 {
        let bytes = wire::encode_with(256, |frame| {
            // Writing JSON with string keys to memory does not fail.
            let _ = serde_json::to_writer(frame, &message);
        });
        let entry = Some(Entry::Message { dir: Direction::ToClient, msg: message });
        self.queue.push(Item::Bytes { stream: Stream::Out, bytes, split, entry })
    }
}

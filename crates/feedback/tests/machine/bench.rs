//! A bench on which the loop runs by hand: files in a map, servers played by the test, time set by it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use feedback::certificate::{Recorded, verify};
use feedback::{
    Answer, CallId, Command, Config, Effect, Event, ExitStatus, FileError, Launch, Loop, OpId, Policy, ProcessId,
    Record, Report, Request, ServerSpec, Signal, Time,
};
use serde_json::{Value, json};
use wire::{Decoded, Decoder};

pub(crate) struct Bench {
    pub(crate) machine: Loop,
    pub(crate) now: Time,
    pub(crate) files: BTreeMap<PathBuf, Vec<u8>>,
    /// Messages that reached servers and were not taken yet.
    pub(crate) inbox: Vec<(ProcessId, Value)>,
    pub(crate) spawned: Vec<ProcessId>,
    pub(crate) signals: Vec<(ProcessId, Signal)>,
    pub(crate) closed_inputs: Vec<ProcessId>,
    pub(crate) answers: BTreeMap<CallId, Answer>,
    pub(crate) records: Vec<Record>,
    /// Writes are left unfinished while this is set.
    pub(crate) blocked: bool,
    decoders: BTreeMap<ProcessId, Decoder>,
    next_call: u64,
}

pub(crate) fn spec(name: &str) -> ServerSpec {
    ServerSpec {
        name: name.to_owned(),
        extensions: vec![(".fake".to_owned(), "fake".to_owned())],
        root_markers: Vec::new(),
        launch: Launch::Command(Command { program: "server".into(), ..Command::default() }),
        initialization_options: None,
        settings: Value::Null,
        required: true,
    }
}

pub(crate) fn policy() -> Policy {
    let mut policy = Policy::default();
    policy.initialize_budget = Duration::from_secs(2);
    policy.first_budget = Duration::from_secs(3);
    policy.call_budget = Duration::from_secs(3);
    policy.record = true;
    policy
}

impl Bench {
    pub(crate) fn new(servers: Vec<ServerSpec>, policy: Policy) -> Self {
        let config = Config { root: "/w".into(), servers, policy, process_id: Some(7) };
        Self {
            machine: Loop::new(config),
            now: Time::ZERO,
            files: BTreeMap::new(),
            inbox: Vec::new(),
            spawned: Vec::new(),
            signals: Vec::new(),
            closed_inputs: Vec::new(),
            answers: BTreeMap::new(),
            records: Vec::new(),
            blocked: false,
            decoders: BTreeMap::new(),
            next_call: 0,
        }
    }

    pub(crate) fn one() -> Self {
        Self::new(vec![spec("fake")], policy())
    }

    pub(crate) fn event(&mut self, event: Event) {
        let mut effects = Vec::new();
        self.machine.handle(event, self.now, &mut effects);
        for effect in effects {
            self.perform(effect);
        }
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Spawn { process, .. } => {
                self.spawned.push(process);
                self.event(Event::Spawned { process });
            }
            Effect::Write { process, op, bytes } => self.write(process, op, &bytes),
            Effect::CloseInput { process } => self.closed_inputs.push(process),
            Effect::Signal { process, signal } => self.signals.push((process, signal)),
            Effect::ReadFile { op, path, .. } => {
                let result = self.files.get(&path).cloned().ok_or(FileError::NotFound);
                self.event(Event::FileRead { op, result });
            }
            Effect::Stat { op, .. } => self.event(Event::Statted { op, result: Err(FileError::NotFound) }),
            Effect::Answer { call, answer } => {
                self.check_certificates(&answer);
                assert!(self.answers.insert(call, answer).is_none(), "{call:?} was answered twice");
            }
            Effect::Record(record) => self.records.push(record),
            other => panic!("unknown effect {other:?}"),
        }
    }

    /// Every certificate holds by the messages up to its answer.
    fn check_certificates(&self, answer: &Answer) {
        let reports = match answer {
            Answer::Report(report) => std::slice::from_ref(&**report),
            _ => &[],
        };
        for certificate in reports.iter().flat_map(|report| &report.certificates) {
            let of = |record: &&Record| record.process == certificate.process;
            let recorded: Vec<Recorded<'_>> = self.records.iter().filter(of).map(Recorded::from).collect();
            verify(certificate, &recorded).unwrap();
        }
    }

    fn write(&mut self, process: ProcessId, op: OpId, bytes: &[u8]) {
        let decoder = self.decoders.entry(process).or_default();
        decoder.push(bytes);
        while let Some(decoded) = decoder.next() {
            let Decoded::Content(content) = decoded else { panic!("the loop wrote {decoded:?}") };
            self.inbox.push((process, serde_json::from_slice(&content).unwrap()));
        }
        if !self.blocked {
            self.event(Event::Written { process, op });
        }
    }

    pub(crate) fn call(&mut self, request: Request) -> CallId {
        self.next_call += 1;
        let call = CallId(self.next_call);
        self.event(Event::Call { call, request });
        call
    }

    /// Puts a text on disk and asks for feedback.
    pub(crate) fn edit(&mut self, path: &str, text: &str) -> CallId {
        self.files.insert(PathBuf::from("/w").join(path), text.as_bytes().to_vec());
        self.call(Request::Check { path: path.into() })
    }

    /// Lets time pass to a point, waking the loop wherever it asks for it.
    pub(crate) fn pass_to(&mut self, ms: u64) {
        let end = Time(ms * 1000);
        let mut wakes = 0;
        while let Some(at) = self.machine.next_deadline().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.event(Event::Wake);
            wakes += 1;
            assert!(wakes < 10_000, "the loop asks to be woken at {at:?} again and again");
        }
        self.now = end;
    }

    pub(crate) fn newest(&self) -> ProcessId {
        *self.spawned.last().expect("a server was started")
    }

    pub(crate) fn say(&mut self, message: Value) {
        let frame = wire::encode(message.to_string().as_bytes());
        self.bytes(&frame);
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        let process = self.newest();
        self.event(Event::Output { process, bytes: bytes.to_vec() });
    }

    /// Takes the messages that have reached servers.
    pub(crate) fn take(&mut self) -> Vec<Value> {
        self.inbox.drain(..).map(|(_, message)| message).collect()
    }

    pub(crate) fn methods(&mut self) -> Vec<String> {
        self.take().iter().map(|message| message["method"].as_str().unwrap_or("(answer)").to_owned()).collect()
    }

    /// Answers `initialize` with these capabilities; the messages that follow stay in the inbox.
    pub(crate) fn initialize(&mut self, capabilities: Value) {
        let initialize = self.take().into_iter().find(|message| message["method"] == "initialize").expect("initialize");
        self.say(json!({ "id": initialize["id"], "result": { "capabilities": capabilities } }));
    }

    pub(crate) fn publish(&mut self, version: Option<i32>, messages: &[&str]) {
        let mut params = json!({ "uri": "file:///w/a.fake", "diagnostics": diagnostics(messages) });
        if let Some(version) = version {
            params["version"] = version.into();
        }
        self.say(json!({ "method": "textDocument/publishDiagnostics", "params": params }));
    }

    /// The id of the newest pull in the inbox.
    pub(crate) fn pull(&mut self) -> Value {
        let mut pulls = self.take().into_iter().filter(|message| message["method"] == "textDocument/diagnostic");
        pulls.next_back().expect("a pull")["id"].clone()
    }

    pub(crate) fn exit(&mut self, code: i32, stderr: &str) {
        let process = self.newest();
        let status = ExitStatus { code: Some(code), signal: None };
        self.event(Event::Exited { process, status, stderr_tail: stderr.to_owned() });
    }

    pub(crate) fn report(&self, call: CallId) -> Option<&Report> {
        let Some(Answer::Report(report)) = self.answers.get(&call) else { return None };
        Some(report)
    }

    /// The report in words.
    pub(crate) fn text(&self, call: CallId) -> String {
        self.report(call).expect("a report").render(&policy())
    }

    pub(crate) fn late(&mut self) -> Vec<String> {
        let call = self.call(Request::Late);
        let Some(Answer::Late(late)) = self.answers.get(&call) else { panic!("no answer to late") };
        late.iter().map(|report| report.render(&policy())).collect()
    }
}

pub(crate) fn diagnostics(messages: &[&str]) -> Value {
    let range = json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 0, "character": 1 } });
    messages.iter().map(|message| json!({ "range": range, "message": message, "severity": 1 })).collect()
}

pub(crate) fn push_server() -> Value {
    json!({ "textDocumentSync": { "openClose": true, "change": 2 } })
}

pub(crate) fn pull_server() -> Value {
    let provider = json!({ "interFileDependencies": false, "workspaceDiagnostics": false });
    json!({ "textDocumentSync": 2, "diagnosticProvider": provider })
}

//! What the benches share: a loop driven by hand, and the texts that are edited. Every bench asserts
//! the right result of what it times: a fast wrong answer is a failure.

use std::path::PathBuf;
use std::time::Duration;

use feedback::{
    Answer, CallId, Command, Config, Effect, Event, Launch, Loop, Policy, ProcessId, Report, Request, ServerSpec, Time,
};
use serde_json::{Value, json};

/// A server that covers `.fake` files.
#[must_use]
pub fn spec(command: Command) -> ServerSpec {
    ServerSpec {
        name: "fake".to_owned(),
        extensions: vec![(".fake".to_owned(), "fake".to_owned())],
        root_markers: Vec::new(),
        launch: Launch::Command(command),
        initialization_options: None,
        settings: Value::Null,
        required: true,
    }
}

/// A text of some size whose one error moves with `round`, so that every edit is a new text.
#[must_use]
pub fn text(round: u64) -> String {
    let pad = "a line of text that means nothing\n".repeat(14);
    format!("{pad}ERROR E1 round {round}\n")
}

/// The loop with a push server behind it, without any I/O: the bench plays file, pipe and server.
pub struct Machine {
    machine: Loop,
    effects: Vec<Effect>,
    process: Option<ProcessId>,
    now: Time,
    calls: u64,
    version: i32,
    /// Events handed in so far.
    pub events: u64,
}

impl Machine {
    /// A loop whose server is ready and has concluded once.
    #[must_use]
    pub fn ready(call_budget: Duration) -> Self {
        let mut policy = Policy::default();
        policy.call_budget = call_budget;
        policy.first_budget = call_budget;
        let config =
            Config { root: PathBuf::from("/w"), servers: vec![spec(Command::default())], policy, process_id: None };
        let mut machine = Self {
            machine: Loop::new(config),
            effects: Vec::new(),
            process: None,
            now: Time::ZERO,
            calls: 0,
            version: 0,
            events: 0,
        };
        machine.ask(&text(0));
        let capabilities = json!({ "textDocumentSync": { "openClose": true, "change": 2 } });
        machine.say(&json!({ "id": 1, "result": { "capabilities": capabilities } }));
        let report = machine.push(1, &[]).unwrap_or_else(|| panic!("the first check was not answered"));
        assert_eq!(report.conclusion, feedback::Conclusion::Clean);
        machine
    }

    /// Puts a text on disk and asks for feedback; the answer, if there is one at once.
    pub fn ask(&mut self, text: &str) -> Option<Report> {
        self.calls += 1;
        self.version += 1;
        let request = Request::Check { path: PathBuf::from("a.fake") };
        let answer = self.event(Event::Call { call: CallId(self.calls), request });
        let Some(op) = self.reading() else { return answer };
        self.event(Event::FileRead { op, result: Ok(text.as_bytes().to_vec()) })
    }

    /// The version under which the newest text was sent.
    #[must_use]
    pub fn version(&self) -> i32 {
        self.version
    }

    /// The server publishes these errors for a version.
    pub fn push(&mut self, version: i32, messages: &[String]) -> Option<Report> {
        self.say(&publish(version, messages))
    }

    /// Bytes of one message, as [`Machine::push`] would send them.
    #[must_use]
    pub fn frame(version: i32, messages: &[String]) -> Vec<u8> {
        wire::encode(publish(version, messages).to_string().as_bytes())
    }

    /// Bytes come from the server.
    pub fn output(&mut self, bytes: Vec<u8>) -> Option<Report> {
        let process = self.process.unwrap_or(ProcessId(0));
        self.event(Event::Output { process, bytes })
    }

    /// Time passes to the next deadline.
    pub fn wait(&mut self) -> Option<Report> {
        self.now = self.machine.next_deadline().unwrap_or(self.now).max(self.now);
        self.event(Event::Wake)
    }

    fn say(&mut self, message: &Value) -> Option<Report> {
        self.output(wire::encode(message.to_string().as_bytes()))
    }

    fn reading(&mut self) -> Option<feedback::OpId> {
        self.effects.drain(..).find_map(|effect| match effect {
            Effect::ReadFile { op, .. } => Some(op),
            _ => None,
        })
    }

    fn event(&mut self, event: Event) -> Option<Report> {
        let mut answer = None;
        let mut events = vec![event];
        while let Some(event) = events.pop() {
            self.events += 1;
            let mut effects = Vec::new();
            self.machine.handle(event, self.now, &mut effects);
            for effect in effects {
                match effect {
                    Effect::Spawn { process, .. } => {
                        self.process = Some(process);
                        events.push(Event::Spawned { process });
                    }
                    Effect::Write { process, op, .. } => events.push(Event::Written { process, op }),
                    Effect::Answer { answer: Answer::Report(report), .. } => answer = Some(*report),
                    other => self.effects.push(other),
                }
            }
        }
        answer
    }
}

fn publish(version: i32, messages: &[String]) -> Value {
    let range = json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 0, "character": 5 } });
    let diagnostics: Vec<Value> =
        messages.iter().map(|message| json!({ "range": range, "severity": 1, "message": message })).collect();
    let params = json!({ "uri": "file:///w/a.fake", "version": version, "diagnostics": diagnostics });
    json!({ "jsonrpc": "2.0", "method": "textDocument/publishDiagnostics", "params": params })
}

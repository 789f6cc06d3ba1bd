//! Whatever happens in whatever order: nothing panics, every call is answered once and in time, the
//! certificates hold, and the end comes.

use crate::bench::{Bench, policy, pull_server, push_server, spec};
use feedback::{Answer, Event, ExitStatus, FileError, OpId, ProcessId, Request};
use proptest::prelude::*;
use serde_json::{Value, json};

#[derive(Clone, Debug)]
enum Step {
    Edit(u8, u8),
    Read(u8),
    Close(u8),
    Delete(u8),
    Cancel(u8),
    Late,
    Pass(u16),
    Initialize(bool),
    Publish(u8, Option<i8>, u8),
    AnswerPull(u8, Value),
    Progress(bool),
    Refresh,
    Register(bool),
    Bytes(Vec<u8>),
    Json(Value),
    Exit(i32),
    OutputEnded,
    WriteFailed,
    Stray,
}

fn step() -> impl Strategy<Value = Step> {
    let answer = prop_oneof![
        Just(json!({ "result": { "kind": "full", "items": [] } })),
        Just(json!({ "result": { "kind": "full", "resultId": "r", "items": [{ "message": "boom" }] } })),
        Just(json!({ "result": { "kind": "unchanged", "resultId": "r" } })),
        Just(json!({ "result": null })),
        Just(json!({ "error": { "code": -32802, "message": "" } })),
        Just(json!({ "error": { "code": -32802, "message": "", "data": { "retriggerRequest": false } } })),
        Just(json!({ "error": { "code": -32601, "message": "" } })),
        Just(json!({ "error": { "code": 1, "message": "no" } })),
    ];
    let odd = prop_oneof![
        Just(json!([])),
        Just(json!({ "method": "textDocument/publishDiagnostics", "params": {} })),
        Just(json!({ "method": "textDocument/publishDiagnostics", "params": { "uri": 1, "diagnostics": 2 } })),
        Just(json!({ "method": "$/progress", "params": [] })),
        Just(json!({ "id": "x", "method": "workspace/configuration", "params": { "items": 1 } })),
        Just(json!({ "id": 99, "result": null })),
        Just(json!({ "id": null, "error": { "code": -32700, "message": "?" } })),
        Just(json!({ "id": 1, "method": "client/registerCapability", "params": null })),
    ];
    prop_oneof![
        6 => (0..2u8, 0..3u8).prop_map(|(file, text)| Step::Edit(file, text)),
        1 => (0..2u8).prop_map(Step::Read),
        1 => (0..2u8).prop_map(Step::Close),
        1 => (0..2u8).prop_map(Step::Delete),
        1 => (0..20u8).prop_map(Step::Cancel),
        1 => Just(Step::Late),
        4 => (0..2_500u16).prop_map(Step::Pass),
        4 => any::<bool>().prop_map(Step::Initialize),
        4 => (0..2u8, prop::option::of(-1..4i8), 0..3u8).prop_map(|(file, ahead, n)| Step::Publish(file, ahead, n)),
        4 => (0..3u8, answer).prop_map(|(which, answer)| Step::AnswerPull(which, answer)),
        1 => any::<bool>().prop_map(Step::Progress),
        1 => Just(Step::Refresh),
        1 => any::<bool>().prop_map(Step::Register),
        1 => prop::collection::vec(any::<u8>(), 1..40).prop_map(Step::Bytes),
        1 => odd.prop_map(Step::Json),
        1 => (0..2i32).prop_map(Step::Exit),
        1 => Just(Step::OutputEnded),
        1 => Just(Step::WriteFailed),
        1 => Just(Step::Stray),
    ]
}

fn path(file: u8) -> String {
    format!("{}.fake", char::from(b'a' + file))
}

struct Run {
    bench: Bench,
    at: u64,
    calls: Vec<feedback::CallId>,
    initialize: Option<Value>,
    pulls: Vec<Value>,
    version: i32,
}

impl Run {
    fn collect(&mut self) {
        for message in self.bench.take() {
            match message["method"].as_str() {
                Some("initialize") => self.initialize = Some(message["id"].clone()),
                Some("textDocument/diagnostic") => self.pulls.push(message["id"].clone()),
                _ => {}
            }
            if let Some(version) = message["params"]["textDocument"]["version"].as_i64() {
                self.version = i32::try_from(version).unwrap();
            }
        }
    }

    fn take(&mut self, step: Step) {
        self.collect();
        let bench = &mut self.bench;
        let running = !bench.spawned.is_empty();
        match step {
            Step::Edit(file, text) => {
                let call = bench.edit(&path(file), &format!("{}\n", "é😀\r\n".repeat(text.into())));
                self.calls.push(call);
            }
            Step::Read(file) => {
                bench.call(Request::Read { path: path(file).into() });
            }
            Step::Close(file) => {
                bench.call(Request::Close { path: path(file).into() });
            }
            Step::Delete(file) => {
                bench.files.remove(&std::path::Path::new("/w").join(path(file)));
                bench.call(Request::Delete { path: path(file).into() });
            }
            Step::Cancel(call) => {
                bench.call(Request::Cancel { call: feedback::CallId(call.into()) });
            }
            Step::Late => {
                bench.call(Request::Late);
            }
            Step::Pass(ms) => {
                self.at += u64::from(ms);
                bench.pass_to(self.at);
            }
            Step::Initialize(pull) => {
                if let Some(id) = self.initialize.take() {
                    let capabilities = if pull { pull_server() } else { push_server() };
                    bench.say(json!({ "id": id, "result": { "capabilities": capabilities } }));
                }
            }
            Step::AnswerPull(which, mut answer) if !self.pulls.is_empty() => {
                let which = usize::from(which) % self.pulls.len();
                answer["id"] = self.pulls.remove(which);
                bench.say(answer);
            }
            Step::Publish(file, ahead, n) if running => {
                let items: Vec<Value> = (0..n).map(|n| json!({ "message": format!("boom {n}") })).collect();
                let mut params = json!({ "uri": format!("file:///w/{}", path(file)), "diagnostics": items });
                if let Some(ahead) = ahead {
                    params["version"] = (self.version + i32::from(ahead)).into();
                }
                bench.say(json!({ "method": "textDocument/publishDiagnostics", "params": params }));
            }
            Step::Progress(begin) if running => {
                let kind = if begin { "begin" } else { "end" };
                bench.say(json!({ "method": "$/progress", "params": { "token": "t", "value": { "kind": kind } } }));
            }
            Step::Refresh if running => bench.say(json!({ "id": 5, "method": "workspace/diagnostic/refresh" })),
            Step::Register(true) if running => {
                let entry =
                    json!({ "id": "r", "method": "textDocument/diagnostic", "registerOptions": { "identifier": "x" } });
                bench.say(
                    json!({ "id": 6, "method": "client/registerCapability", "params": { "registrations": [entry] } }),
                );
            }
            Step::Register(false) if running => {
                let entry = json!({ "id": "r", "method": "textDocument/diagnostic" });
                bench.say(json!({ "id": 7, "method": "client/unregisterCapability", "params": { "unregisterations": [entry] } }));
            }
            Step::Bytes(bytes) if running => bench.bytes(&bytes),
            Step::Json(message) if running => bench.say(message),
            Step::Exit(code) if running => bench.exit(code, "boom"),
            Step::OutputEnded if running => bench.event(Event::OutputEnded { process: bench.newest() }),
            Step::WriteFailed if running => {
                let process = bench.newest();
                bench.event(Event::WriteFailed { process, op: OpId(1), error: "broken pipe".to_owned() });
            }
            Step::Stray => {
                bench.event(Event::Exited {
                    process: ProcessId(999),
                    status: ExitStatus::default(),
                    stderr_tail: String::new(),
                });
                bench.event(Event::FileRead { op: OpId(999_999), result: Err(FileError::NotFound) });
            }
            _ => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    fn every_call_is_answered_once_and_in_time(steps in prop::collection::vec(step(), 1..60), two in any::<bool>()) {
        // Two servers, one of which is never told apart from the newest process by the steps.
        let linter = feedback::ServerSpec { required: false, ..spec("linter") };
        let bench = if two { Bench::new(vec![linter, spec("checker")], policy()) } else { Bench::one() };
        let mut run = Run { bench, at: 0, calls: Vec::new(), initialize: None, pulls: Vec::new(), version: 0 };
        for step in steps {
            run.take(step);
        }
        // Every wait is bounded by the total budget, whatever happened.
        run.bench.pass_to(run.at + u64::try_from(policy().total_budget.as_millis()).unwrap());
        for call in &run.calls {
            prop_assert!(run.bench.answers.contains_key(call), "{call:?} was not answered");
            let _ = run.bench.report(*call);
        }
        let stop = run.bench.call(Request::Stop);
        run.bench.pass_to(run.at + 70_000);
        if !run.bench.answers.contains_key(&stop) {
            // All that is left to come is the exit of what was killed.
            let killed: Vec<ProcessId> =
                run.bench.signals.iter().filter(|(_, signal)| *signal == feedback::Signal::Kill).map(|(process, _)| *process).collect();
            prop_assert!(!killed.is_empty());
            for process in killed {
                let status = ExitStatus { code: None, signal: Some(9) };
                run.bench.event(Event::Exited { process, status, stderr_tail: String::new() });
            }
        }
        prop_assert!(matches!(run.bench.answers.get(&stop), Some(Answer::Done)));
        prop_assert_eq!(run.bench.machine.next_deadline(), None);
    }
}

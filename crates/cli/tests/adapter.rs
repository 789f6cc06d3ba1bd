//! `lsp-assay adapter`: the protocol line by line, also where a judge gets it wrong.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

const PROGRAM: &str = env!("CARGO_BIN_EXE_lsp-assay");

struct Adapter {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    folder: tempfile::TempDir,
}

impl Adapter {
    fn new() -> Self {
        let mut child =
            Command::new(PROGRAM).arg("adapter").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self { child, stdin, stdout, folder: tempfile::tempdir().unwrap() }
    }

    fn tell(&mut self, line: &str) {
        writeln!(self.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    fn ask(&mut self, line: &str) -> Value {
        self.tell(line);
        self.hear()
    }

    fn start(&mut self, script: &str) -> Value {
        let server = json!({"name": "fake", "command": [PROGRAM, "fake", script], "extensions": [".fake"],
            "language_id": "fake"});
        let root = self.folder.path();
        let start =
            json!({"id": 1, "op": "start", "protocol": 1, "root": root, "budget_ms": 20_000, "servers": [server]});
        self.ask(&start.to_string())
    }

    fn edit(&self, text: &str) {
        std::fs::write(self.folder.path().join("a.fake"), text).unwrap();
    }
}

#[test]
fn a_session_from_start_to_stop() {
    let mut adapter = Adapter::new();
    let started = adapter.start("push");
    assert_eq!((&started["ok"], &started["loop"]["name"]), (&json!(true), &json!("lsp-assay")));
    assert!(started["can"].as_array().unwrap().contains(&json!("conclusion")));

    adapter.edit("ERROR E1 boom\n");
    let broken = adapter.ask(r#"{"id":2,"op":"edit","path":"a.fake"}"#);
    assert_eq!((&broken["id"], &broken["conclusion"], &broken["errors"]), (&json!(2), &json!("errors"), &json!(1)));
    assert!(broken["text"].as_str().unwrap().contains("boom"), "{broken}");
    adapter.edit("ok\n");
    let fixed = adapter.ask(r#"{"id":3,"op":"edit","path":"a.fake"}"#);
    assert_eq!((&fixed["conclusion"], &fixed["known_by"]), (&json!("clean"), &json!("versioned")));
    assert_eq!(adapter.ask(r#"{"id":4,"op":"late"}"#)["late"], json!([]));
    assert_eq!(adapter.ask(r#"{"id":5,"op":"cancel","call":3}"#), json!({"id": 5, "ok": true}));
    assert_eq!(adapter.ask(r#"{"id":6,"op":"stop"}"#), json!({"id": 6, "ok": true}));
    assert!(adapter.child.wait().unwrap().success());
}

#[test]
fn calls_overlap_and_a_cancelled_one_is_answered_at_once() {
    let mut adapter = Adapter::new();
    adapter.start("silent");
    adapter.edit("ok\n");
    adapter.tell(r#"{"id":2,"op":"edit","path":"a.fake"}"#);
    assert_eq!(adapter.ask(r#"{"id":3,"op":"late"}"#)["id"], json!(3), "not held up by the edit");
    adapter.tell(r#"{"id":4,"op":"cancel","call":2}"#);
    let mut answers = [adapter.hear(), adapter.hear()];
    answers.sort_by_key(|answer| answer["id"].as_u64());
    assert_eq!((&answers[0]["id"], &answers[0]["conclusion"]), (&json!(2), &json!("pending")));
    assert_eq!(answers[1], json!({"id": 4, "ok": true}));

    adapter.tell(r#"{"id":5,"op":"edit","path":"a.fake"}"#);
    adapter.tell(r#"{"id":6,"op":"stop"}"#);
    let (edit, stop) = (adapter.hear(), adapter.hear());
    assert_eq!((&edit["id"], &edit["conclusion"]), (&json!(5), &json!("pending")), "answered before the end");
    assert_eq!(stop, json!({"id": 6, "ok": true}));
    assert!(adapter.child.wait().unwrap().success());
}

#[test]
fn the_end_of_the_input_ends_open_calls_with_an_answer() {
    let mut adapter = Adapter::new();
    adapter.start("silent");
    adapter.edit("ok\n");
    adapter.tell(r#"{"id":2,"op":"edit","path":"a.fake"}"#);
    adapter.tell(r#"{"id":3,"op":"edit","path":"a.fake"}"#);
    adapter.stdin = None;
    let mut answers = [adapter.hear(), adapter.hear()];
    answers.sort_by_key(|answer| answer["id"].as_u64());
    for (answer, id) in answers.iter().zip([2, 3]) {
        assert_eq!((&answer["id"], &answer["conclusion"]), (&json!(id), &json!("pending")), "{answer}");
    }
    assert_eq!(answers[1]["reason"], json!("cancelled"), "{answers:?}");
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut adapter.stdout, &mut rest).unwrap();
    assert_eq!(rest, "", "nothing else is told");
    assert!(adapter.child.wait().unwrap().success());
}

#[test]
fn what_a_judge_gets_wrong_is_answered_with_its_id_and_a_reason() {
    let mut adapter = Adapter::new();
    let cases = [
        (r#"{"id":1,"op":"edit","path":"a"}"#, 1, "the first operation has to be `start`"),
        (r#"{"id":2,"op":"dance"}"#, 2, "unknown variant `dance`"),
        (r#"{"id":3,"op":"edit"}"#, 3, "missing field `path`"),
        (r#"{"op":"late"}"#, 0, "missing field `id`"),
        ("no json", 0, "the line is no request"),
        (r#"{"id":4,"op":"start","protocol":2,"root":"/","budget_ms":1,"servers":[]}"#, 4, "speaks protocol 1, not 2"),
        (r#"{"id":5,"op":"start","protocol":1,"root":"w","budget_ms":1,"servers":[]}"#, 5, "no absolute path"),
    ];
    for (line, id, expected) in cases {
        let answer = adapter.ask(line);
        assert_eq!((&answer["id"], &answer["ok"]), (&json!(id), &json!(false)), "{line}: {answer}");
        assert!(answer["error"].as_str().unwrap().contains(expected), "{line}: {answer}");
    }
    adapter.start("push");
    let again = adapter.start("push");
    assert_eq!(again["ok"], json!(false));
    let outside = adapter.ask(r#"{"id":7,"op":"edit","path":"../a.fake"}"#);
    assert_eq!((&outside["id"], &outside["ok"]), (&json!(7), &json!(false)), "{outside}");
    adapter.stdin = None;
    assert!(adapter.child.wait().unwrap().success(), "the end of its input ends it");
}

//! A client for the machine: speaks in messages and milliseconds, and tells what came of it in short
//! lines.

use std::sync::Arc;

use fake_lsp::{Fake, Input, Options, Output};
use serde_json::{Value, json};
use wire::Time;
use wire::trace::{Direction, Entry};

/// What the tests call their one document.
pub(crate) const URI: &str = "file:///w/a.fake";

/// A fake under test, and its clock.
pub(crate) struct Client {
    pub(crate) fake: Fake,
    pub(crate) now: Time,
    next_id: i64,
}

impl Client {
    /// A fake that runs this script, started.
    pub(crate) fn new(script: &str) -> Self {
        let script = scenario::Script::parse("test", script).unwrap_or_else(|error| panic!("{error}"));
        Self::of(script, Options::default())
    }

    pub(crate) fn of(script: scenario::Script, options: Options) -> Self {
        let fake = Fake::new(Arc::new(script), options);
        let mut client = Self { fake, now: Time::ZERO, next_id: 0 };
        client.input(Input::Start);
        client
    }

    /// The same, after `initialize` and `initialized`; what that brought is dropped.
    pub(crate) fn running(script: &str) -> Self {
        let mut client = Self::new(script);
        client.request("initialize", json!({ "capabilities": {}, "rootUri": "file:///w" }));
        client.notify("initialized", json!({}));
        client
    }

    pub(crate) fn input(&mut self, input: Input<'_>) -> Vec<String> {
        let mut out = Vec::new();
        self.fake.handle(input, self.now, &mut out);
        tell(&out)
    }

    pub(crate) fn send(&mut self, message: &Value) -> Vec<String> {
        self.input(Input::Bytes(&wire::encode(message.to_string().as_bytes())))
    }

    pub(crate) fn request(&mut self, method: &str, params: Value) -> Vec<String> {
        self.next_id += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params }))
    }

    pub(crate) fn notify(&mut self, method: &str, params: Value) -> Vec<String> {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }))
    }

    pub(crate) fn open(&mut self, text: &str) -> Vec<String> {
        let document = json!({ "uri": URI, "languageId": "fake", "version": 1, "text": text });
        self.notify("textDocument/didOpen", json!({ "textDocument": document }))
    }

    pub(crate) fn change(&mut self, version: i64, text: &str) -> Vec<String> {
        self.changes(version, json!([{ "text": text }]))
    }

    pub(crate) fn changes(&mut self, version: i64, changes: Value) -> Vec<String> {
        let document = json!({ "uri": URI, "version": version });
        self.notify("textDocument/didChange", json!({ "textDocument": document, "contentChanges": changes }))
    }

    pub(crate) fn close(&mut self) -> Vec<String> {
        self.notify("textDocument/didClose", json!({ "textDocument": { "uri": URI } }))
    }

    pub(crate) fn pull(&mut self) -> Vec<String> {
        self.request("textDocument/diagnostic", json!({ "textDocument": { "uri": URI } }))
    }

    /// Lets milliseconds pass, waking the fake exactly when it asks; lines are led by the millisecond.
    pub(crate) fn pass(&mut self, ms: u64) -> Vec<String> {
        let end = Time(self.now.0 + ms * 1000);
        let mut told = Vec::new();
        for _ in 0..1_000_000 {
            let Some(due) = self.fake.next_deadline().filter(|due| *due <= end) else {
                self.now = end;
                return told;
            };
            self.now = self.now.max(due);
            let at = self.now.as_millis_f64();
            told.extend(self.input(Input::Wake).into_iter().map(|line| format!("{at} {line}")));
        }
        panic!("the fake asks to be woken without end");
    }
}

/// Outputs in short: notes and messages to the client as they stand in the trace, the rest by name.
/// Messages from the client, and document notes, which every test would repeat, are left out.
pub(crate) fn tell(out: &[Output]) -> Vec<String> {
    out.iter().filter_map(tell_one).collect()
}

fn tell_one(output: &Output) -> Option<String> {
    Some(match output {
        Output::Write(_) => return None,
        Output::CloseOutput => "close-output".to_owned(),
        Output::StopReading => "stop-reading".to_owned(),
        Output::ResumeReading => "resume-reading".to_owned(),
        Output::Stderr(bytes) => format!("stderr {}", String::from_utf8_lossy(bytes).trim_end()),
        Output::Exit { code } => format!("exit {code}"),
        Output::Die => "die".to_owned(),
        Output::Trace(Entry::Message { dir: Direction::ToClient, msg }) => message(msg),
        Output::Trace(Entry::Raw { dir: Direction::ToClient, bytes, .. }) => format!("raw {bytes} bytes"),
        Output::Trace(Entry::Raw { dir: Direction::ToServer, error, .. }) => format!("undecodable: {error}"),
        Output::Trace(Entry::Note { what, data }) if what == "refused" || what == "unexpected" => {
            format!("{what}: {}", data["why"].as_str().unwrap_or_default())
        }
        Output::Trace(Entry::Note { what, .. }) if what == "document" || what == "closed" => return None,
        Output::Trace(Entry::Note { what, data }) => format!("{what} {data}"),
        Output::Trace(_) => return None,
    })
}

/// A message in short: `publish v2 E1`, `full E1`, `error -32601`, else its JSON.
fn message(message: &Value) -> String {
    let codes = |items: &Value| -> String {
        let items = items.as_array().cloned().unwrap_or_default();
        items
            .iter()
            .map(|item| format!(" {}", item["code"].as_str().unwrap_or("?").split('-').next().unwrap()))
            .collect()
    };
    let params = &message["params"];
    match message["method"].as_str() {
        Some("textDocument/publishDiagnostics") => {
            let version = params.get("version").map_or_else(|| "none".to_owned(), |version| format!("v{version}"));
            format!("publish {version}{}", codes(&params["diagnostics"]))
        }
        Some(method) if message.get("id").is_some() => format!("request {method} {}", message["id"]),
        Some("$/progress") => format!("progress {}", params["value"]["kind"].as_str().unwrap()),
        Some(method) => format!("notify {method} {params}"),
        None if message.get("error").is_some() => format!("error {}", message["error"]["code"]),
        None if message["result"]["kind"] == "full" => format!("full{}", codes(&message["result"]["items"])),
        None if message["result"]["kind"] == "unchanged" => format!("unchanged {}", message["result"]["resultId"]),
        None if message["result"].get("capabilities").is_some() => "initialize-result".to_owned(),
        None => format!("result {}", message["result"]),
    }
}

//! What the probe does with each thing that comes in: file it, answer it, note what is wrong with it.

use serde_json::{Value, json};
use tokio::time::Instant;
use wire::{Id, Time};

use super::channel::{Incoming, What};
use super::envelope::{self, Kind};
use super::{Announced, Outcome, Probe, capabilities, excerpt};
use crate::results::Evidence;
use crate::server::documents::{Document, Misplacement, Push, SyncKind, misplaced};
use crate::server::findings::{self, Finding};
use crate::server::observed::Fault;
use crate::server::text::Encoding;

impl Probe<'_> {
    /// Files one thing that came in, and answers it if it is a request.
    pub(super) async fn absorb(&mut self, incoming: Incoming) {
        let at = self.at(incoming.at);
        match incoming.what {
            What::Content(content) => match serde_json::from_slice::<Value>(&content) {
                Ok(message) => self.message(at, &message).await,
                Err(error) => {
                    let text = String::from_utf8_lossy(&content);
                    let line = self.log.heard(at, &format!("content that is no JSON ({error}): {text}"));
                    self.seen.fault(Fault::Envelope, line);
                }
            },
            What::Fault(error) => {
                let line = self.log.heard(at, &error.to_string());
                self.seen.fault(Fault::Frame, line);
            }
            What::End => {
                self.log.heard(at, "output ended");
                self.output_ended = true;
            }
        }
    }

    fn at(&self, instant: Instant) -> Time {
        Time(self.subject.now().0.saturating_sub(u64::try_from(instant.elapsed().as_micros()).unwrap_or(u64::MAX)))
    }

    async fn message(&mut self, at: Time, message: &Value) {
        self.seen.messages += 1;
        let line = self.log.heard(at, &excerpt(message));
        let (kind, faults) = envelope::read(message);
        for fault in faults {
            let what = format!("{fault}: {}", line.what);
            self.seen.fault(Fault::Envelope, Evidence { what, ..line.clone() });
        }
        match kind {
            Kind::Request { id, method } => self.asked(&id, &method, message.get("params"), line).await,
            Kind::Notification { method } => self.told(at, &method, message.get("params"), line),
            Kind::Response { id } => self.answered(id, message, line),
            Kind::Nothing => {}
        }
    }

    async fn asked(&mut self, id: &Id, method: &str, params: Option<&Value>, line: Evidence) {
        if !self.initialize_answered && method != "window/showMessageRequest" {
            self.seen.fault(Fault::EarlyMessage, line);
        }
        let params = params.unwrap_or(&Value::Null);
        self.announced.note_request(method, params);
        if method.ends_with("/refresh") {
            self.active_at = Instant::now();
        }
        let answer = match capabilities::answer(self.subject, method, params) {
            Some(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            None => {
                let message = format!("{method} is not supported");
                json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": message}})
            }
        };
        Box::pin(self.send(&answer)).await;
    }

    fn told(&mut self, at: Time, method: &str, params: Option<&Value>, line: Evidence) {
        const EARLY: [&str; 4] = ["window/showMessage", "window/logMessage", "telemetry/event", "$/progress"];
        if !self.initialize_answered && !EARLY.contains(&method) {
            self.seen.fault(Fault::EarlyMessage, line.clone());
        }
        let params = params.unwrap_or(&Value::Null);
        match method {
            "textDocument/publishDiagnostics" => self.pushed(at, params, line),
            "$/progress" => {
                self.announced.note_progress(params);
                self.active_at = Instant::now();
            }
            _ => {}
        }
    }

    fn answered(&mut self, id: Option<Id>, message: &Value, line: Evidence) {
        let Some((id, pending)) = id.and_then(|id| self.pending.remove_entry(&id)) else {
            self.seen.fault(Fault::UnaskedAnswer, line);
            return;
        };
        if pending.method == "initialize" {
            self.initialize_answered = true;
        }
        let outcome = match message.get("error").filter(|error| !error.is_null()) {
            Some(error) => Outcome::Error {
                code: error.get("code").and_then(Value::as_i64).unwrap_or_default(),
                message: error.get("message").and_then(Value::as_str).unwrap_or_default().to_owned(),
            },
            None => Outcome::Result(message.get("result").cloned().unwrap_or_default()),
        };
        self.answers.insert(id, outcome);
    }

    fn pushed(&mut self, at: Time, params: &Value, line: Evidence) {
        self.active_at = Instant::now();
        self.seen.pushes += 1;
        let mut odd = Vec::new();
        let found = findings::read(params.get("diagnostics"), &mut odd);
        let version = match params.get("version") {
            None => None,
            Some(version) => {
                if !version.is_i64() {
                    odd.push(format!("version {version} is no integer"));
                }
                version.as_i64()
            }
        };
        let uri = params.get("uri").and_then(Value::as_str);
        if uri.is_none() {
            odd.push("no uri".to_owned());
        }
        for what in odd {
            self.seen.fault(Fault::PushShape, Evidence { what: format!("{what}: {}", line.what), ..line.clone() });
        }
        self.seen.pushes_versioned += u64::from(version.is_some());
        let Some(uri) = uri else { return };
        let encoding = self.announced.encoding;
        let Some(document) = self.documents.iter_mut().find(|document| document.is(uri)) else { return };
        if document.open {
            if let Some(fault) = version.and_then(|version| version_fault(document, version)) {
                self.seen.fault(fault, line.clone());
            }
            self.seen.ranges += found.len() as u64;
            for (fault, what) in position_faults(document, version, &found, encoding) {
                self.seen.fault(fault, Evidence { what, ..line.clone() });
            }
        }
        document.pushed(Push { at, version, findings: found });
    }
}

fn version_fault(document: &Document, version: i64) -> Option<Fault> {
    let newest = document.newest().map(|sent| sent.version)?;
    let before = document.pushes.iter().rev().find_map(|push| push.version);
    if version > newest {
        Some(Fault::FutureVersion)
    } else if document.version(version).is_none() {
        Some(Fault::UnknownVersion)
    } else if before.is_some_and(|before| version < before) {
        Some(Fault::OlderVersion)
    } else {
        None
    }
}

/// Ranges that fit none of the texts that the findings can be about.
pub(crate) fn position_faults(
    document: &Document,
    version: Option<i64>,
    found: &[Finding],
    encoding: Encoding,
) -> Vec<(Fault, String)> {
    let named = version.and_then(|version| document.version(version));
    let fault_of = |finding: &Finding| {
        let misplaced = |sent: &crate::server::documents::Sent| misplaced(finding.range, &sent.text, encoding);
        let worst = match named {
            Some(sent) => misplaced(sent),
            // Nobody says which text it is about: the kindest reading counts.
            None => document.sent.iter().map(misplaced).min_by_key(|misplacement| match misplacement {
                None => 0,
                Some(misplacement) => 4 - *misplacement as u8,
            })?,
        }?;
        let fault = match worst {
            Misplacement::NoSuchLine => Fault::NoSuchLine,
            Misplacement::Turned => Fault::TurnedRange,
            Misplacement::InsideCharacter => Fault::InsideCharacter,
            Misplacement::PastLineEnd => Fault::PastLineEnd,
        };
        let lines = named.or(document.newest()).map_or(0, |sent| sent.text.line_count());
        Some((fault, format!("{finding} (the text has {lines} lines)")))
    };
    found.iter().filter_map(fault_of).collect()
}

impl Announced {
    /// Takes over what the result of `initialize` announces.
    pub(super) fn read_initialize(&mut self, result: &Value) {
        self.initialize = result.clone();
        let capabilities = &result["capabilities"];
        let sync = &capabilities["textDocumentSync"];
        self.sync = match sync.as_u64().or_else(|| sync["change"].as_u64()) {
            Some(1) => SyncKind::Full,
            Some(2) => SyncKind::Incremental,
            _ => SyncKind::None,
        };
        self.encoding = capabilities["positionEncoding"].as_str().and_then(Encoding::named).unwrap_or_default();
        let provider = &capabilities["diagnosticProvider"];
        if provider.is_object() {
            self.pull = Some(provider["identifier"].as_str().map(str::to_owned));
        }
    }

    fn note_request(&mut self, method: &str, params: &Value) {
        let list = |name: &str| params[name].as_array().cloned().unwrap_or_default();
        match method {
            "client/registerCapability" => {
                for registration in list("registrations") {
                    if registration["method"] == "textDocument/diagnostic" && self.pull_registrations.len() < 100 {
                        let identifier = registration["registerOptions"]["identifier"].as_str();
                        self.pull = Some(identifier.map(str::to_owned));
                        self.pull_registrations.push(registration["id"].to_string());
                    }
                }
            }
            "client/unregisterCapability" => {
                for gone in list("unregisterations") {
                    let gone_id = gone["id"].to_string();
                    self.pull_registrations.retain(|id| *id != gone_id);
                    if gone["method"] == "textDocument/diagnostic"
                        && self.pull_registrations.is_empty()
                        && !self.initialize["capabilities"]["diagnosticProvider"].is_object()
                    {
                        self.pull = None;
                    }
                }
            }
            "workspace/diagnostic/refresh" => self.refreshes += 1,
            _ => {}
        }
    }

    fn note_progress(&mut self, params: &Value) {
        let token = params["token"].to_string();
        match params["value"]["kind"].as_str() {
            Some("begin") if self.progress.len() < 1_000 => self.progress.push(token),
            Some("end") => self.progress.retain(|open| *open != token),
            _ => {}
        }
    }
}

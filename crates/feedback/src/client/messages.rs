//! What a server's messages mean for a client: its questions, its answers, what it tells.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use wire::{Message, ResponseError};

use super::Client;
use crate::answers::{self, Asks};
use crate::capabilities::{Provider, ServerCapabilities};
use crate::fault::{Fault, Faults};
use crate::render::fragment;
use crate::session::{Asked, Inbound, Io, Phase, Session, is_json};
use crate::{Reason, uri};

/// Sources of pull diagnostics that one server may register.
const PROVIDERS_MAX: usize = 100;

impl Client {
    /// Takes bytes of the server's output.
    pub(crate) fn received(&mut self, bytes: &[u8], io: &mut Io<'_>) {
        if let Some(session) = &mut self.session {
            session.receive(bytes);
        }
        while let Some(inbound) = self.session.as_mut().and_then(Session::next_inbound) {
            match inbound {
                Inbound::Broken(what) => self.note(what),
                Inbound::Content(content) => self.content(&content, io),
            }
        }
    }

    fn content(&mut self, content: &[u8], io: &mut Io<'_>) {
        let message = Message::parse(content);
        let Some(session) = &mut self.session else { return };
        match message {
            Ok(message) => {
                let seq = session.number(content, io);
                self.message(message, seq, io);
            }
            Err(error) => {
                if is_json(content) {
                    session.number(content, io);
                }
                self.note(fragment(&format!("sent something that is no message: {error}")));
            }
        }
    }

    fn message(&mut self, message: Message<'_>, seq: u64, io: &mut Io<'_>) {
        match message {
            Message::Notification { method, params } => self.notified(&method, params, seq, io),
            Message::Request { id, method, params } => {
                let params = params.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or(Value::Null);
                self.requested(&id, &method, &params, io);
            }
            Message::Response { id, result } => self.answered(id.as_ref(), result, seq, io),
        }
    }

    fn requested(&mut self, id: &wire::Id, method: &str, params: &Value, io: &mut Io<'_>) {
        if method == "workspace/configuration" && io.faults.has(Fault::LeavesConfigurationUnanswered) {
            return;
        }
        let asks = answers::to(method, params, &self.spec.settings, || self.folder());
        let Some(session) = &mut self.session else { return };
        match asks {
            Asks::Nothing(answer) => session.respond(id, answer, io),
            Asks::Register(params) => {
                session.respond(id, Ok(Value::Null), io);
                for provider in registered(&params) {
                    session.providers.retain(|known| known.registration != provider.registration);
                    if session.providers.len() < PROVIDERS_MAX {
                        session.providers.push(provider);
                    }
                }
                self.pull_all(io);
            }
            Asks::Unregister(params) => {
                session.respond(id, Ok(Value::Null), io);
                let gone = unregistered(&params);
                session.providers.retain(|known| known.registration.as_ref().is_none_or(|id| !gone.contains(id)));
                for (key, document) in &mut self.documents {
                    crate::pull::keep_only(document, session);
                    self.changed.insert(key.clone());
                }
            }
            Asks::Refresh => {
                session.respond(id, Ok(Value::Null), io);
                self.pull_again(io);
            }
        }
    }

    /// Something was said to have changed: every open document is asked about again.
    fn pull_again(&mut self, io: &mut Io<'_>) {
        for document in self.documents.values_mut() {
            crate::pull::again(document);
        }
        self.pull_all(io);
    }

    fn pull_all(&mut self, io: &mut Io<'_>) {
        let keys: Vec<Vec<u8>> = self.documents.keys().cloned().collect();
        for key in keys {
            self.pull(&key, io);
        }
    }

    fn notified(&mut self, method: &str, params: Option<&RawValue>, seq: u64, io: &mut Io<'_>) {
        let Some(params) = params else { return };
        match method {
            "textDocument/publishDiagnostics" => self.published(params, seq, io),
            "$/progress" => self.progressed(params, io),
            _ => {}
        }
    }

    fn progressed(&mut self, params: &RawValue, io: &mut Io<'_>) {
        #[derive(Deserialize)]
        struct Progress {
            token: Value,
            value: Value,
        }
        let Ok(progress) = serde_json::from_str::<Progress>(params.get()) else { return };
        let kind = progress.value.get("kind").and_then(Value::as_str).unwrap_or_default();
        let Some(session) = &mut self.session else { return };
        if session.loading.progress(&progress.token, kind, io.now) && !self.concluded {
            self.changed.extend(self.documents.keys().cloned());
            self.documents.values_mut().for_each(crate::pull::loaded);
            self.pull_all(io);
        }
    }

    fn published(&mut self, params: &RawValue, seq: u64, io: &mut Io<'_>) {
        let Some(session) = &self.session else { return };
        let encoding = session.capabilities.as_ref().map_or_else(Default::default, |known| known.encoding);
        let push = match crate::push::read(params) {
            Ok(push) => push,
            Err(error) => return self.note(fragment(&format!("published diagnostics that cannot be read: {error}"))),
        };
        let key = uri::key(&push.uri);
        let Some(document) = self.documents.get_mut(&key) else { return };
        let name = &self.spec.name;
        match crate::push::take(document, &push, seq, name, encoding, &mut self.learned, io) {
            Ok(()) => {
                self.changed.insert(key);
            }
            Err(error) => self.note(fragment(&error)),
        }
    }

    fn answered(&mut self, id: Option<&wire::Id>, result: Result<&RawValue, ResponseError>, seq: u64, io: &mut Io<'_>) {
        let Some(session) = &mut self.session else { return };
        let Some((number, asked)) = session.answered(id) else {
            let what = match (id, &result) {
                (Some(id), _) => format!("answered a request that is not open: id {id}"),
                (None, Err(error)) => format!("could not read a message: {}", error.message),
                (None, Ok(_)) => "answered a request without an id".to_owned(),
            };
            return self.note(fragment(&what));
        };
        match asked {
            Asked::Initialize => self.initialized(result, io),
            Asked::Shutdown => session.exit(io),
            Asked::Pull(asked) => {
                let Some(document) = self.documents.get_mut(&asked.document) else { return };
                let name = &self.spec.name;
                if let Err(error) = crate::pull::answered(document, session, number, &asked, result, seq, name, io) {
                    self.note(fragment(&error));
                }
                let key = asked.document;
                self.pull(&key, io);
                self.changed.insert(key);
            }
        }
    }

    fn initialized(&mut self, result: Result<&RawValue, ResponseError>, io: &mut Io<'_>) {
        let Some(session) = &mut self.session else { return };
        if session.ending() {
            return;
        }
        let capabilities = result
            .map_err(|error| format!("initialize failed: {} ({})", error.message, error.code.0))
            .and_then(|result| ServerCapabilities::read(result.get()));
        match capabilities {
            Ok(capabilities) => {
                session.providers.splice(0..0, capabilities.provider.clone());
                session.capabilities = Some(capabilities);
                session.phase = Phase::Ready;
                session.initialized = Some(io.now);
                session.notify("initialized", Some(json!({})), 64, io);
                let keys: Vec<Vec<u8>> = self.wanted_documents(io.faults);
                for key in keys {
                    self.flush(&key, true, io);
                    self.pull(&key, io);
                }
            }
            Err(error) => self.start_failed(&error, io),
        }
    }

    /// Documents to bring to a server that has just become ready: all, so that a restart is not noticed.
    fn wanted_documents(&self, faults: Faults) -> Vec<Vec<u8>> {
        if faults.has(Fault::NoReplay) && self.starts.len() > 1 {
            return Vec::new();
        }
        self.documents.iter().filter(|(_, document)| document.wanted).map(|(key, _)| key.clone()).collect()
    }

    pub(super) fn start_failed(&mut self, error: &str, io: &mut Io<'_>) {
        let error = fragment(error);
        self.note(error.clone());
        self.broken = Some(Reason::StartFailed { error });
        if let Some(session) = &mut self.session {
            session.kill(io);
        }
    }
}

/// The pull-diagnostic providers among registrations; odd entries are ignored.
fn registered(params: &Value) -> Vec<Provider> {
    let registrations = params.get("registrations").and_then(Value::as_array);
    let diagnostic = |entry: &&Value| entry.get("method").and_then(Value::as_str) == Some("textDocument/diagnostic");
    let provider = |entry: &Value| {
        let id = entry.get("id").and_then(Value::as_str)?.to_owned();
        Some(Provider::new(Some(id), entry.get("registerOptions").unwrap_or(&Value::Null)))
    };
    registrations.into_iter().flatten().filter(diagnostic).filter_map(provider).take(PROVIDERS_MAX).collect()
}

/// Ids of withdrawn registrations. The member is misspelt in the specification; both spellings occur.
fn unregistered(params: &Value) -> Vec<String> {
    let entries = params.get("unregisterations").or_else(|| params.get("unregistrations")).and_then(Value::as_array);
    let id = |entry: &Value| Some(entry.get("id")?.as_str()?.to_owned());
    entries.into_iter().flatten().filter_map(id).collect()
}

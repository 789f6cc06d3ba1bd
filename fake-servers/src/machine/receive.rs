//! What the client sends: whether it may come now, what it does to the fake's own copies, which rules it
//! sets off, and the default where no rule stands in.

use scenario::script::Trigger;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use wire::trace::{Direction, Entry};
use wire::{ErrorCode, Id, Message, ResponseError};

use super::client::Client;
use super::documents::{Change, Document, Named, Refused};
use super::list::Context;
use super::{Fake, HELD_MAX, Phase, Turn};

/// Parameters of anything that is about one document; what is missing is missing.
#[derive(Deserialize)]
struct About {
    #[serde(rename = "textDocument")]
    document: Named,
    #[serde(default, rename = "contentChanges")]
    changes: Option<Vec<Change>>,
    #[serde(default, rename = "previousResultId")]
    result_id: Option<String>,
}

impl Fake {
    /// One whole content of a frame.
    pub(super) fn content(&mut self, content: &[u8], turn: &mut Turn<'_>) {
        turn.trace(Entry::content(Direction::ToServer, content));
        match Message::parse(content) {
            Ok(Message::Request { id, method, params }) => self.request(id, &method, params, turn),
            Ok(Message::Notification { method, params }) => self.notification(&method, params, turn),
            Ok(Message::Response { id, .. }) => self.response(id, turn),
            Err(error) => turn.unexpected(&error.to_string(), ""),
        }
    }

    fn response(&mut self, id: Option<Id>, turn: &mut Turn<'_>) {
        let known = id.as_ref().is_some_and(|id| self.outgoing.remove(id));
        if !known {
            let id = id.map_or_else(|| "null".to_owned(), |id| id.to_string());
            turn.unexpected("an answer to an id that is not asked", &id);
        }
    }

    fn request(&mut self, id: Id, method: &str, params: Option<&RawValue>, turn: &mut Turn<'_>) {
        if self.incoming.contains_key(&id) {
            turn.unexpected("a request under the id of one that is not answered", method);
        }
        if let Some((why, code)) = self.request_is_early_or_late(method) {
            turn.unexpected(why, method);
            let error = ResponseError::new(code, why);
            self.send(json!({ "jsonrpc": "2.0", "id": id, "error": error }), None);
            return;
        }
        if self.incoming.len() >= HELD_MAX {
            return self.overflow("requests", turn);
        }
        match method {
            "initialize" => self.initialize(params),
            "shutdown" => self.phase = Phase::ShutDown,
            _ => {}
        }
        self.incoming.insert(id.clone(), method.to_owned());
        let context = self.context(method, Some(id), params);
        let handled = self.begin_lists(&Trigger::Method(method.to_owned()), context.clone(), turn);
        if !handled {
            self.answer_by_default(&context, None, turn);
        }
    }

    fn request_is_early_or_late(&self, method: &str) -> Option<(&'static str, ErrorCode)> {
        match (self.phase, method) {
            (Phase::New, "initialize") => None,
            (Phase::New, _) => Some(("a request before initialize", ErrorCode::SERVER_NOT_INITIALIZED)),
            (Phase::Initializing, _) => {
                Some(("a request before the answer to initialize", ErrorCode::SERVER_NOT_INITIALIZED))
            }
            (Phase::Answered, "shutdown") | (Phase::Running, _) if method != "initialize" => None,
            (Phase::Answered, _) if method != "initialize" => {
                Some(("a request before initialized", ErrorCode::SERVER_NOT_INITIALIZED))
            }
            (Phase::Answered | Phase::Running, _) => Some(("a second initialize", ErrorCode::INVALID_REQUEST)),
            (Phase::ShutDown, _) => Some(("a request after shutdown", ErrorCode::INVALID_REQUEST)),
        }
    }

    fn initialize(&mut self, params: Option<&RawValue>) {
        self.phase = Phase::Initializing;
        let params = params.and_then(|params| serde_json::from_str::<Value>(params.get()).ok());
        self.client = Client::read(&params.unwrap_or_default());
    }

    fn notification(&mut self, method: &str, params: Option<&RawValue>, turn: &mut Turn<'_>) {
        if let Some(why) = self.notification_is_early_or_late(method) {
            return turn.unexpected(why, method);
        }
        if method == "initialized" {
            self.phase = Phase::Running;
        }
        let mut context = self.context(method, None, params);
        if method.starts_with("textDocument/did") {
            self.sync(method, params, &mut context, turn);
        }
        let handled = self.begin_lists(&Trigger::Method(method.to_owned()), context, turn);
        match method {
            _ if handled => {}
            "exit" => self.exit(self.orderly_code(), "exit", turn),
            "$/cancelRequest" => self.cancel(params, turn),
            _ => {}
        }
    }

    fn notification_is_early_or_late(&self, method: &str) -> Option<&'static str> {
        match (self.phase, method) {
            (_, "exit") => None,
            (_, optional) if optional.starts_with("$/") => None,
            (Phase::New | Phase::Initializing, _) => Some("a notification before the answer to initialize"),
            (Phase::Answered, "initialized") | (Phase::Running, _) if method != "initialized" => None,
            (Phase::Answered, "initialized") => None,
            (Phase::Answered, _) => Some("a notification before initialized"),
            (Phase::Running, _) => Some("a second initialized"),
            (Phase::ShutDown, _) => Some("a notification after shutdown"),
        }
    }

    fn context(&self, method: &str, request: Option<Id>, params: Option<&RawValue>) -> Context {
        let mut context = Context { method: method.to_owned(), request, ..Context::default() };
        let about = params.and_then(|params| serde_json::from_str::<About>(params.get()).ok());
        if let Some(About { document, result_id, .. }) = about {
            context.document = self.documents.get(&document.uri).cloned();
            context.uri = Some(document.uri);
            context.result_id = result_id;
        }
        context
    }

    /// Applies what is about a document to the fake's own copy, or says why not.
    fn sync(&mut self, method: &str, params: Option<&RawValue>, context: &mut Context, turn: &mut Turn<'_>) {
        let params = params.map_or("null", RawValue::get);
        let about = match serde_json::from_str::<About>(params) {
            Ok(about) => about,
            Err(error) => return turn.unexpected(&format!("parameters of another shape: {error}"), method),
        };
        let announced = &self.script.capabilities;
        let (sync, encoding) = (announced.sync, self.client.encoding);
        let told = match method {
            "textDocument/didSave" => announced.save,
            "textDocument/didChange" => true,
            _ => announced.open_close,
        };
        if !told {
            turn.unexpected("not announced", method);
        }
        let applied = match method {
            "textDocument/didOpen" => self.documents.open(about.document),
            "textDocument/didChange" => {
                self.documents.change(about.document, about.changes.as_deref().unwrap_or_default(), sync, encoding)
            }
            "textDocument/didClose" => return self.close(&about.document.uri, context, turn),
            "textDocument/didSave" => return self.saved(&about.document, turn),
            _ => return,
        };
        match applied {
            Ok(document) => {
                note_document(&document, turn);
                context.document = Some(document);
            }
            Err(refused) => note_refused(&refused, turn),
        }
    }

    fn close(&mut self, uri: &str, context: &mut Context, turn: &mut Turn<'_>) {
        match self.documents.close(uri) {
            Ok(document) => {
                turn.note("closed", json!({ "uri": uri, "version": document.now.version }));
                context.document = Some(document);
            }
            Err(refused) => note_refused(&refused, turn),
        }
    }

    /// A save changes nothing; if it tells the text, that must be the one that the fake holds.
    fn saved(&mut self, named: &Named, turn: &mut Turn<'_>) {
        let refuse = |why: &str| Refused { why: why.to_owned(), uri: named.uri.clone(), version: None };
        match (self.documents.get(&named.uri), &named.text) {
            (None, _) => note_refused(&refuse("saved while it is not open"), turn),
            (Some(document), Some(text)) if **text != *document.now.text => {
                note_refused(&refuse("saved with another text"), turn);
            }
            _ => {}
        }
    }

    /// Answers a request that is not answered yet with the error that says so (LSP 3.17, cancellation).
    fn cancel(&mut self, params: Option<&RawValue>, turn: &mut Turn<'_>) {
        #[derive(Deserialize)]
        struct Cancelled {
            id: Id,
        }
        let params = params.map_or("null", RawValue::get);
        let Ok(Cancelled { id }) = serde_json::from_str(params) else {
            return turn.unexpected("parameters of another shape", "$/cancelRequest");
        };
        if self.incoming.remove(&id).is_some() {
            let error = ResponseError::new(ErrorCode::REQUEST_CANCELLED, "cancelled by the client");
            self.send(json!({ "jsonrpc": "2.0", "id": id, "error": error }), None);
        }
    }
}

fn note_document(document: &Document, turn: &mut Turn<'_>) {
    let text = document.now.text.as_bytes();
    let hash = format!("{:08x}", wire::text_hash(text));
    let version = document.now.version;
    turn.note("document", json!({ "uri": document.uri, "version": version, "hash": hash, "bytes": text.len() }));
}

fn note_refused(refused: &Refused, turn: &mut Turn<'_>) {
    turn.note("refused", json!({ "why": refused.why, "uri": refused.uri, "version": refused.version }));
}

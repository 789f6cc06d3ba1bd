//! What the server does where no rule says otherwise: the answers of an honest server that knows only
//! what its capabilities announce.

use scenario::script::file::{Encoding, Pull, Split, Sync};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use wire::{ErrorCode, ResponseError};

use super::client::{encoding_name, encoding_named};
use super::documents::{Document, Text};
use super::list::Context;
use super::{Fake, Phase, Turn};
use crate::findings::findings;

impl Fake {
    /// Answers the request of a context as an honest server would; says the number of the write.
    pub(super) fn answer_by_default(
        &mut self,
        context: &Context,
        split: Option<Split>,
        turn: &mut Turn<'_>,
    ) -> Option<u64> {
        let answer = self.default_answer(context);
        self.answer(context, answer, split, turn)
    }

    /// Sends an answer, unless the request was cancelled meanwhile.
    pub(super) fn answer(
        &mut self,
        context: &Context,
        answer: Result<Value, ResponseError>,
        split: Option<Split>,
        turn: &mut Turn<'_>,
    ) -> Option<u64> {
        let Some(id) = &context.request else {
            turn.note("nothing-to-answer", json!({ "method": context.method }));
            return None;
        };
        if self.incoming.remove(id).is_none() {
            turn.note("cancelled", json!({ "id": id, "method": context.method }));
            return None;
        }
        Some(self.answer_regardless(context, answer, split))
    }

    /// Sends an answer, whether or not one is owed.
    pub(super) fn answer_regardless(
        &mut self,
        context: &Context,
        answer: Result<Value, ResponseError>,
        split: Option<Split>,
    ) -> u64 {
        if self.phase == Phase::Initializing && context.method == "initialize" {
            self.initialized_with(answer.as_ref().ok());
        }
        let id = &context.request;
        let message = match answer {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            Err(error) => json!({ "jsonrpc": "2.0", "id": id, "error": error }),
        };
        self.send(message, split)
    }

    /// What was told in the answer to `initialize` holds from now on, also if a script wrote it.
    fn initialized_with(&mut self, result: Option<&Value>) {
        let Some(result) = result else {
            self.phase = Phase::New;
            return;
        };
        self.phase = Phase::Answered;
        let told = result.pointer("/capabilities/positionEncoding").and_then(Value::as_str);
        self.client.encoding = told.and_then(encoding_named).unwrap_or_default();
    }

    fn default_answer(&self, context: &Context) -> Result<Value, ResponseError> {
        let pull = self.script.capabilities.pull.as_ref();
        match (context.method.as_str(), pull) {
            ("initialize", _) => Ok(self.initialize_result()),
            ("shutdown", _) => Ok(Value::Null),
            ("textDocument/diagnostic", Some(_)) => match &context.uri {
                Some(uri) if self.documents.get(uri).is_some() => Ok(self.full_report(context)),
                Some(_) => Err(ResponseError::new(ErrorCode::INVALID_PARAMS, "the document is not open")),
                None => Err(ResponseError::new(ErrorCode::INVALID_PARAMS, "no textDocument")),
            },
            ("workspace/diagnostic", Some(Pull { workspace_diagnostics: true, .. })) => Ok(self.workspace_report()),
            (method, _) => {
                let what = format!("method not found: {}", method.chars().take(100).collect::<String>());
                Err(ResponseError::new(ErrorCode::METHOD_NOT_FOUND, what))
            }
        }
    }

    fn initialize_result(&self) -> Value {
        let announced = &self.script.capabilities;
        let kind = match announced.sync {
            Sync::None => 0,
            Sync::Full => 1,
            Sync::Incremental => 2,
        };
        let mut sync = json!({ "openClose": announced.open_close, "change": kind });
        if announced.save {
            sync["save"] = json!({ "includeText": false });
        }
        let mut capabilities = json!({ "textDocumentSync": sync });
        let encoding = encoding_name(announced.position_encoding);
        if announced.position_encoding != Encoding::Utf16 && self.client.offers(encoding) {
            capabilities["positionEncoding"] = json!(encoding);
        }
        if let Some(pull) = &announced.pull {
            capabilities["diagnosticProvider"] = pull_options(pull);
        }
        let info = json!({ "name": "fake-lsp", "version": env!("CARGO_PKG_VERSION") });
        let mut result = json!({ "capabilities": capabilities, "serverInfo": info });
        if let Some(extra) = &announced.extra {
            merge(&mut result, &extra.0);
        }
        result
    }

    fn workspace_report(&self) -> Value {
        let encoding = self.client.encoding;
        let item = |document: &Arc<Document>| {
            let items = self.diagnostics(Some(&document.now), encoding);
            json!({ "uri": document.uri, "version": document.now.version, "kind": "full", "items": items })
        };
        json!({ "items": self.documents.iter().map(item).collect::<Vec<_>>() })
    }

    /// A full report of the document's text at this moment.
    pub(super) fn full_report(&self, context: &Context) -> Value {
        let document = self.document_of(context);
        self.report_of(document.as_ref().map(|document| &document.now))
    }

    /// A full report of a text.
    pub(super) fn report_of(&self, text: Option<&Text>) -> Value {
        let items = self.diagnostics(text, self.client.encoding);
        json!({ "kind": "full", "resultId": result_id(text), "items": items })
    }

    /// The document that a context is about: as it is now if it is open, else as it was then.
    pub(super) fn document_of(&self, context: &Context) -> Option<Arc<Document>> {
        let open = context.uri.as_ref().and_then(|uri| self.documents.get(uri));
        open.or(context.document.as_ref()).cloned()
    }

    /// The diagnostics of a text.
    pub(super) fn diagnostics(&self, text: Option<&Text>, encoding: Encoding) -> Vec<Value> {
        let Some(text) = text else { return Vec::new() };
        findings(&text.text, encoding).iter().map(|finding| finding.to_diagnostic(self.script.tags)).collect()
    }
}

/// The result id of a text: equal texts have equal ones.
pub(super) fn result_id(text: Option<&Text>) -> String {
    text.map_or_else(|| "none".to_owned(), |text| format!("{:08x}", wire::text_hash(text.text.as_bytes())))
}

fn pull_options(pull: &Pull) -> Value {
    let mut options = Map::new();
    if let Some(identifier) = &pull.identifier {
        options.insert("identifier".to_owned(), json!(identifier));
    }
    options.insert("interFileDependencies".to_owned(), json!(pull.inter_file_dependencies));
    options.insert("workspaceDiagnostics".to_owned(), json!(pull.workspace_diagnostics));
    Value::Object(options)
}

/// Objects are merged member by member; everything else is replaced.
fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from.clone(),
    }
}

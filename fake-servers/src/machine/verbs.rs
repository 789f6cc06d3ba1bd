//! What actions do, one function per verb. When they are done is decided elsewhere; here it is now, and
//! `current` is the text of this moment.

use std::sync::Arc;

use scenario::script::file::{Flood as FloodOrder, FloodOf, Progress, Split};
use scenario::script::{Action, Answer, Publish, PublishVersion, Verb};
use serde_json::{Value, json};
use wire::trace::{Direction, Entry};
use wire::{Id, ResponseError};

use super::defaults::result_id;
use super::documents::{Document, Text};
use super::flood::Flood;
use super::list::{List, Until};
use super::rules::names;
use super::stdout::{Item, Stream};
use super::template::Values;
use super::{Fake, HELD_MAX, Turn};

/// `MessageType.Info`.
const MESSAGE_INFO: u8 = 3;

impl Fake {
    /// Does one action now. What must be over before the list goes on is left in `list.until`.
    pub(super) fn perform(&mut self, action: &Action, list: &mut List, turn: &mut Turn<'_>) {
        let split = action.split;
        let written = match &action.verb {
            Verb::Publish { what, version, document } => {
                self.publish(what, *version, document.as_deref(), list, split, turn)
            }
            Verb::Answer(answer) => self.answer_as(*answer, list, split, turn),
            Verb::Result(result) => {
                let result = self.values(list).json(result);
                self.answer_with(Ok(result), list, split, turn)
            }
            Verb::Error(error) => self.answer_with(Err(error.clone()), list, split, turn),
            Verb::Ignore => None,
            Verb::Notify { method, params } => Some(self.notify(method, params.as_ref(), list, split)),
            Verb::Request { method, params, id, wait } => {
                self.ask(method, params.as_ref(), id.as_ref(), *wait, list, split, turn)
            }
            Verb::Progress { kind, token, title } => self.progress(*kind, token, title, list, split, turn),
            Verb::Refresh => self.refresh(list, split, turn),
            Verb::Log(text) => Some(self.log(text, list, split)),
            Verb::Stderr(text) => Some(self.stderr(text, list)),
            Verb::RawText(text) => {
                let text = self.values(list).text(text);
                Some(self.raw(text.into_bytes(), split))
            }
            Verb::RawBytes(bytes) => Some(self.raw(bytes.clone(), split)),
            Verb::Frame(text) => Some(self.frame(text, list, split)),
            Verb::Flood(order) => Some(self.flood(*order, list, turn)),
            Verb::StopReading => self.set_reading(false, turn),
            Verb::ResumeReading => self.set_reading(true, turn),
            Verb::CloseStdout => Some(self.queue.push(Item::Close)),
            Verb::Exit(code) => {
                self.exit(*code, "script", turn);
                None
            }
            Verb::Die => {
                self.die(turn);
                None
            }
            Verb::State(name) => self.enter(name, turn),
            Verb::Open(gate) => {
                self.open_gate(gate, turn);
                None
            }
        };
        if let (Some(number), Until::Nothing) = (written, &list.until) {
            list.until = Until::Written(number);
        }
    }

    fn publish(
        &mut self,
        what: &Publish,
        version: PublishVersion,
        other: Option<&str>,
        list: &List,
        split: Option<Split>,
        turn: &mut Turn<'_>,
    ) -> Option<u64> {
        let mut written = None;
        let targets = self.targets(other, list);
        if targets.is_empty() {
            turn.note("no-document", json!({ "method": list.context.method, "document": other }));
        }
        for (uri, document) in targets {
            let document = document.as_deref();
            let diagnostics = self.published(what, document, list);
            let params = publish_params(&uri, published_version(version, document), diagnostics);
            written = Some(self.send(notification("textDocument/publishDiagnostics", Some(params)), split));
        }
        written
    }

    fn published(&self, what: &Publish, document: Option<&Document>, list: &List) -> Vec<Value> {
        let text = match what {
            Publish::Current => document.map(|document| &document.now),
            Publish::Previous => document.and_then(|document| document.before.as_ref()),
            Publish::Empty => None,
            Publish::Literal(items) => {
                let values = self.values(list);
                return items.iter().map(|item| values.json(item)).collect();
            }
        };
        self.diagnostics(text, self.client.encoding)
    }

    /// The documents that are meant: the trigger's; or every open one that the name fits; or, if it is no
    /// glob, a path below the root.
    fn targets(&self, name: Option<&str>, list: &List) -> Vec<(String, Option<Arc<Document>>)> {
        let Some(name) = name else {
            let uri = list.context.uri.clone();
            return uri.map(|uri| (uri, self.document_of(&list.context))).into_iter().collect();
        };
        let fits = |document: &&Arc<Document>| names(name, &document.uri);
        let open =
            self.documents.iter().filter(fits).map(|document| (document.uri.clone(), Some(Arc::clone(document))));
        let open: Vec<_> = open.collect();
        if open.is_empty() && !name.contains(['*', '?']) {
            return vec![(self.client.uri_of(name), None)];
        }
        open
    }

    fn answer_as(&mut self, answer: Answer, list: &mut List, split: Option<Split>, turn: &mut Turn<'_>) -> Option<u64> {
        let context = &list.context;
        let document = self.document_of(context);
        let result = match answer {
            Answer::Default => {
                list.answered = true;
                return self.answer_by_default(context, split, turn);
            }
            Answer::Full => self.full_report(context),
            Answer::FullPrevious => self.report_of(document.as_ref().and_then(|document| document.before.as_ref())),
            Answer::FullEmpty => json!({ "kind": "full", "resultId": "empty", "items": [] }),
            Answer::Unchanged => {
                let current = result_id(document.as_ref().map(|document| &document.now));
                json!({ "kind": "unchanged", "resultId": context.result_id.clone().unwrap_or(current) })
            }
            Answer::Null => Value::Null,
        };
        self.answer_with(Ok(result), list, split, turn)
    }

    /// The first answer of a list is dropped if the request was cancelled; a second one is what the
    /// script wants.
    fn answer_with(
        &mut self,
        answer: Result<Value, ResponseError>,
        list: &mut List,
        split: Option<Split>,
        turn: &mut Turn<'_>,
    ) -> Option<u64> {
        if list.answered {
            return Some(self.answer_regardless(&list.context, answer, split));
        }
        list.answered = true;
        self.answer(&list.context, answer, split, turn)
    }

    fn notify(&mut self, method: &str, params: Option<&Value>, list: &List, split: Option<Split>) -> u64 {
        let params = params.map(|params| self.values(list).json(params));
        self.send(notification(method, params), split)
    }

    #[expect(clippy::too_many_arguments, reason = "the fields of one verb")]
    fn ask(
        &mut self,
        method: &str,
        params: Option<&Value>,
        id: Option<&Id>,
        wait: bool,
        list: &mut List,
        split: Option<Split>,
        turn: &mut Turn<'_>,
    ) -> Option<u64> {
        let params = params.map(|params| self.values(list).json(params));
        let id = id.cloned().unwrap_or_else(|| self.next_id());
        let number = self.send_request(&id, method, params, split, turn)?;
        if wait {
            list.until = Until::Answer(id);
        }
        Some(number)
    }

    fn next_id(&mut self) -> Id {
        self.requests_sent += 1;
        Id::Number(self.requests_sent)
    }

    fn send_request(
        &mut self,
        id: &Id,
        method: &str,
        params: Option<Value>,
        split: Option<Split>,
        turn: &mut Turn<'_>,
    ) -> Option<u64> {
        if self.outgoing.len() >= HELD_MAX {
            self.overflow("requests to the client", turn);
            return None;
        }
        self.outgoing.insert(id.clone());
        let mut message = notification(method, params);
        message["id"] = json!(id);
        Some(self.send(message, split))
    }

    /// A token is created before it is used, if the client creates tokens (LSP 3.17, `$/progress`).
    fn progress(
        &mut self,
        kind: Progress,
        token: &Id,
        title: &str,
        list: &mut List,
        split: Option<Split>,
        turn: &mut Turn<'_>,
    ) -> Option<u64> {
        let value = match kind {
            Progress::Begin => json!({ "kind": "begin", "title": title, "cancellable": false }),
            Progress::Report => json!({ "kind": "report", "message": title }),
            Progress::End => json!({ "kind": "end" }),
        };
        let message = notification("$/progress", Some(json!({ "token": token, "value": value })));
        if kind != Progress::Begin || !self.client.progress {
            return Some(self.send(message, split));
        }
        let id = self.next_id();
        let create = json!({ "token": token });
        let number = self.send_request(&id, "window/workDoneProgress/create", Some(create), split, turn)?;
        list.begins = Some(message);
        list.until = Until::Answer(id);
        Some(number)
    }

    fn refresh(&mut self, list: &mut List, split: Option<Split>, turn: &mut Turn<'_>) -> Option<u64> {
        if !self.client.refresh {
            turn.note("skipped", json!({ "what": "refresh", "why": "the client did not announce refreshSupport" }));
            return None;
        }
        self.ask("workspace/diagnostic/refresh", None, None, false, list, split, turn)
    }

    fn log(&mut self, text: &str, list: &List, split: Option<Split>) -> u64 {
        let message = self.values(list).text(text);
        let params = json!({ "type": MESSAGE_INFO, "message": message });
        self.send(notification("window/logMessage", Some(params)), split)
    }

    fn stderr(&mut self, text: &str, list: &List) -> u64 {
        let bytes = self.values(list).text(text).into_bytes();
        self.queue.push(Item::Bytes { stream: Stream::Err, bytes, split: None, entry: None })
    }

    fn raw(&mut self, bytes: Vec<u8>, split: Option<Split>) -> u64 {
        let entry = Entry::raw(Direction::ToClient, &bytes, "written without a frame".to_owned());
        self.queue.push(Item::Bytes { stream: Stream::Out, bytes, split, entry: Some(entry) })
    }

    fn frame(&mut self, text: &str, list: &List, split: Option<Split>) -> u64 {
        let content = self.values(list).text(text);
        let entry = Some(Entry::content(Direction::ToClient, content.as_bytes()));
        let bytes = wire::encode(content.as_bytes());
        self.queue.push(Item::Bytes { stream: Stream::Out, bytes, split, entry })
    }

    fn flood(&mut self, order: FloodOrder, list: &List, turn: &mut Turn<'_>) -> u64 {
        let FloodOrder { what, count } = order;
        turn.note("flood", json!({ "of": what_name(what), "count": count }));
        let entry = Entry::Note { what: "flooded".to_owned(), data: json!({ "of": what_name(what), "count": count }) };
        let uri = list.context.uri.clone().unwrap_or_else(|| self.client.uri_of("none"));
        let document = self.document_of(&list.context);
        let document = document.as_deref();
        let diagnostics = self.diagnostics(document.map(|document| &document.now), self.client.encoding);
        let version = published_version(PublishVersion::Current, document);
        let flood = match what {
            FloodOf::Publish => {
                let message =
                    notification("textDocument/publishDiagnostics", Some(publish_params(&uri, version, diagnostics)));
                Flood::of_messages(vec![wire::encode(message.to_string().as_bytes())], count)
            }
            FloodOf::Findings => flood_of_findings(&uri, version, diagnostics, count),
            FloodOf::Log => {
                let line = |number| {
                    let params =
                        json!({ "type": MESSAGE_INFO, "message": format!("working on item {number} of many") });
                    wire::encode(notification("window/logMessage", Some(params)).to_string().as_bytes())
                };
                Flood::of_messages((0..16).map(line).collect(), count)
            }
            FloodOf::Stderr => {
                let line =
                    |number| format!("working on item {number} of many, and telling it at length\n").into_bytes();
                Flood::of_messages((0..16).map(line).collect(), count)
            }
        };
        let stream = if what == FloodOf::Stderr { Stream::Err } else { Stream::Out };
        self.queue.push(Item::Flood { stream, flood, entry })
    }

    fn set_reading(&mut self, reading: bool, turn: &mut Turn<'_>) -> Option<u64> {
        if self.reading != reading {
            self.reading = reading;
            turn.note("reading", json!({ "reading": reading }));
            turn.out.push(if reading { super::Output::ResumeReading } else { super::Output::StopReading });
        }
        None
    }

    fn enter(&mut self, name: &str, turn: &mut Turn<'_>) -> Option<u64> {
        turn.note("state", json!({ "name": name }));
        name.clone_into(&mut self.state);
        None
    }

    /// What the placeholders of a list stand for at this moment.
    fn values(&self, list: &List) -> Values {
        let document = self.document_of(&list.context);
        let text = document.as_ref().map(|document| &document.now);
        let hash = text.map(|text| wire::text_hash(text.text.as_bytes()));
        Values {
            uri: json!(list.context.uri),
            version: json!(text.map(|text: &Text| text.version)),
            id: json!(list.context.request),
            root: json!(self.client.root),
            tag: json!(hash.map(|hash| crate::finding_tag(hash, 0))),
            findings: Value::Array(self.diagnostics(text, self.client.encoding)),
        }
    }
}

/// One publish whose findings are the document's, repeated; a hint where the document has none.
fn flood_of_findings(uri: &str, version: Option<Value>, diagnostics: Vec<Value>, count: u32) -> Flood {
    let version = version.map(|version| format!("\"version\":{version},")).unwrap_or_default();
    let before = format!(
        "{{\"jsonrpc\":\"2.0\",\"method\":\"textDocument/publishDiagnostics\",\"params\":{{\"uri\":{uri},{version}\"diagnostics\":[",
        uri = json!(uri)
    );
    let place = json!({ "line": 0, "character": 0 });
    let hint = || {
        let range = json!({ "start": place, "end": place });
        json!({ "range": range, "severity": 4, "source": "fake", "message": "one of many" })
    };
    let diagnostics = if diagnostics.is_empty() { vec![hint()] } else { diagnostics };
    let items = diagnostics.iter().map(|item| item.to_string().into_bytes()).collect();
    Flood::of_elements(before.as_bytes(), items, b"]}}", count)
}

fn what_name(what: FloodOf) -> &'static str {
    match what {
        FloodOf::Publish => "publish",
        FloodOf::Findings => "findings",
        FloodOf::Log => "log",
        FloodOf::Stderr => "stderr",
    }
}

fn notification(method: &str, params: Option<Value>) -> Value {
    let mut message = json!({ "jsonrpc": "2.0", "method": method });
    if let Some(params) = params {
        message["params"] = params;
    }
    message
}

fn publish_params(uri: &str, version: Option<Value>, diagnostics: Vec<Value>) -> Value {
    let mut params = json!({ "uri": uri, "diagnostics": diagnostics });
    if let Some(version) = version {
        params["version"] = version;
    }
    params
}

/// The member `version`; `None` leaves it out.
fn published_version(version: PublishVersion, document: Option<&Document>) -> Option<Value> {
    let current = document.map(|document| document.now.version);
    match version {
        PublishVersion::Current => current.map(Value::from),
        PublishVersion::Previous => {
            document.and_then(|document| document.before.as_ref()).map(|before| Value::from(before.version))
        }
        PublishVersion::None => None,
        PublishVersion::Null => Some(Value::Null),
        PublishVersion::Offset(offset) => current.map(|current| Value::from(current.saturating_add(offset))),
        PublishVersion::Constant(constant) => Some(Value::from(constant)),
    }
}

//! Telling a server what a document is now: open, change, save, close, as the server wants them.

use std::sync::Arc;

use serde::Serialize;
use serde_json::json;

use crate::capabilities::SyncKind;
use crate::document::{Document, Sent};
use crate::fault::Fault;
use crate::session::{Io, Session};
use crate::text::{Encoding, Position, Text};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DidOpen<'a> {
    text_document: Item<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Item<'a> {
    uri: &'a str,
    language_id: &'a str,
    version: i32,
    text: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DidChange<'a> {
    text_document: Versioned<'a>,
    content_changes: [ContentChange<'a>; 1],
}

#[derive(Serialize)]
struct Versioned<'a> {
    uri: &'a str,
    version: i32,
}

#[derive(Serialize)]
struct ContentChange<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<Range>,
    text: &'a str,
}

#[derive(Serialize)]
struct Range {
    start: Position,
    end: Position,
}

/// Bytes of a frame around the text: enough for header, envelope and URI.
const ENVELOPE_HINT: usize = 512;

/// Whether this server takes documents at all.
pub(crate) fn possible(session: &Session) -> bool {
    session.capabilities.as_ref().is_some_and(|known| known.open_close)
}

/// Sends what is missing for the server to have the newest text. `saved`: the file on disk has it too.
pub(crate) fn flush(document: &mut Document, session: &mut Session, saved: bool, io: &mut Io<'_>) {
    let Some(known) = session.capabilities.clone().filter(|known| known.open_close) else { return };
    if document.synced() {
        return;
    }
    let reopen = document.sent.is_some() && (known.sync == SyncKind::None || io.faults.has(Fault::OpensTwice));
    if reopen && !io.faults.has(Fault::OpensTwice) {
        close(document, session, io);
    }
    let sent = document.sent.take().filter(|_| !reopen);
    if !(io.faults.has(Fault::VersionStuck) && document.version > 0) {
        document.version += 1;
    }
    let text = Arc::clone(&document.text);
    let hint = ENVELOPE_HINT + text.as_str().len();
    let seq = match sent {
        None => session.notify("textDocument/didOpen", Some(opened(document, &text)), hint, io),
        Some(sent) => {
            let change = change(&sent.text, &text, known.sync, known.encoding, io);
            let versioned = Versioned { uri: &document.uri, version: document.version };
            let params = DidChange { text_document: versioned, content_changes: [change] };
            session.notify("textDocument/didChange", Some(params), hint, io)
        }
    };
    let sent = Sent { text, revision: document.revision, version: document.version, seq, at: io.now };
    document.sent = Some(sent);
    if let Some(include_text) = known.save.filter(|_| saved) {
        let mut params = json!({ "textDocument": { "uri": document.uri } });
        if include_text {
            params["text"] = document.text.as_str().into();
        }
        session.notify("textDocument/didSave", Some(params), hint, io);
    }
}

fn opened<'a>(document: &'a Document, text: &'a Text) -> DidOpen<'a> {
    DidOpen {
        text_document: Item {
            uri: &document.uri,
            language_id: &document.language_id,
            version: document.version,
            text: text.as_str(),
        },
    }
}

fn change<'a>(old: &Text, new: &'a Text, kind: SyncKind, encoding: Encoding, io: &Io<'_>) -> ContentChange<'a> {
    if kind != SyncKind::Incremental {
        return ContentChange { range: None, text: new.as_str() };
    }
    let encoding = if io.faults.has(Fault::ColumnsInBytes) { Encoding::Utf8 } else { encoding };
    if io.faults.has(Fault::RangeOfNewText) {
        let range = Range { start: Position::default(), end: new.position(new.as_str().len(), encoding) };
        return ContentChange { range: Some(range), text: new.as_str() };
    }
    let change = old.change_to(new.as_str());
    let range = Range { start: old.position(change.start, encoding), end: old.position(change.end, encoding) };
    ContentChange { range: Some(range), text: change.replacement }
}

/// Closes the document at the server, if it is open there.
pub(crate) fn close(document: &mut Document, session: &mut Session, io: &mut Io<'_>) {
    document.wanted = false;
    if document.sent.take().is_some() {
        let params = json!({ "textDocument": { "uri": document.uri } });
        session.notify("textDocument/didClose", Some(params), ENVELOPE_HINT, io);
    }
}

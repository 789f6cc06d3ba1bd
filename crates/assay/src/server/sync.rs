//! Opening, changing and closing documents at a server, in the sync kind and encoding that it asked for.

use serde_json::json;

use super::documents::{Change, Document, SyncKind, content_changes};
use super::probe::Probe;
use super::text::Text;

impl Probe<'_> {
    /// Opens the probed file with a text, under this version.
    pub(crate) async fn open(&mut self, text: &str, version: i64) {
        let uri = self.subject.uri();
        let item = json!({
            "uri": uri, "languageId": self.subject.fixture.language_id, "version": version, "text": text,
        });
        self.documents.retain(|document| !document.is(&uri));
        self.documents.push(Document::opened(&uri, version, Text::new(text), self.subject.now()));
        self.active_at = tokio::time::Instant::now();
        self.notify("textDocument/didOpen", Some(json!({"textDocument": item}))).await;
    }

    /// Sends changes in one notification, under the next version or the given one. Nothing is sent to a
    /// server that wants no changes.
    pub(crate) async fn change(&mut self, changes: &[Change], version: Option<i64>) {
        let (uri, kind, encoding) = (self.subject.uri(), self.announced.sync, self.announced.encoding);
        let now = self.subject.now();
        let Some(document) = self.documents.iter_mut().find(|document| document.is(&uri) && document.open) else {
            return;
        };
        let Some(newest) = document.newest().filter(|_| kind != SyncKind::None) else { return };
        let version = version.unwrap_or(newest.version + 1);
        let (text, events) = content_changes(&newest.text, changes, kind, encoding);
        document.changed(version, text, now);
        self.active_at = tokio::time::Instant::now();
        let params = json!({"textDocument": {"uri": uri, "version": version}, "contentChanges": events});
        self.notify("textDocument/didChange", Some(params)).await;
    }

    /// Makes the text of the probed file this one, by the smallest single change.
    pub(crate) async fn change_to(&mut self, text: &str, version: Option<i64>) {
        let Some(before) = self.document(&self.subject.uri()).and_then(Document::newest) else { return };
        let (start, end, middle) = before.text.difference(text);
        let change = Change { range: Some((start, end)), text: middle.to_owned(), past_line_end: 0 };
        self.change(&[change], version).await;
    }

    /// Closes the probed file.
    pub(crate) async fn close_document(&mut self) {
        let uri = self.subject.uri();
        if let Some(document) = self.documents.iter_mut().find(|document| document.is(&uri)) {
            document.open = false;
        }
        self.active_at = tokio::time::Instant::now();
        self.notify("textDocument/didClose", Some(json!({"textDocument": {"uri": uri}}))).await;
    }
}

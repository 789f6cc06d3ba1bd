//! One side of the comparison each: a server that was given a series of edits, and a new one that was
//! opened on the text they led to.

use std::time::Duration;

use serde_json::{Value, json};

use super::edits::Edit;
use crate::fixture::Fixture;
use crate::server::documents::{Document, content_changes};
use crate::server::observed::Observed;
use crate::server::probe::Probe;
use crate::server::settle::Diagnosis;
use crate::server::subject::Subject;
use crate::server::text::Text;
use crate::server::{NotReady, ready};

/// How long a server is given to react between some edits.
const PAUSE_MAX: Duration = Duration::from_millis(400);

/// The end of one series: the text it led to, and what the server said of it.
#[derive(Debug)]
pub(crate) enum End {
    Said(Diagnosis),
    /// The process ended by itself, with the end of its standard error.
    Died(String),
}

/// The text that a series starts from.
pub(crate) fn first_text(fixture: &Fixture) -> String {
    fixture.broken(1)
}

/// A session that edits are applied to.
pub(crate) struct Edited<'a> {
    probe: Probe<'a>,
    history: Vec<Text>,
}

impl<'a> Edited<'a> {
    /// A server opened on the first text and settled.
    pub(crate) async fn start(subject: &'a Subject, session: &str) -> Result<Self, NotReady> {
        let mut probe = ready(subject, session).await?;
        let text = first_text(&subject.fixture);
        probe.open(&text, 1).await;
        probe.settle().await;
        Ok(Self { probe, history: vec![Text::new(text)] })
    }

    /// Applies edits, mostly without pause.
    pub(crate) async fn apply(&mut self, edits: &[Edit]) {
        for edit in edits {
            let changes = edit.what.changes(&self.history, &self.probe.subject.fixture);
            if changes.is_empty() || self.probe.is_gone() {
                continue;
            }
            self.probe.change(&changes, None).await;
            let uri = self.probe.subject.uri();
            self.history.extend(self.probe.document(&uri).and_then(Document::newest).map(|sent| sent.text.clone()));
            if edit.pause {
                self.react().await;
            }
        }
    }

    /// The newest text.
    pub(crate) fn text(&self) -> &str {
        self.history.last().map_or("", Text::as_str)
    }

    /// What the server says when it has said its last word.
    pub(crate) async fn end(&mut self) -> End {
        end(&mut self.probe).await
    }

    pub(crate) async fn close(self) -> Observed {
        self.probe.close().await
    }

    /// Gives the server time for a word on the newest text.
    async fn react(&mut self) {
        if self.probe.announced.pull.is_some() {
            self.probe.pull(None).await;
        } else {
            let since = self.probe.active_at;
            self.probe.wait_until(PAUSE_MAX, |probe| probe.active_at != since).await;
        }
    }
}

/// A new server opened on a text: what it says.
pub(crate) async fn fresh(subject: &Subject, session: &str, text: &str) -> Result<(End, Observed), NotReady> {
    let mut probe = ready(subject, session).await?;
    probe.open(text, 1).await;
    let end = end(&mut probe).await;
    Ok((end, probe.close().await))
}

async fn end(probe: &mut Probe<'_>) -> End {
    let diagnosis = probe.settle().await;
    if probe.is_gone() {
        let tail = probe.stderr_tail();
        let lines: Vec<_> = tail.lines().rev().take(3).collect();
        End::Died(lines.into_iter().rev().collect::<Vec<_>>().join(" | "))
    } else {
        End::Said(diagnosis)
    }
}

/// The series as an editor would send it: one list of `contentChanges` per notification, and the text
/// that they lead to.
pub(crate) fn reproduction(subject: &Subject, told: Announcement, edits: &[Edit]) -> (Text, Vec<Value>) {
    let mut history = vec![Text::new(first_text(&subject.fixture))];
    let mut notifications = Vec::new();
    for edit in edits {
        let changes = edit.what.changes(&history, &subject.fixture);
        if changes.is_empty() {
            continue;
        }
        let newest = &history[history.len() - 1];
        let (next, events) = content_changes(newest, &changes, told.sync, told.encoding);
        notifications.push(json!(events));
        history.push(next);
    }
    (history.pop().unwrap_or_else(|| Text::new("")), notifications)
}

/// How changes are told to this server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Announcement {
    pub(crate) sync: crate::server::documents::SyncKind,
    pub(crate) encoding: crate::server::text::Encoding,
}

impl Edited<'_> {
    pub(crate) fn announcement(&self) -> Announcement {
        Announcement { sync: self.probe.announced.sync, encoding: self.probe.announced.encoding }
    }
}

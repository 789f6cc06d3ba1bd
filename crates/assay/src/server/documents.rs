//! The documents of one session: every text that was sent, under its version, and every push about it.

use std::collections::VecDeque;

use serde_json::{Value, json};
use wire::Time;

use super::findings::Finding;
use super::subject::same_uri;
use super::text::{Encoding, Misplaced, Range, Text};

/// Texts and pushes kept per document; older ones go.
const KEPT_MAX: usize = 1_000;

/// How a server wants changes (LSP 3.17 §TextDocumentSyncKind).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum SyncKind {
    #[default]
    None,
    Full,
    Incremental,
}

/// A text as it was sent.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) version: i64,
    pub(crate) text: Text,
    pub(crate) at: Time,
}

/// A push as it came.
#[derive(Clone, Debug)]
pub(crate) struct Push {
    pub(crate) at: Time,
    pub(crate) version: Option<i64>,
    pub(crate) findings: Vec<Finding>,
}

/// One change of a document: bytes `start..end` of the text before it become `text`; without a range
/// `text` is the whole new text. Positions past the end of a line may be asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) range: Option<(usize, usize)>,
    pub(crate) text: String,
    /// Added to `character` of an end that stands at the end of its line, where it changes nothing.
    pub(crate) past_line_end: u32,
}

/// One document.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    pub(crate) uri: String,
    pub(crate) open: bool,
    /// Since the last open.
    pub(crate) sent: VecDeque<Sent>,
    /// Since the last open.
    pub(crate) pushes: VecDeque<Push>,
    /// The last pull's answer on the newest text.
    pub(crate) pulled: Option<Vec<Finding>>,
    /// When pulls on the newest text were answered with something else than before.
    pub(crate) pulls_on_newest: Vec<Time>,
}

impl Document {
    pub(crate) fn opened(uri: &str, version: i64, text: Text, at: Time) -> Self {
        let sent = VecDeque::from([Sent { version, text, at }]);
        Self {
            uri: uri.to_owned(),
            open: true,
            sent,
            pushes: VecDeque::new(),
            pulled: None,
            pulls_on_newest: Vec::new(),
        }
    }

    pub(crate) fn is(&self, uri: &str) -> bool {
        same_uri(&self.uri, uri)
    }

    /// The newest text.
    pub(crate) fn newest(&self) -> Option<&Sent> {
        self.sent.back()
    }

    /// The text that was sent as this version.
    pub(crate) fn version(&self, version: i64) -> Option<&Sent> {
        self.sent.iter().rev().find(|sent| sent.version == version)
    }

    /// Takes the next text in.
    pub(crate) fn changed(&mut self, version: i64, text: Text, at: Time) {
        bounded_push(&mut self.sent, Sent { version, text, at });
        self.pulled = None;
        self.pulls_on_newest.clear();
    }

    /// Takes a pull's answer in; whether it differs from the one before on the same text.
    pub(crate) fn answered(&mut self, findings: &[Finding], at: Time) -> bool {
        let differs = self.pulled.as_deref() != Some(findings);
        if differs && self.pulls_on_newest.len() < KEPT_MAX {
            self.pulls_on_newest.push(at);
            self.pulled = Some(findings.to_vec());
        }
        differs
    }

    /// Takes a push in.
    pub(crate) fn pushed(&mut self, push: Push) {
        bounded_push(&mut self.pushes, push);
    }

    /// Whether a push named the newest version.
    pub(crate) fn newest_is_named(&self) -> bool {
        let newest = self.newest().map(|sent| sent.version);
        self.pushes_on_newest().any(|push| push.version.is_some() && push.version == newest)
    }

    /// The pushes since the newest text was sent.
    pub(crate) fn pushes_on_newest(&self) -> impl DoubleEndedIterator<Item = &Push> {
        let since = self.newest().map(|sent| sent.at);
        self.pushes.iter().filter(move |push| Some(push.at) >= since)
    }
}

fn bounded_push<T>(queue: &mut VecDeque<T>, item: T) {
    if queue.len() == KEPT_MAX {
        queue.pop_front();
    }
    queue.push_back(item);
}

/// Applies changes in order; returns the text after them and the `contentChanges` that tell a server.
pub(crate) fn content_changes(
    text: &Text,
    changes: &[Change],
    kind: SyncKind,
    encoding: Encoding,
) -> (Text, Vec<Value>) {
    let mut text = text.clone();
    let mut events = Vec::new();
    for change in changes {
        let (next, event) = apply(&text, change, encoding);
        text = next;
        events.push(event);
    }
    if kind == SyncKind::Full {
        events = vec![json!({"text": text.as_str()})];
    }
    (text, events)
}

fn apply(text: &Text, change: &Change, encoding: Encoding) -> (Text, Value) {
    let Some((start, end)) = change.range else {
        return (Text::new(change.text.as_str()), json!({"text": change.text}));
    };
    let (start, end) = (text.snap(start), text.snap(end.max(start)));
    let mut range = Range { start: text.position(start, encoding), end: text.position(end, encoding) };
    let at_line_end = text.line(range.end.line as usize).is_some_and(|(at, line)| at + line.len() == end);
    if at_line_end {
        range.end.character += change.past_line_end;
        if start == end {
            range.start = range.end;
        }
    }
    (text.replaced(start, end, &change.text), json!({"range": range, "text": change.text}))
}

/// What is wrong with a range in a text, the worst first.
pub(crate) fn misplaced(range: Range, text: &Text, encoding: Encoding) -> Option<Misplacement> {
    let ends = [range.start, range.end].map(|position| text.offset(position, encoding).err());
    let any = |wanted: fn(Misplaced) -> bool| ends.iter().flatten().any(|misplaced| wanted(*misplaced));
    if any(|misplaced| matches!(misplaced, Misplaced::NoSuchLine { .. })) {
        Some(Misplacement::NoSuchLine)
    } else if range.start > range.end {
        Some(Misplacement::Turned)
    } else if any(|misplaced| misplaced == Misplaced::InsideCharacter) {
        Some(Misplacement::InsideCharacter)
    } else if any(|misplaced| matches!(misplaced, Misplaced::PastLineEnd { .. })) {
        Some(Misplacement::PastLineEnd)
    } else {
        None
    }
}

/// The ways in which a range can miss its text, worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Misplacement {
    NoSuchLine,
    Turned,
    InsideCharacter,
    PastLineEnd,
}

#[cfg(test)]
mod tests {
    use super::super::text::Position;
    use super::*;

    fn range(numbers: [u32; 4]) -> Range {
        let [line, character, end_line, end_character] = numbers;
        Range { start: Position { line, character }, end: Position { line: end_line, character: end_character } }
    }

    #[test]
    fn changes_apply_one_after_the_other_in_the_agreed_encoding() {
        let text = Text::new("é😀b\r\nc");
        let b = text.as_str().find('b').unwrap();
        let changes = [
            Change { range: Some((b, b + 1)), text: "BB".to_owned(), past_line_end: 0 },
            Change { range: Some((b + 2, b + 2)), text: "!".to_owned(), past_line_end: 7 },
        ];
        let (after, events) = content_changes(&text, &changes, SyncKind::Incremental, Encoding::Utf16);
        assert_eq!(after.as_str(), "é😀BB!\r\nc");
        assert_eq!(events[0]["range"]["start"], json!({"line": 0, "character": 3}));
        assert_eq!(events[1]["range"]["start"], json!({"line": 0, "character": 5 + 7}));
        let (_, events) = content_changes(&text, &changes, SyncKind::Full, Encoding::Utf16);
        assert_eq!(events, [json!({"text": "é😀BB!\r\nc"})]);
    }

    #[test]
    fn a_range_is_judged_by_its_worst_end() {
        let text = Text::new("a😀\nb");
        for (numbers, expected) in [
            ([0, 0, 1, 1], None),
            ([0, 0, 2, 0], Some(Misplacement::NoSuchLine)),
            ([1, 0, 0, 0], Some(Misplacement::Turned)),
            ([0, 2, 0, 3], Some(Misplacement::InsideCharacter)),
            ([0, 0, 0, 9], Some(Misplacement::PastLineEnd)),
        ] {
            assert_eq!(misplaced(range(numbers), &text, Encoding::Utf16), expected, "{numbers:?}");
        }
    }
}

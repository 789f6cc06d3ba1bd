//! Diagnostics as servers really send them, decoded one by one and tolerantly: one odd member must not
//! lose a finding, one odd finding must not lose its neighbours.

use std::fmt;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde::Deserialize;
use serde::de::{DeserializeSeed, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::fault::{Fault, Faults};
use crate::text::{Encoding, Position, Text};
use crate::{Counts, Finding, Policy, Severity, clean};

/// Characters of a code or a source that are kept.
const LABEL_CHARS_MAX: usize = 80;

/// The findings of one report of a server for one document: bounded, errors kept first, all counted.
#[derive(Clone, Debug, Default)]
pub(crate) struct FindingSet {
    pub(crate) findings: Vec<Finding>,
    pub(crate) counts: Counts,
    /// Findings in the message, whatever became of them.
    pub(crate) received: u64,
}

impl FindingSet {
    /// Whether two reports say the same.
    pub(crate) fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.received.hash(&mut hasher);
        self.findings.hash(&mut hasher);
        hasher.finish()
    }
}

/// What is needed to turn diagnostics into findings.
pub(crate) struct Context<'a> {
    pub(crate) path: &'a str,
    pub(crate) server: &'a str,
    pub(crate) text: &'a Text,
    pub(crate) encoding: Encoding,
    pub(crate) policy: &'a Policy,
    pub(crate) faults: Faults,
}

/// Decodes the array of diagnostics of a push or of a full report.
///
/// # Errors
/// What the parser says, if it is not an array.
pub(crate) fn decode(array: &RawValue, context: &Context<'_>) -> Result<FindingSet, serde_json::Error> {
    Collect(context).deserialize(array)
}

struct Collect<'a>(&'a Context<'a>);

impl<'de> DeserializeSeed<'de> for Collect<'_> {
    type Value = FindingSet;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<FindingSet, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Collect<'_> {
    type Value = FindingSet;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of diagnostics")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<FindingSet, A::Error> {
        let mut set = FindingSet::default();
        // Errors and the rest are bounded apart, so that a flood of warnings pushes no error out.
        let mut rest = Vec::new();
        let room = self.0.policy.findings_max;
        while let Some(item) = items.next_element::<&RawValue>()? {
            set.received += 1;
            let raw = RawDiagnostic::read(item);
            let given = raw.severity.and_then(severity);
            if given.is_none() && self.0.faults.has(Fault::DropsMissingSeverity) {
                continue;
            }
            let severity = given.unwrap_or(Severity::Error);
            set.counts.add(severity, 1);
            let first = severity == Severity::Error || self.0.faults.has(Fault::ArrivalOrder);
            let kept = if first { &mut set.findings } else { &mut rest };
            // Of a flood all are counted, but only those that are kept are read further.
            if kept.len() < room {
                kept.push(finding(&raw, severity, self.0));
            }
        }
        rest.truncate(room.saturating_sub(set.findings.len()));
        set.findings.append(&mut rest);
        Ok(set)
    }
}

impl Counts {
    pub(crate) fn add(&mut self, severity: Severity, count: u64) {
        *match severity {
            Severity::Error => &mut self.errors,
            Severity::Warning => &mut self.warnings,
            Severity::Information => &mut self.informations,
            Severity::Hint => &mut self.hints,
        } += count;
    }

    /// All findings.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.errors + self.warnings + self.informations + self.hints
    }
}

#[derive(Default, Deserialize)]
struct RawDiagnostic<'a> {
    #[serde(borrow, default)]
    range: Option<&'a RawValue>,
    #[serde(borrow, default)]
    severity: Option<&'a RawValue>,
    #[serde(borrow, default)]
    code: Option<&'a RawValue>,
    #[serde(borrow, default)]
    source: Option<&'a RawValue>,
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
}

impl<'a> RawDiagnostic<'a> {
    /// The members of one diagnostic; what is no diagnostic says so in its message.
    fn read(item: &'a RawValue) -> Self {
        let read = wire::expect_object(item.get()).and_then(|()| serde_json::from_str(item.get()));
        read.unwrap_or_else(|_| Self { message: Some(unreadable()), ..Self::default() })
    }
}

fn finding(raw: &RawDiagnostic<'_>, severity: Severity, context: &Context<'_>) -> Finding {
    let (start, end) = raw.range.map(range).unwrap_or_default();
    let encoding = if context.faults.has(Fault::ColumnsInBytes) { Encoding::Utf8 } else { context.encoding };
    let cleaned = |raw: &RawValue, chars_max| {
        let text = text_of(raw);
        if context.faults.has(Fault::RawText) { text } else { clean::line(&text, chars_max) }
    };
    let label = |raw: Option<&RawValue>| raw.map(|raw| cleaned(raw, LABEL_CHARS_MAX)).filter(|text| !text.is_empty());
    let message_chars_max =
        if context.faults.has(Fault::NoMessageCap) { usize::MAX } else { context.policy.message_chars_max };
    Finding {
        path: context.path.to_owned(),
        start: context.text.place(start, encoding),
        end: context.text.place(end.max(start), encoding),
        severity,
        code: label(raw.code),
        source: label(raw.source),
        server: context.server.to_owned(),
        message: raw
            .message
            .map(|raw| cleaned(raw, message_chars_max))
            .filter(|message| !message.is_empty())
            .unwrap_or_else(|| "(no message)".to_owned()),
    }
}

fn unreadable() -> &'static RawValue {
    // A string literal is JSON.
    serde_json::from_str("\"(a diagnostic that could not be read)\"").unwrap_or(RawValue::NULL)
}

/// 1 to 4; anything else counts as not given (LSP: unknown enumeration values are ignored).
fn severity(raw: &RawValue) -> Option<Severity> {
    match raw.get() {
        "1" => Some(Severity::Error),
        "2" => Some(Severity::Warning),
        "3" => Some(Severity::Information),
        "4" => Some(Severity::Hint),
        _ => None,
    }
}

fn range(raw: &RawValue) -> (Position, Position) {
    // As it should be: four numbers.
    #[derive(Deserialize)]
    struct Plain {
        start: Position,
        end: Position,
    }
    if let Ok(plain) = serde_json::from_str::<Plain>(raw.get()) {
        return (plain.start, plain.end);
    }
    #[derive(Deserialize)]
    struct RawRange<'a> {
        #[serde(borrow, default)]
        start: Option<&'a RawValue>,
        #[serde(borrow, default)]
        end: Option<&'a RawValue>,
    }
    let Ok(range) = serde_json::from_str::<RawRange<'_>>(raw.get()) else { return Default::default() };
    let start = range.start.map(position).unwrap_or_default();
    (start, range.end.map_or(start, position))
}

/// A position whatever its numbers: negative is 0, a fraction is cut, too large is the largest.
fn position(raw: &RawValue) -> Position {
    #[derive(Deserialize)]
    struct RawPosition {
        #[serde(default)]
        line: serde_json::Value,
        #[serde(default)]
        character: serde_json::Value,
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates, as wanted")]
    let number = |value: &serde_json::Value| value.as_f64().unwrap_or_default() as u32;
    serde_json::from_str::<RawPosition>(raw.get()).map_or_else(
        |_| Position::default(),
        |raw| Position { line: number(&raw.line), character: number(&raw.character) },
    )
}

/// The text of a message, a code or a source, of whatever type it is: a string, a number as it is
/// written, the `value` of markup (a message of LSP 3.18) or of VS Code's code objects.
fn text_of(raw: &RawValue) -> String {
    if let Ok(text) = serde_json::from_str::<String>(raw.get()) {
        return text;
    }
    match serde_json::from_str::<serde_json::Value>(raw.get()) {
        Ok(serde_json::Value::Object(object)) => match object.get("value") {
            Some(serde_json::Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
            None => String::new(),
        },
        Ok(serde_json::Value::Null) => String::new(),
        _ => raw.get().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(array: &str, policy: &Policy) -> FindingSet {
        let text = Text::new("one\ntwo\n".to_owned());
        let context = Context {
            path: "a.x",
            server: "s",
            text: &text,
            encoding: Encoding::Utf16,
            policy,
            faults: Faults::default(),
        };
        decode(serde_json::from_str(array).expect("JSON"), &context).expect("an array")
    }

    #[test]
    fn no_odd_member_loses_a_finding() {
        let odd = [
            r#"{"range":{"start":{"line":1,"character":0},"end":{"line":1,"character":3}},"message":"plain"}"#,
            r#"{"message":"no range"}"#,
            r#"{"range":null,"message":"null range","severity":null,"code":null,"tags":null}"#,
            r#"{"range":{"start":{"line":-1,"character":1.5}},"message":"odd numbers","code":1.5}"#,
            r#"{"range":{"start":{"line":1e99,"character":4294967296}},"message":"large numbers"}"#,
            r#"{"message":{"kind":"markdown","value":"markup"},"code":{"value":7,"target":"x"}}"#,
            r#"{"message":"unknown severity","severity":9}"#,
            r#"{"message":"a","message":"doubled member"}"#,
            r#"{"code":"E1"}"#,
            "17",
            "null",
        ];
        let set = decoded(&format!("[{}]", odd.join(",")), &Policy::default());
        assert_eq!(set.counts.errors, odd.len() as u64);
        let shown: Vec<_> = set
            .findings
            .iter()
            .map(|f| format!("{}:{} {} {}", f.start.line, f.start.column, f.code.as_deref().unwrap_or("-"), f.message))
            .collect();
        insta::assert_snapshot!(shown.join("\n"), @"
        2:1 - plain
        1:1 - no range
        1:1 - null range
        1:2 1.5 odd numbers
        3:1 - large numbers
        1:1 7 markup
        1:1 - unknown severity
        1:1 - (a diagnostic that could not be read)
        1:1 E1 (no message)
        1:1 - (a diagnostic that could not be read)
        1:1 - (a diagnostic that could not be read)
        ");
    }

    #[test]
    fn a_flood_of_warnings_pushes_no_error_out() {
        let policy = Policy { findings_max: 3, ..Policy::default() };
        let warning = r#"{"message":"w","severity":2}"#;
        let error = r#"{"message":"e","severity":1}"#;
        let set = decoded(&format!("[{}{error},{error}]", format!("{warning},").repeat(50)), &policy);
        let messages: Vec<_> = set.findings.iter().map(|finding| finding.message.as_str()).collect();
        assert_eq!(messages, ["e", "e", "w"]);
        assert_eq!((set.counts.errors, set.counts.warnings, set.received), (2, 50, 52));
    }
}

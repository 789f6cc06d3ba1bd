//! Findings as servers send them, read tolerantly: one odd member never hides the others, and what is
//! odd about each is kept.

use serde_json::Value;

use super::text::{Position, Range};

/// Findings of one report that are kept; a report with more is cut, and says so.
pub(crate) const FINDINGS_MAX: usize = 5_000;

/// One diagnostic, by what makes it the same for a reader.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    pub(crate) range: Range,
    /// 1 error … 4 hint; `None` if it was left out or is no such number.
    pub(crate) severity: Option<u8>,
    /// As JSON, so that `1` and `"1"` differ; empty if there is none.
    pub(crate) code: String,
    pub(crate) message: String,
}

impl Finding {
    /// Whether it counts as an error: LSP 3.17 §Diagnostic recommends that for a missing severity.
    pub(crate) fn is_error(&self) -> bool {
        matches!(self.severity, None | Some(1))
    }
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let severity = match self.severity {
            Some(1) => "error",
            Some(2) => "warning",
            Some(3) => "information",
            Some(4) => "hint",
            _ => "(no severity)",
        };
        let code = if self.code.is_empty() { String::new() } else { format!(" {}", self.code) };
        write!(f, "{} {severity}{code}: {}", self.range, shortened(&self.message, 120))
    }
}

/// Reads the `items` or `diagnostics` of a report; appends what is odd about them.
pub(crate) fn read(items: Option<&Value>, odd: &mut Vec<String>) -> Vec<Finding> {
    let Some(items) = items.and_then(Value::as_array) else {
        odd.push("the list of diagnostics is missing or is no array".to_owned());
        return Vec::new();
    };
    if items.len() > FINDINGS_MAX {
        odd.push(format!("{} diagnostics in one report; the first {FINDINGS_MAX} were read", items.len()));
    }
    let mut findings: Vec<_> = items.iter().take(FINDINGS_MAX).filter_map(|item| read_one(item, odd)).collect();
    findings.sort();
    findings
}

fn read_one(item: &Value, odd: &mut Vec<String>) -> Option<Finding> {
    let Some(range) = item.get("range").and_then(read_range) else {
        odd.push(format!("a diagnostic without a right range: {}", shortened(&item.to_string(), 160)));
        return None;
    };
    let severity = match item.get("severity") {
        None => None,
        Some(severity) => {
            let number = severity.as_u64().and_then(|number| u8::try_from(number).ok()).filter(|n| (1..=4).contains(n));
            if number.is_none() {
                odd.push(format!("severity {}", shortened(&severity.to_string(), 40)));
            }
            number
        }
    };
    let code = match item.get("code") {
        None => String::new(),
        Some(code) => {
            if !code.is_string() && !code.is_i64() {
                odd.push(format!("code {} is neither an integer nor a string", shortened(&code.to_string(), 40)));
            }
            shortened(&code.to_string(), 200)
        }
    };
    let message = match item.get("message") {
        Some(Value::String(message)) => message.clone(),
        Some(Value::Object(markup)) => markup.get("value").and_then(Value::as_str).unwrap_or_default().to_owned(),
        other => {
            odd.push(format!(
                "message {} is no text",
                shortened(&other.map_or_else(String::new, Value::to_string), 40)
            ));
            String::new()
        }
    };
    Some(Finding { range, severity, code, message: shortened(&message, 2_000) })
}

fn read_range(range: &Value) -> Option<Range> {
    let position = |name: &str| {
        let position = range.get(name)?;
        let number = |name: &str| position.get(name)?.as_u64().and_then(|number| u32::try_from(number).ok());
        Some(Position { line: number("line")?, character: number("character")? })
    };
    Some(Range { start: position("start")?, end: position("end")? })
}

/// Whether two reports say the same: equal as multisets.
pub(crate) fn same(one: &[Finding], other: &[Finding]) -> bool {
    let sorted = |findings: &[Finding]| {
        let mut findings = findings.to_vec();
        findings.sort();
        findings
    };
    sorted(one) == sorted(other)
}

/// What only one side says, as lines `+ …` (only in `one`) and `- …` (only in `other`), at most `max`.
pub(crate) fn difference(one: &[Finding], other: &[Finding], max: usize) -> Vec<String> {
    let only = |these: &[Finding], those: &[Finding], sign: char| {
        let mut rest = those.to_vec();
        let mut lines = Vec::new();
        for finding in these {
            match rest.iter().position(|other| other == finding) {
                Some(at) => drop(rest.swap_remove(at)),
                None => lines.push(format!("{sign} {finding}")),
            }
        }
        lines
    };
    let mut lines = only(one, other, '+');
    lines.extend(only(other, one, '-'));
    let more = lines.len().saturating_sub(max);
    lines.truncate(max);
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    lines
}

/// At most `max` characters of a text, in one line without control characters.
pub(crate) fn shortened(text: &str, max: usize) -> String {
    let mut characters = text.chars().map(|character| if character.is_control() { ' ' } else { character });
    let mut short: String = characters.by_ref().take(max).collect();
    if characters.next().is_some() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn item(line: u32, message: &str) -> Value {
        json!({"range": {"start": {"line": line, "character": 0}, "end": {"line": line, "character": 1}}, "message": message})
    }

    #[test]
    fn one_odd_finding_does_not_hide_the_others() {
        let mut odd = Vec::new();
        let items = json!([item(1, "a"), {"message": "no range"}, item(-1_i32 as u32, "b"), {"range": {"start": {"line": -1, "character": 0}}}]);
        let findings = read(Some(&items), &mut odd);
        assert_eq!(findings.iter().map(|finding| finding.message.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(odd.len(), 2, "{odd:?}");
    }

    #[test]
    fn reports_are_compared_as_multisets() {
        let read = |items: Value| read(Some(&items), &mut Vec::new());
        let twice = read(json!([item(1, "a"), item(1, "a"), item(2, "b")]));
        let turned = read(json!([item(2, "b"), item(1, "a"), item(1, "a")]));
        let once = read(json!([item(1, "a"), item(2, "b")]));
        assert!(same(&twice, &turned));
        assert!(!same(&twice, &once));
        assert_eq!(difference(&twice, &once, 9), ["+ 1:0-1:1 (no severity): a"]);
    }
}

//! The evidence of a failed check: what everybody said and did, by the world's clock, bounded.

use serde_json::Value;
use wire::Time;
use wire::trace::{Direction, Entry};

use super::seen::who;
use crate::results::Evidence;
use crate::runner::{Call, Run};
use crate::world::Awaited;

/// Lines of one timeline; those in the middle are left out, and counted.
const LINES_MAX: usize = 60;
/// Characters of one line.
const CHARS_MAX: usize = 160;

/// Everything that was seen of a run, in order.
pub(super) fn of(run: &Run<'_>) -> Vec<Evidence> {
    let mut lines: Vec<(Time, String, String)> = Vec::new();
    for (at, deed) in &run.deeds {
        lines.push((*at, "judge".to_owned(), deed.clone()));
    }
    for call in run.calls.iter().chain(&run.stop) {
        lines.push((call.asked, "judge".to_owned(), asked(run, call)));
        lines.extend(answered(call));
    }
    for late in &run.late {
        let told: Vec<String> = late.told.iter().map(|told| told.text.clone().unwrap_or_default()).collect();
        lines.push((late.at, "loop".to_owned(), format!("tells late: [{}]", told.join(" | "))));
    }
    for instance in &run.observed.instances {
        let started = format!("starts ({})", instance.pid);
        lines.push((instance.started, who(instance), started));
        let told = instance.lines.iter().filter_map(|line| Some((line.us, who(instance), said(&line.entry)?)));
        lines.extend(told);
    }
    lines.sort_by_key(|(at, ..)| *at);
    bounded(lines)
}

fn bounded(lines: Vec<(Time, String, String)>) -> Vec<Evidence> {
    let over = lines.len().saturating_sub(LINES_MAX);
    let head = if over == 0 { lines.len() } else { LINES_MAX / 3 };
    let mut evidence = Vec::new();
    for (number, (at, who, what)) in lines.into_iter().enumerate() {
        if number == head && over > 0 {
            evidence.push(Evidence {
                at_ms: at.as_millis_f64(),
                who: "…".to_owned(),
                what: format!("{over} lines left out"),
            });
        }
        if number < head || number >= head + over {
            evidence.push(Evidence { at_ms: at.as_millis_f64(), who, what: shortened(&what) });
        }
    }
    evidence
}

fn shortened(what: &str) -> String {
    let mut chars = what.chars().map(|c| if c.is_control() { '␤' } else { c });
    let mut short: String = chars.by_ref().take(CHARS_MAX).collect();
    if chars.next().is_some() {
        short.push('…');
    }
    short
}

fn asked(run: &Run<'_>, call: &Call) -> String {
    let Some(path) = &call.path else { return format!("asks: {}", call.op) };
    match run.history.newest(path, call.asked) {
        Some(hash) => format!("asks: {} {path} ({hash:08x})", call.op),
        None => format!("asks: {} {path}", call.op),
    }
}

fn answered(call: &Call) -> Option<(Time, String, String)> {
    let Awaited::Answered { at, answer } = &call.outcome else {
        let how = match &call.outcome {
            Awaited::LoopEnded { how } => format!("ended: {how}"),
            _ => format!("did not answer {}", call.op),
        };
        return Some((call.asked, "loop".to_owned(), how));
    };
    let what = match (&answer.error, &answer.feedback.text) {
        (Some(error), _) => format!("fails {}: {error}", call.op),
        (None, Some(text)) => {
            let conclusion = answer.feedback.conclusion.map_or_else(|| "?".to_owned(), |known| known.to_string());
            format!("answers {}: {conclusion}: {text}", call.op)
        }
        (None, None) => format!("answers {}", call.op),
    };
    Some((*at, "loop".to_owned(), what))
}

fn said(entry: &Entry) -> Option<String> {
    Some(match entry {
        Entry::Start { .. } => return None,
        Entry::Message { dir, msg } => format!("{} {}", arrow(*dir), message(msg)),
        Entry::Raw { dir, bytes, error, .. } => format!("{} {bytes} bytes that are no message: {error}", arrow(*dir)),
        Entry::Note { what, data } => format!("notes {what} {data}"),
        Entry::Exit { why, code } => match code {
            Some(code) => format!("exits with {code}: {why}"),
            None => format!("ends: {why}"),
        },
    })
}

/// From the server's side: it gets `<`, it says `>`.
fn arrow(dir: Direction) -> &'static str {
    match dir {
        Direction::ToServer => "<",
        Direction::ToClient => ">",
    }
}

/// What matters of a message, first.
fn message(msg: &Value) -> String {
    let id = msg.get("id").map(|id| format!(" id {id}")).unwrap_or_default();
    let Some(method) = msg["method"].as_str() else {
        let body = msg.get("error").or_else(|| msg.get("result")).unwrap_or(&Value::Null);
        return format!("answer{id} {body}");
    };
    let params = &msg["params"];
    let version = match (&params["version"], &params["textDocument"]["version"]) {
        (Value::Null, Value::Null) => String::new(),
        (Value::Null, version) | (version, _) => format!(" version {version}"),
    };
    let body = match method {
        "textDocument/publishDiagnostics" => params["diagnostics"].to_string(),
        "textDocument/didOpen" => params["textDocument"]["text"].to_string(),
        "textDocument/didChange" => params["contentChanges"].to_string(),
        "initialize" => String::new(),
        _ => params.to_string(),
    };
    format!("{method}{id}{version} {body}")
}

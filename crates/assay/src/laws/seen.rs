//! What was seen, as the laws ask for it: results that servers sent, codes and tags in answers, steps in
//! words. Nothing is judged here.

use std::time::Duration;

use feedback::Severity;
use serde_json::Value;
use wire::Time;
use wire::trace::{Direction, Entry, Line};

use crate::history::Tag;
use crate::protocol::{Feedback, Finding};
use crate::results::WorldKind;
use crate::runner::{Call, Run};
use crate::world::Instance;

/// The step of a call in words.
pub(super) fn at(run: &Run<'_>, call: &Call) -> String {
    place(run, call.awaited_by.unwrap_or(call.asked_by))
}

/// A step in words.
pub(super) fn place(run: &Run<'_>, step: usize) -> String {
    match run.scenario.steps.get(step) {
        Some(found) => format!("step {} (line {})", step + 1, found.line),
        None => "the end".to_owned(),
    }
}

/// How far two clocks or two ends of a pipe may differ.
pub(super) fn slack(world: WorldKind) -> Duration {
    match world {
        WorldKind::Simulated => Duration::from_millis(1),
        WorldKind::Real => Duration::from_millis(60),
    }
}

/// One result that a server sent for a document.
#[derive(Clone, Debug)]
pub(super) struct ServerResult<'a> {
    /// Which start of which server: an index into the instances.
    pub(super) instance: usize,
    /// Pushed rather than pulled.
    pub(super) pushed: bool,
    pub(super) at: Time,
    /// The hash of the server's copy that this claims to be about, as far as a client can know.
    pub(super) about: Option<u32>,
    pub(super) diagnostics: &'a [Value],
}

impl ServerResult<'_> {
    /// The tags of its errors; findings without a tag are left out.
    pub(super) fn error_tags(&self) -> Vec<Tag> {
        self.diagnostics.iter().filter(|diagnostic| is_error(diagnostic)).filter_map(tag_of).collect()
    }

    pub(super) fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(is_error)
    }
}

/// LSP 3.17 `Diagnostic.severity`: without one it is up to the client; this project says error.
fn is_error(diagnostic: &Value) -> bool {
    !matches!(diagnostic["severity"].as_u64(), Some(2..=4))
}

fn tag_of(diagnostic: &Value) -> Option<Tag> {
    Tag::in_text(diagnostic["message"].as_str()?)
}

/// Every result that any server sent for a file, in the order of each server's trace.
pub(super) fn results<'a>(run: &'a Run<'_>, path: &str) -> Vec<ServerResult<'a>> {
    let instances = run.observed.instances.iter().enumerate();
    instances.flat_map(|(index, instance)| results_of(index, instance, path)).collect()
}

fn results_of<'a>(index: usize, instance: &'a Instance, path: &str) -> Vec<ServerResult<'a>> {
    let mut found = Vec::new();
    let mut copy = Copy::default();
    let mut pulls: Vec<(&Value, Option<u32>)> = Vec::new();
    for line in &instance.lines {
        match &line.entry {
            Entry::Note { what, data } if what == "document" && is_path(&data["uri"], path) => copy.note(data),
            Entry::Message { dir: Direction::ToServer, msg }
                if msg["method"] == "textDocument/diagnostic"
                    && is_path(&msg["params"]["textDocument"]["uri"], path) =>
            {
                pulls.push((&msg["id"], copy.hash));
            }
            Entry::Message { dir: Direction::ToClient, msg } if msg["method"] == "textDocument/publishDiagnostics" => {
                let params = &msg["params"];
                if is_path(&params["uri"], path)
                    && let Some(diagnostics) = params["diagnostics"].as_array()
                {
                    let about = copy.of_version(&params["version"]);
                    found.push(ServerResult { instance: index, pushed: true, at: line.us, about, diagnostics });
                }
            }
            Entry::Message { dir: Direction::ToClient, msg } if msg.get("method").is_none() => {
                let pull = pulls.iter().find(|(id, _)| **id == msg["id"]);
                if let (Some((_, about)), Some(diagnostics)) = (pull, msg["result"]["items"].as_array()) {
                    let about = *about;
                    found.push(ServerResult { instance: index, pushed: false, at: line.us, about, diagnostics });
                }
            }
            _ => {}
        }
    }
    found
}

/// A server's copy of one document, as far as its trace has told.
#[derive(Default)]
struct Copy {
    hash: Option<u32>,
    versions: Vec<(i64, u32)>,
}

impl Copy {
    fn note(&mut self, data: &Value) {
        self.hash = data["hash"].as_str().and_then(|hex| u32::from_str_radix(hex, 16).ok());
        if let (Some(hash), Some(version)) = (self.hash, data["version"].as_i64()) {
            self.versions.push((version, hash));
        }
    }

    /// The copy that had this version; without a version, the newest.
    fn of_version(&self, version: &Value) -> Option<u32> {
        match version.as_i64() {
            None => self.hash,
            Some(version) => self.versions.iter().rev().find(|(of, _)| *of == version).map(|(_, hash)| *hash),
        }
    }
}

/// The hashes that a server's copy of a file had, with the times.
pub(super) fn copies<'a>(instance: &'a Instance, path: &'a str) -> impl Iterator<Item = (Time, u32)> + 'a {
    instance.lines.iter().filter_map(move |line| match &line.entry {
        Entry::Note { what, data } if what == "document" && is_path(&data["uri"], path) => {
            Some((line.us, u32::from_str_radix(data["hash"].as_str()?, 16).ok()?))
        }
        _ => None,
    })
}

/// Notes of one kind over all servers, with who wrote them.
pub(super) fn notes<'a>(run: &'a Run<'_>, kind: &'a str) -> impl Iterator<Item = (String, Time, &'a Value)> + 'a {
    run.observed.instances.iter().flat_map(move |instance| {
        instance.lines.iter().filter_map(move |line| match &line.entry {
            Entry::Note { what, data } if what == kind => Some((who(instance), line.us, data)),
            _ => None,
        })
    })
}

/// A start of a server in words.
pub(super) fn who(instance: &Instance) -> String {
    format!("server {}#{}", instance.server, instance.number)
}

/// Messages of one direction, with their times.
pub(super) fn messages(lines: &[Line], wanted: Direction) -> impl Iterator<Item = (Time, &Value)> {
    lines.iter().filter_map(move |line| match &line.entry {
        Entry::Message { dir, msg } if *dir == wanted => Some((line.us, msg)),
        _ => None,
    })
}

/// Whether a URI names this file of the workspace.
pub(super) fn is_path(uri: &Value, path: &str) -> bool {
    let Some(uri) = uri.as_str() else { return false };
    if let Some(before) = uri.strip_suffix(path) {
        return before.is_empty() || before.ends_with('/');
    }
    let file = url::Url::parse(uri).ok().and_then(|url| url.to_file_path().ok());
    file.is_some_and(|file| file.ends_with(path))
}

/// A code without the tag behind it: `E1-9c3f2a71.0` is `E1`.
pub(super) fn bare_code(code: &str) -> &str {
    match Tag::in_text(code) {
        Some(_) => code.split_once('-').map_or(code, |(bare, _)| bare),
        None => code,
    }
}

/// The tag that a finding carries.
pub(super) fn tag(finding: &Finding) -> Option<Tag> {
    Tag::in_text(&finding.message).or_else(|| Tag::in_text(finding.code.as_deref()?))
}

/// The codes, without tags, of findings that are errors (or that are not).
pub(super) fn codes(findings: &[Finding], errors: bool) -> Vec<String> {
    let meant = findings.iter().filter(|finding| (finding.severity == Severity::Error) == errors);
    meant.map(|finding| bare_code(finding.code.as_deref().unwrap_or("-")).to_owned()).collect()
}

/// The codes, without tags, of all findings.
pub(super) fn all_codes(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(|finding| bare_code(finding.code.as_deref().unwrap_or("-")).to_owned()).collect()
}

/// Where text that is labelled as old begins: a line that says so. Whoever reads on is warned.
pub(super) fn label_start(text: &str) -> usize {
    const LABELS: [&str; 5] = ["before", "earlier", "previous", "last known", "stale"];
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let says_so = || {
            let lower = line.to_lowercase();
            LABELS.iter().any(|label| lower.contains(label))
        };
        if Tag::in_text(line).is_none() && says_so() {
            return at;
        }
        at += line.len();
    }
    text.len()
}

/// The part of an answer's text that is about the newest text.
pub(super) fn current_text(feedback: &Feedback) -> &str {
    let text = feedback.text.as_deref().unwrap_or_default();
    &text[..label_start(text)]
}

/// The `N` of "N more" in the part of a text that is about the newest text, if it says so.
pub(super) fn more(feedback: &Feedback) -> Option<u64> {
    current_text(feedback).lines().rev().find_map(|line| {
        let (before, _) = line.split_once(" more")?;
        before.rsplit(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_answer_of_a_loop_makes_the_judge_panic(text in "\\PC{0,40}|[0-9a-f. \n]{0,60}|.{0,80}", path in ".{0,12}") {
            let feedback = Feedback { text: Some(text.clone()), ..Feedback::default() };
            prop_assert!(text.starts_with(current_text(&feedback)));
            let _ = (more(&feedback), bare_code(&text).len(), is_path(&Value::from(text.clone()), &path));
            for (at, tag) in Tag::all_in(&text) {
                let hash = format!("{:08x}.", tag.hash);
                prop_assert!(text[at..].starts_with(&hash), "{}", tag);
            }
        }
    }

    #[test]
    fn prose_is_read_as_its_reader_would() {
        let feedback = |text: &str| Feedback { text: Some(text.to_owned()), ..Feedback::default() };
        let answer = feedback("a: 2 errors\n  1:1 E1\n  … and 31 more\nbefore this edit (1 known):\n  7 more");
        assert_eq!(current_text(&answer), "a: 2 errors\n  1:1 E1\n  … and 31 more\n");
        assert_eq!(more(&answer), Some(31));
        assert_eq!(more(&feedback("nothing more to say")), None);
        assert_eq!((bare_code("E1-9c3f2a71.0"), bare_code("no-tag")), ("E1", "no-tag"));
        for (uri, is) in [("file:///w/a.fake", true), ("file:///w/aa.fake", false), ("file:///w/b/%61.fake", true)] {
            assert_eq!(is_path(&Value::from(uri), "a.fake"), is, "{uri}");
        }
    }
}

//! Sync: the server's copy is the file. The fakes apply exactly what they are sent and note each copy's
//! hash, so a torn document shows itself.

use std::collections::BTreeMap;

use feedback::Conclusion;
use serde_json::Value;
use wire::trace::Direction;

use super::seen::{at, copies, messages, notes, tag, who};
use super::{Looked, Sheet};
use crate::results::Law;
use crate::runner::count_messages;
use crate::world::Instance;

pub(super) fn judge(sheet: &mut Sheet<'_, '_>) {
    versions_rise(sheet);
    copy_equals_file(sheet);
    open_and_close(sheet);
    positions(sheet);
    expected_messages(sheet);
}

/// What the loop does to one document of one server.
enum Deed<'a> {
    Open(&'a Value),
    Change(&'a Value),
    Close,
}

/// Everything that the loop does to documents, with their URIs.
fn deeds(instance: &Instance) -> impl Iterator<Item = (&str, Deed<'_>)> {
    messages(&instance.lines, Direction::ToServer).filter_map(|(_, msg)| {
        let document = &msg["params"]["textDocument"];
        let deed = match msg["method"].as_str()? {
            "textDocument/didOpen" => Deed::Open(&document["version"]),
            "textDocument/didChange" => Deed::Change(&document["version"]),
            "textDocument/didClose" => Deed::Close,
            _ => return None,
        };
        Some((document["uri"].as_str()?, deed))
    })
}

fn versions_rise(sheet: &mut Sheet<'_, '_>) {
    let mut looked = Looked::default();
    for instance in &sheet.run.observed.instances {
        let mut newest: BTreeMap<&str, i64> = BTreeMap::new();
        for (uri, deed) in deeds(instance) {
            let (Deed::Open(version) | Deed::Change(version)) = deed else {
                // A document that is opened again may begin anew.
                newest.remove(uri);
                continue;
            };
            let version = version.as_i64().unwrap_or(i64::MIN);
            let before = newest.insert(uri, version);
            looked.holds(before.is_none_or(|before| before < version), || {
                format!("{}: version {version} of {uri} after {}", who(instance), before.unwrap_or_default())
            });
        }
    }
    sheet.check(Law::Sync, "sync/versions-rise", "versions of an open document rise strictly", looked);
}

/// Whatever a server holds is a text that the file had, and of the newest text where something is concluded.
fn copy_equals_file(sheet: &mut Sheet<'_, '_>) {
    let run = sheet.run;
    let mut looked = Looked::default();
    for instance in &run.observed.instances {
        for path in run.history.paths() {
            for (_, hash) in copies(instance, path) {
                looked.holds(run.history.ever(path).any(|ever| ever == hash), || {
                    format!("{} holds {hash:08x}, which {path} never was", who(instance))
                });
            }
        }
    }
    for (who, _, data) in notes(run, "refused") {
        looked.at(Some(format!("{who} could not apply what it was sent: {data}")));
    }
    for call in &run.calls {
        let (Some((answered, feedback)), Some(path)) = (call.feedback(), &call.path) else { continue };
        if !matches!(feedback.conclusion, Some(Conclusion::Clean | Conclusion::Errors)) {
            continue;
        }
        let newest = run.history.newest_between(path, call.asked, answered);
        let held = run.observed.instances.iter().flat_map(|instance| copies(instance, path));
        let had = held.into_iter().any(|(_, hash)| newest.contains(&hash));
        looked.holds(had, || format!("{}: concluded, but no server ever held that text", at(run, call)));
    }
    let expected = "what a server holds is the file";
    sheet.check(Law::Sync, "sync/copy-equals-file", expected, looked);
}

/// Documents are opened before they are changed, and closed once.
fn open_and_close(sheet: &mut Sheet<'_, '_>) {
    let mut looked = Looked::default();
    for instance in &sheet.run.observed.instances {
        let mut open: BTreeMap<&str, bool> = BTreeMap::new();
        for (uri, deed) in deeds(instance) {
            let was_open = open.get(uri).copied().unwrap_or(false);
            let (wanted, what) = match deed {
                Deed::Open(_) => (false, "opened"),
                Deed::Change(_) => (true, "changed"),
                Deed::Close => (true, "closed"),
            };
            open.insert(uri, !matches!(deed, Deed::Close));
            looked.holds(was_open == wanted, || {
                let state = if was_open { "open" } else { "not open" };
                format!("{}: {uri} is {what} while it is {state}", who(instance))
            });
        }
    }
    let expected = "a document is opened once, changed and closed only while open";
    sheet.check(Law::Sync, "sync/open-close-balanced", expected, looked);
}

/// A finding's place is the place in the text that its tag names.
fn positions(sheet: &mut Sheet<'_, '_>) {
    let run = sheet.run;
    let mut looked = Looked::default();
    for call in &run.calls {
        let Some(findings) = call.feedback().and_then(|(_, feedback)| feedback.findings.as_ref()) else { continue };
        let expect = call.awaited_by.and_then(|step| run.scenario.steps[step].expect.as_ref());
        if let (Some((line, column)), Some(first)) = (expect.and_then(|expect| expect.position), findings.first()) {
            looked.holds((first.line, first.column) == (line, column), || {
                format!("{}: at {}:{}, expected {line}:{column}", at(run, call), first.line, first.column)
            });
        }
        for finding in findings {
            let Some(truth) = tag(finding).and_then(|tag| run.history.finding(tag)) else { continue };
            let (line, column) = (truth.line + 1, truth.start + 1);
            looked.holds((finding.line, finding.column) == (line, column), || {
                format!(
                    "{}: {} at {}:{}, it is at {line}:{column}",
                    at(run, call),
                    truth.tag,
                    finding.line,
                    finding.column
                )
            });
        }
    }
    let expected = "places are those of the text, whatever encoding was negotiated";
    sheet.check(Law::Sync, "sync/positions", expected, looked);
}

/// The loop sends nothing that the protocol forbids, and as many messages as the scenario calls for.
fn expected_messages(sheet: &mut Sheet<'_, '_>) {
    let run = sheet.run;
    let mut looked = Looked::default();
    for instance in &run.observed.instances {
        if let Some((_, first)) = messages(&instance.lines, Direction::ToServer).next() {
            looked.holds(first["method"] == "initialize", || {
                format!("{}: the first message is {}", who(instance), first["method"])
            });
        }
    }
    for (who, _, data) in notes(run, "unexpected") {
        looked.at(Some(format!("{who} got what it did not expect: {data}")));
    }
    for wanted in &run.scenario.expect.messages {
        let seen = count_messages(&run.observed.instances, wanted);
        let enough = seen >= wanted.count_min && wanted.count_max.is_none_or(|max| seen <= max);
        looked.holds(enough, || {
            let max = wanted.count_max.map_or_else(String::new, |max| max.to_string());
            format!("{seen} × {} {:?}, expected {}..{max}", wanted.method, wanted.dir, wanted.count_min)
        });
    }
    for missed in &run.missed {
        looked.at(Some(format!("waited in vain for {missed}")));
    }
    sheet.check(Law::Sync, "sync/messages", "the messages that the protocol and the scenario call for", looked);
}

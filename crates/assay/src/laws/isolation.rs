//! Isolation: a server can't fail an edit, is started once, is answered, is told of once, and is gone
//! when the loop is.

use std::collections::BTreeMap;

use serde_json::Value;
use wire::Time;
use wire::trace::{Direction, Entry};

use super::seen::{at, messages, who};
use super::{Looked, Sheet};
use crate::results::Law;
use crate::world::{Awaited, Instance};

pub(super) fn judge(sheet: &mut Sheet<'_, '_>) {
    edit_survives(sheet);
    one_notice(sheet);
    one_process(sheet);
    requests_answered(sheet);
    nothing_left(sheet);
}

/// Every operation is carried out, whatever a server does; what must be refused is.
fn edit_survives(sheet: &mut Sheet<'_, '_>) {
    let run = sheet.run;
    let mut looked = Looked::default();
    for call in &run.calls {
        let expect = call.awaited_by.and_then(|step| run.scenario.steps[step].expect.as_ref());
        let refused = expect.is_some_and(|expect| expect.refused);
        looked.at(match &call.outcome {
            Awaited::Answered { answer, .. } if answer.ok == refused => {
                let error = answer.error.as_deref().unwrap_or("it was carried out");
                Some(format!("{}: {}: {error}", at(run, call), call.op))
            }
            Awaited::LoopEnded { how } => Some(format!("{}: the loop ended: {how}", at(run, call))),
            _ => None,
        });
    }
    let expected = "no server fails an edit";
    sheet.check(Law::Isolation, "isolation/edit-survives", expected, looked);
}

/// Notices are given once, and those that the scenario calls for are given.
fn one_notice(sheet: &mut Sheet<'_, '_>) {
    let run = sheet.run;
    let mut looked = Looked::default();
    let mut given: BTreeMap<&str, u32> = BTreeMap::new();
    for call in &run.calls {
        let Some((_, feedback)) = call.feedback() else { continue };
        for note in &feedback.notes {
            let times = given.entry(note).or_default();
            *times += 1;
            looked.holds(*times == 1, || format!("{}: again: {note}", at(run, call)));
        }
        let Some(expect) = call.awaited_by.and_then(|step| run.scenario.steps[step].expect.as_ref()) else { continue };
        if let Some(words) = &expect.note
            && run.can("notes")
        {
            let said = feedback.notes.iter().any(|note| note.contains(words));
            looked.holds(said, || format!("{}: no note says {words:?}: {:?}", at(run, call), feedback.notes));
        }
        if let Some(max) = expect.notes_max {
            let count = feedback.notes.len();
            looked.holds(count <= max, || format!("{}: {count} notes, at most {max} fit", at(run, call)));
        }
    }
    let expected = "a notice about a server is given once";
    sheet.check(Law::Isolation, "isolation/one-notice", expected, looked);
}

/// No two processes of a server at the same time.
fn one_process(sheet: &mut Sheet<'_, '_>) {
    let run = sheet.run;
    let mut looked = Looked::default();
    let mut newest: BTreeMap<&str, &Instance> = BTreeMap::new();
    for instance in &run.observed.instances {
        let before = newest.insert(&instance.server, instance);
        let overlaps = before.is_some_and(|before| end(before).is_none_or(|end| end > instance.started));
        looked.holds(!overlaps, || format!("{} starts while an earlier one runs", who(instance)));
    }
    if let Some(starts) = run.scenario.expect.starts {
        let seen = run.observed.instances.len() as u64;
        looked.holds(seen == starts, || format!("{seen} processes were started, expected {starts}"));
    }
    let expected = "a server is started once, and again only after its end";
    sheet.check(Law::Isolation, "isolation/one-process", expected, looked);
}

/// When a process ended: as it says itself, or else by the last that was heard of it.
fn end(instance: &Instance) -> Option<Time> {
    let said = instance.lines.iter().find(|line| matches!(line.entry, Entry::Exit { .. }));
    let last = instance.lines.last().filter(|_| instance.ended);
    said.or(last).map(|line| line.us)
}

/// What a server asks is answered, with an error if need be, under exactly its id.
fn requests_answered(sheet: &mut Sheet<'_, '_>) {
    let run = sheet.run;
    let mut looked = Looked::default();
    for instance in &run.observed.instances {
        for (_, request) in messages(&instance.lines, Direction::ToClient) {
            let (Some(method), Some(id)) = (request["method"].as_str(), request.get("id")) else { continue };
            let answers: Vec<&Value> = messages(&instance.lines, Direction::ToServer)
                .map(|(_, answer)| answer)
                .filter(|answer| answer.get("method").is_none() && answer.get("id") == Some(id))
                .collect();
            looked.at(wrong_answer(method, request, &answers)
                .map(|wrong| format!("{}: {method} with id {id}: {wrong}", who(instance))));
        }
    }
    let expected = "every request of a server is answered once, under its id, in the right shape";
    sheet.check(Law::Isolation, "isolation/requests-answered", expected, looked);
}

fn wrong_answer(method: &str, request: &Value, answers: &[&Value]) -> Option<String> {
    let [answer] = answers else { return Some(format!("{} answers", answers.len())) };
    match method {
        "workspace/configuration" => {
            let asked = request["params"]["items"].as_array().map_or(0, Vec::len);
            let got = answer["result"].as_array().map(Vec::len);
            (got != Some(asked)).then(|| format!("{asked} items were asked for, the answer is {}", answer["result"]))
        }
        "client/registerCapability" | "client/unregisterCapability" | "window/workDoneProgress/create" => {
            let right = answer.get("result") == Some(&Value::Null);
            (!right).then(|| format!("null is the answer, not {answer}"))
        }
        _ => None,
    }
}

fn nothing_left(sheet: &mut Sheet<'_, '_>) {
    let mut looked = Looked::default();
    let left = &sheet.run.observed.left_behind;
    looked.holds(left.is_empty(), || format!("still there 2 s after the end: {}", left.join(", ")));
    sheet.check(Law::Isolation, "isolation/nothing-left", "nothing is left running", looked);
}

//! Recovery: late results are delivered while they hold, and a server that was started again is given
//! the documents as they are now.

use wire::trace::Direction;

use super::seen::{all_codes, copies, messages, place, tag, who};
use super::{Looked, Sheet, differ};
use crate::results::Law;
use crate::world::Instance;

pub(super) fn judge(sheet: &mut Sheet<'_, '_>) {
    late_results(sheet);
    restarted(sheet);
}

/// What is told late is of the newest text, and is what the scenario calls for.
fn late_results(sheet: &mut Sheet<'_, '_>) {
    let run = sheet.run;
    let mut looked = Looked::default();
    for late in &run.late {
        let place = place(run, late.step);
        let findings: Vec<_> = late.told.iter().flat_map(|told| told.findings.iter().flatten()).collect();
        for finding in &findings {
            let Some(tag) = tag(finding) else { continue };
            let holds = run.history.newest(&finding.path, late.at) == Some(tag.hash);
            looked.holds(holds, || format!("{place}: {tag} no longer holds, but is told late"));
        }
        let expect = run.scenario.steps[late.step].expect.as_ref();
        if let Some(expected) = expect.and_then(|expect| expect.codes.as_ref()) {
            let codes: Vec<String> =
                late.told.iter().filter_map(|told| told.findings.as_deref()).flat_map(all_codes).collect();
            looked.at(differ(&format!("{place}: told late"), expected, &codes));
        }
        let conclusions = expect.map(|expect| expect.conclusion.as_slice()).unwrap_or_default();
        if !conclusions.is_empty() {
            let told: Vec<String> =
                late.told.iter().filter_map(|told| told.conclusion).map(|told| told.to_string()).collect();
            let right = told.iter().any(|told| conclusions.iter().any(|allowed| allowed.name() == told));
            looked.holds(right, || format!("{place}: told late: {told:?}"));
        }
    }
    let expected = "late results are told if they still hold, and only then";
    sheet.check(Law::Recovery, "recovery/late-results", expected, looked);
}

/// A server that was started again got the newest text of a document before anything else of it.
fn restarted(sheet: &mut Sheet<'_, '_>) {
    let run = sheet.run;
    let mut looked = Looked::default();
    for instance in run.observed.instances.iter().filter(|instance| instance.number > 1) {
        if !initialized(instance) {
            continue;
        }
        let opened: Vec<_> = messages(&instance.lines, Direction::ToServer)
            .filter(|(_, msg)| msg["method"] == "textDocument/didOpen")
            .collect();
        looked.holds(!opened.is_empty(), || format!("{} was not told of any document", who(instance)));
        for path in run.history.paths() {
            let Some((at, hash)) = copies(instance, path).next() else { continue };
            let newest = run.history.newest_between(path, instance.started, at);
            looked.holds(newest.contains(&hash), || {
                format!("{} was first given {hash:08x} of {path}, which was not the newest", who(instance))
            });
        }
    }
    let expected = "a server that was started again gets the documents as they are now";
    sheet.check(Law::Recovery, "recovery/restarted", expected, looked);
}

fn initialized(instance: &Instance) -> bool {
    messages(&instance.lines, Direction::ToServer).any(|(_, msg)| msg["method"] == "initialized")
}

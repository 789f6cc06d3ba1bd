//! Freshness: what is reported as current is what the server said about the newest text, and what is
//! older is labelled.

use super::seen::{all_codes, at, current_text, label_start, tag};
use super::{Looked, Sheet, differ};
use crate::history::Tag;
use crate::protocol::Feedback;
use crate::results::Law;
use crate::runner::{Call, Run};

pub(super) fn judge(sheet: &mut Sheet<'_, '_>) {
    newest(sheet);
    labelled(sheet);
}

/// Every tag among current findings, and in prose that is not labelled, is of the newest text.
fn newest(sheet: &mut Sheet<'_, '_>) {
    let run = sheet.run;
    let mut looked = Looked::default();
    for call in &run.calls {
        let Some((answered, feedback)) = call.feedback() else { continue };
        let tags = current_tags(feedback).into_iter().map(|(path, tag)| (path.or(call.path.clone()), tag));
        for (path, tag) in tags {
            let path = path.unwrap_or_default();
            let fresh = run.history.newest_between(&path, call.asked, answered);
            looked.holds(fresh.contains(&tag.hash), || {
                format!("{}: {tag} is of {}, not of the newest text of {path}", at(run, call), origin(run, &path, tag))
            });
        }
        unwanted(run, call, feedback, &mut looked);
    }
    let expected = "current findings are of the newest text";
    sheet.check(Law::Freshness, "freshness/findings-are-of-newest-text", expected, looked);
}

/// Tags that are told as current: with the file that a finding names, and from the prose.
fn current_tags(feedback: &Feedback) -> Vec<(Option<String>, Tag)> {
    let findings = feedback.findings.iter().flatten();
    let mut tags: Vec<(Option<String>, Tag)> =
        findings.filter_map(|finding| Some((Some(finding.path.clone()), tag(finding)?))).collect();
    let known: Vec<Tag> = tags.iter().map(|(_, tag)| *tag).collect();
    let prose = Tag::all_in(current_text(feedback)).map(|(_, tag)| tag).filter(|tag| !known.contains(tag));
    tags.extend(prose.map(|tag| (None, tag)));
    tags
}

fn origin(run: &Run<'_>, path: &str, tag: Tag) -> &'static str {
    if run.history.ever(path).any(|hash| hash == tag.hash) {
        "an older text"
    } else {
        "no text that this file ever had"
    }
}

fn unwanted(run: &Run<'_>, call: &Call, feedback: &Feedback, looked: &mut Looked) {
    let Some(expect) = call.awaited_by.and_then(|step| run.scenario.steps[step].expect.as_ref()) else { return };
    let codes = all_codes(feedback.findings.as_deref().unwrap_or_default());
    for code in &expect.not_codes {
        let told = codes.contains(code) || current_text(feedback).contains(&format!("{code}-"));
        looked.holds(!told, || format!("{}: {code} is told as current", at(run, call)));
    }
}

/// What was known before is kept apart, in the structure and in the prose.
fn labelled(sheet: &mut Sheet<'_, '_>) {
    let run = sheet.run;
    let mut looked = Looked::default();
    for call in &run.calls {
        let Some((answered, feedback)) = call.feedback() else { continue };
        let told = feedback.told_before.as_deref().unwrap_or_default();
        if let Some(expected) =
            call.awaited_by.and_then(|step| run.scenario.steps[step].expect.as_ref()?.told_before.as_ref())
            && (feedback.told_before.is_some() || run.can("known-before"))
        {
            let codes = all_codes(told);
            looked.at(differ(&format!("{}: told before", at(run, call)), expected, &codes));
        }
        let text = feedback.text.as_deref().unwrap_or_default();
        let label = label_start(text);
        for finding in told {
            let Some(tag) = tag(finding) else { continue };
            let prose = Tag::all_in(text).filter(|(_, found)| *found == tag).all(|(start, _)| start > label);
            let fresh = run.history.newest_between(&finding.path, call.asked, answered).contains(&tag.hash);
            looked.holds(prose || fresh, || format!("{}: {tag} stands in the text before any label", at(run, call)));
        }
    }
    let expected = "findings of an earlier text are told apart, under a label";
    sheet.check(Law::Freshness, "freshness/known-before-is-labelled", expected, looked);
}

//! Completeness: no error of the newest text is lost. It is shown, or it is counted.

use std::collections::BTreeSet;

use feedback::{Conclusion, Severity};
use scenario::scenario::Expect;

use super::seen::{ServerResult, at, codes, current_text, more, results, slack, tag};
use super::{Looked, Sheet, differ};
use crate::history::Tag;
use crate::protocol::Feedback;
use crate::results::Law;
use crate::runner::{Call, Run};

pub(super) fn judge(sheet: &mut Sheet<'_, '_>) {
    shown_or_counted(sheet);
    expected_findings(sheet);
    errors_first(sheet);
}

/// Every tagged error that a server had reported for the newest text is shown or counted in "N more".
fn shown_or_counted(sheet: &mut Sheet<'_, '_>) {
    let run = sheet.run;
    let mut looked = Looked::default();
    for call in &run.calls {
        let (Some((answered, feedback)), Some(path)) = (call.feedback(), &call.path) else { continue };
        if !matches!(feedback.conclusion, None | Some(Conclusion::Errors | Conclusion::Clean)) {
            continue;
        }
        let newest = run.history.newest_between(path, call.asked, answered);
        let all = results(run, path);
        let channels: BTreeSet<(usize, bool)> = all.iter().map(|result| (result.instance, result.pushed)).collect();
        for channel in channels {
            let mine: Vec<_> = all
                .iter()
                .filter(|result| (result.instance, result.pushed) == channel && result.at <= answered)
                .filter(|result| result.about.is_some_and(|about| newest.contains(&about)))
                .collect();
            if !mine.is_empty() {
                let best = owed(&mine, answered, run)
                    .iter()
                    .map(|result| lost(&result.error_tags(), feedback))
                    .min_by_key(Vec::len);
                looked.at(best.filter(|lost| !lost.is_empty()).map(|lost| {
                    let tags: Vec<String> = lost.iter().take(5).map(Tag::to_string).collect();
                    format!(
                        "{}: {} errors are neither shown nor counted: {}",
                        at(run, call),
                        lost.len(),
                        tags.join(", ")
                    )
                }));
            }
        }
        looked.at(uncounted(feedback).map(|wrong| format!("{}: {wrong}", at(run, call))));
    }
    let expected = "every error of the newest text is shown, or counted in \"N more\"";
    sheet.check(Law::Completeness, "completeness/errors-shown-or-counted", expected, looked);
}

/// Results that the answer may rest on: the last that had surely arrived, and any after it; any at all
/// where none had surely arrived.
fn owed<'a, 'b>(mine: &'a [&'b ServerResult<'b>], answered: wire::Time, run: &Run<'_>) -> &'a [&'b ServerResult<'b>] {
    let arrived = mine.iter().rposition(|result| result.at.after(slack(run.world)) <= answered);
    &mine[arrived.unwrap_or(0)..]
}

/// Errors that are neither shown nor counted.
fn lost(errors: &[Tag], feedback: &Feedback) -> Vec<Tag> {
    let findings = feedback.findings.as_deref().unwrap_or_default();
    let mut shown: BTreeSet<Tag> = Tag::all_in(current_text(feedback)).map(|(_, tag)| tag).collect();
    if feedback.text.is_none() {
        shown.extend(findings.iter().filter_map(tag));
    }
    let hidden: Vec<Tag> = errors.iter().filter(|tag| !shown.contains(tag)).copied().collect();
    let counted = more(feedback).unwrap_or(0);
    if hidden.len() as u64 <= counted { Vec::new() } else { hidden }
}

/// The number of errors that is told is the number shown and the number that is counted.
fn uncounted(feedback: &Feedback) -> Option<String> {
    let (Some(findings), Some(errors)) = (&feedback.findings, feedback.errors) else { return None };
    let listed = findings.iter().filter(|finding| finding.severity == Severity::Error).count() as u64;
    (listed > errors).then(|| format!("{listed} errors are listed, but {errors} are told"))
}

fn expected_findings(sheet: &mut Sheet<'_, '_>) {
    let run = sheet.run;
    let mut looked = Looked::default();
    for (call, expect) in run.expected().filter(|(call, _)| call.op == "edit") {
        match call.feedback() {
            Some((_, feedback)) => findings_as_expected(run, call, expect, feedback, &mut looked),
            None if expect.codes.is_some() => looked.at(Some(format!("{}: no answer", at(run, call)))),
            None => {}
        }
    }
    let expected = "exactly the findings that the scenario calls for";
    sheet.check(Law::Completeness, "completeness/expected-findings", expected, looked);
}

fn findings_as_expected(run: &Run<'_>, call: &Call, expect: &Expect, feedback: &Feedback, looked: &mut Looked) {
    let at = at(run, call);
    let findings = feedback.findings.as_deref().unwrap_or_default();
    if let Some(expected) = &expect.codes {
        looked.at(differ(&format!("{at}: errors"), expected, &codes(findings, true)));
    }
    if let Some(expected) = &expect.warnings {
        looked.at(differ(&format!("{at}: milder findings"), expected, &codes(findings, false)));
    }
    if let Some(expected) = expect.more {
        let seen = more(feedback).unwrap_or(0);
        looked.holds(seen == expected, || format!("{at}: {seen} more, expected {expected} more"));
    }
    let text = feedback.text.as_deref().unwrap_or_default();
    for words in &expect.text_has {
        looked.holds(text.contains(words), || format!("{at}: the text does not say {words:?}"));
    }
    for words in &expect.text_lacks {
        looked.holds(!text.contains(words), || format!("{at}: the text says {words:?}"));
    }
}

/// Errors come before milder findings, and each severity is that of the text.
fn errors_first(sheet: &mut Sheet<'_, '_>) {
    let run = sheet.run;
    let mut looked = Looked::default();
    for call in &run.calls {
        let Some(findings) = call.feedback().and_then(|(_, feedback)| feedback.findings.as_ref()) else { continue };
        if findings.is_empty() {
            continue;
        }
        looked.holds(findings.is_sorted_by_key(|finding| finding.severity), || {
            format!("{}: an error stands behind a milder finding", at(run, call))
        });
        for finding in findings {
            let Some(truth) = tag(finding).and_then(|tag| run.history.finding(tag)) else { continue };
            looked.holds(finding.severity as u8 + 1 == truth.severity, || {
                format!("{}: {} is told as {:?}", at(run, call), truth.tag, finding.severity)
            });
        }
    }
    let expected = "errors come first, and severities are those of the text";
    sheet.check(Law::Completeness, "completeness/errors-first", expected, looked);
}

//! Pull: what a report may be, and that it is for the text of the moment (LSP 3.17
//! §textDocument_diagnostic).

use serde_json::Value;

use super::convergence::{diagnoses, shows_the_error};
use super::findings::{difference, same};
use super::observed::{Fault, Observed};
use super::probe::Probe;
use super::settle::{Diagnosis, Pulled};
use super::verdict::{Seen, Verdicts, passive};
use crate::results::Law;

/// Pulls at once after changes, with and without result ids.
pub(crate) async fn judge(mut probe: Probe<'_>, verdicts: &mut Verdicts) -> Observed {
    let subject = probe.subject;
    let first = diagnoses(subject, &mut probe).await;
    options(&probe, verdicts);
    if probe.announced.pull.is_none() {
        for (kind, expected) in [("synced-text", SYNCED), ("unchanged-is-true", UNCHANGED), ("equals-push", BOTH)] {
            verdicts.must(Law::Pull, kind, expected, Seen::Unclear("it announces no pull diagnostics".to_owned()));
        }
        return probe.close().await;
    }
    equals_push(&probe, verdicts, &first);
    synced_text(&mut probe, verdicts).await;
    unchanged(&mut probe, verdicts).await;
    probe.close().await
}

const SYNCED: &str =
    "LSP 3.17 #textDocument_diagnostic: the report is for the text that is synced when it is asked for";
const UNCHANGED: &str = "LSP 3.17 #documentDiagnosticReportKind: unchanged says that the last report still holds, \
                         positions included";
const BOTH: &str = "what is pushed and what is pulled about one text is the same, where both say something";

fn options(probe: &Probe<'_>, verdicts: &mut Verdicts) {
    let provider = &probe.announced.initialize["capabilities"]["diagnosticProvider"];
    let right = ["interFileDependencies", "workspaceDiagnostics"].iter().all(|name| provider[name].is_boolean());
    let seen = match provider {
        Value::Null => Seen::Unclear("it announces no pull diagnostics at start".to_owned()),
        provider => Seen::of(right, provider.to_string(), || vec![probe.evidence(&provider.to_string())]),
    };
    verdicts.must(
        Law::Pull,
        "options",
        "LSP 3.17 #diagnosticOptions: `interFileDependencies` and `workspaceDiagnostics` are booleans",
        seen,
    );
}

fn equals_push(probe: &Probe<'_>, verdicts: &mut Verdicts, diagnosis: &Diagnosis) {
    let seen = match (&diagnosis.push, &diagnosis.pull) {
        (Some(push), Some(pull)) if !push.is_empty() => Seen::of(
            same(push, pull),
            if same(push, pull) { "equal".to_owned() } else { difference(pull, push, 4).join("; ") },
            || vec![probe.evidence("`+` is only pulled, `-` only pushed")],
        ),
        _ => Seen::Unclear("only one of the two channels says something".to_owned()),
    };
    // The specification is silent on servers that use both channels, so this never fails anybody.
    verdicts.should(Law::Pull, "equals-push", BOTH, seen);
}

async fn synced_text(probe: &mut Probe<'_>, verdicts: &mut Verdicts) {
    let fixture = &probe.subject.fixture;
    let mark = probe.log.mark();
    let mut wrong = Vec::new();
    for k in 2..6 {
        let broken = k % 2 == 1;
        probe.change_to(&if broken { fixture.broken(k) } else { fixture.fixed(k) }, None).await;
        let Pulled::Full { findings, .. } = probe.pull(None).await else { continue };
        let diagnosis = Diagnosis { pull: Some(findings), ..Diagnosis::default() };
        let right = if broken { shows_the_error(fixture, &diagnosis, k) } else { diagnosis.errors().is_empty() };
        if !right {
            wrong.push(format!("{} text: {}", if broken { "broken" } else { "fixed" }, diagnosis.in_words()));
        }
    }
    let observed =
        if wrong.is_empty() { "four pulls right behind a change, all right".to_owned() } else { wrong.join("; ") };
    verdicts.should(
        Law::Pull,
        "synced-text",
        SYNCED,
        Seen::of(wrong.is_empty(), observed, || probe.log.since(mark, 16)),
    );
}

async fn unchanged(probe: &mut Probe<'_>, verdicts: &mut Verdicts) {
    let fixture = &probe.subject.fixture;
    let mark = probe.log.mark();
    probe.change_to(&fixture.broken(7), None).await;
    probe.settle().await;
    let seen = match probe.pull(None).await {
        Pulled::Full { result_id: Some(id), .. } => {
            // The error moves by a line and stays otherwise the same.
            probe.change_to(&fixture.broken(8), None).await;
            match probe.pull(Some(&id)).await {
                Pulled::Unchanged if fixture.broken_line(0).is_some() => Seen::Broken(
                    "unchanged, though the error has moved by a line".to_owned(),
                    probe.log.since(mark, 12),
                ),
                Pulled::Unchanged => Seen::Unclear("in given texts the error does not move".to_owned()),
                Pulled::Full { .. } => Seen::Held("a full report after the error had moved".to_owned()),
                Pulled::Nothing(what) => Seen::Unclear(what),
            }
        }
        Pulled::Full { result_id: None, .. } => Seen::Unclear("its reports have no result id".to_owned()),
        Pulled::Unchanged => Seen::Unclear("unchanged without a result id; see pull/full-without-result-id".to_owned()),
        Pulled::Nothing(what) => Seen::Unclear(what),
    };
    verdicts.must(Law::Pull, "unchanged-is-true", UNCHANGED, seen);
}

/// Judges what every session saw of this law.
pub(crate) fn judge_observed(verdicts: &mut Verdicts, observed: &Observed) {
    verdicts.must(
        Law::Pull,
        "report-shape",
        "LSP 3.17 #documentDiagnosticReport: `kind` full with `items`, or unchanged with `resultId`",
        passive(observed, &[Fault::PullShape], observed.pulls, "pulls"),
    );
    verdicts.must(
        Law::Pull,
        "full-without-result-id",
        "LSP 3.17 #unchangedDocumentDiagnosticReport: without a previousResultId the report is full",
        passive(observed, &[Fault::BaselessUnchanged], observed.pulls, "pulls"),
    );
}

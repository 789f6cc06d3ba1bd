//! Convergence: after the last change the last word is right, and stays (LSP 3.17
//! §textDocument_publishDiagnostics, §textDocument_diagnostic). It runs first among the laws on
//! diagnostics: the server's pace is learnt here.

use super::findings::{Finding, difference, same};
use super::observed::Observed;
use super::probe::Probe;
use super::settle::Diagnosis;
use super::subject::Subject;
use super::verdict::{Seen, Verdicts};
use crate::results::Law;

/// Changes in a burst.
const BURST: usize = 12;

/// Breaks and fixes the file, slowly and in bursts; whether the server said anything at all about the
/// broken text.
pub(crate) async fn judge(mut probe: Probe<'_>, verdicts: &mut Verdicts) -> (bool, Observed) {
    let fixture = &probe.subject.fixture;
    let mark = probe.log.mark();
    probe.open(&fixture.broken(1), 1).await;
    let opened = probe.settle_until(probe.subject.first_max, |diagnosis| shows_the_error(fixture, diagnosis, 1)).await;
    verdicts.must(
        Law::Convergence,
        "broken-is-error",
        &format!(
            "LSP 3.17 #textDocument_publishDiagnostics: an opened text with an error yields {}",
            wanted(fixture, 1)
        ),
        Seen::of(shows_the_error(fixture, &opened, 1), opened.in_words(), || probe.log.since(mark, 12)),
    );
    if !opened.is_something() {
        return (false, probe.close().await);
    }
    let mark = probe.log.mark();
    probe.change_to(&fixture.fixed(2), None).await;
    let fixed = probe.settle().await;
    verdicts.must(
        Law::Convergence,
        "fixed-is-clean",
        "LSP 3.17 #textDocument_publishDiagnostics: a text without the error yields no error",
        Seen::of(!fixed.gone && fixed.errors().is_empty(), fixed.in_words(), || probe.log.since(mark, 12)),
    );
    last_word(&mut probe, verdicts, "last-word-broken", true).await;
    let diagnosis = last_word(&mut probe, verdicts, "last-word-fixed", false).await;
    stays(&mut probe, verdicts, &diagnosis).await;
    (true, probe.close().await)
}

/// A burst without pause, alternating, that ends broken or fixed.
async fn last_word(probe: &mut Probe<'_>, verdicts: &mut Verdicts, kind: &str, broken: bool) -> Diagnosis {
    let fixture = &probe.subject.fixture;
    let mark = probe.log.mark();
    for step in 0..BURST {
        let last_is_even = BURST % 2 == 1;
        let text = if (step % 2 == 0) == (broken == last_is_even) { fixture.broken(step) } else { fixture.fixed(step) };
        probe.change_to(&text, None).await;
    }
    let diagnosis = probe.settle().await;
    let last = BURST - 1;
    let held = !diagnosis.gone
        && if broken {
            shows_the_error(fixture, &diagnosis, last)
                && diagnosis.errors().iter().all(|error| is_at(fixture, error, last))
        } else {
            diagnosis.errors().is_empty()
        };
    let expected = if broken {
        format!("after {BURST} changes without pause the last word shows {} and no other error", wanted(fixture, last))
    } else {
        format!("after {BURST} changes without pause the last word on a fixed text shows no error")
    };
    verdicts.must(
        Law::Convergence,
        kind,
        &format!("LSP 3.17 #textDocument_didChange, #textDocument_publishDiagnostics: {expected}"),
        Seen::of(held, diagnosis.in_words(), || probe.log.since(mark, 16)),
    );
    diagnosis
}

async fn stays(probe: &mut Probe<'_>, verdicts: &mut Verdicts, before: &Diagnosis) {
    let mark = probe.log.mark();
    // Asked twice as long as it was trusted for.
    let quiet = probe.rhythm().get().after_a_word(false);
    probe.listen(quiet * 2).await;
    let after = probe.settle().await;
    let held = same(&before.findings(), &after.findings());
    let observed =
        if held { "unchanged".to_owned() } else { difference(&after.findings(), &before.findings(), 4).join("; ") };
    verdicts.should(
        Law::Convergence,
        "stays",
        "the last word on a text that does not change stays the last word",
        Seen::of(held, observed, || probe.log.since(mark, 12)),
    );
}

/// Whether the error of `broken(k)` is there, as far as it is known where and what it is.
pub(crate) fn shows_the_error(fixture: &crate::fixture::Fixture, diagnosis: &Diagnosis, k: usize) -> bool {
    let words = &fixture.expects.words;
    diagnosis.errors().iter().any(|error| {
        is_at(fixture, error, k)
            && (words.is_empty() || words.iter().any(|word| error.message.contains(word) || error.code.contains(word)))
    })
}

fn is_at(fixture: &crate::fixture::Fixture, error: &Finding, k: usize) -> bool {
    fixture.broken_line(k).is_none_or(|line| error.range.start.line as usize == line)
}

fn wanted(fixture: &crate::fixture::Fixture, k: usize) -> String {
    fixture.broken_line(k).map_or_else(|| "an error".to_owned(), |line| format!("an error on line {line} (from 0)"))
}

/// Whether the server diagnoses at all: what every law on diagnostics needs.
pub(crate) async fn diagnoses(subject: &Subject, probe: &mut Probe<'_>) -> Diagnosis {
    let fixture = &subject.fixture;
    probe.open(&fixture.broken(1), 1).await;
    probe.settle_until(subject.first_max, |diagnosis| !diagnosis.errors().is_empty()).await
}

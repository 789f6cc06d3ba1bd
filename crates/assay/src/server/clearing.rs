//! Clearing: findings go when their cause goes, by a fix or by closing (LSP 3.17
//! §textDocument_publishDiagnostics, §textDocument_didClose).

use super::convergence::diagnoses;
use super::observed::Observed;
use super::probe::Probe;
use super::verdict::{Seen, Verdicts};
use crate::results::Law;

/// Fixes an error, closes a file with one, and opens it again without.
pub(crate) async fn judge(mut probe: Probe<'_>, verdicts: &mut Verdicts) -> Observed {
    let subject = probe.subject;
    let fixture = &subject.fixture;
    let before = diagnoses(subject, &mut probe).await;
    if before.errors().is_empty() {
        for kind in ["fix-clears", "close", "reopen"] {
            let seen = Seen::Unclear("it reports no error that could be cleared".to_owned());
            verdicts.must(Law::Clearing, kind, "findings go when their cause goes", seen);
        }
        return probe.close().await;
    }
    let mark = probe.log.mark();
    probe.change_to(&fixture.fixed(1), None).await;
    let fixed = probe.settle().await;
    verdicts.must(
        Law::Clearing,
        "fix-clears",
        "LSP 3.17 #textDocument_publishDiagnostics: if the new set is empty, the empty set is reported",
        Seen::of(!fixed.gone && fixed.errors().is_empty(), fixed.in_words(), || probe.log.since(mark, 12)),
    );
    probe.change_to(&fixture.broken(2), None).await;
    probe.settle().await;
    close(&mut probe, verdicts).await;
    let mark = probe.log.mark();
    probe.open(&fixture.fixed(3), 1).await;
    let reopened = probe.settle().await;
    verdicts.must(
        Law::Clearing,
        "reopen",
        "LSP 3.17 #textDocument_didOpen: a file that is opened again counts by its new text alone",
        Seen::of(!reopened.gone && reopened.errors().is_empty(), reopened.in_words(), || probe.log.since(mark, 12)),
    );
    probe.close().await
}

async fn close(probe: &mut Probe<'_>, verdicts: &mut Verdicts) {
    let mark = probe.log.mark();
    probe.close_document().await;
    let rhythm = probe.rhythm().get();
    probe.listen(rhythm.after_a_text(false).max(rhythm.after_a_word(false))).await;
    let uri = probe.subject.uri();
    let last = probe.document(&uri).and_then(|document| document.pushes.back());
    let seen = match last {
        None => Seen::Unclear("it never pushed".to_owned()),
        Some(push) => {
            let errors = push.findings.iter().filter(|finding| finding.is_error()).count();
            Seen::of(errors == 0, format!("the last push after the close has {errors} errors"), || {
                probe.log.since(mark, 8)
            })
        }
    };
    verdicts.should(
        Law::Clearing,
        "close",
        "LSP 3.17 #textDocument_didClose: after the close the text on disk counts, and it has no error",
        seen,
    );
}

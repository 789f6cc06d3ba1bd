//! Messages: JSON-RPC 2.0 envelopes, ids and error codes, and a standard output that holds nothing else
//! (LSP 3.17 §baseProtocol; JSON-RPC 2.0 §4–§5).

use std::time::Duration;

use wire::Id;

use super::observed::{Fault, Observed};
use super::probe::{Mark, Outcome, Probe};
use super::verdict::{Seen, Verdicts, passive};
use crate::results::Law;

/// How long an answer to a request that nobody knows may take.
const REFUSAL_MAX: Duration = Duration::from_secs(5);
/// How long an answer that must not come is waited for, behind a request that was answered.
const STRAY_MAX: Duration = Duration::from_millis(200);

/// Runs one session of requests and notifications that no server knows.
pub(crate) async fn judge(mut probe: Probe<'_>, verdicts: &mut Verdicts) -> Observed {
    ids(&mut probe, verdicts).await;
    unknown_requests(&mut probe, verdicts).await;
    notifications(&mut probe, verdicts).await;
    probe.close().await
}

fn refusal_max(probe: &Probe<'_>) -> Duration {
    REFUSAL_MAX.min(probe.subject.answer_max())
}

async fn ids(probe: &mut Probe<'_>, verdicts: &mut Verdicts) {
    let mark = probe.log.mark();
    let ids = [Id::Number(7007), Id::String("7007".to_owned()), Id::String("a-b".to_owned())];
    let mut missed = Vec::new();
    for id in ids {
        let outcome = probe.request_as(id.clone(), "assay/unknown", None, refusal_max(probe)).await;
        if matches!(outcome, Outcome::Silent(_) | Outcome::Gone) {
            missed.push(format!("{id}: {outcome}"));
        }
    }
    let observed = if missed.is_empty() { "three of three echoed".to_owned() } else { missed.join("; ") };
    verdicts.must(
        Law::Messages,
        "id-echo",
        "JSON-RPC 2.0 §5: a response carries the request's id, same value and type: 7007, \"7007\", \"a-b\"",
        Seen::of(missed.is_empty(), observed, || probe.log.since(mark, 12)),
    );
}

async fn unknown_requests(probe: &mut Probe<'_>, verdicts: &mut Verdicts) {
    let mark = probe.log.mark();
    let outcome = probe.request_as(Id::String("unknown".to_owned()), "assay/unknown", None, refusal_max(probe)).await;
    verdicts.must(
        Law::Messages,
        "unknown-request-refused",
        "LSP 3.17 #requestMessage: every request is answered, one for an unknown method with an error",
        Seen::of(matches!(outcome, Outcome::Error { .. }), outcome.to_string(), || probe.log.since(mark, 8)),
    );
    verdicts.should(
        Law::Messages,
        "unknown-request-code",
        "JSON-RPC 2.0 §5.1: the error for an unknown method is -32601",
        method_not_found(probe, &outcome, mark),
    );
    let mark = probe.log.mark();
    let outcome = probe.request_as(Id::String("dollar".to_owned()), "$/assay/unknown", None, refusal_max(probe)).await;
    verdicts.must(
        Law::Messages,
        "unknown-dollar-request",
        "LSP 3.17 #dollarRequests: an unknown `$/` request is answered with error -32601",
        method_not_found(probe, &outcome, mark),
    );
}

fn method_not_found(probe: &Probe<'_>, outcome: &Outcome, mark: Mark) -> Seen {
    let held = matches!(outcome, Outcome::Error { code: -32601, .. });
    Seen::of(held, outcome.to_string(), || probe.log.since(mark, 8))
}

async fn notifications(probe: &mut Probe<'_>, verdicts: &mut Verdicts) {
    for (kind, method, expected) in [
        (
            "unknown-notification",
            "assay/unknownNotification",
            "LSP 3.17 #notificationMessage: a notification is never answered, and an unknown one ends nothing",
        ),
        (
            "unknown-dollar-notification",
            "$/assay/unknownNotification",
            "LSP 3.17 #dollarRequests: an unknown `$/` notification is ignored",
        ),
    ] {
        let mark = probe.log.mark();
        let stray_before = stray_answers(&probe.seen);
        probe.notify(method, Some(serde_json::json!({"value": 1}))).await;
        let fence =
            probe.request_as(Id::String(format!("behind-{kind}")), "assay/unknown", None, refusal_max(probe)).await;
        probe.listen(STRAY_MAX).await;
        let stray = stray_answers(&probe.seen) - stray_before;
        let alive = !matches!(fence, Outcome::Gone | Outcome::Silent(_));
        let observed = match (stray, alive) {
            (0, true) => "no answer, and the next request is answered".to_owned(),
            (0, false) => format!("the next request: {fence}"),
            (stray, _) => format!("{stray} answers to a notification"),
        };
        verdicts.must(
            Law::Messages,
            kind,
            expected,
            Seen::of(stray == 0 && alive, observed, || probe.log.since(mark, 8)),
        );
    }
}

fn stray_answers(observed: &Observed) -> u64 {
    observed.tally(Fault::UnaskedAnswer).map_or(0, |tally| tally.count)
}

/// Judges what every session saw of this law.
pub(crate) fn judge_observed(verdicts: &mut Verdicts, observed: &Observed) {
    let mut must = |kind, expected, fault| {
        verdicts.must(Law::Messages, kind, expected, passive(observed, &[fault], observed.messages, "messages"));
    };
    must(
        "frames",
        "LSP 3.17 #headerPart: standard output holds frames and nothing else, each as long as its header says",
        Fault::Frame,
    );
    must(
        "envelopes",
        "JSON-RPC 2.0 §4, §5 and LSP 3.17 #abstractMessage: every message is well formed",
        Fault::Envelope,
    );
    must(
        "answers-to-open-requests",
        "JSON-RPC 2.0 §5: every response belongs to one open request, and each is answered once",
        Fault::UnaskedAnswer,
    );
}

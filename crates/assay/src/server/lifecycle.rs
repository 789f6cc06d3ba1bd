//! Lifecycle: start, shutdown, exit, and what may be said before and after (LSP 3.17 §lifeCycleMessages).

use std::time::Duration;

use feedback::runtime::process::SpawnError;
use serde_json::{Value, json};
use tokio::time::Instant;
use wire::Id;

use super::observed::{Fault, Observed};
use super::probe::{Outcome, Probe, Profile};
use super::subject::{EXIT_MAX, Subject};
use super::verdict::{Seen, Verdicts, passive};
use crate::results::Law;

/// How long a request that must be refused may stay without answer.
const REFUSAL_MAX: Duration = Duration::from_secs(5);

/// Runs the four sessions of this law at once. `false` if the server does not initialize: then nothing
/// else can be checked.
///
/// # Errors
/// Why the server could not be started.
pub(crate) async fn judge(
    subject: &Subject,
    verdicts: &mut Verdicts,
    observed: &mut Observed,
) -> Result<bool, SpawnError> {
    let (orderly, abrupt, early, deserted) = tokio::join!(
        orderly(subject),
        exit_without_shutdown(subject),
        exit_before_initialize(subject),
        input_closed(subject)
    );
    let orderly = orderly?;
    observed.merge(orderly.observed);
    let must = |verdicts: &mut Verdicts, kind, expected, seen| verdicts.must(Law::Lifecycle, kind, expected, seen);
    let should = |verdicts: &mut Verdicts, kind, expected, seen| verdicts.should(Law::Lifecycle, kind, expected, seen);
    should(
        verdicts,
        "request-before-initialize",
        "LSP 3.17 #initialize: a request before initialize is answered with error -32002",
        orderly.early_request,
    );
    must(
        verdicts,
        "initialize",
        "LSP 3.17 #initialize: it is answered with an object that has `capabilities`",
        orderly.initialize,
    );
    must(verdicts, "shutdown", "LSP 3.17 #shutdown: it is answered with result null", orderly.shutdown);
    should(
        verdicts,
        "request-after-shutdown",
        "LSP 3.17 #shutdown: a request after shutdown is answered with error -32600",
        orderly.late_request,
    );
    should(
        verdicts,
        "exit-after-shutdown",
        "LSP 3.17 #exit: exit after shutdown ends the process with code 0",
        orderly.exit,
    );
    should(
        verdicts,
        "exit-without-shutdown",
        "LSP 3.17 #exit: exit without shutdown ends the process with code 1",
        abrupt?,
    );
    should(verdicts, "exit-before-initialize", "LSP 3.17 #initialize: exit is obeyed even before initialize", early?);
    must(
        verdicts,
        "end-of-input",
        "the specification is silent; a process whose input is closed ends soon, or it is left behind",
        deserted?,
    );
    Ok(orderly.initialized)
}

/// Judges what every session saw of this law.
pub(crate) fn judge_observed(verdicts: &mut Verdicts, observed: &Observed) {
    verdicts.must(
        Law::Lifecycle,
        "nothing-before-initialize-result",
        "LSP 3.17 #initialize: until it is answered the server sends nothing but window/showMessage, \
         window/logMessage, telemetry/event, window/showMessageRequest and progress on its token",
        passive(observed, &[Fault::EarlyMessage], observed.sessions, "sessions"),
    );
}

struct Orderly {
    initialized: bool,
    early_request: Seen,
    initialize: Seen,
    shutdown: Seen,
    late_request: Seen,
    exit: Seen,
    observed: Observed,
}

async fn orderly(subject: &Subject) -> Result<Orderly, SpawnError> {
    let hover = json!({"textDocument": {"uri": subject.uri()}, "position": {"line": 0, "character": 0}});
    let mut probe = Probe::start(subject, "lifecycle", Profile::default())?;
    let mut mark = probe.log.mark();
    // A server works in order: what it has not answered when it answers initialize, it never will.
    let early = Id::Number(-1);
    probe.ask(&early, "textDocument/hover", Some(hover.clone())).await;
    let mut initialize = probe.initialize().await;
    let outcome = probe.outcome(&early, Duration::from_millis(100)).await;
    let mut early_request = match outcome {
        Outcome::Silent(_) => Seen::Broken("it was never answered".to_owned(), probe.log.since(mark, 8)),
        _ => refused(&probe, &outcome, -32002, mark),
    };
    let mut observed = Observed::default();
    if matches!(initialize, Outcome::Gone | Outcome::Silent(_)) {
        let what = format!("{outcome}; initialize after it: {initialize}");
        early_request = Seen::Broken(what, probe.log.since(mark, 8));
        let before = std::mem::replace(&mut probe, Probe::start(subject, "lifecycle", Profile::default())?);
        observed.merge(before.close().await);
        mark = probe.log.mark();
        initialize = probe.initialize().await;
    }
    let initialized = matches!(&initialize, Outcome::Result(result) if result["capabilities"].is_object());
    let initialize = Seen::of(initialized, answered_in_words(&initialize), || {
        let mut lines = probe.log.since(mark, 8);
        lines.push(probe.evidence(&format!("standard error: {}", probe.stderr_tail())));
        lines
    });
    if !initialized {
        let unclear = || Seen::Unclear("it does not initialize".to_owned());
        observed.merge(probe.close().await);
        let (shutdown, late_request, exit) = (unclear(), unclear(), unclear());
        return Ok(Orderly { initialized, early_request, initialize, shutdown, late_request, exit, observed });
    }
    let mark = probe.log.mark();
    let outcome = probe.request("shutdown", None).await;
    let shutdown =
        Seen::of(matches!(outcome, Outcome::Result(Value::Null)), outcome.to_string(), || probe.log.since(mark, 8));
    let mark = probe.log.mark();
    let late_request = if probe.is_gone() {
        Seen::Broken("the process ended without waiting for exit".to_owned(), probe.log.since(mark, 8))
    } else {
        let outcome = probe.request_as(Id::Number(-2), "textDocument/hover", Some(hover), REFUSAL_MAX).await;
        refused(&probe, &outcome, -32600, mark)
    };
    probe.notify("exit", None).await;
    let exit = exit_with(&mut probe, 0).await;
    observed.merge(probe.close().await);
    Ok(Orderly { initialized, early_request, initialize, shutdown, late_request, exit, observed })
}

fn answered_in_words(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Result(result) if result["capabilities"].is_object() => {
            let info = &result["serverInfo"];
            match (info["name"].as_str(), info["version"].as_str()) {
                (Some(name), Some(version)) => format!("answered by {name} {version}"),
                (Some(name), None) => format!("answered by {name}"),
                _ => "answered; the server does not name itself".to_owned(),
            }
        }
        other => other.to_string(),
    }
}

fn refused(probe: &Probe<'_>, outcome: &Outcome, wanted: i64, mark: super::probe::Mark) -> Seen {
    let held = matches!(outcome, Outcome::Error { code, .. } if *code == wanted);
    Seen::of(held, outcome.to_string(), || probe.log.since(mark, 8))
}

async fn exit_without_shutdown(subject: &Subject) -> Result<Seen, SpawnError> {
    let mut probe = Probe::start(subject, "exit without shutdown", Profile::default())?;
    let Outcome::Result(_) = probe.initialize().await else {
        return Ok(Seen::Unclear("it does not initialize".to_owned()));
    };
    probe.notify("exit", None).await;
    Ok(exit_with(&mut probe, 1).await)
}

async fn exit_before_initialize(subject: &Subject) -> Result<Seen, SpawnError> {
    let mut probe = Probe::start(subject, "exit first", Profile::default())?;
    probe.notify("exit", None).await;
    let started = Instant::now();
    Ok(match probe.exited(EXIT_MAX).await {
        Some(status) => Seen::Held(format!("gone after {} ms, {}", started.elapsed().as_millis(), in_words(status))),
        None => still_running(&probe),
    })
}

async fn input_closed(subject: &Subject) -> Result<Seen, SpawnError> {
    let mut probe = Probe::start(subject, "input closed", Profile::default())?;
    let Outcome::Result(_) = probe.initialize().await else {
        return Ok(Seen::Unclear("it does not initialize".to_owned()));
    };
    probe.close_input();
    let started = Instant::now();
    Ok(match probe.exited(EXIT_MAX).await {
        Some(status) => Seen::Held(format!("gone after {} ms, {}", started.elapsed().as_millis(), in_words(status))),
        // Silent points inform and never fail anybody.
        None => Seen::Unclear(format!("still running {} s after its input was closed", EXIT_MAX.as_secs())),
    })
}

async fn exit_with(probe: &mut Probe<'_>, code: i32) -> Seen {
    let mark = probe.log.mark();
    let started = Instant::now();
    match probe.exited(EXIT_MAX).await {
        Some(status) => {
            let observed = format!("{} after {} ms", in_words(status), started.elapsed().as_millis());
            Seen::of(status.code == Some(code), observed, || {
                let mut lines = probe.log.since(mark, 4);
                lines.push(probe.evidence(&in_words(status)));
                lines
            })
        }
        None => still_running(probe),
    }
}

fn still_running(probe: &Probe<'_>) -> Seen {
    let what = format!("still running {} s after exit", EXIT_MAX.as_secs());
    let line = probe.evidence(&what);
    Seen::Broken(what, vec![line])
}

fn in_words(status: feedback::ExitStatus) -> String {
    match (status.code, status.signal) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}

//! The measuring itself: fresh processes for the cold times, then one process and many edits.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use feedback::runtime::Feedback;
use feedback::{Conclusion, Config, KnownBy, Policy, Reason, Record, Report, Request, Severity};
use serde_json::Value;
use wire::trace::Direction;

use super::{Options, Phase, Place, Profile, memory};
use crate::world::HarnessError;

/// Wrong results that are told in words.
const WRONG_TOLD_MAX: usize = 5;

/// A sleep may end later by this much (tokio's timer: 1–2 ms); the rest of a wait is spent yielding.
const SLEEP_OVERSHOOT: Duration = Duration::from_millis(3);

/// How far it has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// So many starts of so many are done.
    Start(u32, u32),
    /// So many edits of so many are done.
    Edit(u32, u32),
}

/// Measures a server. Nothing of it runs afterwards; dropping the future ends it too. `place` makes the
/// workspace of each process: a new one for a cold start that nothing was prepared for.
///
/// # Errors
/// When the harness can't do its work; what a server does wrong is in the profile.
pub async fn profile(
    options: &Options,
    place: impl Fn() -> Result<Place, HarnessError>,
    mut progress: impl FnMut(Step),
) -> Result<Profile, HarnessError> {
    let mut profile = Profile {
        subject: options.subject.clone(),
        server: None,
        language_id: options.fixture.language_id.clone(),
        interval_us: options.interval.map(micros),
        budget_us: micros(options.budget),
        initialize: Phase::default(),
        first: Phase::default(),
        broken: Phase::default(),
        fixed: Phase::default(),
        edit: Phase::default(),
        restarts: 0,
        memory_peak_bytes: None,
        wrong: Vec::new(),
        unconcluded: None,
    };
    for start in 0..options.starts {
        cold(options, &place()?, start, &mut profile).await?;
        progress(Step::Start(start + 1, options.starts));
    }
    if profile.first.count() > 0 || options.starts == 0 {
        warm(options, &place()?, &mut profile, &mut progress).await?;
    }
    Ok(profile)
}

/// One fresh process: `initialize`, then the broken text, whose result cannot be right by silence.
async fn cold(options: &Options, place: &Place, start: u32, profile: &mut Profile) -> Result<(), HarnessError> {
    place.edit(&options.fixture.broken(start as usize))?;
    let (info, told) = mpsc::sync_channel(1);
    let feedback = Feedback::start_recorded(config(options, place), move |record| {
        if let Some(name) = server_info(&record) {
            // The first process that tells is enough.
            let _ = info.try_send(name);
        }
    });
    let report = check(&feedback, place).await?;
    let timings = report.timings;
    if let (Some(spawned), Some(initialized)) = (timings.spawned, timings.initialized) {
        profile.initialize.right(initialized.since(spawned), 0);
    } else {
        profile.initialize.inconclusive += 1;
    }
    let took = timings.synced.map_or(report.waited, |synced| timings.answered.since(synced));
    judge(&mut profile.first, &report, true, took, &mut profile.wrong);
    profile.unconcluded = profile.unconcluded.take().or_else(|| unconcluded(&report));
    finish(feedback, profile).await;
    profile.server = profile.server.take().or_else(|| told.try_recv().ok());
    Ok(())
}

/// One process, warmed up by one text that is not measured, and then the edits: fixed and broken in turn.
async fn warm(
    options: &Options,
    place: &Place,
    profile: &mut Profile,
    progress: &mut impl FnMut(Step),
) -> Result<(), HarnessError> {
    let first = options.starts as usize;
    place.edit(&options.fixture.broken(first))?;
    let feedback = Feedback::start(config(options, place));
    check(&feedback, place).await?;
    let begun = Instant::now();
    for edit in 0..options.edits {
        let broken = edit % 2 == 1;
        let text = first + 1 + edit as usize;
        place.edit(&if broken { options.fixture.broken(text) } else { options.fixture.fixed(text) })?;
        let intended = match options.interval {
            Some(interval) => begun + interval * edit,
            None => Instant::now(),
        };
        wait_until(intended).await;
        let report = check(&feedback, place).await?;
        let took = intended.elapsed();
        profile.restarts += u64::from(report.timings.spawned.is_some());
        let phase = if broken { &mut profile.broken } else { &mut profile.fixed };
        judge(phase, &report, broken, took, &mut profile.wrong);
        judge(&mut profile.edit, &report, broken, took, &mut Vec::new());
        profile.unconcluded = profile.unconcluded.take().or_else(|| unconcluded(&report));
        progress(Step::Edit(edit + 1, options.edits));
    }
    finish(feedback, profile).await;
    Ok(())
}

fn config(options: &Options, place: &Place) -> Config {
    let mut policy = Policy::default();
    policy.initialize_budget = options.budget;
    policy.first_budget = options.budget;
    policy.call_budget = options.budget;
    policy.total_budget = options.budget;
    let servers = vec![options.server.clone()];
    Config { root: place.root().to_owned(), servers, policy, process_id: Some(std::process::id()) }
}

async fn check(feedback: &Feedback, place: &Place) -> Result<Report, HarnessError> {
    match feedback.call(Request::Check { path: place.file().to_owned() }).await {
        feedback::Answer::Report(report) => Ok(*report),
        other => Err(HarnessError::new(format!("the loop gave no report on {}: {other:?}", place.file().display()))),
    }
}

/// Looks at the server's memory, then ends it.
async fn finish(feedback: Feedback, profile: &mut Profile) {
    profile.memory_peak_bytes = profile.memory_peak_bytes.max(memory::peak_bytes());
    feedback.stop().await;
}

/// Puts a result where it belongs.
fn judge(phase: &mut Phase, report: &Report, broken: bool, took: Duration, wrong: &mut Vec<String>) {
    match report.conclusion {
        Conclusion::Errors | Conclusion::Clean if (report.conclusion == Conclusion::Errors) == broken => {
            phase.right(took, report.findings.len() as u64);
            phase.inferred += u64::from(report.known_by == Some(KnownBy::Inferred));
        }
        Conclusion::Errors | Conclusion::Clean => {
            phase.wrong += 1;
            if wrong.len() < WRONG_TOLD_MAX {
                wrong.push(in_words(report, broken));
            }
        }
        Conclusion::Pending if !matches!(report.reason, Some(Reason::Died { .. } | Reason::TooLarge { .. })) => {
            phase.timeouts += 1;
        }
        _ => phase.inconclusive += 1,
    }
}

/// Why a result has no conclusion about the text: the reason, and what is known of the server beside it.
fn unconcluded(report: &Report) -> Option<String> {
    if matches!(report.conclusion, Conclusion::Errors | Conclusion::Clean) {
        return None;
    }
    let mut words = report.conclusion.to_string();
    let reason = report.reason.as_ref().map(Reason::words);
    let reason = reason.into_iter().chain(report.notes.iter().map(|note| note.text.clone()));
    for why in reason {
        // A note often says what the reason says.
        if !words.contains(&why) {
            words += &format!("; {why}");
        }
    }
    Some(words.replacen("; ", ": ", 1))
}

fn in_words(report: &Report, broken: bool) -> String {
    let text = if broken { "broken" } else { "fixed" };
    let version = report.version.map_or_else(String::new, |version| format!(" (version {version})"));
    let error = report.findings.iter().find(|finding| finding.severity == Severity::Error);
    let said = error.map_or_else(String::new, |error| format!(": {}", error.message));
    format!("a {text} text{version} was called {}{said}", report.conclusion)
}

/// What the server calls itself, if this message is its answer to `initialize`.
fn server_info(record: &Record) -> Option<String> {
    // It is the first answer; notifications may come before it.
    if record.dir != Direction::ToClient || record.seq > 100 {
        return None;
    }
    let message: Value = serde_json::from_slice(&record.content).ok()?;
    let info = message.get("result")?.get("serverInfo")?;
    let name = info.get("name")?.as_str()?;
    let version = info.get("version").and_then(Value::as_str).unwrap_or_default();
    let clean = |character: &char| !character.is_control();
    Some(format!("{name} {version}").trim().chars().filter(clean).take(100).collect())
}

async fn wait_until(moment: Instant) {
    let left = moment.saturating_duration_since(Instant::now());
    if left > SLEEP_OVERSHOOT {
        tokio::time::sleep(left - SLEEP_OVERSHOOT).await;
    }
    while Instant::now() < moment {
        tokio::task::yield_now().await;
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

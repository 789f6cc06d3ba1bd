//! Bounds: every call is answered within its budget, waits as long as it must and no longer, and says no
//! more than a reader can take.

use std::time::Duration;

use wire::Time;
use wire::trace::Direction;

use super::seen::{at, messages};
use super::{Looked, Sheet};
use crate::results::{Law, WorldKind};
use crate::runner::{Call, Run, STOP_BUDGET};
use crate::world::Awaited;

/// Lines of one answer, notes and what was known before included.
const LINES_MAX: usize = 60;
/// Characters of one line of an answer.
const LINE_CHARS_MAX: usize = 500;

pub(super) fn judge(sheet: &mut Sheet<'_, '_>) {
    within_budget(sheet);
    waited(sheet);
    output(sheet);
}

fn within_budget(sheet: &mut Sheet<'_, '_>) {
    let run = sheet.run;
    let mut looked = Looked::default();
    for call in run.calls.iter().chain(&run.stop) {
        let allowed = allowed(run, call);
        looked.at(match &call.outcome {
            Awaited::Answered { at: answered, .. } => {
                let took = answered.since(call.asked);
                (took > allowed + tolerance(run.world)).then(|| {
                    format!("{}: {} took {took:.1?}, at most {allowed:.1?} are allowed", at(run, call), call.op)
                })
            }
            Awaited::TimedOut => Some(format!("{}: {} was never answered", at(run, call), call.op)),
            Awaited::LoopEnded { how } => Some(format!("{}: the loop ended: {how}", at(run, call))),
        });
    }
    let expected = "every call is answered within its budget";
    sheet.check(Law::Bounds, "bounds/answered-within-budget", expected, looked);
}

/// What a call may take: starting a server and its first call have budgets of their own.
fn allowed(run: &Run<'_>, call: &Call) -> Duration {
    let budget = run.scenario.budget;
    match call.op {
        "stop" => STOP_BUDGET,
        "edit" if is_warm(run, call) => budget.call,
        "edit" => budget.initialize + budget.first.max(budget.call),
        // These don't wait for a server.
        _ => budget.call,
    }
}

/// Whether every server that runs was ready before an earlier call, which then was its first.
fn is_warm(run: &Run<'_>, call: &Call) -> bool {
    let answered = call.answered().map_or(call.asked, |(at, _)| at);
    let started = run.observed.instances.iter().filter(|instance| instance.started <= answered);
    let mut warm = started.map(|instance| {
        let ready = messages(&instance.lines, Direction::ToClient).next().map(|(at, _)| at);
        ready.is_some_and(|ready| run.calls.iter().any(|earlier| had_its_first_call(earlier, ready, call.asked)))
    });
    warm.all(|warm| warm)
}

fn had_its_first_call(earlier: &Call, ready: Time, before: Time) -> bool {
    earlier.op == "edit" && earlier.answered().is_some_and(|(at, _)| at >= ready && at <= before)
}

/// A verdict must not hang on a busy machine.
fn tolerance(world: WorldKind) -> Duration {
    match world {
        WorldKind::Simulated => Duration::from_millis(1),
        WorldKind::Real => Duration::from_millis(1_500),
    }
}

fn waited(sheet: &mut Sheet<'_, '_>) {
    let run = sheet.run;
    if run.world != WorldKind::Simulated {
        return;
    }
    let mut looked = Looked::default();
    for (call, expect) in run.expected() {
        let Some(range) = expect.waited else { continue };
        looked.at(match call.answered() {
            None => Some(format!("{}: no answer, expected one after {range}", at(run, call))),
            Some((answered, _)) => {
                let took = answered.since(call.asked);
                (!range.contains(took)).then(|| format!("{}: waited {took:.1?}, expected {range}", at(run, call)))
            }
        });
    }
    sheet.check(Law::Bounds, "bounds/waited", "waits as long as it must, and no longer", looked);
}

fn output(sheet: &mut Sheet<'_, '_>) {
    let run = sheet.run;
    let mut looked = Looked::default();
    for call in &run.calls {
        let Some((_, feedback)) = call.feedback() else { continue };
        let Some(text) = &feedback.text else { continue };
        let expect = call.awaited_by.and_then(|step| run.scenario.steps[step].expect.as_ref());
        let lines_max = expect.and_then(|expect| expect.lines_max).unwrap_or(LINES_MAX);
        let lines = text.lines().count();
        looked.holds(lines <= lines_max, || format!("{}: {lines} lines, at most {lines_max} fit", at(run, call)));
        let longest = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        looked.holds(longest <= LINE_CHARS_MAX, || format!("{}: a line of {longest} characters", at(run, call)));
    }
    sheet.check(Law::Bounds, "bounds/output", "the text keeps its caps of lines and characters", looked);
}

//! The laws of loops, as checks over what was seen of one run: one file per law. Each check has one id
//! whatever its outcome; one that says nothing in a scenario is left out.

mod bounds;
mod completeness;
mod economy;
mod freshness;
mod honesty;
mod isolation;
mod recovery;
mod safety;
mod seen;
mod sync;
mod timeline;

use scenario::scenario::ScenarioLaw;

use crate::results::{Check, Law, Status};
use crate::runner::Run;

/// Violations told of one check; more are counted.
const TOLD_MAX: usize = 4;
/// Characters told of one violation; what a loop says may be of any length.
const CHARS_MAX: usize = 400;

/// The law of a scenario, among all laws.
#[must_use]
pub(crate) fn law_of(law: ScenarioLaw) -> Law {
    match law {
        ScenarioLaw::Freshness => Law::Freshness,
        ScenarioLaw::Honesty => Law::Honesty,
        ScenarioLaw::Bounds => Law::Bounds,
        ScenarioLaw::Completeness => Law::Completeness,
        ScenarioLaw::Sync => Law::Sync,
        ScenarioLaw::Isolation => Law::Isolation,
        ScenarioLaw::Recovery => Law::Recovery,
        ScenarioLaw::Safety => Law::Safety,
        ScenarioLaw::Economy => Law::Economy,
    }
}

/// Judges a run by every law.
pub(crate) fn judge(run: &Run<'_>) -> Vec<Check> {
    let mut sheet = Sheet { run, checks: Vec::new() };
    freshness::judge(&mut sheet);
    honesty::judge(&mut sheet);
    bounds::judge(&mut sheet);
    completeness::judge(&mut sheet);
    sync::judge(&mut sheet);
    isolation::judge(&mut sheet);
    recovery::judge(&mut sheet);
    safety::judge(&mut sheet);
    economy::judge(&mut sheet);
    sheet.checks
}

/// The checks of a run, as they are made.
pub(crate) struct Sheet<'a, 'r> {
    pub(crate) run: &'a Run<'r>,
    checks: Vec<Check>,
}

/// What one check looked at, and what it found wrong.
#[derive(Default)]
pub(crate) struct Looked {
    /// How many things were looked at; a check that looked at nothing is left out.
    times: u64,
    wrong: Vec<String>,
}

impl Looked {
    /// Looks at one thing: it is right, or this is wrong with it.
    pub(crate) fn at(&mut self, wrong: Option<String>) {
        self.times += 1;
        self.wrong.extend(wrong);
    }

    /// Looks at one thing: it is right if `holds`.
    pub(crate) fn holds(&mut self, holds: bool, wrong: impl FnOnce() -> String) {
        self.at((!holds).then(wrong));
    }
}

impl Sheet<'_, '_> {
    /// Writes one check down.
    pub(crate) fn check(&mut self, law: Law, id: &'static str, expected: &str, looked: Looked) {
        if looked.times == 0 {
            return;
        }
        let failed = !looked.wrong.is_empty();
        let observed = if failed { told(&looked.wrong) } else { format!("held {} times", looked.times) };
        self.checks.push(Check {
            id: id.to_owned(),
            law,
            scenario: self.run.scenario.id.clone(),
            world: self.run.world,
            status: if failed { Status::Failed } else { Status::Passed },
            expected: expected.to_owned(),
            observed,
            evidence: if failed { timeline::of(self.run) } else { Vec::new() },
        });
    }
}

fn told(wrong: &[String]) -> String {
    let shortened = |wrong: &String| wrong.chars().take(CHARS_MAX).collect::<String>();
    let mut told = wrong.iter().take(TOLD_MAX).map(shortened).collect::<Vec<_>>().join("; ");
    if let Some(more) = wrong.len().checked_sub(TOLD_MAX + 1) {
        told.push_str(&format!("; and {} more", more + 1));
    }
    told
}

/// Two lists as sets, in words, if they differ.
pub(crate) fn differ(what: &str, expected: &[String], seen: &[String]) -> Option<String> {
    let sorted = |list: &[String]| {
        let mut list = list.to_vec();
        list.sort();
        list.dedup();
        list
    };
    let (expected, seen) = (sorted(expected), sorted(seen));
    (expected != seen).then(|| format!("{what} [{}], expected [{}]", seen.join(", "), expected.join(", ")))
}

//! Runs scenarios in the real world, several at a time because they mostly wait, and again alone where
//! one failed: what fails only in company is called unstable, and fails.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use scenario::Scenario;
use scenario::scenario::ServerScript;

use super::launcher::FakeCommand;
use super::subject::Subject;
use super::world::{RealWorld, ServerSetup, Setup};
use crate::results::{Check, Status, WorldKind};
use crate::runner;
use crate::world::HarnessError;

/// So many scenarios in a row that failed alone as they had beside others show that company is not to
/// blame; those that follow are not run again, and stand as they are.
const ALONE_IN_VAIN_MAX: u32 = 8;

/// How scenarios are run for real.
pub struct RealOptions<'a> {
    /// Who is judged.
    pub subject: &'a dyn Subject,
    /// How fakes are started.
    pub fake: FakeCommand,
    /// The seed of the fakes' jitter.
    pub seed: u64,
    /// Scenarios at a time; at least one.
    pub jobs: usize,
    /// Becomes readable when the run is interrupted, and stays so.
    pub interrupt: Option<Arc<OwnedFd>>,
    /// Called after each scenario, on any thread, with how many are done.
    pub progress: &'a (dyn Fn(&Scenario, usize) + Sync),
}

impl RealOptions<'_> {
    /// How many scenarios at a time suit this machine: three per core, since most of them wait.
    #[must_use]
    pub fn jobs_default() -> usize {
        3 * std::thread::available_parallelism().map_or(2, std::num::NonZero::get)
    }

    fn is_interrupted(&self) -> bool {
        let ready =
            |fd: &Arc<OwnedFd>| poll(&mut [PollFd::new(fd, PollFlags::IN)], Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
        self.interrupt.as_ref().is_some_and(|fd| ready(fd).is_ok_and(|count| count > 0))
    }
}

/// Runs the scenarios that have a real world, and gives their checks in the order of the scenarios.
///
/// `None` if the run was interrupted.
#[must_use]
pub fn run(scenarios: &[&Scenario], options: &RealOptions<'_>) -> Option<Vec<Check>> {
    let real: Vec<&Scenario> = scenarios.iter().copied().filter(|scenario| scenario.is_real()).collect();
    let mut checks = Vec::new();
    let mut in_vain = 0;
    for (scenario, first) in real.iter().zip(beside_each_other(&real, options)) {
        let failed = first.iter().any(|check| is_failure(check.status));
        if !failed || in_vain == ALONE_IN_VAIN_MAX || options.is_interrupted() {
            checks.extend(first);
            continue;
        }
        let alone = one(scenario, options);
        in_vain = if alone.iter().any(|check| is_failure(check.status)) { in_vain + 1 } else { 0 };
        checks.extend(steady(first, alone));
    }
    (!options.is_interrupted()).then_some(checks)
}

/// Every scenario's checks, with several scenarios at a time.
fn beside_each_other(scenarios: &[&Scenario], options: &RealOptions<'_>) -> Vec<Vec<Check>> {
    let next = AtomicUsize::new(0);
    let done = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    let worker = |sender: mpsc::Sender<(usize, Vec<Check>)>| {
        while let Some((index, scenario)) = {
            let index = next.fetch_add(1, Ordering::Relaxed);
            scenarios.get(index).map(|scenario| (index, *scenario))
        } {
            let checks = one(scenario, options);
            (options.progress)(scenario, done.fetch_add(1, Ordering::Relaxed) + 1);
            // The receiver outlives every worker.
            let _ = sender.send((index, checks));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..options.jobs.clamp(1, scenarios.len().max(1)) {
            let sender = sender.clone();
            scope.spawn(|| worker(sender));
        }
        drop(sender);
    });
    receiver.into_iter().collect::<BTreeMap<_, _>>().into_values().collect()
}

/// Runs one scenario in a world of its own.
fn one(scenario: &Scenario, options: &RealOptions<'_>) -> Vec<Check> {
    let opened = servers(scenario).and_then(|servers| {
        RealWorld::open(&Setup {
            subject: options.subject,
            fake: &options.fake,
            servers: &servers,
            seed: options.seed,
            interrupt: options.interrupt.clone(),
        })
    });
    match opened {
        Ok(world) => runner::run(scenario, Box::new(world)),
        Err(error) => vec![runner::harness_error(scenario, WorldKind::Real, &error)],
    }
}

/// A scenario's servers, with their scripts as text.
fn servers(scenario: &Scenario) -> Result<Vec<ServerSetup>, HarnessError> {
    let text = |script: &ServerScript| match script {
        ServerScript::Named { name, .. } => fake_lsp::embedded(name)
            .map(|text| Some(text.to_owned()))
            .ok_or_else(|| HarnessError::new(format!("no script is called `{name}`"))),
        ServerScript::Inline { text, .. } => Ok(Some(text.clone())),
        ServerScript::Missing => Ok(None),
    };
    let setup = |server: &scenario::scenario::ServerSetup| {
        Ok(ServerSetup { name: server.name.clone(), script: text(&server.script)? })
    };
    scenario.servers.iter().map(setup).collect()
}

fn is_failure(status: Status) -> bool {
    matches!(status, Status::Failed | Status::HarnessError)
}

/// What is told of a scenario that failed beside others: what it showed alone, and where it then held,
/// that it is unstable.
fn steady(first: Vec<Check>, alone: Vec<Check>) -> Vec<Check> {
    let failed_alone = |id: &str| alone.iter().any(|check| check.id == id && is_failure(check.status));
    let (unstable, others): (Vec<Check>, Vec<Check>) =
        first.into_iter().partition(|check| is_failure(check.status) && !failed_alone(&check.id));
    drop(others);
    let held = alone.into_iter().filter(|check| !unstable.iter().any(|other| other.id == check.id));
    let mut checks: Vec<Check> = held.collect();
    checks.extend(unstable.into_iter().map(|check| Check {
        observed: format!("unstable: it held when the scenario was run alone; beside others: {}", check.observed),
        ..check
    }));
    checks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Law;

    fn check(id: &str, status: Status) -> Check {
        Check {
            id: id.to_owned(),
            law: Law::Bounds,
            scenario: "bounds/s".to_owned(),
            world: WorldKind::Real,
            status,
            expected: String::new(),
            observed: "late".to_owned(),
            evidence: Vec::new(),
        }
    }

    #[test]
    fn what_fails_only_beside_others_is_unstable_and_fails() {
        let first = vec![check("a", Status::Passed), check("b", Status::Failed), check("c", Status::Failed)];
        let alone = vec![check("a", Status::Passed), check("b", Status::Passed), check("c", Status::Failed)];
        let told = steady(first, alone);
        let of = |id: &str| told.iter().filter(|check| check.id == id).collect::<Vec<_>>();
        assert_eq!(of("a"), [&check("a", Status::Passed)]);
        assert_eq!(of("c"), [&check("c", Status::Failed)]);
        let [b] = of("b")[..] else { panic!("{told:?}") };
        assert_eq!(b.status, Status::Failed);
        assert!(b.observed.starts_with("unstable: ") && b.observed.ends_with("late"), "{}", b.observed);
    }

    #[test]
    fn a_harness_fault_that_vanishes_stays_a_harness_fault() {
        let told = steady(vec![check("harness/ran", Status::HarnessError)], vec![check("a", Status::Passed)]);
        let statuses: Vec<Status> = told.iter().map(|check| check.status).collect();
        assert_eq!(statuses, [Status::Passed, Status::HarnessError]);
    }
}

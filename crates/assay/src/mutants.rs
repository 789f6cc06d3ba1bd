//! Proof that the checks can fail: loops broken in one named way each run over the simulated scenarios,
//! and every one must be caught by a check of its own law, every check must catch one. Only with the
//! cargo feature `mutants`.

use std::collections::{BTreeMap, BTreeSet};

use feedback::{Config, Fault, Loop};
use scenario::{ParseError, Scenario};
use serde::Serialize;

use crate::results::{Check, Status};
use crate::sim::{Subject, reference};
use crate::suite;

/// What became of every mutant, and of every check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MutantTable {
    /// The seed of the simulated world.
    pub seed: u64,
    /// One row per fault, in the loop's order.
    pub mutants: Vec<Mutant>,
    /// One row per check that the reference passes, sorted by id.
    pub checks: Vec<Catches>,
    /// Checks that the reference itself does not pass, as `scenario: id`; with any, nothing is proven.
    pub reference_fails: Vec<String>,
}

/// One loop that is broken on purpose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mutant {
    /// The fault's name.
    pub name: &'static str,
    /// The law that it breaks.
    pub law: &'static str,
    /// What it does wrong.
    pub summary: &'static str,
    /// The checks that caught it, with the first scenario in which each did.
    pub caught_by: BTreeMap<String, String>,
}

impl Mutant {
    /// Whether a check of the law that it breaks caught it.
    #[must_use]
    pub fn is_caught(&self) -> bool {
        self.caught_by.keys().any(|id| id.split_once('/').is_some_and(|(law, _)| law == self.law))
    }
}

/// Which mutants one check caught.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Catches {
    /// The check.
    pub id: String,
    /// The faults, by name.
    pub mutants: Vec<&'static str>,
}

impl MutantTable {
    /// Mutants that no check of their own law caught.
    pub fn survivors(&self) -> impl Iterator<Item = &Mutant> {
        self.mutants.iter().filter(|mutant| !mutant.is_caught())
    }

    /// Checks that caught none.
    pub fn idle(&self) -> impl Iterator<Item = &Catches> {
        self.checks.iter().filter(|check| check.mutants.is_empty())
    }

    /// The command's exit code: 1 if a mutant survived, a check is idle, or the reference fails one.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        let proven =
            self.reference_fails.is_empty() && self.survivors().next().is_none() && self.idle().next().is_none();
        u8::from(!proven)
    }
}

/// Runs every mutant over every simulated scenario.
///
/// # Errors
/// When a scenario that is built in is wrong.
pub fn run(seed: u64) -> Result<MutantTable, ParseError> {
    let scenarios = suite::embedded()?;
    let scenarios: Vec<&Scenario> = scenarios.iter().collect();
    let reference = suite::run_simulated_with(&scenarios, seed, &reference);
    let passed: BTreeSet<(&str, &str)> =
        reference.iter().filter(|check| check.status == Status::Passed).map(key).collect();
    let mutants: Vec<Mutant> = Fault::ALL.iter().map(|&fault| mutant(fault, &scenarios, seed, &passed)).collect();
    let ids: BTreeSet<&str> = passed.iter().map(|(_, id)| *id).collect();
    let checks = ids.into_iter().map(|id| catches(id, &mutants)).collect();
    let fails = reference.iter().filter(|check| matches!(check.status, Status::Failed | Status::HarnessError));
    let reference_fails = fails.map(|check| format!("{}: {}", check.scenario, check.id)).collect();
    Ok(MutantTable { seed, mutants, checks, reference_fails })
}

fn key(check: &Check) -> (&str, &str) {
    (&check.scenario, &check.id)
}

fn mutant(fault: Fault, scenarios: &[&Scenario], seed: u64, passed: &BTreeSet<(&str, &str)>) -> Mutant {
    let make = move |config: Config| -> Box<dyn Subject> { Box::new(Loop::with_fault(config, fault)) };
    let checks = suite::run_simulated_with(scenarios, seed, &make);
    let mut caught_by = BTreeMap::new();
    let caught = checks.iter().filter(|check| check.status == Status::Failed && passed.contains(&key(check)));
    for check in caught {
        caught_by.entry(check.id.clone()).or_insert_with(|| check.scenario.clone());
    }
    Mutant { name: fault.name(), law: fault.law(), summary: fault.summary(), caught_by }
}

fn catches(id: &str, mutants: &[Mutant]) -> Catches {
    let caught = mutants.iter().filter(|mutant| mutant.caught_by.contains_key(id)).map(|mutant| mutant.name);
    Catches { id: id.to_owned(), mutants: caught.collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mutant_is_caught_and_every_check_catches_one() {
        let table = run(1).unwrap_or_else(|error| panic!("{error}"));
        let survivors: Vec<&str> = table.survivors().map(|mutant| mutant.name).collect();
        let idle: Vec<&str> = table.idle().map(|check| check.id.as_str()).collect();
        assert_eq!((survivors, idle, &table.reference_fails), (vec![], vec![], &vec![]));
        assert_eq!(table.exit_code(), 0);
    }
}

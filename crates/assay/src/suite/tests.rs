use super::*;
use crate::results::Status;

fn failures(checks: &[Check]) -> String {
    let told = |check: &Check| {
        let evidence = check.evidence.iter().map(|line| format!("\n    {:9.3} {} {}", line.at_ms, line.who, line.what));
        format!("{} {}: {}{}", check.scenario, check.id, check.observed, evidence.collect::<String>())
    };
    let failed = checks.iter().filter(|check| !matches!(check.status, Status::Passed | Status::NotApplicable));
    failed.map(told).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_reference_keeps_every_law_under_every_seed() {
    let scenarios = embedded().unwrap_or_else(|error| panic!("{error}"));
    let all: Vec<&Scenario> = scenarios.iter().collect();
    for seed in 0..20 {
        let checks = run_simulated(&all, seed);
        let failures = failures(&checks);
        assert!(failures.is_empty(), "seed {seed}:\n{failures}");
    }
}

#[test]
fn a_seed_gives_the_same_run_again() {
    let scenarios = embedded().unwrap();
    let all: Vec<&Scenario> = scenarios.iter().collect();
    assert_eq!(run_simulated(&all, 7), run_simulated(&all, 7));
}

#[test]
fn scenarios_are_selected_by_prefix_and_by_glob() {
    let scenarios = embedded().unwrap();
    let ids = |patterns: &[&str]| {
        let patterns: Vec<String> = patterns.iter().map(|&pattern| pattern.to_owned()).collect();
        select(&scenarios, &patterns).map(|found| found.len()).map_err(|unknown| unknown.to_string())
    };
    assert_eq!(ids(&[]), Ok(scenarios.len()));
    assert_eq!(ids(&["freshness/stale-push-then"]), Ok(1));
    assert_eq!(ids(&["*stale-push-then-fresh"]), Ok(1));
    assert_eq!(
        ids(&["freshness/stale-psh"]),
        Err("no scenario is called \"freshness/stale-psh\"; the nearest is freshness/stale-push-then-fresh".to_owned())
    );
}

//! Whether the two worlds say the same: a scenario means the same in both, so every check of it must have
//! the same status in both. Where they differ, one of the worlds is wrong, or the loop is.

use std::collections::{BTreeMap, BTreeSet};

use scenario::Scenario;

use crate::laws;
use crate::results::{Check, Evidence, Status, WorldKind};

/// The id of the check that says whether the worlds agree.
pub const AGREE: &str = "worlds/agree";

/// One check per scenario: do the simulated and the real world agree on it? Both lists hold the checks of
/// one subject, of any number of scenarios.
#[must_use]
pub fn agreement(scenarios: &[&Scenario], simulated: &[Check], real: &[Check]) -> Vec<Check> {
    scenarios.iter().map(|scenario| of_scenario(scenario, simulated, real)).collect()
}

fn of_scenario(scenario: &Scenario, simulated: &[Check], real: &[Check]) -> Check {
    let check = |status, observed: String, evidence| Check {
        id: AGREE.to_owned(),
        law: laws::law_of(scenario.law),
        scenario: scenario.id.clone(),
        world: WorldKind::Real,
        status,
        expected: "every check has the same status in the simulated and in the real world".to_owned(),
        observed,
        evidence,
    };
    if !(scenario.is_simulated() && scenario.is_real()) {
        let one = if scenario.is_real() { "real" } else { "simulated" };
        let reason = scenario.reason.as_deref().unwrap_or("no reason given");
        return check(Status::NotApplicable, format!("runs in the {one} world only: {reason}"), Vec::new());
    }
    let (simulated, real) = (by_id(scenario, simulated), by_id(scenario, real));
    let ids: BTreeSet<&str> = simulated.keys().chain(real.keys()).copied().collect();
    let differences = ids.iter().filter_map(|id| difference(id, simulated.get(id), real.get(id)));
    let differences: Vec<Evidence> = differences.collect();
    match differences.len() {
        0 => check(Status::Passed, format!("the same in all {} checks", ids.len()), Vec::new()),
        count => check(Status::Failed, format!("{count} of {} checks differ", ids.len()), differences),
    }
}

fn by_id<'a>(scenario: &Scenario, checks: &'a [Check]) -> BTreeMap<&'a str, &'a Check> {
    checks.iter().filter(|check| check.scenario == scenario.id).map(|check| (check.id.as_str(), check)).collect()
}

fn difference(id: &str, simulated: Option<&&Check>, real: Option<&&Check>) -> Option<Evidence> {
    let status = |check: Option<&&Check>| check.map_or(Status::NotApplicable, |check| check.status);
    if same(status(simulated), status(real)) {
        return None;
    }
    let words = |check: Option<&&Check>| {
        check.map_or_else(|| "not there".to_owned(), |check| format!("{:?}, {}", check.status, check.observed))
    };
    let what = format!("simulated: {}; real: {}", words(simulated), words(real));
    Some(Evidence { at_ms: 0.0, who: id.to_owned(), what })
}

/// Times are asserted in the simulated world only; what does not apply in one world says nothing against
/// what held in the other.
fn same(one: Status, other: Status) -> bool {
    let harmless = |status| matches!(status, Status::Passed | Status::NotApplicable);
    one == other || (harmless(one) && harmless(other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Law;

    fn scenario(world: &str) -> Scenario {
        let text = format!(
            "summary = \"s\"\nlaw = \"bounds\"\nserver = \"push\"\nworld = \"{world}\"\nreason = \"it times\"\n\
             [[step]]\nedit = {{ path = \"a.fake\", text = \"ok\" }}\n"
        );
        Scenario::parse("bounds/s", &text).unwrap_or_else(|error| panic!("{error:?}"))
    }

    fn checks(world: WorldKind, statuses: &[(&str, Status)]) -> Vec<Check> {
        let check = |(id, status): &(&str, Status)| Check {
            id: (*id).to_owned(),
            law: Law::Bounds,
            scenario: "bounds/s".to_owned(),
            world,
            status: *status,
            expected: String::new(),
            observed: "seen".to_owned(),
            evidence: Vec::new(),
        };
        statuses.iter().map(check).collect()
    }

    #[test]
    fn worlds_agree_when_every_check_has_the_same_status() {
        use Status::{Failed, NotApplicable, Passed};
        type World<'a> = &'a [(&'a str, Status)];
        let cases: [(World<'_>, World<'_>, &[&str]); 5] = [
            (&[("a", Passed), ("b", Failed)], &[("b", Failed), ("a", Passed)], &[]),
            (&[("a", Passed), ("waited", Passed)], &[("a", Passed)], &[]),
            (&[("a", Passed)], &[("a", NotApplicable)], &[]),
            (&[("a", Passed), ("b", Passed)], &[("a", Failed), ("b", Passed)], &["a"]),
            (&[("a", Failed)], &[("harness/ran", Status::HarnessError)], &["a", "harness/ran"]),
        ];
        for (simulated, real, differing) in cases {
            let (simulated, real) = (checks(WorldKind::Simulated, simulated), checks(WorldKind::Real, real));
            let told = agreement(&[&scenario("both")], &simulated, &real).remove(0);
            let who: Vec<&str> = told.evidence.iter().map(|line| line.who.as_str()).collect();
            assert_eq!(who, differing, "{told:?}");
            assert_eq!(told.status == Passed, differing.is_empty());
        }
    }

    #[test]
    fn a_scenario_of_one_world_says_why_there_is_nothing_to_compare() {
        let told = agreement(&[&scenario("simulated")], &checks(WorldKind::Simulated, &[]), &[]).remove(0);
        assert_eq!(told.status, Status::NotApplicable);
        assert_eq!(told.observed, "runs in the simulated world only: it times");
    }
}

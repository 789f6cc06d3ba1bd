//! How a law's outcome becomes a check: MUST fails, SHOULD warns, and what could not be judged says why.

use super::observed::{Fault, Observed};
use crate::results::{Check, Evidence, Law, Status, WorldKind};

/// What was seen of one requirement.
#[derive(Clone, Debug)]
pub(crate) enum Seen {
    /// It held.
    Held(String),
    /// It did not.
    Broken(String, Vec<Evidence>),
    /// It could not be judged, and why.
    Unclear(String),
    /// The harness itself failed.
    Harness(String),
}

impl Seen {
    /// `Held` or `Broken` without evidence of its own.
    pub(crate) fn of(held: bool, observed: impl Into<String>, evidence: impl FnOnce() -> Vec<Evidence>) -> Self {
        if held { Self::Held(observed.into()) } else { Self::Broken(observed.into(), evidence()) }
    }
}

/// What all sessions saw of some faults, among so many `things` that could have had them.
pub(crate) fn passive(observed: &Observed, faults: &[Fault], things: u64, name: &str) -> Seen {
    let tallies: Vec<_> = faults.iter().filter_map(|fault| observed.tally(*fault)).collect();
    let count: u64 = tallies.iter().map(|tally| tally.count).sum();
    if count == 0 && things == 0 {
        return Seen::Unclear(format!("there were no {name}"));
    }
    let evidence = || tallies.iter().flat_map(|tally| tally.evidence.clone()).collect();
    let observed =
        if count == 0 { format!("{things} {name}, all right") } else { format!("{count} times in {things} {name}") };
    Seen::of(count == 0, observed, evidence)
}

/// The keyword of the specification that a requirement stands under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keyword {
    /// Required, by word or by type: broken is failed.
    Must,
    /// Recommended: broken is warned.
    Should,
}

/// Collects the checks of one server.
pub(crate) struct Verdicts {
    subject: String,
    checks: Vec<Check>,
}

impl Verdicts {
    pub(crate) fn new(subject: &str) -> Self {
        Self { subject: subject.to_owned(), checks: Vec::new() }
    }

    /// Records one outcome. `kind` is the second half of the check's id; `expected` names the place in
    /// the specification.
    pub(crate) fn record(&mut self, law: Law, kind: &str, keyword: Keyword, expected: &str, seen: Seen) {
        let (status, observed, evidence) = match seen {
            Seen::Held(observed) => (Status::Passed, observed, Vec::new()),
            Seen::Broken(observed, evidence) => {
                let status = if keyword == Keyword::Must { Status::Failed } else { Status::Warned };
                (status, observed, evidence)
            }
            Seen::Unclear(observed) => (Status::NotApplicable, observed, Vec::new()),
            Seen::Harness(observed) => (Status::HarnessError, observed, Vec::new()),
        };
        self.checks.push(Check {
            id: format!("{law}/{kind}"),
            law,
            scenario: self.subject.clone(),
            world: WorldKind::Real,
            status,
            expected: expected.to_owned(),
            observed,
            evidence,
        });
    }

    pub(crate) fn must(&mut self, law: Law, kind: &str, expected: &str, seen: Seen) {
        self.record(law, kind, Keyword::Must, expected, seen);
    }

    pub(crate) fn should(&mut self, law: Law, kind: &str, expected: &str, seen: Seen) {
        self.record(law, kind, Keyword::Should, expected, seen);
    }

    pub(crate) fn into_checks(self) -> Vec<Check> {
        self.checks
    }
}

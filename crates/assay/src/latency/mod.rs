//! How long feedback takes, cold and warm, through the reference loop and over real processes. Every time
//! stands beside what was found: a fast wrong answer is counted as wrong, never as fast.

mod memory;
mod phase;
mod place;
mod run;

use std::time::Duration;

use feedback::ServerSpec;
use serde::Serialize;
use serde_json::json;

use crate::fixture::Fixture;
use crate::results::{Check, Law, Results, Status, WorldKind};

pub use phase::{Phase, Quantiles};
pub use place::Place;
pub use run::{Step, profile};

/// Version of the facts in [`Profile::results`].
pub const FACTS_VERSION: u32 = 1;

/// What is to be measured.
#[derive(Clone, Debug)]
pub struct Options {
    /// What the server is called.
    pub subject: String,
    /// The server, by itself.
    pub server: ServerSpec,
    /// The texts that the file is given.
    pub fixture: Fixture,
    /// Starts of fresh processes that are measured.
    pub starts: u32,
    /// Edits that are measured in one process.
    pub edits: u32,
    /// The pause between the beginnings of edits; without one each begins when the one before was answered.
    /// With one, times count from when an edit was meant to begin, so that a stall is felt by every edit
    /// that it held up.
    pub interval: Option<Duration>,
    /// Longest wait for one result, the server's start included.
    pub budget: Duration,
}

/// What was measured.
#[derive(Clone, Debug, Serialize)]
pub struct Profile {
    /// What the server is called.
    pub subject: String,
    /// What it calls itself (`serverInfo`), if it does.
    pub server: Option<String>,
    /// The file's language.
    pub language_id: String,
    /// The pace of the edits, in microseconds, if there was one.
    pub interval_us: Option<u64>,
    /// Longest wait for one result, in microseconds.
    pub budget_us: u64,
    /// From the spawn to the answer to `initialize`, once for each start.
    pub initialize: Phase,
    /// From `didOpen` to the first final result, once for each start.
    pub first: Phase,
    /// From an edit that breaks the file to its final result.
    pub broken: Phase,
    /// From an edit that fixes the file to its final result.
    pub fixed: Phase,
    /// From any edit to its final result.
    pub edit: Phase,
    /// How often the server was started anew in the midst of edits.
    pub restarts: u64,
    /// The peak resident memory of all processes of the server that lived at the end of a phase, summed
    /// (Linux: `VmHWM`), in bytes; `None` where the system doesn't tell.
    pub memory_peak_bytes: Option<u64>,
    /// The first results that were wrong, in words.
    pub wrong: Vec<String>,
    /// The first result that came too late or did not conclude, in words: which conclusion, and why.
    pub unconcluded: Option<String>,
}

impl Profile {
    /// The phases with their names, in the order of a session.
    #[must_use]
    pub fn phases(&self) -> [(&'static str, &Phase); 5] {
        [
            ("cold: spawn → initialize answered", &self.initialize),
            ("cold: open → first final result", &self.first),
            ("warm: edit that breaks → final result", &self.broken),
            ("warm: edit that fixes → final result", &self.fixed),
            ("warm: any edit → final result", &self.edit),
        ]
    }

    /// The profile as results: checks of what has to hold for the times to mean anything, and the times
    /// as facts.
    #[must_use]
    pub fn results(&self) -> Results {
        let measured = [&self.first, &self.edit];
        let wrong: u64 = measured.iter().map(|phase| phase.wrong).sum();
        let late: u64 = measured.iter().map(|phase| phase.timeouts).sum();
        let inconclusive: u64 = measured.iter().map(|phase| phase.inconclusive).sum();
        let all: u64 = measured.iter().map(|phase| phase.runs()).sum();
        let checks = vec![
            self.check(
                "freshness/profiled-results-are-right",
                Law::Freshness,
                "a broken text yields an error, a fixed one none",
                (wrong > 0 || all == 0)
                    .then(|| format!("{wrong} of {all} results were wrong: {}", self.wrong.join("; "))),
            ),
            self.check(
                "bounds/profiled-results-come",
                Law::Bounds,
                "every text has a conclusion within the budget",
                (late + inconclusive > 0).then(|| {
                    let first =
                        self.unconcluded.as_ref().map_or_else(String::new, |first| format!("; the first: {first}"));
                    format!("of {all} results {late} came too late and {inconclusive} did not conclude{first}")
                }),
            ),
        ];
        let facts = json!({ "facts": FACTS_VERSION, "unit": "us", "profile": self });
        Results::new("profile", &self.subject, 0, checks, facts)
    }

    fn check(&self, id: &str, law: Law, expected: &str, broken: Option<String>) -> Check {
        Check {
            id: id.to_owned(),
            law,
            scenario: self.subject.clone(),
            world: WorldKind::Real,
            status: if broken.is_some() { Status::Failed } else { Status::Passed },
            expected: expected.to_owned(),
            observed: broken.unwrap_or_else(|| "so it was".to_owned()),
            evidence: Vec::new(),
        }
    }
}

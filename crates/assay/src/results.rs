//! The result model: one entry per check, and the file that holds them. Every face in `report` derives
//! from it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Version of the format of [`Results`].
pub const RESULTS_VERSION: u32 = 1;

/// What a loop owes its user; every check of a loop names one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Law {
    /// Reports as current only what the server said about the newest text.
    Freshness,
    /// Says clean only when the server concluded; the five conclusions never blur.
    Honesty,
    /// Answers within its budget whatever the server does; memory and output are bounded.
    Bounds,
    /// Loses no error of the newest text.
    Completeness,
    /// Keeps the server's copy equal to the file.
    Sync,
    /// Never fails an edit because of a server; leaves no process behind.
    Isolation,
    /// Delivers a late result if it still holds, drops it if it doesn't.
    Recovery,
    /// Passes on nothing that could harm its reader.
    Safety,
    /// Says nothing twice and keeps its caps.
    Economy,
    /// Of servers: start, shutdown, exit.
    Lifecycle,
    /// Of servers: JSON-RPC envelopes and error codes, a clean stdout.
    Messages,
    /// Of servers: honest versions in pushes.
    Versions,
    /// Of servers: after the last change the last word is right.
    Convergence,
    /// Of servers: after any edits, the diagnostics equal those of a fresh server.
    IncrementalEqualsFresh,
    /// Of servers: ranges inside the text, in the agreed encoding.
    Positions,
    /// Of servers: pull semantics.
    Pull,
    /// Of servers: findings go when their cause goes.
    Clearing,
}

impl std::fmt::Display for Law {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.serialize(f)
    }
}

/// Where a check ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorldKind {
    /// Discrete events and a virtual clock.
    Simulated,
    /// Processes and pipes.
    Real,
}

/// How a check ended. One check id whatever the outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It held.
    Passed,
    /// A MUST was broken.
    Failed,
    /// A SHOULD was broken.
    Warned,
    /// It could not apply, and `observed` says why.
    NotApplicable,
    /// The harness itself failed; this says nothing about who was judged.
    HarnessError,
}

/// One line of evidence: a message, an event, an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Milliseconds since the start of the scenario.
    pub at_ms: f64,
    /// Who: `judge`, `loop`, `server NAME#INSTANCE`, ….
    pub who: String,
    /// What, in one bounded line.
    pub what: String,
}

/// One check's outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// `law/what-is-checked`, stable across versions and outcomes.
    pub id: String,
    /// The law that it tests.
    pub law: Law,
    /// The scenario, `law/name`, or the server that was checked.
    pub scenario: String,
    /// Where it ran.
    pub world: WorldKind,
    /// How it ended.
    pub status: Status,
    /// What had to be seen, in words.
    pub expected: String,
    /// What was seen, in words.
    pub observed: String,
    /// The messages and the clock. Empty where it passed.
    pub evidence: Vec<Evidence>,
}

/// Counts by status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// Checks that held.
    pub passed: u64,
    /// Broken MUSTs.
    pub failed: u64,
    /// Broken SHOULDs.
    pub warned: u64,
    /// Checks that could not apply.
    pub not_applicable: u64,
    /// Faults of the harness.
    pub harness_error: u64,
}

impl Summary {
    /// Counts the checks.
    #[must_use]
    pub fn of<'a>(checks: impl IntoIterator<Item = &'a Check>) -> Self {
        checks.into_iter().fold(Self::default(), |mut sum, check| {
            *match check.status {
                Status::Passed => &mut sum.passed,
                Status::Failed => &mut sum.failed,
                Status::Warned => &mut sum.warned,
                Status::NotApplicable => &mut sum.not_applicable,
                Status::HarnessError => &mut sum.harness_error,
            } += 1;
            sum
        })
    }

    /// The command's exit code: 3 if the harness failed, 1 if something was found wrong, else 0.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        if self.harness_error > 0 { 3 } else { u8::from(self.failed > 0) }
    }
}

/// The results of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// [`RESULTS_VERSION`].
    pub format: u32,
    /// `lsp-assay`.
    pub tool: String,
    /// The version of the tool.
    pub version: String,
    /// What ran: the command's name.
    pub command: String,
    /// The seed of everything random.
    pub seed: u64,
    /// What was judged.
    pub subject: String,
    /// One entry per check.
    pub checks: Vec<Check>,
    /// Facts that are no checks: measured times, versions, counts.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub facts: Value,
    /// Counts by status.
    pub summary: Summary,
}

impl Results {
    /// Puts a run's checks together.
    #[must_use]
    pub fn new(command: &str, subject: &str, seed: u64, checks: Vec<Check>, facts: Value) -> Self {
        let summary = Summary::of(&checks);
        Self {
            format: RESULTS_VERSION,
            tool: "lsp-assay".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            command: command.to_owned(),
            seed,
            subject: subject.to_owned(),
            checks,
            facts,
            summary,
        }
    }
}

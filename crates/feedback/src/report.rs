//! What a call concludes: the five conclusions, the findings with their places, what was known before,
//! and how it is known. How a report is worded lives in `render`.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Certificate;

/// A text's hash (see [`wire::text_hash`]), shown as eight hex digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TextHash(pub u32);

impl TextHash {
    /// The hash of a text.
    #[must_use]
    pub fn of(text: &str) -> Self {
        wire::text_hash(text.as_bytes()).into()
    }
}

impl From<u32> for TextHash {
    fn from(hash: u32) -> Self {
        Self(hash)
    }
}

impl std::fmt::Display for TextHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:08x}", self.0)
    }
}

impl Serialize for TextHash {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TextHash {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let hex = String::deserialize(deserializer)?;
        u32::from_str_radix(&hex, 16).map(Self).map_err(serde::de::Error::custom)
    }
}

/// How a call ended. Exactly one of five, never blurred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Conclusion {
    /// At least one current finding is an error.
    Errors,
    /// No conclusion within the budget.
    Pending,
    /// A required server cannot be had.
    Unavailable,
    /// Every required server concluded, and none found an error.
    Clean,
    /// No server covers the file.
    Uncovered,
}

impl std::fmt::Display for Conclusion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Errors => "errors",
            Self::Pending => "pending",
            Self::Unavailable => "unavailable",
            Self::Clean => "clean",
            Self::Uncovered => "uncovered",
        })
    }
}

/// How it is known that a result belongs to the newest text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KnownBy {
    /// A push named the newest version.
    Versioned,
    /// A pull that was sent after the newest text was answered.
    Pulled,
    /// Nothing proves it: the results settled.
    Inferred,
}

/// Severity of a finding (LSP `DiagnosticSeverity`); without one, or with an unknown one, it is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// 1, absent, or unknown.
    Error,
    /// 2.
    Warning,
    /// 3.
    Information,
    /// 4.
    Hint,
}

/// A place in a text: one-based line, one-based column counted in Unicode scalar values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Place {
    /// One-based.
    pub line: u32,
    /// One-based, in Unicode scalar values of the line.
    pub column: u32,
}

/// One diagnostic, cleaned: no control, escape or bidirectional characters, bounded lengths.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Finding {
    /// Relative to the workspace, with `/`.
    pub path: String,
    /// Where it begins.
    pub start: Place,
    /// Where it ends (exclusive).
    pub end: Place,
    /// How severe.
    pub severity: Severity,
    /// Its code as text, if it has one.
    pub code: Option<String>,
    /// Which tool says so (`Diagnostic.source`), if it says.
    pub source: Option<String>,
    /// The name of the server in the table.
    pub server: String,
    /// The first line of the message, cleaned and cut at [`crate::Policy::message_chars_max`].
    pub message: String,
}

/// Numbers of findings by severity, before any cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Errors.
    pub errors: u64,
    /// Warnings.
    pub warnings: u64,
    /// Informations.
    pub informations: u64,
    /// Hints.
    pub hints: u64,
}

/// Findings for an earlier text of the same file: labelled, never passed off as new.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToldBefore {
    /// The version of the text that they were for, if that is known.
    pub version: Option<i32>,
    /// The findings, bounded like current ones.
    pub findings: Vec<Finding>,
}

/// Why a call ended without a conclusion about the text, or why a conclusion is partial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "why")]
#[non_exhaustive]
pub enum Reason {
    /// The budget ended and the server had said nothing about the newest text.
    Silent,
    /// The budget ended before `initialize` was answered.
    Initializing,
    /// The budget ended while the server said that it was still loading.
    Loading,
    /// The budget ended before unproven results had settled.
    Unsettled,
    /// The server refused to compute (`ServerCancelled` and the like) until the budget ended.
    ServerCancelled,
    /// The server answered a pull with an error.
    PullFailed {
        /// The error, cleaned.
        error: String,
    },
    /// A newer text of the same file was synced.
    Superseded,
    /// The host cancelled the call, or stopped the loop.
    Cancelled,
    /// A message of the server was over the limit and was skipped.
    TooLarge {
        /// Its declared length, in bytes.
        bytes: u64,
    },
    /// The server does not read its input.
    NotReading,
    /// The server does not sync documents.
    NoSync,
    /// The server could not be started, or `initialize` failed.
    StartFailed {
        /// What was tried and what happened, cleaned.
        error: String,
    },
    /// The server process ended.
    Died {
        /// How, and the last line of its standard error, cleaned.
        how: String,
    },
    /// The file could not be read.
    Unreadable {
        /// Why.
        error: String,
    },
}

/// One plain sentence about a server, told at most once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// The name of the server in the table.
    pub server: String,
    /// What happened, cleaned and bounded.
    pub text: String,
}

/// When things happened in a call, for profiles. Times are on the driver's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timings {
    /// The call came in.
    pub asked: wire::Time,
    /// The server process was asked for, if this call started it.
    pub spawned: Option<wire::Time>,
    /// `initialize` was answered, if within this call.
    pub initialized: Option<wire::Time>,
    /// The text was queued for the server (`didOpen` or `didChange`).
    pub synced: Option<wire::Time>,
    /// The call was answered.
    pub answered: wire::Time,
}

/// The answer to one check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Report {
    /// Relative to the workspace, with `/`, under the name that was asked.
    pub path: String,
    /// How it ended.
    pub conclusion: Conclusion,
    /// Whether all that the required servers had to say is in: `false` beside `errors` means that some
    /// server had not concluded.
    pub complete: bool,
    /// The version of the text that was synced, if it was.
    pub version: Option<i32>,
    /// The hash of that text.
    pub text_hash: Option<TextHash>,
    /// How it is known that the findings are for that text; the weakest of all servers' evidence.
    pub known_by: Option<KnownBy>,
    /// Current findings, errors first, by place; at most [`crate::Policy::findings_max`].
    pub findings: Vec<Finding>,
    /// How many current findings there are, shown or not.
    pub counts: Counts,
    /// What was known of an earlier text, when there is no conclusion about this one.
    pub told_before: Option<ToldBefore>,
    /// Why it ended as it did, where that needs saying.
    pub reason: Option<Reason>,
    /// Notices about servers, each told once per loop.
    pub notes: Vec<Note>,
    /// From the call to its answer.
    pub waited: Duration,
    /// When things happened.
    pub timings: Timings,
    /// What justifies it, one certificate per server that concluded.
    pub certificates: Vec<Certificate>,
    /// The file's place on disk, for hosts.
    #[serde(skip)]
    pub file: PathBuf,
    #[serde(skip)]
    pub(crate) faults: crate::fault::Faults,
}

//! The adapter protocol, version 1: JSON Lines by which anybody's loop is driven. The simulated world
//! speaks in the same types, so that a scenario means the same in both.
//!
//! `docs/adapter-protocol.md` is its description for implementers.

use serde::{Deserialize, Serialize};

pub mod reference;

/// Version of the protocol, in `start`.
pub const PROTOCOL_VERSION: u32 = 1;

/// One line from the judge to the loop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// Chosen by the judge; the answer carries it.
    pub id: u64,
    /// What is asked.
    #[serde(flatten)]
    pub op: Op,
}

/// What a judge asks of a loop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "kebab-case")]
pub enum Op {
    /// The first line: the workspace, the budget, the servers. `path`s of later lines are relative to `root`.
    Start(Start),
    /// A file was edited; the new text is on disk. The answer is the loop's feedback.
    Edit {
        /// Relative to the root.
        path: String,
    },
    /// A file is read: warm up, without waiting.
    Read {
        /// Relative to the root.
        path: String,
    },
    /// A file is no longer of interest.
    Close {
        /// Relative to the root.
        path: String,
    },
    /// A file was deleted from disk.
    Delete {
        /// Relative to the root.
        path: String,
    },
    /// Results that came after their call had ended and still hold.
    Late,
    /// End an earlier call.
    Cancel {
        /// The id of that call.
        call: u64,
    },
    /// The next turn of the model begins: what a passive loop would deliver now.
    Turn,
    /// Asked before a file lands on disk, with the text to come.
    Write {
        /// Relative to the root.
        path: String,
        /// The text that will be written.
        text: String,
    },
    /// The last line: shut down. Nothing may be left running.
    Stop,
}

/// The facts of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Start {
    /// [`PROTOCOL_VERSION`].
    pub protocol: u32,
    /// Absolute path of the workspace.
    pub root: String,
    /// The longest that a call may take, in milliseconds.
    pub budget_ms: u64,
    /// The longest wait for `initialize`, in milliseconds, if it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initialize_budget_ms: Option<u64>,
    /// The longest wait of a server's first call once it is ready, in milliseconds, if it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_budget_ms: Option<u64>,
    /// The servers to use, and no others.
    pub servers: Vec<Server>,
}

/// One server of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Server {
    /// Its name.
    pub name: String,
    /// Program and arguments.
    pub command: Vec<String>,
    /// Extensions with the dot.
    pub extensions: Vec<String>,
    /// The language id for these.
    pub language_id: String,
    /// What `workspace/configuration` is answered from.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    pub settings: serde_json::Value,
    /// `initializationOptions`.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    pub initialization_options: serde_json::Value,
    /// Whether a conclusion needs this server; if absent, it does.
    #[serde(default = "yes", skip_serializing_if = "Clone::clone")]
    pub required: bool,
}

fn yes() -> bool {
    true
}

/// One line from the loop to the judge.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The id of the request.
    pub id: u64,
    /// Whether the request was carried out.
    pub ok: bool,
    /// If not: why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// To `start`: who answers.
    #[serde(default, rename = "loop", skip_serializing_if = "Option::is_none")]
    pub about: Option<About>,
    /// To `start`: what the loop can tell, of `conclusion`, `findings`, `late`, `read`, `certificates`, ….
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub can: Vec<String>,
    /// To `edit` and within `late`: everything that is told of one file.
    #[serde(flatten)]
    pub feedback: Feedback,
    /// To `late` and `turn`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late: Option<Vec<Feedback>>,
}

/// Who answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct About {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// Feedback on one file. A loop leaves out what it does not know; `text` is exactly what it would give
/// its model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Feedback {
    /// The file that was asked about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// One of `errors`, `pending`, `unavailable`, `clean`, `uncovered`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conclusion: Option<feedback::Conclusion>,
    /// Whether every required server has concluded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub complete: Option<bool>,
    /// How it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known_by: Option<feedback::KnownBy>,
    /// Why it ended so: the kebab-case name of a reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What the model is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// From the call to the answer, in milliseconds, by the loop's own clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited_ms: Option<f64>,
    /// Current findings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub findings: Option<Vec<Finding>>,
    /// How many current errors there are, shown or not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errors: Option<u64>,
    /// Findings of an earlier text, labelled as such.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told_before: Option<Vec<Finding>>,
    /// Notices about servers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What justifies it, if the loop can say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub certificates: Vec<feedback::Certificate>,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The file, relative to the root.
    pub path: String,
    /// One-based.
    pub line: u32,
    /// One-based, in Unicode scalar values.
    pub column: u32,
    /// `error`, `warning`, `information` or `hint`.
    pub severity: feedback::Severity,
    /// The code, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The message.
    pub message: String,
}

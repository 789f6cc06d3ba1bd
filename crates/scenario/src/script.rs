//! Scripts of fake servers: what a server announces, what it keeps, and rules that say what it does
//! upon which message. [`Script`] is checked; the file's own shape is in [`file`]. `fake-lsp` runs it.

mod check;
pub mod file;
#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;

use serde::Deserialize;
use serde_json::Value;

pub use file::ScriptFile;

use crate::error::{ParseError, Source, parse_toml};
use crate::value::{Count, Duration, written_as_text};

/// Rules of one script at most.
pub const RULES_MAX: usize = 256;
/// Actions of one rule at most.
pub const ACTIONS_MAX: usize = 256;

/// A checked script.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    /// Under which name it was parsed.
    pub name: String,
    /// What this server does, in one sentence.
    pub summary: String,
    /// What it keeps, so that a judge knows what its evidence is worth.
    pub keeps: Vec<Keep>,
    /// Whether findings carry the tag of the text that they came from.
    pub tags: bool,
    /// What it announces.
    pub capabilities: file::Capabilities,
    /// In order: the first that matches a message is carried out.
    pub rules: Vec<Rule>,
}

impl Script {
    /// Parses and checks a script.
    ///
    /// # Errors
    /// The first mistake, with its place and what was expected there.
    pub fn parse(name: &str, text: &str) -> Result<Self, ParseError> {
        let file = parse_toml::<ScriptFile>(name, text)?;
        Self::check(name, file, &Source::new(name, text))
    }

    /// Checks a script that stands inside a larger file; spans point into `source`.
    ///
    /// # Errors
    /// The first mistake, with its place and what was expected there.
    pub fn check(name: &str, file: ScriptFile, source: &Source) -> Result<Self, ParseError> {
        check::script(name, file, source)
    }

    /// The settle time that the script keeps, if it keeps one.
    #[must_use]
    pub fn settles(&self) -> Option<std::time::Duration> {
        self.keeps.iter().find_map(|keep| match keep {
            Keep::Settles(settle) => Some(settle.get()),
            _ => None,
        })
    }

    /// Whether the script keeps this.
    #[must_use]
    pub fn keeps(&self, keep: Keep) -> bool {
        self.keeps.contains(&keep)
    }
}

/// The JSON Schema of script files, for editors.
#[must_use]
pub fn script_schema() -> Value {
    schemars::schema_for!(ScriptFile).to_value()
}

/// Something that a server keeps: evidence of that kind may be believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// The version of a push is that of the text it was made from.
    Versions,
    /// The full answer to a pull is about the newest text that was sent before the pull; with
    /// `ready-signal`, once the server is ready.
    PullCurrent,
    /// One result per text and channel, never a second one that differs.
    OneResult,
    /// After this long without a result for a document, none follows until something changes.
    Settles(Duration),
    /// Until it is ready it says so (progress under way), and asks for a refresh, or publishes, then.
    ReadySignal,
    /// A text that leaves the findings as they were is published all the same.
    Republishes,
}

impl FromStr for Keep {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(settle) = text.strip_prefix("settles:") {
            return settle.parse().map(Self::Settles);
        }
        match text {
            "versions" => Ok(Self::Versions),
            "pull-current" => Ok(Self::PullCurrent),
            "one-result" => Ok(Self::OneResult),
            "ready-signal" => Ok(Self::ReadySignal),
            "republishes" => Ok(Self::Republishes),
            _ => Err(format!(
                "nothing that a server can keep is called {text:?}, expected one of \"versions\", \"pull-current\", \
                 \"one-result\", \"settles: 300ms\", \"ready-signal\", \"republishes\""
            )),
        }
    }
}

impl fmt::Display for Keep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Versions => f.write_str("versions"),
            Self::PullCurrent => f.write_str("pull-current"),
            Self::OneResult => f.write_str("one-result"),
            Self::Settles(settle) => write!(f, "settles: {settle}"),
            Self::ReadySignal => f.write_str("ready-signal"),
            Self::Republishes => f.write_str("republishes"),
        }
    }
}

written_as_text!(Keep, "Keep", "something that a server keeps, such as \"versions\"", {
    "type": "string",
    "description": "Something that the server keeps, so that evidence of that kind may be believed.",
    "anyOf": [
        { "enum": ["versions", "pull-current", "one-result", "ready-signal", "republishes"] },
        { "pattern": r"^settles:\s*[0-9]+(\.[0-9]{1,6})? *(us|ms|s)$" }
    ]
});

/// Upon which message, what is done.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// What happened.
    pub on: Trigger,
    /// The n-th message that meets the other conditions.
    pub count: Option<Count>,
    /// The n-th start of this server.
    pub instance: Option<Count>,
    /// A glob or suffix of the document's URI.
    pub document: Option<String>,
    /// The document's version after the message.
    pub version: Option<i64>,
    /// The server's state (at first `start`).
    pub state: Option<String>,
    /// Words that the document's text holds after the message.
    pub text: Option<String>,
    /// Whether later rules are looked at as well.
    pub also: bool,
    /// What is done, one after the other.
    pub actions: Vec<Action>,
}

/// What sets a rule off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// A request or a notification of this method.
    Method(String),
    /// Any request or notification.
    Any,
    /// The process has started.
    Start,
    /// The standard input was closed.
    StdinClosed,
    /// The process is asked to end (`SIGTERM`).
    Terminate,
}

/// One thing to do, and when.
#[derive(Clone, Debug, PartialEq)]
pub struct Action {
    /// What.
    pub verb: Verb,
    /// Not before this long after the trigger.
    pub after: std::time::Duration,
    /// A seeded extra delay, uniform from zero to this.
    pub jitter: std::time::Duration,
    /// Not before this gate is open.
    pub until: Option<String>,
    /// Dropped if the document has changed since the trigger.
    pub cancel_on_change: bool,
    /// How the bytes are cut, for verbs that write.
    pub split: Option<file::Split>,
}

/// What an action does.
#[derive(Clone, Debug, PartialEq)]
pub enum Verb {
    /// Sends `textDocument/publishDiagnostics`.
    Publish {
        /// Which findings.
        what: Publish,
        /// Under which version.
        version: PublishVersion,
        /// For which document, if not the trigger's.
        document: Option<String>,
    },
    /// Answers the request that set the rule off.
    Answer(Answer),
    /// Answers it with this result.
    Result(Value),
    /// Answers it with an error.
    Error(wire::ResponseError),
    /// Leaves out what the server would do by default.
    Ignore,
    /// Sends a notification.
    Notify {
        /// Its method.
        method: String,
        /// Its parameters.
        params: Option<Value>,
    },
    /// Sends a request.
    Request {
        /// Its method.
        method: String,
        /// Its parameters.
        params: Option<Value>,
        /// Its id, if not the next number.
        id: Option<wire::Id>,
        /// Whether the rest of the list waits for the answer.
        wait: bool,
    },
    /// Sends `$/progress`.
    Progress {
        /// Which part of it.
        kind: file::Progress,
        /// The token.
        token: wire::Id,
        /// What is shown.
        title: String,
    },
    /// Sends `workspace/diagnostic/refresh`, if the client announced it.
    Refresh,
    /// Sends `window/logMessage`.
    Log(String),
    /// Writes to the standard error.
    Stderr(String),
    /// Writes a text to the standard output without a frame.
    RawText(String),
    /// Writes bytes to the standard output without a frame.
    RawBytes(Vec<u8>),
    /// Writes a text to the standard output in a right frame.
    Frame(String),
    /// Writes very much.
    Flood(file::Flood),
    /// Reads nothing further from the standard input.
    StopReading,
    /// Reads again.
    ResumeReading,
    /// Closes the standard output and lives on.
    CloseStdout,
    /// Ends with this code.
    Exit(i32),
    /// Ends as by `SIGKILL`.
    Die,
    /// Goes into a state.
    State(String),
    /// Opens a gate.
    Open(String),
}

/// Which findings are published.
#[derive(Clone, Debug, PartialEq)]
pub enum Publish {
    /// Those of the text at the moment of sending.
    Current,
    /// Those of the text before.
    Previous,
    /// None.
    Empty,
    /// These: a JSON array of diagnostics.
    Literal(Vec<Value>),
}

impl FromStr for Publish {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "current" => Ok(Self::Current),
            "previous" => Ok(Self::Previous),
            "empty" => Ok(Self::Empty),
            _ if text.trim_start().starts_with('[') => serde_json::from_str(text)
                .map(Self::Literal)
                .map_err(|error| format!("not a JSON array: {error}, expected diagnostics")),
            _ => Err(format!(
                "{text:?} cannot be published, expected \"current\", \"previous\", \"empty\" or a JSON array of diagnostics"
            )),
        }
    }
}

written_as_text!(Publish, "Publish", "\"current\", \"previous\", \"empty\" or a JSON array", {
    "type": "string",
    "description": "Which findings: of the text at the moment of sending, of the text before, none, or these (JSON).",
    "pattern": r"^(current|previous|empty|\s*\[[\s\S]*\]\s*)$"
});

/// The version under which findings are published.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PublishVersion {
    /// The document's at the moment of sending.
    #[default]
    Current,
    /// The one before it.
    Previous,
    /// No member `version`.
    None,
    /// `"version": null`.
    Null,
    /// The document's plus this.
    Offset(i64),
    /// Always this.
    Constant(i64),
}

impl FromStr for PublishVersion {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |digits: &str| digits.parse::<i32>().ok().map(i64::from);
        let parsed = match text {
            "current" => Some(Self::Current),
            "previous" => Some(Self::Previous),
            "none" => Some(Self::None),
            "null" => Some(Self::Null),
            _ if text.starts_with(['+', '-']) => number(text).map(Self::Offset),
            _ => text.strip_prefix('=').and_then(number).map(Self::Constant),
        };
        parsed.ok_or_else(|| {
            format!(
                "{text:?} is not a version to publish, expected \"current\", \"previous\", \"none\", \"null\", an offset \
                 such as \"+1\" or a constant such as \"=7\""
            )
        })
    }
}

written_as_text!(PublishVersion, "PublishVersion", "a version to publish such as \"current\"", {
    "type": "string",
    "description": "The version sent: \"current\", \"previous\", \"none\", \"null\", \"+1\", \"=7\".",
    "pattern": r"^(current|previous|none|null|[+=-]-?[0-9]+)$"
});

/// How a request is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// As the server would by default.
    Default,
    /// A full report of the text at the moment of sending.
    Full,
    /// A full report of the text before.
    FullPrevious,
    /// A full report without findings.
    FullEmpty,
    /// An `unchanged` report.
    Unchanged,
    /// `null`.
    Null,
}

//! A script file as it is written: every table with its fields, none of them free. An action is one
//! table with exactly one verb; the checks that need more than types are next door.

use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;

use super::{Answer, Keep, Publish, PublishVersion};
use crate::value::{Count, Duration, Flag, Json, RequestId};

/// A script of a fake language server.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScriptFile {
    /// What this server does, in one sentence.
    pub summary: String,
    /// What it keeps, so that evidence of that kind may be believed.
    #[serde(default)]
    pub keeps: Vec<Keep>,
    /// Whether findings carry the tag of the text that they came from (default: true).
    #[serde(default = "yes")]
    pub tags: bool,
    /// What it announces.
    #[serde(default)]
    pub capabilities: Capabilities,
    /// Rules: the first that matches a message is carried out.
    #[serde(default)]
    #[schemars(with = "Vec<RuleFile>")]
    pub on: Vec<Spanned<RuleFile>>,
}

fn yes() -> bool {
    true
}

/// What the server announces in its answer to `initialize`.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Capabilities {
    /// How changes are to be sent.
    pub sync: Sync,
    /// Whether opening and closing are to be told.
    pub open_close: bool,
    /// Whether saving is to be told.
    pub save: bool,
    /// Whether diagnostics can be pulled, and how.
    pub pull: Option<Pull>,
    /// The position encoding, taken if the client offers it (else UTF-16).
    pub position_encoding: Encoding,
    /// JSON merged into the result of `initialize`.
    pub extra: Option<Json>,
}

impl Default for Capabilities {
    fn default() -> Self {
        Self {
            sync: Sync::Incremental,
            open_close: true,
            save: false,
            pull: None,
            position_encoding: Encoding::Utf16,
            extra: None,
        }
    }
}

/// `TextDocumentSyncKind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sync {
    /// Not at all.
    None,
    /// The whole text.
    Full,
    /// Ranges, or the whole text.
    Incremental,
}

/// `DiagnosticOptions`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Pull {
    /// The identifier of this provider.
    pub identifier: Option<String>,
    /// Whether one document's change can change another's findings.
    pub inter_file_dependencies: bool,
    /// Whether the whole workspace can be pulled.
    pub workspace_diagnostics: bool,
}

/// `PositionEncodingKind`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum Encoding {
    /// Columns in bytes.
    #[serde(rename = "utf-8")]
    Utf8,
    /// Columns in UTF-16 code units.
    #[default]
    #[serde(rename = "utf-16")]
    Utf16,
    /// Columns in Unicode scalar values.
    #[serde(rename = "utf-32")]
    Utf32,
}

/// Upon which message, what is done.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RuleFile {
    /// The method; or `*` for any, or `start`, `stdin-closed`, `terminate`.
    #[schemars(with = "String")]
    pub message: Spanned<String>,
    /// The n-th message that meets the other conditions.
    pub count: Option<Count>,
    /// The n-th start of this server.
    pub instance: Option<Count>,
    /// A glob (`*`, `?`) or the end of the document's URI.
    pub document: Option<String>,
    /// The document's version after the message.
    pub version: Option<i64>,
    /// The server's state (at first `start`).
    pub state: Option<String>,
    /// Words that the document's text holds after the message.
    pub text: Option<String>,
    /// Whether later rules are looked at as well.
    #[serde(default)]
    pub also: bool,
    /// What is done, one after the other.
    #[serde(rename = "do")]
    #[schemars(with = "Vec<ActionFile>", length(min = 1))]
    pub actions: Vec<Spanned<ActionFile>>,
}

/// One action: exactly one verb, and how and when it is done.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(transform = one_verb)]
pub struct ActionFile {
    /// Verb: publish diagnostics.
    pub publish: Option<Publish>,
    /// Verb: answer the request.
    pub answer: Option<Answer>,
    /// Verb: answer the request with this result.
    pub result: Option<Json>,
    /// Verb: answer the request with an error.
    pub error: Option<ErrorFile>,
    /// Verb: leave out what the server would do by default.
    pub ignore: Option<Flag>,
    /// Verb: send a notification.
    pub notify: Option<Notify>,
    /// Verb: send a request.
    pub request: Option<Request>,
    /// Verb: send `$/progress`; before `begin` the token is created if the client announced that.
    pub progress: Option<Progress>,
    /// Verb: send `workspace/diagnostic/refresh` if the client announced it.
    pub refresh: Option<Flag>,
    /// Verb: send `window/logMessage`.
    pub log: Option<String>,
    /// Verb: write to the standard error.
    pub stderr: Option<String>,
    /// Verb: write this text to the standard output, without a frame.
    pub raw: Option<String>,
    /// Verb: write these bytes (base64) to the standard output, without a frame.
    #[schemars(with = "Option<String>")]
    pub base64: Option<Spanned<String>>,
    /// Verb: write this text to the standard output, in a right frame.
    pub frame: Option<String>,
    /// Verb: write very much.
    pub flood: Option<Flood>,
    /// Verb: read nothing further.
    pub stop_reading: Option<Flag>,
    /// Verb: read again.
    pub resume_reading: Option<Flag>,
    /// Verb: close the standard output and live on.
    pub close_stdout: Option<Flag>,
    /// Verb: end with this code.
    #[schemars(range(min = 0, max = 255))]
    pub exit: Option<u8>,
    /// Verb: end as by `SIGKILL`.
    pub die: Option<Flag>,
    /// Verb: go into a state.
    pub state: Option<String>,
    /// Verb: open a gate, for actions of other rules that wait for it.
    pub open: Option<String>,

    /// With `publish`: under which version (default: `current`).
    pub version: Option<PublishVersion>,
    /// With `publish`: for this document instead of the message's; a path below the root.
    pub document: Option<String>,
    /// With `progress`: the token (default: `work`).
    pub token: Option<RequestId>,
    /// With `progress`: what is shown.
    pub title: Option<String>,

    /// Not before this long after the message.
    pub after: Option<Duration>,
    /// An extra delay, uniform from zero to this, drawn from the seed.
    pub jitter: Option<Duration>,
    /// Not before this gate is open: the judge opens it, or the verb `open`.
    pub until: Option<String>,
    /// Dropped if the document has changed since the message.
    #[serde(default)]
    pub cancel_on_change: bool,
    /// With a verb that writes to the standard output: how the bytes are cut.
    pub split: Option<Split>,
}

/// The verbs of an action, in the order in which they stand above.
pub(super) const VERBS: [&str; 22] = [
    "publish",
    "answer",
    "result",
    "error",
    "ignore",
    "notify",
    "request",
    "progress",
    "refresh",
    "log",
    "stderr",
    "raw",
    "base64",
    "frame",
    "flood",
    "stop_reading",
    "resume_reading",
    "close_stdout",
    "exit",
    "die",
    "state",
    "open",
];

/// Says in the schema what the parser checks: exactly one verb.
fn one_verb(schema: &mut schemars::Schema) {
    let one_of: Vec<_> = VERBS.iter().map(|verb| serde_json::json!({ "required": [verb] })).collect();
    schema.insert("oneOf".to_owned(), one_of.into());
}

/// The error of a response.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ErrorFile {
    /// The code, such as -32802.
    pub code: i64,
    /// The message.
    #[serde(default)]
    pub message: String,
    /// The data.
    pub data: Option<Json>,
}

/// A notification.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Notify {
    /// The method.
    pub method: String,
    /// The parameters.
    pub params: Option<Json>,
}

/// A request to the client.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The method.
    pub method: String,
    /// The parameters.
    pub params: Option<Json>,
    /// The id (default: the next number).
    pub id: Option<RequestId>,
    /// Whether the rest of the list waits for the answer.
    #[serde(default, rename = "await")]
    pub wait: bool,
}

/// Which part of a progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Progress {
    /// It begins.
    Begin,
    /// It goes on.
    Report,
    /// It has ended.
    End,
}

/// Very much of something. It is made while it is written, never held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flood {
    /// Of what.
    pub what: FloodOf,
    /// How many.
    #[schemars(range(min = 1, max = 10_000_000))]
    pub count: u32,
}

/// What a flood consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FloodOf {
    /// Publishes of the document's current findings.
    Publish,
    /// Findings, the document's repeated, in one publish.
    Findings,
    /// `window/logMessage` notifications.
    Log,
    /// Lines on the standard error.
    Stderr,
}

/// How bytes are cut into writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Split {
    /// Bytes per write.
    #[schemars(range(min = 1))]
    pub bytes: u32,
    /// The pause between two writes (default: none).
    #[serde(default)]
    pub pause: Duration,
}

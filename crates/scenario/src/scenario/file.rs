//! A scenario file as it is written: every table with its fields, none of them free. A step is one table
//! with exactly one verb; the checks that need more than types are next door.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, DeserializeOwned, Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use toml::Spanned;

use crate::script::ScriptFile;
use crate::value::{Duration, DurationRange, Flag, Json};

/// A scenario: servers, steps, and what must be seen.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScenarioFile {
    /// What happens, in one sentence.
    pub summary: String,
    /// The law that it is about.
    #[schemars(with = "ScenarioLaw")]
    pub law: Spanned<ScenarioLaw>,
    /// The one server, by the name of its script.
    #[schemars(with = "Option<String>")]
    pub server: Option<Spanned<String>>,
    /// The one server, by its script itself.
    #[schemars(with = "Option<ScriptFile>")]
    pub script: Option<Spanned<ScriptFile>>,
    /// Several servers.
    #[serde(default)]
    #[schemars(with = "Vec<ServerFile>")]
    pub servers: Vec<Spanned<ServerFile>>,
    /// Where it runs (default: both worlds).
    #[serde(default)]
    #[schemars(with = "Option<Worlds>")]
    pub world: Option<Spanned<Worlds>>,
    /// Why it doesn't run in both worlds.
    pub reason: Option<String>,
    /// Where the behaviour was seen in public, such as `neovim/neovim#41524`.
    #[serde(default)]
    pub seen: Vec<String>,
    /// What the loop is allowed.
    #[serde(default)]
    #[schemars(with = "Option<BudgetFile>")]
    pub budget: Option<Spanned<BudgetFile>>,
    /// What `workspace/configuration` is answered from, for the one server: JSON.
    pub settings: Option<Json>,
    /// What happens, one after the other.
    #[serde(default)]
    #[schemars(with = "Vec<StepFile>")]
    pub step: Vec<Spanned<StepFile>>,
    /// What must be seen of the whole run.
    #[serde(default)]
    pub expect: RunExpectFile,
}

/// The laws of loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ScenarioLaw {
    /// Reports as current only what the server said about the newest text.
    Freshness,
    /// Says clean only when the server concluded.
    Honesty,
    /// Answers within its budget, with bounded output.
    Bounds,
    /// Loses no error of the newest text.
    Completeness,
    /// Keeps the server's copy equal to the file.
    Sync,
    /// Never fails an edit because of a server; leaves nothing behind.
    Isolation,
    /// Delivers late results that still hold; comes back after a crash.
    Recovery,
    /// Passes on nothing that could harm its reader.
    Safety,
    /// Says nothing twice and keeps its caps.
    Economy,
}

impl ScenarioLaw {
    /// Its name, as it is written.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Freshness => "freshness",
            Self::Honesty => "honesty",
            Self::Bounds => "bounds",
            Self::Completeness => "completeness",
            Self::Sync => "sync",
            Self::Isolation => "isolation",
            Self::Recovery => "recovery",
            Self::Safety => "safety",
            Self::Economy => "economy",
        }
    }
}

/// Where a scenario runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Worlds {
    /// With a virtual clock, and over real processes.
    #[default]
    Both,
    /// With a virtual clock only.
    Simulated,
    /// Over real processes only.
    Real,
}

/// One server of several.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServerFile {
    /// Its name, by which the loop knows it.
    pub name: String,
    /// The name of its script.
    #[schemars(with = "Option<String>")]
    pub server: Option<Spanned<String>>,
    /// Its script itself.
    #[schemars(with = "Option<ScriptFile>")]
    pub script: Option<Spanned<ScriptFile>>,
    /// Its program is not there.
    pub missing: Option<Flag>,
    /// Extensions of the files that it covers, with the dot (default: `.fake`).
    pub extensions: Option<Vec<String>>,
    /// What `workspace/configuration` is answered from: JSON.
    pub settings: Option<Json>,
    /// Whether a conclusion needs it (default: true).
    #[serde(default = "yes")]
    pub required: bool,
}

fn yes() -> bool {
    true
}

/// How long the loop may take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BudgetFile {
    /// For the answer to `initialize` (default: `1s`).
    pub initialize: Option<Duration>,
    /// For a server's first call (default: `400ms`).
    pub first: Option<Duration>,
    /// For every other call (default: `400ms`).
    pub call: Option<Duration>,
}

/// One step: exactly one verb, and what must be seen.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StepFile {
    /// Verb: write a file, and ask for feedback on it.
    pub edit: Option<TextFile>,
    /// Verb: write a file; the loop is not told.
    pub write: Option<TextFile>,
    /// Verb: ask for feedback on a file as it is.
    pub check: Option<PathFile>,
    /// Verb: tell that a file is being read.
    pub read: Option<PathFile>,
    /// Verb: tell that a file is no longer of interest.
    pub close: Option<PathFile>,
    /// Verb: remove a file and tell so.
    pub delete: Option<PathFile>,
    /// Verb: ask for results that came after their call.
    pub late: Option<Flag>,
    /// Verb: let time pass.
    pub wait: Option<Duration>,
    /// Verb: open a gate that a script waits for.
    pub gate: Option<String>,
    /// Verb: kill a server from outside.
    pub kill: Option<String>,
    /// Verb: end the call that was started under this label.
    pub cancel: Option<String>,
    /// Verb: await the call that was started under this label.
    #[serde(rename = "await")]
    pub await_call: Option<String>,
    /// Verb: wait until servers have sent or received so many messages.
    pub message: Option<MessageFile>,
    /// Beside `edit` or `check`: don't await the answer, but keep it under this label.
    pub start: Option<String>,
    /// What must be seen in the answer.
    pub expect: Option<ExpectFile>,
}

/// A file with its text.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TextFile {
    /// Relative to the workspace, with `/`.
    pub path: String,
    /// Its text.
    pub text: String,
    /// The text so many times, with `{n}` replaced by 1, 2, 3, ….
    pub repeat: Option<u32>,
    /// Stands once before the repeated text.
    #[serde(default)]
    pub head: String,
    /// Stands once behind the repeated text.
    #[serde(default)]
    pub tail: String,
}

/// A file.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PathFile {
    /// Relative to the workspace, with `/`.
    pub path: String,
}

/// Which way a message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// From the loop.
    ToServer,
    /// To the loop.
    ToClient,
}

/// A number of messages.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MessageFile {
    /// The method of the request or notification; `answer:METHOD` means answers to it.
    pub method: String,
    /// Which way.
    pub dir: Direction,
    /// Exactly so many; as a step: at least so many.
    pub count: Option<u64>,
    /// At least so many.
    pub at_least: Option<u64>,
    /// At most so many.
    pub at_most: Option<u64>,
}

/// What must be seen of the whole run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RunExpectFile {
    /// How many processes were started.
    pub starts: Option<u64>,
    /// How many messages went over the wire.
    #[schemars(with = "Vec<MessageFile>")]
    pub messages: Vec<Spanned<MessageFile>>,
}

/// What must be seen in an answer.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ExpectFile {
    /// The conclusion, or several that are allowed.
    pub conclusion: OneOrMany<ExpectedConclusion>,
    /// Exactly these codes of errors, without their tags, in any order.
    pub codes: Option<Vec<String>>,
    /// Exactly these codes of milder findings.
    pub warnings: Option<Vec<String>>,
    /// None of these codes, anywhere in the answer.
    pub not_codes: Vec<String>,
    /// How it is known.
    pub known_by: Option<ExpectedKnownBy>,
    /// How long it took; asserted in the simulated world only.
    pub waited: Option<DurationRange>,
    /// Exactly these codes, labelled as told before.
    pub told_before: Option<Vec<String>>,
    /// Whether every required server had concluded.
    pub complete: Option<bool>,
    /// The reason, or several that are allowed, by their names such as `silent`.
    pub reason: OneOrMany<String>,
    /// Words that some note holds.
    pub note: Option<String>,
    /// At most so many notes.
    pub notes_max: Option<usize>,
    /// Words that the text holds.
    pub text_has: OneOrMany<String>,
    /// Words that the text does not hold.
    pub text_lacks: OneOrMany<String>,
    /// The number of errors that are counted rather than shown.
    pub more: Option<u64>,
    /// At most so many lines of text.
    pub lines_max: Option<usize>,
    /// Line and column of the first finding, from 1, in Unicode scalar values.
    pub position: Option<[u32; 2]>,
    /// The loop refuses the operation.
    pub refused: Option<Flag>,
}

/// The five conclusions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ExpectedConclusion {
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

impl ExpectedConclusion {
    /// Its name, as it is written.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Errors => "errors",
            Self::Pending => "pending",
            Self::Unavailable => "unavailable",
            Self::Clean => "clean",
            Self::Uncovered => "uncovered",
        }
    }
}

/// How a result is known to be of the newest text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ExpectedKnownBy {
    /// A push named the newest version.
    Versioned,
    /// A pull was answered.
    Pulled,
    /// It settled.
    Inferred,
}

impl ExpectedKnownBy {
    /// Its name, as it is written.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Versioned => "versioned",
            Self::Pulled => "pulled",
            Self::Inferred => "inferred",
        }
    }
}

/// One value, or a list of them.
#[derive(Clone, Debug, PartialEq)]
pub struct OneOrMany<T>(pub Vec<T>);

impl<T> Default for OneOrMany<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OneOrManyVisitor(std::marker::PhantomData))
    }
}

struct OneOrManyVisitor<T>(std::marker::PhantomData<T>);

impl<'de, T: DeserializeOwned> Visitor<'de> for OneOrManyVisitor<T> {
    type Value = OneOrMany<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string or a list of strings")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        T::deserialize(de::value::StrDeserializer::new(text)).map(|one| OneOrMany(vec![one]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut many = Vec::new();
        while let Some(one) = list.next_element()? {
            many.push(one);
        }
        Ok(OneOrMany(many))
    }
}

impl<T: JsonSchema> JsonSchema for OneOrMany<T> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("OneOrMany_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let one = generator.subschema_for::<T>();
        json_schema!({ "anyOf": [one, { "type": "array", "items": one }] })
    }
}

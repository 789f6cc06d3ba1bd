//! Scenarios: which servers, which steps, and what must be seen. [`Scenario`] is checked; the file's own
//! shape is in [`file`]. `assay` runs it, in the world or worlds that it names.

mod check;
pub mod file;

use std::ops::Range;
use std::time::Duration;

use serde_json::Value;

pub use file::{Direction, ExpectedConclusion, ExpectedKnownBy, ScenarioFile, ScenarioLaw, Worlds};

use crate::error::{ParseError, Source, parse_toml};
use crate::script::Script;
use crate::value::DurationRange;

/// Steps of one scenario at most.
pub const STEPS_MAX: usize = 64;
/// Bytes of one text of a scenario at most, after repetition.
pub const TEXT_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Longest budget of a call, where real processes are waited for.
pub const REAL_BUDGET_MAX: Duration = Duration::from_millis(500);

/// A checked scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// `law/name`.
    pub id: String,
    /// What happens, in one sentence.
    pub summary: String,
    /// The law that it is about.
    pub law: ScenarioLaw,
    /// Where it runs.
    pub worlds: Worlds,
    /// Why not in both worlds, if so.
    pub reason: Option<String>,
    /// Where the behaviour was seen in public, such as `neovim/neovim#41524`.
    pub seen: Vec<String>,
    /// What the loop is allowed.
    pub budget: Budget,
    /// The servers, in order of preference.
    pub servers: Vec<ServerSetup>,
    /// What happens, one after the other.
    pub steps: Vec<Step>,
    /// What must be seen of the whole run.
    pub expect: RunExpect,
}

impl Scenario {
    /// Parses and checks a scenario. Names of scripts are not looked up: see [`Scenario::check_scripts`].
    ///
    /// # Errors
    /// The first mistake, with its place and what was expected there.
    pub fn parse(id: &str, text: &str) -> Result<Self, ParseError> {
        let file = parse_toml::<ScenarioFile>(id, text)?;
        check::scenario(id, file, &Source::new(id, text))
    }

    /// Checks that every script that is named is one of `known`. `text` is what the scenario was parsed from.
    ///
    /// # Errors
    /// The first name that is not known, with its place and the names that are.
    pub fn check_scripts(&self, text: &str, known: &[&str]) -> Result<(), ParseError> {
        for server in &self.servers {
            let ServerScript::Named { name, span } = &server.script else { continue };
            if !known.contains(&name.as_str()) {
                let expected = format!("expected one of {}", known.join(", "));
                let source = Source::new(&self.id, text);
                return Err(source.error_at(span.clone(), format!("no script is called {name:?}"), expected));
            }
        }
        Ok(())
    }

    /// Whether it runs in the simulated world.
    #[must_use]
    pub fn is_simulated(&self) -> bool {
        self.worlds != Worlds::Real
    }

    /// Whether it runs over real processes.
    #[must_use]
    pub fn is_real(&self) -> bool {
        self.worlds != Worlds::Simulated
    }
}

/// The JSON Schema of scenario files, for editors.
#[must_use]
pub fn scenario_schema() -> Value {
    schemars::schema_for!(ScenarioFile).to_value()
}

/// How long the loop may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// For the answer to `initialize`, from the start of the server.
    pub initialize: Duration,
    /// For a server's first call, from the moment it is ready.
    pub first: Duration,
    /// For every other call.
    pub call: Duration,
}

/// One server of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerSetup {
    /// Its name, by which the loop knows it.
    pub name: String,
    /// What it does.
    pub script: ServerScript,
    /// Extensions of the files that it covers, with the dot.
    pub extensions: Vec<String>,
    /// What `workspace/configuration` is answered from; null if there are no settings.
    pub settings: Value,
    /// Whether a conclusion needs it.
    pub required: bool,
}

/// Where a server's script is.
#[derive(Clone, Debug, PartialEq)]
pub enum ServerScript {
    /// One that is known by name.
    Named {
        /// The name.
        name: String,
        /// Where it stands in the scenario, in bytes.
        span: Range<usize>,
    },
    /// One that stands in the scenario.
    Inline {
        /// The checked script.
        script: Box<Script>,
        /// The script as TOML, for a process that reads it from a file.
        text: String,
    },
    /// The program is not there.
    Missing,
}

/// One step.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// What happens.
    pub verb: Verb,
    /// If set, the answer is not awaited here but by a later `await` of this label.
    pub start: Option<String>,
    /// What must be seen in the answer.
    pub expect: Option<Expect>,
    /// The line of the scenario on which it stands, from 1.
    pub line: usize,
}

/// What happens in a step.
#[derive(Clone, Debug, PartialEq)]
pub enum Verb {
    /// Writes a file and asks for feedback on it.
    Edit(FileText),
    /// Writes a file; the loop is not told.
    Write(FileText),
    /// Asks for feedback on a file as it is.
    Check(String),
    /// Tells that a file is being read.
    Read(String),
    /// Tells that a file is no longer of interest.
    Close(String),
    /// Removes a file and tells so.
    Delete(String),
    /// Asks for results that came after their call.
    Late,
    /// Lets time pass.
    Wait(Duration),
    /// Opens a gate that a script waits for.
    Gate(String),
    /// Kills a server from outside and waits until it has ended.
    Kill(String),
    /// Ends the call that was started under this label.
    Cancel(String),
    /// Awaits the call that was started under this label.
    Await(String),
    /// Waits until servers have sent or received so many messages.
    Message(MessageCount),
}

/// A file with its whole text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileText {
    /// Relative to the workspace, with `/`.
    pub path: String,
    /// The text.
    pub text: String,
}

/// A number of messages of one method, over all servers and all their starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageCount {
    /// The method of the request or notification; `answer:METHOD` means answers to it.
    pub method: String,
    /// Which way.
    pub dir: Direction,
    /// At least so many.
    pub count_min: u64,
    /// At most so many, if there is an end.
    pub count_max: Option<u64>,
}

/// What must be seen in an answer. What is `None` or empty is not asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Expect {
    /// One of these conclusions.
    pub conclusion: Vec<ExpectedConclusion>,
    /// Exactly these codes of errors, without their tags, in any order.
    pub codes: Option<Vec<String>>,
    /// Exactly these codes of milder findings.
    pub warnings: Option<Vec<String>>,
    /// None of these codes, anywhere in the answer.
    pub not_codes: Vec<String>,
    /// How it is known.
    pub known_by: Option<ExpectedKnownBy>,
    /// How long it took, in the simulated world.
    pub waited: Option<DurationRange>,
    /// Exactly these codes, labelled as told before.
    pub told_before: Option<Vec<String>>,
    /// Whether every required server had concluded.
    pub complete: Option<bool>,
    /// One of these reasons, by their kebab-case names.
    pub reason: Vec<String>,
    /// Words that some note holds.
    pub note: Option<String>,
    /// At most so many notes.
    pub notes_max: Option<usize>,
    /// Words that the text holds.
    pub text_has: Vec<String>,
    /// Words that the text does not hold.
    pub text_lacks: Vec<String>,
    /// The number of errors that are counted rather than shown.
    pub more: Option<u64>,
    /// At most so many lines.
    pub lines_max: Option<usize>,
    /// Line and column of the first finding, from 1, in Unicode scalar values.
    pub position: Option<(u32, u32)>,
    /// Whether the loop refuses the operation.
    pub refused: bool,
}

/// What must be seen of the whole run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunExpect {
    /// How many processes were started.
    pub starts: Option<u64>,
    /// How many messages went over the wire.
    pub messages: Vec<MessageCount>,
}

#[cfg(test)]
mod tests;

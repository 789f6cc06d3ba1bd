//! The scenarios that the project brings along, by id, and running them in the simulated world.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use include_dir::{Dir, include_dir};
use scenario::scenario::ServerScript;
use scenario::{ParseError, Scenario, Script};

use crate::results::{Check, WorldKind};
use crate::runner;
use crate::sim::{MakeSubject, SimWorld, reference};
use crate::world::HarnessError;

static SCENARIOS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../scenarios");

/// The text of every scenario that is built in, by id (`law/name`), sorted.
#[must_use]
pub fn texts() -> BTreeMap<String, &'static str> {
    let mut texts = BTreeMap::new();
    for folder in SCENARIOS.dirs() {
        for file in folder.files() {
            let path = file.path().to_string_lossy();
            if let (Some(id), Some(text)) = (path.strip_suffix(".toml"), file.contents_utf8()) {
                texts.insert(id.to_owned(), text);
            }
        }
    }
    texts
}

/// Every scenario that is built in, sorted by id.
///
/// # Errors
/// The first mistake in any of them, with its place.
pub fn embedded() -> Result<Vec<Scenario>, ParseError> {
    texts().iter().map(|(id, text)| parse(id, text)).collect()
}

/// Parses a scenario and looks up the scripts that it names.
///
/// # Errors
/// The first mistake, with its place.
pub fn parse(id: &str, text: &str) -> Result<Scenario, ParseError> {
    let scenario = Scenario::parse(id, text)?;
    scenario.check_scripts(text, &fake_lsp::names())?;
    Ok(scenario)
}

/// Why scenarios could not be had from files.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum LoadError {
    /// A file or a folder could not be read.
    #[error("cannot read {path}: {source}", path = path.display())]
    #[diagnostic(help("name a scenario file, or a folder with scenario files (*.toml)"))]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// There is nothing in a folder.
    #[error("{path} holds no scenario file (*.toml)", path = path.display())]
    Empty {
        /// Which.
        path: PathBuf,
    },
    /// A scenario is wrong.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Wrong(#[from] ParseError),
}

/// The scenario in a file, or those in a folder's files, sorted by name. Their ids are the files' paths.
///
/// # Errors
/// The first file that cannot be read, or the first mistake with its place.
pub fn from_path(path: &Path) -> Result<Vec<Scenario>, LoadError> {
    let unreadable = |path: &Path| {
        let path = path.to_owned();
        move |source| LoadError::Unreadable { path, source }
    };
    let mut files = vec![path.to_owned()];
    if path.is_dir() {
        let entries = std::fs::read_dir(path).map_err(unreadable(path))?;
        let paths: Result<Vec<PathBuf>, _> = entries.map(|entry| entry.map(|entry| entry.path())).collect();
        files = paths.map_err(unreadable(path))?;
        files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
        files.sort();
    }
    if files.is_empty() {
        return Err(LoadError::Empty { path: path.to_owned() });
    }
    let load = |file: &PathBuf| {
        let size = std::fs::metadata(file).map_err(unreadable(file))?.len();
        if size > FILE_BYTES_MAX {
            let source = std::io::Error::other(format!("{size} bytes are more than a scenario may have"));
            return Err(LoadError::Unreadable { path: file.clone(), source });
        }
        let name = file.to_string_lossy();
        let text = scenario::text_of(&name, std::fs::read(file).map_err(unreadable(file))?)?;
        Ok(parse(&name, &text)?)
    };
    files.iter().map(load).collect()
}

/// Bytes of one scenario file at most.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// A pattern that names no scenario.
#[derive(Debug, thiserror::Error)]
#[error("no scenario is called {pattern:?}{}", near.as_ref().map(|near| format!("; the nearest is {near}")).unwrap_or_default())]
pub struct Unknown {
    /// What was asked for.
    pub pattern: String,
    /// The scenario whose id is most like it.
    pub near: Option<String>,
}

/// The scenarios whose ids match some pattern: a prefix, or a glob with `*`. All of them without patterns.
///
/// # Errors
/// The first pattern that matches none.
pub fn select<'a>(scenarios: &'a [Scenario], patterns: &[String]) -> Result<Vec<&'a Scenario>, Unknown> {
    if let Some(pattern) = patterns.iter().find(|pattern| !scenarios.iter().any(|one| matches(pattern, &one.id))) {
        let near = scenarios.iter().max_by_key(|one| alike(pattern, &one.id)).map(|one| one.id.clone());
        return Err(Unknown { pattern: pattern.clone(), near });
    }
    let wanted = |id: &str| patterns.is_empty() || patterns.iter().any(|pattern| matches(pattern, id));
    Ok(scenarios.iter().filter(|one| wanted(&one.id)).collect())
}

/// Whether an id starts with a pattern; `*` stands for anything.
fn matches(pattern: &str, id: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| id.strip_prefix(first)) else { return false };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    true
}

/// How much two names have in common: the pairs of letters that stand in both.
fn alike(a: &str, b: &str) -> usize {
    a.as_bytes().windows(2).filter(|pair| b.as_bytes().windows(2).any(|other| other == *pair)).count()
}

/// Runs scenarios against the reference loop in the simulated world; those for the real world are left out.
#[must_use]
pub fn run_simulated(scenarios: &[&Scenario], seed: u64) -> Vec<Check> {
    run_simulated_with(scenarios, seed, &reference)
}

/// Runs scenarios against any subject in the simulated world.
#[must_use]
pub fn run_simulated_with(scenarios: &[&Scenario], seed: u64, make: &MakeSubject) -> Vec<Check> {
    let simulated = scenarios.iter().filter(|scenario| scenario.is_simulated());
    simulated.flat_map(|scenario| run_one(scenario, seed, make)).collect()
}

fn run_one(scenario: &Scenario, seed: u64, make: &MakeSubject) -> Vec<Check> {
    match scripts(scenario) {
        Ok(servers) => runner::run(scenario, Box::new(SimWorld::new(&servers, seed, make))),
        Err(error) => vec![runner::harness_error(scenario, WorldKind::Simulated, &error)],
    }
}

/// Servers with their scripts, by name; one without a script is a program that is not there.
pub type Servers = Vec<(String, Option<Arc<Script>>)>;

/// The scripts of a scenario's servers, by the servers' names.
///
/// # Errors
/// When a script that is named is not there or wrong.
pub fn scripts(scenario: &Scenario) -> Result<Servers, HarnessError> {
    let load = |script: &ServerScript| match script {
        ServerScript::Missing => Ok(None),
        ServerScript::Inline { script, .. } => Ok(Some(Arc::new((**script).clone()))),
        ServerScript::Named { name, .. } => fake_lsp::load(name)
            .map(|script| Some(Arc::new(script)))
            .map_err(|error| HarnessError::new(format!("the script {name}: {error}"))),
    };
    scenario.servers.iter().map(|server| Ok((server.name.clone(), load(&server.script)?))).collect()
}

#[cfg(test)]
mod tests;

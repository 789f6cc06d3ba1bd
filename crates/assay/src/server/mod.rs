//! Is a language server fit for a feedback loop? One file per law of servers; the probe is a client of
//! the judge's own, not the reference loop.

mod clearing;
mod convergence;
mod documents;
mod findings;
mod incremental;
mod lifecycle;
mod messages;
mod observed;
mod positions;
mod probe;
mod pull;
mod rhythm;
mod settle;
mod subject;
mod sync;
mod text;
mod verdict;
mod versions;

use std::cell::Cell;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use feedback::runtime::process::SpawnError;
use serde_json::{Map, Value, json};

use self::observed::Observed;
use self::probe::{Outcome, Probe, Profile};
use self::subject::Subject;
use self::verdict::{Seen, Verdicts};
use crate::fixture::Fixture;
use crate::results::{Law, Results};

/// What is checked, and how much.
#[derive(Clone, Debug)]
pub struct Options {
    /// The server's command: the program and its arguments.
    pub command: Vec<String>,
    /// The texts that it is checked with.
    pub fixture: Fixture,
    /// An existing workspace to show it, in which nothing is written; a temporary one if `None`.
    pub root: Option<PathBuf>,
    /// What `workspace/configuration` is answered from, by dotted section.
    pub settings: Value,
    /// How many random edits are made before the incremental server is compared with a fresh one for
    /// the last time.
    pub edits: usize,
    /// Of the random edits.
    pub seed: u64,
    /// How long a new server may take to report its first error: some index a project first.
    pub first_max: Duration,
    /// The laws to check; all of [`LAWS`] if it is empty.
    pub laws: Vec<Law>,
}

/// The laws of servers, in the order in which they are checked.
pub const LAWS: [Law; 8] = [
    Law::Lifecycle,
    Law::Messages,
    Law::Convergence,
    Law::Versions,
    Law::Clearing,
    Law::Pull,
    Law::Positions,
    Law::IncrementalEqualsFresh,
];

impl Options {
    fn wants(&self, law: Law) -> bool {
        self.laws.is_empty() || self.laws.contains(&law)
    }
}

/// Why a server could not be checked at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// The command is empty.
    #[error("no command was given")]
    NoCommand,
    /// It could not be started.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// The workspace could not be made.
    #[error("the workspace could not be prepared: {0}")]
    Workspace(#[source] io::Error),
}

/// Told what is being done, one short line each time.
pub type Progress<'a> = &'a dyn Fn(&str);

/// A later session of a server that had initialized before did not.
#[derive(Debug)]
struct NotReady(String);

impl From<SpawnError> for NotReady {
    fn from(error: SpawnError) -> Self {
        Self(error.to_string())
    }
}

/// Checks one server against every law of servers. To be called within a tokio runtime.
///
/// # Errors
/// [`ServerError`] if the server can't be started or the workspace can't be made; everything else that
/// goes wrong is a check.
pub async fn check(options: &Options, progress: Progress<'_>) -> Result<Results, ServerError> {
    let workspace = Workspace::prepare(options).map_err(ServerError::Workspace)?;
    let subject = workspace.subject(options)?;
    let mut verdicts = Verdicts::new(&subject.name);
    let mut observed = Observed::default();
    let mut initialized = true;
    if options.wants(Law::Lifecycle) {
        progress("lifecycle");
        initialized = lifecycle::judge(&subject, &mut verdicts, &mut observed).await?;
    }
    let mut facts = Map::new();
    if initialized
        && let Err(NotReady(why)) = laws(&subject, options, &mut verdicts, &mut observed, &mut facts, progress).await
    {
        verdicts.must(
            Law::Lifecycle,
            "starts-each-time",
            "a server that has initialized once does so each time",
            Seen::Broken(why, Vec::new()),
        );
    }
    judge_observed(options, &mut verdicts, &observed);
    let facts = json!({
        "sessions": observed.sessions,
        "messages": observed.messages,
        "pushes": observed.pushes,
        "pushes_with_version": observed.pushes_versioned,
        "pulls": observed.pulls,
        "laws": facts,
        "pace_ms": {"push": subject.push_rhythm.get().in_millis(), "pull": subject.pull_rhythm.get().in_millis()},
    });
    let mut checks = verdicts.into_checks();
    // By law, each law's own order kept.
    checks.sort_by_key(|check| check.law);
    Ok(Results::new("server", &subject.name, options.seed, checks, facts))
}

/// Checks the laws that are wanted, one after the other: side by side they would slow each other down,
/// and times are learnt from.
async fn laws(
    subject: &Subject,
    options: &Options,
    verdicts: &mut Verdicts,
    observed: &mut Observed,
    facts: &mut Map<String, Value>,
    progress: Progress<'_>,
) -> Result<(), NotReady> {
    let mut diagnoses = true;
    for law in LAWS.into_iter().filter(|law| options.wants(*law)) {
        let name = law.to_string();
        progress(&name);
        if !diagnoses {
            let why = "it said nothing about a broken text, so there is nothing to check".to_owned();
            verdicts.must(law, "applies", "the server reports diagnostics", Seen::Unclear(why));
            continue;
        }
        match law {
            Law::Messages => observed.merge(messages::judge(ready(subject, &name).await?, verdicts).await),
            Law::Convergence => {
                let probe = ready(subject, &name).await?;
                facts.insert("server_info".to_owned(), probe.announced.initialize["serverInfo"].clone());
                facts.insert("position_encoding".to_owned(), json!(probe.announced.encoding.name()));
                let (something, seen) = convergence::judge(probe, verdicts).await;
                observed.merge(seen);
                diagnoses = something;
            }
            Law::Versions => {
                // Versions are named in pushes only, and many servers push only to clients that cannot pull.
                let pushes = Profile { pull: false, ..Profile::default() };
                observed.merge(versions::judge(ready_as(subject, &name, pushes).await?, verdicts).await);
            }
            Law::Clearing => observed.merge(clearing::judge(ready(subject, &name).await?, verdicts).await),
            Law::Pull => observed.merge(pull::judge(ready(subject, &name).await?, verdicts).await),
            Law::Positions => {
                let mut offered = Vec::new();
                for profile in positions::offers() {
                    let probe = ready_as(subject, &name, profile.clone()).await?;
                    let mut one = positions::offer(probe, &profile).await;
                    observed.merge(std::mem::take(&mut one.observed));
                    offered.push(one);
                }
                positions::judge(verdicts, offered);
            }
            Law::IncrementalEqualsFresh => {
                let plan = incremental::Plan { seed: options.seed, edits: options.edits };
                facts.insert(name, incremental::judge(subject, plan, verdicts, observed, progress).await?);
            }
            // Lifecycle is checked before anything else; the others are laws of loops.
            _ => {}
        }
    }
    Ok(())
}

/// Judges what all sessions saw in passing.
fn judge_observed(options: &Options, verdicts: &mut Verdicts, observed: &Observed) {
    for law in LAWS.into_iter().filter(|law| options.wants(*law)) {
        match law {
            Law::Lifecycle => lifecycle::judge_observed(verdicts, observed),
            Law::Messages => messages::judge_observed(verdicts, observed),
            Law::Versions => versions::judge_observed(verdicts, observed),
            Law::Positions => positions::judge_observed(verdicts, observed),
            Law::Pull => pull::judge_observed(verdicts, observed),
            // The others have nothing that is seen in passing.
            _ => {}
        }
    }
}

async fn ready<'a>(subject: &'a Subject, session: &str) -> Result<Probe<'a>, NotReady> {
    ready_as(subject, session, Profile::default()).await
}

async fn ready_as<'a>(subject: &'a Subject, session: &str, profile: Profile) -> Result<Probe<'a>, NotReady> {
    let mut probe = Probe::start(subject, session, profile)?;
    match probe.initialize().await {
        Outcome::Result(_) => Ok(probe),
        other => Err(NotReady(format!("session `{session}`: initialize: {other}"))),
    }
}

/// The workspace that is shown to the server.
struct Workspace {
    root: PathBuf,
    /// Removed with this value.
    _temporary: Option<tempfile::TempDir>,
}

impl Workspace {
    fn prepare(options: &Options) -> io::Result<Self> {
        if let Some(root) = &options.root {
            return Ok(Self { root: root.canonicalize()?, _temporary: None });
        }
        let temporary = tempfile::Builder::new().prefix("lsp-assay-").tempdir()?;
        let root = temporary.path().canonicalize()?;
        options.fixture.write_to(&root)?;
        Ok(Self { root, _temporary: Some(temporary) })
    }

    fn subject(&self, options: &Options) -> Result<Subject, ServerError> {
        let (program, args) = options.command.split_first().ok_or(ServerError::NoCommand)?;
        let command = feedback::Command {
            program: PathBuf::from(program),
            args: args.to_vec(),
            env: Vec::new(),
            cwd: self.root.clone(),
        };
        let name = options.command.join(" ");
        Ok(Subject {
            name,
            command,
            root: self.root.clone(),
            fixture: options.fixture.clone(),
            settings: options.settings.clone(),
            first_max: options.first_max,
            push_rhythm: Cell::default(),
            pull_rhythm: Cell::default(),
            silences: Cell::default(),
            origin: Instant::now(),
        })
    }
}

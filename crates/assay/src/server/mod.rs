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

use std::io;
use std::path::PathBuf;

use feedback::runtime::process::SpawnError;
use serde_json::{Value, json};

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
    progress("lifecycle");
    let initialized = lifecycle::judge(&subject, &mut verdicts, &mut observed).await?;
    let mut facts = Value::Null;
    if initialized {
        match laws(&subject, options, &mut verdicts, &mut observed, progress).await {
            Ok(found) => facts = found,
            Err(NotReady(why)) => verdicts.must(
                Law::Lifecycle,
                "starts-each-time",
                "a server that has initialized once does so each time",
                Seen::Broken(why, Vec::new()),
            ),
        }
    }
    lifecycle::judge_observed(&mut verdicts, &observed);
    messages::judge_observed(&mut verdicts, &observed);
    versions::judge_observed(&mut verdicts, &observed);
    positions::judge_observed(&mut verdicts, &observed);
    pull::judge_observed(&mut verdicts, &observed);
    let facts = json!({
        "sessions": observed.sessions,
        "messages": observed.messages,
        "pushes": observed.pushes,
        "pushes_with_version": observed.pushes_versioned,
        "pulls": observed.pulls,
        "server": facts,
        "pace_ms": {"push": subject.push_rhythm.get().in_millis(), "pull": subject.pull_rhythm.get().in_millis()},
    });
    let mut checks = verdicts.into_checks();
    // By law, each law's own order kept.
    checks.sort_by_key(|check| check.law);
    Ok(Results::new("server", &subject.name, options.seed, checks, facts))
}

async fn laws(
    subject: &Subject,
    options: &Options,
    verdicts: &mut Verdicts,
    observed: &mut Observed,
    progress: Progress<'_>,
) -> Result<Value, NotReady> {
    progress("messages");
    observed.merge(messages::judge(ready(subject, "messages").await?, verdicts).await);
    progress("convergence");
    let probe = ready(subject, "convergence").await?;
    let server_info = probe.announced.initialize["serverInfo"].clone();
    let encoding = probe.announced.encoding.name();
    observed.merge(convergence::judge(probe, verdicts).await);
    progress("versions");
    // Versions are named in pushes only, and many servers push only to clients that cannot pull.
    let pushes = Profile { pull: false, ..Profile::default() };
    observed.merge(versions::judge(ready_as(subject, "versions", pushes).await?, verdicts).await);
    progress("clearing");
    observed.merge(clearing::judge(ready(subject, "clearing").await?, verdicts).await);
    progress("pull");
    observed.merge(pull::judge(ready(subject, "pull").await?, verdicts).await);
    progress("positions");
    let mut offered = Vec::new();
    for profile in positions::offers() {
        let probe = ready_as(subject, "positions", profile.clone()).await?;
        let mut one = positions::offer(probe, &profile).await;
        observed.merge(std::mem::take(&mut one.observed));
        offered.push(one);
    }
    positions::judge(verdicts, offered);
    let plan = incremental::Plan { seed: options.seed, edits: options.edits };
    let incremental = incremental::judge(subject, plan, verdicts, observed, progress).await?;
    Ok(json!({"info": server_info, "position_encoding": encoding, "incremental": incremental}))
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
        Ok(Subject::new(name, command, &self.root, options.fixture.clone(), options.settings.clone()))
    }
}

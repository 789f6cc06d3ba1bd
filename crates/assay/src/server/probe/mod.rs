//! A raw LSP client for checking servers: it starts one, keeps every message with its time, answers
//! whatever is asked of it, and notes every fault of framing and envelope. It draws no conclusions.

mod capabilities;
mod channel;
mod envelope;
mod heard;
mod log;

use std::collections::BTreeMap;
use std::time::Duration;

use feedback::ExitStatus;
use feedback::runtime::process::{ServerProcess, SpawnError};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};
use wire::Id;

pub(crate) use capabilities::Profile;
use channel::Incoming;
pub(crate) use heard::position_faults;
pub(crate) use log::Mark;
use log::{Log, excerpt};

use super::documents::{Document, SyncKind};
use super::observed::Observed;
use super::subject::{ANSWER_MAX, Subject};
use super::text::Encoding;
use crate::results::Evidence;

/// How a request ended.
#[derive(Clone, Debug)]
pub(crate) enum Outcome {
    /// With a result, null included.
    Result(Value),
    /// With an error.
    Error { code: i64, message: String },
    /// Without an answer in time.
    Silent(Duration),
    /// The server's output ended before.
    Gone,
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Result(result) => write!(f, "result {}", super::findings::shortened(&result.to_string(), 120)),
            Self::Error { code, message } => write!(f, "error {code} ({})", super::findings::shortened(message, 80)),
            Self::Silent(waited) => write!(f, "no answer within {} ms", waited.as_millis()),
            Self::Gone => f.write_str("no answer: the server's output ended"),
        }
    }
}

/// What a server announced and did that later steps depend on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Announced {
    /// The whole result of `initialize`.
    pub(crate) initialize: Value,
    pub(crate) sync: SyncKind,
    pub(crate) encoding: Encoding,
    /// Pull diagnostics: the identifier to send with each, if there is one.
    pub(crate) pull: Option<Option<String>>,
    /// Ids of dynamic registrations of pull diagnostics.
    pull_registrations: Vec<String>,
    pub(crate) refreshes: u64,
    /// Tokens of work-done progress that has begun and not ended.
    progress: Vec<String>,
}

struct Pending {
    method: String,
}

/// One session with one server process.
pub(crate) struct Probe<'a> {
    pub(crate) subject: &'a Subject,
    pub(crate) log: Log,
    pub(crate) seen: Observed,
    pub(crate) announced: Announced,
    pub(crate) documents: Vec<Document>,
    /// When anything that bears on diagnostics last happened.
    pub(crate) active_at: Instant,
    profile: Profile,
    process: ServerProcess,
    frames: Option<mpsc::Sender<Vec<u8>>>,
    incoming: mpsc::Receiver<Incoming>,
    output_ended: bool,
    initialize_answered: bool,
    next_id: i64,
    pending: BTreeMap<Id, Pending>,
    answers: BTreeMap<Id, Outcome>,
}

impl<'a> Probe<'a> {
    /// Starts a process. `session` names it in evidence.
    ///
    /// # Errors
    /// Why it could not be started.
    pub(crate) fn start(subject: &'a Subject, session: &str, profile: Profile) -> Result<Self, SpawnError> {
        let mut process = ServerProcess::spawn(&subject.command)?;
        let (frames, incoming) = channel::connect(&mut process);
        Ok(Self {
            subject,
            log: Log::new(session),
            seen: Observed { sessions: 1, ..Observed::default() },
            announced: Announced::default(),
            documents: Vec::new(),
            active_at: Instant::now(),
            profile,
            process,
            frames,
            incoming,
            output_ended: false,
            initialize_answered: false,
            next_id: 1,
            pending: BTreeMap::new(),
            answers: BTreeMap::new(),
        })
    }

    /// Asks and waits for the answer.
    pub(crate) async fn request(&mut self, method: &str, params: Option<Value>) -> Outcome {
        let id = Id::Number(self.next_id);
        self.next_id += 1;
        self.request_as(id, method, params, self.subject.answer_max()).await
    }

    /// Asks under an id of the caller's and waits for the answer at most `limit`.
    pub(crate) async fn request_as(&mut self, id: Id, method: &str, params: Option<Value>, limit: Duration) -> Outcome {
        self.ask(&id, method, params).await;
        self.outcome(&id, limit).await
    }

    /// Asks under an id of the caller's and does not wait.
    pub(crate) async fn ask(&mut self, id: &Id, method: &str, params: Option<Value>) {
        let mut message = json!({"jsonrpc": "2.0", "id": id, "method": method});
        if let Some(params) = params {
            message["params"] = params;
        }
        self.pending.insert(id.clone(), Pending { method: method.to_owned() });
        self.send(&message).await;
    }

    /// How a request ends, at most so much later.
    pub(crate) async fn outcome(&mut self, id: &Id, limit: Duration) -> Outcome {
        let since = Instant::now();
        self.wait_until(limit, |probe| probe.answers.contains_key(id)).await;
        match self.answers.remove(id) {
            Some(outcome) => {
                self.subject.silences.set(0);
                outcome
            }
            None if self.output_ended => Outcome::Gone,
            None => {
                self.subject.silences.set(self.subject.silences.get().saturating_add(1));
                Outcome::Silent(since.elapsed())
            }
        }
    }

    /// Tells something.
    pub(crate) async fn notify(&mut self, method: &str, params: Option<Value>) {
        let mut message = json!({"jsonrpc": "2.0", "method": method});
        if let Some(params) = params {
            message["params"] = params;
        }
        self.send(&message).await;
    }

    /// `initialize` and, if it is answered with a result, `initialized`.
    pub(crate) async fn initialize(&mut self) -> Outcome {
        let params = capabilities::initialize_params(self.subject, &self.profile);
        // Whatever it left unanswered before: a start may take its time.
        let id = Id::Number(self.next_id);
        self.next_id += 1;
        let outcome = self.request_as(id, "initialize", Some(params), ANSWER_MAX).await;
        if let Outcome::Result(result) = &outcome {
            self.announced.read_initialize(result);
            self.notify("initialized", Some(json!({}))).await;
        }
        outcome
    }

    /// Handles what comes in until `holds` or the limit; whether it holds. Ends early with the output.
    pub(crate) async fn wait_until(&mut self, limit: Duration, mut holds: impl FnMut(&Self) -> bool) -> bool {
        let deadline = Instant::now() + limit;
        loop {
            if holds(self) {
                return true;
            }
            if !self.step(deadline).await {
                return holds(self);
            }
        }
    }

    /// Handles what comes in for as long as this.
    pub(crate) async fn listen(&mut self, time: Duration) {
        self.wait_until(time, |_| false).await;
    }

    /// Whether the server's output has ended.
    pub(crate) fn is_gone(&self) -> bool {
        self.output_ended
    }

    /// Whether work-done progress is under way.
    pub(crate) fn is_busy(&self) -> bool {
        !self.announced.progress.is_empty()
    }

    /// Closes the server's input.
    pub(crate) fn close_input(&mut self) {
        self.frames = None;
    }

    /// Waits for the end of the process, and drains its output meanwhile.
    pub(crate) async fn exited(&mut self, limit: Duration) -> Option<ExitStatus> {
        let deadline = Instant::now() + limit;
        loop {
            tokio::select! {
                biased;
                Some(incoming) = self.incoming.recv(), if !self.output_ended => self.absorb(incoming).await,
                status = timeout_at(deadline, self.process.wait()) => return status.ok()?.ok(),
            }
        }
    }

    /// `shutdown`, `exit` and the end of the process, bounded; then whatever is left of it is killed.
    /// Returns what was seen in the session.
    pub(crate) async fn close(mut self) -> Observed {
        if !self.output_ended {
            let id = Id::Number(self.next_id);
            self.request_as(id, "shutdown", None, Duration::from_secs(3)).await;
            self.notify("exit", None).await;
        }
        self.close_input();
        self.exited(Duration::from_secs(1)).await;
        self.seen
    }

    /// What the server last wrote to standard error, for telling why it ended.
    pub(crate) fn stderr_tail(&self) -> String {
        self.process.stderr_tail()
    }

    /// A line of evidence about now.
    pub(crate) fn evidence(&self, what: &str) -> Evidence {
        self.log.line(self.subject.now(), what)
    }

    pub(crate) fn document(&self, uri: &str) -> Option<&Document> {
        self.documents.iter().find(|document| document.is(uri))
    }

    /// Handles one thing that comes in before the deadline; `false` if nothing did.
    async fn step(&mut self, deadline: Instant) -> bool {
        if self.output_ended {
            return false;
        }
        match timeout_at(deadline, self.incoming.recv()).await {
            Ok(Some(incoming)) => {
                self.absorb(incoming).await;
                true
            }
            Ok(None) => {
                self.output_ended = true;
                false
            }
            Err(_) => false,
        }
    }

    /// Queues a message. While the server doesn't read, its own output is still taken off its hands.
    async fn send(&mut self, message: &Value) {
        self.log.sent(self.subject.now(), message);
        let frame = wire::encode(message.to_string().as_bytes());
        let Some(frames) = self.frames.clone() else { return };
        let deadline = Instant::now() + self.subject.answer_max();
        loop {
            tokio::select! {
                biased;
                permit = frames.reserve() => {
                    if let Ok(permit) = permit {
                        permit.send(frame);
                    }
                    return;
                }
                Some(incoming) = self.incoming.recv(), if !self.output_ended => Box::pin(self.absorb(incoming)).await,
                () = tokio::time::sleep_until(deadline) => {
                    self.log.heard(self.subject.now(), "does not read its input");
                    self.frames = None;
                    return;
                }
            }
        }
    }
}

//! One server of the table at one root: its process across restarts, its documents, and what messages
//! mean for them. Which calls wait for it is the loop's business.

mod messages;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use wire::Time;

use crate::capabilities;
use crate::document::{Document, Evidence, Stage, Verdict, View};
use crate::fault::{Fault, Faults};
use crate::learned::Learned;
use crate::render::fragment;
use crate::session::{Asked, Io, Phase, Session};
use crate::text::Text;
use crate::{Command, Effect, ExitStatus, Launch, Policy, ProcessId, Reason, ServerSpec, Signal, TextHash, uri};

/// See the module.
pub(crate) struct Client {
    pub(crate) spec: Arc<ServerSpec>,
    pub(crate) root: PathBuf,
    workspace: PathBuf,
    process_id: Option<u32>,
    pub(crate) session: Option<Session>,
    /// Further processes of this client; only the deliberate fault of starting twice makes any.
    strays: Vec<ProcessId>,
    starts: VecDeque<Time>,
    /// Why it is not started again.
    pub(crate) broken: Option<Reason>,
    /// By URI key.
    pub(crate) documents: BTreeMap<Vec<u8>, Document>,
    pub(crate) learned: Learned,
    /// Calls that this client has taken part in and that have ended.
    pub(crate) calls_ended: u64,
    /// Whether the current process has concluded about anything.
    concluded: bool,
    /// Which pipe of the current process is gone.
    cut_off_how: String,
    note: Option<String>,
    note_told: bool,
    /// Keys of documents about which something was said since [`Self::take_changed`].
    changed: BTreeSet<Vec<u8>>,
}

impl Client {
    pub(crate) fn new(spec: Arc<ServerSpec>, root: PathBuf, workspace: PathBuf, process_id: Option<u32>) -> Self {
        Self {
            spec,
            root,
            workspace,
            process_id,
            session: None,
            strays: Vec::new(),
            starts: VecDeque::new(),
            broken: None,
            documents: BTreeMap::new(),
            learned: Learned::default(),
            calls_ended: 0,
            concluded: false,
            cut_off_how: String::new(),
            note: None,
            note_told: false,
            changed: BTreeSet::new(),
        }
    }

    /// Starts the server if it is not running and may be.
    pub(crate) fn want(&mut self, io: &mut Io<'_>) {
        if let Some(session) = &self.session {
            if session.phase == Phase::Starting && io.faults.has(Fault::DoubleSpawn) && self.strays.is_empty() {
                let stray = self.spawn(io);
                self.strays.extend(stray.map(|session| session.process));
            }
            return;
        }
        self.starts.retain(|start| io.now.since(*start) < io.policy.restart_window);
        if matches!(self.broken, Some(Reason::Died { .. })) && self.starts.len() < io.policy.starts_max as usize {
            self.broken = None;
        }
        if self.broken.is_none() && self.starts.len() >= io.policy.starts_max as usize {
            let how = format!("the server was given up after {} starts", self.starts.len());
            self.broken = Some(Reason::Died { how });
        }
        if self.broken.is_none() {
            self.session = self.spawn(io);
        }
    }

    fn spawn(&mut self, io: &mut Io<'_>) -> Option<Session> {
        let command = match &self.spec.launch {
            Launch::Command(command) => Command { cwd: self.root.clone(), ..command.clone() },
            Launch::Missing(what) => {
                self.broken = Some(Reason::StartFailed { error: fragment(what) });
                return None;
            }
        };
        self.starts.push_back(io.now);
        self.concluded = false;
        let process = io.ids.process();
        io.effects.push(Effect::Spawn { process, command });
        Some(Session::new(process, io))
    }

    /// The process runs: introduce ourselves.
    pub(crate) fn spawned(&mut self, io: &mut Io<'_>) {
        let params = self.initialize_params();
        let Some(session) = &mut self.session else { return };
        if session.phase == Phase::Killed {
            // Stopped while it was being started.
            io.effects.push(Effect::Signal { process: session.process, signal: Signal::Kill });
            return;
        }
        session.phase = Phase::Initializing;
        session.request(Asked::Initialize, "initialize", Some(params), io);
    }

    fn initialize_params(&self) -> Value {
        let folder = self.folder();
        let mut params = json!({
            "processId": self.process_id,
            "clientInfo": { "name": "lsp-assay", "version": env!("CARGO_PKG_VERSION") },
            "rootUri": folder["uri"],
            "workspaceFolders": [folder],
            "capabilities": capabilities::offered(),
        });
        if let Some(options) = &self.spec.initialization_options {
            params["initializationOptions"] = options.clone();
        }
        params
    }

    fn folder(&self) -> Value {
        let name = self.root.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        json!({ "uri": uri::of(&self.root), "name": name })
    }

    pub(crate) fn spawn_failed(&mut self, error: &str) {
        self.session = None;
        let error = fragment(error);
        self.note(format!("could not be started: {error}"));
        self.broken = Some(Reason::StartFailed { error });
    }

    /// The process ended by itself or was ended.
    pub(crate) fn exited(&mut self, status: ExitStatus, stderr_tail: &str, policy: &Policy) {
        let Some(session) = self.session.take() else { return };
        for document in self.documents.values_mut() {
            document.forget_process();
        }
        if session.ending() {
            return;
        }
        let mut how = match (status.code, status.signal) {
            (Some(code), _) => format!("exited with code {code}"),
            (None, Some(signal)) => format!("was ended by signal {signal}"),
            (None, None) => "ended".to_owned(),
        };
        if let Some(broken) = session.output_ended() {
            how = format!("{how} inside a message ({broken})");
        }
        if let Some(line) = telling_line(stderr_tail) {
            how = format!("{how}: {line}");
        }
        let how = format!("the server {}", fragment(&how));
        self.note(how.clone());
        if self.starts.len() >= policy.starts_max as usize {
            self.broken = Some(Reason::Died { how });
        }
    }

    /// One of the process's pipes is gone. Mostly its exit follows at once; if not, it is of no more use.
    pub(crate) fn cut_off(&mut self, how: &str, io: &mut Io<'_>) {
        let Some(session) = self.session.as_mut().filter(|session| !session.ending()) else { return };
        session.cut_off.get_or_insert(io.now);
        if session.cut_off == Some(io.now) {
            self.cut_off_how = how.to_owned();
        }
    }

    /// One plain sentence for the reader; only the first is kept.
    fn note(&mut self, text: String) {
        self.note.get_or_insert(text);
    }

    /// The notice, once.
    pub(crate) fn take_note(&mut self, faults: Faults) -> Option<String> {
        if self.note_told && !faults.has(Fault::RepeatsNotices) {
            return None;
        }
        let note = self.note.clone()?;
        self.note_told = true;
        Some(note)
    }

    /// Documents about which something was said since the last time.
    pub(crate) fn take_changed(&mut self) -> BTreeSet<Vec<u8>> {
        std::mem::take(&mut self.changed)
    }

    // --- Documents ---

    /// Takes the newest text of a file, and tells the server if it is ready. The revision it got.
    pub(crate) fn update(&mut self, path: &Path, language_id: &str, text: &Arc<Text>, io: &mut Io<'_>) -> u64 {
        let uri = uri::of(path);
        let key = uri::key(&uri);
        let workspace = &self.workspace;
        let document = self.documents.entry(key.clone()).or_insert_with(|| Document {
            path: path.to_owned(),
            shown: uri::shown(workspace, path),
            uri,
            language_id: language_id.to_owned(),
            text: Arc::default(),
            hash: TextHash(0),
            revision: 0,
            version: 0,
            sent: None,
            push: None,
            first_push: None,
            push_carries: false,
            pulls: BTreeMap::new(),
            pull_count: 0,
            wanted: false,
            concluded: None,
        });
        document.update(Arc::clone(text));
        document.wanted = true;
        let revision = document.revision;
        self.flush(&key, true, io);
        self.pull(&key, io);
        revision
    }

    /// Brings the server's copy of a document up to date, if the server is ready.
    fn flush(&mut self, key: &[u8], saved: bool, io: &mut Io<'_>) {
        let (Some(session), Some(document)) = (&mut self.session, self.documents.get_mut(key)) else { return };
        if session.ready() {
            crate::sync::flush(document, session, saved, io);
        }
    }

    /// Asks every provider about a document, unless its question about the same text is under way.
    fn pull(&mut self, key: &[u8], io: &mut Io<'_>) {
        let (Some(session), Some(document)) = (&mut self.session, self.documents.get_mut(key)) else { return };
        if session.ready() && document.synced() {
            crate::pull::ask(document, key, session, io);
        }
    }

    /// Whether results do not count yet because the server says that it is loading. Once it has
    /// concluded about anything, its progress is about other things.
    fn loading(&self) -> bool {
        !self.concluded && self.session.as_ref().is_some_and(|session| session.loading.now())
    }

    /// Closes a document, if it is open.
    pub(crate) fn close(&mut self, key: &[u8], io: &mut Io<'_>) {
        let Some(document) = self.documents.get_mut(key) else { return };
        if let Some(session) = self.session.as_mut().filter(|session| session.ready()) {
            crate::sync::close(document, session, io);
        }
        document.forget_process();
    }

    /// What is known about the newest text of a document.
    pub(crate) fn verdict(&self, key: &[u8], stage: Stage, policy: &Policy, faults: Faults, now: Time) -> Verdict<'_> {
        let Some(session) = &self.session else {
            let why = self.broken.clone().unwrap_or(Reason::Initializing);
            return if self.broken.is_some() { Verdict::Never { why } } else { Verdict::Waiting { why, until: None } };
        };
        if !session.ready() {
            let why = Reason::Initializing;
            return Verdict::Waiting { why, until: None };
        }
        let Some(document) = self.documents.get(key) else {
            return Verdict::Waiting { why: Reason::Silent, until: None };
        };
        if !crate::sync::possible(session) {
            return Verdict::Never { why: Reason::NoSync };
        }
        let view = self.view(session, policy, faults, now);
        match document.verdict(stage, &view) {
            Verdict::Waiting { why: Reason::Silent, until } => {
                let why = match session.too_large {
                    Some(bytes) => Reason::TooLarge { bytes },
                    None if session.write_stuck() => Reason::NotReading,
                    None => Reason::Silent,
                };
                Verdict::Waiting { why, until }
            }
            other => other,
        }
    }

    fn view<'a>(&'a self, session: &'a Session, policy: &'a Policy, faults: Faults, now: Time) -> View<'a> {
        View {
            providers: &session.providers,
            loading: self.loading(),
            loading_ended: session.loading.ended.filter(|_| !self.concluded),
            learned: &self.learned,
            policy,
            faults,
            now,
        }
    }

    /// What was provably said about the newest text of a document, though there is no conclusion.
    pub(crate) fn partial(&self, key: &[u8], policy: &Policy, faults: Faults, now: Time) -> Vec<Evidence<'_>> {
        match (&self.session, self.documents.get(key)) {
            (Some(session), Some(document)) if session.ready() => {
                document.partial(&self.view(session, policy, faults, now))
            }
            _ => Vec::new(),
        }
    }

    /// A call has watched the whole budget: how late results came for its text.
    pub(crate) fn watched(&mut self, key: &[u8]) {
        let Some(document) = self.documents.get(key) else { return };
        if let (Some(push), Some(first)) = (&document.push, document.first_push) {
            self.learned.watched(push.at.since(first));
        }
    }

    /// A call about this document has ended with or without a conclusion; `alone` if no other waits for it.
    pub(crate) fn call_ended(&mut self, key: &[u8], concluded: bool, alone: bool, io: &mut Io<'_>) {
        self.calls_ended += 1;
        self.concluded |= concluded;
        let Some(document) = self.documents.get_mut(key) else { return };
        if concluded {
            document.concluded = Some(document.revision);
            return;
        }
        let Some(session) = self.session.as_mut().filter(|_| alone) else { return };
        crate::pull::give_up(document, session, io);
        // What is being skipped would swallow every later message with it.
        if session.skipping() {
            session.kill(io);
            self.session_lost();
        }
    }

    /// The session was given up: the next need starts another process.
    fn session_lost(&mut self) {
        for document in self.documents.values_mut() {
            document.forget_process();
        }
    }

    // --- Time ---

    /// When time alone changes something here.
    pub(crate) fn next_deadline(&self, policy: &Policy) -> Option<Time> {
        let session = self.session.as_ref()?;
        let initialize = matches!(session.phase, Phase::Starting | Phase::Initializing)
            .then(|| session.spawned.after(policy.initialize_budget));
        let write = session.write_deadline(policy).filter(|_| !session.ending());
        let cut_off = session.cut_off.filter(|_| !session.ending()).map(|since| since.after(policy.terminate_budget));
        let retries = self.documents.values().filter_map(|document| document.next_retry(&session.providers));
        retries.chain(initialize).chain(write).chain(cut_off).chain(session.ending_deadline()).min()
    }

    /// Does what is due.
    pub(crate) fn wake(&mut self, io: &mut Io<'_>) {
        let Some(session) = &mut self.session else { return };
        session.step_ending(io);
        if session.ending() {
            return;
        }
        let starting = matches!(session.phase, Phase::Starting | Phase::Initializing);
        if session.write_deadline(io.policy).is_some_and(|until| until <= io.now) || session.queue_over(io.policy) {
            session.kill(io);
            self.note("the server does not read its input".to_owned());
            return self.session_lost();
        }
        if session.cut_off.is_some_and(|since| since.after(io.policy.terminate_budget) <= io.now) {
            session.kill(io);
            let how = std::mem::take(&mut self.cut_off_how);
            self.note(format!("the server {how} and did not exit"));
            return self.session_lost();
        }
        if starting
            && session.spawned.after(io.policy.initialize_budget) <= io.now
            && !io.faults.has(Fault::NeverTimesOut)
        {
            let waited = io.policy.initialize_budget;
            return self.start_failed(&format!("did not answer initialize within {waited:?}"), io);
        }
        let providers = &session.providers;
        let due: Vec<Vec<u8>> = self
            .documents
            .iter()
            .filter(|(_, document)| document.next_retry(providers).is_some_and(|at| at <= io.now))
            .map(|(key, _)| key.clone())
            .collect();
        for key in due {
            self.pull(&key, io);
        }
    }

    /// Begins the end of the process.
    pub(crate) fn shut_down(&mut self, io: &mut Io<'_>) {
        if let Some(session) = self.session.as_mut().filter(|session| session.ready()) {
            for document in self.documents.values_mut() {
                crate::sync::close(document, session, io);
            }
        }
        if let Some(session) = &mut self.session {
            session.shut_down(io);
        }
        for process in self.strays.drain(..) {
            io.effects.push(Effect::Signal { process, signal: Signal::Kill });
        }
    }

    /// Whether no process of this client is left.
    pub(crate) fn ended(&self) -> bool {
        self.session.is_none()
    }
}

/// The line of a process's last words that tells most: the last one that speaks of an error, else the
/// last one with words in it (many programs end with a frame, a hint or a list).
fn telling_line(stderr_tail: &str) -> Option<&str> {
    const WORDS: [&str; 5] = ["error", "panic", "fatal", "exception", "cannot"];
    let lines = || stderr_tail.lines().rev().map(str::trim).filter(|line| line.chars().any(char::is_alphabetic));
    let speaks = |line: &&str| {
        let line = line.to_lowercase();
        WORDS.iter().any(|word| line.contains(word))
    };
    lines().find(speaks).or_else(|| lines().next())
}

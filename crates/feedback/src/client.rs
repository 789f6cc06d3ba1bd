//! One server of the table at one root: its process across restarts, its documents, and what messages
//! mean for them. Which calls wait for it is the loop's business.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use wire::{Message, ResponseError, Time};

use crate::answers::{self, Asks};
use crate::capabilities::{self, Provider, ServerCapabilities};
use crate::document::{Document, Stage, Verdict, View};
use crate::fault::{Fault, Faults};
use crate::learned::Learned;
use crate::render::fragment;
use crate::session::{Asked, Inbound, Io, Phase, Session};
use crate::text::Text;
use crate::{Command, Effect, ExitStatus, Launch, Policy, ProcessId, Reason, ServerSpec, Signal, TextHash, uri};

/// Sources of pull diagnostics that one server may register.
const PROVIDERS_MAX: usize = 100;

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

    pub(crate) fn spawn_failed(&mut self, error: &str, _io: &mut Io<'_>) {
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
        if let Some(last) = stderr_tail.lines().rev().map(str::trim).find(|line| !line.is_empty()) {
            how = format!("{how}: {last}");
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
        let view = View {
            providers: &session.providers,
            loading: self.loading(),
            loading_ended: session.loading.ended.filter(|_| !self.concluded),
            learned: &self.learned,
            policy,
            faults,
            now,
        };
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

    // --- Messages ---

    /// Takes bytes of the server's output.
    pub(crate) fn received(&mut self, bytes: &[u8], io: &mut Io<'_>) {
        let Some(session) = &mut self.session else { return };
        for inbound in session.receive(bytes, io) {
            match inbound {
                Inbound::Broken(what) => self.note(what),
                Inbound::Content { seq, content } => self.message(seq, &content, io),
            }
        }
    }

    fn message(&mut self, seq: u64, content: &[u8], io: &mut Io<'_>) {
        match Message::parse(content) {
            Err(error) => self.note(fragment(&format!("sent something that is no message: {error}"))),
            Ok(Message::Notification { method, params }) => self.notified(&method, params, seq, io),
            Ok(Message::Request { id, method, params }) => {
                let params = params.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or(Value::Null);
                self.requested(&id, &method, &params, io);
            }
            Ok(Message::Response { id, result }) => self.answered(id.as_ref(), result, seq, io),
        }
    }

    fn requested(&mut self, id: &wire::Id, method: &str, params: &Value, io: &mut Io<'_>) {
        if method == "workspace/configuration" && io.faults.has(Fault::LeavesConfigurationUnanswered) {
            return;
        }
        let asks = answers::to(method, params, &self.spec.settings, || self.folder());
        let Some(session) = &mut self.session else { return };
        match asks {
            Asks::Nothing(answer) => session.respond(id, answer, io),
            Asks::Register(params) => {
                session.respond(id, Ok(Value::Null), io);
                for provider in registered(&params) {
                    session.providers.retain(|known| known.registration != provider.registration);
                    if session.providers.len() < PROVIDERS_MAX {
                        session.providers.push(provider);
                    }
                }
                self.pull_all(io);
            }
            Asks::Unregister(params) => {
                session.respond(id, Ok(Value::Null), io);
                let gone = unregistered(&params);
                session.providers.retain(|known| known.registration.as_ref().is_none_or(|id| !gone.contains(id)));
                for (key, document) in &mut self.documents {
                    crate::pull::keep_only(document, session);
                    self.changed.insert(key.clone());
                }
            }
            Asks::Refresh => {
                session.respond(id, Ok(Value::Null), io);
                self.pull_again(io);
            }
        }
    }

    /// Something was said to have changed: every open document is asked about again.
    fn pull_again(&mut self, io: &mut Io<'_>) {
        for document in self.documents.values_mut() {
            crate::pull::again(document);
        }
        self.pull_all(io);
    }

    fn pull_all(&mut self, io: &mut Io<'_>) {
        let keys: Vec<Vec<u8>> = self.documents.keys().cloned().collect();
        for key in keys {
            self.pull(&key, io);
        }
    }

    fn notified(&mut self, method: &str, params: Option<&RawValue>, seq: u64, io: &mut Io<'_>) {
        let Some(params) = params else { return };
        match method {
            "textDocument/publishDiagnostics" => self.published(params, seq, io),
            "$/progress" => self.progressed(params, io),
            _ => {}
        }
    }

    fn progressed(&mut self, params: &RawValue, io: &mut Io<'_>) {
        #[derive(Deserialize)]
        struct Progress {
            token: Value,
            value: Value,
        }
        let Ok(progress) = serde_json::from_str::<Progress>(params.get()) else { return };
        let kind = progress.value.get("kind").and_then(Value::as_str).unwrap_or_default();
        let Some(session) = &mut self.session else { return };
        if session.loading.progress(&progress.token, kind, io.now) && !self.concluded {
            self.changed.extend(self.documents.keys().cloned());
            self.documents.values_mut().for_each(crate::pull::loaded);
            self.pull_all(io);
        }
    }

    fn published(&mut self, params: &RawValue, seq: u64, io: &mut Io<'_>) {
        let Some(session) = &self.session else { return };
        let encoding = session.capabilities.as_ref().map_or_else(Default::default, |known| known.encoding);
        let push = match crate::push::read(params) {
            Ok(push) => push,
            Err(error) => return self.note(fragment(&format!("published diagnostics that cannot be read: {error}"))),
        };
        let key = uri::key(&push.uri);
        let Some(document) = self.documents.get_mut(&key) else { return };
        let name = &self.spec.name;
        match crate::push::take(document, &push, seq, name, encoding, &mut self.learned, io) {
            Ok(()) => {
                self.changed.insert(key);
            }
            Err(error) => self.note(fragment(&error)),
        }
    }

    fn answered(&mut self, id: Option<&wire::Id>, result: Result<&RawValue, ResponseError>, seq: u64, io: &mut Io<'_>) {
        let Some(session) = &mut self.session else { return };
        let Some((number, asked)) = session.answered(id) else {
            let what = match (id, &result) {
                (Some(id), _) => format!("answered a request that is not open: id {id}"),
                (None, Err(error)) => format!("could not read a message: {}", error.message),
                (None, Ok(_)) => "answered a request without an id".to_owned(),
            };
            return self.note(fragment(&what));
        };
        match asked {
            Asked::Initialize => self.initialized(result, io),
            Asked::Shutdown => session.exit(io),
            Asked::Pull(asked) => {
                let Some(document) = self.documents.get_mut(&asked.document) else { return };
                let name = &self.spec.name;
                if let Err(error) = crate::pull::answered(document, session, number, &asked, result, seq, name, io) {
                    self.note(fragment(&error));
                }
                let key = asked.document;
                self.pull(&key, io);
                self.changed.insert(key);
            }
        }
    }

    fn initialized(&mut self, result: Result<&RawValue, ResponseError>, io: &mut Io<'_>) {
        let Some(session) = &mut self.session else { return };
        if session.ending() {
            return;
        }
        let capabilities = result
            .map_err(|error| format!("initialize failed: {} ({})", error.message, error.code.0))
            .and_then(|result| ServerCapabilities::read(result.get()));
        match capabilities {
            Ok(capabilities) => {
                session.providers.splice(0..0, capabilities.provider.clone());
                session.capabilities = Some(capabilities);
                session.phase = Phase::Ready;
                session.initialized = Some(io.now);
                session.notify("initialized", Some(json!({})), 64, io);
                let keys: Vec<Vec<u8>> = self.wanted_documents(io.faults);
                for key in keys {
                    self.flush(&key, true, io);
                    self.pull(&key, io);
                }
            }
            Err(error) => self.start_failed(&error, io),
        }
    }

    /// Documents to bring to a server that has just become ready: all, so that a restart is not noticed.
    fn wanted_documents(&self, faults: Faults) -> Vec<Vec<u8>> {
        if faults.has(Fault::NoReplay) && self.starts.len() > 1 {
            return Vec::new();
        }
        self.documents.iter().filter(|(_, document)| document.wanted).map(|(key, _)| key.clone()).collect()
    }

    fn start_failed(&mut self, error: &str, io: &mut Io<'_>) {
        let error = fragment(error);
        self.note(error.clone());
        self.broken = Some(Reason::StartFailed { error });
        if let Some(session) = &mut self.session {
            session.kill(io);
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

/// The pull-diagnostic providers among registrations; odd entries are ignored.
fn registered(params: &Value) -> Vec<Provider> {
    let registrations = params.get("registrations").and_then(Value::as_array);
    let diagnostic = |entry: &&Value| entry.get("method").and_then(Value::as_str) == Some("textDocument/diagnostic");
    let provider = |entry: &Value| {
        let id = entry.get("id").and_then(Value::as_str)?.to_owned();
        Some(Provider::new(Some(id), entry.get("registerOptions").unwrap_or(&Value::Null)))
    };
    registrations.into_iter().flatten().filter(diagnostic).filter_map(provider).take(PROVIDERS_MAX).collect()
}

/// Ids of withdrawn registrations. The member is misspelt in the specification; both spellings occur.
fn unregistered(params: &Value) -> Vec<String> {
    let entries = params.get("unregisterations").or_else(|| params.get("unregistrations")).and_then(Value::as_array);
    let id = |entry: &Value| Some(entry.get("id")?.as_str()?.to_owned());
    entries.into_iter().flatten().filter_map(id).collect()
}

//! The loop: which file belongs to which servers, which call waits for what, what is told late, and the
//! end of it all. It decides; effects are performed elsewhere.

mod late;
mod settle;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use wire::Time;

use self::late::{Interest, Telling};
use crate::call::{self, Call, ClientKey, Part};
use crate::client::Client;
use crate::fault::{Fault, Faults};
use crate::roots::Roots;
use crate::session::{Ids, Io};
use crate::text::Text;
use crate::{
    Answer, CallId, Config, Effect, Event, FileError, OpId, ProcessId, Reason, Report, Request, ServerSpec, uri,
};

/// A diagnostic feedback loop: a value that takes events and gives effects.
///
/// It holds one client per (server, root), every document it was asked about, and the calls under way.
/// It never blocks, never reads a clock, and does nothing by itself: drive it with [`Loop::handle`] and
/// wake it at [`Loop::next_deadline`].
pub struct Loop {
    root: PathBuf,
    policy: crate::Policy,
    process_id: Option<u32>,
    servers: Vec<Arc<ServerSpec>>,
    faults: Faults,
    ids: Ids,
    roots: Roots,
    clients: BTreeMap<ClientKey, Client>,
    /// In the order of their coming.
    calls: Vec<Call>,
    /// The newest read of each file, so that an older read that ends later does not win.
    read: BTreeMap<PathBuf, (OpId, Arc<Text>)>,
    interests: BTreeMap<PathBuf, Interest>,
    late: BTreeMap<PathBuf, Report>,
    /// Answers to [`Request::Late`] that wait for a look at the disk.
    telling: Vec<Telling>,
    /// Calls that wait for the end; `Some` once the end has begun.
    stopping: Option<Vec<CallId>>,
    /// Of the last event.
    now: Time,
}

impl Loop {
    /// A loop at its start; nothing is started before it is needed.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self::build(config, Faults::default())
    }

    /// A loop that is broken in one named way, for proving that a judge's checks can fail.
    #[cfg(feature = "mutants")]
    #[must_use]
    pub fn with_fault(config: Config, fault: Fault) -> Self {
        Self::build(config, Faults { on: Some(fault) })
    }

    fn build(config: Config, faults: Faults) -> Self {
        Self {
            root: config.root,
            policy: config.policy,
            process_id: config.process_id,
            servers: config.servers.into_iter().map(Arc::new).collect(),
            faults,
            ids: Ids::default(),
            roots: Roots::default(),
            clients: BTreeMap::new(),
            calls: Vec::new(),
            read: BTreeMap::new(),
            interests: BTreeMap::new(),
            late: BTreeMap::new(),
            telling: Vec::new(),
            stopping: None,
            now: Time::ZERO,
        }
    }

    /// Takes one event and appends the effects to perform, in order. Total: no event makes it panic.
    pub fn handle(&mut self, event: Event, now: Time, effects: &mut Vec<Effect>) {
        self.now = now;
        match event {
            Event::Call { call, request } => self.asked(call, request, now, effects),
            Event::FileRead { op, result } => self.file_read(op, result, now, effects),
            Event::Statted { op, result } => {
                let exists = result.is_ok();
                self.roots.statted(op, exists, &self.root);
            }
            Event::Wake => self.wake(now, effects),
            Event::Spawned { process } => self.with_client(process, now, effects, Client::spawned),
            Event::SpawnFailed { process, error } => {
                self.with_client(process, now, effects, |client, _| client.spawn_failed(&error));
            }
            Event::Output { process, bytes } => {
                self.with_client(process, now, effects, |client, io| client.received(&bytes, io));
            }
            Event::OutputEnded { process } => {
                self.with_client(process, now, effects, |client, io| client.cut_off("closed its output", io));
            }
            Event::Written { process, op } => self.with_client(process, now, effects, |client, io| {
                if let Some(session) = &mut client.session {
                    session.written(op, io);
                }
            }),
            Event::WriteFailed { process, .. } => self.with_client(process, now, effects, |client, io| {
                if let Some(session) = &mut client.session {
                    session.input_failed();
                }
                client.cut_off("closed its input", io);
            }),
            Event::Exited { process, status, stderr_tail } => {
                self.with_client(process, now, effects, |client, io| client.exited(status, &stderr_tail, io.policy));
            }
        }
        self.begin_calls(now, effects);
        self.settle_calls(now, effects);
        self.settle_late(now);
        self.settle_stop(effects);
    }

    /// When [`Event::Wake`] is due, if time alone changes anything.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Time> {
        let clients = self.clients.values().filter_map(|client| client.next_deadline(&self.policy));
        let calls = self.calls.iter().filter_map(|call| self.call_deadline(call));
        let interests = self.interests.values().filter_map(|interest| interest.until);
        clients.chain(calls).chain(interests).min()
    }

    // --- Requests ---

    fn asked(&mut self, id: CallId, request: Request, now: Time, effects: &mut Vec<Effect>) {
        let answer = |answer| Effect::Answer { call: id, answer };
        if self.stopping.is_some() && !matches!(request, Request::Stop) {
            let reason = "the loop has been stopped".to_owned();
            return effects.push(answer(Answer::Refused { reason }));
        }
        match request {
            Request::Check { path } => self.begin(id, &path, false, now, effects),
            Request::Read { path } => {
                self.begin(id, &path, true, now, effects);
                effects.push(answer(Answer::Done));
            }
            Request::Close { path } | Request::Delete { path } => {
                if let Some(path) = uri::within(&self.root, &path) {
                    self.close(&path, now, effects);
                }
                effects.push(answer(Answer::Done));
            }
            Request::Late => self.tell_late(id, effects),
            Request::Cancel { call } => {
                self.end_early(Reason::Cancelled, |waiting| waiting.id == call, now, effects);
                effects.push(answer(Answer::Done));
            }
            Request::Stop => self.stop(id, now, effects),
        }
    }

    fn begin(&mut self, id: CallId, path: &Path, quiet: bool, now: Time, effects: &mut Vec<Effect>) {
        let Some(path) = uri::within(&self.root, path) else {
            if !quiet {
                let reason = format!("{} is not a file within the workspace", uri::shown(&self.root, path));
                effects.push(Effect::Answer { call: id, answer: Answer::Refused { reason } });
            }
            return;
        };
        let covering = self.covering(&path);
        let shown = uri::shown(&self.root, &path);
        let mut call = Call {
            id,
            quiet,
            shown,
            asked: now,
            reading: None,
            text: None,
            covering,
            parts: Vec::new(),
            begun: false,
            required_done: None,
            path,
        };
        if call.covering.is_empty() {
            if !quiet {
                let report = call::compose(&self.subject(&call.path, &call.shown, now, now, None), &[], Vec::new());
                effects.push(Effect::Answer { call: id, answer: Answer::Report(Box::new(report)) });
            }
            return;
        }
        let folder = call.path.parent().unwrap_or(&self.root).to_owned();
        let mut io = Io { now, effects, ids: &mut self.ids, policy: &self.policy, faults: self.faults };
        for server in &call.covering {
            self.roots.search(*server, &self.servers[*server], &self.root, &folder, &mut io);
        }
        let op = io.ids.op();
        call.reading = Some(op);
        io.effects.push(Effect::ReadFile { op, path: call.path.clone(), bytes_max: io.policy.file_bytes_max });
        self.calls.push(call);
    }

    /// Servers whose table row names the file's extension or its name.
    fn covering(&self, path: &Path) -> Vec<usize> {
        let covers = |spec: &ServerSpec| spec.language_id(path).is_some();
        self.servers.iter().enumerate().filter(|(_, spec)| covers(spec)).map(|(at, _)| at).collect()
    }

    fn file_read(&mut self, op: OpId, result: Result<Vec<u8>, FileError>, now: Time, effects: &mut Vec<Effect>) {
        let Some(at) = self.calls.iter().position(|call| call.reading == Some(op)) else {
            return self.late_file_read(op, result.ok().and_then(|bytes| decode(bytes).ok()), effects);
        };
        self.calls[at].reading = None;
        match result.map_err(|error| error.to_string()).and_then(decode) {
            Ok(text) => {
                let path = &self.calls[at].path;
                let newest = self.read.get(path).filter(|(read, _)| *read > op).map(|(_, text)| Arc::clone(text));
                let text = newest.unwrap_or_else(|| {
                    let text = Arc::new(Text::new(text));
                    self.read.insert(path.clone(), (op, Arc::clone(&text)));
                    text
                });
                self.calls[at].text = Some(text);
            }
            Err(error) => {
                let call = self.calls.remove(at);
                self.close(&call.path, now, effects);
                if !call.quiet {
                    let subject = self.subject(&call.path, &call.shown, call.asked, now, None);
                    let report = Box::new(call::unreadable(&subject, error));
                    effects.push(Effect::Answer { call: call.id, answer: Answer::Report(report) });
                }
            }
        }
    }

    /// Calls whose text and roots are known now: sync, and ask.
    fn begin_calls(&mut self, now: Time, effects: &mut Vec<Effect>) {
        for at in 0..self.calls.len() {
            let call = &self.calls[at];
            let folder = call.path.parent().unwrap_or(&self.root);
            let known = |server: &usize| self.roots.known(*server, folder).cloned();
            if call.begun || call.text.is_none() {
                continue;
            }
            let Some(roots) = call.covering.iter().map(known).collect::<Option<Vec<_>>>() else { continue };
            self.begin_call(at, roots, now, effects);
        }
        self.calls.retain(|call| !(call.quiet && call.begun));
    }

    fn begin_call(&mut self, at: usize, roots: Vec<PathBuf>, now: Time, effects: &mut Vec<Effect>) {
        let Some(text) = self.calls[at].text.clone() else { return };
        let path = self.calls[at].path.clone();
        self.interests.remove(&path);
        if !self.faults.has(Fault::LateThoughStale) {
            self.late.remove(&path);
        }
        let mut io = Io { now, effects, ids: &mut self.ids, policy: &self.policy, faults: self.faults };
        let mut parts = Vec::with_capacity(roots.len());
        for (server, root) in self.calls[at].covering.clone().into_iter().zip(roots) {
            let spec = Arc::clone(&self.servers[server]);
            let key = (server, root.clone());
            let workspace = &self.root;
            let process_id = self.process_id;
            let required = spec.required;
            let language_id = spec.language_id(&path).unwrap_or_default().to_owned();
            let client = self
                .clients
                .entry(key.clone())
                .or_insert_with(|| Client::new(spec, root, workspace.clone(), process_id));
            client.want(&mut io);
            let revision = client.update(&path, &language_id, &text, &mut io);
            let mut part =
                Part { client: key, document: uri::key(&uri::of(&path)), revision, required, deadline: None };
            part.fix(self.calls[at].asked, client, &self.policy, now, false);
            parts.push(part);
        }
        let call = &mut self.calls[at];
        call.parts = parts;
        call.begun = true;
    }

    fn close(&mut self, path: &Path, now: Time, effects: &mut Vec<Effect>) {
        self.interests.remove(path);
        self.late.remove(path);
        self.read.remove(path);
        let key = uri::key(&uri::of(path));
        let mut io = Io { now, effects, ids: &mut self.ids, policy: &self.policy, faults: self.faults };
        for client in self.clients.values_mut() {
            client.close(&key, &mut io);
        }
    }

    // --- Processes ---

    fn with_client(
        &mut self,
        process: ProcessId,
        now: Time,
        effects: &mut Vec<Effect>,
        act: impl FnOnce(&mut Client, &mut Io<'_>),
    ) {
        let of = |client: &&mut Client| client.session.as_ref().is_some_and(|session| session.process == process);
        let mut io = Io { now, effects, ids: &mut self.ids, policy: &self.policy, faults: self.faults };
        if let Some(client) = self.clients.values_mut().find(of) {
            act(client, &mut io);
        }
    }

    fn wake(&mut self, now: Time, effects: &mut Vec<Effect>) {
        let mut io = Io { now, effects, ids: &mut self.ids, policy: &self.policy, faults: self.faults };
        for client in self.clients.values_mut() {
            client.wake(&mut io);
        }
    }

    // --- The end ---

    fn stop(&mut self, id: CallId, now: Time, effects: &mut Vec<Effect>) {
        let begun = self.stopping.is_some();
        self.stopping.get_or_insert_default().push(id);
        if begun {
            return;
        }
        for call in &mut self.calls {
            call.begun = true;
        }
        self.end_early(Reason::Cancelled, |_| true, now, effects);
        self.calls.clear();
        self.interests.clear();
        self.end_telling(effects);
        let mut io = Io { now, effects, ids: &mut self.ids, policy: &self.policy, faults: self.faults };
        for client in self.clients.values_mut() {
            client.shut_down(&mut io);
        }
    }

    fn settle_stop(&mut self, effects: &mut Vec<Effect>) {
        let Some(waiting) = &mut self.stopping else { return };
        if !self.clients.values().all(Client::ended) && !self.faults.has(Fault::LeavesOrphans) {
            return;
        }
        for call in waiting.drain(..) {
            effects.push(Effect::Answer { call, answer: Answer::Done });
        }
    }
}

/// The text of a file. A byte order mark is no part of the text: positions and columns count without it.
fn decode(bytes: Vec<u8>) -> Result<String, String> {
    let text =
        String::from_utf8(bytes).map_err(|error| format!("not UTF-8 at byte {}", error.utf8_error().valid_up_to()))?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

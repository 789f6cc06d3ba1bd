//! The simulated world: a loop and its fake servers under a virtual clock, joined by bounded pipes that
//! carry bytes. Everything that is random comes from one seed; the same seed gives the same run.

mod engine;
mod pipe;
mod process;
mod schedule;
mod subject;
mod throughput;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use feedback::{CallId, Policy};
use scenario::Script;
use wire::Time;

use self::engine::{Engine, Program};
pub use self::subject::{MakeSubject, Subject, reference};
pub use self::throughput::{Carried, throughput};
use crate::protocol::{self, Op, Start};
use crate::results::WorldKind;
use crate::world::{Awaited, HarnessError, Instance, Observed, Ticket, World};

/// Where the workspace is in the simulated world.
pub const ROOT: &str = "/sim/workspace";
/// Where its programs are.
const PROGRAMS: &str = "/sim/servers";
/// What still lives this long after the loop's end was left behind.
const LEFT_BEHIND_AFTER: Duration = Duration::from_secs(2);
/// How long the answer to `stop` is waited for.
const STOP_WAIT: Duration = Duration::from_secs(60);

/// One loop with its servers, simulated.
pub struct SimWorld<'a> {
    engine: Engine,
    make: &'a MakeSubject,
    policy: Policy,
    last_id: u64,
    /// Answers that don't come from the loop itself.
    own_answers: BTreeMap<u64, (Time, protocol::Answer)>,
    stop: Option<Ticket>,
}

impl<'a> SimWorld<'a> {
    /// A world with these servers, by name; a server without a script is a program that is not there.
    #[must_use]
    pub fn new(servers: &[(String, Option<Arc<Script>>)], seed: u64, make: &'a MakeSubject) -> Self {
        let programs = servers
            .iter()
            .filter_map(|(name, script)| {
                let program = Program { server: name.clone(), script: Arc::clone(script.as_ref()?) };
                Some((program_path(name), program))
            })
            .collect();
        Self {
            engine: Engine::new(seed, programs),
            make,
            policy: Policy::default(),
            last_id: 0,
            own_answers: BTreeMap::new(),
            stop: None,
        }
    }

    fn start(&mut self, id: u64, mut start: Start) {
        if start.root.is_empty() {
            ROOT.clone_into(&mut start.root);
        }
        for server in start.servers.iter_mut().filter(|server| server.command.is_empty()) {
            server.command = vec![program_path(&server.name).display().to_string()];
        }
        let config = protocol::reference::config(&start, None);
        self.policy = config.policy.clone();
        self.engine.begin((self.make)(config));
        self.own_answer(id, protocol::reference::started(id));
    }

    fn own_answer(&mut self, id: u64, answer: protocol::Answer) {
        self.own_answers.insert(id, (self.engine.now(), answer));
    }

    fn taken(&mut self, ticket: Ticket) -> Option<Awaited> {
        if let Some((at, answer)) = self.own_answers.remove(&ticket.0) {
            return Some(Awaited::Answered { at, answer });
        }
        let (at, answer) = self.engine.answers.remove(&CallId(ticket.0))?;
        Some(Awaited::Answered { at, answer: protocol::reference::answer(ticket.0, &answer, &self.policy) })
    }

    /// Waits until the loop has stopped, then as long as its servers may take to be gone.
    fn wind_down(&mut self) -> Result<(), HarnessError> {
        if !self.engine.has_begun() {
            return Ok(());
        }
        let stop = match self.stop {
            Some(stop) => stop,
            None => self.submit(Op::Stop)?,
        };
        let limit = self.engine.now().after(STOP_WAIT);
        let done = |engine: &Engine| engine.answers.contains_key(&CallId(stop.0)) || engine.loop_ended.is_some();
        self.engine.run(limit, &mut |engine| done(engine))?;
        self.pass(LEFT_BEHIND_AFTER)
    }
}

fn program_path(server: &str) -> PathBuf {
    Path::new(PROGRAMS).join(server)
}

impl World for SimWorld<'_> {
    fn kind(&self) -> WorldKind {
        WorldKind::Simulated
    }

    fn now(&self) -> Time {
        self.engine.now()
    }

    fn write_file(&mut self, path: &str, bytes: &[u8]) -> Result<(), HarnessError> {
        self.engine.files.insert(Path::new(ROOT).join(path), bytes.to_vec());
        Ok(())
    }

    fn remove_file(&mut self, path: &str) -> Result<(), HarnessError> {
        match self.engine.files.remove(&Path::new(ROOT).join(path)) {
            Some(_) => Ok(()),
            None => Err(HarnessError::new(format!("there is no file {path} to remove"))),
        }
    }

    fn submit(&mut self, op: Op) -> Result<Ticket, HarnessError> {
        self.last_id += 1;
        let id = self.last_id;
        match op {
            Op::Start(start) if !self.engine.has_begun() => self.start(id, start),
            op => {
                if op == Op::Stop {
                    self.stop = Some(Ticket(id));
                }
                match protocol::reference::request(&op) {
                    Ok(request) => self.engine.call(CallId(id), request),
                    Err(error) => self.own_answer(id, protocol::reference::refused(id, error)),
                }
            }
        }
        Ok(Ticket(id))
    }

    fn answer(&mut self, ticket: Ticket, wait_max: Duration) -> Result<Awaited, HarnessError> {
        if let Some(taken) = self.taken(ticket) {
            return Ok(taken);
        }
        let limit = self.engine.now().after(wait_max);
        let done = |engine: &Engine| engine.answers.contains_key(&CallId(ticket.0)) || engine.loop_ended.is_some();
        self.engine.run(limit, &mut |engine| done(engine))?;
        let ended = self.engine.loop_ended.clone().map(|how| Awaited::LoopEnded { how });
        Ok(self.taken(ticket).or(ended).unwrap_or(Awaited::TimedOut))
    }

    fn pass(&mut self, duration: Duration) -> Result<(), HarnessError> {
        let limit = self.engine.now().after(duration);
        self.engine.run(limit, &mut |_| false).map(|_| ())
    }

    fn open_gate(&mut self, gate: &str) -> Result<(), HarnessError> {
        self.engine.open_gate(gate);
        Ok(())
    }

    fn await_instances(
        &mut self,
        until: &mut dyn FnMut(&[Instance]) -> bool,
        wait_max: Duration,
    ) -> Result<bool, HarnessError> {
        let limit = self.engine.now().after(wait_max);
        self.engine.run(limit, &mut |engine| until(&engine.instances))
    }

    fn kill_server(&mut self, server: &str) -> Result<(), HarnessError> {
        if self.engine.kill(server) { Ok(()) } else { Err(HarnessError::new(format!("no server {server} runs"))) }
    }

    fn finish(mut self: Box<Self>) -> Result<Observed, HarnessError> {
        self.wind_down()?;
        let left_behind = self.engine.alive();
        Ok(Observed { instances: self.engine.instances, left_behind, loop_stderr: String::new() })
    }
}

//! The discrete-event engine: one loop, its servers, a virtual clock. It lets one thing happen after the
//! other and hands it to whom it concerns; what the loop wants done is in [`effects`].

mod effects;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use fake_lsp::Input;
use feedback::{Answer, CallId, Effect, Event, Request};
use scenario::Script;
use wire::Time;

use self::effects::broken;
use super::process::Process;
use super::schedule::{Chance, Schedule};
use super::subject::Subject;
use crate::world::{HarnessError, Instance};

/// Steps without time passing before the run counts as stuck.
const STEPS_AT_ONCE_MAX: u32 = 200_000;
/// Wakes of the loop without time passing before it counts as spinning.
const WAKES_AT_ONCE_MAX: u32 = 10_000;

/// A program that can be started in the simulated world.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) server: String,
    pub(super) script: Arc<Script>,
}

/// What is due.
enum Due {
    ToLoop(Event),
    ToServer(usize),
    ToClient(usize),
    Poke(usize, Poke),
}

/// What reaches a process beside its input.
enum Poke {
    Start,
    Gate(String),
    Terminate,
    Kill,
}

pub(super) struct Engine {
    now: Time,
    seed: u64,
    chance: Chance,
    schedule: Schedule<Due>,
    subject: Option<Box<dyn Subject>>,
    subject_deadline: Option<Time>,
    effects: Vec<Effect>,
    programs: BTreeMap<PathBuf, Program>,
    processes: Vec<Process>,
    pub(super) files: BTreeMap<PathBuf, Vec<u8>>,
    pub(super) instances: Vec<Instance>,
    pub(super) answers: BTreeMap<CallId, (Time, Answer)>,
    gates: BTreeSet<String>,
    steps_at_once: u32,
    wakes_at_once: u32,
    /// How the loop ended, if it did: one that spins would hold the virtual clock for ever.
    pub(super) loop_ended: Option<String>,
}

impl Engine {
    pub(super) fn new(seed: u64, programs: BTreeMap<PathBuf, Program>) -> Self {
        Self {
            now: Time::ZERO,
            seed,
            chance: Chance::new(seed),
            schedule: Schedule::new(),
            subject: None,
            subject_deadline: None,
            effects: Vec::new(),
            programs,
            processes: Vec::new(),
            files: BTreeMap::new(),
            instances: Vec::new(),
            answers: BTreeMap::new(),
            gates: BTreeSet::new(),
            steps_at_once: 0,
            wakes_at_once: 0,
            loop_ended: None,
        }
    }

    pub(super) fn now(&self) -> Time {
        self.now
    }

    pub(super) fn begin(&mut self, subject: Box<dyn Subject>) {
        self.subject = Some(subject);
    }

    pub(super) fn has_begun(&self) -> bool {
        self.subject.is_some() || self.loop_ended.is_some()
    }

    /// Hands a call to the loop, now.
    pub(super) fn call(&mut self, call: CallId, request: Request) {
        self.tell(Event::Call { call, request });
    }

    /// Opens a gate for every process, present and to come.
    pub(super) fn open_gate(&mut self, gate: &str) {
        if self.gates.insert(gate.to_owned()) {
            // One that has not started yet finds the gate open when it does.
            for index in (0..self.processes.len()).filter(|&index| self.processes[index].started).collect::<Vec<_>>() {
                self.poke(index, Poke::Gate(gate.to_owned()));
            }
        }
    }

    /// Kills the newest process of a server; `false` if none lives.
    pub(super) fn kill(&mut self, server: &str) -> bool {
        let instances = &self.instances;
        let newest = self
            .processes
            .iter()
            .rposition(|process| process.is_alive() && instances[process.instance].server == server);
        newest.inspect(|&index| self.poke(index, Poke::Kill)).is_some()
    }

    /// The processes that are alive, by server and number of start.
    pub(super) fn alive(&self) -> Vec<String> {
        let name = |process: &Process| {
            let instance = &self.instances[process.instance];
            format!("server {}#{}", instance.server, instance.number)
        };
        self.processes.iter().filter(|process| process.is_alive()).map(name).collect()
    }

    /// Runs until `done`, or to `limit`; whether it was done.
    pub(super) fn run(&mut self, limit: Time, done: &mut dyn FnMut(&Self) -> bool) -> Result<bool, HarnessError> {
        loop {
            if done(self) {
                return Ok(true);
            }
            match self.next_due() {
                Some(due) if due <= limit => self.step(due)?,
                _ => {
                    self.now = self.now.max(limit);
                    return Ok(false);
                }
            }
        }
    }

    fn next_due(&self) -> Option<Time> {
        let fakes = self.processes.iter().filter_map(Process::deadline);
        fakes.chain(self.subject_deadline).chain(self.schedule.next_due()).min()
    }

    /// Lets one thing happen of all that are due at `due`; the seed chooses which.
    fn step(&mut self, due: Time) -> Result<(), HarnessError> {
        self.advance(due)?;
        let due_now = |deadline: Option<Time>| deadline.is_some_and(|deadline| deadline <= due);
        let scheduled = due_now(self.schedule.next_due());
        let subject = due_now(self.subject_deadline);
        let fakes = self.processes.iter().filter(|process| due_now(process.deadline())).count();
        let candidates = usize::from(scheduled) + usize::from(subject) + fakes;
        let mut chosen = if candidates == 1 { 0 } else { self.chance.below(candidates) };
        if scheduled {
            if chosen == 0 {
                self.happen();
                return Ok(());
            }
            chosen -= 1;
        }
        if subject {
            if chosen == 0 {
                self.wake();
                return Ok(());
            }
            chosen -= 1;
        }
        let index = (0..self.processes.len()).filter(|&index| due_now(self.processes[index].deadline())).nth(chosen);
        if let Some(index) = index {
            self.give(index, Input::Wake);
        }
        Ok(())
    }

    fn wake(&mut self) {
        self.wakes_at_once += 1;
        if self.wakes_at_once > WAKES_AT_ONCE_MAX {
            let at = self.now.as_millis_f64();
            self.loop_ended = Some(format!("at {at} ms it asked to be woken at once, {WAKES_AT_ONCE_MAX} times over"));
            self.subject = None;
            self.subject_deadline = None;
            return;
        }
        self.tell(Event::Wake);
    }

    fn advance(&mut self, due: Time) -> Result<(), HarnessError> {
        if due > self.now {
            self.now = due;
            self.steps_at_once = 0;
            self.wakes_at_once = 0;
        }
        self.steps_at_once += 1;
        if self.steps_at_once > STEPS_AT_ONCE_MAX {
            let what = format!("time stands still at {} ms: something is always due", self.now.as_millis_f64());
            return Err(HarnessError::new(what));
        }
        Ok(())
    }

    fn happen(&mut self) {
        match self.schedule.take() {
            None => {}
            Some(Due::ToLoop(event)) => self.tell(event),
            Some(Due::ToServer(index)) => self.deliver_to_server(index),
            Some(Due::ToClient(index)) => self.deliver_to_client(index),
            Some(Due::Poke(index, poke)) => match poke {
                Poke::Start => self.start(index),
                Poke::Gate(gate) => self.give(index, Input::Gate(&gate)),
                Poke::Terminate if self.processes[index].started => self.give(index, Input::Terminate),
                // Before it handles signals, any of them ends a process.
                Poke::Terminate | Poke::Kill => {
                    self.processes[index].kill();
                    self.settle(index);
                }
            },
        }
    }

    /// Adds something, this many microseconds from now.
    fn later(&mut self, from_us: u64, to_us: u64, due: Due) {
        let at = self.now.after(self.chance.delay(from_us, to_us));
        let tie = self.chance.number();
        self.schedule.add(at, tie, due);
    }

    fn poke(&mut self, index: usize, poke: Poke) {
        self.later(10, 60, Due::Poke(index, poke));
    }

    fn deliver_to_server(&mut self, index: usize) {
        let process = &mut self.processes[index];
        process.stdin.flowing = false;
        if process.takes_input() && process.stdin.has_news() {
            let count = piece(&mut self.chance, process.stdin.readable());
            process.take_input(count, self.now, &mut self.instances[process.instance].lines);
        }
        self.settle(index);
    }

    fn deliver_to_client(&mut self, index: usize) {
        let process = &mut self.processes[index];
        process.stdout.flowing = false;
        let id = process.id;
        let event = if process.stdout.readable() > 0 {
            let count = piece(&mut self.chance, process.stdout.readable());
            let mut bytes = Vec::new();
            process.stdout.read(count, |piece| bytes.extend_from_slice(piece));
            Event::Output { process: id, bytes }
        } else {
            process.stdout.ended = true;
            Event::OutputEnded { process: id }
        };
        self.settle(index);
        self.tell(event);
    }

    fn give(&mut self, index: usize, input: Input<'_>) {
        let process = &mut self.processes[index];
        process.give(input, self.now, &mut self.instances[process.instance].lines);
        self.settle(index);
    }

    /// Schedules whatever follows from a process's new state.
    fn settle(&mut self, index: usize) {
        let process = &mut self.processes[index];
        let id = process.id;
        let written = process.write.filter(|_| !process.stdin.is_full() || !process.is_alive());
        if written.is_some() {
            process.write = None;
        }
        let alive = process.is_alive();
        let to_server = process.takes_input() && process.stdin.has_news() && !process.stdin.flowing;
        process.stdin.flowing |= to_server;
        let to_client = process.stdout.has_news() && !process.stdout.flowing;
        process.stdout.flowing |= to_client;
        let exit = process.ended.filter(|_| process.stdout.ended && !process.exit_told);
        process.exit_told |= exit.is_some();
        self.instances[process.instance].ended |= !alive;
        let stderr_tail = exit.map(|_| process.stderr_tail()).unwrap_or_default();
        if let Some(op) = written {
            let event = if alive { Event::Written { process: id, op } } else { broken(id, op) };
            self.later(1, 20, Due::ToLoop(event));
        }
        if to_server {
            self.later(5, 50, Due::ToServer(index));
        }
        if to_client {
            self.later(5, 50, Due::ToClient(index));
        }
        if let Some(status) = exit {
            self.later(20, 200, Due::ToLoop(Event::Exited { process: id, status, stderr_tail }));
        }
    }

    /// Hands an event to the loop and performs what it wants.
    fn tell(&mut self, event: Event) {
        let Some(subject) = &mut self.subject else { return };
        let mut effects = std::mem::take(&mut self.effects);
        subject.handle(event, self.now, &mut effects);
        self.subject_deadline = subject.next_deadline();
        for effect in effects.drain(..) {
            self.perform(effect);
        }
        self.effects = effects;
    }

    fn start(&mut self, index: usize) {
        self.processes[index].started = true;
        self.give(index, Input::Start);
        for gate in self.gates.clone() {
            self.give(index, Input::Gate(&gate));
        }
    }
}

/// How many bytes arrive at once: mostly all that are there, sometimes fewer.
fn piece(chance: &mut Chance, readable: usize) -> usize {
    if readable > 1 && chance.number().is_multiple_of(4) { 1 + chance.below(readable) } else { readable }
}

//! Runs one scenario in one world, whatever the world and whoever is judged in it, and keeps everything
//! that was seen. What it means is judged in `laws`.

mod record;

use std::collections::BTreeMap;
use std::time::Duration;

use scenario::Scenario;
use scenario::scenario::{MessageCount, Step, Verb};
use serde_json::Value;
use wire::Time;

pub(crate) use self::record::{Call, Late, Run, count_messages};
use crate::history::History;
use crate::laws;
use crate::protocol::{self, Op, PROTOCOL_VERSION, Start};
use crate::results::{Check, Status, WorldKind};
use crate::world::{Awaited, HarnessError, Instance, Ticket, World};

/// How long beyond its budgets a loop is waited for before it counts as never answering.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long a message, an end or a late result is waited for.
const CAUSE_WAIT: Duration = Duration::from_secs(4);
/// What a message that was seen at the server may take to be read by the loop.
const ARRIVAL: Duration = Duration::from_millis(30);
/// How often late results are asked for until those expected have come.
const LATE_POLL: Duration = Duration::from_millis(20);
/// Longest that ending every server in order may take: the loop's own bounds on its end, and some more.
pub(crate) const STOP_BUDGET: Duration = Duration::from_secs(4);

/// Runs a scenario and judges what was seen. A fault of the harness is a check as well.
#[must_use]
pub fn run(scenario: &Scenario, world: Box<dyn World + '_>) -> Vec<Check> {
    let kind = world.kind();
    match Runner::new(scenario, world).run() {
        Ok(Ran::Through(run)) => laws::judge(&run),
        Ok(Ran::Lacks(op)) => vec![lacks(scenario, kind, op)],
        Err(error) => vec![harness_error(scenario, kind, &error)],
    }
}

/// The check that says that the harness itself failed.
#[must_use]
pub fn harness_error(scenario: &Scenario, world: WorldKind, error: &HarnessError) -> Check {
    Check {
        id: "harness/ran".to_owned(),
        law: laws::law_of(scenario.law),
        scenario: scenario.id.clone(),
        world,
        status: Status::HarnessError,
        expected: "the scenario can be run".to_owned(),
        observed: error.to_string(),
        evidence: Vec::new(),
    }
}

/// The check that says that the loop has no notion of what the scenario is about.
fn lacks(scenario: &Scenario, world: WorldKind, op: &str) -> Check {
    let observed = format!("the loop does not say that it can `{op}`, which the scenario is about");
    let status = Status::NotApplicable;
    Check { status, ..harness_error(scenario, world, &HarnessError::new(observed)) }
}

/// What came of running a scenario.
enum Ran<'a> {
    /// Every step was taken.
    Through(Box<Run<'a>>),
    /// The loop can't do something that the scenario is about.
    Lacks(&'static str),
}

/// What a step needs a loop to be able to do, if that is not a matter of course. Without `read` there is
/// just no warming up.
fn needed(step: &Step) -> Option<&'static str> {
    match &step.verb {
        Verb::Close(_) => Some("close"),
        Verb::Delete(_) => Some("delete"),
        Verb::Late => Some("late"),
        Verb::Cancel(_) => Some("cancel"),
        _ => None,
    }
}

struct Runner<'a, 'w> {
    scenario: &'a Scenario,
    world: Box<dyn World + 'w>,
    can: Vec<String>,
    calls: Vec<Call>,
    late: Vec<Late>,
    history: History,
    deeds: Vec<(Time, String)>,
    missed: Vec<String>,
    /// Calls under way, by label.
    open: BTreeMap<String, (usize, Ticket)>,
    answered: u64,
}

impl<'a, 'w> Runner<'a, 'w> {
    fn new(scenario: &'a Scenario, world: Box<dyn World + 'w>) -> Self {
        Self {
            scenario,
            world,
            can: Vec::new(),
            calls: Vec::new(),
            late: Vec::new(),
            history: History::default(),
            deeds: Vec::new(),
            missed: Vec::new(),
            open: BTreeMap::new(),
            answered: 0,
        }
    }

    fn run(mut self) -> Result<Ran<'a>, HarnessError> {
        self.start()?;
        if let Some(op) = self.scenario.steps.iter().filter_map(needed).find(|op| !self.can(op)) {
            self.world.finish()?;
            return Ok(Ran::Lacks(op));
        }
        for (index, step) in self.scenario.steps.iter().enumerate() {
            self.step(index, step)?;
        }
        for (_, (call, ticket)) in std::mem::take(&mut self.open) {
            self.await_answer(call, ticket)?;
        }
        let stop = self.stop()?;
        let world = self.world.kind();
        let observed = self.world.finish()?;
        Ok(Ran::Through(Box::new(Run {
            scenario: self.scenario,
            world,
            can: self.can,
            calls: self.calls,
            late: self.late,
            history: self.history,
            deeds: self.deeds,
            missed: self.missed,
            stop: Some(stop),
            observed,
        })))
    }

    fn can(&self, what: &str) -> bool {
        self.can.iter().any(|can| can == what)
    }

    fn start(&mut self) -> Result<(), HarnessError> {
        let ticket = self.world.submit(Op::Start(start(self.scenario)))?;
        match self.world.answer(ticket, self.patience())? {
            Awaited::Answered { answer, .. } if answer.ok => {
                self.can = answer.can;
                Ok(())
            }
            Awaited::Answered { answer, .. } => {
                let error = answer.error.unwrap_or_else(|| "no reason given".to_owned());
                Err(HarnessError::new(format!("the loop did not start a session: {error}")))
            }
            Awaited::TimedOut => Err(HarnessError::new("the loop did not answer `start`")),
            Awaited::LoopEnded { how } => Err(HarnessError::new(format!("the loop ended upon `start`: {how}"))),
        }
    }

    fn stop(&mut self) -> Result<Call, HarnessError> {
        let asked = self.world.now();
        let ticket = self.world.submit(Op::Stop)?;
        let outcome = self.world.answer(ticket, STOP_BUDGET + PATIENCE)?;
        let asked_by = self.scenario.steps.len();
        Ok(Call { asked_by, awaited_by: None, op: "stop", path: None, asked, outcome })
    }

    /// The longest that any call may take, and then some.
    fn patience(&self) -> Duration {
        let budget = self.scenario.budget;
        budget.initialize + budget.first.max(budget.call) + PATIENCE
    }

    fn step(&mut self, index: usize, step: &Step) -> Result<(), HarnessError> {
        match &step.verb {
            Verb::Edit(file) => {
                self.write(&file.path, &file.text)?;
                self.ask_or_start(index, step, "edit", &file.path, Op::Edit { path: file.path.clone() })
            }
            Verb::Write(file) => {
                self.deed(format!("writes {} ({:08x})", file.path, wire::text_hash(file.text.as_bytes())));
                self.write(&file.path, &file.text)
            }
            Verb::Check(path) => self.ask_or_start(index, step, "edit", path, Op::Edit { path: path.clone() }),
            Verb::Read(_) if !self.can("read") => Ok(()),
            Verb::Read(path) => self.ask(index, "read", path, Op::Read { path: path.clone() }),
            Verb::Close(path) => self.ask(index, "close", path, Op::Close { path: path.clone() }),
            Verb::Delete(path) => {
                self.world.remove_file(path)?;
                self.history.removed(path, self.world.now());
                self.ask(index, "delete", path, Op::Delete { path: path.clone() })
            }
            Verb::Late => self.ask_late(index, step),
            Verb::Wait(duration) => self.world.pass(*duration),
            Verb::Gate(gate) => {
                self.deed(format!("opens the gate {gate}"));
                self.world.open_gate(gate)
            }
            Verb::Kill(server) => self.kill(server),
            Verb::Cancel(label) => self.cancel(index, label),
            Verb::Await(label) => match self.open.remove(label) {
                Some((call, ticket)) => {
                    self.calls[call].awaited_by = Some(index);
                    self.await_answer(call, ticket)
                }
                None => Err(HarnessError::new(format!("no call is under way under the label {label:?}"))),
            },
            Verb::Message(message) => self.await_messages(message),
        }
    }

    fn deed(&mut self, what: String) {
        self.deeds.push((self.world.now(), what));
    }

    fn write(&mut self, path: &str, text: &str) -> Result<(), HarnessError> {
        // The history comes first: an answer may follow the write at once, and must find its text there.
        self.history.written(path, self.world.now(), text);
        self.world.write_file(path, text.as_bytes())
    }

    fn submit(
        &mut self,
        index: usize,
        op_name: &'static str,
        path: &str,
        op: Op,
    ) -> Result<(usize, Ticket), HarnessError> {
        let asked = self.world.now();
        let ticket = self.world.submit(op)?;
        let path = Some(path.to_owned());
        let outcome = Awaited::TimedOut;
        self.calls.push(Call { asked_by: index, awaited_by: None, op: op_name, path, asked, outcome });
        Ok((self.calls.len() - 1, ticket))
    }

    fn ask(&mut self, index: usize, op_name: &'static str, path: &str, op: Op) -> Result<(), HarnessError> {
        let (call, ticket) = self.submit(index, op_name, path, op)?;
        self.calls[call].awaited_by = Some(index);
        self.await_answer(call, ticket)
    }

    fn ask_or_start(
        &mut self,
        index: usize,
        step: &Step,
        op_name: &'static str,
        path: &str,
        op: Op,
    ) -> Result<(), HarnessError> {
        let Some(label) = &step.start else { return self.ask(index, op_name, path, op) };
        let started = self.submit(index, op_name, path, op)?;
        self.open.insert(label.clone(), started);
        Ok(())
    }

    fn await_answer(&mut self, call: usize, ticket: Ticket) -> Result<(), HarnessError> {
        let outcome = self.world.answer(ticket, self.patience())?;
        self.calls[call].outcome = outcome;
        if self.calls[call].op == "edit" && self.calls[call].answered().is_some() {
            self.answered += 1;
            self.world.open_gate(&format!("answered:{}", self.answered))?;
        }
        Ok(())
    }

    fn cancel(&mut self, index: usize, label: &str) -> Result<(), HarnessError> {
        let Some(&(_, Ticket(call))) = self.open.get(label) else {
            return Err(HarnessError::new(format!("no call is under way under the label {label:?}")));
        };
        let (call, ticket) = self.submit(index, "cancel", label, Op::Cancel { call })?;
        self.await_answer(call, ticket)
    }

    fn kill(&mut self, server: &str) -> Result<(), HarnessError> {
        self.deed(format!("kills the server {server}"));
        self.world.kill_server(server)?;
        let mut ended = |instances: &[Instance]| {
            instances.iter().rev().find(|instance| instance.server == server).is_some_and(|instance| instance.ended)
        };
        if !self.world.await_instances(&mut ended, CAUSE_WAIT)? {
            self.missed.push(format!("the end of {server} after it was killed"));
        }
        self.world.pass(ARRIVAL)
    }

    fn await_messages(&mut self, message: &MessageCount) -> Result<(), HarnessError> {
        let mut came = |instances: &[Instance]| count_messages(instances, message) >= message.count_min;
        if !self.world.await_instances(&mut came, CAUSE_WAIT)? {
            self.missed.push(format!("{} × {} {:?}", message.count_min, message.method, message.dir));
        }
        self.world.pass(ARRIVAL)
    }

    /// Asks for late results: until those that are expected have come, or once if none are.
    fn ask_late(&mut self, index: usize, step: &Step) -> Result<(), HarnessError> {
        let wanted = step.expect.as_ref().and_then(|expect| expect.codes.as_ref()).map_or(0, Vec::len);
        let limit = self.world.now().after(CAUSE_WAIT);
        let mut told = Vec::new();
        loop {
            let ticket = self.world.submit(Op::Late)?;
            match self.world.answer(ticket, self.patience())? {
                Awaited::Answered { answer, .. } => told.extend(answer.late.unwrap_or_default()),
                Awaited::TimedOut => self.missed.push("an answer to `late`".to_owned()),
                Awaited::LoopEnded { how } => self.missed.push(format!("an answer to `late`: the loop ended: {how}")),
            }
            let findings: usize = told.iter().map(|told| told.findings.as_ref().map_or(0, Vec::len)).sum();
            if findings >= wanted || self.world.now() >= limit {
                break;
            }
            self.world.pass(LATE_POLL)?;
        }
        self.late.push(Late { step: index, at: self.world.now(), told });
        Ok(())
    }
}

/// The facts of the session, as the loop is told.
fn start(scenario: &Scenario) -> Start {
    let millis = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    let servers = scenario.servers.iter().map(|server| protocol::Server {
        name: server.name.clone(),
        command: Vec::new(),
        extensions: server.extensions.clone(),
        language_id: "fake".to_owned(),
        settings: server.settings.clone(),
        initialization_options: Value::Null,
        required: server.required,
    });
    Start {
        protocol: PROTOCOL_VERSION,
        root: String::new(),
        budget_ms: millis(scenario.budget.call),
        initialize_budget_ms: Some(millis(scenario.budget.initialize)),
        first_budget_ms: Some(millis(scenario.budget.first)),
        servers: servers.collect(),
    }
}

//! The one task that owns a loop: it hands events in, performs effects in order, and keeps the clock.
//! It never waits for anything but the next event, so no server and no file can hold it up.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use wire::Time;

use super::files;
use super::pipes::{self, Order};
use crate::{Answer, CallId, Effect, Event, Loop, OpId, ProcessId, Record, Request};

/// Completions that may wait for the loop; with them full, pipes are not read.
const EVENTS_MAX: usize = 64;

/// Orders that may wait for one process: a write, a close, and signals.
const ORDERS_MAX: usize = 16;

/// What the driver drives: [`Loop`], and in tests a script.
pub(super) trait Machine: Send + 'static {
    fn handle(&mut self, event: Event, now: Time, effects: &mut Vec<Effect>);
    fn next_deadline(&self) -> Option<Time>;
}

impl Machine for Loop {
    fn handle(&mut self, event: Event, now: Time, effects: &mut Vec<Effect>) {
        Self::handle(self, event, now, effects);
    }
    fn next_deadline(&self) -> Option<Time> {
        Self::next_deadline(self)
    }
}

/// Takes the messages that certificates name. Called within the loop's task: it must not block.
pub(super) type Recorder = Box<dyn FnMut(Record) + Send>;

/// A call of a host on its way to the loop.
pub(super) struct Submitted {
    pub(super) call: CallId,
    pub(super) request: Request,
    pub(super) reply: oneshot::Sender<Answer>,
}

/// The call by which the driver itself stops the loop; hosts count from zero.
const OWN_STOP: CallId = CallId(u64::MAX);

/// A loop, and everything that runs on its behalf.
pub(super) struct Driver<M> {
    machine: M,
    root: PathBuf,
    started: Instant,
    recorder: Option<Recorder>,
    replies: BTreeMap<CallId, oneshot::Sender<Answer>>,
    processes: BTreeMap<ProcessId, mpsc::Sender<Order>>,
    /// Processes and file operations; they end with the driver, and with them whatever still runs.
    tasks: JoinSet<()>,
    events: mpsc::Sender<Event>,
    /// Completions that were known at once.
    known: VecDeque<Event>,
    /// Whether somebody can still call.
    reachable: bool,
    /// The call of the first stop, and whether it was answered.
    stop: Option<CallId>,
    stopped: bool,
}

impl<M: Machine> Driver<M> {
    /// Drives until a stop was answered. When the last handle is gone, it stops by itself.
    pub(super) async fn run(
        machine: M,
        root: PathBuf,
        recorder: Option<Recorder>,
        mut calls: mpsc::Receiver<Submitted>,
    ) {
        let (events, mut completions) = mpsc::channel(EVENTS_MAX);
        let mut driver = Self {
            machine,
            root,
            started: Instant::now(),
            recorder,
            replies: BTreeMap::new(),
            processes: BTreeMap::new(),
            tasks: JoinSet::new(),
            events,
            known: VecDeque::new(),
            reachable: true,
            stop: None,
            stopped: false,
        };
        while !driver.stopped {
            let deadline = driver.deadline();
            tokio::select! {
                biased;
                submitted = calls.recv(), if driver.reachable => driver.accept(submitted),
                Some(_) = driver.tasks.join_next(), if !driver.tasks.is_empty() => {}
                Some(event) = completions.recv() => driver.step(event),
                () = sleep_until(deadline) => driver.step(Event::Wake),
            }
        }
        driver.tasks.shutdown().await;
    }

    fn accept(&mut self, submitted: Option<Submitted>) {
        let Some(Submitted { call, request, reply }) = submitted else {
            self.reachable = false;
            if self.stop.is_none() {
                self.stop = Some(OWN_STOP);
                self.step(Event::Call { call: OWN_STOP, request: Request::Stop });
            }
            return;
        };
        if matches!(request, Request::Stop) {
            self.stop.get_or_insert(call);
        }
        self.replies.insert(call, reply);
        self.step(Event::Call { call, request });
    }

    /// Handles an event and all that follows from it at once. A deadline that has passed is never
    /// starved by a stream of events.
    fn step(&mut self, event: Event) {
        self.known.push_back(event);
        let mut effects = Vec::new();
        while let Some(event) = self.known.pop_front() {
            if let Event::Exited { process, .. } | Event::SpawnFailed { process, .. } = &event {
                self.processes.remove(process);
            }
            let now = self.now();
            let woken = matches!(event, Event::Wake);
            self.machine.handle(event, now, &mut effects);
            for effect in effects.drain(..) {
                self.perform(effect);
            }
            if self.known.is_empty() && !woken && self.machine.next_deadline().is_some_and(|deadline| deadline <= now) {
                self.known.push_back(Event::Wake);
            }
        }
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Spawn { process, command } => {
                let (orders, received) = mpsc::channel(ORDERS_MAX);
                self.processes.insert(process, orders);
                self.tasks.spawn(pipes::run(process, command, self.root.clone(), received, self.events.clone()));
            }
            Effect::Write { process, op, bytes } => self.write(process, op, bytes),
            Effect::CloseInput { process } => self.order(process, Order::CloseInput),
            Effect::Signal { process, signal } => self.order(process, Order::Signal(signal)),
            Effect::ReadFile { op, path, bytes_max } => {
                let root = self.root.clone();
                self.blocking(move || Event::FileRead { op, result: files::read(&root, &path, bytes_max) });
            }
            Effect::Stat { op, path } => self.blocking(move || Event::Statted { op, result: files::stat(&path) }),
            Effect::Answer { call, answer } => self.answer(call, answer),
            Effect::Record(record) => {
                if let Some(recorder) = &mut self.recorder {
                    recorder(record);
                }
            }
        }
    }

    fn write(&mut self, process: ProcessId, op: OpId, bytes: Vec<u8>) {
        let sent = self.processes.get(&process).is_some_and(|orders| orders.try_send(Order::Write(op, bytes)).is_ok());
        if !sent {
            let error = "the process has ended".to_owned();
            self.known.push_back(Event::WriteFailed { process, op, error });
        }
    }

    /// An order to a process that is ending has nothing left to do.
    fn order(&mut self, process: ProcessId, order: Order) {
        if let Some(orders) = self.processes.get(&process) {
            let _ = orders.try_send(order);
        }
    }

    fn blocking(&mut self, work: impl FnOnce() -> Event + Send + 'static) {
        let events = self.events.clone();
        self.tasks.spawn(async move {
            if let Ok(event) = tokio::task::spawn_blocking(work).await {
                let _ = events.send(event).await;
            }
        });
    }

    fn answer(&mut self, call: CallId, answer: Answer) {
        self.stopped |= self.stop == Some(call);
        if let Some(reply) = self.replies.remove(&call) {
            // Whoever asked may have gone.
            let _ = reply.send(answer);
        }
    }

    fn now(&self) -> Time {
        Time::ZERO.after(self.started.elapsed())
    }

    fn deadline(&self) -> Option<Instant> {
        self.machine.next_deadline().map(|Time(micros)| self.started + Duration::from_micros(micros))
    }
}

async fn sleep_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;

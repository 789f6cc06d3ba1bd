//! Everything that was seen of one run: operations with their answers, what was told late, what the
//! judge did, and the messages that crossed the wire. Nothing is judged here.

use scenario::Scenario;
use scenario::scenario::MessageCount;
use serde_json::Value;
use wire::Time;
use wire::trace::{Entry, Line};

use crate::history::History;
use crate::protocol::{Answer, Feedback};
use crate::results::WorldKind;
use crate::world::{Awaited, Instance, Observed};

/// One operation and what came of it.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// Which step asked.
    pub(crate) asked_by: usize,
    /// Which step awaited the answer; its expectations are meant.
    pub(crate) awaited_by: Option<usize>,
    /// The operation's name.
    pub(crate) op: &'static str,
    /// The file that it was about.
    pub(crate) path: Option<String>,
    /// When it was asked.
    pub(crate) asked: Time,
    /// What came of it.
    pub(crate) outcome: Awaited,
}

impl Call {
    /// When it was answered, and what.
    pub(crate) fn answered(&self) -> Option<(Time, &Answer)> {
        match &self.outcome {
            Awaited::Answered { at, answer } => Some((*at, answer)),
            _ => None,
        }
    }

    /// The feedback, if this asked for feedback and got some.
    pub(crate) fn feedback(&self) -> Option<(Time, &Feedback)> {
        let (at, answer) = self.answered()?;
        (self.op == "edit" && answer.ok).then_some((at, &answer.feedback))
    }
}

/// What was told late, and when.
#[derive(Clone, Debug)]
pub(crate) struct Late {
    pub(crate) step: usize,
    pub(crate) at: Time,
    pub(crate) told: Vec<Feedback>,
}

/// Everything that was seen of one run.
pub(crate) struct Run<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) world: WorldKind,
    /// What the loop can tell and do, in its own words.
    pub(crate) can: Vec<String>,
    /// In the order of asking.
    pub(crate) calls: Vec<Call>,
    pub(crate) late: Vec<Late>,
    pub(crate) history: History,
    /// What the judge did beside asking.
    pub(crate) deeds: Vec<(Time, String)>,
    /// Messages and ends that were waited for and did not come.
    pub(crate) missed: Vec<String>,
    pub(crate) stop: Option<Call>,
    pub(crate) observed: Observed,
}

impl Run<'_> {
    /// Whether the loop says that it can tell or do this. What it can't is not held against it.
    pub(crate) fn can(&self, what: &str) -> bool {
        self.can.iter().any(|can| can == what)
    }

    /// The calls with the step whose expectations are meant.
    pub(crate) fn expected(&self) -> impl Iterator<Item = (&Call, &scenario::scenario::Expect)> {
        self.calls.iter().filter_map(|call| {
            let step = &self.scenario.steps[call.awaited_by?];
            Some((call, step.expect.as_ref()?))
        })
    }
}

/// How many messages of a kind went over the wire, over all servers and all their starts.
pub(crate) fn count_messages(instances: &[Instance], wanted: &MessageCount) -> u64 {
    instances.iter().map(|instance| count_in(&instance.lines, wanted)).sum()
}

fn count_in(lines: &[Line], wanted: &MessageCount) -> u64 {
    let dir = wanted.dir.on_the_wire();
    let Some(answered) = wanted.method.strip_prefix("answer:") else {
        return lines.iter().filter(|line| message(line, dir).is_some_and(|msg| msg["method"] == wanted.method)).count()
            as u64;
    };
    let asked = |id: &Value| {
        let mut requests = lines.iter().filter_map(|line| match &line.entry {
            Entry::Message { dir: way, msg } if *way != dir => Some(msg),
            _ => None,
        });
        requests.any(|msg| msg["method"] == answered && msg["id"] == *id)
    };
    let answers = lines.iter().filter_map(|line| message(line, dir));
    answers.filter(|msg| msg.get("method").is_none() && msg.get("id").is_some_and(asked)).count() as u64
}

fn message(line: &Line, wanted: wire::trace::Direction) -> Option<&Value> {
    match &line.entry {
        Entry::Message { dir, msg } if *dir == wanted => Some(msg),
        _ => None,
    }
}

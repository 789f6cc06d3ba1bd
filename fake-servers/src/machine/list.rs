//! Lists of actions under way. A list is done in order; whatever delays an action (time, jitter, a gate,
//! the client's answer, the pipe, a change of the document) is handled here and nowhere else.

use std::collections::BTreeSet;
use std::sync::Arc;

use rand::RngExt as _;
use scenario::Script;
use scenario::script::Action;
use serde_json::json;
use wire::{Id, Time};

use super::documents::Document;
use super::stdout::Queue;
use super::{Fake, HELD_MAX, Turn};

/// What set a list off.
#[derive(Clone, Debug, Default)]
pub(super) struct Context {
    /// The method, or what stands for one.
    pub(super) method: String,
    /// The request to answer.
    pub(super) request: Option<Id>,
    /// The document's URI.
    pub(super) uri: Option<String>,
    /// The document as it was then; after a close, as it was before.
    pub(super) document: Option<Arc<Document>>,
    /// `previousResultId` of a pull.
    pub(super) result_id: Option<String>,
}

/// What a list waits for besides time and gates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Until {
    Nothing,
    /// The client's answer.
    Answer(Id),
    /// Everything up to this number to be written.
    Written(u64),
}

/// One list of actions under way.
pub(super) struct List {
    rule: usize,
    next: usize,
    /// When the next action is due.
    at: Time,
    trigger_at: Time,
    pub(super) context: Context,
    pub(super) until: Until,
    gate: Option<String>,
    /// Whether this list has answered its request.
    pub(super) answered: bool,
    /// A progress that begins once its token is created.
    pub(super) begins: Option<serde_json::Value>,
}

impl List {
    /// When it goes on; `None` if time alone won't make it.
    pub(super) fn due(&self, gates: &BTreeSet<String>, outgoing: &BTreeSet<Id>, queue: &Queue) -> Option<Time> {
        let opened = self.gate.as_ref().is_none_or(|gate| gates.contains(gate));
        let satisfied = match &self.until {
            Until::Nothing => true,
            Until::Answer(id) => !outgoing.contains(id),
            Until::Written(number) => queue.is_done(*number),
        };
        (opened && satisfied).then_some(self.at)
    }
}

impl Fake {
    /// Begins the list of one rule.
    pub(super) fn begin_list(&mut self, rule: usize, context: Context, turn: &mut Turn<'_>) {
        if self.lists.len() >= HELD_MAX {
            return self.overflow("lists of actions", turn);
        }
        let list = List {
            rule,
            next: 0,
            at: turn.now,
            trigger_at: turn.now,
            context,
            until: Until::Nothing,
            gate: None,
            answered: false,
            begins: None,
        };
        let list = self.arm(list);
        self.lists.push(list);
    }

    /// Sets when and upon which gate the list's next action is due.
    fn arm(&mut self, mut list: List) -> List {
        let script = Arc::clone(&self.script);
        if let Some(action) = action_of(&script, &list) {
            let jitter = u64::try_from(action.jitter.as_micros()).unwrap_or(u64::MAX);
            let at = list.trigger_at.after(action.after);
            list.gate = action.until.clone();
            let extra = if jitter == 0 { 0 } else { self.rng.random_range(0..=jitter) };
            list.at = Time(at.0.saturating_add(extra));
        }
        list
    }

    /// Does everything that is due, oldest list first, until nothing more is.
    pub(super) fn advance(&mut self, turn: &mut Turn<'_>) {
        loop {
            if self.ended {
                return;
            }
            self.queue.pump(turn.now, &mut turn.allowance, turn.out);
            if self.queue.overflows() {
                return self.overflow("output", turn);
            }
            let ready =
                |list: &List| list.due(&self.gates, &self.outgoing, &self.queue).is_some_and(|due| due <= turn.now);
            let Some(at) = self.lists.iter().position(ready) else { return };
            let list = self.lists.remove(at);
            if let Some(list) = self.step(list, turn) {
                self.lists.insert(at, list);
            }
        }
    }

    /// Does the list's next action; `None` when it was the last.
    fn step(&mut self, mut list: List, turn: &mut Turn<'_>) -> Option<List> {
        list.until = Until::Nothing;
        if let Some(begin) = list.begins.take() {
            list.until = Until::Written(self.send(begin, None));
            return Some(list);
        }
        let script = Arc::clone(&self.script);
        let action = action_of(&script, &list)?;
        list.next += 1;
        if action.cancel_on_change && self.has_changed(&list.context) {
            turn.note(
                "cancelled",
                json!({ "rule": list.rule, "action": list.next - 1, "why": "the document changed" }),
            );
        } else {
            self.perform(action, &mut list, turn);
        }
        Some(self.arm(list))
    }

    fn has_changed(&self, context: &Context) -> bool {
        let then = context.document.as_ref().map(|document| document.generation);
        let now = context.uri.as_ref().and_then(|uri| self.documents.get(uri)).map(|document| document.generation);
        then != now
    }
}

fn action_of<'a>(script: &'a Script, list: &List) -> Option<&'a Action> {
    script.rules.get(list.rule)?.actions.get(list.next)
}

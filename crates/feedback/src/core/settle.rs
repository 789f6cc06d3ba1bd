//! Answering calls: when a call has nothing more to wait for, and what it is answered with.

use std::path::PathBuf;

use wire::Time;

use super::Loop;
use super::late::Interest;
use crate::call::{self, Call, ClientKey, Outcome, Part, Subject};
use crate::client::Client;
use crate::document::{Stage, Verdict};
use crate::fault::Fault;
use crate::session::Io;
use crate::{Answer, Conclusion, Effect, KnownBy, Note, Reason, Report};

impl Loop {
    pub(super) fn subject<'a>(
        &'a self,
        path: &'a PathBuf,
        shown: &'a str,
        asked: Time,
        now: Time,
        reason: Option<Reason>,
    ) -> Subject<'a> {
        Subject { path, shown, asked, now, policy: &self.policy, faults: self.faults, reason }
    }

    /// What every server of a call says, each as of its own stage.
    pub(super) fn outcomes<'a>(
        &'a self,
        parts: &'a [Part],
        now: Time,
        stage: impl Fn(&Part, &Client) -> Stage,
    ) -> Vec<Outcome<'a>> {
        let outcome = |part: &'a Part| {
            let client = self.clients.get(&part.client)?;
            let stage = stage(part, client);
            let verdict = client.verdict(&part.document, stage, &self.policy, self.faults, now);
            let concluded = matches!(verdict, Verdict::Concluded(_));
            let partial = || client.partial(&part.document, &self.policy, self.faults, now);
            let partial = if concluded { Vec::new() } else { partial() };
            Some(Outcome { client, part, verdict, partial })
        };
        parts.iter().filter_map(outcome).collect()
    }

    /// Answers every call that has nothing more to wait for.
    pub(super) fn settle_calls(&mut self, now: Time, effects: &mut Vec<Effect>) {
        self.restart_wanted(now, effects);
        let mut at = 0;
        while at < self.calls.len() {
            if !self.calls[at].begun {
                at += 1;
                continue;
            }
            self.fix_deadlines(at, now);
            match self.settled(at, now) {
                Some(reason) => self.answer(at, reason, now, effects),
                None => at += 1,
            }
        }
    }

    /// A server that died under a waiting call is started again, as its policy allows.
    fn restart_wanted(&mut self, now: Time, effects: &mut Vec<Effect>) {
        if self.stopping.is_some() {
            return;
        }
        let mut io = Io { now, effects, ids: &mut self.ids, policy: &self.policy, faults: self.faults };
        for part in self.calls.iter().filter(|call| !call.quiet).flat_map(|call| &call.parts) {
            if let Some(client) = self.clients.get_mut(&part.client).filter(|client| client.session.is_none()) {
                client.want(&mut io);
            }
        }
    }

    fn fix_deadlines(&mut self, at: usize, now: Time) {
        let Self { calls, clients, policy, .. } = self;
        let call = &mut calls[at];
        for part in &mut call.parts {
            if let Some(client) = clients.get(&part.client) {
                part.fix(call.asked, client, policy, now, true);
            }
        }
    }

    /// Whether the call has nothing more to wait for; the reason, where the loop itself is the cause.
    fn settled(&mut self, at: usize, now: Time) -> Option<Option<Reason>> {
        let call = &self.calls[at];
        let superseded = call.parts.iter().any(|part| {
            let document = self.clients.get(&part.client).and_then(|client| client.documents.get(&part.document));
            document.is_some_and(|document| document.revision != part.revision)
        });
        if superseded {
            return Some(Some(Reason::Superseded));
        }
        let stage =
            |part: &Part, client: &Client| call::stage(part.ends(call.asked, client, &self.policy), now, self.faults);
        let outcomes = self.outcomes(&call.parts, now, stage);
        let open = |outcome: &&Outcome<'_>| {
            matches!(outcome.verdict, Verdict::Waiting { .. }) && stage(outcome.part, outcome.client) == Stage::Waiting
        };
        let required_open = outcomes.iter().filter(|outcome| outcome.part.required).any(|outcome| open(&outcome));
        let optional_open = outcomes.iter().any(|outcome| open(&outcome));
        let any_required = outcomes.iter().any(|outcome| outcome.part.required);
        drop(outcomes);
        let call = &mut self.calls[at];
        if required_open || (optional_open && !any_required) {
            call.required_done = None;
            return None;
        }
        let done = *call.required_done.get_or_insert(now);
        (!optional_open || now >= done.after(self.policy.settle)).then_some(None)
    }

    fn answer(&mut self, at: usize, reason: Option<Reason>, now: Time, effects: &mut Vec<Effect>) {
        let call = self.calls.remove(at);
        let notes = self.take_notes(&call.parts);
        let stage =
            |part: &Part, client: &Client| call::stage(part.ends(call.asked, client, &self.policy), now, self.faults);
        let superseded = reason == Some(Reason::Superseded);
        let outcomes = if superseded { Vec::new() } else { self.outcomes(&call.parts, now, stage) };
        let subject = self.subject(&call.path, &call.shown, call.asked, now, reason);
        let report = call::compose(&subject, &outcomes, notes);
        let concluded: Vec<(ClientKey, bool, Stage)> = outcomes
            .iter()
            .map(|outcome| {
                let concluded = matches!(outcome.verdict, Verdict::Concluded(_));
                (outcome.part.client.clone(), concluded, stage(outcome.part, outcome.client))
            })
            .collect();
        drop(outcomes);
        if !superseded {
            self.learn(&call, &report, &concluded, now, effects);
        }
        let told = matches!(report.conclusion, Conclusion::Errors | Conclusion::Clean).then(|| call::digest(&report));
        let answer = if self.faults.has(Fault::FailsTheEdit) && report.conclusion == Conclusion::Unavailable {
            Answer::Refused { reason: "the language server failed".to_owned() }
        } else {
            Answer::Report(Box::new(report))
        };
        effects.push(Effect::Answer { call: call.id, answer });
        if !superseded && self.stopping.is_none() {
            let Call { path, shown, asked, parts, .. } = call;
            // What came just before the end of the budget may settle by time alone.
            let until = told.is_none().then_some(now);
            self.interests.insert(path, Interest { shown, asked, parts, told, until });
        }
    }

    /// Tells the clients of a call how it ended, and what the wait says about them.
    fn learn(
        &mut self,
        call: &Call,
        report: &Report,
        concluded: &[(ClientKey, bool, Stage)],
        now: Time,
        effects: &mut Vec<Effect>,
    ) {
        let mut io = Io { now, effects, ids: &mut self.ids, policy: &self.policy, faults: self.faults };
        for part in &call.parts {
            let Some(client) = self.clients.get_mut(&part.client) else { continue };
            let (_, concluded, stage) = concluded.iter().find(|(key, ..)| *key == part.client).cloned().unwrap_or((
                part.client.clone(),
                false,
                Stage::Waiting,
            ));
            // Only a wait that watched the whole budget says how late results can come.
            if concluded && stage == Stage::Ended && report.known_by == Some(KnownBy::Inferred) {
                client.watched(&part.document);
            }
            let alone = !self.calls.iter().any(|other| other.parts.iter().any(|others| others.is_same(part)));
            client.call_ended(&part.document, concluded, alone, &mut io);
        }
    }

    fn take_notes(&mut self, parts: &[Part]) -> Vec<Note> {
        let mut notes = Vec::new();
        for part in parts {
            if let Some(client) = self.clients.get_mut(&part.client)
                && let Some(text) = client.take_note(self.faults)
            {
                notes.push(Note { server: client.spec.name.clone(), text });
            }
        }
        notes
    }

    pub(super) fn end_early(
        &mut self,
        reason: Reason,
        which: impl Fn(&Call) -> bool,
        now: Time,
        effects: &mut Vec<Effect>,
    ) {
        let mut at = 0;
        while at < self.calls.len() {
            if which(&self.calls[at]) && !self.calls[at].quiet {
                self.answer(at, Some(reason.clone()), now, effects);
            } else {
                at += 1;
            }
        }
    }

    pub(super) fn call_deadline(&self, call: &Call) -> Option<Time> {
        if !call.begun || self.faults.has(Fault::NeverTimesOut) {
            return None;
        }
        let part_deadlines = |part: &Part| {
            let client = self.clients.get(&part.client);
            let ends = client.map(|client| part.ends(call.asked, client, &self.policy));
            ends.into_iter().chain(client.and_then(|client| self.settles_at(part, client)))
        };
        let optional = call.required_done.map(|done| done.after(self.policy.settle));
        // What is past has been acted upon; the call waits for something else.
        call.parts.iter().flat_map(part_deadlines).chain(optional).filter(|at| *at > self.now).min()
    }

    /// When time alone settles what a server has said so far.
    fn settles_at(&self, part: &Part, client: &Client) -> Option<Time> {
        match client.verdict(&part.document, Stage::Waiting, &self.policy, self.faults, Time::ZERO) {
            Verdict::Waiting { until, .. } => until,
            _ => None,
        }
    }
}

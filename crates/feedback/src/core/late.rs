//! Late results: what was said, or has settled, after a call had ended.

use std::path::PathBuf;

use wire::Time;

use super::Loop;
use crate::call::{self, Part};
use crate::document::{Stage, Verdict};
use crate::fault::Fault;
use crate::{Answer, CallId, Conclusion, Effect, OpId, Report, TextHash};

/// Late reports that are kept until somebody asks.
const LATE_MAX: usize = 1_000;

/// A call that has ended, whose result may still come or be corrected.
pub(super) struct Interest {
    pub(super) shown: String,
    pub(super) asked: Time,
    pub(super) parts: Vec<Part>,
    /// What was told, if it was a conclusion.
    pub(super) told: Option<u64>,
    /// When time alone may settle it.
    pub(super) until: Option<Time>,
}

/// An answer that is ready but for whether its texts are still those on disk.
pub(super) struct Telling {
    call: CallId,
    /// With the read that is under way, if it is.
    reports: Vec<(Option<OpId>, Report)>,
}

impl Loop {
    /// Tells what has come late, once the files were seen to be unchanged: a text that was rewritten
    /// meanwhile has other findings, even if nobody has asked about it yet.
    pub(super) fn tell_late(&mut self, call: CallId, effects: &mut Vec<Effect>) {
        let bytes_max = self.policy.file_bytes_max;
        let unchecked = self.faults.has(Fault::LateThoughStale);
        let reports = std::mem::take(&mut self.late).into_values().map(|report| {
            if unchecked {
                return (None, report);
            }
            let op = self.ids.op();
            effects.push(Effect::ReadFile { op, path: report.file.clone(), bytes_max });
            (Some(op), report)
        });
        let reports = reports.collect();
        self.telling.push(Telling { call, reports });
        self.answer_told(effects);
    }

    /// A file with a late result was read; `None` if it could not be.
    pub(super) fn late_file_read(&mut self, op: OpId, text: Option<String>, effects: &mut Vec<Effect>) {
        let hash = text.map(|text| TextHash::of(&text));
        for telling in &mut self.telling {
            telling.reports.retain(|(reading, report)| *reading != Some(op) || report.text_hash == hash);
            for (reading, _) in telling.reports.iter_mut().filter(|(reading, _)| *reading == Some(op)) {
                *reading = None;
            }
        }
        self.answer_told(effects);
    }

    /// Answers without a further look, at the end.
    pub(super) fn end_telling(&mut self, effects: &mut Vec<Effect>) {
        for telling in &mut self.telling {
            telling.reports.retain(|(reading, _)| reading.is_none());
        }
        self.answer_told(effects);
    }

    fn answer_told(&mut self, effects: &mut Vec<Effect>) {
        let ready = |telling: &Telling| telling.reports.iter().all(|(reading, _)| reading.is_none());
        for telling in self.telling.extract_if(.., |telling| ready(telling)) {
            let late = telling.reports.into_iter().map(|(_, report)| report).collect();
            effects.push(Effect::Answer { call: telling.call, answer: Answer::Late(late) });
        }
    }

    /// Looks whether something that was said or that has settled makes a result that nobody was told.
    pub(super) fn settle_late(&mut self, now: Time) {
        let changed: Vec<PathBuf> = self.changed_paths(now);
        for path in changed {
            let Some(interest) = self.interests.get(&path) else { continue };
            let outcomes = self.outcomes(&interest.parts, now, |_, _| Stage::Late);
            let until = outcomes.iter().filter_map(|outcome| match outcome.verdict {
                Verdict::Waiting { until, .. } => until,
                _ => None,
            });
            let until = until.filter(|until| *until > now).min();
            let subject = self.subject(&path, &interest.shown, interest.asked, now, None);
            let report = call::compose(&subject, &outcomes, Vec::new());
            drop(outcomes);
            let holds = matches!(report.conclusion, Conclusion::Errors | Conclusion::Clean) && report.complete;
            let digest = call::digest(&report);
            let news = holds && interest.told != Some(digest);
            if let Some(interest) = self.interests.get_mut(&path) {
                interest.until = until;
                if news {
                    interest.told = Some(digest);
                }
            }
            if news && (self.late.len() < LATE_MAX || self.late.contains_key(&path)) {
                self.late.insert(path, report);
            }
        }
    }

    fn changed_paths(&mut self, now: Time) -> Vec<PathBuf> {
        let mut changed = Vec::new();
        for client in self.clients.values_mut() {
            for key in client.take_changed() {
                changed.extend(client.documents.get(&key).map(|document| document.path.clone()));
            }
        }
        let due = self.interests.iter().filter(|(_, interest)| interest.until.is_some_and(|until| until <= now));
        changed.extend(due.map(|(path, _)| path.clone()));
        changed.sort();
        changed.dedup();
        changed
    }
}

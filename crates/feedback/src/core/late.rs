//! Late results: what was said, or has settled, after a call had ended.

use std::path::PathBuf;

use wire::Time;

use super::Loop;
use crate::Conclusion;
use crate::call::{self, Part};
use crate::document::{Stage, Verdict};

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

impl Loop {
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

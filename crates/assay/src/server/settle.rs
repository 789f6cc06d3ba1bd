//! What a server says of the newest text when it has said its last word on it: by pull where it can be
//! asked, else by push and quiet.

use std::cell::Cell;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use wire::Time;

use super::documents::Document;
use super::findings::{self, Finding};
use super::observed::Fault;
use super::probe::{Outcome, Probe};
use super::rhythm::Rhythm;
use super::subject::SETTLE_MAX;
use crate::results::Evidence;

/// What a server's two channels last said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Diagnosis {
    /// The last push about the document since it was opened.
    pub(crate) push: Option<Vec<Finding>>,
    /// The last full report that was asked for.
    pub(crate) pull: Option<Vec<Finding>>,
    /// Whether the server was quiet long enough for this to be its last word.
    pub(crate) settled: bool,
    /// Whether the process ended before.
    pub(crate) gone: bool,
}

impl Diagnosis {
    /// Whether anything was said at all.
    pub(crate) fn is_something(&self) -> bool {
        self.push.is_some() || self.pull.is_some()
    }

    /// What a reader of both channels knows: equal findings of both count once.
    pub(crate) fn findings(&self) -> Vec<Finding> {
        let mut all = self.pull.clone().unwrap_or_default();
        let mut pulled = all.clone();
        for finding in self.push.iter().flatten() {
            match pulled.iter().position(|other| other == finding) {
                Some(at) => drop(pulled.swap_remove(at)),
                None => all.push(finding.clone()),
            }
        }
        all.sort();
        all
    }

    pub(crate) fn errors(&self) -> Vec<Finding> {
        self.findings().into_iter().filter(Finding::is_error).collect()
    }

    /// In one line, for people.
    pub(crate) fn in_words(&self) -> String {
        if self.gone {
            return "the process ended".to_owned();
        }
        let findings = self.findings();
        let shown: Vec<_> = findings.iter().take(3).map(ToString::to_string).collect();
        let more = findings.len().saturating_sub(shown.len());
        match (findings.is_empty(), self.is_something()) {
            (true, true) => "no findings".to_owned(),
            (true, false) => "nothing was said".to_owned(),
            _ if more > 0 => format!("{} and {more} more", shown.join("; ")),
            _ => shown.join("; "),
        }
    }
}

/// A pull's answer.
#[derive(Clone, Debug)]
pub(crate) enum Pulled {
    Full {
        findings: Vec<Finding>,
        result_id: Option<String>,
    },
    Unchanged,
    /// Neither: an error, silence, a wrong shape.
    Nothing(String),
}

impl Probe<'_> {
    /// Asks for the diagnostics of the probed file; cancelled requests are asked again, as the
    /// specification wants (LSP 3.17 §DiagnosticServerCancellationData), a bounded number of times.
    pub(crate) async fn pull(&mut self, previous_result_id: Option<&str>) -> Pulled {
        const AGAIN_MAX: usize = 40;
        const AGAIN_AFTER: Duration = Duration::from_millis(100);
        let uri = self.subject.uri();
        let mut params = json!({"textDocument": {"uri": uri}});
        if let Some(Some(identifier)) = &self.announced.pull {
            params["identifier"] = json!(identifier);
        }
        if let Some(id) = previous_result_id {
            params["previousResultId"] = json!(id);
        }
        for _ in 0..AGAIN_MAX {
            self.seen.pulls += 1;
            match self.request("textDocument/diagnostic", Some(params.clone())).await {
                Outcome::Result(report) => return self.read_report(&uri, &report, previous_result_id.is_some()),
                Outcome::Error { code: -32802 | -32801, .. } => self.listen(AGAIN_AFTER).await,
                other => return Pulled::Nothing(other.to_string()),
            }
        }
        Pulled::Nothing(format!("cancelled {AGAIN_MAX} times"))
    }

    fn read_report(&mut self, uri: &str, report: &Value, based: bool) -> Pulled {
        let line = self.evidence(&format!("pull answered {report}"));
        let mut wrong = |fault, what: &str| {
            self.seen.fault(fault, Evidence { what: format!("{what}: {}", line.what), ..line.clone() });
        };
        match report["kind"].as_str() {
            Some("full") => {
                let mut odd = Vec::new();
                let found = findings::read(report.get("items"), &mut odd);
                for what in odd {
                    wrong(Fault::PullShape, &what);
                }
                self.seen.ranges += found.len() as u64;
                if let Some(document) = self.document(uri) {
                    let faults = super::probe::position_faults(document, None, &found, self.announced.encoding);
                    for (fault, what) in faults {
                        self.seen.fault(fault, Evidence { what, ..line.clone() });
                    }
                }
                Pulled::Full { findings: found, result_id: report["resultId"].as_str().map(str::to_owned) }
            }
            Some("unchanged") => {
                if !based {
                    wrong(Fault::BaselessUnchanged, "unchanged without a previousResultId");
                }
                if !report["resultId"].is_string() {
                    wrong(Fault::PullShape, "unchanged without a resultId");
                }
                Pulled::Unchanged
            }
            _ => {
                wrong(Fault::PullShape, "the report's kind is neither full nor unchanged");
                Pulled::Nothing(format!("result {}", findings::shortened(&report.to_string(), 120)))
            }
        }
    }

    /// Waits for the server's last word on the newest text, at most [`SETTLE_MAX`], and learns its pace.
    pub(crate) async fn settle(&mut self) -> Diagnosis {
        let deadline = Instant::now() + SETTLE_MAX;
        self.pull_newest().await;
        let mut settled = false;
        while !settled && Instant::now() < deadline && !self.is_gone() {
            let quiet = self.be_quiet(deadline).await;
            settled = !self.pull_newest().await && quiet;
        }
        self.learn();
        let document = self.document(&self.subject.uri());
        let push = document.and_then(|document| document.pushes.back()).map(|push| push.findings.clone());
        let pull = document.and_then(|document| document.pulled.clone());
        Diagnosis { push, pull, settled, gone: self.is_gone() }
    }

    /// Settles until the last word is as wanted, or the limit.
    pub(crate) async fn settle_until(&mut self, limit: Duration, wanted: impl Fn(&Diagnosis) -> bool) -> Diagnosis {
        // How long a server that can be asked is left alone before it is asked again.
        const AGAIN_AFTER: Duration = Duration::from_millis(250);
        let deadline = Instant::now() + limit;
        loop {
            let diagnosis = self.settle().await;
            let left = deadline.saturating_duration_since(Instant::now());
            if wanted(&diagnosis) || left.is_zero() || self.is_gone() {
                return diagnosis;
            }
            // A server that is quiet already settles at once: without this wait its output and signals
            // would never be read.
            let since = self.active_at;
            self.wait_until(left.min(AGAIN_AFTER), |probe| probe.active_at != since).await;
        }
    }

    /// Pulls where the server can be asked; whether it said something else than before.
    async fn pull_newest(&mut self) -> bool {
        if self.announced.pull.is_none() {
            return false;
        }
        let Pulled::Full { findings, .. } = self.pull(None).await else { return false };
        let (uri, now) = (self.subject.uri(), self.subject.now());
        let document = self.documents.iter_mut().find(|document| document.is(&uri));
        document.is_some_and(|document| document.answered(&findings, now))
    }

    /// Listens until nothing that bears on diagnostics has happened for long enough; `false` if the
    /// deadline came first.
    async fn be_quiet(&mut self, deadline: Instant) -> bool {
        while !self.is_gone() {
            let left = self.quiet_left();
            if left.is_zero() {
                return true;
            }
            let now = Instant::now();
            if now >= deadline {
                return false;
            }
            let since = self.active_at;
            self.wait_until(left.min(deadline - now), |probe| probe.active_at != since).await;
        }
        true
    }

    /// How much longer the server must be quiet: for its gaps between words since the last of them,
    /// and, unless it has certainly spoken about the newest text, for its latency since that was sent.
    fn quiet_left(&self) -> Duration {
        // Progress that has begun promises more; but some of it never ends.
        const PROGRESS_MAX: Duration = Duration::from_secs(5);
        let document = self.document(&self.subject.uri());
        let cold = document.is_none_or(|document| document.sent.len() < 2);
        let rhythm = self.rhythm().get();
        let gap = if self.is_busy() { PROGRESS_MAX } else { rhythm.after_a_word(cold) };
        let heard = self.announced.pull.is_some() || document.is_some_and(Document::newest_is_named);
        let latency = if heard { Duration::ZERO } else { rhythm.after_a_text(cold) };
        let sent_at = document.and_then(Document::newest).map_or(Time::ZERO, |sent| sent.at);
        let since_text = self.subject.now().since(sent_at);
        gap.saturating_sub(self.active_at.elapsed()).max(latency.saturating_sub(since_text))
    }

    /// The pace of the channel that this session uses.
    pub(crate) fn rhythm(&self) -> &Cell<Rhythm> {
        if self.announced.pull.is_some() { &self.subject.pull_rhythm } else { &self.subject.push_rhythm }
    }

    fn learn(&mut self) {
        let Some(document) = self.document(&self.subject.uri()) else { return };
        let Some(newest) = document.newest() else { return };
        let words: Vec<_> = match self.announced.pull {
            Some(_) => document.pulls_on_newest.clone(),
            None => document.pushes_on_newest().map(|push| push.at).collect(),
        };
        let latency = words.first().map(|first| first.since(newest.at));
        let gap = words.windows(2).map(|pair| pair[1].since(pair[0])).max().unwrap_or_default();
        let mut rhythm = self.rhythm().get();
        rhythm.learn(document.sent.len() < 2, latency, gap);
        self.rhythm().set(rhythm);
    }
}

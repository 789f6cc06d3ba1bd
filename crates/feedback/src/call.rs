//! One check under way: which servers it asks, how long it waits for each, and the report that comes of
//! their verdicts.

use std::path::PathBuf;
use std::sync::Arc;

use wire::Time;

use crate::client::Client;
use crate::document::{Evidence, Stage, Told, Verdict};
use crate::fault::{Fault, Faults};
use crate::session::Phase;
use crate::text::Text;
use crate::{
    CallId, Certificate, Conclusion, Counts, Finding, Note, OpId, Policy, Reason, Report, Timings, ToldBefore,
};

/// Where a client lives in the loop.
pub(crate) type ClientKey = (usize, PathBuf);

/// A check, or a read that nobody waits for.
pub(crate) struct Call {
    pub(crate) id: CallId,
    /// Nobody waits: start and sync, then forget.
    pub(crate) quiet: bool,
    pub(crate) path: PathBuf,
    pub(crate) shown: String,
    pub(crate) asked: Time,
    /// The read of the file, until it is done.
    pub(crate) reading: Option<OpId>,
    pub(crate) text: Option<Arc<Text>>,
    /// Servers that cover the file, by index into the table, until their roots are known.
    pub(crate) covering: Vec<usize>,
    /// One per server, once the text and the roots are known.
    pub(crate) parts: Vec<Part>,
    pub(crate) begun: bool,
    /// When the last required server had concluded; optional ones get a little longer.
    pub(crate) required_done: Option<Time>,
}

/// One server's part in a call.
#[derive(Clone)]
pub(crate) struct Part {
    pub(crate) client: ClientKey,
    /// The document's key at that client.
    pub(crate) document: Vec<u8>,
    pub(crate) revision: u64,
    pub(crate) required: bool,
    /// When its budget ends; unknown while the server is starting.
    pub(crate) deadline: Option<Time>,
}

impl Part {
    /// Whether another call waits for the same document at the same server.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.client == other.client && self.document == other.document
    }

    /// When the wait for this server ends, and whether that is final.
    pub(crate) fn ends(&self, asked: Time, client: &Client, policy: &Policy) -> Time {
        let total = asked.after(policy.total_budget);
        self.deadline.unwrap_or_else(|| {
            let spawned = client.session.as_ref().map_or(asked, |session| session.spawned);
            spawned.after(policy.initialize_budget).min(total)
        })
    }

    /// Fixes the end of the wait as soon as the server is ready.
    pub(crate) fn fix(&mut self, asked: Time, client: &Client, policy: &Policy, now: Time, waited_for_start: bool) {
        if self.deadline.is_some() || !client.session.as_ref().is_some_and(|session| session.phase == Phase::Ready) {
            return;
        }
        let budget = if client.calls_ended == 0 { policy.first_budget } else { policy.call_budget };
        let from = if waited_for_start { now } else { asked };
        self.deadline = Some(from.after(budget).min(asked.after(policy.total_budget)));
    }
}

/// One server's contribution to a report.
pub(crate) struct Outcome<'a> {
    pub(crate) client: &'a Client,
    pub(crate) part: &'a Part,
    pub(crate) verdict: Verdict<'a>,
    /// Without a conclusion: reports that hold errors all the same.
    pub(crate) partial: Vec<Evidence<'a>>,
}

/// What a report is about, besides the outcomes.
pub(crate) struct Subject<'a> {
    pub(crate) path: &'a PathBuf,
    pub(crate) shown: &'a str,
    pub(crate) asked: Time,
    pub(crate) now: Time,
    pub(crate) policy: &'a Policy,
    pub(crate) faults: Faults,
    /// Said instead of what the servers say.
    pub(crate) reason: Option<Reason>,
}

impl Outcome<'_> {
    fn concluded(&self) -> Option<&Evidence<'_>> {
        match &self.verdict {
            Verdict::Concluded(evidence) => Some(evidence),
            _ => None,
        }
    }

    /// All that counts: the conclusion, or parts of one.
    fn evidence(&self) -> impl Iterator<Item = &Evidence<'_>> {
        self.concluded().into_iter().chain(&self.partial)
    }

    fn why(&self) -> Option<&Reason> {
        match &self.verdict {
            Verdict::Concluded(_) => None,
            Verdict::Waiting { why, .. } | Verdict::Never { why } => Some(why),
        }
    }
}

/// Puts the servers' outcomes together.
pub(crate) fn compose(subject: &Subject<'_>, outcomes: &[Outcome<'_>], notes: Vec<Note>) -> Report {
    let told: Vec<&Told> =
        outcomes.iter().flat_map(Outcome::evidence).flat_map(|evidence| evidence.current.iter().copied()).collect();
    let (findings, counts) = merge(&told, subject);
    let conclusion = conclude(outcomes, &counts, subject);
    let complete = outcomes.iter().filter(|outcome| outcome.part.required).all(|outcome| outcome.concluded().is_some());
    let document = outcomes.iter().find_map(|outcome| outcome.client.documents.get(&outcome.part.document));
    let sent = document.and_then(|document| document.sent.as_ref());
    let open = matches!(conclusion, Conclusion::Pending | Conclusion::Unavailable) || !complete;
    let mut report = Report {
        path: subject.shown.to_owned(),
        conclusion,
        complete: complete && !outcomes.is_empty(),
        version: sent.map(|sent| sent.version),
        text_hash: document.map(|document| document.hash),
        known_by: outcomes.iter().flat_map(Outcome::evidence).map(|evidence| evidence.known_by).max(),
        findings,
        counts,
        told_before: open.then(|| before(outcomes, subject.policy)).flatten(),
        reason: reason(conclusion, outcomes, subject),
        notes,
        waited: subject.now.since(subject.asked),
        timings: timings(subject, outcomes),
        certificates: outcomes.iter().flat_map(|outcome| certificates(outcome, subject.now)).collect(),
        file: subject.path.clone(),
        faults: subject.faults,
    };
    if conclusion == Conclusion::Pending && subject.faults.has(Fault::OldPassedOffAsNew) {
        pass_off(&mut report);
    }
    report
}

/// The deliberate fault of reporting old findings as current.
fn pass_off(report: &mut Report) {
    let Some(before) = report.told_before.take() else { return };
    report.counts = Counts::default();
    for finding in &before.findings {
        report.counts.add(finding.severity, 1);
    }
    report.findings = before.findings;
    report.conclusion = if report.counts.errors > 0 { Conclusion::Errors } else { Conclusion::Clean };
}

fn conclude(outcomes: &[Outcome<'_>], counts: &Counts, subject: &Subject<'_>) -> Conclusion {
    let required = || outcomes.iter().filter(|outcome| outcome.part.required);
    let dead = |outcome: &Outcome<'_>| matches!(outcome.why(), Some(Reason::Died { .. } | Reason::StartFailed { .. }));
    if counts.errors > 0 {
        return Conclusion::Errors;
    }
    if subject.reason.is_some() {
        return Conclusion::Pending;
    }
    if outcomes.is_empty() {
        return Conclusion::Uncovered;
    }
    let silence_is_clean = subject.faults.has(Fault::SilenceIsClean);
    if !silence_is_clean && required().any(|outcome| outcome.concluded().is_none() && !dead(outcome)) {
        return Conclusion::Pending;
    }
    if required().any(dead) && !subject.faults.has(Fault::DeadIsClean) {
        return Conclusion::Unavailable;
    }
    // With optional servers alone, one of them has to have concluded.
    if required().next().is_none() && !outcomes.iter().any(|outcome| outcome.concluded().is_some()) {
        return Conclusion::Pending;
    }
    Conclusion::Clean
}

fn reason(conclusion: Conclusion, outcomes: &[Outcome<'_>], subject: &Subject<'_>) -> Option<Reason> {
    if conclusion == Conclusion::Clean {
        return None;
    }
    subject.reason.clone().or_else(|| {
        let open = |required| {
            outcomes.iter().filter(move |outcome| outcome.part.required == required).find_map(Outcome::why).cloned()
        };
        open(true).or_else(|| open(false))
    })
}

/// The union of all reports, equal findings once, errors first, then by place.
fn merge(told: &[&Told], subject: &Subject<'_>) -> (Vec<Finding>, Counts) {
    let mut counts = Counts::default();
    let mut findings: Vec<Finding> = Vec::new();
    for told in told {
        let from = &told.set.counts;
        counts.errors += from.errors;
        counts.warnings += from.warnings;
        counts.informations += from.informations;
        counts.hints += from.hints;
        findings.extend(told.set.findings.iter().cloned());
    }
    if !subject.faults.has(Fault::ArrivalOrder) {
        findings.sort_by(|a, b| order(a).cmp(&order(b)));
    }
    if !subject.faults.has(Fault::Doubles) {
        let mut kept: Vec<Finding> = Vec::with_capacity(findings.len());
        for finding in findings {
            if kept.last().is_some_and(|last| order(last) == order(&finding)) {
                counts.remove(finding.severity);
            } else {
                kept.push(finding);
            }
        }
        findings = kept;
    }
    findings.truncate(subject.policy.findings_max);
    (findings, counts)
}

impl Counts {
    fn remove(&mut self, severity: crate::Severity) {
        let count = match severity {
            crate::Severity::Error => &mut self.errors,
            crate::Severity::Warning => &mut self.warnings,
            crate::Severity::Information => &mut self.informations,
            crate::Severity::Hint => &mut self.hints,
        };
        *count = count.saturating_sub(1);
    }
}

/// Errors first, then by place; findings that agree in all of this are one.
fn order(finding: &Finding) -> impl Ord + PartialEq + '_ {
    (finding.severity, &finding.path, finding.start, finding.end, &finding.code, &finding.message)
}

/// What was known of earlier texts, newest report first.
fn before(outcomes: &[Outcome<'_>], policy: &Policy) -> Option<ToldBefore> {
    let documents = outcomes.iter().filter_map(|outcome| outcome.client.documents.get(&outcome.part.document));
    let told: Vec<&Told> = documents.flat_map(|document| document.before()).collect();
    let version = told.iter().filter_map(|told| told.version).max();
    let mut findings: Vec<Finding> = told.iter().flat_map(|told| told.set.findings.iter().cloned()).collect();
    findings.sort_by(|a, b| order(a).cmp(&order(b)));
    findings.dedup_by(|a, b| order(a) == order(b));
    findings.truncate(policy.findings_max);
    (!findings.is_empty()).then_some(ToldBefore { version, findings })
}

fn certificates(outcome: &Outcome<'_>, at: Time) -> Vec<Certificate> {
    let certificate = |evidence: &Evidence<'_>| {
        let document = outcome.client.documents.get(&outcome.part.document)?;
        let session = outcome.client.session.as_ref()?;
        Some(Certificate {
            server: outcome.client.spec.name.clone(),
            process: session.process,
            uri: document.uri.clone(),
            version: document.sent.as_ref()?.version,
            text_hash: document.hash,
            rule: evidence.rule,
            messages: evidence.messages.clone(),
            findings: evidence.received,
            at,
        })
    };
    outcome.evidence().filter_map(certificate).collect()
}

fn timings(subject: &Subject<'_>, outcomes: &[Outcome<'_>]) -> Timings {
    let sessions = || outcomes.iter().filter_map(|outcome| outcome.client.session.as_ref());
    let within = |time: Time| (time >= subject.asked).then_some(time);
    let sent = |outcome: &Outcome<'_>| Some(outcome.client.documents.get(&outcome.part.document)?.sent.as_ref()?.at);
    Timings {
        asked: subject.asked,
        spawned: sessions().map(|session| session.spawned).max().and_then(within),
        initialized: sessions().filter_map(|session| session.initialized).max().and_then(within),
        synced: outcomes.iter().filter_map(sent).max(),
        answered: subject.now,
    }
}

/// Where a verdict is asked from, for a call whose wait for this server ends then.
pub(crate) fn stage(ends: Time, now: Time, faults: Faults) -> Stage {
    if now >= ends && !faults.has(Fault::NeverTimesOut) { Stage::Ended } else { Stage::Waiting }
}

/// What two reports of one text are compared by.
pub(crate) fn digest(report: &Report) -> u64 {
    use std::hash::{DefaultHasher, Hash as _, Hasher as _};
    let mut hasher = DefaultHasher::new();
    (report.conclusion, report.counts.errors, report.counts.warnings).hash(&mut hasher);
    report.findings.hash(&mut hasher);
    hasher.finish()
}

/// A report about a file that could not be read: nothing was checked.
pub(crate) fn unreadable(subject: &Subject<'_>, error: String) -> Report {
    let mut report = compose(subject, &[], Vec::new());
    report.conclusion = Conclusion::Uncovered;
    report.reason = Some(Reason::Unreadable { error });
    report
}

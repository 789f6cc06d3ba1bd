//! A report in words for a model: one line of conclusion, then at most so many findings, one line each,
//! then what was left out. Nothing here decides anything.

use std::fmt::Write as _;

use crate::fault::Fault;
use crate::{Conclusion, Finding, KnownBy, Policy, Reason, Report, Severity, clean};

impl Report {
    /// The report as text, exactly as a model is to read it; no line end at the end.
    #[must_use]
    pub fn render(&self, policy: &Policy) -> String {
        let mut text = self.headline();
        let shown = |finding: &&Finding| finding.severity <= policy.severity;
        let listed: Vec<&Finding> = self.findings.iter().filter(shown).collect();
        let cap = if self.faults.has(Fault::NoLineCap) { usize::MAX } else { policy.lines_max };
        for finding in listed.iter().take(cap) {
            let _ = write!(text, "\n  {}", line(finding));
        }
        let total = self.counts.at_least(policy.severity);
        let more = total.saturating_sub(listed.len().min(cap) as u64);
        if more > 0 && !self.faults.has(Fault::CutsInSilence) {
            let _ = write!(text, "\n  … and {more} more");
        }
        if self.conclusion != Conclusion::Errors || !self.complete {
            self.before(&mut text, policy);
        }
        // What the headline says already is not said again.
        let headline = self.headline();
        for note in self.notes.iter().filter(|note| !headline.contains(&note.text)) {
            let _ = write!(text, "\nnote: {}: {}", note.server, note.text);
        }
        text
    }

    fn headline(&self) -> String {
        let path = &self.path;
        let inferred = if self.known_by == Some(KnownBy::Inferred) { " (inferred)" } else { "" };
        match self.conclusion {
            Conclusion::Errors => {
                let errors = self.counts.errors;
                let plural = if errors == 1 { "" } else { "s" };
                let partial = if self.complete { "" } else { ", not every server has concluded" };
                format!("{path}: {errors} error{plural}{inferred}{partial}")
            }
            Conclusion::Clean => format!("{path}: no errors{inferred}"),
            Conclusion::Pending => {
                format!("{path}: not checked yet{}", self.because())
            }
            Conclusion::Unavailable => {
                format!("{path}: not checked, the language server is unavailable{}", self.because())
            }
            Conclusion::Uncovered => match &self.reason {
                Some(_) => format!("{path}: not checked{}", self.because()),
                None => format!("{path}: not checked, no language server covers this file"),
            },
        }
    }

    fn because(&self) -> String {
        self.reason.as_ref().map_or_else(String::new, |reason| format!(": {}", reason.words()))
    }

    fn before(&self, text: &mut String, policy: &Policy) {
        let Some(before) = self.told_before.as_ref().filter(|before| !before.findings.is_empty()) else { return };
        let _ = write!(text, "\nbefore this edit ({} known, may no longer hold):", before.findings.len());
        for finding in before.findings.iter().take(policy.lines_max) {
            let _ = write!(text, "\n  {}", line(finding));
        }
        let more = before.findings.len().saturating_sub(policy.lines_max);
        if more > 0 {
            let _ = write!(text, "\n  … and {more} more");
        }
    }
}

impl crate::Counts {
    /// Findings of this severity or a graver one.
    fn at_least(&self, severity: Severity) -> u64 {
        let graver = [
            (Severity::Error, self.errors),
            (Severity::Warning, self.warnings),
            (Severity::Information, self.informations),
            (Severity::Hint, self.hints),
        ];
        graver.into_iter().filter(|(of, _)| *of <= severity).map(|(_, count)| count).sum()
    }
}

fn line(finding: &Finding) -> String {
    let severity = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Information => "information",
        Severity::Hint => "hint",
    };
    let code = finding.code.as_ref().map_or_else(String::new, |code| format!(" [{code}]"));
    format!("{}:{} {severity}: {}{code}", finding.start.line, finding.start.column, finding.message)
}

impl Reason {
    /// The kebab-case name, as in JSON.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Silent => "silent",
            Self::Initializing => "initializing",
            Self::Loading => "loading",
            Self::Unsettled => "unsettled",
            Self::ServerCancelled => "server-cancelled",
            Self::PullFailed { .. } => "pull-failed",
            Self::Superseded => "superseded",
            Self::Cancelled => "cancelled",
            Self::TooLarge { .. } => "too-large",
            Self::NotReading => "not-reading",
            Self::NoSync => "no-sync",
            Self::StartFailed { .. } => "start-failed",
            Self::Died { .. } => "died",
            Self::Unreadable { .. } => "unreadable",
        }
    }

    /// A sentence fragment for people.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Silent => "the server has said nothing about this text within the budget".to_owned(),
            Self::Initializing => "the server is still starting".to_owned(),
            Self::Loading => "the server is still loading the project".to_owned(),
            Self::Unsettled => "the server's results had not settled".to_owned(),
            Self::ServerCancelled => "the server cancelled the request until the budget ended".to_owned(),
            Self::PullFailed { error } => format!("the server answered with an error: {error}"),
            Self::Superseded => "a newer edit came first".to_owned(),
            Self::Cancelled => "cancelled".to_owned(),
            Self::TooLarge { bytes } => format!("a message of {bytes} bytes was over the limit"),
            Self::NotReading => "the server does not read its input".to_owned(),
            Self::NoSync => "the server does not take documents".to_owned(),
            Self::StartFailed { error } => error.clone(),
            Self::Died { how } => how.clone(),
            Self::Unreadable { error } => format!("the file could not be read: {error}"),
        }
    }
}

/// One cleaned line about a failure, for reasons and notes.
pub(crate) fn fragment(text: &str) -> String {
    const CHARS_MAX: usize = 300;
    clean::line(text, CHARS_MAX)
}

//! The reference loop behind the adapter protocol: how a session's facts become a configuration, an
//! operation a request, and an answer a line. Every driver of the reference loop uses these; none does I/O.

use std::path::PathBuf;
use std::time::Duration;

use feedback::{Command, Config, Launch, Policy, Report, ServerSpec};

use super::{About, Answer, Feedback, Finding, Op, Server, Start};

/// What the reference loop can tell, in `can`.
pub const CAN: &[&str] = &[
    "conclusion",
    "findings",
    "known-by",
    "reason",
    "complete",
    "known-before",
    "notes",
    "certificates",
    "late",
    "read",
    "close",
    "delete",
    "turn",
    "cancel",
];

/// Longest budget that a session may ask for, in milliseconds: one day.
const BUDGET_MS_MAX: u64 = 24 * 60 * 60 * 1000;

/// The loop's configuration for a session. `process_id` is the host's own.
#[must_use]
pub fn config(start: &Start, process_id: Option<u32>) -> Config {
    let root = PathBuf::from(&start.root);
    let servers = start.servers.iter().map(|server| server_spec(server, &root)).collect();
    Config { root, servers, policy: policy(start), process_id }
}

fn policy(start: &Start) -> Policy {
    let millis = |ms: u64| Duration::from_millis(ms.min(BUDGET_MS_MAX));
    let mut policy = Policy::default();
    policy.call_budget = millis(start.budget_ms);
    policy.first_budget = start.first_budget_ms.map_or(policy.call_budget, millis);
    policy.initialize_budget = start.initialize_budget_ms.map_or(policy.call_budget, millis);
    policy.total_budget = policy.initialize_budget + policy.first_budget.max(policy.call_budget);
    policy
}

fn server_spec(server: &Server, root: &std::path::Path) -> ServerSpec {
    let launch = match server.command.split_first() {
        None => Launch::Missing(format!("no command was given for {}", server.name)),
        Some((program, args)) => Launch::Command(Command {
            program: PathBuf::from(program),
            args: args.to_vec(),
            env: Vec::new(),
            cwd: root.to_owned(),
        }),
    };
    ServerSpec {
        name: server.name.clone(),
        extensions: server.extensions.iter().map(|extension| (extension.clone(), server.language_id.clone())).collect(),
        root_markers: Vec::new(),
        launch,
        initialization_options: Some(server.initialization_options.clone()).filter(|options| !options.is_null()),
        settings: server.settings.clone(),
        required: server.required,
    }
}

/// The loop's request for an operation. A call's id is the id of its line, so `cancel` names it as it is.
///
/// # Errors
/// Why the reference loop doesn't take it; `start` is the driver's own business and not taken here.
pub fn request(op: &Op) -> Result<feedback::Request, String> {
    Ok(match op {
        Op::Start(_) => return Err("the session has started already".to_owned()),
        Op::Edit { path } => feedback::Request::Check { path: path.into() },
        Op::Read { path } => feedback::Request::Read { path: path.into() },
        Op::Close { path } => feedback::Request::Close { path: path.into() },
        Op::Delete { path } => feedback::Request::Delete { path: path.into() },
        // The reference loop's host asks for late results when a turn begins.
        Op::Late | Op::Turn => feedback::Request::Late,
        Op::Cancel { call } => feedback::Request::Cancel { call: feedback::CallId(*call) },
        Op::Write { .. } => return Err("this loop is asked after a file has landed: use `edit`".to_owned()),
        Op::Stop => feedback::Request::Stop,
    })
}

/// The answer to `start`.
#[must_use]
pub fn started(id: u64) -> Answer {
    Answer {
        id,
        ok: true,
        about: Some(About { name: "lsp-assay".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() }),
        can: CAN.iter().map(|&can| can.to_owned()).collect(),
        ..Answer::default()
    }
}

/// An error answer.
#[must_use]
pub fn refused(id: u64, error: impl Into<String>) -> Answer {
    Answer { id, ok: false, error: Some(error.into()), ..Answer::default() }
}

/// The line for the loop's answer.
#[must_use]
pub fn answer(id: u64, answer: &feedback::Answer, policy: &Policy) -> Answer {
    let done = Answer { id, ok: true, ..Answer::default() };
    match answer {
        feedback::Answer::Report(report) => Answer { feedback: Feedback::of(report, policy), ..done },
        feedback::Answer::Late(reports) => {
            Answer { late: Some(reports.iter().map(|report| Feedback::of(report, policy)).collect()), ..done }
        }
        feedback::Answer::Refused { reason } => refused(id, reason.clone()),
        _ => done,
    }
}

impl Feedback {
    /// What the protocol tells of a report, worded by `policy`.
    #[must_use]
    pub fn of(report: &Report, policy: &Policy) -> Self {
        Self {
            path: Some(report.path.clone()),
            conclusion: Some(report.conclusion),
            complete: Some(report.complete),
            known_by: report.known_by,
            reason: report.reason.as_ref().map(|reason| reason.name().to_owned()),
            text: Some(report.render(policy)),
            waited_ms: Some(report.waited.as_secs_f64() * 1000.0),
            findings: Some(report.findings.iter().map(Finding::of).collect()),
            errors: Some(report.counts.errors),
            told_before: report.told_before.as_ref().map(|told| told.findings.iter().map(Finding::of).collect()),
            notes: report.notes.iter().map(|note| format!("{}: {}", note.server, note.text)).collect(),
            certificates: report.certificates.clone(),
        }
    }
}

impl Finding {
    /// What the protocol tells of a finding.
    #[must_use]
    pub fn of(finding: &feedback::Finding) -> Self {
        Self {
            path: finding.path.clone(),
            line: finding.start.line,
            column: finding.start.column,
            severity: finding.severity,
            code: finding.code.clone(),
            message: finding.message.clone(),
        }
    }
}

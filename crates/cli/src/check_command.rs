//! `lsp-assay check`: real feedback on real files, once.

mod why;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use feedback::runtime::Feedback;
use feedback::runtime::discover::Discovery;
use feedback::{Conclusion, Config, KnownBy, Policy, Report, Request, Severity};
use indicatif::ProgressBar;
use miette::Result;
use serde::Serialize;

use crate::output;
use crate::session::{block_on, stop, until_interrupted};
use crate::workspace::{Workspace, servers};
use why::{Justified, Messages};

/// Version of the JSON that is printed.
const FORMAT_VERSION: u32 = 1;

/// Ask the language server about files and wait for the diagnostics of what is on disk now.
///
/// The server is found on PATH by the file's extension, never inside the workspace. The workspace is
/// the Git checkout around the files, else the current folder if it holds them all, else the nearest
/// folder that does. A server that names no versions and answers no pulls proves nothing: of its results
/// the last within the budget is taken, and called inferred.
#[derive(clap::Args)]
#[command(after_long_help = "\
Each file ends in one of five conclusions:
  errors       at least one error of the text on disk
  clean        every required server has concluded on that text, and found no error
  pending      no conclusion within the budget; silence is never taken for `clean`
  unavailable  the server could not be started, or died
  uncovered    no known server covers the file, or its text cannot be read (not UTF-8, too large)

Exit codes: 0 every file is clean; 1 some file has errors; 3 none has, but some file is pending,
unavailable or uncovered, or (with --why) a conclusion is not what its messages justify; 2 the call was
wrong; 130 interrupted.

Examples:
  lsp-assay check src/main.py
  lsp-assay check src/*.ts --format json
  lsp-assay check a.py --server 'basedpyright-langserver --stdio' --budget 10s
  lsp-assay check a.c --why            # the messages that justify the conclusion")]
pub(crate) struct Args {
    /// The files to check.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Use this server for every file, instead of one found by extension.
    #[arg(long, value_name = "CMD")]
    server: Option<String>,
    /// The workspace; every file has to be inside.
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Longest wait for a file, the server's start included: 500ms, 10s.
    #[arg(long, value_name = "TIME", default_value = "30s")]
    budget: scenario::Duration,
    /// The mildest findings to list; the others are counted.
    #[arg(long, value_enum, default_value_t = Level::Error)]
    severity: Level,
    /// What to print.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Print what justifies each conclusion: the rule and the messages.
    #[arg(long)]
    why: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// As a model or a person reads it.
    Text,
    /// One JSON object.
    Json,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Level {
    Error,
    Warning,
    Information,
    Hint,
}

/// What is printed as JSON.
#[derive(Serialize)]
struct Output<'a> {
    format: u32,
    tool: &'static str,
    version: &'static str,
    root: PathBuf,
    notes: &'a [String],
    reports: &'a [Report],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    why: Vec<Justified<'a>>,
}

pub(crate) fn run(args: &Args) -> Result<u8> {
    let workspace = Workspace::of(&args.files, args.root.as_deref())?;
    let found = servers(args.server.as_deref(), &workspace)?;
    let policy = policy(args);
    let messages = Arc::new(Mutex::new(Messages::default()));
    let Some(reports) = block_on(check(args.why, &workspace, &found, &policy, &messages))?? else {
        return Ok(output::INTERRUPTED);
    };
    let messages = messages.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    match args.format {
        Format::Text => output::print(&text(&found.notes, &reports, &policy, args.why.then_some(&messages)))?,
        Format::Json => {
            let why =
                if args.why { reports.iter().flat_map(|report| messages.justify(report)).collect() } else { vec![] };
            output::print_json(&Output {
                format: FORMAT_VERSION,
                tool: "lsp-assay",
                version: env!("CARGO_PKG_VERSION"),
                root: workspace.root,
                notes: &found.notes,
                reports: &reports,
                why,
            })?;
        }
    }
    // A conclusion that its own messages do not justify is the loop's fault, not the file's.
    let refuted = args.why && reports.iter().flat_map(|report| messages.justify(report)).any(|why| !why.holds());
    Ok(if refuted { output::FAILED } else { exit_code(&reports) })
}

fn policy(args: &Args) -> Policy {
    let mut policy = Policy::default();
    let budget = args.budget.get();
    policy.initialize_budget = budget;
    policy.first_budget = budget;
    policy.call_budget = budget;
    policy.total_budget = budget;
    policy.severity = match args.severity {
        Level::Error => Severity::Error,
        Level::Warning => Severity::Warning,
        Level::Information => Severity::Information,
        Level::Hint => Severity::Hint,
    };
    policy
}

/// Checks all files at once; `None` if the user interrupts. Nothing runs afterwards.
async fn check(
    why: bool,
    workspace: &Workspace,
    found: &Discovery,
    policy: &Policy,
    messages: &Arc<Mutex<Messages>>,
) -> Result<Option<Vec<Report>>> {
    let config = Config {
        root: workspace.root.clone(),
        servers: found.servers.clone(),
        policy: policy.clone(),
        process_id: Some(std::process::id()),
    };
    let feedback = if why {
        let messages = Arc::clone(messages);
        Feedback::start_recorded(config, move |record| {
            messages.lock().unwrap_or_else(std::sync::PoisonError::into_inner).keep(record);
        })
    } else {
        Feedback::start(config)
    };
    let progress = progress(workspace.files.len());
    let reports = until_interrupted(reports(&feedback, &workspace.files, &progress)).await;
    progress.finish_and_clear();
    stop(feedback).await;
    reports?.transpose()
}

async fn reports(feedback: &Feedback, files: &[PathBuf], progress: &ProgressBar) -> Result<Vec<Report>> {
    let pending: Vec<_> = files.iter().map(|file| feedback.submit(Request::Check { path: file.clone() })).collect();
    let mut reports = Vec::new();
    for (call, file) in pending.into_iter().zip(files) {
        progress.set_message(file.display().to_string());
        match call.answer().await {
            feedback::Answer::Report(report) => reports.push(*report),
            feedback::Answer::Refused { reason } => miette::bail!("{}: {reason}", file.display()),
            other => miette::bail!("{}: an answer of another kind: {other:?}", file.display()),
        }
        progress.inc(1);
    }
    Ok(reports)
}

/// On a terminal a line that moves, elsewhere nothing.
fn progress(files: usize) -> ProgressBar {
    let progress = ProgressBar::new(files as u64);
    if let Ok(style) = indicatif::ProgressStyle::with_template("{spinner} {pos}/{len} waiting for {msg} ({elapsed})") {
        progress.set_style(style);
    }
    progress.enable_steady_tick(Duration::from_millis(100));
    progress
}

fn exit_code(reports: &[Report]) -> u8 {
    let any = |conclusion| reports.iter().any(|report| report.conclusion == conclusion);
    if any(Conclusion::Errors) {
        1
    } else if reports.iter().all(|report| report.conclusion == Conclusion::Clean) {
        0
    } else {
        output::FAILED
    }
}

fn text(notes: &[String], reports: &[Report], policy: &Policy, messages: Option<&Messages>) -> String {
    let mut text = String::new();
    for note in notes {
        text += &format!("note: {note}\n");
    }
    for report in reports {
        text += &format!("{}\n", report.render(policy));
        if let Some(messages) = messages {
            for justified in messages.justify(report) {
                text += &justified.to_string();
            }
        }
        text += &format!("{}\n", last_line(report, policy));
    }
    text
}

/// The conclusion, how it is known, how long it took, and what was not listed.
fn last_line(report: &Report, policy: &Policy) -> String {
    let known = match report.known_by {
        Some(KnownBy::Versioned) => ", known by a result that names this version of the text",
        Some(KnownBy::Pulled) => ", known by an answer to a request after this text",
        Some(KnownBy::Inferred) => ", inferred: nothing proves it, but the results settled",
        None => "",
    };
    let servers: Vec<&str> = report.certificates.iter().map(|certificate| certificate.server.as_str()).collect();
    let by = if servers.is_empty() { String::new() } else { format!(" ({})", servers.join(", ")) };
    let waited = report.waited.as_millis();
    format!("= {}{known}{by}, after {waited} ms{}", report.conclusion, unlisted(report, policy))
}

fn unlisted(report: &Report, policy: &Policy) -> String {
    let counts = [
        (Severity::Warning, report.counts.warnings, "warning"),
        (Severity::Information, report.counts.informations, "information"),
        (Severity::Hint, report.counts.hints, "hint"),
    ];
    let milder = counts.iter().filter(|(severity, count, _)| *severity > policy.severity && *count > 0);
    let words: Vec<String> =
        milder.map(|(_, count, name)| format!("{count} {name}{}", if *count == 1 { "" } else { "s" })).collect();
    if words.is_empty() { String::new() } else { format!("; not listed: {} (see --severity)", words.join(", ")) }
}

//! `lsp-assay loop`: scenarios against a feedback loop, simulated or real. It selects, runs and shows;
//! what is right is judged in `assay`.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use assay::real::{AdapterCommand, FakeCommand, RealOptions, Subject};
use assay::results::{Check, Results};
use assay::{real, suite};
use indicatif::{ProgressBar, ProgressStyle};
use miette::{IntoDiagnostic as _, Result, WrapErr as _};
use scenario::Scenario;
use serde_json::{Value, json};

use crate::output;
use crate::show::{self, Format};

/// Judge a diagnostic feedback loop against scenarios.
///
/// A scenario is what language servers do, and what a loop must then tell. Simulated, the reference loop is
/// judged in a second, on a virtual clock. With --real the same loop, or yours, is judged over processes and
/// pipes; of the reference loop it is also checked that both worlds agree.
#[derive(clap::Args, Debug)]
#[command(after_long_help = "\
Examples:
  lsp-assay loop                                  the reference loop, simulated
  lsp-assay loop freshness honesty/silence        one law, and one scenario
  lsp-assay loop '*late*' --seed 7                by glob, with another seed
  lsp-assay loop my.toml                          a scenario of yours (docs/scenarios.md)
  lsp-assay loop --real --out reports             over processes, results kept
  lsp-assay loop --real --adapter 'node my.js'    your loop (docs/adapter-protocol.md)

Exit codes: 0 all held; 1 something did not hold; 2 the call was wrong; 3 the harness failed;
130 interrupted.")]
pub(crate) struct Args {
    /// Scenarios: beginnings of their names, such as `freshness`, or globs with `*` (default: all); or files
    /// and folders of your own, such as `my.toml` or `./scenarios`
    #[arg(value_name = "PATTERN")]
    patterns: Vec<String>,
    /// Over real processes and pipes instead of simulated
    #[arg(long)]
    real: bool,
    /// The loop to judge: a command that speaks the adapter protocol (default: the reference loop)
    #[arg(long, value_name = "CMD", requires = "real")]
    adapter: Option<String>,
    /// The seed of everything random
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// List the scenarios instead of running them
    #[arg(long)]
    list: bool,
    /// For people or for machines
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Also write results.json into this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Scenarios at a time (default: three per core)
    #[arg(long, value_name = "N", requires = "real", value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: Option<u16>,
}

const ADAPTER_HELP: &str = "give a command that speaks the adapter protocol (docs/adapter-protocol.md)";

/// Runs the command; the exit code of the process.
pub(crate) fn run(args: &Args) -> Result<u8> {
    let (files, patterns): (Vec<String>, Vec<String>) = args.patterns.iter().cloned().partition(|one| is_file(one));
    let built_in = if files.is_empty() || !patterns.is_empty() { suite::embedded()? } else { Vec::new() };
    let mut scenarios = suite::select(&built_in, &patterns)
        .map_err(|error| output::wrong(error, "`lsp-assay loop --list` names them all"))?;
    let own = files.iter().map(|file| suite::from_path(Path::new(file))).collect::<Result<Vec<_>, _>>()?.concat();
    scenarios.extend(&own);
    if args.list {
        return list(&scenarios, args.format);
    }
    let judged = if args.real { judge_real(args, &scenarios)? } else { Some(judge_simulated(args, &scenarios)) };
    let Some(results) = judged else { return Ok(output::INTERRUPTED) };
    show::results(&results, args.format, args.out.as_deref())?;
    Ok(results.summary.exit_code())
}

/// Whether a pattern names a file or a folder rather than built-in scenarios.
fn is_file(pattern: &str) -> bool {
    pattern.ends_with(".toml") || pattern.starts_with(['.', '/']) || pattern.ends_with('/')
}

fn judge_simulated(args: &Args, scenarios: &[&Scenario]) -> Results {
    let checks = suite::run_simulated(scenarios, args.seed);
    Results::new("loop", "the reference loop, simulated", args.seed, checks, facts(scenarios))
}

/// `None` if the user interrupted.
fn judge_real(args: &Args, scenarios: &[&Scenario]) -> Result<Option<Results>> {
    let subject = subject(args)?;
    let Some(mut checks) = in_processes(args, scenarios, &subject)? else { return Ok(None) };
    if args.adapter.is_none() {
        let simulated = suite::run_simulated(scenarios, args.seed);
        checks.extend(real::agreement(scenarios, &simulated, &checks));
    }
    let name = if args.adapter.is_some() { subject.name() } else { "the reference loop, over processes".to_owned() };
    Ok(Some(Results::new("loop", &name, args.seed, checks, facts(scenarios))))
}

fn in_processes(args: &Args, scenarios: &[&Scenario], subject: &AdapterCommand) -> Result<Option<Vec<Check>>> {
    let interrupt = interrupt()?;
    let bar = progress_bar(scenarios.iter().filter(|scenario| scenario.is_real()).count());
    let options = RealOptions {
        subject,
        fake: FakeCommand::within_this_executable().into_diagnostic()?,
        seed: args.seed,
        jobs: args.jobs.map_or_else(RealOptions::jobs_default, usize::from),
        interrupt: Some(interrupt),
        progress: &|scenario, done| {
            bar.set_position(done as u64);
            bar.set_message(scenario.id.clone());
        },
    };
    let checks = real::run(scenarios, &options);
    bar.finish_and_clear();
    Ok(checks)
}

/// The loop that `--adapter` names, or the reference loop.
fn subject(args: &Args) -> Result<AdapterCommand> {
    let Some(line) = &args.adapter else { return AdapterCommand::reference().into_diagnostic() };
    let words = shell_words::split(line).into_diagnostic().wrap_err_with(|| format!("--adapter {line:?}"))?;
    let mut words = words.into_iter();
    let program = words.next().ok_or_else(|| output::wrong("--adapter names no program", ADAPTER_HELP))?;
    if !is_there(Path::new(&program)) {
        return Err(output::wrong(format!("--adapter {line:?}: there is no program {program}"), ADAPTER_HELP));
    }
    Ok(AdapterCommand { program: program.into(), args: words.collect() })
}

/// Whether a program can be found: where its path says, or on `PATH`.
fn is_there(program: &Path) -> bool {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    program.is_file()
        || (program.components().count() == 1 && std::env::split_paths(&folders).any(|dir| dir.join(program).is_file()))
}

/// A descriptor that becomes readable upon Ctrl-C or a request to end, so that every wait ends and every
/// process with it.
fn interrupt() -> Result<Arc<OwnedFd>> {
    let (reader, writer) = std::io::pipe().into_diagnostic()?;
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP] {
        let writer = writer.try_clone().into_diagnostic()?;
        signal_hook::low_level::pipe::register(signal, writer).into_diagnostic()?;
    }
    Ok(Arc::new(reader.into()))
}

fn progress_bar(total: usize) -> ProgressBar {
    // Draws to standard error, and only if that is a terminal.
    let bar = ProgressBar::new(total as u64);
    let style =
        ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}").unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.with_style(style)
}

fn facts(scenarios: &[&Scenario]) -> Value {
    json!({ "scenarios": scenarios.len() })
}

fn list(scenarios: &[&Scenario], format: Format) -> Result<u8> {
    let rows = scenarios.iter().map(|scenario| {
        let worlds = match (scenario.is_simulated(), scenario.is_real()) {
            (true, true) => "both",
            (true, false) => "simulated",
            _ => "real",
        };
        (scenario, worlds)
    });
    let text = match format {
        Format::Human => rows.map(|(s, worlds)| format!("{:<44} {worlds:<10} {}\n", s.id, s.summary)).collect(),
        Format::Json => {
            let entries = rows.map(
                |(s, worlds)| json!({"id": s.id, "law": s.law, "worlds": worlds, "summary": s.summary, "seen": s.seen}),
            );
            report::json(&entries.collect::<Vec<_>>()).into_diagnostic()?
        }
    };
    output::print(&text)?;
    Ok(0)
}

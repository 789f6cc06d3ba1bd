//! `lsp-assay profile`: how long a server's feedback takes, cold and warm.

use std::path::{Path, PathBuf};

use assay::fixture::Fixture;
use assay::latency::{self, Options, Phase, Place, Profile, Step};
use assay::world::HarnessError;
use feedback::runtime::discover;
use feedback::runtime::lookup::SearchPath;
use indicatif::ProgressBar;
use miette::Result;

use crate::output::{self, wrong};
use crate::session::{block_on, until_interrupted};
use crate::show::{self, Format};
use crate::workspace::{Workspace, rooted, server_name};

/// Measure how long a language server's feedback takes, cold and warm.
///
/// Cold: fresh processes, from the spawn to the answer to `initialize`, and from `didOpen` to the first
/// final result. Warm: one process, from an edit on disk to its final result. Edits break and fix the
/// file in turn, and each result is compared with its text: a fast wrong answer is counted as wrong.
#[derive(clap::Args)]
#[command(after_long_help = "\
Times are percentiles of right results, from HDR histograms of three digits. Beside them stand the
results that were wrong, came too late (the budget ended), did not conclude, or were inferred, and how
many findings the right ones had.

By default each edit begins when the one before was answered. With --interval edits begin at a steady
pace, and times count from when an edit was meant to begin: a stall is felt by every edit it held up.

The texts are built in for some languages, by the command's name or --language. With --file they are
yours: the file is overwritten in its workspace, and put back at the end.

Exit codes: 0 every result was right and in time; 1 some were not; 2 the call was wrong; 3 the harness
failed; 130 interrupted.

Examples:
  lsp-assay profile -- pyright-langserver --stdio
  lsp-assay profile --edits 1000 --format json -- clangd
  lsp-assay profile --interval 100ms -- tsc --lsp --stdio
  lsp-assay profile --file src/a.py --broken bad.py --fixed good.py -- ty server")]
pub(crate) struct Args {
    /// Edits to measure in one process.
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    edits: u32,
    /// Fresh processes to measure.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(0..=1_000))]
    starts: u32,
    /// Begin edits at this pace, instead of one after the other.
    #[arg(long, value_name = "TIME")]
    interval: Option<scenario::Duration>,
    /// Longest wait for one result, the server's start included.
    #[arg(long, value_name = "TIME", default_value = "30s")]
    budget: scenario::Duration,
    /// The language of the built-in texts, if the command's name doesn't tell.
    #[arg(long, value_name = "ID")]
    language: Option<String>,
    /// Edit this file in its workspace; it is put back at the end.
    #[arg(long, value_name = "FILE", requires = "broken", requires = "fixed")]
    file: Option<PathBuf>,
    /// A file with the text that has an error.
    #[arg(long, value_name = "FILE", requires = "file")]
    broken: Option<PathBuf>,
    /// A file with the text that has none.
    #[arg(long, value_name = "FILE", requires = "file")]
    fixed: Option<PathBuf>,
    /// The workspace of --file.
    #[arg(long, value_name = "DIR", requires = "file")]
    root: Option<PathBuf>,
    /// For people or for machines: the results, with the times as facts.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Also write results.json into this folder.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// The server's command.
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<String>,
}

pub(crate) fn run(args: &Args) -> Result<u8> {
    let workspace =
        args.file.as_ref().map(|file| Workspace::of(std::slice::from_ref(file), args.root.as_deref())).transpose()?;
    let options = options(args, workspace.as_ref())?;
    let progress = progress(args);
    let place = || match &workspace {
        Some(workspace) => Place::of_the_users(&workspace.root, &workspace.files[0]),
        None => Place::of_our_own(&options.fixture),
    };
    let measured = block_on(until_interrupted(latency::profile(&options, place, |step| advance(&progress, step))))?;
    progress.finish_and_clear();
    match measured? {
        None => Ok(output::INTERRUPTED),
        Some(Err(HarnessError { what })) => {
            output::say(&format!("the measurement failed: {what}"));
            Ok(output::FAILED)
        }
        Some(Ok(profile)) => {
            let results = profile.results();
            show::show(&results, args.format, args.out.as_deref(), |_| table(&profile))?;
            Ok(results.summary.exit_code())
        }
    }
}

fn options(args: &Args, workspace: Option<&Workspace>) -> Result<Options> {
    let fixture = fixture(args)?;
    let search = SearchPath::of_environment(workspace.map(|workspace| workspace.root.as_path()));
    let subject = server_name(&args.command);
    let mut server = discover::custom(&subject, &rooted(&args.command)?, &[PathBuf::from(&fixture.file_name)], &search)
        .map_err(|error| wrong(error, "name the server's program by its path, or add its folder to PATH"))?;
    for (_, language_id) in &mut server.extensions {
        language_id.clone_from(&fixture.language_id);
    }
    Ok(Options {
        subject,
        server,
        fixture,
        starts: args.starts,
        edits: args.edits,
        interval: args.interval.map(scenario::Duration::get),
        budget: args.budget.get(),
    })
}

fn fixture(args: &Args) -> Result<Fixture> {
    if let (Some(file), Some(broken), Some(fixed)) = (&args.file, &args.broken, &args.fixed) {
        let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        return Ok(Fixture::of_texts(&name, args.language.as_deref(), &text(broken)?, &text(fixed)?));
    }
    let found = match &args.language {
        Some(language) => Fixture::for_language(language),
        None => Fixture::for_command(&args.command),
    };
    found.ok_or_else(|| {
        let built_in = Fixture::languages().join(", ");
        let help = format!("give --language ({built_in}), or your own texts with --file, --broken and --fixed");
        wrong(format!("no built-in text is known for `{}`", args.command.join(" ")), help)
    })
}

fn text(path: &Path) -> Result<String> {
    std::fs::read_to_string(path)
        .map_err(|error| wrong(format!("{}: {error}", path.display()), "name an existing text file in UTF-8"))
}

fn progress(args: &Args) -> ProgressBar {
    let progress = ProgressBar::new(u64::from(args.starts) + u64::from(args.edits));
    if let Ok(style) = indicatif::ProgressStyle::with_template("{bar:30} {pos}/{len} {msg} ({elapsed})") {
        progress.set_style(style);
    }
    progress
}

fn advance(progress: &ProgressBar, step: Step) {
    progress.set_message(match step {
        Step::Start(..) => "cold starts",
        Step::Edit(..) => "edits",
    });
    progress.inc(1);
}

const HEAD: [&str; 11] =
    ["", "right", "wrong", "late", "inconcl.", "inferred", "p50 ms", "p90 ms", "p99 ms", "max ms", "findings"];

/// The phases as a table, then what stands beside it.
fn table(profile: &Profile) -> String {
    let mut rows = vec![HEAD.map(str::to_owned)];
    rows.extend(profile.phases().map(|(name, phase)| row(name, phase)));
    let widths: Vec<usize> =
        (0..HEAD.len()).map(|at| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0)).collect();
    let about = profile.server.as_ref().map_or_else(String::new, |server| format!(" ({server})"));
    let mut text = format!("{}{about}, {}\n\n", profile.subject, profile.language_id);
    for row in &rows {
        let name = format!("{:width$}", row[0], width = widths[0]);
        let cells = row.iter().zip(&widths).skip(1).map(|(cell, width)| format!("  {cell:>width$}"));
        text += format!("{name}{}", cells.collect::<String>()).trim_end();
        text.push('\n');
    }
    text.push('\n');
    text += &beside(profile);
    text
}

fn row(name: &str, phase: &Phase) -> [String; 11] {
    let ms = |micros: u64| format!("{:.1}", wire::Time(micros).as_millis_f64());
    let [p50, p90, p99, max] = match phase.quantiles() {
        Some(times) => [times.p50, times.p90, times.p99, times.max].map(ms),
        None => ["-"; 4].map(str::to_owned),
    };
    let findings = match phase.findings {
        None => "-".to_owned(),
        Some((least, most)) if least == most => least.to_string(),
        Some((least, most)) => format!("{least}..{most}"),
    };
    let counts = [phase.count(), phase.wrong, phase.timeouts, phase.inconclusive, phase.inferred];
    let [right, wrong, late, inconclusive, inferred] = counts.map(|count| count.to_string());
    [name.to_owned(), right, wrong, late, inconclusive, inferred, p50, p90, p99, max, findings]
}

fn beside(profile: &Profile) -> String {
    let mut text = match profile.memory_peak_bytes {
        Some(bytes) => format!("peak memory of the server's processes: {} MiB\n", bytes / (1024 * 1024)),
        None => "peak memory of the server's processes: the system does not tell\n".to_owned(),
    };
    text += &match profile.interval_us {
        Some(micros) => format!("an edit every {} ms; times count from when it was meant to begin\n", micros / 1000),
        None => "each edit began when the one before was answered\n".to_owned(),
    };
    if profile.restarts > 0 {
        text += &format!("the server was started anew {} times in the midst of edits\n", profile.restarts);
    }
    for wrong in &profile.wrong {
        text += &format!("wrong: {wrong}\n");
    }
    if let Some(first) = &profile.unconcluded {
        text += &format!("the first that came too late or did not conclude: {first}\n");
    }
    if profile.edit.runs() == 0 && profile.first.runs() > 0 && profile.first.count() == 0 {
        text += "no edits were measured, since no fresh process gave a right result\n";
    }
    text
}

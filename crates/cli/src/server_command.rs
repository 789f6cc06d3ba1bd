//! `lsp-assay server`: is a language server fit for a feedback loop? It reads texts and shows checks;
//! what is right is judged in `assay`.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use assay::fixture::Fixture;
use assay::results::{Check, Law, Results, Status};
use assay::server::{self, LAWS, Options};
use indicatif::{ProgressBar, ProgressStyle};
use miette::Result;
use serde_json::json;

use crate::output::{self, wrong};
use crate::session::{block_on, until_interrupted};
use crate::show::{self, Format};
use crate::workspace::rooted;

/// Check whether a language server is fit for a diagnostic feedback loop.
///
/// Each check names the place in the specification that it tests. What the specification requires fails
/// when it is broken, what it recommends warns. The strongest check needs no specification: after any
/// series of edits the diagnostics must be those of a new server that is opened on the same text.
#[derive(clap::Args, Debug)]
#[command(after_long_help = "\
The texts are built in for some languages, by the command's name or --language. With --broken and
--fixed they are yours: the same file once with an error and once without one. They are shown to the
server in a temporary workspace, or, with --root, in yours, in which nothing is written.

A difference between edits and a new server counts as a defect only if it shows three times of three,
and new servers agree among themselves; it is then made short, and the edits are printed. --seed makes
the same edits again.

Exit codes: 0 all held (warnings count with --strict); 1 something did not; 2 the call was wrong;
3 the harness failed; 130 interrupted.

Examples:
  lsp-assay server -- pyright-langserver --stdio
  lsp-assay server --broken bad.ts --fixed good.ts -- tsc --lsp --stdio
  lsp-assay server --law lifecycle --law messages --language python -- my-server
  lsp-assay server --language c --edits 1000 --seed 7 -- my-c-server
  lsp-assay server --root . --broken /tmp/bad.py --fixed src/app.py -- ty server
  lsp-assay server --strict --format json -- clangd")]
pub(crate) struct Args {
    /// A file with the text that has an error
    #[arg(long, value_name = "FILE", requires = "fixed")]
    broken: Option<PathBuf>,
    /// A file with the same text without the error; in --root, the name under which both are opened
    #[arg(long, value_name = "FILE", requires = "broken")]
    fixed: Option<PathBuf>,
    /// The language id, if the command's name or the file's extension doesn't tell
    #[arg(long, value_name = "ID")]
    language: Option<String>,
    /// A workspace of yours to show to the server (default: a temporary one)
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Random edits to make before the server is compared with a new one for the last time
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    edits: u32,
    /// The seed of the random edits
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Longest wait for the first error that a new server reports
    #[arg(long, value_name = "TIME", default_value = "45s")]
    wait: scenario::Duration,
    /// Check this law only; may be given more than once (default: all)
    #[arg(long = "law", value_name = "LAW", value_parser = law)]
    laws: Vec<Law>,
    /// A check that is known to fail, such as messages/unknown-dollar-request; may be given more than
    /// once. It does not count, and if it passes that is told as a failure
    #[arg(long = "known", value_name = "CHECK")]
    known: Vec<String>,
    /// Let warnings count as failures
    #[arg(long)]
    strict: bool,
    /// For people or for machines
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Also write results.json into this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// The server's command
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<String>,
}

/// Runs the command; the exit code of the process.
pub(crate) fn run(args: &Args) -> Result<u8> {
    let options = Options {
        command: rooted(&args.command)?,
        fixture: fixture(args)?,
        root: args.root.as_deref().map(folder).transpose()?,
        settings: json!({}),
        edits: args.edits as usize,
        seed: args.seed,
        laws: args.laws.clone(),
        first_max: args.wait.get(),
    };
    let spinner = spinner();
    let show_step = |what: &str| spinner.set_message(what.to_owned());
    let checked = block_on(until_interrupted(server::check(&options, &show_step)))?;
    spinner.finish_and_clear();
    let Some(results) = checked? else { return Ok(output::INTERRUPTED) };
    let mut results =
        results.map_err(|error| wrong(error, "name the server's program by its path, or add its folder to PATH"))?;
    // As it was typed, not as it was resolved.
    results.subject = args.command.join(" ");
    show::results(&results, args.format, args.out.as_deref())?;
    for stale in stale(&results, &args.known) {
        output::say(&format!("--known {stale}: this check does not fail any more, or there is no such check"));
    }
    Ok(exit_code(&results, args))
}

/// What counts decides: failures that are not known, warnings if they are to count, and known failures
/// that are none.
fn exit_code(results: &Results, args: &Args) -> u8 {
    let counts = |check: &Check| match check.status {
        Status::Failed => !args.known.contains(&check.id),
        Status::Warned => args.strict && !args.known.contains(&check.id),
        _ => false,
    };
    if results.summary.harness_error > 0 {
        return output::FAILED;
    }
    u8::from(results.checks.iter().any(counts) || stale(results, &args.known).next().is_some())
}

/// Checks that are known to fail and did not.
fn stale<'a>(results: &'a Results, known: &'a [String]) -> impl Iterator<Item = &'a String> {
    let fails = |id: &String| {
        let broken = |check: &Check| matches!(check.status, Status::Failed | Status::Warned);
        results.checks.iter().any(|check| check.id == *id && broken(check))
    };
    known.iter().filter(move |id| !fails(id))
}

fn law(name: &str) -> Result<Law, String> {
    LAWS.into_iter().find(|law| law.to_string() == name).ok_or_else(|| {
        let names: Vec<_> = LAWS.iter().map(Law::to_string).collect();
        format!("the laws of servers are {}", names.join(", "))
    })
}

fn folder(root: &Path) -> Result<PathBuf> {
    let real = root.canonicalize().ok().filter(|real| real.is_dir());
    real.ok_or_else(|| wrong(format!("--root {} is not a folder", root.display()), "name an existing folder"))
}

fn fixture(args: &Args) -> Result<Fixture> {
    if let (Some(broken), Some(fixed)) = (&args.broken, &args.fixed) {
        let (broken_text, fixed_text) = (text(broken)?, text(fixed)?);
        if broken_text == fixed_text {
            return Err(wrong(
                "--broken and --fixed hold the same text",
                "name one file with an error and one without",
            ));
        }
        let name = file_name(fixed, args.root.as_deref());
        let given = Fixture::of_texts(&name, args.language.as_deref(), &broken_text, &fixed_text);
        return Ok(if args.root.is_some() { given } else { given.with_surroundings() });
    }
    let found = match &args.language {
        Some(language) => Fixture::for_language(language),
        None => Fixture::for_command(&args.command),
    };
    found.ok_or_else(|| {
        let built_in = Fixture::languages().join(", ");
        let help = format!("give --language ({built_in}), or your own texts with --broken and --fixed");
        wrong(format!("no built-in text is known for `{}`", args.command.join(" ")), help)
    })
}

/// The name under which the texts are opened: that of the fixed one, as seen from the workspace if it
/// lies there.
fn file_name(fixed: &Path, root: Option<&Path>) -> String {
    let inside = root.and_then(|root| {
        let (root, fixed) = (root.canonicalize().ok()?, fixed.canonicalize().ok()?);
        Some(fixed.strip_prefix(root).ok()?.to_string_lossy().into_owned())
    });
    inside.unwrap_or_else(|| fixed.file_name().unwrap_or(OsStr::new("file")).to_string_lossy().into_owned())
}

fn text(path: &Path) -> Result<String> {
    std::fs::read_to_string(path)
        .map_err(|error| wrong(format!("{}: {error}", path.display()), "name an existing text file in UTF-8"))
}

fn spinner() -> ProgressBar {
    // Draws to standard error, and only if that is a terminal.
    let spinner = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} ({elapsed})") {
        spinner.set_style(style);
    }
    spinner.enable_steady_tick(Duration::from_millis(200));
    spinner
}

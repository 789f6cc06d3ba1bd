//! `lsp-assay mutants`: proof that the checks can fail, as a table.

use std::path::PathBuf;

use miette::Result;
use report::MutantResults;

use crate::show::{self, Format};

/// Prove the checks: run loops that are broken on purpose, and see each one caught.
///
/// A check that cannot fail is worth nothing. Each mutant is the reference loop with one fault, such as
/// taking any push for a current one. It must be caught by a check of the law that it breaks, and every
/// check must catch at least one.
#[derive(clap::Args, Debug)]
#[command(after_long_help = "\
Examples:
  lsp-assay mutants
  lsp-assay mutants --seed 7 --format json --out reports

Exit codes: 0 every mutant is caught and every check catches one; 1 a mutant survived, a check caught
none, or the reference loop itself failed a check; 2 the call was wrong; 3 the harness failed;
130 interrupted.")]
pub(crate) struct Args {
    /// The seed of everything random
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// For people or for machines
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Also write results.json into this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Runs the command; the exit code of the process.
pub(crate) fn run(args: &Args) -> Result<u8> {
    let table = assay::mutants::run(args.seed)?;
    let results = MutantResults::new(&table);
    show::show(&results, args.format, args.out.as_deref(), |width| report::mutants(&results, width))?;
    Ok(table.exit_code())
}

//! `lsp-assay fake`: the same as the `fake-lsp` program.

use std::ffi::OsString;
use std::process::ExitCode;

/// Run a fake language server on standard input and output; the same as `fake-lsp`.
#[derive(clap::Args)]
#[command(disable_help_flag = true, disable_version_flag = true)]
pub(crate) struct Args {
    /// As for `fake-lsp`; `lsp-assay fake --help` lists them.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<OsString>,
}

pub(crate) fn run(args: Args) -> ExitCode {
    // The program's own name comes first, as its usage shows it.
    fake_lsp::run::main(std::iter::once("fake-lsp".into()).chain(args.args))
}

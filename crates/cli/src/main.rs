//! The `lsp-assay` command: one module per command, each with its arguments and what it does.

mod adapter_command;
mod check_command;
mod fake_command;
mod loop_command;
#[cfg(feature = "mutants")]
mod mutants_command;
mod output;
mod profile_command;
mod schema_command;
mod server_command;
mod session;
mod show;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Tests how true a diagnostic feedback loop is, and how fast.
///
/// A diagnostic feedback loop is what a coding agent or an editor runs after a file was edited: tell the
/// language server the new text, wait for the diagnostics of that text, hand back a short, honest report.
#[derive(Parser)]
#[command(name = "lsp-assay", version, propagate_version = true, max_term_width = 100, after_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "\
Exit codes: 0 all held; 1 something was found wrong; 2 the call was wrong; 3 the harness failed, or
there is no conclusion; 130 interrupted.";

#[derive(Subcommand)]
enum Command {
    Loop(loop_command::Args),
    #[cfg(feature = "mutants")]
    Mutants(mutants_command::Args),
    Check(check_command::Args),
    Server(server_command::Args),
    Profile(profile_command::Args),
    Adapter(adapter_command::Args),
    Fake(fake_command::Args),
    Schema(schema_command::Args),
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Loop(args) => loop_command::run(&args),
        #[cfg(feature = "mutants")]
        Command::Mutants(args) => mutants_command::run(&args),
        Command::Check(args) => check_command::run(&args),
        Command::Server(args) => server_command::run(&args),
        Command::Profile(args) => profile_command::run(&args),
        Command::Adapter(args) => adapter_command::run(&args),
        Command::Fake(args) => return fake_command::run(args),
        Command::Schema(args) => schema_command::run(&args),
    };
    output::exit(outcome)
}

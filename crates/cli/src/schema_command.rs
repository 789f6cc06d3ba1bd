//! `lsp-assay schema`: the JSON Schemas of what people write, for editors.

use miette::Result;

use crate::output;

/// Print the JSON Schema of a format that people write.
///
/// Editors that know a file's schema complete and check it while it is written.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  lsp-assay schema scenario > scenario.schema.json
  lsp-assay schema script > script.schema.json

With the Taplo or Tombi language server, name the schema in a file's first line:
  #:schema ./scenario.schema.json")]
pub(crate) struct Args {
    /// Which format.
    format: Format,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Format {
    /// What is done to a loop, and what it owes (`scenarios/**/*.toml`).
    Scenario,
    /// How a fake server behaves (`fake-servers/scripts/*.toml`).
    Script,
}

pub(crate) fn run(args: &Args) -> Result<u8> {
    let schema = match args.format {
        Format::Scenario => scenario::scenario_schema(),
        Format::Script => scenario::script_schema(),
    };
    output::print_json(&schema)?;
    Ok(0)
}

//! `lsp-assay adapter`: the reference loop behind the adapter protocol, on standard input and output.

mod lines;
mod session;

use miette::Result;

use crate::output;
use crate::session::{block_on, interrupted};

/// Put the reference loop behind the adapter protocol, on standard input and output.
///
/// One JSON object a line comes in, one a line goes out; calls may overlap, and answers carry the id of
/// their request. `docs/adapter-protocol.md` describes it.
#[derive(clap::Args)]
#[command(after_long_help = r#"Ends on `stop`, or when standard input ends, with no server left running.

Example, line by line:
  {"id":1,"op":"start","protocol":1,"root":"/tmp/w","budget_ms":3000,"servers":[{"name":"fake",
   "command":["fake-lsp","push"],"extensions":[".fake"],"language_id":"fake"}]}
  {"id":2,"op":"edit","path":"a.fake"}
  {"id":3,"op":"stop"}

(the first is one line)"#)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args) -> Result<u8> {
    let served = block_on(session::serve(interrupted()))??;
    Ok(if served { 0 } else { output::INTERRUPTED })
}

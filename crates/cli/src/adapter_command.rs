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
#[command(
    after_long_help = r#"Ends on `stop`, or when standard input ends, with no server left running. Both end the calls that are
open: they are answered at once, with what is known, which is mostly `pending`. So await the answer to
an `edit` before you send `stop` or close the input.

Exit codes: 0 it was stopped, or its input ended; 2 the call was wrong; 3 the harness failed;
130 interrupted.

Example, line by line:
  {"id":1,"op":"start","protocol":1,"root":"/tmp/w","budget_ms":3000,"servers":[{"name":"fake",
   "command":["fake-lsp","push"],"extensions":[".fake"],"language_id":"fake"}]}
  {"id":2,"op":"edit","path":"a.fake"}
  {"id":3,"op":"stop"}

(the first is one line)"#
)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args) -> Result<u8> {
    let served = block_on(session::serve(interrupted()))??;
    Ok(if served { 0 } else { output::INTERRUPTED })
}

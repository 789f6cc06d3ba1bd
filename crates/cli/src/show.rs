//! How a command's results reach their readers: on standard output for people or for machines, and as a
//! file.

use std::io::{self, Write as _};
use std::path::Path;

use assay::results::Results;
use miette::{IntoDiagnostic as _, Result};
use serde::Serialize;

use crate::output;

/// Columns where the width of the terminal is not known.
const WIDTH_DEFAULT: u16 = 100;

/// For whom results are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// Tables and timelines for people.
    #[default]
    Human,
    /// JSON, and nothing else on standard output.
    Json,
}

/// Keeps results in `out`, if that is given, and shows them.
pub(crate) fn results(results: &Results, format: Format, out: Option<&Path>) -> Result<()> {
    show(results, format, out, |width| report::terminal(results, width))
}

/// Keeps `value` in `out`, if that is given, and shows it: as JSON, or by the face for people, which is
/// told the width.
pub(crate) fn show(
    value: &impl Serialize,
    format: Format,
    out: Option<&Path>,
    face: impl FnOnce(u16) -> String,
) -> Result<()> {
    // Kept first: whatever happens to the output, the work is not lost.
    if let Some(dir) = out {
        let file = report::save(value, dir).into_diagnostic()?;
        output::say(&format!("results are in {}", file.display()));
    }
    match format {
        Format::Human => styled(&face(width())),
        Format::Json => output::print(&report::json(value).into_diagnostic()?),
    }
}

/// Writes text with colours to standard output; they are stripped where they don't belong.
fn styled(text: &str) -> Result<()> {
    let mut out = anstream::AutoStream::auto(io::stdout().lock());
    output::written(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

fn width() -> u16 {
    let columns = |size: rustix::termios::Winsize| Some(size.ws_col).filter(|columns| *columns >= 40);
    rustix::termios::tcgetwinsize(io::stdout()).ok().and_then(columns).unwrap_or(WIDTH_DEFAULT)
}

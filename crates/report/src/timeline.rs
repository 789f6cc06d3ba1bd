//! Checks that did not hold, as a small timeline: when, who, what; then what was expected and what was seen.

use anstyle::Style;
use assay::results::{Check, Evidence};

use crate::style::{FAINT, HEADING, colour, styled, visible, word};

/// Lines of evidence that are shown; the file with the results holds all.
const EVIDENCE_MAX: usize = 40;
/// Characters of one text that are shown.
const CHARS_MAX: usize = 400;

/// The lines of checks that share their evidence, each ended: what happened once, then what each check
/// makes of it.
pub(crate) fn timeline(checks: &[&Check]) -> String {
    let Some(first) = checks.first() else { return String::new() };
    let place = format_args!("{}, {}", visible(&first.scenario), world(first)).to_string();
    let mut text = format!("{}\n", styled(HEADING, place));
    text += &events(&first.evidence);
    for check in checks {
        let status = Style::new().fg_color(Some(colour(check.status).into())).bold();
        text += &format!("  {} {}\n", styled(status, word(check.status)), styled(HEADING, visible(&check.id)));
        text += &format!("    expected  {}\n", cut(&check.expected));
        text += &format!("    seen      {}\n", cut(&check.observed));
    }
    text
}

fn events(evidence: &[Evidence]) -> String {
    let mut text = String::new();
    let shown = &evidence[..evidence.len().min(EVIDENCE_MAX)];
    let who_width = shown.iter().map(|line| visible(&line.who).chars().count()).max().unwrap_or(0);
    for Evidence { at_ms, who, what } in shown {
        let time = styled(FAINT, format_args!("{at_ms:>9.1} ms"));
        text += &format!("  {time}  {:<who_width$}  {}\n", visible(who), cut(what));
    }
    if evidence.len() > shown.len() {
        text += &format!("  {}\n", styled(FAINT, format_args!("… {} more lines", evidence.len() - shown.len())));
    }
    text
}

fn world(check: &Check) -> &'static str {
    match check.world {
        assay::results::WorldKind::Simulated => "simulated",
        assay::results::WorldKind::Real => "real",
    }
}

/// One line of bounded length.
fn cut(text: &str) -> String {
    let shown = visible(text);
    match shown.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{}…", &shown[..end]),
        None => shown,
    }
}

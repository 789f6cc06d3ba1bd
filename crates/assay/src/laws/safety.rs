//! Safety: nothing reaches the reader that could harm it: no control or bidirectional characters, no
//! line ends from a server.

use super::seen::at;
use super::{Looked, Sheet};
use crate::protocol::Feedback;
use crate::results::Law;

pub(super) fn judge(sheet: &mut Sheet<'_, '_>) {
    let run = sheet.run;
    let mut looked = Looked::default();
    for call in &run.calls {
        let Some((_, feedback)) = call.feedback() else { continue };
        looked.at(harmful(feedback).map(|found| format!("{}: {found}", at(run, call))));
    }
    for told in run.late.iter().flat_map(|late| &late.told) {
        looked.at(harmful(told).map(|found| format!("told late: {found}")));
    }
    let expected = "no control, escape or bidirectional characters";
    sheet.check(Law::Safety, "safety/clean-text", expected, looked);
}

/// The first harmful character of an answer, in words.
fn harmful(feedback: &Feedback) -> Option<String> {
    // Line ends are the loop's own in its text, and nobody's elsewhere.
    let text = feedback.text.iter().flat_map(|text| text.split('\n'));
    let findings = feedback.findings.iter().chain(&feedback.told_before).flatten();
    let fields = findings.flat_map(|finding| {
        [finding.path.as_str(), finding.message.as_str(), finding.code.as_deref().unwrap_or_default()]
    });
    let notes = feedback.notes.iter().map(String::as_str);
    text.chain(fields).chain(notes).find_map(|line| {
        let bad = line.chars().find(|c| is_harmful(*c))?;
        Some(format!("U+{:04X} in {:?}", u32::from(bad), line.chars().take(80).collect::<String>()))
    })
}

/// Controls, line and paragraph separators, and what reorders text (Unicode UAX #9).
fn is_harmful(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

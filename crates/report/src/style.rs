//! The words and colours for a status, and text from outside made safe to show.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use assay::results::Status;
use comfy_table::Color;

/// Emphasis of headings.
pub(crate) const HEADING: Style = Style::new().bold();
/// What is less important than the rest.
pub(crate) const FAINT: Style = Style::new().dimmed();

/// A status in words.
pub(crate) fn word(status: Status) -> &'static str {
    match status {
        Status::Passed => "passed",
        Status::Failed => "failed",
        Status::Warned => "warned",
        Status::NotApplicable => "not applicable",
        Status::HarnessError => "harness error",
    }
}

/// A status's colour.
pub(crate) fn colour(status: Status) -> AnsiColor {
    match status {
        Status::Passed => AnsiColor::Green,
        Status::Failed => AnsiColor::Red,
        Status::Warned => AnsiColor::Yellow,
        Status::NotApplicable => AnsiColor::BrightBlack,
        Status::HarnessError => AnsiColor::Magenta,
    }
}

/// A status's colour in a table.
pub(crate) fn table_colour(status: Status) -> Color {
    match status {
        Status::Passed => Color::Green,
        Status::Failed => Color::Red,
        Status::Warned => Color::Yellow,
        Status::NotApplicable => Color::DarkGrey,
        Status::HarnessError => Color::Magenta,
    }
}

/// `text` in a style.
pub(crate) fn styled(style: Style, text: impl std::fmt::Display) -> String {
    format!("{style}{text}{style:#}")
}

/// `text` with everything that could steer a terminal, or reorder what it shows, made visible.
pub(crate) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                escape(character, &mut shown)
            }
            character if character.is_control() => escape(character, &mut shown),
            character => shown.push(character),
        }
    }
    shown
}

fn escape(character: char, shown: &mut String) {
    // Writing to a string cannot fail.
    let _ = write!(shown, "\\u{{{:x}}}", u32::from(character));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_steers_the_terminal() {
        assert_eq!(visible("a\u{1b}[31mb\u{202e}c\n\u{7}é"), "a\\u{1b}[31mb\\u{202e}c\\n\\u{7}é");
    }
}

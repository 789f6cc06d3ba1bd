//! Text from outside made safe to show: one line, no control, escape, bidirectional or invisible
//! characters, bounded length, cut on character boundaries.

/// The first non-empty line of `text`, cleaned, at most `chars_max` characters and an ellipsis.
pub(crate) fn line(text: &str, chars_max: usize) -> String {
    let first = text.split(['\n', '\r']).map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let mut cleaned = String::with_capacity(first.len().min(chars_max.saturating_mul(4)));
    let mut chars = first.chars().filter_map(shown).peekable();
    for _ in 0..chars_max {
        let Some(character) = chars.next() else { break };
        cleaned.push(character);
    }
    if chars.peek().is_some() {
        cleaned.push('…');
    }
    cleaned
}

/// What stands for a character: itself, a space, a visible replacement, or nothing.
fn shown(character: char) -> Option<char> {
    match character {
        '\t' | '\u{a0}' => Some(' '),
        // Escape and its kin must not reach a terminal; that something was there stays visible.
        control if control.is_control() => Some('\u{fffd}'),
        // Line and paragraph separators end lines for some readers.
        '\u{2028}' | '\u{2029}' => Some(' '),
        // Bidirectional controls (Unicode UAX #9), which reorder what a reader sees.
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => None,
        // Invisible: zero-width, joiners, fillers, tags, variation selectors beyond the emoji one.
        '\u{ad}'
        | '\u{34f}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200d}'
        | '\u{2060}'..='\u{2065}'
        | '\u{206a}'..='\u{206f}'
        | '\u{3164}'
        | '\u{fe00}'..='\u{fe0e}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}' => None,
        other => Some(other),
    }
}

#[cfg(test)]
mod tests {
    use super::line;

    #[test]
    fn what_could_harm_is_gone() {
        let cases = [
            ("plain", "plain"),
            ("first\nsecond", "first"),
            ("\n  \nthird", "third"),
            ("red \u{1b}[31m!", "red \u{fffd}[31m!"),
            ("a\u{202e}b\u{200b}c\u{feff}", "abc"),
            ("tab\there", "tab here"),
            ("\u{7}", "\u{fffd}"),
            ("", ""),
        ];
        for (text, wanted) in cases {
            assert_eq!(line(text, 100), wanted, "{text:?}");
        }
    }

    #[test]
    fn cuts_fall_between_characters() {
        assert_eq!(line("ééééé", 3), "ééé…");
        assert_eq!(line("abc", 3), "abc");
        assert_eq!(line(&"x".repeat(100_000), 300).chars().count(), 301);
    }
}

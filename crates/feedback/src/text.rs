//! A text with its line starts: conversions between byte offsets, positions in the negotiated encoding
//! and places for people, and the one minimal change between two texts.

use serde::{Deserialize, Serialize};

use crate::Place;

/// What a position's `character` counts (LSP `PositionEncodingKind`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// Bytes.
    Utf8,
    /// UTF-16 code units; the one that every server must support.
    #[default]
    Utf16,
    /// Unicode scalar values.
    Utf32,
}

impl Encoding {
    /// In order of preference: the mandatory one is the one that servers test.
    pub(crate) const OFFERED: [&'static str; 3] = ["utf-16", "utf-8", "utf-32"];

    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "utf-8" => Some(Self::Utf8),
            "utf-16" => Some(Self::Utf16),
            "utf-32" => Some(Self::Utf32),
            _ => None,
        }
    }

    fn units(self, character: char) -> usize {
        match self {
            Self::Utf8 => character.len_utf8(),
            Self::Utf16 => character.len_utf16(),
            Self::Utf32 => 1,
        }
    }
}

/// A zero-based position in the negotiated encoding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Position {
    pub(crate) line: u32,
    pub(crate) character: u32,
}

/// A text and where its lines begin. Lines end with `\n`, `\r\n` or a lone `\r`, and nothing else.
#[derive(Debug)]
pub(crate) struct Text {
    text: String,
    /// Byte offsets, never empty; the first is 0. Files are bounded far below 4 GiB.
    starts: Vec<u32>,
}

/// The one replacement that turns one text into another.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Change<'a> {
    /// Byte range of the old text.
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) replacement: &'a str,
}

impl Default for Text {
    fn default() -> Self {
        Self::new(String::new())
    }
}

impl Text {
    pub(crate) fn new(text: String) -> Self {
        let bytes = text.as_bytes();
        let ends = bytes.iter().enumerate().filter_map(|(at, byte)| match byte {
            b'\n' => Some(at + 1),
            b'\r' if bytes.get(at + 1) != Some(&b'\n') => Some(at + 1),
            _ => None,
        });
        let starts = std::iter::once(0).chain(ends).map(|at| u32::try_from(at).unwrap_or(u32::MAX)).collect();
        Self { text, starts }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// Content of a line without its end; `None` behind the last line.
    fn line(&self, line: usize) -> Option<(usize, &str)> {
        let start = *self.starts.get(line)? as usize;
        let end = self.starts.get(line + 1).map_or(self.text.len(), |next| *next as usize);
        let content = &self.text[start..end];
        let content = content.strip_suffix('\n').unwrap_or(content);
        Some((start, content.strip_suffix('\r').unwrap_or(content)))
    }

    /// The position of a byte offset on a character boundary.
    pub(crate) fn position(&self, offset: usize, encoding: Encoding) -> Position {
        let line = self.starts.partition_point(|start| *start as usize <= offset).saturating_sub(1);
        let before = self.text.get(self.starts[line] as usize..offset).unwrap_or_default();
        let character = if before.is_ascii() {
            before.len()
        } else {
            before.chars().map(|character| encoding.units(character)).sum()
        };
        Position {
            line: u32::try_from(line).unwrap_or(u32::MAX),
            character: u32::try_from(character).unwrap_or(u32::MAX),
        }
    }

    /// The place that a server's position means, clamped into the text: a character behind the line's
    /// end is the line's end (LSP `Position`), a line behind the last is the end of the text.
    pub(crate) fn place(&self, position: Position, encoding: Encoding) -> Place {
        let last = self.starts.len() - 1;
        let line = position.line as usize;
        let (line, wanted) = if line > last { (last, usize::MAX) } else { (line, position.character as usize) };
        let content = self.line(line).map_or("", |(_, content)| content);
        let column = if content.is_ascii() {
            wanted.min(content.len())
        } else {
            let mut units = 0;
            content
                .chars()
                .take_while(|character| {
                    units += encoding.units(*character);
                    units <= wanted
                })
                .count()
        };
        let one_based = |zero_based: usize| u32::try_from(zero_based + 1).unwrap_or(u32::MAX);
        Place { line: one_based(line), column: one_based(column) }
    }

    /// The smallest single change from this text to `new`, never inside a character or a `\r\n`.
    pub(crate) fn change_to<'a>(&self, new: &'a str) -> Change<'a> {
        let (old_bytes, new_bytes) = (self.text.as_bytes(), new.as_bytes());
        let mut start = old_bytes.iter().zip(new_bytes).take_while(|(old, new)| old == new).count();
        while !boundary(&self.text, start) || !boundary(new, start) {
            start -= 1;
        }
        let longest = old_bytes.len().min(new_bytes.len()) - start;
        let mut kept =
            old_bytes.iter().rev().zip(new_bytes.iter().rev()).take(longest).take_while(|(o, n)| o == n).count();
        while !boundary(&self.text, old_bytes.len() - kept) || !boundary(new, new_bytes.len() - kept) {
            kept -= 1;
        }
        Change { start, end: old_bytes.len() - kept, replacement: &new[start..new_bytes.len() - kept] }
    }
}

/// Whether a position may stand here: not inside a character, not between `\r` and `\n`.
fn boundary(text: &str, at: usize) -> bool {
    text.is_char_boundary(at)
        && !(at > 0 && text.as_bytes().get(at) == Some(&b'\n') && text.as_bytes()[at - 1] == b'\r')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(line: u32, character: u32) -> Position {
        Position { line, character }
    }

    #[test]
    fn columns_are_counted_as_negotiated() {
        let text = Text::new("/* 😀é */ bad\r\nx\ry\n".to_owned());
        let bad = "/* 😀é */ ".len();
        for (encoding, character) in [(Encoding::Utf8, 13), (Encoding::Utf16, 10), (Encoding::Utf32, 9)] {
            assert_eq!(text.position(bad, encoding), at(0, character), "{encoding:?}");
            assert_eq!(text.place(at(0, character), encoding), Place { line: 1, column: 10 }, "{encoding:?}");
        }
    }

    #[test]
    fn lines_end_at_the_three_ends_only() {
        let text = Text::new("a\r\nb\rc\nd\u{2028}e\u{85}f\u{c}".to_owned());
        assert_eq!(text.starts, vec![0, 3, 5, 7]);
    }

    #[test]
    fn positions_outside_are_clamped() {
        let text = Text::new("ab\ncd".to_owned());
        assert_eq!(text.place(at(0, 9999), Encoding::Utf16), Place { line: 1, column: 3 });
        assert_eq!(text.place(at(999, 0), Encoding::Utf16), Place { line: 2, column: 3 });
        assert_eq!(Text::new(String::new()).place(at(0, 1), Encoding::Utf16), Place { line: 1, column: 1 });
    }

    #[test]
    fn a_change_replaces_what_differs() {
        let cases = [
            ("abc", "abXc", (2, 2, "X")),
            ("abc", "abc", (3, 3, "")),
            ("aa", "a", (1, 2, "")),
            ("a\r\nb", "a\nb", (1, 3, "\n")),
            ("😀", "😁", (0, 4, "😁")),
            ("", "x", (0, 0, "x")),
        ];
        for (old, new, (start, end, replacement)) in cases {
            assert_eq!(
                Text::new(old.to_owned()).change_to(new),
                Change { start, end, replacement },
                "{old:?} → {new:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn a_change_leads_to_the_new_text(old in "[ab😀é\r\n]{0,12}", new in "[ab😀é\r\n]{0,12}") {
            let text = Text::new(old.clone());
            let change = text.change_to(&new);
            let mut applied = old.clone();
            applied.replace_range(change.start..change.end, change.replacement);
            prop_assert_eq!(&applied, &new);
            for encoding in [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32] {
                prop_assert!(text.position(change.start, encoding) <= text.position(change.end, encoding));
            }
        }
    }
}

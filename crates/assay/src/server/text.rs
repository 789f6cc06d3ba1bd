//! A document's text as the Language Server Protocol counts it: lines, positions, changes. Written for
//! the judge alone, apart from the loop's own arithmetic, so that a slip in one shows against the other.

use serde::{Deserialize, Serialize};

/// What `character` counts (LSP 3.17 §PositionEncodingKind).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Encoding {
    Utf8,
    #[default]
    Utf16,
    Utf32,
}

impl Encoding {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "utf-8",
            Self::Utf16 => "utf-16",
            Self::Utf32 => "utf-32",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        [Self::Utf8, Self::Utf16, Self::Utf32].into_iter().find(|encoding| encoding.name() == name)
    }

    fn units(self, character: char) -> u32 {
        #[expect(clippy::cast_possible_truncation, reason = "at most four")]
        match self {
            Self::Utf8 => character.len_utf8() as u32,
            Self::Utf16 => character.len_utf16() as u32,
            Self::Utf32 => 1,
        }
    }
}

/// A place between two characters: both numbers count from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Position {
    pub(crate) line: u32,
    pub(crate) character: u32,
}

impl std::fmt::Display for Position {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.line, self.character)
    }
}

/// `end` is exclusive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Range {
    pub(crate) start: Position,
    pub(crate) end: Position,
}

impl std::fmt::Display for Range {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.start, self.end)
    }
}

/// Why a position names no place in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Misplaced {
    /// The text has only so many lines.
    NoSuchLine { lines: usize },
    /// The line has only so many units before its end. The specification lets this count as the line's end.
    PastLineEnd { units: u32 },
    /// In the middle of a surrogate pair or of a UTF-8 sequence.
    InsideCharacter,
}

/// A text and where its lines begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Text {
    text: String,
    starts: Vec<usize>,
}

impl Text {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        let bytes = text.as_bytes();
        let mut starts = vec![0];
        // Lines end with \n, \r\n or a lone \r (LSP 3.17 §textDocuments); nothing else ends one.
        starts.extend(bytes.iter().enumerate().filter_map(|(at, byte)| match byte {
            b'\n' => Some(at + 1),
            b'\r' if bytes.get(at + 1) != Some(&b'\n') => Some(at + 1),
            _ => None,
        }));
        Self { text, starts }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    pub(crate) fn line_count(&self) -> usize {
        self.starts.len()
    }

    /// The line without its end, and the byte at which it begins.
    pub(crate) fn line(&self, line: usize) -> Option<(usize, &str)> {
        let start = *self.starts.get(line)?;
        let end = self.starts.get(line + 1).copied().unwrap_or(self.text.len());
        Some((start, self.text[start..end].trim_end_matches(['\r', '\n'])))
    }

    /// The position of a byte offset, which is moved back to the nearest place where a position can be.
    pub(crate) fn position(&self, offset: usize, encoding: Encoding) -> Position {
        let offset = self.snap(offset);
        let line = self.starts.partition_point(|start| *start <= offset) - 1;
        let before = &self.text[self.starts[line]..offset];
        let character = before.chars().map(|character| encoding.units(character)).sum();
        Position { line: u32::try_from(line).unwrap_or(u32::MAX), character }
    }

    /// The nearest byte at or before `offset` where a position can be: not inside a character and not
    /// inside `\r\n`.
    pub(crate) fn snap(&self, offset: usize) -> usize {
        let offset = self.text.floor_char_boundary(offset);
        let bytes = self.text.as_bytes();
        let inside_line_end = offset > 0 && bytes[offset - 1] == b'\r' && bytes.get(offset) == Some(&b'\n');
        offset - usize::from(inside_line_end)
    }

    /// The byte offset of a position, strictly.
    pub(crate) fn offset(&self, position: Position, encoding: Encoding) -> Result<usize, Misplaced> {
        let (start, line) =
            self.line(position.line as usize).ok_or(Misplaced::NoSuchLine { lines: self.line_count() })?;
        let mut units = 0;
        for (at, character) in line.char_indices() {
            if units == position.character {
                return Ok(start + at);
            }
            units += encoding.units(character);
            if units > position.character {
                return Err(Misplaced::InsideCharacter);
            }
        }
        if units == position.character { Ok(start + line.len()) } else { Err(Misplaced::PastLineEnd { units }) }
    }

    /// What a range covers, a character past the line's end counting as the line's end; `None` if a
    /// position of it names no place even so.
    pub(crate) fn covered(&self, range: Range, encoding: Encoding) -> Option<&str> {
        let place = |position: Position| match self.offset(position, encoding) {
            Ok(offset) => Some(offset),
            Err(Misplaced::PastLineEnd { .. }) => {
                self.line(position.line as usize).map(|(start, line)| start + line.len())
            }
            Err(_) => None,
        };
        self.text.get(place(range.start)?..place(range.end)?)
    }

    /// This text with bytes `start..end` replaced; both are snapped to places where a position can be.
    pub(crate) fn replaced(&self, start: usize, end: usize, with: &str) -> Self {
        let (start, end) = (self.snap(start), self.snap(end.max(start)));
        Self::new(format!("{}{with}{}", &self.text[..start], &self.text[end..]))
    }

    /// The smallest single replacement that makes `other` of this text: start, end, and the new middle.
    pub(crate) fn difference<'a>(&self, other: &'a str) -> (usize, usize, &'a str) {
        let (old, new) = (self.text.as_str(), other);
        let prefix = old.bytes().zip(new.bytes()).take_while(|(old, new)| old == new).count();
        let room = old.len().min(new.len()) - prefix;
        let suffix = old.bytes().rev().zip(new.bytes().rev()).take(room).take_while(|(old, new)| old == new).count();
        // Back to places where a position can be, in both texts.
        let start = Self::new(new).snap(self.snap(prefix));
        let mut end = old.len() - suffix;
        while end < old.len() && (self.snap(end) != end || !new.is_char_boundary(new.len() - (old.len() - end))) {
            end += 1;
        }
        let start = start.min(self.snap(start));
        (start, end, &new[start..new.len() - (old.len() - end)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIDE: &str = "a\r\né😀b\rc\n";

    #[test]
    fn lines_end_with_lf_crlf_and_lone_cr() {
        let text = Text::new(WIDE);
        let lines: Vec<_> = (0..text.line_count()).filter_map(|line| text.line(line)).map(|(_, line)| line).collect();
        assert_eq!(lines, ["a", "é😀b", "c", ""]);
    }

    #[test]
    fn columns_count_what_was_agreed() {
        let text = Text::new(WIDE);
        let b = WIDE.find('b').unwrap();
        for (encoding, character) in [(Encoding::Utf8, 6), (Encoding::Utf16, 3), (Encoding::Utf32, 2)] {
            let position = Position { line: 1, character };
            assert_eq!(text.position(b, encoding), position, "{encoding:?}");
            assert_eq!(text.offset(position, encoding), Ok(b), "{encoding:?}");
        }
    }

    #[test]
    fn what_is_no_place_is_told_apart() {
        let text = Text::new(WIDE);
        let at = |line, character, encoding| text.offset(Position { line, character }, encoding);
        assert_eq!(at(9, 0, Encoding::Utf16), Err(Misplaced::NoSuchLine { lines: 4 }));
        assert_eq!(at(0, 5, Encoding::Utf16), Err(Misplaced::PastLineEnd { units: 1 }));
        assert_eq!(at(1, 2, Encoding::Utf16), Err(Misplaced::InsideCharacter));
        assert_eq!(at(1, 1, Encoding::Utf8), Err(Misplaced::InsideCharacter));
        assert_eq!(text.position(2, Encoding::Utf16), Position { line: 0, character: 1 }, "never inside \\r\\n");
    }

    #[test]
    fn a_difference_applied_gives_the_other_text() {
        let texts =
            ["", "a", "é", "è", "a\r\nb", "a\nb", "a\r\n\r\nb", "😀😁", "😁", "aaaa", "aa", WIDE, "x\r\n", "x\r"];
        for old in texts {
            for new in texts {
                let text = Text::new(old);
                let (start, end, middle) = text.difference(new);
                assert_eq!((text.snap(start), text.snap(end)), (start, end), "{old:?} -> {new:?}");
                assert_eq!(text.replaced(start, end, middle).as_str(), new, "{old:?} -> {new:?}");
            }
        }
    }
}

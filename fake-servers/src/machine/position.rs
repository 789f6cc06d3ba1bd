//! Positions: from a line and a column in the agreed encoding to a byte, strictly. A line outside the
//! text or a place inside a character is an error here, where real servers guess.

use scenario::script::file::Encoding;
use serde::Deserialize;

use crate::findings::lines;

/// `Position` of the specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct Position {
    pub(super) line: u64,
    pub(super) character: u64,
}

impl std::fmt::Display for Position {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.line, self.character)
    }
}

/// The byte at which a position stands, or why it stands nowhere.
pub(super) fn byte_of(text: &str, position: Position, encoding: Encoding) -> Result<usize, String> {
    let nth = usize::try_from(position.line).unwrap_or(usize::MAX);
    let Some(line) = lines(text).nth(nth) else {
        return Err(format!("position {position} is outside the text of {} lines", lines(text).count()));
    };
    let line_start = line.as_ptr() as usize - text.as_ptr() as usize;
    let mut column = 0_u64;
    for (at, character) in line.char_indices() {
        if column >= position.character {
            return exact(column, position).map(|()| line_start + at);
        }
        column += units(character, encoding);
    }
    // A character behind the end of its line means that end (LSP `Position`).
    exact(column, Position { character: position.character.min(column), ..position }).map(|()| line_start + line.len())
}

fn exact(column: u64, position: Position) -> Result<(), String> {
    if column == position.character { Ok(()) } else { Err(format!("position {position} is inside a character")) }
}

fn units(character: char, encoding: Encoding) -> u64 {
    match encoding {
        Encoding::Utf8 => character.len_utf8() as u64,
        Encoding::Utf16 => character.len_utf16() as u64,
        Encoding::Utf32 => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_a_byte_or_an_error() {
        use Encoding::{Utf8, Utf16, Utf32};
        let text = "aé😀b\r\nx\ry\n";
        let cases = [
            (0, 0, Utf16, Ok(0)),
            (0, 2, Utf16, Ok(3)),
            (0, 3, Utf16, Err("inside a character")),
            (0, 4, Utf16, Ok(7)),
            (0, 5, Utf16, Ok(8)),
            (0, 6, Utf16, Ok(8)),
            (0, 3, Utf32, Ok(7)),
            (0, 7, Utf8, Ok(7)),
            (0, 2, Utf8, Err("inside a character")),
            (0, 6, Utf8, Err("inside a character")),
            (1, 1, Utf16, Ok(11)),
            (2, 0, Utf16, Ok(12)),
            (3, 0, Utf16, Ok(14)),
            (3, 1, Utf16, Ok(14)),
            (4, 0, Utf16, Err("outside the text of 4 lines")),
            (u64::MAX, u64::MAX, Utf16, Err("outside the text")),
        ];
        for (line, character, encoding, expected) in cases {
            let found = byte_of(text, Position { line, character }, encoding);
            match (&found, &expected) {
                (Ok(byte), Ok(wanted)) => assert_eq!(byte, wanted, "{line}:{character} {encoding:?}"),
                (Err(error), Err(part)) => assert!(error.contains(part), "{error}"),
                _ => panic!("{line}:{character} {encoding:?}: {found:?}, not {expected:?}"),
            }
        }
    }
}

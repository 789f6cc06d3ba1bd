//! Findings, derived from nothing but a text: a line that says `ERROR E1 words` is one. Whoever wrote
//! the text therefore knows them all, and each carries the tag of the text that it came from.

use scenario::script::file::Encoding;

/// One finding of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The line, from 0.
    pub line: u32,
    /// Where the keyword begins, from 0, in the encoding asked for.
    pub start: u32,
    /// Where the line ends, likewise.
    pub end: u32,
    /// `DiagnosticSeverity`: 1 error, 2 warning, 3 information, 4 hint.
    pub severity: u8,
    /// The code as it stands in the text, such as `E1`.
    pub code: String,
    /// The words behind it.
    pub words: String,
    /// Hash of the text and ordinal of the finding.
    pub tag: String,
}

/// The tag of the `ordinal`-th finding (from 0) of the text with this [`wire::text_hash`].
#[must_use]
pub fn finding_tag(text_hash: u32, ordinal: usize) -> String {
    format!("{text_hash:08x}.{ordinal}")
}

/// Every finding of a text, in order. Columns are counted in `encoding`.
#[must_use]
pub fn findings(text: &str, encoding: Encoding) -> Vec<Finding> {
    let hash = wire::text_hash(text.as_bytes());
    let mut found = Vec::new();
    for (number, line) in (0_u32..).zip(lines(text)) {
        let Some((at, severity, code, words)) = in_line(line) else { continue };
        found.push(Finding {
            line: number,
            start: width(&line[..at], encoding),
            end: width(line, encoding),
            severity,
            code: code.to_owned(),
            words: words.to_owned(),
            tag: finding_tag(hash, found.len()),
        });
    }
    found
}

const KEYWORDS: [(&str, u8); 4] = [("ERROR", 1), ("WARNING", 2), ("INFO", 3), ("HINT", 4)];

/// The first finding of a line: byte of the keyword, severity, code, words.
fn in_line(line: &str) -> Option<(usize, u8, &str, &str)> {
    let found = KEYWORDS.iter().filter_map(|(keyword, severity)| {
        line.match_indices(keyword).find_map(|(at, _)| {
            let (code, words) = code_and_words(&line[at + keyword.len()..])?;
            let inside_a_word = line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
            (!inside_a_word).then_some((at, *severity, code, words))
        })
    });
    found.min_by_key(|(at, ..)| *at)
}

/// `" E1 some words"` is code `E1` and words `some words`.
fn code_and_words(rest: &str) -> Option<(&str, &str)> {
    let rest = rest.strip_prefix(' ')?;
    let (code, words) = rest.split_once(' ').unwrap_or((rest, ""));
    let (letter, digits) = code.split_at_checked(1)?;
    let is_code = letter.bytes().all(|byte| byte.is_ascii_uppercase())
        && !digits.is_empty()
        && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_code.then_some((code, words))
}

/// The lines of a text without their ends, which are `\n`, `\r\n` or `\r`.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let Some(end) = memchr::memchr2(b'\n', b'\r', text.as_bytes()) else {
            rest = None;
            return Some(text);
        };
        let behind = if text[end..].starts_with("\r\n") { end + 2 } else { end + 1 };
        rest = Some(&text[behind..]);
        Some(&text[..end])
    })
}

/// How many units of the encoding a text takes.
pub(crate) fn width(text: &str, encoding: Encoding) -> u32 {
    let units = match encoding {
        Encoding::Utf8 => text.len(),
        Encoding::Utf16 => text.chars().map(char::len_utf16).sum(),
        Encoding::Utf32 => text.chars().count(),
    };
    u32::try_from(units).unwrap_or(u32::MAX)
}

impl Finding {
    /// The finding as the protocol writes it; with `tagged`, message and code carry its tag.
    #[must_use]
    pub fn to_diagnostic(&self, tagged: bool) -> serde_json::Value {
        let Self { line, start, end, severity, code, words, tag } = self;
        let (code, message) = match tagged {
            true => (format!("{code}-{tag}"), format!("{tag} {words}").trim_end().to_owned()),
            false => (code.clone(), words.clone()),
        };
        serde_json::json!({
            "range": { "start": { "line": line, "character": start }, "end": { "line": line, "character": end } },
            "severity": severity,
            "code": code,
            "source": "fake",
            "message": message,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_say_so_are_findings() {
        type Told = (u32, u32, u8, &'static str, &'static str);
        let cases: &[(&str, Option<Told>)] = &[
            ("ERROR E1 some words", Some((0, 19, 1, "E1", "some words"))),
            ("x = 1 # WARNING W23 hm", Some((8, 22, 2, "W23", "hm"))),
            ("INFO I3", Some((0, 7, 3, "I3", ""))),
            ("é😀 HINT H4 a", Some((4, 13, 4, "H4", "a"))),
            ("HINT H4 a ERROR E1 b", Some((0, 20, 4, "H4", "a ERROR E1 b"))),
            ("ERROR", None),
            ("ERROR  E1 x", None),
            ("ERROR e1 x", None),
            ("ERROR E x", None),
            ("ERROR E1x y", None),
            ("TERROR E1 x", None),
            ("ERRORS E1 x", None),
            ("ERROR ERROR E1 x", Some((6, 16, 1, "E1", "x"))),
        ];
        for (text, expected) in cases {
            let found = findings(text, Encoding::Utf16);
            let told: Vec<_> =
                found.iter().map(|f| (f.start, f.end, f.severity, f.code.as_str(), f.words.as_str())).collect();
            assert_eq!(told, Vec::from_iter(*expected), "{text}");
        }
    }

    #[test]
    fn every_line_end_counts_and_every_encoding_has_its_columns() {
        let text = "ERROR E1 a\r\nERROR E2 b\rERROR E3 c\n\n😀é ERROR E4 d";
        let places = |encoding| {
            let found = findings(text, encoding);
            found.iter().map(|finding| (finding.line, finding.start)).collect::<Vec<_>>()
        };
        assert_eq!(places(Encoding::Utf16), [(0, 0), (1, 0), (2, 0), (4, 4)]);
        assert_eq!(places(Encoding::Utf8)[3], (4, 7));
        assert_eq!(places(Encoding::Utf32)[3], (4, 3));
    }

    #[test]
    fn tags_tell_the_text_and_can_be_left_out() {
        let text = "ERROR E1 a\nERROR E1 a\n";
        let hash = wire::text_hash(text.as_bytes());
        let second = &findings(text, Encoding::Utf16)[1];
        let tagged = second.to_diagnostic(true);
        assert_eq!(tagged["message"], format!("{hash:08x}.1 a"));
        assert_eq!(tagged["code"], format!("E1-{hash:08x}.1"));
        let plain = second.to_diagnostic(false);
        assert_eq!((&plain["message"], &plain["code"]), (&"a".into(), &"E1".into()));
    }
}

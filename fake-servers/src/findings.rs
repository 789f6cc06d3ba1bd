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

//! Errors of what people write, each with its file, line, column and what was expected there. Shown as
//! a sentence by `Display`, and with the offending lines by `miette`.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use miette::{Diagnostic, NamedSource, SourceSpan};
use serde::de::DeserializeOwned;
use thiserror::Error;

/// The longest text that is parsed, in bytes.
pub const SOURCE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// A named text that errors point into.
#[derive(Clone, Debug)]
pub struct Source {
    name: Arc<str>,
    text: Arc<str>,
}

impl Source {
    /// A text under the name that errors show, such as its path.
    pub fn new(name: impl AsRef<str>, text: impl AsRef<str>) -> Self {
        Self { name: name.as_ref().into(), text: text.as_ref().into() }
    }

    /// The name that errors show.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// An error at the bytes `span` of the text. `what` is wrong, as a sentence fragment; `label` stands
    /// at the place and says what was expected there.
    pub fn error_at(&self, span: Range<usize>, what: impl Into<String>, label: impl Into<String>) -> ParseError {
        let start = floor_char_boundary(&self.text, span.start);
        let end = floor_char_boundary(&self.text, span.end.max(start));
        let before = &self.text[..start];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        ParseError(Box::new(Place {
            name: printable(&self.name).into(),
            what: printable(&what.into()),
            label: printable(&label.into()),
            help: None,
            source_code: NamedSource::new(printable(&self.name), printable(&self.text).into()),
            span: SourceSpan::from(start..end),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }))
    }
}

/// The text with `?` for each byte of a control character, so that a terminal is not steered by what it
/// shows and every place stays where it is.
fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\n' | '\t' => shown.push(character),
            // Alone it ends no line of TOML, but one of a terminal.
            '\r' if characters.peek() == Some(&'\n') => shown.push(character),
            control if control.is_control() => shown.extend(std::iter::repeat_n('?', control.len_utf8())),
            other => shown.push(other),
        }
    }
    shown
}

fn floor_char_boundary(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// What is wrong in a scenario or a script, and where.
#[derive(Debug, Error)]
#[error(transparent)]
pub struct ParseError(Box<Place>);

#[derive(Debug, Error, Diagnostic)]
#[error("{name}:{line}:{column}: {what}")]
struct Place {
    name: Arc<str>,
    what: String,
    label: String,
    #[help]
    help: Option<String>,
    #[source_code]
    source_code: NamedSource<Arc<str>>,
    #[label("{label}")]
    span: SourceSpan,
    line: usize,
    column: usize,
}

impl ParseError {
    /// The file's name as it was given.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// What is wrong, without the place.
    #[must_use]
    pub fn what(&self) -> &str {
        &self.0.what
    }

    /// The line, from 1.
    #[must_use]
    pub fn line(&self) -> usize {
        self.0.line
    }

    /// The column, from 1, in Unicode scalar values.
    #[must_use]
    pub fn column(&self) -> usize {
        self.0.column
    }

    /// Adds a sentence that says what to do.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.0.help = Some(help.into());
        self
    }
}

impl Diagnostic for ParseError {
    fn help<'a>(&'a self) -> Option<Box<dyn std::fmt::Display + 'a>> {
        self.0.help()
    }

    fn source_code(&self) -> Option<&dyn miette::SourceCode> {
        self.0.source_code()
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = miette::LabeledSpan> + '_>> {
        self.0.labels()
    }
}

/// The text of a file's bytes.
///
/// # Errors
/// The first byte that is not UTF-8, with its place.
pub fn text_of(name: &str, bytes: Vec<u8>) -> Result<String, ParseError> {
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let bytes = error.as_bytes();
        let byte = bytes.get(at).copied().unwrap_or_default();
        // What follows may be anything; the place is what counts.
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(at + 1)]);
        let what = format!("the byte 0x{byte:02x} is not UTF-8");
        Source::new(name, &text).error_at(at..text.len(), what, "expected text in UTF-8")
    })
}

/// Parses TOML into `T`.
///
/// # Errors
/// The first mistake with its place; also when the text is over [`SOURCE_BYTES_MAX`].
pub fn parse_toml<T: DeserializeOwned>(name: &str, text: &str) -> Result<T, ParseError> {
    if text.len() > SOURCE_BYTES_MAX {
        let source = Source::new(name, "");
        return Err(source.error_at(0..0, format!("larger than {SOURCE_BYTES_MAX} bytes"), "not read"));
    }
    toml::from_str(text).map_err(|error| {
        let source = Source::new(name, text);
        let what = error.message().lines().collect::<Vec<_>>().join("; ");
        let span = error.span().unwrap_or(0..0);
        let (what, label) = split_expectation(&what);
        source.error_at(span.clone(), found(&what, text.get(span).unwrap_or_default()), label)
    })
}

/// Serde says "unknown field `x`, expected one of `a`, `b`": the second half belongs at the place.
fn split_expectation(message: &str) -> (String, String) {
    match message.split_once(", expected ") {
        Some((what, expected)) => (what.to_owned(), format!("expected {}", expectation(expected))),
        None if message.starts_with("missing field") => (message.to_owned(), "expected in this table".to_owned()),
        None => (message.to_owned(), "here".to_owned()),
    }
}

/// What was expected, in TOML's words rather than Rust's.
fn expectation(expected: &str) -> Cow<'_, str> {
    Cow::Borrowed(match expected {
        "u8" => "a whole number from 0 to 255",
        "u16" => "a whole number from 0 to 65535",
        "u32" => "a whole number from 0 to 4294967295",
        "u64" | "u128" | "usize" => "a whole number from 0 up",
        "i32" => "a whole number from -2147483648 to 2147483647",
        "i8" | "i16" | "i64" | "i128" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a boolean" | "bool" => "true or false",
        "a sequence" => "a list",
        "a map" => "a table",
        "struct ActionFile" => "an action: a table such as { publish = \"current\" }",
        _ if expected.starts_with("struct ") => "a table",
        _ if expected.starts_with("enum ") => "a string",
        _ => expected,
    })
}

/// What is wrong with what was found, in TOML's words; `written` is what stands there.
fn found(what: &str, written: &str) -> String {
    let is_date = |text: &str| text.starts_with(|first: char| first.is_ascii_digit());
    match what {
        "invalid type: map" if is_date(written) => "invalid type: a date or a time".to_owned(),
        "invalid type: map" => "invalid type: a table".to_owned(),
        "invalid type: sequence" => "invalid type: a list".to_owned(),
        // Only a number that fits nothing else is read as one of these.
        huge if huge.ends_with("` as i128") || huge.ends_with("` as u128") => {
            huge.replace("invalid type", "invalid value").replace("` as i128", "`").replace("` as u128", "`")
        }
        _ => what.to_owned(),
    }
}

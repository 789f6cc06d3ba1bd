//! What the judge wrote, file by file: every text with its hash and its time, and the findings that a
//! server must see in it. Tags in anybody's output are traced back to texts here.

use std::collections::BTreeMap;

use scenario::script::file::Encoding;
use wire::Time;

/// One text of a file; none if the file was removed.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    pub(crate) at: Time,
    pub(crate) text: Option<Text>,
}

/// A text with what follows from it.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    pub(crate) hash: u32,
    /// With columns in Unicode scalar values, from 0.
    pub(crate) findings: Vec<fake_lsp::Finding>,
}

/// Every text of every file, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    files: BTreeMap<String, Vec<Written>>,
}

impl History {
    pub(crate) fn written(&mut self, path: &str, at: Time, text: &str) {
        let hash = wire::text_hash(text.as_bytes());
        let text = Text { hash, findings: fake_lsp::findings(text, Encoding::Utf32) };
        self.files.entry(path.to_owned()).or_default().push(Written { at, text: Some(text) });
    }

    pub(crate) fn removed(&mut self, path: &str, at: Time) {
        self.files.entry(path.to_owned()).or_default().push(Written { at, text: None });
    }

    /// Hashes of the texts of a file that were the newest at some moment between the two, ends included.
    pub(crate) fn newest_between(&self, path: &str, from: Time, to: Time) -> Vec<u32> {
        let Some(written) = self.files.get(path) else { return Vec::new() };
        let first = written.iter().rposition(|written| written.at <= from).unwrap_or(0);
        written[first..].iter().take_while(|written| written.at <= to).filter_map(Written::hash).collect()
    }

    /// The hash of a file's newest text at a moment.
    pub(crate) fn newest(&self, path: &str, at: Time) -> Option<u32> {
        self.files.get(path)?.iter().rev().find(|written| written.at <= at)?.hash()
    }

    /// Hashes of every text that a file ever had.
    pub(crate) fn ever(&self, path: &str) -> impl Iterator<Item = u32> {
        self.files.get(path).into_iter().flatten().filter_map(Written::hash)
    }

    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// The finding that a tag stands for, if the text it names was ever written.
    pub(crate) fn finding(&self, tag: Tag) -> Option<&fake_lsp::Finding> {
        let texts = self.files.values().flatten().filter_map(|written| written.text.as_ref());
        texts.filter(|text| text.hash == tag.hash).find_map(|text| text.findings.get(tag.ordinal))
    }
}

impl Written {
    fn hash(&self) -> Option<u32> {
        self.text.as_ref().map(|text| text.hash)
    }
}

/// The tag of a finding: which text it is of, and which finding of that text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Tag {
    pub(crate) hash: u32,
    pub(crate) ordinal: usize,
}

impl std::fmt::Display for Tag {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:08x}.{}", self.hash, self.ordinal)
    }
}

impl Tag {
    /// Every tag in a text, with the byte at which it begins.
    pub(crate) fn all_in(text: &str) -> impl Iterator<Item = (usize, Self)> {
        text.match_indices('.').filter_map(|(dot, _)| Self::around(text, dot))
    }

    /// The first tag in a text.
    pub(crate) fn in_text(text: &str) -> Option<Self> {
        Self::all_in(text).next().map(|(_, tag)| tag)
    }

    /// Eight hex digits before the dot, at least one decimal digit behind it.
    fn around(text: &str, dot: usize) -> Option<(usize, Self)> {
        let start = dot.checked_sub(8)?;
        let hex = text.get(start..dot)?;
        let alone = !text[..start].ends_with(|c: char| c.is_ascii_alphanumeric());
        if !alone || !hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
            return None;
        }
        let rest = &text[dot + 1..];
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let tag = Self { hash: u32::from_str_radix(hex, 16).ok()?, ordinal: rest[..end].parse().ok()? };
        Some((start, tag))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_found_in_prose() {
        let tags = |text: &str| Tag::all_in(text).map(|(at, tag)| (at, tag.to_string())).collect::<Vec<_>>();
        assert_eq!(
            tags("1:1 error: 9c3f2a71.0 boom [E1-9c3f2a71.0]"),
            [(11, "9c3f2a71.0".to_owned()), (31, "9c3f2a71.0".to_owned())]
        );
        assert_eq!(
            tags("deadbeef.12, x.y, 0123456.7, a0123456789.1, ééééé.1 deadbeef."),
            [(0, "deadbeef.12".to_owned())]
        );
    }

    #[test]
    fn the_newest_texts_of_a_while_are_known() {
        let mut history = History::default();
        for (at, text) in [(10, "a"), (20, "b"), (30, "c")] {
            history.written("f", Time(at), text);
        }
        let hash = |text: &str| wire::text_hash(text.as_bytes());
        assert_eq!(history.newest_between("f", Time(15), Time(25)), [hash("a"), hash("b")]);
        assert_eq!(history.newest_between("f", Time(30), Time(99)), [hash("c")]);
        assert_eq!(history.newest("f", Time(29)), Some(hash("b")));
        assert_eq!(history.newest("f", Time(9)), None);
    }
}

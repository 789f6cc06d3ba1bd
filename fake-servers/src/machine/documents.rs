//! The server's own copy of every open document: exactly what it was sent, applied strictly. What does
//! not fit is refused and changes nothing, so that a torn document is seen at once.

use std::collections::BTreeMap;
use std::sync::Arc;

use scenario::script::file::{Encoding, Sync};
use serde::Deserialize;

use super::position::{Position, byte_of};
use crate::findings::width;

/// Open documents at most.
const DOCUMENTS_MAX: usize = 10_000;
/// Bytes of one text at most.
const TEXT_BYTES_MAX: usize = 64 * 1024 * 1024;

/// One text of a document.
#[derive(Clone, Debug)]
pub(super) struct Text {
    pub(super) version: i64,
    pub(super) text: Arc<str>,
}

/// An open document.
#[derive(Clone, Debug)]
pub(super) struct Document {
    pub(super) uri: String,
    pub(super) now: Text,
    pub(super) before: Option<Text>,
    /// Differs for every state that any document ever had.
    pub(super) generation: u64,
}

/// Why a message changed nothing.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) why: String,
    pub(super) uri: String,
    pub(super) version: Option<i64>,
}

/// The `textDocument` of any message, with what the kinds of messages add to it.
#[derive(Debug, Deserialize)]
pub(super) struct Named {
    pub(super) uri: String,
    #[serde(default)]
    pub(super) version: Option<i64>,
    #[serde(default)]
    pub(super) text: Option<String>,
}

/// One content change; a whole text if it has no range.
#[derive(Debug, Deserialize)]
pub(super) struct Change {
    #[serde(default)]
    range: Option<Range>,
    #[serde(default, rename = "rangeLength")]
    range_length: Option<u64>,
    text: String,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct Range {
    start: Position,
    end: Position,
}

#[derive(Default)]
pub(super) struct Documents {
    open: BTreeMap<String, Arc<Document>>,
    generations: u64,
}

impl Documents {
    pub(super) fn get(&self, uri: &str) -> Option<&Arc<Document>> {
        self.open.get(uri)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<Document>> {
        self.open.values()
    }

    pub(super) fn open(&mut self, named: Named) -> Result<Arc<Document>, Refused> {
        let refuse = |why: &str| Err(Refused { why: why.to_owned(), uri: named.uri.clone(), version: named.version });
        let (Some(version), Some(text)) = (named.version, named.text.as_deref()) else {
            return refuse("opened without a version or a text");
        };
        if self.open.contains_key(&named.uri) {
            return refuse("opened while it is open");
        }
        if self.open.len() >= DOCUMENTS_MAX || text.len() > TEXT_BYTES_MAX {
            return refuse("more than the fake holds");
        }
        Ok(self.put(named.uri.clone(), Text { version, text: text.into() }, None))
    }

    pub(super) fn change(
        &mut self,
        named: Named,
        changes: &[Change],
        sync: Sync,
        encoding: Encoding,
    ) -> Result<Arc<Document>, Refused> {
        let Named { uri, version, .. } = named;
        let refuse = |why: String| Refused { why, uri: uri.clone(), version };
        let Some(old) = self.open.get(&uri) else {
            return Err(refuse("changed while it is not open".to_owned()));
        };
        let Some(new_version) = version.filter(|version| *version > old.now.version) else {
            return Err(refuse(format!("the version does not rise above {}", old.now.version)));
        };
        let mut text = old.now.text.to_string();
        for change in changes {
            apply(&mut text, change, sync, encoding).map_err(refuse)?;
        }
        let before = Some(old.now.clone());
        Ok(self.put(uri, Text { version: new_version, text: text.into() }, before))
    }

    pub(super) fn close(&mut self, uri: &str) -> Result<Arc<Document>, Refused> {
        self.generations += 1;
        let why = "closed while it is not open".to_owned();
        self.open.remove(uri).ok_or_else(|| Refused { why, uri: uri.to_owned(), version: None })
    }

    fn put(&mut self, uri: String, now: Text, before: Option<Text>) -> Arc<Document> {
        self.generations += 1;
        let document = Arc::new(Document { uri: uri.clone(), now, before, generation: self.generations });
        self.open.insert(uri, Arc::clone(&document));
        document
    }
}

fn apply(text: &mut String, change: &Change, sync: Sync, encoding: Encoding) -> Result<(), String> {
    let Some(range) = change.range else {
        if sync == Sync::None {
            return Err("changed though no sync was announced".to_owned());
        }
        return fits(change.text.len()).map(|()| text.clone_from(&change.text));
    };
    if sync != Sync::Incremental {
        return Err("a range though incremental sync was not announced".to_owned());
    }
    let start = byte_of(text, range.start, encoding)?;
    let end = byte_of(text, range.end, encoding)?;
    if start > end {
        return Err(format!("the range ends at {} before it starts at {}", range.end, range.start));
    }
    length_fits(&text[start..end], change.range_length, encoding)?;
    fits(text.len() - (end - start) + change.text.len())?;
    text.replace_range(start..end, &change.text);
    Ok(())
}

/// `rangeLength` is deprecated, and often wrong; who sends it must mean the range.
fn length_fits(replaced: &str, length: Option<u64>, encoding: Encoding) -> Result<(), String> {
    let real = u64::from(width(replaced, encoding));
    match length {
        Some(length) if length != real => Err(format!("rangeLength is {length}, the range is {real} long")),
        _ => Ok(()),
    }
}

fn fits(bytes: usize) -> Result<(), String> {
    if bytes > TEXT_BYTES_MAX { Err("more than the fake holds".to_owned()) } else { Ok(()) }
}

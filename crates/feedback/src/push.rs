//! The push channel: `textDocument/publishDiagnostics`, and which text a push is for.

use serde::Deserialize;
use serde_json::value::RawValue;
use wire::trace::Direction;

use crate::MessageRef;
use crate::diagnostic::{self, Context};
use crate::document::{Document, Proof, Told};
use crate::fault::Fault;
use crate::learned::Learned;
use crate::session::Io;
use crate::text::Encoding;

/// A push, not yet decoded further.
#[derive(Deserialize)]
pub(crate) struct Push<'a> {
    #[serde(borrow)]
    pub(crate) uri: std::borrow::Cow<'a, str>,
    #[serde(borrow, default)]
    version: Option<&'a RawValue>,
    #[serde(borrow)]
    diagnostics: &'a RawValue,
}

impl Push<'_> {
    /// The version named, if it is one; `null` and odd values count as absent.
    fn version(&self) -> Option<i32> {
        serde_json::from_str(self.version?.get()).ok()
    }
}

/// Reads the parameters.
///
/// # Errors
/// What the parser says.
pub(crate) fn read(params: &RawValue) -> Result<Push<'_>, serde_json::Error> {
    wire::expect_object(params.get())?;
    serde_json::from_str(params.get())
}

/// Files a push under the text that it is for.
///
/// # Errors
/// A sentence fragment about what the server got wrong.
pub(crate) fn take(
    document: &mut Document,
    push: &Push<'_>,
    seq: u64,
    server: &str,
    encoding: Encoding,
    learned: &mut Learned,
    io: &mut Io<'_>,
) -> Result<(), String> {
    // Nothing was sent: it is about the file on disk, at some time that nobody knows.
    let Some(sent) = &document.sent else { return Ok(()) };
    let context =
        Context { path: &document.shown, server, text: &sent.text, encoding, policy: io.policy, faults: io.faults };
    let set = diagnostic::decode(push.diagnostics, &context)
        .map_err(|error| format!("published diagnostics that cannot be read: {error}"))?;
    let named = push.version();
    let mut wrong = Ok(());
    if let Some(version) = named.filter(|version| *version > sent.version && !learned.versions_lie) {
        learned.versions_lie = true;
        wrong = Err(format!("published version {version}, but was only sent version {}", sent.version));
    }
    let believed = named.filter(|_| !learned.versions_lie);
    let (revision, proof) = match believed {
        _ if io.faults.has(Fault::TakesAnyPush) => (Some(sent.revision), Proof::Version),
        Some(version) if version == sent.version => (Some(sent.revision), Proof::Version),
        Some(_) => (None, Proof::Version),
        None if learned.names_versions && !learned.versions_lie && !io.faults.has(Fault::UnversionedAtOnce) => {
            (None, Proof::Order)
        }
        None => (Some(sent.revision), Proof::Order),
    };
    let version = believed.or(revision.map(|_| sent.version));
    learned.names_versions |= believed.is_some();
    let messages = vec![MessageRef { dir: Direction::ToClient, seq }];
    let told = Told { revision, version, proof, set, at: io.now, messages };
    document.push_carries |= told.set.received > 0;
    let newest = document.revision;
    if told.revision != Some(newest) {
        // An old result never replaces what is known of the newest text; a nameless one ends the standing
        // of an earlier nameless one.
        let standing =
            |known: &Told| known.revision == Some(newest) && (known.proof, told.proof) != (Proof::Order, Proof::Order);
        if !document.push.as_ref().is_some_and(standing) {
            document.push = Some(told);
        }
        return wrong;
    }
    let first = *document.first_push.get_or_insert(io.now);
    let differs = document
        .push
        .as_ref()
        .is_some_and(|known| known.revision == Some(newest) && known.set.digest() != told.set.digest());
    if differs && document.concluded == Some(newest) {
        learned.contradicted(io.now.since(first));
    }
    document.push = Some(told);
    wrong
}

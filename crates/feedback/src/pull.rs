//! The pull channel: `textDocument/diagnostic` asked once per provider and text, asked again when the
//! server says so, never in a storm; and which text an answer is for.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use wire::trace::Direction;
use wire::{ErrorCode, ResponseError};

use crate::capabilities::Provider;
use crate::diagnostic::{self, Context, FindingSet};
use crate::document::{Document, Proof, Pull, Told};
use crate::fault::Fault;
use crate::render::fragment;
use crate::session::{Asked, AskedPull, Io, Session};
use crate::{MessageRef, Reason};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Params<'a> {
    text_document: Named<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    identifier: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    previous_result_id: Option<&'a str>,
}

#[derive(Serialize)]
struct Named<'a> {
    uri: &'a str,
}

/// Asks every provider that has no question about the newest text under way and no pause to keep.
pub(crate) fn ask(document: &mut Document, key: &[u8], session: &mut Session, io: &mut Io<'_>) {
    let identifiers: Vec<Option<String>> =
        session.providers.iter().map(|Provider { identifier, .. }| identifier.clone()).collect();
    for identifier in identifiers {
        ask_one(document, key, &identifier, session, io);
    }
}

fn ask_one(document: &mut Document, key: &[u8], identifier: &Option<String>, session: &mut Session, io: &mut Io<'_>) {
    let pull = document.pulls.entry(identifier.clone()).or_default();
    let superseded = pull.in_flight.is_some() && pull.in_flight_revision != document.revision;
    if superseded && let Some(id) = pull.in_flight.take() {
        session.cancel(id, io);
    }
    let wanted = pull.again || pull.retry_at.is_some() || superseded || !pull.asked;
    let may = pull.in_flight.is_none() && pull.failed.is_none() && pull.retry_at.is_none_or(|at| at <= io.now);
    if !wanted || !may {
        return;
    }
    if document.pull_count >= io.policy.pulls_max {
        (pull.again, pull.retry_at) = (false, None);
        if pull.told.as_ref().is_some_and(|told| told.revision == Some(document.revision)) {
            pull.exhausted = true;
        } else {
            pull.failed = Some(Reason::ServerCancelled);
        }
        return;
    }
    document.pull_count += 1;
    (pull.asked, pull.again, pull.retry_at) = (true, false, None);
    let asked = AskedPull {
        document: key.to_vec(),
        identifier: identifier.clone(),
        revision: document.revision,
        seq: 0,
        with_result_id: pull.result_id.is_some(),
    };
    let params = Params {
        text_document: Named { uri: &document.uri },
        identifier: identifier.as_deref(),
        previous_result_id: pull.result_id.as_deref(),
    };
    pull.in_flight_revision = document.revision;
    pull.in_flight = Some(session.request(Asked::Pull(asked), "textDocument/diagnostic", Some(params), io));
}

/// Something was said to have changed: ask again, after the question under way if there is one.
pub(crate) fn again(document: &mut Document) {
    for pull in document.pulls.values_mut() {
        pull.again = true;
    }
}

/// The server has loaded: answers from before prove nothing. One that is under way will come after it.
pub(crate) fn loaded(document: &mut Document) {
    for pull in document.pulls.values_mut().filter(|pull| pull.in_flight.is_none() && !pull.agrees()) {
        pull.again |= pull.told.is_some();
    }
}

/// A call has ended without a conclusion: what is under way is of no more use to it.
pub(crate) fn give_up(document: &Document, session: &mut Session, io: &mut Io<'_>) {
    for id in document.pulls.values().filter_map(|pull| pull.in_flight) {
        session.cancel(id, io);
    }
}

/// Drops the channels of providers that are no longer registered.
pub(crate) fn keep_only(document: &mut Document, session: &Session) {
    document.pulls.retain(|identifier, _| session.providers.iter().any(|known| known.identifier == *identifier));
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Report<'a> {
    #[serde(borrow, default)]
    kind: Option<&'a RawValue>,
    #[serde(borrow, default)]
    items: Option<&'a RawValue>,
    #[serde(default)]
    result_id: Option<String>,
}

/// Files the answer to a pull.
///
/// # Errors
/// A sentence fragment about what the server got wrong.
#[expect(clippy::too_many_arguments, reason = "everything that an answer is judged by")]
pub(crate) fn answered(
    document: &mut Document,
    session: &mut Session,
    id: i64,
    asked: &AskedPull,
    result: Result<&RawValue, ResponseError>,
    seq: u64,
    server: &str,
    io: &mut Io<'_>,
) -> Result<(), String> {
    let encoding = session.capabilities.as_ref().map_or_else(Default::default, |known| known.encoding);
    let newest = document.revision;
    let Some(pull) = document.pulls.get_mut(&asked.identifier) else { return Ok(()) };
    let awaited = pull.in_flight == Some(id);
    if awaited || io.faults.has(Fault::TakesOldPull) {
        pull.in_flight = None;
    }
    // Superseded, closed meanwhile, or of a former text: what it says is about something else.
    let old = !awaited || asked.revision != newest;
    if old && !(result.is_ok() && io.faults.has(Fault::TakesOldPull)) {
        return Ok(());
    }
    let result = match result {
        Ok(result) => result,
        Err(error) => {
            refused(pull, session, &asked.identifier, error, io);
            return Ok(());
        }
    };
    let Some(sent) = &document.sent else { return Ok(()) };
    let context =
        Context { path: &document.shown, server, text: &sent.text, encoding, policy: io.policy, faults: io.faults };
    let set = match read(result, pull, asked.with_result_id, &context) {
        Ok(set) => set,
        Err(error) => {
            pull.failed = Some(Reason::PullFailed { error: fragment(&error) });
            return Err(error);
        }
    };
    let request = MessageRef { dir: Direction::ToServer, seq: asked.seq };
    let response = MessageRef { dir: Direction::ToClient, seq };
    pull.pause = None;
    let ends = session.loading.ends;
    let before = pull.told.as_ref().filter(|told| told.revision == Some(newest));
    match before.map(|told| told.set.digest() == set.digest()) {
        Some(true) if ends > pull.ends_seen => pull.agreed += 1,
        Some(true) => {}
        _ => pull.agreed = 0,
    }
    pull.ends_seen = ends;
    pull.told = Some(Told {
        revision: Some(newest),
        version: Some(sent.version),
        proof: Proof::Pull,
        set,
        at: io.now,
        messages: vec![request, response],
    });
    Ok(())
}

/// The findings of a report. `unchanged` stands for those of the report whose id was sent along.
fn read(result: &RawValue, pull: &mut Pull, with_result_id: bool, context: &Context<'_>) -> Result<FindingSet, String> {
    let report: Report<'_> = wire::expect_object(result.get())
        .and_then(|()| serde_json::from_str(result.get()))
        .map_err(|error| format!("answered a pull with something that is no report: {error}"))?;
    let kind = report.kind.map_or("", RawValue::get);
    match (kind, report.items) {
        ("\"unchanged\"", _) => {
            if context.faults.has(Fault::UnchangedIsEmpty) {
                return Ok(FindingSet::default());
            }
            let known = pull.told.as_ref().filter(|_| with_result_id && pull.result_id.is_some());
            let set = known.map(|told| told.set.clone()).ok_or("answered `unchanged` though no result id was sent")?;
            pull.result_id = report.result_id.or(pull.result_id.take());
            Ok(set)
        }
        ("\"full\"", Some(items)) => {
            let set = diagnostic::decode(items, context)
                .map_err(|error| format!("answered a pull with items that cannot be read: {error}"))?;
            pull.result_id = report.result_id;
            Ok(set)
        }
        _ => Err("answered a pull with neither a full nor an unchanged report".to_owned()),
    }
}

/// An error answer: asked again with rising pauses where that makes sense.
fn refused(pull: &mut Pull, session: &mut Session, identifier: &Option<String>, error: ResponseError, io: &Io<'_>) {
    let retrigger = error.data.as_ref().and_then(|data| data.get("retriggerRequest")).and_then(Value::as_bool);
    match error.code {
        ErrorCode::SERVER_CANCELLED if retrigger == Some(false) => pull.failed = Some(Reason::ServerCancelled),
        ErrorCode::SERVER_CANCELLED | ErrorCode::CONTENT_MODIFIED | ErrorCode::REQUEST_CANCELLED => {
            let pause = pull.pause.map_or(io.policy.retrigger_pause, |pause| pause * 2);
            pull.pause = Some(pause);
            pull.retry_at = Some(io.now.after(pause));
        }
        ErrorCode::METHOD_NOT_FOUND => {
            // Announced and not there: what it has to say comes by push.
            session.providers.retain(|known| known.identifier != *identifier);
            pull.failed = None;
        }
        _ => {
            let error = format!("{} ({})", error.message, error.code.0);
            pull.failed = Some(Reason::PullFailed { error: fragment(&error) });
        }
    }
}

//! Certificates: which messages justify a conclusion, and by which rule; and an independent checker
//! that knows nothing of the loop and reads the recorded messages alone.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;
use wire::Time;
use wire::trace::Direction;

use crate::{ProcessId, Record, TextHash, uri};

/// One recorded message of the certificate's process (see [`Record`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageRef {
    /// Which way it went.
    pub dir: Direction,
    /// Its number in that direction: contents that are JSON are counted, from 0.
    pub seq: u64,
}

/// Why the messages justify the conclusion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "name")]
#[non_exhaustive]
pub enum Rule {
    /// A push carried the version of the newest text. Messages: the sync, the push.
    Versioned,
    /// A pull was sent after the newest sync and answered. Messages: the sync, then one request and
    /// one response per provider.
    Pulled,
    /// A push without a version came, and no other but for older versions for at least this long. Messages: the sync, the push.
    Settled {
        /// Microseconds without a further result.
        quiet_us: u64,
    },
}

/// The justification of one server's part in a conclusion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Certificate {
    /// The server's name in the table.
    pub server: String,
    /// The process whose messages are meant.
    pub process: ProcessId,
    /// The document.
    pub uri: String,
    /// The version of the newest text.
    pub version: i32,
    /// The hash of the newest text.
    pub text_hash: TextHash,
    /// The rule applied.
    pub rule: Rule,
    /// The messages that the rule names, in its order.
    pub messages: Vec<MessageRef>,
    /// How many findings those messages hold for the document.
    pub findings: u64,
    /// When it was concluded.
    pub at: Time,
}

/// One message of the certificate's process, as far as a recorder knows it.
#[derive(Clone, Debug)]
pub struct Recorded<'a> {
    /// Which way, and its number in that direction.
    pub message: MessageRef,
    /// When, on the loop's clock; `None` if the recorder has another clock, and then times are not checked.
    pub at: Option<Time>,
    /// The content.
    pub content: &'a [u8],
}

impl<'a> From<&'a Record> for Recorded<'a> {
    fn from(record: &'a Record) -> Self {
        let message = MessageRef { dir: record.dir, seq: record.seq };
        Self { message, at: Some(record.at), content: &record.content }
    }
}

/// Why a certificate does not hold.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("certificate of {server} for {uri} version {version} does not hold: {why}")]
pub struct Refuted {
    server: String,
    uri: String,
    version: i32,
    why: String,
}

/// Checks a certificate against the messages of its process, in each direction's order.
///
/// # Errors
/// What does not hold.
pub fn verify(certificate: &Certificate, recorded: &[Recorded<'_>]) -> Result<(), Refuted> {
    let checker = Checker { certificate, recorded };
    checker.check().map_err(|why| Refuted {
        server: certificate.server.clone(),
        uri: certificate.uri.clone(),
        version: certificate.version,
        why,
    })
}

struct Checker<'a> {
    certificate: &'a Certificate,
    recorded: &'a [Recorded<'a>],
}

impl Checker<'_> {
    fn check(&self) -> Result<(), String> {
        let (sync, rest) = self.certificate.messages.split_first().ok_or("it names no messages")?;
        self.check_sync(*sync)?;
        let findings = match (self.certificate.rule, rest) {
            (Rule::Versioned, [push]) => self.pushed(*push, true)?,
            (Rule::Settled { quiet_us }, [push]) => {
                self.check_quiet(*push, quiet_us)?;
                self.pushed(*push, false)?
            }
            (Rule::Pulled, pairs) if !pairs.is_empty() && pairs.len() % 2 == 0 => {
                pairs.chunks(2).map(|pair| self.pulled(*sync, pair[0], pair[1])).sum::<Result<u64, String>>()?
            }
            _ => return Err("the messages do not fit the rule".to_owned()),
        };
        let claimed = self.certificate.findings;
        if findings == claimed {
            Ok(())
        } else {
            Err(format!("it claims {claimed} findings, the messages hold {findings}"))
        }
    }

    /// The message brought the server to the version, and none after it touched the document.
    fn check_sync(&self, sync: MessageRef) -> Result<(), String> {
        let message = self.find(sync)?;
        let document = &message["params"]["textDocument"];
        let brings = |method: &Value| method == "textDocument/didOpen" || method == "textDocument/didChange";
        if !brings(&message["method"])
            || !self.is_ours(&document["uri"])
            || document["version"] != self.certificate.version
        {
            return Err(format!("message {} to the server did not bring it to that version", sync.seq));
        }
        let whole = document.get("text").or_else(|| match message["params"]["contentChanges"].as_array()?.as_slice() {
            [change] if change.get("range").is_none() => change.get("text"),
            _ => None,
        });
        if whole.and_then(Value::as_str).is_some_and(|text| TextHash::of(text) != self.certificate.text_hash) {
            return Err("the text that was sent has another hash".to_owned());
        }
        let later = self.ours(Direction::ToServer, sync.seq + 1, |message| {
            brings(&message["method"]) || message["method"] == "textDocument/didClose"
        });
        later.map_or(Ok(()), |seq| Err(format!("message {seq} to the server changed the document afterwards")))
    }

    fn pushed(&self, push: MessageRef, versioned: bool) -> Result<u64, String> {
        let message = self.find(push)?;
        let params = &message["params"];
        if message["method"] != "textDocument/publishDiagnostics" || !self.is_ours(&params["uri"]) {
            return Err(format!("message {} to the client is no push for the document", push.seq));
        }
        if versioned && params["version"] != self.certificate.version {
            return Err(format!("message {} to the client names version {}", push.seq, params["version"]));
        }
        let findings = params["diagnostics"].as_array().ok_or("the push holds no array")?.len();
        Ok(findings as u64)
    }

    /// No other push that may be for this text came since, and at least so long has passed.
    fn check_quiet(&self, push: MessageRef, quiet_us: u64) -> Result<(), String> {
        let of_older =
            |version: &Value| version.as_i64().is_some_and(|version| version < self.certificate.version.into());
        let later = self.ours(Direction::ToClient, push.seq + 1, |message| {
            message["method"] == "textDocument/publishDiagnostics" && !of_older(&message["params"]["version"])
        });
        if let Some(seq) = later {
            return Err(format!("message {seq} to the client came within the quiet"));
        }
        let at = self.recorded.iter().find(|recorded| recorded.message == push).and_then(|recorded| recorded.at);
        match at {
            Some(at) if at.after(std::time::Duration::from_micros(quiet_us)) > self.certificate.at => {
                Err("less time has passed than it claims".to_owned())
            }
            _ => Ok(()),
        }
    }

    fn pulled(&self, sync: MessageRef, request: MessageRef, response: MessageRef) -> Result<u64, String> {
        let asked = self.find(request)?;
        let params = &asked["params"];
        if asked["method"] != "textDocument/diagnostic"
            || !self.is_ours(&params["textDocument"]["uri"])
            || request.seq <= sync.seq
        {
            return Err(format!("message {} to the server is no pull sent after the sync", request.seq));
        }
        let answer = self.find(response)?;
        if answer["id"] != asked["id"] || answer.get("result").is_none() {
            return Err(format!("message {} to the client does not answer that pull", response.seq));
        }
        let result = &answer["result"];
        match (result["kind"].as_str(), result["items"].as_array(), params.get("previousResultId")) {
            (Some("full"), Some(items), _) => Ok(items.len() as u64),
            (Some("unchanged"), _, Some(id)) => self.full_report(id, response.seq),
            _ => Err(format!("message {} to the client is no report", response.seq)),
        }
    }

    /// Findings of the document's last full report with this result id before a message. Result ids belong
    /// to a document: another one may have the same.
    fn full_report(&self, result_id: &Value, before: u64) -> Result<u64, String> {
        let messages = |dir| {
            let of = self.recorded.iter().rev().filter(move |recorded| recorded.message.dir == dir);
            of.filter_map(|recorded| {
                Some((recorded.message.seq, serde_json::from_slice::<Value>(recorded.content).ok()?))
            })
        };
        let asked_of_us = |id: &Value| {
            let mut requests = messages(Direction::ToServer).filter(|(_, message)| message["id"] == *id);
            requests.any(|(_, message)| {
                message["method"] == "textDocument/diagnostic"
                    && self.is_ours(&message["params"]["textDocument"]["uri"])
            })
        };
        let mut earlier = messages(Direction::ToClient).filter(|(seq, _)| *seq < before);
        let found = earlier.find_map(|(_, message)| {
            let result = message.get("result").filter(|result| result["resultId"] == *result_id)?;
            let items = result["items"].as_array()?.len() as u64;
            asked_of_us(&message["id"]).then_some(items)
        });
        found.ok_or_else(|| format!("no full report of the document has the result id {result_id}"))
    }

    fn find(&self, wanted: MessageRef) -> Result<Value, String> {
        let recorded = self.recorded.iter().find(|recorded| recorded.message == wanted);
        let recorded = recorded.ok_or_else(|| format!("message {} was not recorded", wanted.seq))?;
        serde_json::from_slice(recorded.content).map_err(|error| format!("message {} is not JSON: {error}", wanted.seq))
    }

    /// The first message about the document from `from` on that satisfies `which`, up to the conclusion.
    fn ours(&self, dir: Direction, from: u64, which: impl Fn(&Value) -> bool) -> Option<u64> {
        let within = |recorded: &&Recorded<'_>| {
            recorded.message.dir == dir
                && recorded.message.seq >= from
                && recorded.at.is_some_and(|at| at <= self.certificate.at)
        };
        self.recorded.iter().filter(within).find_map(|recorded| {
            let message: Value = serde_json::from_slice(recorded.content).ok()?;
            let params = &message["params"];
            let ours = self.is_ours(&params["uri"]) || self.is_ours(&params["textDocument"]["uri"]);
            (ours && which(&message)).then_some(recorded.message.seq)
        })
    }

    fn is_ours(&self, uri: &Value) -> bool {
        uri.as_str().is_some_and(|uri| uri::key(uri) == uri::key(&self.certificate.uri))
    }
}

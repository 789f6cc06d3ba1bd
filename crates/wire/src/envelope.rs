//! JSON-RPC 2.0 envelopes: requests, responses, notifications and their ids. Parameters and results
//! stay raw JSON here; whoever knows the method decodes them.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use thiserror::Error;

/// A request id. `92` and `"92"` are different ids, and ids of the two directions never meet.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Id {
    /// An integer id.
    Number(i64),
    /// A string id.
    String(String),
}

impl std::fmt::Display for Id {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::String(string) => write!(f, "{string:?}"),
        }
    }
}

/// An error code that this project sends or looks for (JSON-RPC 2.0 §5.1; LSP 3.17 `ErrorCodes`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ErrorCode(pub i64);

impl ErrorCode {
    /// The content is not JSON.
    pub const PARSE_ERROR: Self = Self(-32700);
    /// The JSON is not a request.
    pub const INVALID_REQUEST: Self = Self(-32600);
    /// The method does not exist.
    pub const METHOD_NOT_FOUND: Self = Self(-32601);
    /// The parameters are wrong.
    pub const INVALID_PARAMS: Self = Self(-32602);
    /// The peer failed.
    pub const INTERNAL_ERROR: Self = Self(-32603);
    /// A request came before `initialize`.
    pub const SERVER_NOT_INITIALIZED: Self = Self(-32002);
    /// The request failed though it was right.
    pub const REQUEST_FAILED: Self = Self(-32803);
    /// The server cancelled the request (pull diagnostics may be asked again).
    pub const SERVER_CANCELLED: Self = Self(-32802);
    /// The content changed outside normal conditions.
    pub const CONTENT_MODIFIED: Self = Self(-32801);
    /// The client cancelled the request.
    pub const REQUEST_CANCELLED: Self = Self(-32800);
}

/// The error member of a response.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct ResponseError {
    /// What kind of error.
    pub code: ErrorCode,
    /// One sentence for people.
    #[serde(default)]
    pub message: String,
    /// What the method defines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<serde_json::Value>,
}

impl ResponseError {
    /// An error without data.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }
}

/// One received message; parameters and results borrow from the content.
#[derive(Debug)]
pub enum Message<'a> {
    /// Asks for an answer.
    Request {
        /// The id to answer with.
        id: Id,
        /// The method.
        method: Cow<'a, str>,
        /// The parameters, if there are any.
        params: Option<&'a RawValue>,
    },
    /// Tells something.
    Notification {
        /// The method.
        method: Cow<'a, str>,
        /// The parameters, if there are any.
        params: Option<&'a RawValue>,
    },
    /// Answers a request of the receiver.
    Response {
        /// The id of the request; `None` for an error answer to something unreadable.
        id: Option<Id>,
        /// The result (`null` is a result), or the error.
        result: Result<&'a RawValue, ResponseError>,
    },
}

/// Why a content is not a message, with the byte of the content where that was seen.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MessageError {
    /// The content is not UTF-8.
    #[error("content is not UTF-8 at byte {offset} of the content")]
    NotUtf8 {
        /// Byte offset in the content.
        offset: usize,
    },
    /// The content is not JSON, or not an object with members of the right types.
    #[error("{what} (line {line}, column {column} of the content)")]
    NotJson {
        /// What the parser says.
        what: String,
        /// Line in the content, from 1.
        line: usize,
        /// Column in the content, from 1.
        column: usize,
    },
    /// JSON, but neither a request nor a notification nor a response.
    #[error("{what}")]
    NotAMessage {
        /// What is missing or doubled.
        what: &'static str,
    },
}

#[derive(Deserialize)]
struct Raw<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    error: Option<&'a RawValue>,
}

/// A member that is there, `null` included: `"result": null` is a result.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

impl<'a> Message<'a> {
    /// Reads one message from the content of a frame.
    ///
    /// # Errors
    /// What is wrong, and where in the content.
    pub fn parse(content: &'a [u8]) -> Result<Self, MessageError> {
        let text =
            std::str::from_utf8(content).map_err(|error| MessageError::NotUtf8 { offset: error.valid_up_to() })?;
        let not = |what| Err(MessageError::NotAMessage { what });
        if matches!(expect_object(text), Err(error) if error.is_data()) {
            return not("not an object");
        }
        let raw: Raw<'a> = serde_json::from_str(text).map_err(|error| {
            // The parser's own words end with the place, which is told once.
            let words = error.to_string();
            let what = words.rsplit_once(" at line ").map_or(words.as_str(), |(what, _)| what).to_owned();
            MessageError::NotJson { what, line: error.line(), column: error.column() }
        })?;
        let id = match raw.id {
            None => None,
            Some(raw) if raw.get() == "null" => Some(None),
            Some(raw) => match serde_json::from_str::<Id>(raw.get()) {
                Ok(id) => Some(Some(id)),
                Err(_) => return not("id is neither an integer nor a string"),
            },
        };
        // Some servers send `params: null` where there are none.
        let params = raw.params.filter(|params| params.get() != "null");
        match (raw.method, id, raw.result, raw.error) {
            (Some(method), Some(Some(id)), None, None) => Ok(Self::Request { id, method, params }),
            (Some(_), Some(None), None, None) => not("a request whose id is null"),
            (Some(method), None, None, None) => Ok(Self::Notification { method, params }),
            (Some(_), ..) => not("both a method and a result or an error"),
            (None, Some(id), result, Some(error)) if error.get() != "null" => match serde_json::from_str(error.get()) {
                // A result beside an error is a slip of some serializers; the error is what counts.
                Ok(error) => {
                    let _ = result;
                    Ok(Self::Response { id, result: Err(error) })
                }
                Err(_) => not("the error of a response has no integer code"),
            },
            (None, Some(id), Some(result), _) => Ok(Self::Response { id, result: Ok(result) }),
            (None, Some(_), None, _) => not("neither method, nor result, nor error"),
            (None, None, ..) => not("neither method nor id"),
        }
    }
}

/// Whether JSON text is an object: a derived struct would also be read from an array, member by member,
/// which no peer means.
///
/// # Errors
/// The parser's error for anything else.
pub fn expect_object(text: &str) -> Result<(), serde_json::Error> {
    if text.trim_start().starts_with('{') {
        return Ok(());
    }
    // What is no JSON at all gets the parser's own error.
    serde_json::from_str::<serde::de::IgnoredAny>(text)?;
    Err(serde::de::Error::custom("not an object"))
}

/// One message to send. Serialize it with [`Outgoing::to_frame`].
#[derive(Debug, Serialize)]
pub struct Outgoing<'a, P: Serialize = serde_json::Value> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a Id>,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<P>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<P>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a ResponseError>,
}

impl<'a, P: Serialize> Outgoing<'a, P> {
    const EMPTY: Self = Self { jsonrpc: "2.0", id: None, method: None, params: None, result: None, error: None };

    /// A request.
    #[must_use]
    pub fn request(id: &'a Id, method: &'a str, params: Option<P>) -> Self {
        Self { id: Some(id), method: Some(method), params, ..Self::EMPTY }
    }

    /// A notification.
    #[must_use]
    pub fn notification(method: &'a str, params: Option<P>) -> Self {
        Self { method: Some(method), params, ..Self::EMPTY }
    }

    /// A successful answer.
    #[must_use]
    pub fn result(id: &'a Id, result: P) -> Self {
        Self { id: Some(id), result: Some(result), ..Self::EMPTY }
    }

    /// An error answer.
    #[must_use]
    pub fn error(id: &'a Id, error: &'a ResponseError) -> Self {
        Self { id: Some(id), error: Some(error), ..Self::EMPTY }
    }

    /// The content, without its frame.
    #[must_use]
    pub fn to_content(&self) -> Vec<u8> {
        let mut content = Vec::with_capacity(128);
        self.write(&mut content);
        content
    }

    /// The whole frame, in one buffer.
    #[must_use]
    pub fn to_frame(&self, length_hint: usize) -> Vec<u8> {
        crate::encode_with(length_hint.max(96), |frame| self.write(frame))
    }

    fn write(&self, to: &mut Vec<u8>) {
        let written = serde_json::to_writer(&mut *to, self);
        debug_assert!(written.is_ok(), "writing JSON with string keys to memory does not fail: {written:?}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_and_string_ids_differ() {
        let id = |content: &'static str| match Message::parse(content.as_bytes()) {
            Ok(Message::Request { id, .. }) => id,
            other => panic!("{other:?}"),
        };
        assert_eq!(id(r#"{"id":92,"method":"m"}"#), Id::Number(92));
        assert_eq!(id(r#"{"id":"92","method":"m"}"#), Id::String("92".to_owned()));
        assert_ne!(id(r#"{"id":92,"method":"m"}"#), id(r#"{"id":"92","method":"m"}"#));
    }

    #[test]
    fn null_is_a_result_and_its_absence_is_not() {
        assert!(matches!(
            Message::parse(br#"{"id":1,"result":null}"#),
            Ok(Message::Response { id: Some(Id::Number(1)), result: Ok(raw) }) if raw.get() == "null"
        ));
        assert!(matches!(
            Message::parse(br#"{"id":null,"error":{"code":-32700,"message":"x"}}"#),
            Ok(Message::Response { id: None, result: Err(ResponseError { code: ErrorCode::PARSE_ERROR, .. }) })
        ));
        assert!(matches!(Message::parse(br#"{"id":1}"#), Err(MessageError::NotAMessage { .. })));
    }

    #[test]
    fn what_is_not_a_message_says_where() {
        assert_eq!(Message::parse(b"{\"a\":\xff}").err(), Some(MessageError::NotUtf8 { offset: 5 }));
        assert!(matches!(Message::parse(b"{\n !"), Err(MessageError::NotJson { line: 2, .. })));
        for content in ["[]", "1", "{\"id\":1.5,\"method\":\"m\"}", "{\"id\":[],\"result\":1}", "{}"] {
            assert!(Message::parse(content.as_bytes()).is_err(), "{content}");
        }
    }

    #[test]
    fn outgoing_messages_hold_what_they_must() {
        let id = Id::String("a".to_owned());
        let content = Outgoing::result(&id, serde_json::Value::Null).to_content();
        assert_eq!(content, br#"{"jsonrpc":"2.0","id":"a","result":null}"#);
    }
}

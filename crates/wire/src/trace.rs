//! The trace format: JSON Lines for everything that crosses a pipe, and what processes did. Fakes and
//! taps write it, the judge reasons over it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Time;

/// Version of the format, in the first line of every trace.
pub const TRACE_VERSION: u32 = 1;

/// Which way a message went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// From the client (the loop) to the server.
    ToServer,
    /// From the server to the client (the loop).
    ToClient,
}

/// One line of a trace.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Line {
    /// Microseconds since the start of the writer.
    pub us: Time,
    /// Number of this line within its writer, from 0, without gaps.
    pub seq: u64,
    /// What happened.
    #[serde(flatten)]
    pub entry: Entry,
}

/// What a trace line tells.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Entry {
    /// The first line: who writes, and since when.
    Start {
        /// [`TRACE_VERSION`].
        trace: u32,
        /// The writer: a script's name, or a command.
        writer: String,
        /// The writer's process id; 0 in the simulated world.
        pid: u32,
        /// Which start of this server it is, from 1, as far as the writer knows.
        instance: u32,
    },
    /// A message that decoded.
    Message {
        /// Which way it went.
        dir: Direction,
        /// The content, as JSON.
        msg: Value,
    },
    /// Bytes that are no message.
    Raw {
        /// Which way they went.
        dir: Direction,
        /// The bytes, in base64 (standard alphabet, padded), the first 64 KiB of them.
        base64: String,
        /// How many bytes there were.
        bytes: u64,
        /// Why they are no message.
        error: String,
    },
    /// Something else worth telling: a state, a document's hash, a refusal.
    Note {
        /// A short kebab-case name, such as `document`, `refused`, `gate`, `unexpected`.
        what: String,
        /// Its facts.
        data: Value,
    },
    /// The end of the writer's process, as far as it knows it.
    Exit {
        /// Why it ended.
        why: String,
        /// The exit code, if it chose one.
        code: Option<i32>,
    },
}

impl Entry {
    /// An entry for the content of one frame: a message if it is JSON, raw bytes if it isn't.
    #[must_use]
    pub fn content(dir: Direction, content: &[u8]) -> Self {
        let read = std::str::from_utf8(content)
            .map_err(|error| error.to_string())
            .and_then(|text| serde_json::from_str(text).map_err(|error| error.to_string()));
        match read {
            Ok(msg) => Self::Message { dir, msg },
            Err(error) => Self::raw(dir, content, error),
        }
    }

    /// An entry for bytes that are no message.
    #[must_use]
    pub fn raw(dir: Direction, bytes: &[u8], error: String) -> Self {
        use base64::Engine as _;
        const KEPT: usize = 64 * 1024;
        let base64 = base64::engine::general_purpose::STANDARD.encode(&bytes[..bytes.len().min(KEPT)]);
        Self::Raw { dir, base64, bytes: bytes.len() as u64, error }
    }
}

impl Line {
    /// The line as JSON, without the line end.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self)
            .unwrap_or_else(|error| format!("{{\"kind\":\"note\",\"what\":\"unwritable\",\"data\":\"{error}\"}}"))
    }

    /// Reads one line.
    ///
    /// # Errors
    /// What the parser says, with the column.
    pub fn from_json(line: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_survives_its_own_format() {
        let entries = [
            Entry::Start { trace: TRACE_VERSION, writer: "push".to_owned(), pid: 7, instance: 1 },
            Entry::content(Direction::ToServer, b"{\"jsonrpc\":\"2.0\",\n\"method\":\"initialized\"}"),
            Entry::content(Direction::ToClient, b"\xff\xfe"),
            Entry::Note { what: "document".to_owned(), data: serde_json::json!({"version": 1}) },
            Entry::Exit { why: "exit".to_owned(), code: Some(0) },
        ];
        for (seq, entry) in (0..).zip(entries) {
            let line = Line { us: Time(5), seq, entry };
            let json = line.to_json();
            assert!(!json.contains('\n'));
            let back = Line::from_json(&json).unwrap_or_else(|error| panic!("{error}: {json}"));
            assert_eq!(back.to_json(), json);
        }
    }
}

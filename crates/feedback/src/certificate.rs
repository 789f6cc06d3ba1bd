//! Certificates: which messages justify a conclusion, and by which rule. The checker knows nothing of
//! the loop: it reads the recorded messages and the rule.

use serde::{Deserialize, Serialize};
use wire::Time;
use wire::trace::Direction;

use crate::{ProcessId, TextHash};

/// One recorded message of the certificate's process (see [`crate::Record`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageRef {
    /// Which way it went.
    pub dir: Direction,
    /// Its number in that direction.
    pub seq: u64,
}

/// Why the messages justify the conclusion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "rule")]
#[non_exhaustive]
pub enum Rule {
    /// A push carried the version of the newest text. Messages: the sync, the push.
    Versioned,
    /// A pull was sent after the newest sync and answered in full. Messages: the sync, one request and
    /// one response per identifier.
    Pulled,
    /// A push without a version came after the newest sync, and no other for at least this long.
    /// Messages: the sync, the push.
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

//! The control socket between a fake and its judge: JSON Lines over a Unix domain socket, one type per
//! direction. The fake greets first; whoever listens answers with a welcome. No I/O here.

use serde::{Deserialize, Serialize};
use wire::trace;

/// Bytes of one line at most, either way, its end included.
pub const LINE_BYTES_MAX: usize = 96 * 1024 * 1024;

/// A line from a fake to its judge.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum FromFake {
    /// The first line.
    Hello {
        /// What the launcher was given; the judge knows by it which server of which run this is.
        token: String,
        /// The fake's process id.
        pid: u32,
        /// The system's monotonic clock, in microseconds, at time zero of the fake's trace lines.
        monotonic_us: u64,
        /// The script's name.
        script: String,
    },
    /// A trace line, as it happened.
    Line {
        /// The line.
        line: trace::Line,
    },
}

/// A line from the judge to a fake.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum FromJudge {
    /// Answers the hello.
    Welcome {
        /// Which start of this server it is, from 1.
        instance: u32,
    },
    /// Opens a gate, for good.
    Gate {
        /// Its name in the script.
        name: String,
    },
}

/// One message as a line, with its end.
#[must_use]
pub fn to_line(message: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(message).unwrap_or_default();
    line.push(b'\n');
    line
}

/// The monotonic clock that [`FromFake::Hello`] refers to, in microseconds.
#[must_use]
pub fn monotonic_us() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    seconds.saturating_mul(1_000_000).saturating_add(u64::try_from(now.tv_nsec).unwrap_or(0) / 1_000)
}

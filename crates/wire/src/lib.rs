//! The base protocol of the Language Server Protocol: frames, JSON-RPC envelopes, limits, and the
//! trace format. What this crate leaves out: the meaning of any method, async, processes, clocks.
//!
//! Everything here is total: no bytes from a peer make it panic, hang or grow without bound.

mod envelope;
mod frame;
pub mod trace;

pub use envelope::{ErrorCode, Id, Message, MessageError, Outgoing, ResponseError, expect_object};
pub use frame::{Decoded, Decoder, FrameError, FrameErrorKind, Limits, encode, encode_with};

/// Microseconds since an arbitrary start, the same start for every value that is compared.
///
/// Machines never read a clock: whoever drives them passes the time in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Time(pub u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Self = Self(0);

    /// This time plus a duration, saturating.
    #[must_use]
    pub fn after(self, duration: std::time::Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)))
    }

    /// The duration from `earlier` to this time; zero if `earlier` is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> std::time::Duration {
        std::time::Duration::from_micros(self.0.saturating_sub(earlier.0))
    }

    /// Whole and fractional milliseconds, for people.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "for display; exact below 2^53 microseconds (285 years)")]
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1000.0
    }
}

/// The hash by which texts are told apart in tags, reports and traces: 64-bit FNV-1a, folded to 32 bits.
#[must_use]
pub fn text_hash(bytes: &[u8]) -> u32 {
    let hash = bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3));
    #[expect(clippy::cast_possible_truncation, reason = "folding takes both halves")]
    let folded = (hash >> 32) as u32 ^ hash as u32;
    folded
}

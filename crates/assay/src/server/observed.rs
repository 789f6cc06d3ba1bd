//! What every session sees in passing: faults of envelopes, versions and positions, counted and with
//! the first few kept. Laws read it when all sessions are over.

use std::collections::BTreeMap;

use crate::results::Evidence;

/// How many cases of one kind are kept as evidence.
const KEPT: usize = 5;

/// The ways in which a server breaks what it owes in any session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    /// Bytes on standard output that are no frame, or a frame cut short.
    Frame,
    /// A frame whose content is no JSON-RPC 2.0 message.
    Envelope,
    /// A response to an id that is not open.
    UnaskedAnswer,
    /// A message that may not come before the answer to `initialize`.
    EarlyMessage,
    /// A push whose members have wrong types.
    PushShape,
    /// A pull's answer whose members have wrong types.
    PullShape,
    /// `unchanged` though no result id was sent.
    BaselessUnchanged,
    /// A push that names a version that was not sent yet.
    FutureVersion,
    /// A push that names a version that was never sent.
    UnknownVersion,
    /// A push that names an older version than a push before it.
    OlderVersion,
    /// A range on a line that the text does not have.
    NoSuchLine,
    /// A range whose start is behind its end.
    TurnedRange,
    /// A position inside a character.
    InsideCharacter,
    /// A position behind the end of its line.
    PastLineEnd,
}

/// How often one kind of fault was seen, and the first cases.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) count: u64,
    pub(crate) evidence: Vec<Evidence>,
}

/// What was seen, over one session or many.
#[derive(Clone, Debug, Default)]
pub(crate) struct Observed {
    pub(crate) sessions: u64,
    pub(crate) messages: u64,
    pub(crate) pushes: u64,
    pub(crate) pushes_versioned: u64,
    pub(crate) pulls: u64,
    pub(crate) ranges: u64,
    pub(crate) faults: BTreeMap<Fault, Tally>,
}

impl Observed {
    /// Notes one fault.
    pub(crate) fn fault(&mut self, fault: Fault, evidence: Evidence) {
        let tally = self.faults.entry(fault).or_default();
        tally.count += 1;
        if tally.evidence.len() < KEPT {
            tally.evidence.push(evidence);
        }
    }

    /// What was seen of one kind.
    pub(crate) fn tally(&self, fault: Fault) -> Option<&Tally> {
        self.faults.get(&fault)
    }

    /// Without what was seen of positions: where the server may hold another text than it was sent, its
    /// ranges say nothing about how it counts.
    pub(crate) fn without_positions(mut self) -> Self {
        const POSITIONS: [Fault; 4] =
            [Fault::NoSuchLine, Fault::TurnedRange, Fault::InsideCharacter, Fault::PastLineEnd];
        self.faults.retain(|fault, _| !POSITIONS.contains(fault));
        self.ranges = 0;
        self
    }

    /// Adds another session's.
    pub(crate) fn merge(&mut self, other: Self) {
        self.sessions += other.sessions;
        self.messages += other.messages;
        self.pushes += other.pushes;
        self.pushes_versioned += other.pushes_versioned;
        self.pulls += other.pulls;
        self.ranges += other.ranges;
        for (fault, tally) in other.faults {
            let mine = self.faults.entry(fault).or_default();
            mine.count += tally.count;
            let room = KEPT.saturating_sub(mine.evidence.len());
            mine.evidence.extend(tally.evidence.into_iter().take(room));
        }
    }
}

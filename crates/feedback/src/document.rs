//! One document at one server: the newest text, what the server was sent of it, what the server said of
//! it on each channel, and whether that amounts to a conclusion.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use wire::Time;
use wire::trace::Direction;

use crate::capabilities::Provider;
use crate::diagnostic::FindingSet;
use crate::fault::{Fault, Faults};
use crate::learned::Learned;
use crate::text::Text;
use crate::{KnownBy, MessageRef, Policy, Reason, Rule, TextHash};

/// A document that the loop has been asked about.
pub(crate) struct Document {
    pub(crate) path: PathBuf,
    /// Relative to the workspace, for people.
    pub(crate) shown: String,
    pub(crate) uri: String,
    pub(crate) language_id: String,
    pub(crate) text: Arc<Text>,
    pub(crate) hash: TextHash,
    /// Counts the texts of this document, whatever was sent of them.
    pub(crate) revision: u64,
    /// The highest version ever sent; versions rise across close, reopen and restart.
    pub(crate) version: i32,
    /// What the current process has been sent; `None` while the document is not open there.
    pub(crate) sent: Option<Sent>,
    pub(crate) push: Option<Told>,
    /// When the first push for the newest revision came.
    pub(crate) first_push: Option<Time>,
    /// Whether a push of this process ever held a finding for this document.
    pub(crate) push_carries: bool,
    pub(crate) pulls: BTreeMap<Option<String>, Pull>,
    /// Pulls sent for the newest ask.
    pub(crate) pull_count: u32,
    /// Whether it is to be open at the server.
    pub(crate) wanted: bool,
    /// The revision about which a call was given a conclusion.
    pub(crate) concluded: Option<u64>,
}

/// The state that the server was brought to.
pub(crate) struct Sent {
    pub(crate) text: Arc<Text>,
    pub(crate) revision: u64,
    pub(crate) version: i32,
    /// Number of the message that did it.
    pub(crate) seq: u64,
    pub(crate) at: Time,
}

/// One report of the server for this document.
#[derive(Debug)]
pub(crate) struct Told {
    /// The revision that it counts for; `None` when it is for an older text or a former process.
    pub(crate) revision: Option<u64>,
    /// The version of the text that it was for, as far as that is known.
    pub(crate) version: Option<i32>,
    pub(crate) proof: Proof,
    pub(crate) set: FindingSet,
    pub(crate) at: Time,
    pub(crate) messages: Vec<MessageRef>,
}

/// How a report is tied to its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Proof {
    /// A push that names the version.
    Version,
    /// An answer to a pull sent after the sync.
    Pull,
    /// A push after the sync, and nothing more.
    Order,
}

/// The pull channel of one provider.
#[derive(Debug, Default)]
pub(crate) struct Pull {
    /// Whether the newest ask has led to a question.
    pub(crate) asked: bool,
    /// The request under way.
    pub(crate) in_flight: Option<i64>,
    /// The revision that it is about.
    pub(crate) in_flight_revision: u64,
    /// Ask again when that is answered: something changed meanwhile.
    pub(crate) again: bool,
    pub(crate) retry_at: Option<Time>,
    pub(crate) pause: Option<Duration>,
    pub(crate) told: Option<Told>,
    pub(crate) result_id: Option<String>,
    /// How often loading had ended when the last answer came.
    pub(crate) ends_seen: u32,
    /// Answers in a row that said the same with an end of loading between them.
    pub(crate) agreed: u32,
    /// No more is asked though the server says that more has changed: there were too many questions.
    pub(crate) exhausted: bool,
    /// Why no answer is to be expected for the newest ask.
    pub(crate) failed: Option<Reason>,
}

/// Equal answers after which a server's progress counts as being about the questions themselves: some
/// report progress upon each pull, and waiting for its end before asking again would never end.
const AGREED_ENOUGH: u32 = 3;

impl Pull {
    /// Whether its last answer holds although the server says that it is loading.
    pub(crate) fn agrees(&self) -> bool {
        self.agreed >= AGREED_ENOUGH || self.exhausted
    }
}

/// From where a verdict is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// A call is waiting and has time left.
    Waiting,
    /// The budget of a call has ended.
    Ended,
    /// No call waits; the result would be a late one.
    Late,
}

/// What is known of the newest text.
pub(crate) enum Verdict<'a> {
    Concluded(Evidence<'a>),
    /// Not yet, because of this; at `until`, if given, time alone will settle it.
    Waiting {
        why: Reason,
        until: Option<Time>,
    },
    /// Waiting is of no use.
    Never {
        why: Reason,
    },
}

/// Why a conclusion is justified.
pub(crate) struct Evidence<'a> {
    pub(crate) known_by: KnownBy,
    pub(crate) rule: Rule,
    /// The messages that the rule names.
    pub(crate) messages: Vec<MessageRef>,
    /// Findings in those messages.
    pub(crate) received: u64,
    /// Every report that counts for the newest text, on whatever channel.
    pub(crate) current: Vec<&'a Told>,
}

/// What of the server's session bears on a verdict.
pub(crate) struct View<'a> {
    pub(crate) providers: &'a [Provider],
    /// The server says that it is loading and has not concluded anything yet.
    pub(crate) loading: bool,
    pub(crate) loading_ended: Option<Time>,
    pub(crate) learned: &'a Learned,
    pub(crate) policy: &'a Policy,
    pub(crate) faults: Faults,
    pub(crate) now: Time,
}

impl Document {
    /// Takes a new text; `true` if it differs from the newest one.
    pub(crate) fn update(&mut self, text: Arc<Text>) -> bool {
        self.pull_count = 0;
        for pull in self.pulls.values_mut() {
            (pull.asked, pull.failed, pull.pause, pull.retry_at) = (false, None, None, None);
            (pull.agreed, pull.exhausted) = (0, false);
        }
        if self.text.as_str() == text.as_str() && self.revision > 0 {
            return false;
        }
        self.hash = TextHash::of(text.as_str());
        self.text = text;
        self.revision += 1;
        self.first_push = None;
        true
    }

    /// The process is gone, or the document was closed: nothing it said is proof any more.
    pub(crate) fn forget_process(&mut self) {
        self.sent = None;
        self.first_push = None;
        self.push_carries = false;
        for told in self.push.iter_mut().chain(self.pulls.values_mut().filter_map(|pull| pull.told.as_mut())) {
            told.revision = None;
        }
        for pull in self.pulls.values_mut() {
            *pull = Pull { told: pull.told.take(), ..Pull::default() };
        }
    }

    /// Whether the server has the newest text.
    pub(crate) fn synced(&self) -> bool {
        self.sent.as_ref().is_some_and(|sent| sent.revision == self.revision)
    }

    /// When a refused pull of one of these providers is asked again.
    pub(crate) fn next_retry(&self, providers: &[Provider]) -> Option<Time> {
        self.sent.as_ref()?;
        let pulls = providers.iter().filter_map(|provider| self.pulls.get(&provider.identifier));
        pulls.filter(|pull| pull.failed.is_none()).filter_map(|pull| pull.retry_at).min()
    }

    fn is_current(&self, told: &Told) -> bool {
        told.revision == Some(self.revision)
    }

    /// Whether a push counts for the newest text: one without a version does not if the server names versions.
    fn counts(&self, push: &Told, view: &View<'_>) -> bool {
        let learned = view.learned;
        let nameless = push.proof == Proof::Order && learned.names_versions && !learned.versions_lie;
        self.is_current(push) && (!nameless || view.faults.has(Fault::UnversionedAtOnce))
    }

    /// Reports that are not for the newest text, newest last.
    pub(crate) fn before(&self) -> impl Iterator<Item = &Told> {
        let pulled = self.pulls.values().filter_map(|pull| pull.told.as_ref());
        pulled.chain(self.push.as_ref()).filter(|told| !self.is_current(told))
    }

    /// Whether what was said amounts to a conclusion about the newest text.
    pub(crate) fn verdict(&self, stage: Stage, view: &View<'_>) -> Verdict<'_> {
        let waiting = |why| Verdict::Waiting { why, until: None };
        if !self.synced() {
            return waiting(Reason::Silent);
        }
        let pulls: Vec<&Pull> =
            view.providers.iter().filter_map(|provider| self.pulls.get(&provider.identifier)).collect();
        let progress_is_noise = !pulls.is_empty() && pulls.iter().all(|pull| pull.agrees());
        if view.loading && !progress_is_noise && !view.faults.has(Fault::IgnoresLoading) {
            return waiting(Reason::Loading);
        }
        let failed = pulls.iter().find_map(|pull| pull.failed.clone());
        match failed {
            // The channel that was announced has not concluded; a push beside it is but a part.
            Some(why) => waiting(why),
            None if pulls.is_empty() => self.pushed(stage, view),
            None => self.pulled(&pulls, stage, view),
        }
    }

    /// What was provably said about the newest text, for when that is not all: an error among it is an
    /// error, whatever else is still to come.
    pub(crate) fn partial(&self, view: &View<'_>) -> Vec<Evidence<'_>> {
        if !self.synced() || view.loading {
            return Vec::new();
        }
        let current = |told: &&Told| self.is_current(told) && told.proof != Proof::Order;
        let providers = view.providers.iter().filter_map(|provider| self.pulls.get(&provider.identifier));
        let pulled: Vec<&Told> = providers.filter_map(|pull| pull.told.as_ref()).filter(current).collect();
        let pushed: Vec<&Told> = self.push.iter().filter(current).collect();
        let channels = [(KnownBy::Pulled, Rule::Pulled, pulled), (KnownBy::Versioned, Rule::Versioned, pushed)];
        let said = channels.into_iter().filter(|(.., told)| told.iter().any(|told| told.set.counts.errors > 0));
        said.map(|(known_by, rule, told)| self.evidence(known_by, rule, told)).collect()
    }

    fn pulled(&self, pulls: &[&Pull], stage: Stage, view: &View<'_>) -> Verdict<'_> {
        let mut current = Vec::with_capacity(pulls.len() + 1);
        for provider in view.providers {
            let Some(pull) = self.pulls.get(&provider.identifier) else { continue };
            // An older answer for this same text holds if the repeated question stays unanswered.
            let open = pull.in_flight.is_some() || pull.again || pull.retry_at.is_some();
            match pull.told.as_ref().filter(|told| self.is_current(told)) {
                Some(told) if !open || stage == Stage::Ended => current.push(told),
                _ => {
                    let cancelled = pull.retry_at.is_some() || pull.pause.is_some();
                    let why = if cancelled { Reason::ServerCancelled } else { Reason::Silent };
                    return Verdict::Waiting { why, until: None };
                }
            }
        }
        let answered = current.iter().map(|told| told.at).max().unwrap_or_default();
        let doubtful = pulls.iter().any(|pull| pull.exhausted) || view.loading;
        let known_by = if doubtful { KnownBy::Inferred } else { KnownBy::Pulled };
        let pulled = self.evidence(known_by, Rule::Pulled, current);
        // A server that also pushes findings of its own has two channels: neither alone proves clean.
        let Some(push) = self.push.as_ref().filter(|_| self.push_carries) else {
            return Verdict::Concluded(pulled);
        };
        if self.counts(push, view) {
            let known_by = if push.proof == Proof::Order { KnownBy::Inferred } else { known_by };
            let mut current = pulled.current;
            current.push(push);
            return Verdict::Concluded(Evidence { known_by, current, ..pulled });
        }
        let until = answered.after(view.learned.settle(view.policy).unwrap_or(view.policy.settle));
        if view.now < until && stage != Stage::Ended {
            return Verdict::Waiting { why: Reason::Unsettled, until: Some(until) };
        }
        Verdict::Concluded(Evidence { known_by: KnownBy::Inferred, ..pulled })
    }

    fn evidence<'a>(&'a self, known_by: KnownBy, rule: Rule, current: Vec<&'a Told>) -> Evidence<'a> {
        let sync = self.sent.iter().map(|sent| MessageRef { dir: Direction::ToServer, seq: sent.seq });
        let messages = sync.chain(current.iter().flat_map(|told| told.messages.iter().copied())).collect();
        let received = current.iter().map(|told| told.set.received).sum();
        Evidence { known_by, rule, messages, received, current }
    }

    fn pushed(&self, stage: Stage, view: &View<'_>) -> Verdict<'_> {
        let Some(push) = self.push.as_ref().filter(|push| self.counts(push, view)) else {
            return Verdict::Waiting { why: Reason::Silent, until: None };
        };
        let quiet_since = push.at.max(view.loading_ended.unwrap_or_default());
        let settle = if push.proof == Proof::Order {
            match stage {
                _ if view.faults.has(Fault::UnversionedAtOnce) => Some(Duration::ZERO),
                // Nothing is known of the server: the settle time is what remains of the budget.
                Stage::Waiting => view.learned.settle(view.policy),
                Stage::Ended | Stage::Late => Some(view.learned.settle(view.policy).unwrap_or(view.policy.settle)),
            }
        } else if view.loading_ended.is_some_and(|ended| push.at < ended) {
            // Said while loading: what comes after it may differ.
            Some(view.learned.settle(view.policy).unwrap_or(view.policy.settle))
        } else {
            Some(view.learned.settle_versioned(view.policy))
        };
        let Some(settle) = settle else {
            return Verdict::Waiting { why: Reason::Unsettled, until: None };
        };
        let until = quiet_since.after(settle);
        if view.now < until {
            return Verdict::Waiting { why: Reason::Unsettled, until: Some(until) };
        }
        let (known_by, rule) = match push.proof {
            Proof::Order => {
                let quiet_us = u64::try_from(view.now.since(push.at).as_micros()).unwrap_or(u64::MAX);
                (KnownBy::Inferred, Rule::Settled { quiet_us })
            }
            Proof::Version | Proof::Pull => (KnownBy::Versioned, Rule::Versioned),
        };
        Verdict::Concluded(self.evidence(known_by, rule, vec![push]))
    }
}

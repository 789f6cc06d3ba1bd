//! What a server's behaviour so far says about how long its results take to settle: a few bounded
//! numbers per server and root, empty at the start. It only ever shortens a wait after several
//! consistent calls, and one contradiction resets it.

use std::time::Duration;

use crate::Policy;

/// Longest gap that is remembered.
const GAP_MAX: Duration = Duration::from_secs(60);

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Learned {
    /// Calls in a row whose whole budget was watched, and that held one consistent last result.
    consistent: u32,
    /// Longest time seen between the first and the last result for one text.
    gap: Duration,
    /// Whether a second, different result for one version was seen.
    several: bool,
    /// Whether the server has named versions: a push of its without one is then about an unknown text.
    pub(crate) names_versions: bool,
    /// Whether the server named versions that it cannot know.
    pub(crate) versions_lie: bool,
}

impl Learned {
    /// A call has watched a whole budget; its results for the text came within `gap`.
    pub(crate) fn watched(&mut self, gap: Duration) {
        self.consistent = self.consistent.saturating_add(1);
        self.gap = self.gap.max(gap.min(GAP_MAX));
    }

    /// A different result for a text came `gap` after the first one, when a call had already concluded.
    pub(crate) fn contradicted(&mut self, gap: Duration) {
        self.consistent = 0;
        self.several = true;
        self.gap = self.gap.max(gap.min(GAP_MAX));
    }

    /// Quiet after which an unproven result is taken; `None` while too little is known.
    pub(crate) fn settle(&self, policy: &Policy) -> Option<Duration> {
        (self.consistent >= policy.learn_calls).then(|| policy.settle.max(self.gap * 2))
    }

    /// Quiet after which a versioned result is taken: none, unless this server has sent several.
    pub(crate) fn settle_versioned(&self, policy: &Policy) -> Duration {
        if self.several { policy.settle.max(self.gap * 2) } else { Duration::ZERO }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn belief_comes_slowly_and_goes_at_once() {
        let policy = Policy::default();
        let mut learned = Learned::default();
        let gap = Duration::from_millis(400);
        for _ in 0..policy.learn_calls {
            assert_eq!(learned.settle(&policy), None);
            learned.watched(gap);
        }
        assert_eq!(learned.settle(&policy), Some(gap * 2));
        assert_eq!(learned.settle_versioned(&policy), Duration::ZERO);
        learned.contradicted(gap * 3);
        assert_eq!(learned.settle(&policy), None);
        assert_eq!(learned.settle_versioned(&policy), gap * 6);
    }
}

//! How long a server may be quiet before its last word counts as its last, learnt from what it did.

use std::time::Duration;

use serde_json::{Value, json};

/// The slowest reactions seen so far, apart for the first text of a process (`cold`) and for later ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rhythm {
    pub(crate) cold: Pace,
    pub(crate) warm: Pace,
}

/// One half of a [`Rhythm`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pace {
    /// From a text to the first word on it.
    pub(crate) latency_max: Option<Duration>,
    /// Between two words on one text.
    pub(crate) gap_max: Duration,
}

const QUIET_MIN: Duration = Duration::from_millis(500);
const QUIET_MAX: Duration = Duration::from_secs(5);
/// Of a server that has not spoken yet: debounces of a whole second are in use.
const UNKNOWN_WARM: Duration = Duration::from_millis(2_500);
const UNKNOWN_COLD: Duration = Duration::from_secs(10);

impl Rhythm {
    /// Takes one observation in: of a process's first text, or of a later one.
    pub(crate) fn learn(&mut self, cold: bool, latency: Option<Duration>, gap: Duration) {
        let pace = if cold { &mut self.cold } else { &mut self.warm };
        pace.latency_max = pace.latency_max.max(latency);
        pace.gap_max = pace.gap_max.max(gap);
    }

    /// How long silence must last after a word until that word counts as the last.
    pub(crate) fn after_a_word(&self, cold: bool) -> Duration {
        self.pace(cold).gap_max.saturating_mul(4).clamp(QUIET_MIN, QUIET_MAX)
    }

    /// How long silence must last after a text until it means that nothing will be said of it.
    pub(crate) fn after_a_text(&self, cold: bool) -> Duration {
        match self.pace(cold).latency_max {
            Some(latency) => latency.saturating_mul(4).clamp(QUIET_MIN, QUIET_MAX),
            None if cold => UNKNOWN_COLD,
            None => UNKNOWN_WARM,
        }
    }

    /// As facts for a report.
    pub(crate) fn in_millis(&self) -> Value {
        let millis = |pace: Pace| {
            json!({
                "latency_max": pace.latency_max.map(|latency| latency.as_millis()),
                "gap_max": pace.gap_max.as_millis(),
            })
        };
        json!({"first_text": millis(self.cold), "later_texts": millis(self.warm)})
    }

    fn pace(&self, cold: bool) -> Pace {
        if cold { self.cold } else { self.warm }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_is_believed_after_four_times_the_slowest_reaction() {
        let ms = Duration::from_millis;
        let mut rhythm = Rhythm::default();
        assert_eq!((rhythm.after_a_text(false), rhythm.after_a_text(true)), (UNKNOWN_WARM, UNKNOWN_COLD));
        rhythm.learn(false, Some(ms(300)), ms(0));
        assert_eq!((rhythm.after_a_text(false), rhythm.after_a_word(false)), (ms(1_200), QUIET_MIN));
        rhythm.learn(false, Some(ms(10)), ms(200));
        assert_eq!((rhythm.after_a_text(false), rhythm.after_a_word(false)), (ms(1_200), ms(800)));
        rhythm.learn(false, None, ms(60_000));
        assert_eq!(rhythm.after_a_word(false), QUIET_MAX);
        assert_eq!(rhythm.after_a_text(true), UNKNOWN_COLD, "the first text of a process is another matter");
    }
}

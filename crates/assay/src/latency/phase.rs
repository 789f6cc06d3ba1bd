//! The times of one phase in a histogram, and beside them what came of each run.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde::Serialize;
use serde::ser::{SerializeStruct as _, Serializer};

/// Longest time that is told apart: an hour, in microseconds.
const MICROS_MAX: u64 = 3_600_000_000;

/// Significant decimal digits of a time.
const DIGITS: u8 = 3;

/// Times of right results, and counts of everything else.
#[derive(Clone, Debug, Default)]
pub struct Phase {
    times: Option<Histogram<u64>>,
    /// Results that were not what the text calls for.
    pub wrong: u64,
    /// Runs that had no conclusion when the budget ended.
    pub timeouts: u64,
    /// Runs that ended without a conclusion for another reason.
    pub inconclusive: u64,
    /// Right results that nothing proves to be for the newest text.
    pub inferred: u64,
    /// The fewest and the most findings of a right result.
    pub findings: Option<(u64, u64)>,
}

/// Percentiles of the times of right results, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Quantiles {
    /// Half took at most this long.
    pub p50: u64,
    /// Nine of ten.
    pub p90: u64,
    /// 99 of a hundred.
    pub p99: u64,
    /// The longest.
    pub max: u64,
}

impl Phase {
    /// Counts a right result.
    pub(super) fn right(&mut self, took: Duration, findings: u64) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        if self.times.is_none() {
            self.times = Histogram::new_with_bounds(1, MICROS_MAX, DIGITS).ok();
        }
        if let Some(times) = &mut self.times {
            times.saturating_record(micros.max(1));
        }
        let (least, most) = self.findings.unwrap_or((findings, findings));
        self.findings = Some((least.min(findings), most.max(findings)));
    }

    /// How many right results there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.times.as_ref().map_or(0, Histogram::len)
    }

    /// How many runs there were in all.
    #[must_use]
    pub fn runs(&self) -> u64 {
        self.count() + self.wrong + self.timeouts + self.inconclusive
    }

    /// The percentiles, if there are right results.
    #[must_use]
    pub fn quantiles(&self) -> Option<Quantiles> {
        let times = self.times.as_ref().filter(|times| !times.is_empty())?;
        let at = |quantile| times.value_at_quantile(quantile);
        Some(Quantiles { p50: at(0.5), p90: at(0.9), p99: at(0.99), max: times.max() })
    }
}

impl Serialize for Phase {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut phase = serializer.serialize_struct("Phase", 7)?;
        phase.serialize_field("right", &self.count())?;
        phase.serialize_field("wrong", &self.wrong)?;
        phase.serialize_field("timeouts", &self.timeouts)?;
        phase.serialize_field("inconclusive", &self.inconclusive)?;
        phase.serialize_field("inferred", &self.inferred)?;
        phase.serialize_field("findings", &self.findings)?;
        phase.serialize_field("times", &self.quantiles())?;
        phase.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_keep_three_digits_and_wrong_ones_are_left_out() {
        let mut phase = Phase::default();
        assert_eq!((phase.quantiles(), phase.runs()), (None, 0));
        for micros in 1..=1000 {
            phase.right(Duration::from_micros(micros), 1 + micros % 2);
        }
        phase.wrong += 1;
        phase.timeouts += 2;
        let near = |seen: u64, exact: u64| seen.abs_diff(exact) * 1000 <= exact;
        let quantiles = phase.quantiles().unwrap();
        assert!(near(quantiles.p50, 500) && near(quantiles.p90, 900) && near(quantiles.p99, 990), "{quantiles:?}");
        assert_eq!(quantiles.max, 1000);
        assert_eq!((phase.count(), phase.runs(), phase.findings), (1000, 1003, Some((1, 2))));
        phase.right(Duration::from_secs(10_000), 0);
        assert!(near(phase.quantiles().unwrap().max, MICROS_MAX), "beyond an hour is an hour");
    }
}

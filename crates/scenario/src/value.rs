//! Values that scripts and scenarios are made of: durations and ranges of them, numbers of messages,
//! JSON as text. Each is one TOML string (or number) with one meaning and a bound.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};

/// The longest duration that may be written.
pub const DURATION_MAX: std::time::Duration = std::time::Duration::from_secs(3600);

/// A length of time, written `"250us"`, `"300ms"`, `"2s"` or `"1.5s"`; at most an hour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Duration(std::time::Duration);

impl Duration {
    /// The value for computing.
    #[must_use]
    pub const fn get(self) -> std::time::Duration {
        self.0
    }

    /// Whole microseconds.
    #[must_use]
    pub fn as_micros(self) -> u64 {
        u64::try_from(self.0.as_micros()).unwrap_or(u64::MAX)
    }
}

impl From<Duration> for std::time::Duration {
    fn from(duration: Duration) -> Self {
        duration.0
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = self.0.as_micros();
        match micros {
            0 => f.write_str("0ms"),
            _ if micros.is_multiple_of(1_000_000) => write!(f, "{}s", micros / 1_000_000),
            _ if micros.is_multiple_of(1_000) => write!(f, "{}ms", micros / 1_000),
            _ => write!(f, "{micros}us"),
        }
    }
}

impl FromStr for Duration {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!("{text:?} is not a duration, expected a number and a unit such as \"300ms\", \"1.5s\" or \"250us\"")
        };
        let text = text.trim();
        let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(wrong)?;
        let (number, unit) = text.split_at(digits);
        let micros_per_unit: u64 = match unit.trim_start() {
            "us" => 1,
            "ms" => 1_000,
            "s" => 1_000_000,
            _ => return Err(wrong()),
        };
        let too_long = || format!("{text:?} is too long, expected at most an hour");
        let whole = number.split('.').next().unwrap_or_default();
        // Digits that are no number are too many.
        let is_huge = |digits: &str| digits.parse::<u64>().ok().and_then(|n| n.checked_mul(micros_per_unit)).is_none();
        if !whole.is_empty() && is_huge(whole) {
            return Err(too_long());
        }
        let micros = decimal_times(number, micros_per_unit).ok_or_else(wrong)?;
        let value = std::time::Duration::from_micros(micros);
        if value > DURATION_MAX { Err(too_long()) } else { Ok(Self(value)) }
    }
}

/// `"1.5"` times a million, exactly; `None` if it is no decimal number or finer than one.
fn decimal_times(number: &str, factor: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || number.ends_with('.') || fraction.len() > 6 {
        return None;
    }
    let whole = whole.parse::<u64>().ok()?.checked_mul(factor)?;
    let scale = 10_u64.pow(u32::try_from(fraction.len()).ok()?);
    let part = if fraction.is_empty() { 0 } else { fraction.parse::<u64>().ok()?.checked_mul(factor)? };
    part.is_multiple_of(scale).then(|| whole.checked_add(part / scale)).flatten()
}

/// An inclusive range of durations, written `"300ms..320ms"`, `"300ms.."`, `"..500ms"`, or `"300ms"` alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DurationRange {
    /// The shortest that fits; none if open.
    pub min: Option<Duration>,
    /// The longest that fits; none if open.
    pub max: Option<Duration>,
}

impl DurationRange {
    /// Whether a duration lies in the range, ends included.
    #[must_use]
    pub fn contains(&self, duration: std::time::Duration) -> bool {
        self.min.is_none_or(|min| min.0 <= duration) && self.max.is_none_or(|max| duration <= max.0)
    }
}

impl fmt::Display for DurationRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.min == self.max
            && let Some(only) = self.min
        {
            return write!(f, "{only}");
        }
        if let Some(min) = self.min {
            write!(f, "{min}")?;
        }
        f.write_str("..")?;
        self.max.map_or(Ok(()), |max| write!(f, "{max}"))
    }
}

impl FromStr for DurationRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let end = |end: &str| if end.trim().is_empty() { Ok(None) } else { end.parse().map(Some) };
        let Some((min, max)) = text.split_once("..") else {
            let only = text.parse()?;
            return Ok(Self { min: Some(only), max: Some(only) });
        };
        let range = Self { min: end(min)?, max: end(max)? };
        match (range.min, range.max) {
            (None, None) => Err(format!("{text:?} has no end, expected such as \"300ms..320ms\" or \"..500ms\"")),
            (Some(min), Some(max)) if min > max => Err(format!("{text:?} is empty, expected the shorter end first")),
            _ => Ok(range),
        }
    }
}

/// Which of a series of messages: `2` (the second), `"2.."`, `"2..4"`, `"every 3"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// From the first number to the second, both included, counted from 1.
    Range(u64, u64),
    /// Each n-th.
    Every(u64),
}

impl Count {
    /// Whether the `nth` message (from 1) is meant.
    #[must_use]
    pub fn matches(self, nth: u64) -> bool {
        match self {
            Self::Range(from, to) => (from..=to).contains(&nth),
            Self::Every(step) => nth.is_multiple_of(step),
        }
    }
}

impl FromStr for Count {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is not a count, expected such as 2, \"2..\", \"2..4\" or \"every 3\"");
        let number = |text: &str| text.trim().parse::<u64>().ok().filter(|number| *number > 0).ok_or_else(wrong);
        if let Some(step) = text.strip_prefix("every ") {
            return number(step).map(Self::Every);
        }
        let Some((from, to)) = text.split_once("..") else {
            return number(text).map(|only| Self::Range(only, only));
        };
        let from = if from.is_empty() { 1 } else { number(from)? };
        let to = if to.is_empty() { u64::MAX } else { number(to)? };
        if from > to { Err(wrong()) } else { Ok(Self::Range(from, to)) }
    }
}

/// JSON, written as a TOML string (best a `'literal'` one). TOML has no null, and JSON can be pasted.
#[derive(Clone, Debug, PartialEq)]
pub struct Json(pub serde_json::Value);

impl FromStr for Json {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map(Self).map_err(|error| format!("not JSON: {error}, expected JSON in a string"))
    }
}

/// A JSON-RPC id: an integer or a string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestId(pub wire::Id);

/// A verb that has no argument: only `true` can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flag;

impl<'de> Deserialize<'de> for Flag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match bool::deserialize(deserializer)? {
            true => Ok(Self),
            false => Err(de::Error::custom("false says nothing here, expected true, or leave it out")),
        }
    }
}

impl JsonSchema for Flag {
    fn schema_name() -> Cow<'static, str> {
        "Flag".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "boolean", "const": true })
    }
}

/// Reads a string and parses it; with `numbers`, an integer is taken as its digits.
struct Text<T> {
    numbers: bool,
    expected: &'static str,
    parse: fn(&str) -> Result<T, String>,
}

impl<T> Visitor<'_> for Text<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        (self.parse)(text).map_err(E::custom)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
        if !self.numbers {
            return Err(E::invalid_type(de::Unexpected::Signed(number), &self));
        }
        (self.parse)(&number.to_string()).map_err(E::custom)
    }
}

/// Makes a type with `FromStr` one that is read from a TOML string, described by a pattern or a list.
macro_rules! written_as_text {
    ($type:ty, $name:literal, $expected:literal, $schema:tt) => {
        impl<'de> ::serde::Deserialize<'de> for $type {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::value::read_text(deserializer, $expected)
            }
        }

        impl ::schemars::JsonSchema for $type {
            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                $name.into()
            }

            fn json_schema(_: &mut ::schemars::SchemaGenerator) -> ::schemars::Schema {
                ::schemars::json_schema!($schema)
            }
        }
    };
}
pub(crate) use written_as_text;

pub(crate) fn read_text<'de, T, D>(deserializer: D, expected: &'static str) -> Result<T, D::Error>
where
    T: FromStr<Err = String>,
    D: Deserializer<'de>,
{
    deserializer.deserialize_str(Text { numbers: false, expected, parse: T::from_str })
}

written_as_text!(Duration, "Duration", "a duration such as \"300ms\"", {
    "type": "string",
    "pattern": r"^\s*[0-9]+(\.[0-9]{1,6})? *(us|ms|s)\s*$",
    "description": "A length of time: \"250us\", \"300ms\", \"1.5s\"; at most an hour."
});

written_as_text!(DurationRange, "DurationRange", "a range of durations such as \"300ms..320ms\"", {
    "type": "string",
    "description": "An inclusive range of durations: \"300ms..320ms\", \"300ms..\", \"..500ms\", or one duration."
});

written_as_text!(Json, "Json", "JSON in a string", {
    "type": "string",
    "description": "JSON, written as a TOML string.",
    "contentMediaType": "application/json"
});

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = "a count such as 2, \"2..\", \"2..4\" or \"every 3\"";
        deserializer.deserialize_any(Text { numbers: true, expected, parse: Self::from_str })
    }
}

impl JsonSchema for Count {
    fn schema_name() -> Cow<'static, str> {
        "Count".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Which of the messages, from 1: 2, \"2..\", \"2..4\", \"every 3\".",
            "anyOf": [
                { "type": "integer", "minimum": 1 },
                { "type": "string", "pattern": r"^([0-9]+|[0-9]*\.\.[0-9]*|every [0-9]+)$" }
            ]
        })
    }
}

impl<'de> Deserialize<'de> for RequestId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl Visitor<'_> for Either {
            type Value = RequestId;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an id: an integer or a string")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<RequestId, E> {
                Ok(RequestId(wire::Id::String(text.to_owned())))
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<RequestId, E> {
                Ok(RequestId(wire::Id::Number(number)))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl JsonSchema for RequestId {
    fn schema_name() -> Cow<'static, str> {
        "RequestId".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["integer", "string"], "description": "A JSON-RPC id; 7 and \"7\" differ." })
    }
}

impl Serialize for Duration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Serialize for DurationRange {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_exact_and_bounded() {
        let micros = |text: &str| text.parse::<Duration>().map(Duration::as_micros);
        let right = [("300ms", 300_000), ("2s", 2_000_000), ("1.5s", 1_500_000), ("250us", 250), ("0.000001s", 1)];
        for (text, expected) in right {
            assert_eq!(micros(text), Ok(expected), "{text}");
            let duration: Duration = text.parse().unwrap();
            assert_eq!(duration.to_string().parse(), Ok(duration), "{text} survives being written");
        }
        let wrong =
            ["", "300", "ms", ".5s", "1.s", "1.5us", "1e3s", "-1s", "3601s", "99999999999999999999s", "1h", "١s"];
        for text in wrong {
            let error = micros(text).unwrap_err();
            assert!(error.contains("expected"), "{text}: {error}");
        }
        for text in ["3601s", "3600.000001s", "99999999999999999999s", "18446744073709551615.5ms"] {
            assert!(micros(text).unwrap_err().contains("too long"), "{text}");
        }
    }

    #[test]
    fn ranges_include_their_ends() {
        let range = |text: &str| text.parse::<DurationRange>();
        let ms = std::time::Duration::from_millis;
        for (text, inside, outside) in
            [("300ms..320ms", 320, 321), ("..500ms", 0, 501), ("2s..", 2000, 1999), ("1s", 1000, 999)]
        {
            let parsed = range(text).unwrap();
            assert!(parsed.contains(ms(inside)) && !parsed.contains(ms(outside)), "{text}");
            assert_eq!(range(&parsed.to_string()), Ok(parsed), "{text}");
        }
        for text in ["..", "2s..1s", "1s...2s", "1..2s", "1s..2s..3s"] {
            assert!(range(text).is_err(), "{text}");
        }
    }

    #[test]
    fn counts_mean_what_they_say() {
        let matching = |text: &str| -> Vec<u64> {
            let count: Count = text.parse().unwrap();
            (1..=7).filter(|nth| count.matches(*nth)).collect()
        };
        let cases: [(&str, &[u64]); 5] =
            [("2", &[2]), ("5..", &[5, 6, 7]), ("2..4", &[2, 3, 4]), ("..2", &[1, 2]), ("every 3", &[3, 6])];
        for (text, expected) in cases {
            assert_eq!(matching(text), expected, "{text}");
        }
        for text in ["0", "every 0", "4..2", "x", "-1", "1..x", ""] {
            assert!(text.parse::<Count>().is_err(), "{text}");
        }
    }
}

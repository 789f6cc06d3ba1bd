//! Random edits: made from a seed, resolved against whatever text they meet, so that any part of a
//! series is a series too.

use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use crate::fixture::Fixture;
use crate::server::documents::Change;
use crate::server::text::Text;

/// Texts are kept below this: servers are slow on large ones, and reports of them hard to read.
const TEXT_BYTES_MAX: usize = 4_000;
/// Added to a column that stands at its line's end already (LSP 3.17 §position: it counts as the end).
const PAST_LINE_END: u32 = 9_999;

/// One notification's worth of editing. Places are parts of a million of the text's length, so that an
/// edit makes sense in any text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edit {
    pub(crate) what: What,
    /// Whether the server is given time to react before the next edit.
    pub(crate) pause: bool,
}

/// The ways in which a text is edited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// A fragment typed somewhere.
    Insert { at: u32, text: String, place: Place },
    /// Up to some bytes deleted or replaced.
    Replace { at: u32, bytes: usize, text: String },
    /// A whole line deleted, its end included.
    DeleteLine { at: u32 },
    /// The end of a line turned from `\n` to `\r\n` or back.
    TurnLineEnd { at: u32 },
    /// The end of a line turned to a lone `\r`.
    LoneCr { at: u32 },
    /// The line end at the end of the text removed.
    DropFinalLineEnd,
    /// Everything deleted.
    Empty,
    /// Back to the text of so many edits ago.
    Undo { edits: usize },
    /// The fixture's broken or fixed text, by the smallest change.
    Fixture { broken: bool, k: usize },
    /// The fixture's text as one change without a range.
    Whole { broken: bool, k: usize },
    /// Several of the small ones in one notification.
    Several(Vec<What>),
}

/// Where exactly something is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Here,
    /// At the end of the line.
    LineEnd,
    /// There too, but said with a column behind it.
    PastLineEnd,
}

/// A series of edits from a seed, without those that use one of the `left_out` special cases. Every
/// `stride`-th one sees to it that there is something to compare.
pub(crate) fn series(seed: u64, edits: usize, stride: usize, fixture: &Fixture, left_out: &[Special]) -> Vec<Edit> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let fragments = fixture.fragments();
    let mut series: Vec<_> =
        std::iter::repeat_with(|| Edit { what: what(&mut random, fragments), pause: random.random_ratio(1, 10) })
            .filter(|edit| !left_out.iter().any(|special| edit.what.uses(*special)))
            .take(edits)
            .collect();
    let allowed = |edit: &What| !left_out.iter().any(|special| edit.uses(*special));
    let errors: Vec<_> = fragments.iter().map(|text| insert(END, text)).filter(allowed).take(4).collect();
    let lasts = series.iter_mut().skip(stride.saturating_sub(1)).step_by(stride.max(1));
    for (turn, last) in lasts.enumerate() {
        // In turns: errors behind whatever the text has become, and the text with a known error.
        last.what = match turn % 2 {
            0 => What::Several(errors.clone()),
            _ => What::Fixture { broken: true, k: turn % 6 },
        };
    }
    series
}

/// The end of the text, in parts of a million.
const END: u32 = 999_999;

fn insert(at: u32, text: &str) -> What {
    What::Insert { at, text: text.to_owned(), place: Place::Here }
}

/// Cases that whole families of servers get wrong. Each is tried alone first, so that one of them does
/// not hide every other difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Special {
    /// A place behind characters of two and of four bytes.
    WideCharacters,
    /// A column behind the end of its line.
    PastLineEnd,
    /// A change without a range.
    WholeText,
    /// A line that ends with a lone `\r`.
    LoneCr,
}

impl Special {
    pub(crate) const ALL: [Self; 4] = [Self::WideCharacters, Self::PastLineEnd, Self::WholeText, Self::LoneCr];

    /// A few edits that show by the place of the fixture's error whether they were understood.
    pub(crate) fn series(self, fixture: &Fixture) -> Vec<Edit> {
        let lines = || fixture.fragments().iter().filter(|text| text.ends_with('\n')).take(4);
        let at_line_end = |place: Place| {
            lines().map(move |line| What::Insert { at: 0, text: line.clone(), place }).collect::<Vec<_>>()
        };
        let edits = match self {
            Self::WideCharacters => [vec![insert(0, "é😀")], at_line_end(Place::LineEnd)].concat(),
            // More than a line end: behind the line's own end that would lead to the same text.
            Self::PastLineEnd => at_line_end(Place::PastLineEnd),
            Self::WholeText => vec![
                What::Whole { broken: true, k: 4 },
                insert(0, "\n"),
                What::Whole { broken: true, k: 2 },
                insert(0, "\n"),
            ],
            Self::LoneCr => {
                let mut edits = vec![What::Fixture { broken: true, k: 3 }, What::LoneCr { at: 0 }];
                edits.extend(lines().map(|line| insert(END, line)));
                edits
            }
        };
        edits.into_iter().map(|what| Edit { what, pause: false }).collect()
    }
}

fn what(random: &mut ChaCha8Rng, fragments: &[String]) -> What {
    match random.random_range(0..100) {
        0..60 => small(random, fragments),
        60..72 => What::Several((0..random.random_range(2..5)).map(|_| small(random, fragments)).collect()),
        72..82 => What::Undo { edits: random.random_range(1..10) },
        82..94 => What::Fixture { broken: random.random_ratio(2, 3), k: random.random_range(0..6) },
        94..96 => What::Whole { broken: random.random_ratio(2, 3), k: random.random_range(0..6) },
        96 => What::LoneCr { at: random.random_range(0..1_000_000) },
        97..99 => What::DropFinalLineEnd,
        _ => What::Empty,
    }
}

fn small(random: &mut ChaCha8Rng, fragments: &[String]) -> What {
    let at = random.random_range(0..1_000_000);
    match random.random_range(0..10) {
        0..5 => {
            let place = match random.random_range(0..8) {
                0 => Place::PastLineEnd,
                1 | 2 => Place::LineEnd,
                _ => Place::Here,
            };
            What::Insert { at, text: fragment(random, fragments), place }
        }
        5 | 6 => What::Replace { at, bytes: random.random_range(1..12), text: String::new() },
        7 => What::Replace { at, bytes: random.random_range(1..60), text: fragment(random, fragments) },
        8 => What::DeleteLine { at },
        _ => What::TurnLineEnd { at },
    }
}

fn fragment(random: &mut ChaCha8Rng, fragments: &[String]) -> String {
    if fragments.is_empty() { "a".to_owned() } else { fragments[random.random_range(0..fragments.len())].clone() }
}

impl What {
    fn uses(&self, special: Special) -> bool {
        match (self, special) {
            (Self::Several(parts), special) => parts.iter().any(|part| part.uses(special)),
            (Self::Insert { text, .. } | Self::Replace { text, .. }, Special::WideCharacters) => !text.is_ascii(),
            (Self::Insert { place, .. }, Special::PastLineEnd) => *place == Place::PastLineEnd,
            (Self::Whole { .. }, Special::WholeText) | (Self::LoneCr { .. }, Special::LoneCr) => true,
            _ => false,
        }
    }

    /// The changes that this edit makes of the newest text; `history` holds all texts, oldest first.
    pub(crate) fn changes(&self, history: &[Text], fixture: &Fixture) -> Vec<Change> {
        let Some(text) = history.last() else { return Vec::new() };
        if let Self::Several(parts) = self {
            let mut changes = Vec::new();
            let mut history = vec![text.clone()];
            for part in parts {
                for change in part.changes(&history, fixture) {
                    let (start, end) = change.range.unwrap_or((0, usize::MAX));
                    let text = &history[history.len() - 1];
                    let next = text.replaced(start, end.min(text.as_str().len()), &change.text);
                    history.push(next);
                    changes.push(change);
                }
            }
            return changes;
        }
        self.change(text, history, fixture).into_iter().collect()
    }

    fn change(&self, text: &Text, history: &[Text], fixture: &Fixture) -> Option<Change> {
        let length = text.as_str().len();
        let place = |at: u32| text.snap(at as usize * (length + 1) / 1_000_000);
        let replace =
            |start: usize, end: usize, text: String| Some(Change { range: Some((start, end)), text, past_line_end: 0 });
        match self {
            // A text that has grown too large is cut instead.
            Self::Insert { at, .. } if length > TEXT_BYTES_MAX => replace(place(*at), length, String::new()),
            Self::Insert { at, text: inserted, place: typed } => {
                let at = if *typed == Place::Here { place(*at) } else { line_end(text, place(*at)) };
                let past_line_end = if *typed == Place::PastLineEnd { PAST_LINE_END } else { 0 };
                Some(Change { range: Some((at, at)), text: inserted.clone(), past_line_end })
            }
            Self::Replace { at, bytes, text: inserted } => {
                let start = place(*at);
                let end = text.snap((start + bytes).min(length)).max(start);
                replace(start, end, inserted.clone())
            }
            Self::DeleteLine { at } => {
                let (start, end) = line_around(text, place(*at));
                replace(start, end, String::new())
            }
            Self::TurnLineEnd { at } => {
                let start = line_end(text, place(*at));
                let rest = &text.as_str()[start..];
                let (old, new) = if rest.starts_with("\r\n") { ("\r\n", "\n") } else { ("\n", "\r\n") };
                rest.starts_with(old).then(|| replace(start, start + old.len(), new.to_owned()))?
            }
            Self::LoneCr { at } => {
                let start = line_end(text, place(*at));
                let end = text.as_str()[start..].find(|character| !matches!(character, '\r' | '\n'));
                replace(start, end.map_or(length, |end| start + end), "\r".to_owned())
            }
            Self::DropFinalLineEnd => {
                let kept = text.as_str().trim_end_matches(['\r', '\n']).len();
                replace(kept, length, String::new())
            }
            Self::Empty => replace(0, length, String::new()),
            Self::Undo { edits } => {
                let back = history.len().saturating_sub(1 + edits);
                smallest(text, history[back].as_str())
            }
            Self::Fixture { broken, k } => smallest(text, &fixture_text(fixture, *broken, *k)),
            Self::Whole { broken, k } => {
                Some(Change { range: None, text: fixture_text(fixture, *broken, *k), past_line_end: 0 })
            }
            Self::Several(_) => None,
        }
    }
}

fn fixture_text(fixture: &Fixture, broken: bool, k: usize) -> String {
    if broken { fixture.broken(k) } else { fixture.fixed(k) }
}

fn smallest(text: &Text, wanted: &str) -> Option<Change> {
    let (start, end, middle) = text.difference(wanted);
    Some(Change { range: Some((start, end)), text: middle.to_owned(), past_line_end: 0 })
}

/// The end of the line that a byte is on, before the characters that end it.
fn line_end(text: &Text, at: usize) -> usize {
    line_numbered(text, at).map_or(at, |(_, start, line)| start + line.len())
}

/// The line that a byte is on, with the characters that end it.
fn line_around(text: &Text, at: usize) -> (usize, usize) {
    let Some((number, start, _)) = line_numbered(text, at) else { return (at, at) };
    (start, text.line(number + 1).map_or(text.as_str().len(), |(next, _)| next))
}

fn line_numbered(text: &Text, at: usize) -> Option<(usize, usize, &str)> {
    let number = text.position(at, crate::server::text::Encoding::Utf8).line as usize;
    text.line(number).map(|(start, line)| (number, start, line))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::documents::{SyncKind, content_changes};
    use crate::server::text::Encoding;

    fn run(seed: u64, edits: &[Edit], fixture: &Fixture) -> Vec<Text> {
        let mut history = vec![Text::new(fixture.broken(1))];
        for edit in edits {
            let changes = edit.what.changes(&history, fixture);
            let (next, _) =
                content_changes(&history[history.len() - 1], &changes, SyncKind::Incremental, Encoding::Utf16);
            assert!(next.as_str().len() < TEXT_BYTES_MAX + 2_000, "seed {seed}: {} bytes", next.as_str().len());
            history.push(next);
        }
        history
    }

    #[test]
    fn a_seed_makes_the_same_series_again_and_any_part_of_it_can_run() {
        let fixture = Fixture::for_language("python").unwrap();
        for seed in 0..20 {
            let edits = series(seed, 300, 38, &fixture, &[]);
            assert_eq!(edits, series(seed, 300, 38, &fixture, &[]));
            assert_eq!(run(seed, &edits, &fixture), run(seed, &edits, &fixture));
            let odd: Vec<_> = edits.iter().step_by(2).cloned().collect();
            run(seed, &odd, &fixture);
        }
    }

    #[test]
    fn what_is_left_out_of_a_series_does_not_occur_in_it() {
        let fixture = Fixture::for_language("typescript").unwrap();
        let edits = series(1, 300, 38, &fixture, &Special::ALL);
        assert_eq!(edits.len(), 300);
        assert!(!edits.iter().any(|edit| Special::ALL.iter().any(|special| edit.what.uses(*special))));
        for special in Special::ALL {
            let edits = special.series(&fixture);
            assert!(edits.iter().any(|edit| edit.what.uses(special)));
            let history = run(0, &edits, &fixture);
            assert!(history.windows(2).all(|pair| pair[0] != pair[1]), "every edit of {special:?} changes the text");
        }
    }

    #[test]
    fn a_series_meets_the_cases_that_break_servers() {
        let fixture = Fixture::for_language("c").unwrap();
        let mut seen = [false; 6];
        for seed in 0..5 {
            let edits = series(seed, 300, 38, &fixture, &[Special::LoneCr]);
            let history = run(seed, &edits, &fixture);
            for text in history.iter().map(Text::as_str) {
                seen[0] |= text.is_empty();
                seen[1] |= text.contains("\r\n");
                seen[2] |= text.contains('😀');
                seen[3] |= !text.is_empty() && !text.ends_with('\n');
                // No lone CR: how lines end there is another law's question.
                assert!(!text.replace("\r\n", "").contains('\r'), "{text:?}");
            }
            seen[4] |= edits.iter().any(|edit| matches!(edit.what, What::Several(_)));
            seen[5] |= edits.iter().any(|edit| matches!(edit.what, What::Insert { place: Place::PastLineEnd, .. }));
        }
        assert_eq!(seen, [true; 6]);
    }
}

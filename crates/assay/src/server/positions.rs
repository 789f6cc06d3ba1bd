//! Positions: ranges lie inside their text and count in the agreed encoding (LSP 3.17 §position,
//! §positionEncodingKind).

use super::convergence::shows_the_error;
use super::observed::{Fault, Observed};
use super::probe::{Probe, Profile};
use super::settle::Diagnosis;
use super::text::{Encoding, Text};
use super::verdict::{Seen, Verdicts, passive};
use crate::results::Law;

/// What clients offer, most wanted first.
pub(crate) fn offers() -> [Profile; 3] {
    [&[Encoding::Utf16][..], &[Encoding::Utf8, Encoding::Utf16], &[Encoding::Utf32, Encoding::Utf16]]
        .map(|encodings| Profile { encodings: encodings.to_vec(), pull: true })
}

/// What one session with one offer showed.
pub(crate) struct Offered {
    chosen: Seen,
    obeyed: Seen,
    pub(crate) observed: Observed,
}

/// Opens the broken text, plain and behind wide characters, at a server that was offered encodings.
pub(crate) async fn offer(mut probe: Probe<'_>, profile: &Profile) -> Offered {
    let names: Vec<_> = profile.encodings.iter().map(|encoding| encoding.name()).collect();
    let announced = &probe.announced.initialize["capabilities"]["positionEncoding"];
    let chosen = Seen::of(
        announced.is_null() || announced.as_str().is_some_and(|name| name == "utf-16" || names.contains(&name)),
        format!("{announced} of {}", names.join(", ")),
        || vec![probe.evidence(&format!("positionEncoding {announced}"))],
    );
    let obeyed = obeyed(&mut probe).await;
    Offered { chosen, obeyed, observed: probe.close().await }
}

async fn obeyed(probe: &mut Probe<'_>) -> Seen {
    const K: usize = 1;
    let fixture = &probe.subject.fixture;
    let Some(wide) = fixture.broken_behind_wide(K) else {
        return Seen::Unclear("in given texts the error's line is not known".to_owned());
    };
    let plain = fixture.broken(K);
    let mark = probe.log.mark();
    probe.open(&plain, 1).await;
    let first = probe.settle_until(probe.subject.first_max, |diagnosis| shows_the_error(fixture, diagnosis, K)).await;
    probe.change_to(&wide, None).await;
    let second = probe.settle().await;
    if second.gone {
        return Seen::Unclear("the process ended".to_owned());
    }
    let encoding = probe.announced.encoding;
    let line = fixture.broken_line(K).unwrap_or_default();
    let (one, other) = (marked(&first, &plain, line, encoding), marked(&second, &wide, line, encoding));
    match (one, other) {
        (Some(one), Some(other)) => {
            let observed = format!("{}: {one:?} and, behind wide characters, {other:?}", encoding.name());
            Seen::of(one == other, observed, || probe.log.since(mark, 12))
        }
        (None, _) => Seen::Unclear("it does not report the error".to_owned()),
        (Some(one), None) => Seen::Broken(
            format!("{}: {one:?} and, behind wide characters, {}", encoding.name(), second.in_words()),
            probe.log.since(mark, 12),
        ),
    }
}

/// The text that the error on a line marks.
fn marked(diagnosis: &Diagnosis, text: &str, line: usize, encoding: Encoding) -> Option<String> {
    let text = Text::new(text);
    let errors = diagnosis.errors();
    let error = errors.iter().find(|error| error.range.start.line as usize == line)?;
    text.covered(error.range, encoding).map(str::to_owned)
}

/// Records what the sessions with different offers showed.
pub(crate) fn judge(verdicts: &mut Verdicts, offered: Vec<Offered>) {
    let (chosen, obeyed): (Vec<_>, Vec<_>) = offered.into_iter().map(|one| (one.chosen, one.obeyed)).unzip();
    verdicts.must(
        Law::Positions,
        "encoding-offered",
        "LSP 3.17 #serverCapabilities: the chosen encoding is one of those offered, or utf-16",
        worst(chosen),
    );
    verdicts.must(
        Law::Positions,
        "encoding-obeyed",
        "LSP 3.17 #textDocuments: columns behind characters of two and four bytes count in the agreed encoding",
        worst(obeyed),
    );
}

/// The worst of several outcomes; of equal ones all are told.
fn worst(seen: Vec<Seen>) -> Seen {
    let rank = |seen: &Seen| match seen {
        Seen::Unclear(_) => 0,
        Seen::Held(_) => 1,
        Seen::Harness(_) => 2,
        Seen::Broken(..) => 3,
    };
    let worst = seen.iter().map(rank).max().unwrap_or_default();
    let mut words = Vec::new();
    let mut evidence = Vec::new();
    for seen in seen.into_iter().filter(|seen| rank(seen) == worst) {
        let (Seen::Unclear(said) | Seen::Held(said) | Seen::Harness(said) | Seen::Broken(said, _)) = &seen;
        if !words.contains(said) {
            words.push(said.clone());
        }
        if let Seen::Broken(_, lines) = seen {
            evidence.extend(lines);
        }
    }
    let said = words.join("; ");
    match worst {
        0 => Seen::Unclear(said),
        1 => Seen::Held(said),
        2 => Seen::Harness(said),
        _ => Seen::Broken(said, evidence),
    }
}

/// Judges what every session saw of this law.
pub(crate) fn judge_observed(verdicts: &mut Verdicts, observed: &Observed) {
    verdicts.must(
        Law::Positions,
        "inside-text",
        "LSP 3.17 #diagnostic, #range: a range lies on lines of its document, and its start is not behind its end",
        passive(observed, &[Fault::NoSuchLine, Fault::TurnedRange], observed.ranges, "ranges"),
    );
    verdicts.should(
        Law::Positions,
        "between-characters",
        "LSP 3.17 #position: a position stands between two characters of its line",
        passive(observed, &[Fault::InsideCharacter, Fault::PastLineEnd], observed.ranges, "ranges"),
    );
}

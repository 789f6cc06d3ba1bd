//! Incremental equals fresh: after any series of edits the diagnostics are those of a new server that
//! was opened on the same text. It needs no ground truth. A difference counts as a defect only when it
//! shows three times of three and the fresh server agrees with itself.

mod edits;
mod replay;
mod shrink;

use serde_json::{Value, json};

use self::edits::{Edit, Special};
use self::replay::{Announcement, Edited, End, fresh};
use super::documents::SyncKind;
use super::findings::{Finding, difference, same, shortened};
use super::observed::Observed;
use super::settle::Diagnosis;
use super::subject::Subject;
use super::verdict::{Keyword, Seen, Verdicts};
use super::{NotReady, Progress};
use crate::results::{Evidence, Law};

/// How often the two sides are compared on the way, at most.
const CHECKPOINTS_MAX: usize = 8;
/// Edits between two comparisons, at least.
const STRIDE_MIN: usize = 10;
/// How often a difference must show.
const TIMES: usize = 3;

/// How much is edited.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) edits: usize,
}

const EXPECTED: &str = "LSP 3.17 #textDocument_didChange, #didChangeTextDocumentParams: changes applied in order leave \
                        the text that a new didOpen would give, and the same diagnostics";

/// Runs the law; returns facts, with a reproduction for each difference that was found.
pub(crate) async fn judge(
    subject: &Subject,
    plan: Plan,
    verdicts: &mut Verdicts,
    observed: &mut Observed,
    progress: Progress<'_>,
) -> Result<Value, NotReady> {
    let mut facts = serde_json::Map::new();
    let mut left_out = Vec::new();
    for special in Special::ALL {
        let (kind, keyword, expected) = requirement(special);
        let edits = special.series(&subject.fixture);
        let mut apart = Observed::default();
        let (seen, fact) = series(subject, plan.seed, &edits, 1, &mut apart, progress).await?;
        observed.merge(apart.without_positions());
        if !matches!(seen, Seen::Held(_)) {
            left_out.push(special);
        }
        facts.insert(kind.to_owned(), fact);
        verdicts.record(Law::IncrementalEqualsFresh, kind, keyword, expected, seen);
    }
    let checkpoints = CHECKPOINTS_MAX.min(plan.edits.div_ceil(STRIDE_MIN));
    let stride = stride(plan.edits, checkpoints);
    let edits = edits::series(plan.seed, plan.edits, stride, &subject.fixture, &left_out);
    let (mut seen, fact) = series(subject, plan.seed, &edits, checkpoints, observed, progress).await?;
    if let (Seen::Held(what), false) = (&mut seen, left_out.is_empty()) {
        let names: Vec<_> = left_out.iter().map(|special| requirement(*special).0).collect();
        what.push_str(&format!("; left out as checked apart: {}", names.join(", ")));
    }
    facts.insert("random-edits".to_owned(), fact);
    verdicts.must(Law::IncrementalEqualsFresh, "random-edits", EXPECTED, seen);
    Ok(Value::Object(facts))
}

fn requirement(special: Special) -> (&'static str, Keyword, &'static str) {
    match special {
        Special::WideCharacters => (
            "wide-characters",
            Keyword::Must,
            "LSP 3.17 #textDocuments: the columns of a change count in the agreed encoding",
        ),
        Special::PastLineEnd => (
            "past-line-end",
            Keyword::Should,
            "LSP 3.17 #position: a character behind the end of its line counts as the line's end",
        ),
        Special::WholeText => (
            "whole-text",
            Keyword::Must,
            "LSP 3.17 #textDocumentContentChangeEvent: a change without a range is the whole new text",
        ),
        Special::LoneCr => {
            ("lone-carriage-return", Keyword::Should, "LSP 3.17 #textDocuments: a lone carriage return ends a line")
        }
    }
}

/// How many edits lie between two comparisons.
fn stride(edits: usize, checkpoints: usize) -> usize {
    edits.div_ceil(checkpoints).max(1)
}

/// Runs one series of edits, compared so many times on the way.
async fn series(
    subject: &Subject,
    seed: u64,
    edits: &[Edit],
    checkpoints: usize,
    observed: &mut Observed,
    progress: Progress<'_>,
) -> Result<(Seen, Value), NotReady> {
    let mut edited = Edited::start(subject, "incremental").await?;
    let announcement = edited.announcement();
    if announcement.sync == SyncKind::None {
        observed.merge(edited.close().await);
        return Ok((Seen::Unclear("it takes no changes".to_owned()), Value::Null));
    }
    let mut run = Run { subject, seed, edits, announcement, observed, progress };
    let outcome = run.checkpoints(&mut edited, checkpoints).await;
    run.observed.merge(edited.close().await);
    match outcome? {
        Walked::Equal { compared, findings } => {
            Ok((equal(seed, edits.len(), compared, findings), json!({"compared": compared})))
        }
        Walked::Differs(case) => run.confirm(case).await,
    }
}

fn equal(seed: u64, edits: usize, compared: usize, findings: usize) -> Seen {
    let what = format!("{edits} edits from seed {seed}, compared {compared} times");
    if compared == 0 {
        return Seen::Unclear(format!("{what}: it was never quiet for long enough"));
    }
    if findings == 0 {
        return Seen::Unclear(format!("{what}: nothing was ever reported, so nothing was compared"));
    }
    Seen::Held(format!("{what}: equal each time, {findings} findings in all"))
}

/// What walking through the series showed.
enum Walked {
    Equal { compared: usize, findings: usize },
    Differs(Case),
}

/// A difference: after the first so many edits, on this text.
struct Case {
    edits: usize,
    text: String,
    incremental: Said,
    fresh: Said,
}

/// One side's last word.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Said {
    Findings(Vec<Finding>),
    Died(String),
    Unsettled,
}

impl Said {
    fn of(end: End) -> Self {
        match end {
            End::Said(Diagnosis { settled: false, .. }) => Self::Unsettled,
            End::Said(diagnosis) => Self::Findings(diagnosis.findings()),
            End::Died(tail) => Self::Died(tail),
        }
    }

    /// Whether both mean the same to a reader; `None` if that can't be told.
    fn equals(&self, other: &Self) -> Option<bool> {
        match (self, other) {
            (Self::Unsettled, _) | (_, Self::Unsettled) => None,
            (Self::Findings(one), Self::Findings(other)) => Some(same(one, other)),
            (Self::Died(_), Self::Died(_)) => Some(true),
            _ => Some(false),
        }
    }

    fn in_words(&self) -> String {
        match self {
            Self::Findings(findings) => format!("{} findings", findings.len()),
            Self::Died(tail) if tail.is_empty() => "the process ended".to_owned(),
            Self::Died(tail) => format!("the process ended: {}", shortened(tail, 200)),
            Self::Unsettled => "never quiet".to_owned(),
        }
    }
}

/// One run of the law.
struct Run<'a> {
    subject: &'a Subject,
    seed: u64,
    edits: &'a [Edit],
    announcement: Announcement,
    observed: &'a mut Observed,
    progress: Progress<'a>,
}

impl Run<'_> {
    /// Applies the whole series and compares on the way; stops at the first difference.
    async fn checkpoints(&mut self, edited: &mut Edited<'_>, checkpoints: usize) -> Result<Walked, NotReady> {
        let stride = stride(self.edits.len(), checkpoints);
        let (mut compared, mut findings, mut done) = (0, 0, 0);
        for chunk in self.edits.chunks(stride) {
            edited.apply(chunk).await;
            done += chunk.len();
            (self.progress)(&format!("incremental equals fresh: {done} of {} edits", self.edits.len()));
            let (text, incremental, fresh) = self.both(edited).await?;
            match incremental.equals(&fresh) {
                Some(false) => return Ok(Walked::Differs(Case { edits: done, text, incremental, fresh })),
                Some(true) => compared += 1,
                None => {}
            }
            if let Said::Findings(found) = &fresh {
                findings += found.len();
            }
        }
        Ok(Walked::Equal { compared, findings })
    }

    /// What both sides say of the newest text. They are waited for at once.
    async fn both(&mut self, edited: &mut Edited<'_>) -> Result<(String, Said, Said), NotReady> {
        let text = edited.text().to_owned();
        let (incremental, fresh) = tokio::join!(edited.end(), self.fresh(&text));
        Ok((text, Said::of(incremental), fresh?))
    }

    async fn fresh(&mut self, text: &str) -> Result<Said, NotReady> {
        let (end, observed) = fresh(self.subject, "fresh", text).await?;
        self.observed.merge(observed);
        Ok(Said::of(end))
    }

    /// Plays edits in a new server and compares with another one.
    async fn compare(&mut self, edits: &[Edit]) -> Result<Case, NotReady> {
        let mut edited = Edited::start(self.subject, "incremental again").await?;
        edited.apply(edits).await;
        let both = self.both(&mut edited).await;
        self.observed.merge(edited.close().await);
        let (text, incremental, fresh) = both?;
        Ok(Case { edits: edits.len(), text, incremental, fresh })
    }

    /// Whether a difference shows each time that it is looked for, and a reproduction of it.
    async fn confirm(&mut self, case: Case) -> Result<(Seen, Value), NotReady> {
        (self.progress)("incremental equals fresh: a difference; is it there each time?");
        let all = self.edits;
        let edits = &all[..case.edits];
        let again = self.fresh(&case.text).await?;
        if case.fresh.equals(&again) != Some(true) {
            let what = format!(
                "inconclusive: after {} edits from seed {} two fresh servers disagree on one text: {}",
                case.edits,
                self.seed,
                between(&case.fresh, &again).join("; ")
            );
            return Ok((Seen::Unclear(what), json!({"inconclusive": "fresh servers disagree"})));
        }
        let mut shown = 1;
        for _ in 1..TIMES {
            let case = self.compare(edits).await?;
            shown += usize::from(case.incremental.equals(&case.fresh) == Some(false));
        }
        if shown < TIMES {
            let what = format!(
                "inconclusive: a difference after {} edits from seed {} showed {shown} of {TIMES} times: {}",
                case.edits,
                self.seed,
                between(&case.incremental, &case.fresh).join("; ")
            );
            return Ok((Seen::Unclear(what), json!({"inconclusive": format!("shown {shown} of {TIMES} times")})));
        }
        let (edits, case) = shrink::shrink(self, edits.to_vec(), case).await?;
        Ok(self.defect(&edits, &case))
    }

    fn defect(&self, edits: &[Edit], case: &Case) -> (Seen, Value) {
        let (text, notifications) = replay::reproduction(self.subject, self.announcement, edits);
        let first = replay::first_text(&self.subject.fixture);
        let lines = between(&case.incremental, &case.fresh);
        let what = format!(
            "seed {}: after {} changes the server says {}, a fresh one {} ({TIMES} of {TIMES} times): {}",
            self.seed,
            notifications.len(),
            case.incremental.in_words(),
            case.fresh.in_words(),
            lines.join("; ")
        );
        let now = self.subject.now().as_millis_f64();
        let line = |who: &str, what: String| Evidence { at_ms: now, who: who.to_owned(), what };
        let mut evidence = vec![line("judge", format!("didOpen {}", shortened(&json!(first).to_string(), 600)))];
        evidence.extend(
            notifications
                .iter()
                .take(30)
                .map(|changes| line("judge", format!("didChange {}", shortened(&changes.to_string(), 600)))),
        );
        evidence.push(line("judge", format!("the text is now {}", shortened(&json!(text.as_str()).to_string(), 600))));
        evidence.extend(lines.into_iter().map(|what| line("server (`+` incremental, `-` fresh)", what)));
        let facts = json!({
            "reproduction": {
                "position_encoding": self.announcement.encoding.name(),
                "did_open": first,
                "did_change": notifications,
                "text": text.as_str(),
            }
        });
        (Seen::Broken(what, evidence), facts)
    }
}

fn between(one: &Said, other: &Said) -> Vec<String> {
    match (one, other) {
        (Said::Findings(one), Said::Findings(other)) => difference(one, other, 6),
        (one, other) => vec![format!("+ {}", one.in_words()), format!("- {}", other.in_words())],
    }
}

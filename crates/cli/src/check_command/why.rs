//! What justifies a conclusion, for people: the certificate's rule, the messages that it names, and
//! whether the independent checker finds it to hold.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use feedback::certificate::{self, Recorded};
use feedback::{Certificate, MessageRef, ProcessId, Record, Report, Rule};
use serde::Serialize;
use wire::trace::Direction;

/// Content kept in all; beyond it the oldest messages go.
const KEPT_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Characters of one message that are shown.
const SHOWN_CHARS_MAX: usize = 2_000;

type Key = (ProcessId, Direction, u64);

/// The messages that crossed the pipes.
#[derive(Default)]
pub(super) struct Messages {
    kept: BTreeMap<Key, Record>,
    order: VecDeque<Key>,
    bytes: usize,
}

/// One certificate beside its messages.
#[derive(Serialize)]
pub(super) struct Justified<'a> {
    certificate: &'a Certificate,
    messages: Vec<Shown>,
    /// `None` if it holds, else why not.
    refuted: Option<String>,
}

/// One message, as far as it is shown.
#[derive(Serialize)]
struct Shown {
    #[serde(flatten)]
    message: MessageRef,
    at_ms: Option<f64>,
    content: String,
}

impl Justified<'_> {
    /// Whether the certificate holds by its messages.
    pub(super) fn holds(&self) -> bool {
        self.refuted.is_none()
    }
}

impl Messages {
    pub(super) fn keep(&mut self, record: Record) {
        let key = (record.process, record.dir, record.seq);
        self.bytes += record.content.len();
        self.order.push_back(key);
        self.kept.insert(key, record);
        while self.bytes > KEPT_BYTES_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.bytes -= self.kept.remove(&oldest).map_or(0, |record| record.content.len());
        }
    }

    /// What justifies a report.
    pub(super) fn justify<'a>(&self, report: &'a Report) -> Vec<Justified<'a>> {
        report.certificates.iter().map(|certificate| self.beside(certificate)).collect()
    }

    fn beside<'a>(&self, certificate: &'a Certificate) -> Justified<'a> {
        let of_process = self.kept.values().filter(|record| record.process == certificate.process);
        let recorded: Vec<Recorded<'_>> = of_process.map(Recorded::from).collect();
        Justified {
            certificate,
            messages: certificate.messages.iter().map(|message| self.show(certificate.process, *message)).collect(),
            refuted: certificate::verify(certificate, &recorded).err().map(|refuted| refuted.to_string()),
        }
    }

    fn show(&self, process: ProcessId, message: MessageRef) -> Shown {
        match self.kept.get(&(process, message.dir, message.seq)) {
            Some(record) => Shown { message, at_ms: Some(record.at.as_millis_f64()), content: line(&record.content) },
            None => Shown { message, at_ms: None, content: "(no longer kept)".to_owned() },
        }
    }
}

/// Content as one bounded line without characters that a terminal would act upon.
fn line(content: &[u8]) -> String {
    let text = String::from_utf8_lossy(content);
    let mut line: String = text.chars().take(SHOWN_CHARS_MAX).map(harmless).collect();
    let left = text.chars().count().saturating_sub(SHOWN_CHARS_MAX);
    if left > 0 {
        line += &format!(" … ({left} characters more)");
    }
    line
}

/// Control characters, line separators, and characters that turn the reading direction become spaces.
fn harmless(character: char) -> char {
    let turns = matches!(character,
        '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if character.is_control() || turns { ' ' } else { character }
}

impl fmt::Display for Justified<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Certificate { server, version, text_hash, findings, rule, at, .. } = self.certificate;
        let rule = match rule {
            Rule::Versioned => "a push named the version of the newest text".to_owned(),
            Rule::Pulled => "a request after the newest text was answered in full".to_owned(),
            Rule::Settled { quiet_us } => {
                format!("a push came after the newest text, and no other for {} ms", quiet_us / 1000)
            }
            other => format!("{other:?}"),
        };
        let at = at.as_millis_f64();
        writeln!(f, "why: {server}: {rule}")?;
        writeln!(f, "  version {version}, text {text_hash}, {findings} findings, concluded at {at:.1} ms")?;
        for Shown { message, at_ms, content } in &self.messages {
            let arrow = match message.dir {
                Direction::ToServer => "->",
                Direction::ToClient => "<-",
            };
            let at = at_ms.map_or_else(String::new, |at| format!(" at {at:.1} ms"));
            writeln!(f, "  {arrow} #{}{at} {content}", message.seq)?;
        }
        match &self.refuted {
            None => writeln!(f, "  checked against the messages: it holds"),
            Some(why) => writeln!(f, "  checked against the messages: {why}"),
        }
    }
}

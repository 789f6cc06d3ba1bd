//! The messages of one session, with their times, as one-line excerpts: bounded, and what checks quote
//! as evidence.

use std::collections::VecDeque;

use serde_json::Value;
use wire::Time;

use crate::results::Evidence;
use crate::server::findings::shortened;

/// Lines kept per session; older ones go.
const LINES_MAX: usize = 4_000;
/// Characters of a message that are kept.
const EXCERPT_MAX: usize = 400;

/// A place in a log, for quoting what came after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Mark(u64);

/// The excerpts of one session.
#[derive(Debug)]
pub(crate) struct Log {
    session: String,
    lines: VecDeque<(u64, Evidence)>,
    next: u64,
}

impl Log {
    pub(crate) fn new(session: &str) -> Self {
        Self { session: session.to_owned(), lines: VecDeque::new(), next: 0 }
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark(self.next)
    }

    /// Notes a message that the probe sent.
    pub(crate) fn sent(&mut self, at: Time, message: &Value) {
        let who = format!("judge ({})", self.session);
        self.push(line(at, who, excerpt(message)));
    }

    /// Notes something that the server did; returns the line.
    pub(crate) fn heard(&mut self, at: Time, what: &str) -> Evidence {
        let line = self.line(at, what);
        self.push(line.clone());
        line
    }

    /// A line about the server, not kept.
    pub(crate) fn line(&self, at: Time, what: &str) -> Evidence {
        line(at, format!("server ({})", self.session), shortened(what, EXCERPT_MAX))
    }

    /// The first `max` lines since `mark`, log messages and progress left out.
    pub(crate) fn since(&self, mark: Mark, max: usize) -> Vec<Evidence> {
        let telling = |line: &&(u64, Evidence)| {
            line.0 >= mark.0
                && !["window/logMessage", "$/progress", "telemetry/event", "window/workDoneProgress"]
                    .iter()
                    .any(|chatter| line.1.what.starts_with(chatter))
        };
        let mut lines: Vec<_> = self.lines.iter().filter(telling).map(|(_, line)| line.clone()).collect();
        if lines.len() > max {
            // The cause stands at the beginning, the effect at the end.
            let left_out = lines.len() - max;
            let head = max / 2;
            let at_ms = lines[head].at_ms;
            let note =
                Evidence { at_ms, who: "judge".to_owned(), what: format!("… {left_out} messages left out …") };
            lines.splice(head..head + left_out, [note]);
        }
        lines
    }

    fn push(&mut self, line: Evidence) {
        if self.lines.len() == LINES_MAX {
            self.lines.pop_front();
        }
        self.lines.push_back((self.next, line));
        self.next += 1;
    }
}

fn line(at: Time, who: String, what: String) -> Evidence {
    Evidence { at_ms: at.as_millis_f64(), who, what }
}

/// A message in one line, the telling members first.
pub(crate) fn excerpt(message: &Value) -> String {
    let member = |name: &str| message.get(name);
    let id = member("id").map(|id| format!("#{id} ")).unwrap_or_default();
    let text = match (member("method").and_then(Value::as_str), member("error"), member("result")) {
        (Some(method), ..) => format!("{method} {id}{}", member("params").map(Value::to_string).unwrap_or_default()),
        (None, Some(error), _) => format!("response {id}error {error}"),
        (None, None, Some(result)) => format!("response {id}result {result}"),
        (None, None, None) => message.to_string(),
    };
    shortened(text.trim_end(), EXCERPT_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn evidence_keeps_the_beginning_and_the_end_and_is_bounded() {
        let mut log = Log::new("test");
        let mark = log.mark();
        for number in 0..LINES_MAX as u64 + 10 {
            log.sent(Time(number), &json!({"jsonrpc": "2.0", "method": "m", "params": number}));
        }
        assert_eq!(log.lines.len(), LINES_MAX);
        let what: Vec<_> = log.since(mark, 4).into_iter().map(|line| line.what).collect();
        assert_eq!(what, ["m 10", "m 11", "… 3996 messages left out …", "m 4008", "m 4009"]);
    }
}

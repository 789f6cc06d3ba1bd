//! One session of the adapter protocol: lines in, calls of the loop, answers out as they come.

use std::collections::BTreeMap;
use std::path::PathBuf;

use assay::protocol::{Answer, Op, PROTOCOL_VERSION, Request, Start, reference};
use feedback::runtime::Feedback;
use feedback::{CallId, Policy};
use miette::{IntoDiagnostic as _, Result};
use tokio::io::{AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::task::JoinSet;

use super::lines::{LINE_BYTES_MAX, Line, Lines};
use crate::output;
use crate::session::stop;

/// Calls that may be under way at once.
const CALLS_MAX: usize = 512;

/// Servers that one session may name.
const SERVERS_MAX: usize = 64;

/// The loop, once it has been started.
struct Running {
    feedback: Feedback,
    policy: Policy,
}

/// What is known between two lines.
#[derive(Default)]
struct Session {
    running: Option<Running>,
    /// Calls under way, by the ids of their lines.
    calls: BTreeMap<u64, CallId>,
    answers: JoinSet<(u64, feedback::Answer)>,
    /// The line that asked for the end.
    stopping: Option<u64>,
}

/// Serves until `stop` was answered, or standard input ended and every open call was answered; `false` if
/// it was interrupted before.
/// Nothing runs afterwards.
pub(super) async fn serve(interrupted: impl Future<Output = Result<()>>) -> Result<bool> {
    let mut session = Session::default();
    let mut lines = Lines::new(BufReader::new(tokio::io::stdin()));
    let mut out = tokio::io::stdout();
    let served = tokio::select! {
        served = session.serve(&mut lines, &mut out) => served.map(|()| true),
        interrupt = interrupted => interrupt.map(|()| false),
    };
    if let Some(running) = session.running {
        stop(running.feedback).await;
    }
    served
}

impl Session {
    async fn serve<R, W>(&mut self, lines: &mut Lines<R>, out: &mut W) -> Result<()>
    where
        R: tokio::io::AsyncBufRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        loop {
            let answer = tokio::select! {
                line = lines.next(), if self.stopping.is_none() => match line.into_diagnostic()? {
                    None => return self.end(out).await,
                    Some(line) => self.take(&line),
                },
                Some(Ok((id, answer))) = self.answers.join_next(), if !self.answers.is_empty() => {
                    if self.stopping == Some(id) {
                        return self.finish(id, &answer, out).await;
                    }
                    Some(self.answer(id, &answer))
                }
            };
            if let Some(answer) = answer {
                write(out, &answer).await?;
            }
        }
    }

    /// Takes a line; an answer if it is known at once.
    fn take(&mut self, line: &Line) -> Option<Answer> {
        let bytes = match line {
            Line::TooLong => {
                return Some(reference::refused(0, format!("the line is longer than {LINE_BYTES_MAX} bytes")));
            }
            Line::Whole(bytes) => bytes.trim_ascii(),
        };
        if bytes.is_empty() {
            return None;
        }
        match serde_json::from_slice::<Request>(bytes) {
            Ok(Request { id, op }) => self.begin(id, op).unwrap_or_else(|error| Some(reference::refused(id, error))),
            Err(error) => Some(reference::refused(id_of(bytes), format!("the line is no request: {error}"))),
        }
    }

    /// Begins an operation.
    fn begin(&mut self, id: u64, op: Op) -> Result<Option<Answer>, String> {
        let Some(running) = &self.running else {
            let Op::Start(start) = op else {
                return if matches!(op, Op::Stop) { self.stop_unstarted(id) } else { Err(FIRST.to_owned()) };
            };
            self.running = Some(begin(&start)?);
            return Ok(Some(reference::started(id)));
        };
        if self.calls.contains_key(&id) {
            return Err(format!("a call with the id {id} is under way"));
        }
        if self.calls.len() >= CALLS_MAX {
            return Err(format!("{CALLS_MAX} calls are under way, which is the limit"));
        }
        let request = match op {
            // A call that has ended has nothing left to cancel.
            Op::Cancel { call } => match self.calls.get(&call) {
                Some(call) => feedback::Request::Cancel { call: *call },
                None => return Ok(Some(Answer { id, ok: true, ..Answer::default() })),
            },
            op => reference::request(&op)?,
        };
        if matches!(request, feedback::Request::Stop) {
            self.stopping = Some(id);
        }
        let pending = running.feedback.submit(request);
        self.calls.insert(id, pending.id);
        self.answers.spawn(async move { (id, pending.answer().await) });
        Ok(None)
    }

    /// Nothing was started, so nothing is to be stopped; the answer still comes last.
    fn stop_unstarted(&mut self, id: u64) -> Result<Option<Answer>, String> {
        self.stopping = Some(id);
        self.answers.spawn(std::future::ready((id, feedback::Answer::Done)));
        Ok(None)
    }

    fn answer(&mut self, id: u64, answer: &feedback::Answer) -> Answer {
        self.calls.remove(&id);
        let policy = self.running.as_ref().map(|running| running.policy.clone()).unwrap_or_default();
        reference::answer(id, answer, &policy)
    }

    /// The loop has ended: every other call was answered by it, and is told before the stop.
    async fn finish<W: AsyncWrite + Unpin>(&mut self, id: u64, stopped: &feedback::Answer, out: &mut W) -> Result<()> {
        self.answer_all(out).await?;
        let stopped = self.answer(id, stopped);
        write(out, &stopped).await
    }

    /// Nothing more is asked: as a stop, but there is no line that it could answer.
    async fn end<W: AsyncWrite + Unpin>(&mut self, out: &mut W) -> Result<()> {
        let Some(running) = &self.running else { return Ok(()) };
        let stopped = running.feedback.submit(feedback::Request::Stop);
        self.answer_all(out).await?;
        stopped.answer().await;
        Ok(())
    }

    /// Tells the answers of all calls under way, which are about to end.
    async fn answer_all<W: AsyncWrite + Unpin>(&mut self, out: &mut W) -> Result<()> {
        while let Some(joined) = self.answers.join_next().await {
            if let Ok((id, answer)) = joined {
                let answer = self.answer(id, &answer);
                write(out, &answer).await?;
            }
        }
        Ok(())
    }
}

const FIRST: &str = "the first operation has to be `start`";

fn begin(start: &Start) -> Result<Running, String> {
    if start.protocol != PROTOCOL_VERSION {
        return Err(format!("this loop speaks protocol {PROTOCOL_VERSION}, not {}", start.protocol));
    }
    if start.servers.len() > SERVERS_MAX {
        return Err(format!("{} servers are too many; at most {SERVERS_MAX} are taken", start.servers.len()));
    }
    let root = PathBuf::from(&start.root);
    if !root.is_absolute() || !root.is_dir() {
        return Err(format!("the root `{}` is no absolute path of a folder", start.root));
    }
    let root = root.canonicalize().map_err(|error| format!("the root `{}`: {error}", start.root))?;
    let mut config = reference::config(start, Some(std::process::id()));
    config.root = root;
    let policy = config.policy.clone();
    Ok(Running { feedback: Feedback::start(config), policy })
}

/// The id of a line that is no request, 0 if it has none.
fn id_of(line: &[u8]) -> u64 {
    let value: Option<serde_json::Value> = serde_json::from_slice(line).ok();
    value.and_then(|value| value.get("id")?.as_u64()).unwrap_or(0)
}

/// Writes one line. A judge that has gone away is noticed by the end of standard input.
async fn write<W: AsyncWrite + Unpin>(out: &mut W, answer: &Answer) -> Result<()> {
    let mut line = serde_json::to_vec(answer).into_diagnostic()?;
    line.push(b'\n');
    let written = match out.write_all(&line).await {
        Ok(()) => out.flush().await,
        failed => failed,
    };
    output::written(written)
}

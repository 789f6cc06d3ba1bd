//! What a host holds: a cheap handle to a running loop, and the answers that are on their way.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::{mpsc, oneshot};

use super::driver::{Driver, Recorder, Submitted};
use crate::{Answer, CallId, Config, Loop, Record, Report, Request};

/// Calls that may wait for the loop to look at them; it looks at once.
const CALLS_MAX: usize = 1024;

/// A running loop. Clones are the same loop. When the last one is dropped, or the tokio runtime ends,
/// every server is shut down; [`Feedback::stop`] does so in order and waits for it.
///
/// ```no_run
/// # async fn example(config: feedback::Config) -> Result<(), feedback::runtime::Refused> {
/// let feedback = feedback::runtime::Feedback::start(config);
/// let report = feedback.check("src/main.py").await?;
/// println!("{}", report.conclusion);
/// feedback.stop().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Feedback {
    calls: mpsc::Sender<Submitted>,
    next: Arc<AtomicU64>,
}

/// The loop did not do what was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Refused {
    /// Why, as a sentence fragment.
    pub reason: String,
}

/// A call under way. Dropping it does not end the call; [`Request::Cancel`] with its id does.
#[derive(Debug)]
pub struct Pending {
    /// Its id, for [`Request::Cancel`].
    pub id: CallId,
    answer: Result<oneshot::Receiver<Answer>, &'static str>,
}

impl Pending {
    /// Waits for the answer.
    pub async fn answer(self) -> Answer {
        let refused = |reason: &str| Answer::Refused { reason: reason.to_owned() };
        match self.answer {
            Ok(answer) => answer.await.unwrap_or_else(|_| refused("the loop ended before it answered")),
            Err(reason) => refused(reason),
        }
    }
}

impl Feedback {
    /// Starts a loop; its servers start when they are needed. To be called within a tokio runtime that
    /// has its I/O and time drivers enabled.
    #[must_use]
    pub fn start(config: Config) -> Self {
        Self::launch(config, None)
    }

    /// As [`Self::start`], and hands every message that crosses a pipe to `recorder`, which runs within
    /// the loop's task: it has to be quick.
    #[must_use]
    pub fn start_recorded(mut config: Config, recorder: impl FnMut(Record) + Send + 'static) -> Self {
        config.policy.record = true;
        Self::launch(config, Some(Box::new(recorder)))
    }

    fn launch(config: Config, recorder: Option<Recorder>) -> Self {
        let root = config.root.clone();
        let (calls, received) = mpsc::channel(CALLS_MAX);
        tokio::spawn(Driver::run(Loop::new(config), root, recorder, received));
        Self { calls, next: Arc::default() }
    }

    /// Hands a request to the loop; requests reach it in this order. The answer may be awaited later,
    /// beside others.
    #[must_use]
    pub fn submit(&self, request: Request) -> Pending {
        let call = CallId(self.next.fetch_add(1, Ordering::Relaxed));
        let (reply, answer) = oneshot::channel();
        let answer = match self.calls.try_send(Submitted { call, request, reply }) {
            Ok(()) => Ok(answer),
            Err(mpsc::error::TrySendError::Full(_)) => Err("too many calls are waiting"),
            Err(mpsc::error::TrySendError::Closed(_)) => Err("the loop has stopped"),
        };
        Pending { id: call, answer }
    }

    /// Asks and waits for the answer.
    pub async fn call(&self, request: Request) -> Answer {
        self.submit(request).answer().await
    }

    /// Feedback on a file that was edited and is on disk.
    ///
    /// # Errors
    /// [`Refused`], for a file outside the workspace or after a stop.
    pub async fn check(&self, path: impl Into<PathBuf>) -> Result<Report, Refused> {
        match self.call(Request::Check { path: path.into() }).await {
            Answer::Report(report) => Ok(*report),
            other => Err(unexpected(other)),
        }
    }

    /// A file is being read: starts its server and opens it, without waiting.
    ///
    /// # Errors
    /// As [`Self::check`].
    pub async fn read(&self, path: impl Into<PathBuf>) -> Result<(), Refused> {
        self.tell(Request::Read { path: path.into() }).await
    }

    /// A file is no longer of interest.
    ///
    /// # Errors
    /// As [`Self::check`].
    pub async fn close(&self, path: impl Into<PathBuf>) -> Result<(), Refused> {
        self.tell(Request::Close { path: path.into() }).await
    }

    /// A file was deleted.
    ///
    /// # Errors
    /// As [`Self::check`].
    pub async fn delete(&self, path: impl Into<PathBuf>) -> Result<(), Refused> {
        self.tell(Request::Delete { path: path.into() }).await
    }

    /// Ends an earlier call now; it is answered with what is known.
    ///
    /// # Errors
    /// As [`Self::check`].
    pub async fn cancel(&self, call: CallId) -> Result<(), Refused> {
        self.tell(Request::Cancel { call }).await
    }

    /// Results that came after their call had ended and still hold, oldest first, each told once.
    ///
    /// # Errors
    /// [`Refused`] after a stop.
    pub async fn late(&self) -> Result<Vec<Report>, Refused> {
        match self.call(Request::Late).await {
            Answer::Late(reports) => Ok(reports),
            other => Err(unexpected(other)),
        }
    }

    /// Shuts every server down, in order and bounded, and waits until nothing is left. Calls under way
    /// are answered first; clones of this handle are refused from here on.
    pub async fn stop(self) {
        let _ = self.call(Request::Stop).await;
        self.calls.closed().await;
    }

    async fn tell(&self, request: Request) -> Result<(), Refused> {
        match self.call(request).await {
            Answer::Done => Ok(()),
            other => Err(unexpected(other)),
        }
    }
}

fn unexpected(answer: Answer) -> Refused {
    let reason = match answer {
        Answer::Refused { reason } => reason,
        _ => "the loop gave an answer of another kind".to_owned(),
    };
    Refused { reason }
}

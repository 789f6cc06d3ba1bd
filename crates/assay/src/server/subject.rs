//! The server under test: its command, the workspace it is shown, and what has been learnt of its pace.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;
use wire::Time;

use super::rhythm::Rhythm;
use crate::fixture::Fixture;

/// One server under test and everything that its sessions share.
pub(crate) struct Subject {
    /// Its command, as a person would type it.
    pub(crate) name: String,
    pub(crate) command: feedback::Command,
    pub(crate) root: PathBuf,
    pub(crate) fixture: Fixture,
    /// What `workspace/configuration` is answered from, by dotted section.
    pub(crate) settings: Value,
    /// How fast it was seen to push.
    pub(crate) push_rhythm: Cell<Rhythm>,
    /// How fast it was seen to be right when it is asked.
    pub(crate) pull_rhythm: Cell<Rhythm>,
    /// How long a new process may take to report its first error.
    pub(crate) first_max: Duration,
    /// How many requests it has left without an answer since the last that it answered.
    pub(crate) silences: Cell<u32>,
    /// The start of the run's clock.
    pub(crate) origin: Instant,
}

/// How long any answer may take before it counts as none.
pub(crate) const ANSWER_MAX: Duration = Duration::from_secs(20);

/// The same for a server that has left several requests without an answer, one after the other.
const ANSWER_OF_THE_SILENT_MAX: Duration = Duration::from_secs(1);

/// How long a process may live on when it should end.
pub(crate) const EXIT_MAX: Duration = Duration::from_secs(5);

/// How long findings may take to settle after an edit.
pub(crate) const SETTLE_MAX: Duration = Duration::from_secs(20);

impl Subject {
    /// The probed file's URI.
    pub(crate) fn uri(&self) -> String {
        uri_of(&self.root.join(&self.fixture.file_name))
    }

    /// How long to wait for an answer: a server that doesn't answer is not waited for time and again.
    pub(crate) fn answer_max(&self) -> Duration {
        if self.silences.get() < 3 { ANSWER_MAX } else { ANSWER_OF_THE_SILENT_MAX }
    }

    /// Now, on the run's clock.
    pub(crate) fn now(&self) -> Time {
        Time::ZERO.after(self.origin.elapsed())
    }
}

/// The `file:` URI of an absolute path.
pub(crate) fn uri_of(path: &Path) -> String {
    url::Url::from_file_path(path).map_or_else(|()| format!("file://{}", path.display()), String::from)
}

/// What makes two URIs name one file, however each is escaped.
pub(crate) fn same_uri(one: &str, other: &str) -> bool {
    let path = |uri: &str| url::Url::parse(uri).ok().and_then(|url| url.to_file_path().ok());
    one == other || path(one).is_some_and(|one| Some(one) == path(other))
}

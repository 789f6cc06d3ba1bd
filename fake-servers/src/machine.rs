//! The interpreter: one script, one process, no I/O.

use std::sync::Arc;

use scenario::Script;
use wire::Time;
use wire::trace::Entry;

/// What differs between two runs of one script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Seeds jitter.
    pub seed: u64,
    /// Which start of this server it is, from 1.
    pub instance: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self { seed: 0, instance: 1 }
    }
}

/// What happened outside.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// The process has started. The first input.
    Start,
    /// Bytes from the standard input, in any split.
    Bytes(&'a [u8]),
    /// The standard input ended.
    InputClosed,
    /// The judge opened a gate, for good.
    Gate(&'a str),
    /// The process is asked to end (`SIGTERM`).
    Terminate,
    /// Time has passed, at least to [`Fake::next_deadline`].
    Wake,
}

/// What is to be done, in order.
#[derive(Clone, Debug)]
pub enum Output {
    /// Write these bytes to the standard output.
    Write(Vec<u8>),
    /// Close the standard output.
    CloseOutput,
    /// Take nothing further from the standard input.
    StopReading,
    /// Take from it again.
    ResumeReading,
    /// Write these bytes to the standard error.
    Stderr(Vec<u8>),
    /// End with this code. The last output.
    Exit {
        /// The code.
        code: i32,
    },
    /// End as by `SIGKILL`. The last output.
    Die,
    /// A line of the trace.
    Trace(Entry),
}

/// A fake language server: inputs and the time in, outputs out.
pub struct Fake {
    script: Arc<Script>,
    options: Options,
}

impl Fake {
    /// A server that runs `script`; it does nothing before [`Input::Start`].
    #[must_use]
    pub fn new(script: Arc<Script>, options: Options) -> Self {
        Self { script, options }
    }

    /// Takes one input and appends what is to be done to `out`. `now` never goes back.
    pub fn handle(&mut self, input: Input<'_>, now: Time, out: &mut Vec<Output>) {
        let _ = (input, now, &self.script, self.options);
        out.clear();
    }

    /// When [`Input::Wake`] is due at the latest; `None` if nothing waits for time. A driver whose pipe
    /// is full holds `Wake` back: that is what keeps a flood in bounds.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Time> {
        None
    }
}

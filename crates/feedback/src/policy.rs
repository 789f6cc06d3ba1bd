//! Every tunable of the loop in one value. Units are in the names; sources stand beside the constants.

use std::time::Duration;

/// How the loop waits, believes, bounds and words. `Policy::default()` is the reference.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Policy {
    /// Longest wait for the answer to `initialize`, from the spawn.
    pub initialize_budget: Duration,
    /// Longest wait of a call that is the first of its server, from the moment the server is ready.
    pub first_budget: Duration,
    /// Longest wait of every other call, from the call.
    pub call_budget: Duration,
    /// Longest wait of any call in all, whatever the parts add up to.
    pub total_budget: Duration,
    /// Quiet after an unproven result before it is taken, once the server is known well enough;
    /// of a server of which nothing is known it is what remains of the budget.
    pub settle: Duration,
    /// Consistent calls before a server's own settle time is believed.
    pub learn_calls: u32,
    /// Longest time a write to a server may take before the server counts as not reading.
    pub write_budget: Duration,
    /// Bytes waiting for one server's input before it counts as not reading.
    pub write_queue_bytes_max: usize,
    /// First pause before a pull is asked again; doubled each time.
    pub retrigger_pause: Duration,
    /// Pulls of one text at most, refused ones included.
    pub pulls_max: u32,
    /// Wait for the answer to `shutdown`.
    pub shutdown_budget: Duration,
    /// Wait for the process to end by itself after `exit`: some need a moment to write their index.
    pub exit_budget: Duration,
    /// Wait for the process group to end after `SIGTERM`, before `SIGKILL`.
    pub terminate_budget: Duration,
    /// Starts of one server at most within [`Self::restart_window`].
    pub starts_max: u32,
    /// See [`Self::starts_max`].
    pub restart_window: Duration,
    /// Largest file that is synced, in bytes.
    pub file_bytes_max: u64,
    /// Bounds on what a server may send.
    pub limits: wire::Limits,
    /// Findings kept per document and channel; more are counted only.
    pub findings_max: usize,
    /// Lines of findings in a report's text.
    pub lines_max: usize,
    /// Characters of one message in a report.
    pub message_chars_max: usize,
    /// The mildest severity that a report's text lists.
    pub severity: crate::Severity,
    /// Whether [`crate::Effect::Record`] is emitted.
    pub record: bool,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            // Garuda's three waits (30 s, 30 s, 5 s); opencode waits 45 s for initialize.
            initialize_budget: Duration::from_secs(30),
            first_budget: Duration::from_secs(30),
            call_budget: Duration::from_secs(5),
            total_budget: Duration::from_secs(60),
            // opencode and SolonCode: 150 ms.
            settle: Duration::from_millis(150),
            learn_calls: 3,
            write_budget: Duration::from_secs(5),
            write_queue_bytes_max: 64 * 1024 * 1024,
            retrigger_pause: Duration::from_millis(50),
            pulls_max: 10,
            shutdown_budget: Duration::from_millis(500),
            exit_budget: Duration::from_millis(1_500),
            terminate_budget: Duration::from_millis(500),
            // LSP 3.17 implementation considerations: five crashes in three minutes are enough.
            starts_max: 5,
            restart_window: Duration::from_secs(180),
            file_bytes_max: 16 * 1024 * 1024,
            limits: wire::Limits { header_bytes_max: 4 * 1024, message_bytes_max: 64 * 1024 * 1024 },
            findings_max: 10_000,
            // opencode, Garuda and SolonCode: 20 lines; Garuda: 300 characters.
            lines_max: 20,
            message_chars_max: 300,
            severity: crate::Severity::Error,
            record: false,
        }
    }
}

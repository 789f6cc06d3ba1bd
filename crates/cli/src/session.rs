//! What the commands share that run a loop: the tokio runtime, interruption, and an end that leaves
//! nothing running.

use std::time::Duration;

use feedback::runtime::Feedback;
use miette::{IntoDiagnostic as _, Result};
use tokio::signal::unix::{SignalKind, signal};

/// Longest wait for an orderly end; what is left then is killed.
const STOP_MAX: Duration = Duration::from_millis(1500);

/// Runs a future on this thread. What still blocks a helper thread afterwards (a read of a terminal, of
/// a file on a dead mount) is not waited for.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().into_diagnostic()?;
    let value = runtime.block_on(future);
    runtime.shutdown_background();
    Ok(value)
}

/// Resolves when the user interrupts: Ctrl-C, a request to terminate, a closed terminal.
pub(crate) async fn interrupted() -> Result<()> {
    let mut interrupt = signal(SignalKind::interrupt()).into_diagnostic()?;
    let mut terminate = signal(SignalKind::terminate()).into_diagnostic()?;
    let mut hangup = signal(SignalKind::hangup()).into_diagnostic()?;
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        _ = hangup.recv() => {}
    }
    Ok(())
}

/// Does the work until it is done, `None` if the user interrupts it.
pub(crate) async fn until_interrupted<T>(work: impl Future<Output = T>) -> Result<Option<T>> {
    tokio::select! {
        value = work => Ok(Some(value)),
        interrupt = interrupted() => interrupt.map(|()| None),
    }
}

/// Ends a loop: in order if that is soon enough, by force if it isn't.
pub(crate) async fn stop(feedback: Feedback) {
    // When the time is up the handle is gone, and the end of the runtime kills what is left.
    let _ = tokio::time::timeout(STOP_MAX, feedback.stop()).await;
}

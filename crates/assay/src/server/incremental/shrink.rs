//! Makes a failing series short: parts of it are left out as long as the difference stays, for a
//! bounded time.

use std::time::Duration;

use tokio::time::Instant;

use super::edits::Edit;
use super::{Case, Run, TIMES};
use crate::server::NotReady;

/// How long it may take: a reader waits for it.
const SHRINK_MAX: Duration = Duration::from_secs(45);

/// The shortest series found that still differs, and how; the whole one if a shorter one did not stand
/// up to being looked at as often as it.
pub(super) async fn shrink(run: &mut Run<'_>, whole: Vec<Edit>, case: Case) -> Result<(Vec<Edit>, Case), NotReady> {
    let deadline = Instant::now() + SHRINK_MAX;
    let mut edits = whole.clone();
    let mut found = None;
    let mut part = edits.len().div_ceil(2);
    while part > 0 && Instant::now() < deadline {
        let mut start = 0;
        while start < edits.len() && edits.len() > 1 && Instant::now() < deadline {
            (run.progress)(&format!("incremental equals fresh: shrinking, {} edits", edits.len()));
            let mut shorter = edits.clone();
            shorter.drain(start..(start + part).min(edits.len()));
            let case = run.compare(&shorter).await?;
            if case.incremental.equals(&case.fresh) == Some(false) {
                edits = shorter;
                found = Some(case);
            } else {
                start += part;
            }
        }
        part /= 2;
    }
    let Some(shorter) = found else { return Ok((whole, case)) };
    for _ in 1..TIMES {
        let again = run.compare(&edits).await?;
        if again.incremental.equals(&again.fresh) != Some(false) {
            return Ok((whole, case));
        }
    }
    Ok((edits, shorter))
}

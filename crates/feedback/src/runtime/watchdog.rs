//! The watchdog: one small helper process that outlives this one by a moment and ends the server groups
//! that this one could not end any more (`SIGKILL`, `abort`, a panic, a forgotten handle).
//!
//! It is `/bin/sh` reading lines from a pipe whose other end only this process holds: the kernel closes
//! that end however this process ends. `+ N` and `- N` say that group N began and ended. A group is
//! taken off the list before its leader is reaped, so its number cannot belong to anybody else yet.
//! The helper leads a group of its own, holds none of the servers' pipes, and shrugs off the signals
//! that a terminal sends.

use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// Only builtins: nothing is forked until groups have to be ended, and not even then.
const SCRIPT: &str = r#"
trap '' HUP INT QUIT TERM TSTP
groups=
while read -r verb group; do
    case $verb in
    +) groups="$groups $group" ;;
    -)
        kept=
        for one in $groups; do
            [ "$one" = "$group" ] || kept="$kept $one"
        done
        groups=$kept
        ;;
    esac
done
for one in $groups; do
    kill -s KILL -- "-$one" 2>/dev/null
done
"#;

/// The one watchdog of this process; started with the first server.
static WATCHDOG: Mutex<Option<Watchdog>> = Mutex::new(None);

/// The helper, and what it has been told.
struct Watchdog {
    helper: Child,
    input: ChildStdin,
    groups: BTreeSet<i32>,
}

/// Has the group ended should this process end first.
///
/// # Errors
/// When the helper can't be started.
pub(super) fn guard(group: i32) -> io::Result<()> {
    let mut slot = WATCHDOG.lock().unwrap_or_else(PoisonError::into_inner);
    let mut watchdog = match slot.take() {
        Some(watchdog) => watchdog,
        None => Watchdog::start(BTreeSet::new())?,
    };
    watchdog.groups.insert(group);
    if watchdog.tell('+', group).is_err() {
        // Somebody ended the helper; a new one is told everything that still runs.
        watchdog = Watchdog::start(watchdog.end())?;
    }
    *slot = Some(watchdog);
    Ok(())
}

/// The group has ended. To be called while its leader is not yet reaped.
pub(super) fn release(group: i32) {
    let mut slot = WATCHDOG.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(watchdog) = slot.as_mut() {
        watchdog.groups.remove(&group);
        // If the helper is gone there is nobody who could end the wrong group; `guard` starts anew.
        let _ = watchdog.tell('-', group);
    }
}

impl Watchdog {
    fn start(groups: BTreeSet<i32>) -> io::Result<Self> {
        let mut helper = Command::new("/bin/sh")
            .args(["-c", SCRIPT, "lsp-watchdog"])
            .env_clear()
            .current_dir("/")
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let input = helper.stdin.take().ok_or_else(|| io::Error::other("the helper has no standard input"))?;
        let mut watchdog = Self { helper, input, groups };
        for group in watchdog.groups.clone() {
            watchdog.tell('+', group)?;
        }
        Ok(watchdog)
    }

    fn tell(&mut self, verb: char, group: i32) -> io::Result<()> {
        self.input.write_all(format!("{verb} {group}\n").as_bytes())
    }

    /// Reaps a helper that is gone; hands back what it had been told.
    fn end(mut self) -> BTreeSet<i32> {
        let _ = self.helper.kill();
        let _ = self.helper.wait();
        self.groups
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;

    use super::*;

    /// A process that leads a group and, left alone, outlives any test.
    fn leader() -> (Child, i32) {
        let child = Command::new("sleep").arg("600").process_group(0).spawn().unwrap();
        let group = i32::try_from(child.id()).unwrap();
        (child, group)
    }

    #[test]
    fn groups_end_with_the_pipe_unless_they_were_released() {
        let (mut guarded, guarded_group) = leader();
        let (mut released, released_group) = leader();
        let mut watchdog = Watchdog::start(BTreeSet::from([released_group])).unwrap();
        watchdog.tell('+', guarded_group).unwrap();
        watchdog.tell('-', released_group).unwrap();

        drop(watchdog.input);
        assert_eq!(guarded.wait().unwrap().signal(), Some(9));
        assert!(watchdog.helper.wait().unwrap().code().is_some(), "the helper ends by itself");
        assert_eq!(released.try_wait().unwrap(), None);
        released.kill().unwrap();
        released.wait().unwrap();
    }

    #[test]
    fn the_helper_survives_what_a_terminal_sends() {
        let (mut guarded, group) = leader();
        let mut watchdog = Watchdog::start(BTreeSet::from([group])).unwrap();
        let helper = rustix::process::Pid::from_child(&watchdog.helper);
        for signal in [rustix::process::Signal::HUP, rustix::process::Signal::INT, rustix::process::Signal::TERM] {
            // Answered lines prove that the traps are set: the pipe is read in order, but nothing comes
            // back, so the signals are sent once the shell is seen to ignore them.
            while !ignores(helper, signal) {
                std::thread::yield_now();
            }
            rustix::process::kill_process(helper, signal).unwrap();
        }
        watchdog.tell('+', group).unwrap();
        drop(watchdog.input);
        assert_eq!(guarded.wait().unwrap().signal(), Some(9));
        assert_eq!(watchdog.helper.wait().unwrap().signal(), None);
    }

    /// Whether the process ignores the signal, as `/proc` tells.
    fn ignores(pid: rustix::process::Pid, signal: rustix::process::Signal) -> bool {
        let status = std::fs::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero())).unwrap();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap().trim();
        u64::from_str_radix(mask, 16).unwrap() & (1 << (signal.as_raw() - 1)) != 0
    }
}

//! Processes as the judge sees them: held by a descriptor, so that a process id that was given to
//! another process is never signalled, and searched for by the mark that their world left on them.

use std::collections::BTreeMap;
use std::fs;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// The variable by which the descendants of a judged loop are known.
pub(super) const MARK: &str = "LSP_ASSAY_WORLD";

/// One process that may have ended, held so that its id cannot be mistaken.
#[derive(Debug)]
pub(super) struct Held {
    fd: OwnedFd,
    pub(super) pid: u32,
}

impl Held {
    /// Takes hold of a process; `None` if there is none.
    pub(super) fn of(pid: u32) -> Option<Self> {
        let raw = Pid::from_raw(i32::try_from(pid).ok()?)?;
        pidfd_open(raw, PidfdFlags::empty()).ok().map(|fd| Self { fd, pid })
    }

    /// Readable when the process has ended.
    pub(super) fn poll_fd(&self) -> PollFd<'_> {
        PollFd::new(&self.fd, PollFlags::IN)
    }

    /// The descriptor, to wait for a child by.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Whether it has ended.
    pub(super) fn has_ended(&self) -> bool {
        poll(&mut [self.poll_fd()], Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|ready| ready > 0)
    }

    /// Kills it, if it has not ended.
    pub(super) fn kill(&self) {
        // The only failure is that it has ended.
        let _ = pidfd_send_signal(&self.fd, Signal::KILL);
    }
}

/// What marks the processes of one world.
#[derive(Clone, Debug)]
pub(super) struct Marks<'a> {
    /// The value of [`MARK`] in their environment.
    pub(super) world: &'a str,
    /// The folder that their command lines name.
    pub(super) dir: &'a Path,
    /// The loop's process group.
    pub(super) group: u32,
}

/// How often one process is looked at while it is being replaced.
const LOOKS_MAX: u32 = 50;
/// How often the processes are listed, on a machine where there is always something new.
const LISTINGS_MAX: u32 = 200;

/// The processes that carry one of the marks and have not ended, with their command lines.
///
/// A listing is not an instant: a child may be missing from it and its parent gone before it is looked
/// at. So it is repeated until there is nothing new to be seen.
pub(super) fn marked(marks: &Marks<'_>) -> Vec<(Held, String)> {
    let mut looks = BTreeMap::from([(std::process::id(), LOOKS_MAX)]);
    let mut found = Vec::new();
    for _ in 0..LISTINGS_MAX {
        let new: Vec<u32> = pids().filter(|pid| looks.get(pid).is_none_or(|looks| *looks < LOOKS_MAX)).collect();
        if new.is_empty() {
            break;
        }
        for pid in new {
            let count = looks.entry(pid).or_default();
            // Held first and looked at second: what is read is then of the process that is held.
            let look = Held::of(pid).map(|held| (look(pid, marks), held));
            match look {
                Some((Look::BeingReplaced, held)) if !held.has_ended() => *count += 1,
                Some((Look::Carries(command), held)) => {
                    found.push((held, command));
                    *count = LOOKS_MAX;
                }
                _ => *count = LOOKS_MAX,
            }
        }
        std::thread::yield_now();
    }
    found.retain(|(held, _)| !held.has_ended());
    found.sort_by_key(|(held, _)| held.pid);
    found
}

/// The ids of all processes.
fn pids() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// What a look at a process shows.
enum Look {
    /// One of the marks; this is its command line.
    Carries(String),
    /// None of them.
    CarriesNone,
    /// It is between two programs: for a moment within `exec` it has no arguments, and no environment a
    /// little longer.
    BeingReplaced,
}

fn look(pid: u32, marks: &Marks<'_>) -> Look {
    let file = |name: &str| fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
    let command = file("cmdline");
    let environment = file("environ");
    let variable = format!("{MARK}={}", marks.world);
    let carries = group_of(&file("stat")) == Some(marks.group)
        || contains(&command, marks.dir.as_os_str().as_bytes())
        || environment.split(|byte| *byte == 0).any(|entry| entry == variable.as_bytes());
    // Threads of the kernel have no program either way, and those of others can't be read.
    let is_program = || fs::read_link(format!("/proc/{pid}/exe")).is_ok();
    match carries {
        true => Look::Carries(String::from_utf8_lossy(&command).replace('\0', " ").trim_end().to_owned()),
        false if (command.is_empty() || environment.is_empty()) && is_program() => Look::BeingReplaced,
        false => Look::CarriesNone,
    }
}

/// The process group in `/proc/PID/stat`: the third field after the name, which may hold anything.
fn group_of(stat: &[u8]) -> Option<u32> {
    let after_name = stat.iter().rposition(|byte| *byte == b')')?;
    std::str::from_utf8(&stat[after_name + 1..]).ok()?.split_ascii_whitespace().nth(2)?.parse().ok()
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    !part.is_empty() && bytes.windows(part.len()).any(|window| window == part)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn the_group_is_found_behind_any_name() {
        assert_eq!(group_of(b"12 (a) b (c) S 1 77 77 0"), Some(77));
        assert_eq!(group_of(b"12 (sh) S 1"), None);
        assert_eq!(group_of(b""), None);
    }

    #[test]
    fn a_process_is_found_by_its_environment_and_its_command_and_held_to_its_end() {
        let dir = tempfile::tempdir().unwrap();
        let world = dir.path().file_name().unwrap().to_str().unwrap();
        let marks = Marks { world, dir: dir.path(), group: u32::MAX };
        let mut by_variable = Command::new("cat").env(MARK, world).stdin(Stdio::piped()).spawn().unwrap();
        let mut by_command =
            Command::new("sh").arg("-c").arg("read line").arg(dir.path()).stdin(Stdio::piped()).spawn().unwrap();
        let mut pids = [by_variable.id(), by_command.id()];
        pids.sort_unstable();
        let found = marked(&marks);
        assert_eq!(found.iter().map(|(held, _)| held.pid).collect::<Vec<_>>(), pids);
        for (held, _) in &found {
            assert!(!held.has_ended());
            held.kill();
        }
        for (held, _) in &found {
            poll(&mut [held.poll_fd()], None).unwrap();
            assert!(held.has_ended());
        }
        by_variable.wait().unwrap();
        by_command.wait().unwrap();
        assert!(marked(&marks).is_empty());
    }
}

//! Two seconds after a loop's end nothing of a server's group is left, however the loop ended.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use serde_json::json;

const PROGRAM: &str = env!("CARGO_BIN_EXE_lsp-assay");

/// A server that never answers, shrugs off `SIGTERM`, and has a child of the same kind. It tells their
/// process ids through a pipe with a name.
struct Stubborn {
    folder: tempfile::TempDir,
    pids: PathBuf,
}

impl Stubborn {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.fake"), "ok\n").unwrap();
        let pids = folder.path().join("pids");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pids, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).unwrap();
        Self { folder, pids }
    }

    fn command(&self) -> Vec<String> {
        let script = format!("trap '' TERM; sleep 600 & echo $$ $! > '{}'; wait", self.pids.display());
        ["/bin/sh", "-c", &script].map(str::to_owned).to_vec()
    }

    /// Waits until it runs; descriptors of its processes, which no later process can take over.
    fn processes(&self) -> Vec<OwnedFd> {
        let mut line = String::new();
        File::open(&self.pids).unwrap().read_to_string(&mut line).unwrap();
        let pids = line.split_whitespace().map(|pid| Pid::from_raw(pid.parse().unwrap()).unwrap());
        pids.map(|pid| pidfd_open(pid, PidfdFlags::empty()).unwrap()).collect()
    }
}

/// Whether all of them end within two seconds.
fn end(processes: &[OwnedFd]) -> bool {
    let deadline = Instant::now() + Duration::from_secs(2);
    processes.iter().all(|process| {
        let left = deadline.saturating_duration_since(Instant::now());
        let wait = Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() };
        poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&wait)).unwrap() == 1
    })
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// An adapter in the midst of a call.
fn adapter(server: &Stubborn) -> Child {
    let mut child = Command::new(PROGRAM).arg("adapter").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let start = json!({"id": 1, "op": "start", "protocol": 1, "root": server.folder.path(), "budget_ms": 60_000,
        "servers": [{"name": "stubborn", "command": server.command(), "extensions": [".fake"], "language_id": "fake"}]});
    let stdin = child.stdin.as_mut().unwrap();
    writeln!(stdin, "{start}\n{}", json!({"id": 2, "op": "edit", "path": "a.fake"})).unwrap();
    child
}

fn check(server: &Stubborn) -> Child {
    let command = server.command();
    let line = format!("{} {} \"{}\"", command[0], command[1], command[2].replace('$', "\\$"));
    let mut program = Command::new(PROGRAM);
    program.current_dir(server.folder.path()).args(["check", "a.fake", "--server", &line]).stdout(Stdio::null());
    program.spawn().unwrap()
}

fn profile(server: &Stubborn) -> Child {
    let mut program = Command::new(PROGRAM);
    program.args(["profile", "--language", "fake", "--"]).args(server.command()).stdout(Stdio::null());
    program.spawn().unwrap()
}

#[test]
fn however_a_loop_ends_its_servers_end_too() {
    type Ending = (&'static str, fn(&Stubborn) -> Child, fn(&mut Child), Option<i32>);
    let endings: [Ending; 7] = [
        ("adapter, killed", adapter, |child| signal(child, Signal::KILL), None),
        ("adapter, asked to terminate", adapter, |child| signal(child, Signal::TERM), Some(130)),
        ("adapter, end of input", adapter, |child| drop(child.stdin.take()), Some(0)),
        (
            "adapter, stop",
            adapter,
            |child| writeln!(child.stdin.as_mut().unwrap(), r#"{{"id":3,"op":"stop"}}"#).unwrap(),
            Some(0),
        ),
        ("check, Ctrl-C", check, |child| signal(child, Signal::INT), Some(130)),
        ("profile, Ctrl-C", profile, |child| signal(child, Signal::INT), Some(130)),
        ("check, killed", check, |child| signal(child, Signal::KILL), None),
    ];
    for (name, start, stop, code) in endings {
        let server = Stubborn::new();
        let mut child = start(&server);
        let processes = server.processes();
        assert_eq!(processes.len(), 2);
        stop(&mut child);
        // Waiting would close it.
        let _held = child.stdin.take();
        assert_eq!(child.wait().unwrap().code(), code, "{name}");
        assert!(end(&processes), "{name}: something is left");
    }
}

#[test]
fn a_stop_is_answered_before_the_adapter_ends() {
    let server = Stubborn::new();
    let mut child = adapter(&server);
    let processes = server.processes();
    writeln!(child.stdin.as_mut().unwrap(), r#"{{"id":3,"op":"stop"}}"#).unwrap();
    let lines: Vec<String> = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap).collect();
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(lines[1].contains(r#""conclusion":"pending""#), "{lines:?}");
    assert_eq!(lines[2], r#"{"id":3,"ok":true}"#);
    assert!(child.wait().unwrap().success());
    assert!(end(&processes));
}

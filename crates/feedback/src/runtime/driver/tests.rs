//! The driver on real processes and files, under a machine that follows a script.

use super::*;
use crate::{Command, FileError, FileKind, Signal};

const PROCESS: ProcessId = ProcessId(1);

type React = Box<dyn FnMut(&Event) -> Vec<Effect> + Send>;

/// Answers events as the test says, and tells the test what it saw.
struct Script {
    react: React,
    deadline: Option<Time>,
    seen: mpsc::UnboundedSender<(Event, Time)>,
}

impl Machine for Script {
    fn handle(&mut self, event: Event, now: Time, effects: &mut Vec<Effect>) {
        if matches!(event, Event::Wake) {
            self.deadline = None;
        }
        effects.extend((self.react)(&event));
        let _ = self.seen.send((event, now));
    }

    fn next_deadline(&self) -> Option<Time> {
        self.deadline
    }
}

/// Runs a script from one call until a stop is answered; everything it saw, in words.
async fn run(deadline: Option<Time>, react: impl FnMut(&Event) -> Vec<Effect> + Send + 'static) -> Vec<(Event, Time)> {
    let (seen, mut log) = mpsc::unbounded_channel();
    let machine = Script { react: Box::new(react), deadline, seen };
    let (calls, received) = mpsc::channel(1);
    let (reply, answer) = oneshot::channel();
    calls.send(Submitted { call: CallId(0), request: Request::Stop, reply }).await.unwrap();
    let root = std::env::temp_dir();
    let driven = tokio::time::timeout(Duration::from_secs(20), Driver::run(machine, root, None, received));
    driven.await.expect("the script does not end");
    assert!(matches!(answer.await, Ok(Answer::Done)));
    let mut events = Vec::new();
    while let Ok(event) = log.try_recv() {
        events.push(event);
    }
    events
}

fn spawn(script: &str) -> Effect {
    let args = vec!["-c".to_owned(), script.to_owned()];
    let command = Command { program: "/bin/sh".into(), args, env: Vec::new(), cwd: "/".into() };
    Effect::Spawn { process: PROCESS, command }
}

fn done() -> Vec<Effect> {
    vec![Effect::Answer { call: CallId(0), answer: Answer::Done }]
}

fn write(bytes: Vec<u8>) -> Effect {
    Effect::Write { process: PROCESS, op: OpId(7), bytes }
}

/// The events in short words; output joined.
fn words(events: &[(Event, Time)]) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for (event, _) in events {
        let word = match event {
            Event::Call { .. } => "call".to_owned(),
            Event::Spawned { .. } => "spawned".to_owned(),
            Event::SpawnFailed { error, .. } => format!("spawn failed: {error}"),
            Event::Output { bytes, .. } => format!("output {}", String::from_utf8_lossy(bytes).trim()),
            Event::OutputEnded { .. } => "output ended".to_owned(),
            Event::Written { op, .. } => format!("written {}", op.0),
            Event::WriteFailed { error, .. } => format!("write failed: {error}"),
            Event::Exited { status, stderr_tail, .. } => {
                format!("exited {:?} {:?} {}", status.code, status.signal, stderr_tail.trim())
            }
            Event::FileRead { op, result } => format!("read {} {result:?}", op.0),
            Event::Statted { op, result } => format!("statted {} {result:?}", op.0),
            Event::Wake => "wake".to_owned(),
        };
        words.push(word.trim().to_owned());
    }
    words
}

#[tokio::test]
async fn bytes_go_in_and_come_out_and_the_end_comes_last() {
    let events = run(None, |event| match event {
        Event::Call { .. } => vec![spawn("cat; echo bye >&2; exit 5")],
        Event::Spawned { .. } => vec![write(b"hello".to_vec())],
        Event::Output { .. } => vec![Effect::CloseInput { process: PROCESS }],
        Event::Exited { .. } => done(),
        _ => vec![],
    });
    let mut words = words(&events.await);
    words[2..4].sort();
    assert_eq!(words, ["call", "spawned", "output hello", "written 7", "output ended", "exited Some(5) None bye"]);
}

#[tokio::test]
async fn an_exit_is_not_hidden_by_whoever_keeps_the_pipe() {
    // The first stays in the group and is killed with it; the second has left it.
    for script in ["sleep 30 & echo out; exit 4", "setsid sleep 3 & echo out; exit 4"] {
        let events = run(None, |event| match event {
            Event::Call { .. } => vec![spawn(script)],
            Event::Exited { .. } => done(),
            _ => vec![],
        })
        .await;
        let end = events.last().unwrap().1;
        assert!(end < Time(2_000_000), "{script}: {end:?}");
        assert_eq!(
            words(&events),
            ["call", "spawned", "output out", "output ended", "exited Some(4) None"],
            "{script}"
        );
    }
}

#[tokio::test]
async fn a_server_that_does_not_read_can_be_closed_and_killed() {
    let events = run(None, |event| match event {
        Event::Call { .. } => vec![spawn("sleep 600 & echo up; wait"), write(vec![b' '; 1 << 20])],
        Event::Output { .. } => vec![Effect::CloseInput { process: PROCESS }],
        Event::WriteFailed { .. } => vec![Effect::Signal { process: PROCESS, signal: Signal::Kill }],
        Event::Exited { .. } => done(),
        _ => vec![],
    });
    let expected = [
        "call",
        "spawned",
        "output up",
        "write failed: standard input was closed before all was written",
        "output ended",
        "exited None Some(9)",
    ];
    assert_eq!(words(&events.await), expected);
}

#[tokio::test]
async fn what_cannot_be_started_or_written_to_is_told() {
    let events = run(None, |event| match event {
        Event::Call { .. } => {
            let command = Command { program: "/no/such/server".into(), cwd: "/".into(), ..Command::default() };
            vec![write(vec![1]), Effect::Spawn { process: PROCESS, command }]
        }
        Event::SpawnFailed { .. } => done(),
        _ => vec![],
    });
    let expected = ["call", "write failed: the process has ended", "spawn failed: /no/such/server does not exist"];
    assert_eq!(words(&events.await), expected);
}

#[tokio::test]
async fn files_are_read_and_looked_at() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a"), "text").unwrap();
    let at = |name: &str| folder.path().join(name);
    let (a, b) = (at("a"), at("b"));
    let mut left = 4;
    let events = run(None, move |event| match event {
        Event::Call { .. } => vec![
            Effect::ReadFile { op: OpId(1), path: a.clone(), bytes_max: 4 },
            Effect::ReadFile { op: OpId(2), path: a.clone(), bytes_max: 3 },
            Effect::Stat { op: OpId(3), path: a.clone() },
            Effect::Stat { op: OpId(4), path: b.clone() },
        ],
        Event::FileRead { .. } | Event::Statted { .. } => {
            left -= 1;
            if left == 0 { done() } else { vec![] }
        }
        _ => vec![],
    });
    let mut words = words(&events.await);
    words.sort();
    let expected = [
        "call".to_owned(),
        format!("read 1 {:?}", Ok::<_, FileError>(b"text")),
        format!("read 2 {:?}", Err::<(), _>(FileError::TooLarge { bytes_max: 3 })),
        format!("statted 3 {:?}", Ok::<_, FileError>(FileKind::File)),
        format!("statted 4 {:?}", Err::<(), _>(FileError::NotFound)),
    ];
    assert_eq!(words, expected);
}

#[tokio::test]
async fn a_flood_is_cut_in_chunks_and_starves_no_deadline() {
    let deadline = Time(50_000);
    let events = run(Some(deadline), |event| match event {
        Event::Call { .. } => vec![spawn("exec yes")],
        Event::Wake => vec![Effect::Signal { process: PROCESS, signal: Signal::Kill }],
        Event::Exited { .. } => done(),
        _ => vec![],
    })
    .await;
    let woken = events.iter().find(|(event, _)| matches!(event, Event::Wake)).map(|(_, at)| *at);
    assert!(woken.is_some_and(|at| at >= deadline), "{woken:?}");
    let largest = events.iter().filter_map(|(event, _)| match event {
        Event::Output { bytes, .. } => Some(bytes.len()),
        _ => None,
    });
    assert!(largest.max().is_some_and(|bytes| bytes <= 64 * 1024));
}

#[tokio::test]
async fn without_handles_the_driver_stops_the_loop() {
    let (seen, mut log) = mpsc::unbounded_channel();
    let react: React = Box::new(|event| match event {
        Event::Call { call, request: Request::Stop } => {
            vec![Effect::Answer { call: *call, answer: Answer::Done }]
        }
        _ => vec![],
    });
    let (calls, received) = mpsc::channel(1);
    drop(calls);
    Driver::run(Script { react, deadline: None, seen }, std::env::temp_dir(), None, received).await;
    assert!(matches!(log.try_recv(), Ok((Event::Call { request: Request::Stop, .. }, _))));
}

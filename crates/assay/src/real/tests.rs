//! The real world against loops of one line of shell: what a loop can do to its judge, and what it can
//! leave behind.

use std::time::Duration;

use super::*;
use crate::protocol::{Answer, Op, Request, Start};
use crate::world::{Awaited, Observed, World as _};

fn shell(line: &str) -> AdapterCommand {
    AdapterCommand { program: "/bin/sh".into(), args: vec!["-c".to_owned(), line.to_owned()] }
}

fn open(line: &str) -> RealWorld {
    let fake = FakeCommand { program: "/bin/false".into(), args: Vec::new() };
    RealWorld::open(&Setup { subject: &shell(line), fake: &fake, servers: &[], seed: 1, interrupt: None }).unwrap()
}

fn start() -> Op {
    Op::Start(Start {
        protocol: 1,
        root: String::new(),
        budget_ms: 100,
        initialize_budget_ms: None,
        first_budget_ms: None,
        servers: Vec::new(),
    })
}

fn first_answer(line: &str, wait_max: Duration) -> String {
    let mut world = open(line);
    let ticket = world.submit(start()).unwrap();
    match world.answer(ticket, wait_max).unwrap() {
        Awaited::Answered { answer, .. } if answer.ok => "ok".to_owned(),
        Awaited::Answered { answer, .. } => answer.error.unwrap_or_default(),
        Awaited::TimedOut => "timed out".to_owned(),
        Awaited::LoopEnded { how } => how,
    }
}

#[test]
fn a_loop_that_breaks_the_protocol_or_ends_is_told_in_words() {
    let ended = "the loop exited with code 3; its standard error ends with: no such thing";
    let cases = [
        (r#"read l; echo '{"id":1,"ok":true}'; cat >/dev/null"#, "ok"),
        (r#"echo '{"id":1,"ok":false,"error":"not today"}'; cat >/dev/null"#, "not today"),
        (r#"printf '{"id":1,'; printf '"ok":true}\n'; exit 0"#, "ok"),
        ("echo 'no such thing' >&2; exit 3", ended),
        ("kill -9 $$", "the loop was killed by signal 9"),
        (
            "echo Starting...; cat >/dev/null",
            "the loop broke the adapter protocol: line 1 is no answer: expected value at line 1 column 1: Starting...",
        ),
        (
            r#"echo '{"id":7,"ok":true}'; cat >/dev/null"#,
            "the loop broke the adapter protocol: line 1 answers id 7, which is not open",
        ),
        (
            "head -c 17000000 /dev/zero; cat >/dev/null",
            "the loop broke the adapter protocol: line 1 is longer than 16777216 bytes",
        ),
        ("exec >&-; cat >/dev/null", "the loop closed its standard output and runs on"),
    ];
    for (line, expected) in cases {
        assert_eq!(first_answer(line, Duration::from_secs(20)), expected, "{line}");
    }
}

#[test]
fn a_loop_that_never_answers_ends_the_wait_and_nothing_else() {
    assert_eq!(first_answer("cat >/dev/null", Duration::from_millis(50)), "timed out");
    assert_eq!(first_answer("exec sleep 1000", Duration::from_millis(50)), "timed out");
}

#[test]
fn a_loop_that_cannot_be_started_is_a_fault_of_the_call() {
    let fake = FakeCommand { program: "/bin/false".into(), args: Vec::new() };
    let subject = AdapterCommand { program: "no-such-loop".into(), args: Vec::new() };
    let opened = RealWorld::open(&Setup { subject: &subject, fake: &fake, servers: &[], seed: 1, interrupt: None });
    assert_eq!(
        opened.unwrap_err().to_string(),
        "the loop `no-such-loop` could not be started: No such file or directory (os error 2); give its path, or install it"
    );
}

fn left_behind(line: &str) -> Observed {
    let mut world = open(line);
    let ticket = world.submit(start()).unwrap();
    let answered = world.answer(ticket, Duration::from_secs(20)).unwrap();
    assert!(matches!(answered, Awaited::Answered { .. }), "{answered:?}");
    Box::new(world).finish().unwrap()
}

/// Answers `start` and `stop`, and ends with its input.
const OBEDIENT: &str = r#"read l; echo '{"id":1,"ok":true}'; read l; echo '{"id":2,"ok":true}'; cat >/dev/null"#;

#[test]
fn what_a_loop_leaves_behind_is_named_and_ended() {
    let cases = [
        (OBEDIENT.to_owned(), None),
        (format!("sleep 1001 & {OBEDIENT}"), Some("sleep 1001")),
        (format!("setsid sleep 1002 <&- >&- 2>&- & {OBEDIENT}"), Some("sleep 1002")),
        (
            format!("(trap '' TERM; setsid setsid sleep 1003 &) {OBEDIENT}").replace(") read", "); read"),
            Some("sleep 1003"),
        ),
        (format!("{OBEDIENT}; exec sleep 1004"), Some("sleep 1004")),
    ];
    std::thread::scope(|scope| {
        for (line, expected) in &cases {
            scope.spawn(move || assert_left_behind(line, *expected));
        }
    });
}

fn assert_left_behind(line: &str, expected: Option<&str>) {
    let left = left_behind(line).left_behind;
    let Some(command) = expected else { return assert!(left.is_empty(), "{line}: {left:?}") };
    assert_eq!(left.len(), 1, "{line}: {left:?}");
    assert!(left[0].ends_with(command), "{left:?}");
    let pid: u32 = left[0].split_once("process ").unwrap().1.split_once(':').unwrap().0.parse().unwrap();
    assert!(process::Held::of(pid).is_none_or(|held| held.has_ended()), "{left:?}");
}

#[test]
fn a_world_that_is_dropped_leaves_nothing() {
    let mut world = open("sleep 1005 & echo '{\"id\":1,\"ok\":true}'; exec cat >/dev/null");
    let ticket = world.submit(start()).unwrap();
    assert!(matches!(world.answer(ticket, Duration::from_secs(20)), Ok(Awaited::Answered { .. })));
    let root = world.root().to_owned();
    let marks_world = root.parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
    let marks = process::Marks { world: &marks_world, dir: root.parent().unwrap(), group: u32::MAX };
    let before = process::marked(&marks);
    assert_eq!(before.len(), 2, "{before:?}");
    drop(world);
    for (held, command) in before {
        rustix::event::poll(&mut [held.poll_fd()], None).unwrap();
        assert!(held.has_ended(), "{command}");
    }
    assert!(!root.exists());
}

#[test]
fn an_interrupt_ends_every_wait_at_once() {
    let (reader, writer) = std::io::pipe().unwrap();
    let interrupt = Some(std::sync::Arc::new(std::os::fd::OwnedFd::from(reader)));
    let fake = FakeCommand { program: "/bin/false".into(), args: Vec::new() };
    let subject = shell("exec cat >/dev/null");
    let mut world =
        RealWorld::open(&Setup { subject: &subject, fake: &fake, servers: &[], seed: 1, interrupt }).unwrap();
    let ticket = world.submit(start()).unwrap();
    drop(writer);
    assert_eq!(world.answer(ticket, Duration::from_secs(600)).unwrap_err().to_string(), "interrupted");
}

#[test]
fn files_stay_inside_the_workspace() {
    let mut world = open("exec cat >/dev/null");
    for path in ["", "/etc/passwd", "../x", "a/../../x", "./a"] {
        assert!(world.write_file(path, b"").is_err(), "{path}");
        assert!(world.remove_file(path).is_err(), "{path}");
    }
    world.write_file("deep/er/a.fake", b"text").unwrap();
    let place = world.root().join("deep/er/a.fake");
    assert_eq!(std::fs::read(&place).unwrap(), b"text");
    world.remove_file("deep/er/a.fake").unwrap();
    assert!(!place.exists());
}

#[test]
fn the_session_on_the_protocols_page_is_one() {
    let page = include_str!("../../../../docs/adapter-protocol.md");
    let session = page.split("## A whole session").nth(1).and_then(|part| part.split("```").nth(1)).unwrap();
    let lines = session.trim().replace("\n   ", "");
    let (mut open, mut told) = (std::collections::BTreeSet::new(), 0);
    for line in lines.lines() {
        let (way, json) = line.split_at(2);
        match way {
            // One request is of a kind that no judge sends: it shows an error answer.
            "> " if json.contains("hover") => assert!(open.insert(5)),
            "> " => assert!(open.insert(serde_json::from_str::<Request>(json).unwrap().id), "{line}"),
            "< " => {
                let answer: Answer = serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {line}"));
                assert!(open.remove(&answer.id), "{line}");
                told += usize::from(answer.feedback.conclusion.is_some());
            }
            _ => panic!("{line}"),
        }
    }
    assert!(open.is_empty() && told == 2, "{open:?} {told}");
}

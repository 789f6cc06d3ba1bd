//! `lsp-assay server` as its users run it. Every check is proven by a server that is right but for one
//! fault, and a right server passes them all.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_lsp-assay");

/// A law; how the server tells its diagnostics; its fault; the check that catches it, and how that ends.
type Case = (&'static str, &'static str, &'static str, &'static str, &'static str);

fn faulty() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/server/faulty.py")
}

fn server(options: &[&str], server: &[&str]) -> Output {
    let found = Command::new("python3").arg("--version").output();
    assert!(found.is_ok_and(|output| output.status.success()), "this test needs python3: install Python 3.8 or newer");
    let mut command = Command::new(PROGRAM);
    command.args(["server", "--language", "fake", "--format", "json", "--edits", "40"]);
    if !options.contains(&"--wait") {
        command.args(["--wait", "3s"]);
    }
    // Without site packages it starts in a third of the time, and it is started very often.
    command.args(options).args(["--", "python3", "-I", "-S"]).arg(faulty()).args(server).output().unwrap()
}

fn checks(output: &Output) -> Vec<Value> {
    let results: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("{error}: {}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    });
    results["checks"].as_array().unwrap().clone()
}

/// Runs all cases at once: they mostly wait. Each must be caught as said, and with evidence if it broke
/// something.
fn all_are_caught(cases: &[Case]) {
    std::thread::scope(|scope| {
        let runs: Vec<_> = cases
            .iter()
            .map(|(law, mode, fault, ..)| scope.spawn(move || server(&["--law", law], &[mode, fault])))
            .collect();
        for ((law, _, fault, id, status), run) in cases.iter().zip(runs) {
            let output = run.join().unwrap();
            let checks = checks(&output);
            let id = format!("{law}/{id}");
            let check = checks.iter().find(|check| check["id"] == id.as_str());
            let check = check.unwrap_or_else(|| panic!("{fault}: no {id} in {checks:#?}"));
            assert_eq!(check["status"], *status, "{fault}: {check:#}");
            if matches!(*status, "failed" | "warned") {
                assert_ne!(check["evidence"].as_array().unwrap().len(), 0, "{fault}: {check:#}");
            }
            if *status == "failed" {
                assert_eq!(output.status.code(), Some(1), "{fault}");
            }
        }
    });
}

#[test]
fn a_right_server_passes_every_check() {
    std::thread::scope(|scope| {
        let runs = ["push", "pull"].map(|mode| scope.spawn(move || server(&["--strict"], &[mode])));
        for run in runs {
            let output = run.join().unwrap();
            let checks = checks(&output);
            let wrong: Vec<_> = checks
                .iter()
                .filter(|check| check["status"] != "passed" && check["status"] != "not_applicable")
                .collect();
            assert!(wrong.is_empty(), "{wrong:#?}");
            assert_eq!(output.status.code(), Some(0));
            assert!(output.stderr.is_empty(), "no progress without a terminal");
            assert!(checks.iter().filter(|check| check["status"] == "passed").count() >= 35, "{checks:#?}");
        }
    });
}

#[test]
fn lifecycle() {
    all_are_caught(&[
        ("lifecycle", "push", "answers-early", "request-before-initialize", "warned"),
        ("lifecycle", "push", "no-capabilities", "initialize", "failed"),
        ("lifecycle", "push", "shutdown-object", "shutdown", "failed"),
        ("lifecycle", "push", "works-after-shutdown", "request-after-shutdown", "warned"),
        ("lifecycle", "push", "exits-1", "exit-after-shutdown", "warned"),
        ("lifecycle", "push", "exits-0", "exit-without-shutdown", "warned"),
        ("lifecycle", "push", "deaf-before-initialize", "exit-before-initialize", "warned"),
        ("lifecycle", "push", "outlives-input", "end-of-input", "not_applicable"),
        ("lifecycle", "push", "eager", "nothing-before-initialize-result", "failed"),
    ]);
}

#[test]
fn messages() {
    all_are_caught(&[
        ("messages", "push", "ids-as-numbers", "id-echo", "failed"),
        ("messages", "push", "null-for-unknown", "unknown-request-refused", "failed"),
        ("messages", "push", "wrong-code", "unknown-request-code", "warned"),
        ("messages", "push", "wrong-code", "unknown-dollar-request", "failed"),
        ("messages", "push", "answers-notifications", "unknown-notification", "failed"),
        ("messages", "push", "answers-notifications", "unknown-dollar-notification", "failed"),
        ("messages", "push", "noise", "frames", "failed"),
        ("messages", "push", "no-jsonrpc", "envelopes", "failed"),
        ("messages", "push", "answers-twice", "answers-to-open-requests", "failed"),
    ]);
}

#[test]
fn convergence_and_clearing() {
    all_are_caught(&[
        ("convergence", "push", "blind", "broken-is-error", "failed"),
        ("convergence", "push", "loads-first", "broken-is-error", "passed"),
        ("convergence", "push", "sticky", "fixed-is-clean", "failed"),
        ("convergence", "push", "stale-last-word", "last-word-broken", "failed"),
        ("convergence", "push", "stale-last-word", "last-word-fixed", "failed"),
        ("convergence", "push", "flickers", "stays", "warned"),
        ("clearing", "push", "sticky", "fix-clears", "failed"),
        ("clearing", "push", "keeps-on-close", "close", "warned"),
        ("clearing", "push", "remembers", "reopen", "failed"),
        ("clearing", "push", "blind", "fix-clears", "not_applicable"),
    ]);
}

#[test]
fn versions_and_positions() {
    all_are_caught(&[
        ("versions", "push", "names-previous", "last-push-names-newest", "warned"),
        ("versions", "push", "old-content-new-version", "honest", "warned"),
        ("versions", "push", "version-ahead", "sent-before", "failed"),
        ("versions", "push", "version-back", "never-back", "warned"),
        ("versions", "push", "version-null", "push-shape", "failed"),
        ("positions", "push", "announces-utf-7", "encoding-offered", "failed"),
        ("positions", "push", "bytes-in-findings", "encoding-obeyed", "failed"),
        ("positions", "push", "line-beyond", "inside-text", "failed"),
        ("positions", "pull", "line-beyond", "inside-text", "failed"),
        ("positions", "push", "past-line-end", "between-characters", "warned"),
    ]);
}

#[test]
fn pull() {
    all_are_caught(&[
        ("pull", "pull", "no-options", "options", "failed"),
        ("pull", "pull", "no-kind", "report-shape", "failed"),
        ("pull", "pull", "baseless-unchanged", "full-without-result-id", "failed"),
        ("pull", "pull", "always-unchanged", "unchanged-is-true", "failed"),
        ("pull", "pull", "last-build", "synced-text", "warned"),
        ("pull", "pull", "pushes-other", "equals-push", "warned"),
    ]);
}

#[test]
fn incremental_equals_fresh() {
    const LAW: &str = "incremental-equals-fresh";
    all_are_caught(&[
        (LAW, "push", "no-clamp", "past-line-end", "warned"),
        (LAW, "pull", "ignores-whole", "whole-text", "failed"),
        (LAW, "push", "lf-only", "lone-carriage-return", "warned"),
        (LAW, "push", "drops-a-change", "random-edits", "failed"),
        (LAW, "pull", "bytes-in-changes", "wide-characters", "failed"),
        (LAW, "push", "blind", "random-edits", "not_applicable"),
    ]);
}

#[test]
fn a_wait_for_a_server_that_is_quiet_can_be_interrupted() {
    let begun = Instant::now();
    // The server itself interrupts, once it has been quiet for long enough to be taken at its word.
    let output = server(&["--law", "convergence", "--wait", "60s"], &["push", "interrupts"]);
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
}

#[test]
fn a_defect_is_told_in_a_few_edits_that_make_it_again() {
    let output = server(&["--law", "incremental-equals-fresh", "--seed", "3"], &["push", "drops-a-change"]);
    let results: Value = serde_json::from_slice(&output.stdout).unwrap();
    let reproduction = &results["facts"]["laws"]["incremental-equals-fresh"]["random-edits"]["reproduction"];
    // The server drops every fifth change, so no shorter series shows it.
    assert_eq!(reproduction["did_change"].as_array().map(Vec::len), Some(5), "{results:#}");
    assert_eq!(results["seed"], 3);
}

#[test]
fn a_known_failure_does_not_count_and_one_that_is_none_does() {
    let fault = ["push", "null-for-unknown"];
    let of = |known: &[&str]| {
        let known: Vec<_> = known.iter().flat_map(|id| ["--known", id]).collect();
        let output = server(&[&["--law", "messages"][..], &known].concat(), &fault);
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let known = ["messages/unknown-request-refused", "messages/unknown-dollar-request"];
    assert_eq!(of(&known[..1]).0, Some(1), "the other one counts");
    assert_eq!(of(&known), (Some(0), String::new()));
    let (code, told) = of(&[&known[..], &["messages/frames"]].concat());
    assert_eq!(code, Some(1));
    assert!(told.contains("--known messages/frames: this check does not fail any more"), "{told}");
}

#[test]
fn a_wrong_call_is_answered_with_what_to_do() {
    let run = |args: &[&str]| {
        let output = Command::new(PROGRAM).arg("server").args(args).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("a.fake");
    std::fs::write(&text, "ok\n").unwrap();
    let text = text.to_str().unwrap();
    for (args, told) in [
        (&["--", "some-server"][..], "give --language"),
        (&["--language", "fake", "--", "no-such-server"], "was not found"),
        (&["--language", "fake", "--law", "freshness", "--", "x"], "the laws of servers are lifecycle"),
        (&["--broken", text, "--fixed", text, "--", "x"], "hold the same text"),
        (&["--broken", "absent.py", "--fixed", text, "--", "x"], "absent.py"),
        (&["--root", "/absent", "--language", "fake", "--", "x"], "is not a folder"),
    ] {
        let (code, err) = run(args);
        assert_eq!(code, Some(2), "{args:?}: {err}");
        assert!(err.contains(told), "{args:?}: {err}");
    }
}

#[test]
fn texts_of_ones_own_are_checked_in_a_workspace_of_ones_own() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (broken, fixed) = (file("broken.txt", "ok\nERROR E1 é boom\n"), file("fixed.fake", "ok\nfine\n"));
    let root = folder.path().to_str().unwrap();
    let before = std::fs::read_dir(root).unwrap().count();
    let output = server(&["--root", root, "--broken", &broken, "--fixed", &fixed, "--strict"], &["push"]);
    let checks = checks(&output);
    assert_eq!(output.status.code(), Some(0), "{checks:#?}");
    let told = checks.iter().find(|check| check["id"] == "convergence/broken-is-error").unwrap();
    assert!(told["observed"].as_str().unwrap().contains("é boom"), "{told:#}");
    assert_eq!(std::fs::read_dir(root).unwrap().count(), before, "nothing is written in it");
}

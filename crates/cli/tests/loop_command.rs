//! `lsp-assay loop`: what it prints, how it ends, and what it leaves behind.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use assay::real::AGREE;
use assay::results::{Check, Results, Status, WorldKind};

const PROGRAM: &str = env!("CARGO_BIN_EXE_lsp-assay");
const STALE: &str = "freshness/stale-push-then-fresh";

fn assay(args: &[&str]) -> Output {
    Command::new(PROGRAM).arg("loop").args(args).stdin(Stdio::null()).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The results on standard output, on which there is nothing else.
fn results(output: &Output) -> Results {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}\n{}\n{}", text(&output.stdout), text(&output.stderr)))
}

/// What did not hold, for a message.
fn failures(results: &Results) -> String {
    let failed = results.checks.iter().filter(|check| matches!(check.status, Status::Failed | Status::HarnessError));
    let told = |check: &Check| {
        let evidence = check.evidence.iter().map(|line| format!("  {} {} {}\n", line.at_ms, line.who, line.what));
        format!("{} in {}: {}\n{}", check.id, check.scenario, check.observed, evidence.collect::<String>())
    };
    failed.map(told).collect()
}

#[test]
fn scenarios_are_listed_and_selected_by_their_beginning_or_a_glob() {
    let ids = |args: &[&str]| -> Vec<String> {
        let output = assay(&[args, &["--list", "--format", "json"]].concat());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let entries: Vec<serde_json::Value> = serde_json::from_slice(&output.stdout).unwrap();
        entries.iter().map(|entry| entry["id"].as_str().unwrap().to_owned()).collect()
    };
    assert!(ids(&[]).len() >= 24);
    assert_eq!(ids(&[STALE]), [STALE]);
    assert!(ids(&["freshness"]).iter().all(|id| id.starts_with("freshness/")));
    assert_eq!(ids(&["*stale-push-then*"]), [STALE]);
    assert_eq!(ids(&["honesty/silence"]), ["honesty/silence-is-not-clean"]);
    assert!(text(&assay(&["--list", STALE]).stdout).starts_with(STALE));
}

#[test]
fn a_wrong_call_says_what_is_wrong_and_prints_no_results() {
    let cases: [(&[&str], &str); 5] = [
        (&["freshness/stale-push-then-frech"], STALE),
        (&["--adapter", "my-loop"], "--real"),
        (&["--real", "--adapter", "no-such-loop --fast"], "there is no program no-such-loop"),
        (&["--real", "--adapter", "'unclosed"], "--adapter"),
        (&["--real", "--jobs", "0"], "--jobs"),
    ];
    for (args, named) in cases {
        let output = assay(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", text(&output.stderr));
        assert!(output.stdout.is_empty(), "{args:?}");
        assert!(text(&output.stderr).contains(named), "{args:?}: {}", text(&output.stderr));
    }
}

#[test]
fn scenarios_of_ones_own_are_run_from_files_and_mistakes_have_their_place() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let step = "[[step]]\nedit = { path = 'a.fake', text = 'ERROR E1 boom' }\nexpect = { conclusion = 'clean' }\n";
    let mine = file("mine.toml", &format!("summary = 's'\nlaw = 'honesty'\nserver = 'push'\n{step}"));
    let output = assay(&[&mine, "--format", "json"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let results = results(&output);
    assert!(results.checks.iter().all(|check| check.scenario == mine), "{}", failures(&results));
    assert!(failures(&results).contains("honesty/conclusion"), "{}", failures(&results));

    let wrong = file("wrong.toml", &format!("summary = 's'\nlaw = 'honesty'\nserver = 'pish'\n{step}"));
    for (args, expected) in [
        (vec![wrong.as_str()], "wrong.toml:3"),
        (vec![dir.path().to_str().unwrap()], "wrong.toml:3"),
        (vec!["/nowhere/at-all.toml"], "cannot read /nowhere/at-all.toml"),
    ] {
        let output = assay(&args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        let shown = text(&output.stderr).replace("\n", "");
        assert!(shown.contains(expected), "{args:?}: {shown}");
    }
}

#[test]
fn a_simulated_run_is_the_same_for_the_same_seed() {
    let run = |seed: &str| assay(&[STALE, "--seed", seed, "--format", "json"]);
    let first = run("5");
    let results = results(&first);
    assert_eq!(first.status.code(), Some(0), "{}", failures(&results));
    assert_eq!((results.format, results.seed, results.command.as_str()), (1, 5, "loop"));
    assert!(results.checks.len() >= 5);
    assert!(results.checks.iter().all(|check| check.world == WorldKind::Simulated && check.scenario == STALE));
    assert_eq!(text(&first.stdout), text(&run("5").stdout));
}

#[test]
fn people_get_a_table_and_machines_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let output = assay(&[STALE, "--out", dir.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
    let shown = text(&output.stdout);
    assert!(shown.contains("stale-push-then-fresh") && shown.contains("0 failed"), "{shown}");
    assert!(!shown.contains('\u{1b}'), "colours went to a pipe: {shown:?}");
    let kept: Results = serde_json::from_slice(&std::fs::read(dir.path().join("results.json")).unwrap()).unwrap();
    assert_eq!(kept.summary.failed, 0);
    assert!(kept.summary.passed > 0);
}

#[test]
fn every_scenario_holds_for_real_and_the_worlds_agree() {
    let output = assay(&["--real", "--format", "json"]);
    let results = results(&output);
    assert_eq!(output.status.code(), Some(0), "{}", failures(&results));
    let agreeing = results.checks.iter().filter(|check| check.id == AGREE && check.status == Status::Passed).count();
    assert!(agreeing >= 24, "{agreeing}");
    assert!(output.stderr.is_empty(), "{}", text(&output.stderr));
}

#[cfg(feature = "python")]
fn example() -> String {
    let python = Command::new("python3").arg("--version").output();
    assert!(python.is_ok(), "this test drives an adapter in Python: install python3");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../adapters/example.py");
    format!("python3 '{}'", path.display())
}

#[cfg(feature = "python")]
#[test]
fn somebody_elses_loop_is_judged_by_the_same_scenarios() {
    let true_of = [STALE, "sync/incremental-edits", "sync/utf-16-positions", "honesty/nobody-covers-it"];
    let output = assay(&[&["--real", "--format", "json", "--adapter", &example()], &true_of[..]].concat());
    let results = results(&output);
    assert_eq!(output.status.code(), Some(0), "{}", failures(&results));
    assert!(results.checks.iter().all(|check| check.id != AGREE), "the simulated world holds the reference loop only");
}

#[cfg(feature = "python")]
#[test]
fn somebody_elses_faults_are_found() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().to_str().unwrap();
    let output = assay(&["--real", "--adapter", &example(), "--out", out, "recovery/killed-between-edits"]);
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{shown}");
    assert!(shown.contains("failed honesty/conclusion") && shown.contains("kills the server"), "{shown}");
    assert!(dir.path().join("results.json").is_file());
}

/// A loop that tells its process id through a named pipe once it has started, and then does nothing.
fn mute(fifo: &Path) -> String {
    assert!(Command::new("mkfifo").arg(fifo).status().unwrap().success());
    format!("sh -c 'echo $$ > {}; exec cat > /dev/null'", fifo.display())
}

fn interrupted_by(signal: &str) -> (std::process::ExitStatus, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let fifo = dir.path().join("started");
    let mut judge = Command::new(PROGRAM)
        .args(["loop", "--real", STALE, "--adapter", &mute(&fifo)])
        .env("TMPDIR", dir.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let pid: u32 = std::fs::read_to_string(&fifo).unwrap().trim().parse().unwrap();
    let signalled = Command::new("kill").args([signal, &judge.id().to_string()]).status().unwrap();
    assert!(signalled.success());
    (judge.wait().unwrap(), PathBuf::from(format!("/proc/{pid}")))
}

#[test]
fn an_interrupted_run_leaves_nothing_running() {
    let (status, adapter) = interrupted_by("-INT");
    assert_eq!(status.code(), Some(130));
    assert!(!adapter.exists());
}

#[test]
fn a_killed_judge_leaves_nothing_running() {
    let (status, adapter) = interrupted_by("-KILL");
    assert_eq!(status.signal(), Some(9));
    // Its input ended with the judge; that it takes notice is awaited, not timed.
    let limit = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while adapter.join("exe").read_link().is_ok() {
        assert!(std::time::Instant::now() < limit, "the loop outlived its judge");
        std::thread::yield_now();
    }
}

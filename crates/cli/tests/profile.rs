//! `lsp-assay profile` on fakes: right times are counted, wrong and missing ones show.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use assert_cmd::Command;
use serde_json::{Value, json};

const PROGRAM: &str = env!("CARGO_BIN_EXE_lsp-assay");

/// Profiles a fake script; the exit code and the results.
fn profile(args: &[&str], script: &str) -> (i32, Value) {
    let mut command = Command::new(PROGRAM);
    command.args(["profile", "--format", "json"]).args(args).args(["--", PROGRAM, "fake", script]);
    let output = command.output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    let json = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {err}"));
    (output.status.code().unwrap(), json)
}

/// What came of a phase: right, wrong, too late, inconclusive.
fn counts(results: &Value, phase: &str) -> [u64; 4] {
    let phase = &results["facts"]["profile"][phase];
    ["right", "wrong", "timeouts", "inconclusive"].map(|name| phase[name].as_u64().unwrap())
}

#[test]
fn a_true_server_is_timed_cold_and_warm() {
    let (code, results) = profile(&["--language", "fake", "--starts", "2", "--edits", "6"], "push");
    assert_eq!((code, &results["summary"]["passed"]), (0, &json!(2)), "{results}");
    let phases = [("initialize", 2), ("first", 2), ("broken", 3), ("fixed", 3), ("edit", 6)];
    for (phase, right) in phases {
        assert_eq!(counts(&results, phase), [right, 0, 0, 0], "{phase}: {results}");
        let times = &results["facts"]["profile"][phase]["times"];
        let at = |name: &str| times[name].as_u64().unwrap();
        assert!(0 < at("p50") && at("p50") <= at("p90") && at("p99") <= at("max"), "{phase}: {times}");
    }
    assert_eq!(results["facts"]["profile"]["broken"]["findings"], json!([1, 1]));
    assert_eq!(results["facts"]["profile"]["fixed"]["findings"], json!([0, 0]));
    assert!(results["facts"]["profile"]["memory_peak_bytes"].as_u64().unwrap() > 100_000);
}

#[test]
fn times_count_from_when_an_edit_was_meant_to_begin() {
    // Every result takes 300 ms and an edit is due every 100 ms: the second waits for the first.
    let (_, results) =
        profile(&["--language", "fake", "--starts", "0", "--edits", "2", "--interval", "100ms"], "stale-push");
    let times = &results["facts"]["profile"]["edit"]["times"];
    assert!(times["max"].as_u64().unwrap() >= 490_000, "{results}");
}

#[test]
fn a_silent_server_shows_as_too_late_and_a_dead_one_as_inconclusive() {
    let short = ["--language", "fake", "--starts", "1", "--edits", "5", "--budget", "200ms"];
    let (code, results) = profile(&short, "silent");
    assert_eq!((code, counts(&results, "first"), counts(&results, "edit")), (1, [0, 0, 1, 0], [0, 0, 0, 0]));
    assert_eq!(results["checks"][1]["status"], json!("failed"), "{results}");
    let (code, results) = profile(&["--language", "fake", "--starts", "1"], "no-such-script");
    assert_eq!((code, counts(&results, "first")), (1, [0, 0, 0, 1]), "{results}");
}

#[test]
fn why_a_server_did_not_conclude_is_told() {
    let profile = |format: &str| {
        let mut command = Command::new(PROGRAM);
        command.args(["profile", "--language", "fake", "--starts", "1", "--format", format]);
        command.args(["--", "sh", "-c", "echo 'no module named foo' >&2; exit 7"]);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let why = "unavailable: the server exited with code 7: no module named foo";
    let results: Value = serde_json::from_str(&profile("json")).unwrap();
    assert_eq!(results["facts"]["profile"]["unconcluded"], json!(why));
    assert!(results["checks"][1]["observed"].as_str().unwrap().ends_with(&format!("; the first: {why}")), "{results}");
    let told = profile("human");
    assert!(told.contains(&format!("the first that came too late or did not conclude: {why}\n")), "{told}");
}

#[test]
fn the_users_file_is_edited_and_put_back() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let (file, bad) = (at("mine.fake", "ok mine\n"), at("bad.txt", "ERROR E7 mine\n"));
    let good = at("good.txt", "ok\n");
    let args = ["--starts", "1", "--edits", "2", "--file", &file, "--broken", &bad, "--fixed", &good];
    let (code, results) = profile(&args, "push");
    assert_eq!((code, counts(&results, "edit")), (0, [2, 0, 0, 0]), "{results}");
    // The texts the wrong way round: every result is called wrong.
    let args = ["--starts", "1", "--edits", "2", "--file", &file, "--broken", &good, "--fixed", &bad];
    let (code, results) = profile(&args, "push");
    assert_eq!((code, counts(&results, "first")), (1, [0, 1, 0, 0]), "{results}");
    assert!(results["checks"][0]["observed"].as_str().unwrap().contains("a broken text"), "{results}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "ok mine\n");
}

#[test]
fn a_server_of_an_unknown_language_needs_texts() {
    let output = Command::new(PROGRAM).args(["profile", "--", "sh", "-c", "cat"]).output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(err.contains("--language") && err.contains("python"), "{err}");
}

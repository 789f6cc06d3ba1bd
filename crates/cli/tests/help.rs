//! What the command tells about itself, and the commands that only print.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use assert_cmd::Command;
use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_lsp-assay");

/// The exit code and standard output.
fn run(args: &[&str]) -> (i32, String) {
    let output = Command::new(PROGRAM).args(args).output().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
}

/// The commands that the help of the program lists.
fn commands() -> Vec<String> {
    let (_, help) = run(&["--help"]);
    let listed = help.split("Commands:\n").nth(1).unwrap().lines().take_while(|line| !line.trim().is_empty());
    // A line that goes on is indented further.
    let names = listed.filter(|line| !line.starts_with("   ")).map(|line| line.split_whitespace().next().unwrap());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

#[test]
fn every_command_teaches_by_example() {
    let commands = commands();
    for expected in ["loop", "check", "server", "profile", "adapter", "fake", "schema"] {
        assert!(commands.iter().any(|command| command == expected), "{expected} of {commands:?}");
    }
    for command in commands {
        let (code, help) = run(&[&command, "--help"]);
        assert_eq!(code, 0, "{command}");
        assert!(help.contains("Example"), "{command}: {help}");
        let shows_results = ["loop", "mutants", "check", "server", "profile", "adapter"].contains(&command.as_str());
        let tells_codes = ["Exit codes:", "3 ", "130 interrupted"].iter().all(|told| help.contains(told));
        assert!(tells_codes || !shows_results, "{command}: {help}");
    }
}

#[test]
fn results_that_cannot_be_written_are_the_harness_failing_and_a_closed_pipe_is_not() {
    let cases: [&[&str]; 5] = [
        &["loop", "honesty"],
        &["loop", "--list"],
        &["loop", "--format", "json"],
        &["schema", "script"],
        &["fake", "--list"],
    ];
    for args in cases {
        let mut command = std::process::Command::new(PROGRAM);
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let output = command.args(args).stdout(full).output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(3), "{args:?}: {err}");
        assert!(err.contains("could not be written"), "{args:?}: {err}");

        let mut command = std::process::Command::new(PROGRAM);
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = command.args(args).stdout(writer).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{args:?}: {output:?}");
    }
}

#[test]
fn a_wrong_call_exits_with_2_and_prints_nothing() {
    for args in [&["dance"][..], &["check"], &["schema", "poem"], &["profile"], &[]] {
        assert_eq!(run(args), (2, String::new()), "{args:?}");
    }
}

#[test]
fn the_schemas_are_json_schemas() {
    for format in ["scenario", "script"] {
        let (code, schema) = run(&["schema", format]);
        let schema: Value = serde_json::from_str(&schema).unwrap();
        assert_eq!(code, 0);
        assert!(schema["$schema"].as_str().unwrap().contains("json-schema.org"), "{format}");
        assert_eq!(schema["additionalProperties"], Value::Bool(false), "{format}: unknown fields are mistakes");
    }
}

#[test]
fn the_fake_is_the_same_as_its_own_program() {
    let (code, names) = run(&["fake", "--list"]);
    assert_eq!(code, 0);
    for name in ["pull", "push", "stale-push", "silent", "crash", "slow-init", "readiness-gated"] {
        assert!(names.lines().any(|line| line.split_whitespace().next() == Some(name)), "{name} of {names}");
    }
    assert_eq!(run(&["fake", "no-such-script"]).0, 2);
}

//! `lsp-assay mutants`: the proof that the checks can fail, as it is printed and as it ends.
#![cfg(feature = "mutants")]

use std::process::{Command, Stdio};

use serde_json::{Value, json};

const PROGRAM: &str = env!("CARGO_BIN_EXE_lsp-assay");

#[test]
fn every_mutant_is_caught_by_its_own_law_and_every_check_catches_one() {
    let dir = tempfile::tempdir().unwrap();
    let output = Command::new(PROGRAM)
        .args(["mutants", "--format", "json", "--out"])
        .arg(dir.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&printed["survivors"], &printed["idle"]), (&json!([]), &json!([])));
    assert_eq!(printed["reference_fails"], json!([]));
    assert!(printed["mutants"].as_array().unwrap().len() >= 10);
    assert_eq!((&printed["format"], &printed["command"], &printed["seed"]), (&json!(1), &json!("mutants"), &json!(1)));
    assert_eq!(output.status.code(), Some(0));
    let kept: Value = serde_json::from_slice(&std::fs::read(dir.path().join("results.json")).unwrap()).unwrap();
    assert_eq!(kept, printed);
}

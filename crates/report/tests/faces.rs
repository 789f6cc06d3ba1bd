//! What people and machines read, as they read it.

use assay::results::{Check, Evidence, Law, Results, Status, WorldKind};
use serde_json::json;

fn check(id: &str, law: Law, scenario: &str, status: Status) -> Check {
    Check {
        id: id.to_owned(),
        law,
        scenario: scenario.to_owned(),
        world: WorldKind::Simulated,
        status,
        expected: "findings of the newest text only".to_owned(),
        observed: "nothing else".to_owned(),
        evidence: Vec::new(),
    }
}

fn line(at_ms: f64, who: &str, what: &str) -> Evidence {
    Evidence { at_ms, who: who.to_owned(), what: what.to_owned() }
}

fn of_a_loop() -> Results {
    let stale = Check {
        observed: "E1 of the first text".to_owned(),
        evidence: vec![
            line(0.0, "judge", "writes a.fake: ok"),
            line(0.4, "server fake#1", "publishes version 1 of a.fake \u{1b}[31m"),
            line(300.25, "loop", "answers errors"),
        ],
        ..check("freshness/findings-are-of-newest-text", Law::Freshness, "freshness/stale-push", Status::Failed)
    };
    let told = Check { id: "honesty/conclusion".to_owned(), law: Law::Honesty, ..stale.clone() };
    let checks = vec![
        check("honesty/certificate", Law::Honesty, "freshness/stale-push", Status::Passed),
        stale,
        told,
        check("bounds/answered-within-budget", Law::Bounds, "bounds/silent", Status::Passed),
        Check {
            observed: "the simulated world only: it times to the millisecond".to_owned(),
            ..check("worlds/agree", Law::Bounds, "bounds/waits", Status::NotApplicable)
        },
    ];
    Results::new("loop", "the reference loop", 1, checks, json!(null))
}

fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

#[test]
fn a_loop_is_shown_by_scenario_and_its_failures_as_timelines() {
    insta::assert_snapshot!(plain(&report::terminal(&of_a_loop(), 80)));
}

#[test]
fn a_server_is_shown_by_check_and_its_facts_below() {
    let checks = vec![
        check("lifecycle/exit-code", Law::Lifecycle, "/usr/bin/clangd --log=error", Status::Passed),
        check("versions/honest", Law::Versions, "/usr/bin/clangd --log=error", Status::Warned),
    ];
    let facts = json!({"server": {"name": "clangd", "version": "19"}, "edits": 200, "quiet_ms": [1.5, 2.0]});
    let results = Results::new("server", "/usr/bin/clangd --log=error", 7, checks, facts);
    insta::assert_snapshot!(plain(&report::terminal(&results, 80)));
}

#[test]
fn a_narrow_terminal_wraps_and_loses_nothing() {
    let text = plain(&report::terminal(&of_a_loop(), 40));
    let table_lines = text.lines().filter(|line| line.starts_with(['│', '┌', '└']));
    assert!(table_lines.clone().count() > 0);
    for line in table_lines {
        assert!(line.chars().count() <= 40, "{line}");
    }
    assert!(text.contains("2 failed"), "{text}");
}

#[test]
fn the_json_holds_everything_and_reads_back() {
    let results = of_a_loop();
    let text = report::json(&results).unwrap();
    assert_eq!(serde_json::from_str::<Results>(&text).unwrap(), results);
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["format"], 1);
    assert_eq!(value["tool"], "lsp-assay");
    assert_eq!(value["seed"], 1);
    assert_eq!(value["checks"][1]["status"], "failed");
    assert_eq!(
        value["summary"],
        json!({"passed": 2, "failed": 2, "warned": 0, "not_applicable": 1, "harness_error": 0})
    );
}

#[test]
fn a_file_of_results_is_whole_or_not_there() {
    let dir = tempfile::tempdir().unwrap();
    let into = dir.path().join("new/folder");
    let file = report::save(&of_a_loop(), &into).unwrap();
    assert_eq!(file, into.join(report::RESULTS_FILE));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), report::json(&of_a_loop()).unwrap());
    assert_eq!(std::fs::read_dir(&into).unwrap().count(), 1);

    let error = report::save(&of_a_loop(), &file).unwrap_err().to_string();
    assert!(error.contains("results.json/results.json was not written"), "{error}");
}

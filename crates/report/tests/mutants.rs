//! The table of mutants, as people read it.
#![cfg(feature = "mutants")]

use std::collections::BTreeMap;

use assay::mutants::{Catches, Mutant, MutantTable};
use report::MutantResults;

fn mutant(name: &'static str, law: &'static str, caught_by: &[&str]) -> Mutant {
    let caught_by = caught_by.iter().map(|id| ((*id).to_owned(), "freshness/stale-push".to_owned()));
    Mutant { name, law, summary: "takes a push of any version", caught_by: caught_by.collect::<BTreeMap<_, _>>() }
}

fn catches(id: &str, mutants: &[&'static str]) -> Catches {
    Catches { id: id.to_owned(), mutants: mutants.to_vec() }
}

fn table(reference_fails: Vec<String>) -> MutantTable {
    MutantTable {
        seed: 1,
        mutants: vec![
            mutant("takes-any-push", "freshness", &["freshness/newest", "honesty/conclusion"]),
            mutant("dead-is-clean", "honesty", &["bounds/output"]),
            mutant("no-cap", "bounds", &[]),
        ],
        checks: vec![
            catches("bounds/output", &["dead-is-clean"]),
            catches("freshness/newest", &["takes-any-push"]),
            catches("sync/versions-rise", &[]),
        ],
        reference_fails,
    }
}

#[test]
fn survivors_and_idle_checks_stand_out() {
    let table = table(vec!["bounds/flood: bounds/output".to_owned()]);
    let text = report::mutants(&MutantResults::new(&table), 100);
    insta::assert_snapshot!(anstream::adapter::strip_str(&text).to_string());
}

#[test]
fn the_json_says_what_it_is_and_who_survived() {
    let table = table(Vec::new());
    let value = serde_json::to_value(MutantResults::new(&table)).unwrap();
    assert_eq!((&value["format"], &value["command"]), (&1.into(), &"mutants".into()));
    assert_eq!(value["survivors"], serde_json::json!(["dead-is-clean", "no-cap"]));
    assert_eq!(value["idle"], serde_json::json!(["sync/versions-rise"]));
    assert_eq!(value["mutants"][0]["caught_by"]["freshness/newest"], "freshness/stale-push");
}

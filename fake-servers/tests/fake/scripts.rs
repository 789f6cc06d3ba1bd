//! The scripts that are built in: each parses, is valid against the schema, and tells its story.

use fake_lsp::{embedded, load, names};

#[test]
fn every_script_parses_and_is_valid_against_the_schema() {
    let validator = jsonschema::validator_for(&scenario::script_schema()).unwrap();
    let wanted = [
        "asks-first",
        "crash",
        "dies-mid-frame",
        "flood",
        "full-sync",
        "ignores-exit",
        "length-2gib",
        "length-400-digits",
        "never-answers",
        "never-reads",
        "not-json",
        "not-utf8",
        "publishes-late",
        "pull",
        "push",
        "push-unversioned",
        "readiness-gated",
        "silent",
        "slow-init",
        "stale-push",
        "stdout-noise",
        "two-results",
        "unasked-answer",
        "utf8-positions",
    ];
    for name in wanted {
        assert!(names().contains(&name), "{name} is missing");
    }
    for name in names() {
        let script = load(name).unwrap_or_else(|error| panic!("{name}: {:?}", miette::Report::new(error)));
        assert!(script.summary.len() > 20, "{name}: {}", script.summary);
        let value: serde_json::Value = toml::from_str(embedded(name).unwrap()).unwrap();
        let errors: Vec<_> =
            validator.iter_errors(&value).map(|error| format!("{} at {}", error, error.instance_path())).collect();
        assert!(errors.is_empty(), "{name}: {errors:?}");
    }
}

#[test]
fn an_unknown_name_is_answered_with_the_names() {
    let error = miette::Report::new(load("pusch").unwrap_err());
    let text = format!("{error} {}", error.help().unwrap());
    assert!(text.contains("\"pusch\" is neither a file nor the name") && text.contains("pull, push, "), "{text}");
}

use super::*;

const GOOD: &str = r#"
summary = "a result for the old text arrives first"
law = "freshness"
server = "stale-push"
seen = ["anthropics/claude-code#17979"]

[[step]]
edit = { path = "a.fake", text = "ok\n" }
expect = { conclusion = "clean" }

[[step]]
edit = { path = "a.fake", head = "top\n", text = "ERROR E{n} boom\n", repeat = 2, tail = "end\n" }
expect = { conclusion = ["errors", "pending"], codes = ["E1", "E2"], waited = "300ms..320ms", position = [1, 1] }
"#;

#[test]
fn a_scenario_is_read_as_it_is_written() {
    let scenario = Scenario::parse("freshness/stale", GOOD).unwrap();
    assert_eq!(scenario.budget.first, Duration::from_millis(400));
    assert_eq!(scenario.servers[0].extensions, [".fake"]);
    let Verb::Edit(edit) = &scenario.steps[1].verb else { panic!("{:?}", scenario.steps[1]) };
    assert_eq!(edit.text, "top\nERROR E1 boom\nERROR E2 boom\nend\n");
    let expect = scenario.steps[1].expect.as_ref().unwrap();
    assert_eq!(expect.conclusion, [ExpectedConclusion::Errors, ExpectedConclusion::Pending]);
    assert_eq!(scenario.steps[1].line, 11);
}

#[test]
fn an_inline_script_is_checked_and_can_be_written_out() {
    let text = r#"
summary = "an inline script"
law = "sync"
[script]
summary = "says nothing"
[[script.on]]
message = "textDocument/didOpen"
do = [{ ignore = true }]
[[step]]
edit = { path = "a.fake", text = "" }
"#;
    let scenario = Scenario::parse("sync/inline", text).unwrap();
    let ServerScript::Inline { script, text: written } = &scenario.servers[0].script else { panic!("not inline") };
    assert_eq!(&Script::parse("fake", written).unwrap(), &**script);
    let wrong = text.replace("ignore = true", "ignore = true, refresh = true");
    let error = Scenario::parse("sync/inline", &wrong).unwrap_err();
    assert_eq!((error.line(), error.what().contains("more than one verb")), (8, true), "{error}");
}

#[test]
fn mistakes_show_their_place() {
    let step = |step: &str| format!("summary = \"s\"\nlaw = \"sync\"\nserver = \"push\"\n[[step]]\n{step}\n");
    let cases = [
        (step("edit = { path = \"a\", txt = \"\" }"), 5, "unknown field `txt`"),
        (step("late = true\nwait = \"1s\""), 4, "more than one verb: `late` and `wait`"),
        (step("expect = {}"), 4, "without a verb"),
        (step("await = \"a\""), 4, "no call was started under the label \"a\""),
        (step("wait = \"1 hour\""), 5, "not a duration"),
        (step("edit = { path = \"../a\", text = \"\" }"), 4, "not a path inside the workspace"),
        (step("wait = \"1s\"\nexpect = {}"), 4, "`wait` has no answer here"),
        (step("kill = \"other\""), 4, "no server is called \"other\""),
        (step("check = { path = \"a\" }\nexpect = { waited = \"2s..1s\" }"), 6, "is empty"),
        (step("check = { path = \"a\" }\nexpect = { conclusion = \"fine\" }"), 6, "unknown variant `fine`"),
        (step("late = true").replace("\"sync\"", "\"sink\""), 2, "unknown variant `sink`"),
        (step("late = true").replace("server", "world = \"real\"\nserver"), 3, "one world only"),
        (step("late = true").replace("server", "budget = { call = \"2s\" }\nserver"), 3, "a budget over 500ms"),
        (step("late = true").replace("server = \"push\"", ""), 1, "without a server"),
    ];
    for (text, line, what) in cases {
        let error = Scenario::parse("sync/x", &text).unwrap_err();
        assert!(error.line() == line && error.to_string().contains(what), "{error}\n{text}");
    }
}

#[test]
fn an_unknown_script_is_named_with_its_place() {
    let scenario = Scenario::parse("freshness/stale", GOOD).unwrap();
    assert!(scenario.check_scripts(GOOD, &["stale-push"]).is_ok());
    let error = scenario.check_scripts(GOOD, &["push", "pull"]).unwrap_err();
    assert_eq!(error.to_string(), "freshness/stale:4:10: no script is called \"stale-push\"");
}

#[test]
fn the_schema_takes_what_the_parser_takes() {
    let schema = jsonschema::validator_for(&scenario_schema()).unwrap();
    let value = |text: &str| serde_json::to_value(toml::from_str::<toml::Table>(text).unwrap()).unwrap();
    assert!(schema.is_valid(&value(GOOD)));
    assert!(!schema.is_valid(&value(&GOOD.replace("summary", "sumary"))));
}

//! What is wrong in a script is shown with its place; what is right means what it says.

use std::fmt::Write as _;

use miette::{GraphicalReportHandler, GraphicalTheme};

use super::*;

const RULE: &str = "summary = 's'\n\n[[on]]\nmessage = 'textDocument/didOpen'\ndo = [";

/// The error of a script, as people see it.
fn shown(text: &str) -> String {
    let error = Script::parse("wrong.toml", text).expect_err(text);
    let mut shown = String::new();
    GraphicalReportHandler::new_themed(GraphicalTheme::none())
        .with_width(100)
        .render_report(&mut shown, &error)
        .unwrap();
    shown
}

#[test]
fn mistakes_are_shown_with_their_place() {
    let actions = [
        "{ publisch = 'current' }",
        "{ publish = 'curent' }",
        "{ publish = '[{]' }",
        "{ publish = 'current', log = 'x' }",
        "{ after = '1s' }",
        "{ publish = 'current', after = '300' }",
        "{ publish = 'current', version = '1' }",
        "{ log = 'x', version = 'current' }",
        "{ stderr = 'x', split = { bytes = 1 } }",
        "{ log = 'x', split = { bytes = 0 } }",
        "{ answer = 'ful' }",
        "{ result = '{' }",
        "{ base64 = '!' }",
        "{ exit = 256 }",
        "{ die = false }",
        "{ request = { method = 'x', id = 1.5 } }",
        "{ flood = { what = 'log', count = 0 } }",
        "{ error = { message = 'no code' } }",
        "'publish'",
        "['publish']",
        "{ publish = 'current', after = '99999999999999999999s' }",
        "{ flood = { what = 'log', count = 9223372036854775807 } }",
        "{ flood = { what = 'log', count = 99999999999999999999 } }",
        "{ flood = 'log' }",
        "{ error = { code = 'x', message = '' } }",
        "{ request = { method = 'x', id = { a = 1 } } }",
    ];
    let mut all = String::new();
    for action in actions {
        writeln!(all, "{}", shown(&format!("{RULE}{action}]\n"))).unwrap();
    }
    let wholes = [
        "",
        "summary = 's'\nkeeps = ['version']\n",
        "summary = 's'\nkeeps = ['settles: soon']\n",
        "summary = 's'\ntag = false\n",
        "summary = 's'\n[capabilities]\nsync = 'increment'\n",
        "summary = 's'\n[[on]]\nmessage = 'didOpen'\ndo = [{ ignore = true }]\n",
        "summary = 's'\n[[on]]\nmessage = 'textDocument/didOpen'\ndo = []\n",
        "summary = 's'\n[[on]]\nmessage = 'start'\ndo = [{ answer = 'null' }]\n",
        "summary = 's'\n[[on]]\nmessage = 'terminate'\ndo = [{ publish = 'empty' }]\n",
        "summary = 's'\n[[on]]\nmessage = 'x/y'\ncount = 'twice'\ndo = [{ ignore = true }]\n",
        "summary = 's'\nsummary = 't'\n",
        "summary = 's\n",
        "summary = 1979-05-27\n",
        "summary = ['s']\n",
        "summary = 's'\nkeeps = 1\n",
        "summary = 's'\ntags = 'no'\n",
        "summary = 's'\non = 's'\n",
        "summary = 's\u{1b}[31m'\n",
    ];
    for whole in wholes {
        writeln!(all, "{}", shown(whole)).unwrap();
    }
    insta::assert_snapshot!(all);
}

#[test]
fn what_is_no_text_is_shown_with_its_place() {
    assert_eq!(crate::text_of("f", b"a = 1\n".to_vec()).unwrap(), "a = 1\n");
    let error = crate::text_of("f", b"a = 1\n'\x1b\xc3\xa9\xff\xfe'".to_vec()).unwrap_err();
    assert_eq!(error.to_string(), "f:2:4: the byte 0xff is not UTF-8");
    let whole = format!("{error:?}");
    assert!(!whole.contains('\u{1b}') && !whole.contains("\\u{1b}"), "{whole}");
}

#[test]
fn an_error_knows_its_line_and_column() {
    let error = Script::parse("f", &format!("{RULE}{{ log = 'é' }}, {{ publisch = 'x' }}]\n")).unwrap_err();
    assert_eq!((error.name(), error.line(), error.column()), ("f", 5, 24));
    assert!(error.to_string().starts_with("f:5:24: unknown field `publisch`"), "{error}");
}

#[test]
fn bounds_hold() {
    let rule = "[[on]]\nmessage = 'x/y'\ndo = [{ ignore = true }]\n";
    let many = |rules: usize| format!("summary = 's'\n{}", rule.repeat(rules));
    assert_eq!(Script::parse("f", &many(RULES_MAX)).unwrap().rules.len(), RULES_MAX);
    assert!(Script::parse("f", &many(RULES_MAX + 1)).unwrap_err().what().contains("more than 256 rules"));
    let actions = format!("{RULE}{}]", "{ ignore = true },".repeat(ACTIONS_MAX + 1));
    assert!(Script::parse("f", &actions).unwrap_err().what().contains("more than 256 actions"));
    let long = format!("summary = '{}'", "x".repeat(crate::error::SOURCE_BYTES_MAX));
    assert!(Script::parse("f", &long).unwrap_err().what().contains("larger than"));
}

#[test]
fn what_is_kept_can_be_asked() {
    let script = Script::parse("f", "summary = 's'\nkeeps = ['versions', 'settles: 1.5s']\n").unwrap();
    assert!(script.keeps(Keep::Versions) && !script.keeps(Keep::OneResult));
    assert_eq!(script.settles(), Some(std::time::Duration::from_millis(1500)));
    let written: Vec<_> = script.keeps.iter().map(ToString::to_string).collect();
    assert_eq!(written.join(", "), "versions, settles: 1500ms");
}

#[test]
fn the_schema_agrees_with_the_parser() {
    let validator = jsonschema::validator_for(&script_schema()).unwrap();
    let cases = [
        ("summary = 's'\n", true),
        ("keeps = []\n", false),
        ("summary = 's'\nkeeps = ['settles: 2s']\n", true),
        ("summary = 's'\nkeeps = ['settles']\n", false),
        ("summary = 's'\nextra = 1\n", false),
        ("summary = 's'\n[[on]]\nmessage = 'x/y'\ncount = 2\ndo = [{ log = 'x', after = '2ms' }]\n", true),
        ("summary = 's'\n[[on]]\nmessage = 'x/y'\ndo = [{ log = 'x', after = '2m' }]\n", false),
        ("summary = 's'\n[[on]]\nmessage = 'x/y'\ndo = [{ log = 'x', publish = 'empty' }]\n", false),
        ("summary = 's'\n[[on]]\nmessage = 'x/y'\ndo = [{ after = '2ms' }]\n", false),
        ("summary = 's'\n[[on]]\nmessage = 'x/y'\ndo = []\n", false),
        ("summary = 's'\n[[on]]\nmessage = 'x/y'\ndo = [{ die = false }]\n", false),
    ];
    for (text, right) in cases {
        let value: Value = toml::from_str::<Value>(text).unwrap();
        assert_eq!(Script::parse("f", text).is_ok(), right, "parsing {text}");
        assert_eq!(validator.is_valid(&value), right, "schema for {text}");
    }
}

//! The interpreter in pure form: a script in a few lines, what the client does, what comes of it.

use crate::client::{Client, URI};
use fake_lsp::Input;
use serde_json::{Value, json};

const E1: &str = "ERROR E1 boom\n";
const E2: &str = "fine\nWARNING W2 hm\n";

/// A script with the rules that do `actions` upon a change, and publish upon an open.
fn on_change(actions: &str) -> String {
    format!(
        "summary = 's'\n[[on]]\nmessage = 'textDocument/didOpen'\ndo = [{{ publish = 'current' }}]\n\
         [[on]]\nmessage = 'textDocument/didChange'\ndo = [{actions}]\n"
    )
}

#[test]
fn verbs_upon_a_change() {
    let cases: &[(&str, &[&str])] = &[
        ("{ publish = 'current' }", &["publish v2 W2"]),
        ("{ publish = 'previous' }", &["publish v2 E1"]),
        ("{ publish = 'previous', version = 'previous' }", &["publish v1 E1"]),
        ("{ publish = 'empty', version = 'none' }", &["publish none"]),
        ("{ publish = 'current', version = 'null' }", &["publish vnull W2"]),
        ("{ publish = 'current', version = '+1' }", &["publish v3 W2"]),
        ("{ publish = 'current', version = '=7' }", &["publish v7 W2"]),
        ("{ publish = '[{\"code\": \"X\", \"n\": \"${version}\"}]' }", &["publish v2 X"]),
        ("{ publish = 'current', document = 'a.fake' }", &["publish v2 W2"]),
        ("{ publish = 'current', document = 'b.fake' }", &["publish none"]),
        (
            "{ publish = 'current', document = '*.none' }",
            &["no-document {\"document\":\"*.none\",\"method\":\"textDocument/didChange\"}"],
        ),
        ("{ answer = 'null' }", &["nothing-to-answer {\"method\":\"textDocument/didChange\"}"]),
        (
            "{ notify = { method = 'x/y', params = '{\"v\": \"${version}\", \"at\": \"${uri}!\"}' } }",
            &["notify x/y {\"at\":\"file:///w/a.fake!\",\"v\":2}"],
        ),
        ("{ request = { method = 'x/y', id = 'q' } }", &["request x/y \"q\""]),
        ("{ log = 'of ${version}' }", &["notify window/logMessage {\"message\":\"of 2\",\"type\":3}"]),
        ("{ stderr = 'oh' }", &["stderr oh"]),
        ("{ raw = 'four' }", &["raw 4 bytes"]),
        ("{ base64 = '//79' }", &["raw 3 bytes"]),
        ("{ frame = '[1]' }, { frame = 'no' }", &["result null", "raw 2 bytes"]),
        ("{ progress = 'begin' }, { progress = 'end' }", &["progress begin", "progress end"]),
        (
            "{ refresh = true }",
            &["skipped {\"what\":\"refresh\",\"why\":\"the client did not announce refreshSupport\"}"],
        ),
        (
            "{ open = 'g' }, { log = 'x', until = 'g' }",
            &["gate {\"name\":\"g\"}", "notify window/logMessage {\"message\":\"x\",\"type\":3}"],
        ),
        ("{ state = 'late' }", &["state {\"name\":\"late\"}"]),
        ("{ stop_reading = true }", &["reading {\"reading\":false}", "stop-reading"]),
        ("{ close_stdout = true }, { publish = 'current' }, { stderr = 'on' }", &["close-output", "stderr on"]),
        ("{ publish = 'current' }, { exit = 3 }, { publish = 'empty' }", &["publish v2 W2", "exit 3"]),
        ("{ die = true }", &["die"]),
        ("{ ignore = true }", &[]),
    ];
    for (actions, expected) in cases {
        let mut client = Client::running(&on_change(actions));
        assert_eq!(client.open(E1), ["publish v1 E1"], "{actions}");
        assert_eq!(client.change(2, E2), *expected, "{actions}");
    }
}

#[test]
fn delays_gates_and_changes() {
    let mut client = Client::running(&on_change("{ publish = 'previous' }, { publish = 'current', after = '300ms' }"));
    client.open(E1);
    assert_eq!(client.change(2, E2), ["publish v2 E1"]);
    assert_eq!(client.pass(299), Vec::<String>::new());
    assert_eq!(client.pass(2), ["300 publish v2 W2"]);

    // `current` is the text at the moment of sending; `cancel_on_change` drops what is overtaken.
    let mut client = Client::running(&on_change("{ publish = 'current', after = '10ms' }"));
    client.open(E1);
    client.change(2, E2);
    client.pass(5);
    client.change(3, E1);
    assert_eq!(client.pass(20), ["10 publish v3 E1", "15 publish v3 E1"]);
    let mut client = Client::running(&on_change("{ publish = 'current', after = '10ms', cancel_on_change = true }"));
    client.open(E1);
    client.change(2, E2);
    client.pass(5);
    client.change(3, E1);
    assert_eq!(
        client.pass(20),
        ["10 cancelled {\"action\":0,\"rule\":1,\"why\":\"the document changed\"}", "15 publish v3 E1"]
    );

    let mut client = Client::running(&on_change("{ publish = 'current', until = 'go', after = '5ms' }, { log = 'x' }"));
    client.open(E1);
    client.change(2, E2);
    assert_eq!(client.pass(100), Vec::<String>::new());
    let opened = client.input(Input::Gate("go"));
    assert_eq!(opened[..2], ["gate {\"name\":\"go\"}", "publish v2 W2"]);
    // A gate stays open, and time is waited for as well.
    assert_eq!(client.change(3, E1), Vec::<String>::new());
    assert_eq!(client.pass(5)[0], "105 publish v3 E1");
}

#[test]
fn jitter_is_drawn_from_the_seed() {
    let script = on_change("{ publish = 'current', after = '10ms', jitter = '20ms' }");
    let run = |seed| {
        let script = scenario::Script::parse("s", &script).unwrap();
        let mut client = Client::of(script, fake_lsp::Options { seed, instance: 1 });
        client.request("initialize", json!({ "capabilities": {} }));
        client.notify("initialized", json!({}));
        client.open(E1);
        client.change(2, E2);
        client.pass(40)
    };
    assert_eq!(run(1), run(1));
    let times: std::collections::BTreeSet<_> = (0..8).map(run).collect();
    assert!(times.len() > 4, "{times:?}");
    for told in &times {
        let at: f64 = told[0].split(' ').next().unwrap().parse().unwrap();
        assert!((10.0..=30.0).contains(&at), "{told:?}");
    }
}

#[test]
fn requests_are_answered_as_the_specification_says() {
    let pull = "summary = 's'\n[capabilities]\npull = {}\n";
    let none = "summary = 's'\n";
    let mut client = Client::new(pull);
    assert_eq!(client.request("x/y", json!({})), ["unexpected: a request before initialize", "error -32002"]);
    assert_eq!(client.open(E1), ["unexpected: a notification before the answer to initialize"]);
    assert_eq!(client.request("initialize", json!({ "capabilities": {} })), ["initialize-result"]);
    assert_eq!(client.open(E1), ["unexpected: a notification before initialized",]);
    client.notify("initialized", json!({}));
    assert_eq!(client.request("x/y", json!({})), ["error -32601"]);
    assert_eq!(client.request("initialize", json!({})), ["unexpected: a second initialize", "error -32600"]);
    assert_eq!(client.pull(), ["error -32602"]);
    client.open(E1);
    assert_eq!(client.pull(), ["full E1"]);
    client.change(2, E2);
    assert_eq!(client.pull(), ["full W2"]);
    assert_eq!(client.request("shutdown", Value::Null), ["result null"]);
    assert_eq!(client.pull(), ["unexpected: a request after shutdown", "error -32600"]);
    assert_eq!(client.change(3, E1), ["unexpected: a notification after shutdown"]);
    assert_eq!(client.notify("exit", Value::Null), ["exit 0"]);
    assert_eq!(client.pull(), Vec::<String>::new(), "nothing comes after the end");

    let mut client = Client::running(none);
    client.open(E1);
    assert_eq!(client.pull(), ["error -32601"]);
    assert_eq!(client.notify("exit", Value::Null), ["exit 1"]);
    assert_eq!(Client::running(none).input(Input::Terminate), ["exit 143"]);
    assert_eq!(Client::running(none).input(Input::InputClosed), ["stdin-closed {}", "exit 1"]);
}

#[test]
fn pulls_are_answered_as_a_script_says_and_can_be_cancelled() {
    let script = |answer: &str| {
        format!(
            "summary = 's'\n[capabilities]\npull = {{ identifier = 'i' }}\n\
             [[on]]\nmessage = 'textDocument/diagnostic'\ndo = [{answer}]\n"
        )
    };
    let cases: &[(&str, &[&str])] = &[
        ("{ answer = 'full' }", &["full W2"]),
        ("{ answer = 'full-previous' }", &["full E1"]),
        ("{ answer = 'full-empty' }", &["full"]),
        ("{ answer = 'unchanged' }", &["unchanged \"r0\""]),
        ("{ answer = 'default' }", &["full W2"]),
        ("{ answer = 'null' }", &["result null"]),
        ("{ result = '{\"x\": \"${id}\"}' }", &["result {\"x\":2}"]),
        ("{ error = { code = -32802, data = '{\"retriggerRequest\": true}' } }", &["error -32802"]),
        ("{ log = 'a' }", &["notify window/logMessage {\"message\":\"a\",\"type\":3}", "full W2"]),
        ("{ answer = 'full' }, { answer = 'full-empty' }", &["full W2", "full"]),
        ("{ ignore = true }", &[]),
    ];
    for (answer, expected) in cases {
        let mut client = Client::running(&script(answer));
        client.open(E1);
        client.change(2, E2);
        let params = json!({ "textDocument": { "uri": URI }, "identifier": "i", "previousResultId": "r0" });
        assert_eq!(client.request("textDocument/diagnostic", params), *expected, "{answer}");
    }

    let mut client = Client::running(&script("{ answer = 'full', after = '10ms' }"));
    client.open(E1);
    client.pull();
    assert_eq!(client.notify("$/cancelRequest", json!({ "id": 2 })), ["error -32800"]);
    assert_eq!(client.pass(10), ["10 cancelled {\"id\":2,\"method\":\"textDocument/diagnostic\"}"]);
}

#[test]
fn the_first_rule_that_matches_wins() {
    let mut client = Client::running(
        "summary = 's'\n\
         [[on]]\nmessage = 'textDocument/didChange'\ncount = 2\ndo = [{ log = 'second' }]\n\
         [[on]]\nmessage = 'textDocument/didChange'\ntext = 'E1'\nalso = true\ndo = [{ log = 'has E1' }]\n\
         [[on]]\nmessage = 'textDocument/didChange'\nstate = 'start'\nversion = 4\ndo = [{ state = 'x' }]\n\
         [[on]]\nmessage = 'textDocument/didChange'\ndocument = 'b.*'\ndo = [{ log = 'b' }]\n\
         [[on]]\nmessage = '*'\ninstance = '2..'\ndo = [{ log = 'again' }]\n\
         [[on]]\nmessage = 'textDocument/didChange'\ncount = 'every 2'\ndo = [{ log = 'even' }]\n",
    );
    client.open(E1);
    let log = |text: &str| format!("notify window/logMessage {{\"message\":\"{text}\",\"type\":3}}");
    assert_eq!(client.change(2, E1), [log("has E1")]);
    assert_eq!(client.change(3, E1), [log("second")], "the second of all changes");
    assert_eq!(client.change(4, E2), ["state {\"name\":\"x\"}"]);
    assert_eq!(client.change(5, E1), [log("has E1"), log("even")]);
    assert_eq!(client.change(6, E2), Vec::<String>::new());
}

#[test]
fn a_list_waits_for_the_clients_answer() {
    let mut client = Client::new(
        "summary = 's'\n[[on]]\nmessage = 'initialized'\n\
         do = [{ request = { method = 'q', id = 'one', await = true } }, { progress = 'begin' }, { log = 'done' }]\n",
    );
    let capabilities =
        json!({ "window": { "workDoneProgress": true }, "workspace": { "diagnostics": { "refreshSupport": true } } });
    client.request("initialize", json!({ "capabilities": capabilities }));
    assert_eq!(client.notify("initialized", json!({})), ["request q \"one\""]);
    assert_eq!(client.send(&json!({ "id": 1, "result": null })), ["unexpected: an answer to an id that is not asked"]);
    assert_eq!(client.send(&json!({ "id": "one", "result": null })), ["request window/workDoneProgress/create 1"]);
    assert_eq!(
        client.send(&json!({ "id": "1", "result": null })),
        ["unexpected: an answer to an id that is not asked"]
    );
    let done = "notify window/logMessage {\"message\":\"done\",\"type\":3}";
    assert_eq!(client.send(&json!({ "id": 1, "result": null })), ["progress begin", done]);
}

#[test]
fn documents_are_applied_strictly() {
    let range = |start: (u32, u32), end: (u32, u32), text: &str| {
        let at = |(line, character)| json!({ "line": line, "character": character });
        json!([{ "range": { "start": at(start), "end": at(end) }, "text": text }])
    };
    let mut client = Client::running(&on_change("{ publish = 'current' }"));
    let refused = |why: &str, then: &str| vec![format!("refused: {why}"), then.to_owned()];
    assert_eq!(client.change(2, E1)[0], "refused: changed while it is not open");
    assert_eq!(client.close(), ["refused: closed while it is not open"]);
    client.open("a😀\r\nERROR E1 x\n");
    assert_eq!(client.open(E2)[0], "refused: opened while it is open");
    assert_eq!(client.change(1, E2), refused("the version does not rise above 1", "publish v1 E1"));
    let inside = client.changes(2, range((0, 2), (0, 3), ""));
    assert_eq!(inside, refused("position 0:2 is inside a character", "publish v1 E1"));
    let outside = client.changes(2, range((0, 0), (3, 0), ""));
    assert_eq!(outside, refused("position 3:0 is outside the text of 3 lines", "publish v1 E1"));
    assert_eq!(
        client.changes(2, range((1, 9), (1, 6), ""))[0],
        "refused: the range ends at 1:6 before it starts at 1:9"
    );
    assert_eq!(client.changes(2, range((1, 7), (1, 8), "7")), ["publish v2 E7"]);
    assert_eq!(client.changes(3, range((0, 1), (1, 10), "b")), ["publish v3"]);
    assert_eq!(client.changes(9, range((1, 0), (1, 0), "HINT H1")), ["publish v9 H1"]);
    client.close();
    assert_eq!(client.open(E1), ["publish v1 E1"], "open again");

    let mut client = Client::running("summary = 's'\n[capabilities]\nsync = 'full'\n");
    client.open(E1);
    let ranged = client.changes(2, range((0, 0), (0, 1), ""));
    assert_eq!(ranged, ["refused: a range though incremental sync was not announced"]);
}

#[test]
fn splits_and_floods_keep_the_order() {
    let mut client = Client::running(&on_change(
        "{ raw = '0123456789', split = { bytes = 4, pause = '5ms' } }, { publish = 'current' }",
    ));
    client.open(E1);
    assert_eq!(client.change(2, E2), Vec::<String>::new());
    assert_eq!(client.request("x/y", json!({})), Vec::<String>::new(), "behind the raw bytes");
    assert_eq!(client.pass(20), ["10 raw 10 bytes", "10 error -32601", "10 publish v2 W2"]);

    for (what, count) in [("publish", 2000), ("log", 2000), ("stderr", 5000), ("findings", 30_000)] {
        let flood = format!("{{ flood = {{ what = '{what}', count = {count} }} }}, {{ publish = 'current' }}");
        let mut client = Client::running(&on_change(&flood));
        client.open(E1);
        let mut out = Vec::new();
        let params = json!({ "textDocument": { "uri": URI, "version": 2 }, "contentChanges": [{ "text": E2 }] });
        let change = json!({ "jsonrpc": "2.0", "method": "textDocument/didChange", "params": params });
        let frame = wire::encode(change.to_string().as_bytes());
        client.fake.handle(Input::Bytes(&frame), client.now, &mut out);
        let mut decoder = wire::Decoder::default();
        let (mut messages, mut turns) = (0, 0);
        loop {
            let bytes = out.iter().map(|output| match output {
                fake_lsp::Output::Write(bytes) | fake_lsp::Output::Stderr(bytes) => bytes.len(),
                _ => 0,
            });
            assert!(bytes.sum::<usize>() < 130_000, "{what}: one turn puts out a bounded amount");
            for output in out.drain(..) {
                if let fake_lsp::Output::Write(bytes) = output {
                    decoder.push(&bytes);
                }
            }
            while let Some(decoded) = decoder.next() {
                assert!(matches!(decoded, wire::Decoded::Content(_)), "{what}: {decoded:?}");
                messages += 1;
            }
            if client.fake.next_deadline().is_none() {
                break;
            }
            turns += 1;
            client.fake.handle(Input::Wake, client.now, &mut out);
        }
        let expected = match what {
            "stderr" => 1,
            "findings" => 2,
            _ => count + 1,
        };
        assert_eq!((messages, decoder.finish()), (expected, None), "{what}");
        assert!(turns > 1, "{what}: in more than one turn");
    }
}

#[test]
fn what_is_read_before_reading_stops_is_kept_until_it_resumes() {
    let mut client = Client::running(&on_change("{ stop_reading = true }, { resume_reading = true, after = '10ms' }"));
    client.open(E1);
    client.change(2, E2);
    assert_eq!(client.request("x/y", json!({})), Vec::<String>::new());
    assert_eq!(client.input(Input::InputClosed), Vec::<String>::new());
    let resumed = client.pass(10);
    let expected =
        ["10 reading {\"reading\":true}", "10 resume-reading", "10 error -32601", "10 stdin-closed {}", "10 exit 1"];
    assert_eq!(resumed, expected);
}

#[test]
fn the_initialize_result_says_what_the_script_announces() {
    let script = "summary = 's'\n[capabilities]\nsync = 'full'\nopen_close = true\nsave = true\n\
                  pull = { identifier = 'i', inter_file_dependencies = true }\nposition_encoding = 'utf-8'\n\
                  extra = '{\"capabilities\": {\"hoverProvider\": true, \"textDocumentSync\": {\"willSave\": true}}}'\n";
    let result = |encodings: Value| {
        let mut client = Client::new(script);
        let mut out = Vec::new();
        let params = json!({ "capabilities": { "general": { "positionEncodings": encodings } } });
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
        client.fake.handle(Input::Bytes(&wire::encode(message.to_string().as_bytes())), client.now, &mut out);
        let sent = out.iter().find_map(|output| match output {
            fake_lsp::Output::Trace(wire::trace::Entry::Message { msg, .. }) => msg.get("result").cloned(),
            _ => None,
        });
        sent.unwrap()["capabilities"].clone()
    };
    let expected = json!({
        "textDocumentSync": { "openClose": true, "change": 1, "save": { "includeText": false }, "willSave": true },
        "diagnosticProvider": { "identifier": "i", "interFileDependencies": true, "workspaceDiagnostics": false },
        "positionEncoding": "utf-8",
        "hoverProvider": true,
    });
    assert_eq!(result(json!(["utf-16", "utf-8"])), expected);
    assert_eq!(result(json!(["utf-16"])).get("positionEncoding"), None, "the client does not offer it");
}

#[test]
fn the_readiness_gated_server_says_first_that_it_is_not_ready() {
    let script = fake_lsp::load("readiness-gated").unwrap();
    let mut client = Client::of(script, fake_lsp::Options::default());
    let window = json!({ "workDoneProgress": true });
    let workspace = json!({ "diagnostics": { "refreshSupport": true } });
    client.request("initialize", json!({ "capabilities": { "window": window, "workspace": workspace } }));
    let create = ["state {\"name\":\"loading\"}", "request window/workDoneProgress/create 1"];
    assert_eq!(client.notify("initialized", json!({})), create);
    client.open(E1);
    assert_eq!(client.pull(), Vec::<String>::new(), "not before the progress has begun");
    let begun = ["progress begin", "gate {\"name\":\"begun\"}", "full"];
    assert_eq!(client.send(&json!({ "id": 1, "result": null })), begun);
    let ready = [
        "100 progress report",
        "200 state {\"name\":\"ready\"}",
        "200 progress end",
        "200 request workspace/diagnostic/refresh 2",
    ];
    assert_eq!(client.pass(300), ready);
    assert_eq!(client.pull(), ["full E1"]);
}

//! The loop by hand: given a server that does this, an edit is answered with that.

use crate::bench::{Bench, diagnostics, policy, pull_server, push_server, spec};
use feedback::{Answer, Conclusion, KnownBy, Reason, Request, Signal};
use serde_json::json;

#[test]
fn a_push_for_the_newest_version_is_taken_at_once_and_an_older_one_never() {
    let mut bench = Bench::one();
    let first = bench.edit("a.fake", "ok\n");
    bench.initialize(push_server());
    bench.publish(Some(1), &[]);
    assert_eq!(bench.text(first), "a.fake: no errors");

    let second = bench.edit("a.fake", "bad\n");
    bench.publish(Some(1), &["leftover"]);
    bench.pass_to(300);
    assert!(bench.report(second).is_none());
    bench.publish(Some(2), &["boom"]);
    assert_eq!(bench.text(second), "a.fake: 1 error\n  1:1 error: boom");
    assert_eq!(bench.report(second).unwrap().known_by, Some(KnownBy::Versioned));
}

#[test]
fn silence_is_pending_and_what_was_known_is_labelled() {
    let mut bench = Bench::one();
    let first = bench.edit("a.fake", "bad\n");
    bench.initialize(push_server());
    bench.publish(Some(1), &["boom"]);
    assert!(bench.report(first).is_some());
    let second = bench.edit("a.fake", "worse\n");
    bench.pass_to(2_999);
    assert!(bench.report(second).is_none());
    bench.pass_to(3_000);
    insta::assert_snapshot!(bench.text(second), @r"
    a.fake: not checked yet: the server has said nothing about this text within the budget
    before this edit (1 known, may no longer hold):
      1:1 error: boom
    ");
    // The result comes after all, and is told once.
    bench.publish(Some(2), &["late boom"]);
    assert_eq!(bench.late(), ["a.fake: 1 error\n  1:1 error: late boom"]);
    assert_eq!(bench.late(), Vec::<String>::new());
}

#[test]
fn a_late_result_of_an_older_text_is_dropped() {
    let mut bench = Bench::one();
    bench.edit("a.fake", "one\n");
    bench.initialize(push_server());
    bench.pass_to(4_000);
    bench.publish(Some(1), &["of one"]);
    bench.edit("a.fake", "two\n");
    bench.publish(Some(1), &["of one"]);
    assert_eq!(bench.late(), Vec::<String>::new());
}

#[test]
fn a_result_without_version_settles_for_what_remains_of_the_budget_until_the_server_is_known() {
    let mut bench = Bench::one();
    let mut at = 0;
    for round in 0..3 {
        let call = bench.edit("a.fake", &format!("bad {round}\n"));
        if round == 0 {
            bench.initialize(push_server());
        }
        bench.publish(None, &["stale"]);
        bench.pass_to(at + 40);
        bench.publish(None, &["boom"]);
        bench.pass_to(at + 2_999);
        assert!(bench.report(call).is_none(), "round {round}");
        at += 3_000;
        bench.pass_to(at);
        assert_eq!(bench.text(call), "a.fake: 1 error (inferred)\n  1:1 error: boom", "round {round}");
    }
    // Known now: the last word comes within 40 ms, so 150 ms of quiet are enough.
    let call = bench.edit("a.fake", "bad\n");
    bench.publish(None, &["stale"]);
    bench.pass_to(at + 40);
    bench.publish(None, &["boom"]);
    bench.pass_to(at + 189);
    assert!(bench.report(call).is_none());
    bench.pass_to(at + 190);
    assert_eq!(bench.text(call), "a.fake: 1 error (inferred)\n  1:1 error: boom");
    // A contradiction is delivered as a correction, and belief starts again.
    bench.publish(None, &["boom", "second"]);
    bench.pass_to(at + 1_000);
    assert_eq!(bench.late().len(), 1);
    let call = bench.edit("a.fake", "still bad\n");
    bench.publish(None, &["boom"]);
    bench.pass_to(at + 3_900);
    assert!(bench.report(call).is_none());
}

#[test]
fn a_pull_is_asked_after_the_sync_and_an_answer_to_an_older_one_is_not_taken() {
    let mut bench = Bench::one();
    let first = bench.edit("a.fake", "bad\n");
    bench.initialize(pull_server());
    let id = bench.pull();
    bench.say(json!({ "id": id, "result": { "kind": "full", "resultId": "r1", "items": diagnostics(&["boom"]) } }));
    assert_eq!(bench.text(first), "a.fake: 1 error\n  1:1 error: boom");

    let second = bench.edit("a.fake", "one\n");
    let old = bench.pull();
    let third = bench.edit("a.fake", "two\n");
    assert_eq!(bench.report(second).unwrap().reason, Some(Reason::Superseded));
    let messages = bench.take();
    let methods: Vec<_> = messages.iter().map(|message| message["method"].as_str().unwrap()).collect();
    let wanted = ["textDocument/didChange", "textDocument/didSave", "$/cancelRequest", "textDocument/diagnostic"];
    assert_eq!(methods, wanted);
    assert_eq!(messages[3]["params"]["previousResultId"], "r1");
    bench.say(json!({ "id": old, "result": { "kind": "full", "items": diagnostics(&["old"]) } }));
    assert!(bench.report(third).is_none());
    bench.say(json!({ "id": messages[3]["id"], "result": { "kind": "unchanged", "resultId": "r1" } }));
    assert_eq!(bench.text(third), "a.fake: 1 error\n  1:1 error: boom");
}

#[test]
fn a_refused_pull_is_asked_again_with_rising_pauses_and_never_in_a_storm() {
    let mut bench = Bench::one();
    let call = bench.edit("a.fake", "bad\n");
    bench.initialize(pull_server());
    let mut pulls = 0;
    let mut at = 0;
    while bench.report(call).is_none() {
        for message in bench.take() {
            if message["method"] == "textDocument/diagnostic" {
                pulls += 1;
                bench.say(json!({ "id": message["id"], "error": { "code": -32802, "message": "busy" } }));
            }
        }
        at += 10;
        bench.pass_to(at);
    }
    assert_eq!((at, pulls), (3_000, 6), "50, 100, 200, 400, 800 ms of pauses");
    assert_eq!(bench.report(call).unwrap().reason, Some(Reason::ServerCancelled));
}

#[test]
fn results_do_not_count_while_the_server_says_that_it_is_loading() {
    let mut bench = Bench::one();
    let call = bench.edit("a.fake", "bad\n");
    bench.initialize(pull_server());
    let id = bench.pull();
    let progress = |kind: &str| json!({ "method": "$/progress", "params": { "token": 1, "value": { "kind": kind } } });
    bench.say(json!({ "id": "t", "method": "window/workDoneProgress/create", "params": { "token": 1 } }));
    bench.say(progress("begin"));
    bench.say(json!({ "id": id, "result": { "kind": "full", "items": [] } }));
    bench.pass_to(1_000);
    assert!(bench.report(call).is_none());
    bench.say(progress("end"));
    let id = bench.pull();
    bench.say(json!({ "id": id, "result": { "kind": "full", "items": diagnostics(&["boom"]) } }));
    assert_eq!(bench.text(call), "a.fake: 1 error\n  1:1 error: boom");
}

#[test]
fn progress_that_each_pull_causes_does_not_keep_the_loop_asking() {
    let progress = |kind: &str| json!({ "method": "$/progress", "params": { "token": 1, "value": { "kind": kind } } });
    // Where the answer falls between begin and end, before both, or after both.
    for answered_at in 0..3 {
        let mut bench = Bench::one();
        let call = bench.edit("a.fake", "bad\n");
        bench.initialize(pull_server());
        let mut pulls = 0;
        while bench.report(call).is_none() && bench.now.0 < 2_000_000 {
            let asked: Vec<_> =
                bench.take().into_iter().filter(|one| one["method"] == "textDocument/diagnostic").collect();
            for message in asked {
                pulls += 1;
                for (step, kind) in ["begin", "end"].into_iter().enumerate() {
                    if step == answered_at {
                        bench.say(json!({ "id": message["id"], "result": { "kind": "full", "items": [] } }));
                    }
                    bench.say(progress(kind));
                }
                if answered_at == 2 {
                    bench.say(json!({ "id": message["id"], "result": { "kind": "full", "items": [] } }));
                }
            }
            let at = bench.now.0 / 1000 + 10;
            bench.pass_to(at);
        }
        assert_eq!(bench.report(call).unwrap().conclusion, Conclusion::Clean, "answered at {answered_at}");
        assert!(pulls <= 5, "{pulls} pulls, answered at {answered_at}");
    }
}

#[test]
fn a_refresh_upon_each_pull_ends_in_what_was_said_and_is_not_a_storm() {
    let mut bench = Bench::one();
    let call = bench.edit("a.fake", "bad\n");
    bench.initialize(pull_server());
    let mut pulls = 0;
    for _ in 0..100 {
        for message in bench.take() {
            if message["method"] == "textDocument/diagnostic" {
                pulls += 1;
                bench.say(json!({ "id": pulls, "method": "workspace/diagnostic/refresh" }));
                bench
                    .say(json!({ "id": message["id"], "result": { "kind": "full", "items": diagnostics(&["boom"]) } }));
            }
        }
    }
    assert_eq!(bench.text(call), "a.fake: 1 error (inferred)\n  1:1 error: boom");
    assert_eq!(pulls, 10);
}

#[test]
fn a_refresh_brings_a_correction() {
    let mut bench = Bench::one();
    let call = bench.edit("a.fake", "bad\n");
    bench.initialize(pull_server());
    let id = bench.pull();
    bench.say(json!({ "id": id, "result": { "kind": "full", "items": [] } }));
    assert_eq!(bench.report(call).unwrap().conclusion, Conclusion::Clean);
    bench.say(json!({ "id": 1, "method": "workspace/diagnostic/refresh" }));
    let messages = bench.take();
    assert_eq!(messages[0], json!({ "jsonrpc": "2.0", "id": 1, "result": null }));
    bench.say(json!({ "id": messages[1]["id"], "result": { "kind": "full", "items": diagnostics(&["boom"]) } }));
    assert_eq!(bench.late(), ["a.fake: 1 error\n  1:1 error: boom"]);
}

#[test]
fn two_calls_during_the_start_share_one_process_and_only_the_newest_text_is_sent() {
    let mut bench = Bench::one();
    let first = bench.edit("a.fake", "one\n");
    let second = bench.edit("a.fake", "two\n");
    let other = bench.edit("b.fake", "other\n");
    assert_eq!(bench.spawned.len(), 1);
    assert_eq!(bench.report(first).unwrap().reason, Some(Reason::Superseded));
    bench.initialize(push_server());
    let messages = bench.take();
    let texts: Vec<_> =
        messages.iter().filter_map(|message| message["params"]["textDocument"]["text"].as_str()).collect();
    assert_eq!(texts, ["two\n", "other\n"]);
    bench.publish(Some(1), &[]);
    assert!(bench.report(second).is_some());
    assert!(bench.report(other).is_none());
}

#[test]
fn a_crash_under_a_waiting_call_is_survived_with_the_document_replayed() {
    let mut bench = Bench::one();
    let first = bench.edit("a.fake", "one\n");
    bench.initialize(push_server());
    bench.publish(Some(1), &[]);
    assert!(bench.report(first).is_some());
    let second = bench.edit("a.fake", "two\n");
    bench.exit(1, "thread panicked\nat line 7\n");
    assert_eq!(bench.spawned.len(), 2);
    bench.take();
    bench.inbox.clear();
    assert!(bench.report(second).is_none());
}

#[test]
fn a_server_that_always_crashes_is_started_a_bounded_number_of_times() {
    let mut bench = Bench::one();
    let call = bench.edit("a.fake", "one\n");
    for _ in 0..5 {
        bench.exit(3, "starting\nerror: no runtime\n  help: install one\n╰────\n");
    }
    assert_eq!(bench.spawned.len(), 5);
    insta::assert_snapshot!(bench.text(call), @r"
    a.fake: not checked, the language server is unavailable: the server exited with code 3: error: no runtime
    ");
    let again = bench.edit("a.fake", "two\n");
    assert_eq!(
        bench.text(again),
        "a.fake: not checked, the language server is unavailable: the server exited with code 3: error: no runtime"
    );
}

#[test]
fn whatever_a_server_asks_is_answered_in_kind() {
    let mut bench = Bench::one();
    bench.edit("a.fake", "one\n");
    bench.initialize(push_server());
    bench.take();
    let asked = [
        ("workspace/configuration", json!({ "items": [{}, {}, {}] }), json!({ "result": [{}, {}, {}] })),
        ("client/registerCapability", json!({ "registrations": [] }), json!({ "result": null })),
        ("workspace/workspaceFolders", json!(null), json!({ "result": [{ "name": "w", "uri": "file:///w" }] })),
        ("made/up", json!({}), json!({ "error": { "code": -32601, "message": "this client does not know made/up" } })),
    ];
    for (method, params, wanted) in asked {
        // Our own request 1 was initialize: the same number in the other direction is another id.
        for id in [json!(1), json!("1")] {
            bench.say(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
            let mut answer = bench.take().pop().expect("an answer");
            assert_eq!(answer["id"], id);
            let members = answer.as_object_mut().unwrap();
            members.remove("id");
            members.remove("jsonrpc");
            assert_eq!(answer, wanted, "{method}");
        }
    }
}

#[test]
fn broken_bytes_are_survived_with_one_note() {
    let broken: [&[u8]; 6] = [
        b"Content-Length: 99999999999999999999999999\r\n\r\n",
        b"starting up...\n",
        b"Content-Length: 3\r\n\r\n\xff\xfe\xfd",
        b"Content-Length: 3\r\n\r\nnot",
        b"Content-Length: 29\r\n\r\n{\"id\":77,\"result\":\"unasked\"}\n",
        b"Content-Length: 2\r\n\r\n[]",
    ];
    for bytes in broken {
        let mut bench = Bench::one();
        let call = bench.edit("a.fake", "one\n");
        bench.initialize(push_server());
        bench.bytes(bytes);
        bench.bytes(bytes);
        bench.publish(Some(1), &["boom"]);
        let text = bench.text(call);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[..2], ["a.fake: 1 error", "  1:1 error: boom"], "{text}");
        assert_eq!(lines.len(), 3, "{text}");
        assert!(lines[2].starts_with("note: fake: "), "{text}");
    }
}

#[test]
fn a_message_over_the_limit_ends_the_call_as_pending_and_the_next_call_has_a_server() {
    let mut bench = Bench::one();
    let call = bench.edit("a.fake", "one\n");
    bench.initialize(push_server());
    bench.bytes(b"Content-Length: 2147483648\r\n\r\n0123456789");
    bench.pass_to(3_000);
    assert_eq!(bench.report(call).unwrap().reason, Some(Reason::TooLarge { bytes: 2_147_483_648 }));
    assert_eq!(bench.signals, [(bench.newest(), Signal::Kill)]);
    bench.exit(9, "");
    let next = bench.edit("a.fake", "two\n");
    bench.initialize(push_server());
    bench.publish(Some(2), &[]);
    assert_eq!(bench.report(next).unwrap().conclusion, Conclusion::Clean);
}

#[test]
fn a_server_that_does_not_read_is_said_so() {
    let mut bench = Bench::one();
    let call = bench.edit("a.fake", "one\n");
    bench.initialize(push_server());
    bench.publish(Some(1), &[]);
    assert!(bench.report(call).is_some());
    bench.blocked = true;
    let call = bench.edit("a.fake", "two\n");
    bench.pass_to(3_000);
    assert_eq!(bench.report(call).unwrap().reason, Some(Reason::NotReading));
}

#[test]
fn the_end_comes_in_order_and_bounded() {
    let mut bench = Bench::one();
    bench.edit("a.fake", "one\n");
    bench.initialize(push_server());
    bench.publish(Some(1), &[]);
    bench.take();
    let stop = bench.call(Request::Stop);
    let messages = bench.take();
    assert_eq!(messages[0]["method"], "textDocument/didClose");
    assert_eq!(messages[1]["method"], "shutdown");
    assert!(messages[1].get("params").is_none());
    bench.say(json!({ "id": messages[1]["id"], "result": null }));
    assert_eq!(bench.methods(), ["exit"]);
    assert_eq!(bench.closed_inputs, [bench.newest()]);
    assert!(!bench.answers.contains_key(&stop));
    bench.exit(0, "");
    assert!(matches!(bench.answers[&stop], Answer::Done));
    let refused = bench.edit("a.fake", "two\n");
    assert!(matches!(bench.answers[&refused], Answer::Refused { .. }));
}

#[test]
fn a_server_that_ignores_every_request_to_end_is_killed() {
    let mut bench = Bench::one();
    let call = bench.edit("a.fake", "one\n");
    bench.initialize(push_server());
    let stop = bench.call(Request::Stop);
    assert_eq!(bench.report(call).unwrap().reason, Some(Reason::Cancelled));
    bench.pass_to(10_000);
    let process = bench.newest();
    assert_eq!(bench.signals, [(process, Signal::Terminate), (process, Signal::Kill)]);
    bench.exit(137, "");
    assert!(matches!(bench.answers[&stop], Answer::Done));
}

#[test]
fn files_outside_the_workspace_are_refused_and_others_uncovered() {
    let mut bench = Bench::one();
    let outside = bench.call(Request::Check { path: "../etc/passwd.fake".into() });
    assert!(matches!(bench.answers[&outside], Answer::Refused { .. }));
    let other = bench.edit("a.other", "x\n");
    assert_eq!(bench.text(other), "a.other: not checked, no language server covers this file");
    bench.files.insert("/w/b.fake".into(), vec![0xff]);
    let binary = bench.call(Request::Check { path: "b.fake".into() });
    assert_eq!(bench.text(binary), "b.fake: not checked: the file could not be read: not UTF-8 at byte 0");
    assert!(bench.spawned.is_empty());
}

#[test]
fn equal_findings_are_told_once_and_the_list_is_capped_with_a_true_total() {
    let mut bench = Bench::one();
    let call = bench.edit("a.fake", "one\n");
    bench.initialize(push_server());
    let many: Vec<String> = (0..30).map(|n| format!("boom {n:02}")).collect();
    let mut messages: Vec<&str> = many.iter().map(String::as_str).collect();
    messages.push("boom 00");
    bench.publish(Some(1), &messages);
    let text = bench.text(call);
    assert!(text.starts_with("a.fake: 30 errors\n"), "{text}");
    assert!(text.ends_with("\n  … and 10 more"), "{text}");
    assert_eq!(text.lines().count(), 22);
}

#[test]
fn a_type_checker_and_a_linter_are_merged_and_the_linter_is_not_waited_for() {
    let linter = feedback::ServerSpec { required: false, ..spec("linter") };
    let mut bench = Bench::new(vec![spec("checker"), linter], policy());
    let call = bench.edit("a.fake", "one\n");
    assert_eq!(bench.spawned.len(), 2);
    let (checker, _) = (bench.spawned[0], bench.spawned[1]);
    let initialize = bench.take();
    let say = |bench: &mut Bench, message: serde_json::Value| {
        let bytes = wire::encode(message.to_string().as_bytes());
        bench.event(feedback::Event::Output { process: checker, bytes });
    };
    say(&mut bench, json!({ "id": initialize[0]["id"], "result": { "capabilities": push_server() } }));
    let params = json!({ "uri": "file:///w/a.fake", "version": 1, "diagnostics": [] });
    say(&mut bench, json!({ "method": "textDocument/publishDiagnostics", "params": params }));
    assert!(bench.report(call).is_none());
    bench.pass_to(150);
    assert_eq!(bench.text(call), "a.fake: no errors");
}

#[test]
fn an_empty_push_beside_a_failed_pull_is_not_clean() {
    let failures = [
        json!({ "error": { "code": -32603, "message": "boom" } }),
        json!({ "result": null }),
        json!({ "result": [] }),
        json!({ "error": { "code": -32802, "message": "", "data": { "retriggerRequest": false } } }),
    ];
    for mut failure in failures {
        let mut bench = Bench::one();
        let call = bench.edit("a.fake", "bad\n");
        bench.initialize(pull_server());
        failure["id"] = bench.pull();
        bench.publish(Some(1), &[]);
        bench.say(failure.clone());
        bench.pass_to(3_000);
        assert_eq!(bench.report(call).unwrap().conclusion, Conclusion::Pending, "{failure}");
    }
}

#[test]
fn an_error_on_one_channel_is_told_though_another_has_not_concluded() {
    let mut bench = Bench::one();
    let call = bench.edit("a.fake", "bad\n");
    bench.initialize(pull_server());
    bench.publish(Some(1), &["boom"]);
    bench.pass_to(2_999);
    assert!(bench.report(call).is_none());
    bench.pass_to(3_000);
    assert_eq!(bench.text(call), "a.fake: 1 error, not every server has concluded\n  1:1 error: boom");
    assert!(!bench.report(call).unwrap().complete);
}

#[test]
fn an_error_of_one_provider_is_told_though_another_fails() {
    let mut bench = Bench::one();
    let call = bench.edit("a.fake", "bad\n");
    let registrations: Vec<_> = ["syntax", "lint"]
        .iter()
        .map(|name| json!({ "id": name, "method": "textDocument/diagnostic", "registerOptions": { "identifier": name } }))
        .collect();
    bench.initialize(push_server());
    bench.say(json!({ "id": 1, "method": "client/registerCapability", "params": { "registrations": registrations } }));
    for message in bench.take() {
        let identifier = message["params"]["identifier"].as_str();
        let answer = match identifier {
            Some("syntax") => {
                json!({ "id": message["id"], "result": { "kind": "full", "items": diagnostics(&["boom"]) } })
            }
            Some("lint") => json!({ "id": message["id"], "error": { "code": -32603, "message": "no" } }),
            _ => continue,
        };
        bench.say(answer);
    }
    bench.pass_to(3_000);
    assert_eq!(bench.text(call), "a.fake: 1 error, not every server has concluded\n  1:1 error: boom");
}

#[test]
fn arrays_are_no_messages() {
    let mut bench = Bench::one();
    let call = bench.edit("a.fake", "bad\n");
    bench.initialize(push_server());
    bench.say(json!([null, "textDocument/publishDiagnostics", { "uri": "file:///w/a.fake", "version": 1, "diagnostics": [] }]));
    bench.say(json!({ "method": "textDocument/publishDiagnostics", "params": ["file:///w/a.fake", 1, []] }));
    bench.pass_to(3_000);
    insta::assert_snapshot!(bench.text(call), @r"
    a.fake: not checked yet: the server has said nothing about this text within the budget
    note: fake: sent something that is no message: not an object
    ");
}

#[test]
fn a_push_without_version_from_a_server_that_names_versions_concludes_nothing() {
    let mut bench = Bench::one();
    bench.edit("a.fake", "ok\n");
    bench.initialize(push_server());
    bench.publish(Some(1), &[]);
    let call = bench.edit("a.fake", "bad\n");
    bench.publish(None, &[]);
    bench.pass_to(3_000);
    assert_eq!(bench.report(call).unwrap().conclusion, Conclusion::Pending);
}

#[test]
fn a_late_result_is_not_told_when_the_file_has_changed_since() {
    let mut bench = Bench::one();
    bench.edit("a.fake", "bad\n");
    bench.initialize(push_server());
    bench.pass_to(3_000);
    bench.files.insert("/w/a.fake".into(), b"ok again\n".to_vec());
    bench.publish(Some(1), &["boom"]);
    assert_eq!(bench.late(), Vec::<String>::new());
}

#[test]
fn two_documents_may_have_the_same_result_id() {
    let mut bench = Bench::one();
    let calls = [bench.edit("a.fake", "bad\n"), bench.edit("b.fake", "ok\n")];
    bench.initialize(pull_server());
    for round in 0..5 {
        for message in bench.take() {
            let uri = message["params"]["textDocument"]["uri"].as_str().unwrap_or_default();
            let items = if uri.ends_with("a.fake") { diagnostics(&["boom"]) } else { json!([]) };
            let result = match message["method"].as_str() {
                Some("textDocument/diagnostic") if round == 0 => {
                    json!({ "kind": "full", "resultId": "3", "items": items })
                }
                Some("textDocument/diagnostic") => json!({ "kind": "unchanged", "resultId": "3" }),
                _ => continue,
            };
            if round == 0 {
                bench.say(json!({ "id": 9, "method": "workspace/diagnostic/refresh" }));
            }
            // Certificates are checked with every answer.
            bench.say(json!({ "id": message["id"], "result": result }));
        }
    }
    assert_eq!(bench.report(calls[0]).unwrap().conclusion, Conclusion::Errors);
    assert_eq!(bench.report(calls[1]).unwrap().conclusion, Conclusion::Clean);
}

#[test]
fn a_push_without_version_loses_its_standing_when_the_server_names_versions_after_all() {
    let mut bench = Bench::one();
    bench.edit("a.fake", "ok\n");
    let call = bench.edit("a.fake", "bad\n");
    bench.initialize(push_server());
    bench.publish(None, &[]);
    bench.publish(Some(0), &["old"]);
    bench.publish(None, &["other"]);
    bench.pass_to(3_000);
    assert_eq!(bench.report(call).unwrap().conclusion, Conclusion::Pending);
}

//! No bytes from a client make the interpreter panic, and how they are split makes no difference.

use std::sync::Arc;

use fake_lsp::{Fake, Input, Options, Output, load, names};
use proptest::prelude::*;
use serde_json::{Value, json};
use wire::Time;

/// Everything that one run puts out: length and hash of both streams, the end, and the trace.
#[derive(Debug, PartialEq)]
struct Outcome {
    stdout: (usize, u32),
    stderr: (usize, u32),
    end: Option<i32>,
    trace: Vec<String>,
}

fn run(script: &Arc<scenario::Script>, bytes: &[u8], cuts: &[usize]) -> Outcome {
    let mut fake = Fake::new(Arc::clone(script), Options { seed: 7, instance: 1 });
    let mut out = Vec::new();
    fake.handle(Input::Start, Time::ZERO, &mut out);
    let mut from = 0;
    for cut in cuts.iter().copied().chain([bytes.len()]) {
        let to = cut.clamp(from, bytes.len());
        fake.handle(Input::Bytes(&bytes[from..to]), Time::ZERO, &mut out);
        from = to;
    }
    let mut now = Time::ZERO;
    let drain = |fake: &mut Fake, now: &mut Time, out: &mut Vec<Output>| {
        for _ in 0..5_000 {
            let Some(due) = fake.next_deadline() else { break };
            *now = (*now).max(due);
            fake.handle(Input::Wake, *now, out);
        }
    };
    drain(&mut fake, &mut now, &mut out);
    fake.handle(Input::InputClosed, now, &mut out);
    drain(&mut fake, &mut now, &mut out);
    outcome(out)
}

fn outcome(out: Vec<Output>) -> Outcome {
    let (mut stdout, mut stderr, mut end, mut trace) = (Vec::new(), Vec::new(), None, Vec::new());
    for output in out {
        assert_eq!(end, None, "nothing comes after the end: {output:?}");
        match output {
            Output::Write(bytes) => stdout.extend(bytes),
            Output::Stderr(bytes) => stderr.extend(bytes),
            Output::Exit { code } => end = Some(code),
            Output::Die => end = Some(-9),
            Output::Trace(entry) => trace.push(serde_json::to_string(&entry).unwrap()),
            Output::CloseOutput | Output::StopReading | Output::ResumeReading => {}
        }
    }
    let summed = |bytes: &[u8]| (bytes.len(), wire::text_hash(bytes));
    Outcome { stdout: summed(&stdout), stderr: summed(&stderr), end, trace }
}

/// A message that a client might send, right or not.
fn message() -> impl Strategy<Value = Value> {
    let uri = prop_oneof![Just("file:///w/a.fake"), Just("file:///w/b.fake")];
    let text = prop_oneof![Just("ERROR E1 x\n"), Just("ok\r\n😀é\rHINT H1"), Just("")];
    let position =
        || (0_u32..4, 0_u32..12).prop_map(|(line, character)| json!({ "line": line, "character": character }));
    let open = (uri.clone(), 0_i64..5, text.clone()).prop_map(|(uri, version, text)| {
        json!({ "method": "textDocument/didOpen", "params": { "textDocument": { "uri": uri, "version": version, "text": text } } })
    });
    let change = (uri.clone(), 0_i64..9, position(), position(), text).prop_map(|(uri, version, start, end, text)| {
        let change = json!({ "range": { "start": start, "end": end }, "text": text });
        json!({ "method": "textDocument/didChange", "params": { "textDocument": { "uri": uri, "version": version }, "contentChanges": [change] } })
    });
    let named = (uri, prop_oneof![Just("textDocument/didClose"), Just("textDocument/didSave")])
        .prop_map(|(uri, method)| json!({ "method": method, "params": { "textDocument": { "uri": uri } } }));
    let pull = (0_i64..4).prop_map(|id| {
        json!({ "id": id, "method": "textDocument/diagnostic", "params": { "textDocument": { "uri": "file:///w/a.fake" } } })
    });
    let any_method =
        prop_oneof![Just("shutdown"), Just("exit"), Just("$/cancelRequest"), Just("initialized"), Just("initialize")];
    let odd = (
        any_method,
        prop::option::of(0_i64..4),
        prop_oneof![Just(Value::Null), Just(json!({ "id": 1 })), Just(json!([1]))],
    )
        .prop_map(|(method, id, params)| json!({ "id": id, "method": method, "params": params }));
    let answer = (0_i64..4).prop_map(|id| json!({ "id": id, "result": null }));
    prop_oneof![3 => open, 4 => change, 2 => named, 2 => pull, 1 => odd, 1 => answer]
}

/// A conversation: a right beginning (or none), then anything, with noise in between.
fn conversation() -> impl Strategy<Value = Vec<u8>> {
    let frame = message().prop_map(|message| wire::encode(message.to_string().as_bytes()));
    let noise = prop::collection::vec(any::<u8>(), 0..30);
    let piece = prop_oneof![8 => frame, 1 => noise];
    (any::<bool>(), prop::collection::vec(piece, 0..20)).prop_map(|(begins, pieces)| {
        let capabilities = json!({ "window": { "workDoneProgress": true } });
        let initialize = json!({ "id": 0, "method": "initialize", "params": { "capabilities": capabilities } });
        let initialized = json!({ "method": "initialized", "params": {} });
        let start = [initialize, initialized].map(|message| wire::encode(message.to_string().as_bytes()));
        let start = if begins { start.concat() } else { Vec::new() };
        [start, pieces.concat()].concat()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_in_any_split(
        which in any::<prop::sample::Index>(),
        bytes in conversation(),
        mut cuts in prop::collection::vec(0_usize..4000, 0..12),
    ) {
        let names = names();
        let script = Arc::new(load(names[which.index(names.len())]).unwrap());
        cuts.sort_unstable();
        let whole = run(&script, &bytes, &[]);
        let split = run(&script, &bytes, &cuts);
        prop_assert_eq!(&whole, &split);
        let single: Vec<usize> = (0..bytes.len().min(600)).collect();
        prop_assert_eq!(&whole, &run(&script, &bytes, &single));
    }
}

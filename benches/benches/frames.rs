//! Decoding and encoding of frames and envelopes, per size.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use wire::{Decoded, Decoder, Id, Message, Outgoing, encode};

const SIZES: [usize; 4] = [128, 4 * 1024, 64 * 1024, 1024 * 1024];

/// A publish of about this many bytes.
fn content(bytes: usize) -> Vec<u8> {
    let item = r#"{"range":{"start":{"line":1,"character":2},"end":{"line":1,"character":9}},"severity":1,"message":"cannot find name"}"#;
    let items = vec![item; (bytes / item.len()).max(1)].join(",");
    format!(r#"{{"jsonrpc":"2.0","method":"m","params":{{"uri":"file:///w/a","diagnostics":[{items}]}}}}"#).into_bytes()
}

fn frames(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("frames");
    for size in SIZES {
        let content = content(size);
        let frame = encode(&content);
        group.throughput(Throughput::Bytes(frame.len() as u64));
        group.bench_function(BenchmarkId::new("encode", size), |bencher| {
            bencher.iter(|| {
                let encoded = encode(black_box(&content));
                assert_eq!(encoded.len(), frame.len());
                encoded
            });
        });
        group.bench_function(BenchmarkId::new("decode", size), |bencher| {
            let mut decoder = Decoder::default();
            bencher.iter(|| {
                decoder.push(black_box(&frame));
                let Some(Decoded::Content(decoded)) = decoder.next() else { panic!("one frame is one content") };
                assert_eq!(decoded.len(), content.len());
                decoded
            });
        });
        group.bench_function(BenchmarkId::new("decode in chunks of 512", size), |bencher| {
            let mut decoder = Decoder::default();
            bencher.iter(|| {
                let mut found = None;
                for chunk in black_box(&frame).chunks(512) {
                    decoder.push(chunk);
                    found = decoder.next().or(found);
                }
                assert!(matches!(&found, Some(Decoded::Content(decoded)) if decoded.len() == content.len()));
                found
            });
        });
        group.bench_function(BenchmarkId::new("envelope", size), |bencher| {
            bencher.iter(|| {
                let message = Message::parse(black_box(&content));
                assert!(matches!(&message, Ok(Message::Notification { method, params: Some(_) }) if method == "m"));
            });
        });
    }
    group.finish();
    let id = Id::Number(7);
    criterion.bench_function("frames/request to frame", |bencher| {
        bencher.iter(|| {
            let frame = Outgoing::<()>::request(black_box(&id), "textDocument/diagnostic", None).to_frame(0);
            assert!(frame.ends_with(b"}"));
            frame
        });
    });
}

criterion_group!(benches, frames);
criterion_main!(benches);

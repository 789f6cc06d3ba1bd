//! Properties over any bytes: nothing panics, nothing grows, and the split of the stream does not matter.

use proptest::prelude::*;
use wire::{Decoded, Decoder, Limits, Message, encode};

const LIMITS: Limits = Limits { header_bytes_max: 64, message_bytes_max: 128 };

fn decode(stream: &[u8], splits: &[usize]) -> Vec<Decoded> {
    let mut decoder = Decoder::new(LIMITS);
    let mut decoded = Vec::new();
    let mut rest = stream;
    let mut splits = splits.iter().cycle();
    while !rest.is_empty() {
        let (chunk, behind) = rest.split_at(rest.len().min(*splits.next().unwrap_or(&usize::MAX)));
        rest = behind;
        decoder.push(chunk);
        while let Some(one) = decoder.next() {
            decoded.push(one);
        }
        assert!(decoder.held() <= LIMITS.message_bytes_max.max(LIMITS.header_bytes_max) + 1, "held {}", decoder.held());
    }
    decoded
}

/// Streams made of what decoders meet: frames, broken headers, noise, raw bytes.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..40),
        prop::collection::vec(any::<u8>(), 0..120).prop_map(|content| encode(&content)),
        "content-LENGTH: [0-9]{0,30}(\r\n|\n){0,2}".prop_map(String::into_bytes),
        "[ -~]{0,90}\n?".prop_map(String::into_bytes),
        Just(b"Content-Type: x; charset=utf-16\r\n".to_vec()),
        Just(b"\r\n".to_vec()),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn frames_come_out_as_they_went_in(
        contents in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..128), 0..8),
        splits in prop::collection::vec(1usize..40, 1..5),
    ) {
        let stream: Vec<u8> = contents.iter().flat_map(|content| encode(content)).collect();
        let wanted: Vec<Decoded> = contents.into_iter().map(Decoded::Content).collect();
        prop_assert_eq!(decode(&stream, &splits), wanted);
    }

    #[test]
    fn any_stream_decodes_the_same_in_contents_whatever_the_split(
        stream in stream(),
        splits in prop::collection::vec(1usize..40, 1..5),
    ) {
        // Bytes one at a time are the reference: errors about overlong headers may be cut differently.
        let contents = |decoded: Vec<Decoded>| decoded.into_iter()
            .filter(|one| matches!(one, Decoded::Content(_))).collect::<Vec<_>>();
        prop_assert_eq!(contents(decode(&stream, &splits)), contents(decode(&stream, &[1])));
    }

    #[test]
    fn a_frame_behind_noise_lines_is_found(noise in "([a-z ]{0,50}\n){1,5}", splits in prop::collection::vec(1usize..40, 1..5)) {
        let mut stream = noise.into_bytes();
        stream.extend(encode(b"{}"));
        prop_assert_eq!(decode(&stream, &splits).pop(), Some(Decoded::Content(b"{}".to_vec())));
    }

    #[test]
    fn no_content_makes_the_envelope_panic(content in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Message::parse(&content);
    }

    #[test]
    fn no_json_makes_the_envelope_panic(
        content in r#"\{("id":(1|"a"|null|1\.5|\[\]),)?("method":("m"|1|null),)?("params":(null|\{\}|1),)?("error":(null|1|\{"code":1\}),)?"result":(null|1)\}"#,
    ) {
        let _ = Message::parse(content.as_bytes());
    }
}

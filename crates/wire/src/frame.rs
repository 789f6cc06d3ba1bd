//! Frames: the header block with its `Content-Length`, and the content that it measures. The
//! decoder takes any split of bytes and resynchronizes after noise; it knows nothing of JSON.

use thiserror::Error;

/// Bounds on what a peer may make us hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one header block.
    pub header_bytes_max: usize,
    /// Bytes of one message's content. A longer one is skipped by its length, never buffered.
    pub message_bytes_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { header_bytes_max: 4 * 1024, message_bytes_max: 64 * 1024 * 1024 }
    }
}

/// What was wrong with the bytes, and at which byte of the stream (counted from 0) it began.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{kind} at byte {offset}")]
pub struct FrameError {
    /// Offset from the start of the stream of the first offending byte.
    pub offset: u64,
    /// What was wrong.
    pub kind: FrameErrorKind,
}

/// The ways in which a stream can fail to be a sequence of frames.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FrameErrorKind {
    /// A line that is no header field, such as a log line printed to standard output.
    #[error("not a header field: {excerpt:?}")]
    Noise {
        /// The first bytes of the line, lossily decoded and shortened.
        excerpt: String,
    },
    /// A header block without `Content-Length`.
    #[error("header block without Content-Length")]
    MissingLength,
    /// A `Content-Length` that is not a decimal number that fits in 64 bits.
    #[error("Content-Length is not a length: {excerpt:?}")]
    BadLength {
        /// The value, shortened.
        excerpt: String,
    },
    /// Two different `Content-Length` fields in one block.
    #[error("two different Content-Length fields")]
    ConflictingLength,
    /// A `Content-Type` with a charset other than UTF-8.
    #[error("unsupported charset: {excerpt:?}")]
    UnsupportedCharset {
        /// The value, shortened.
        excerpt: String,
    },
    /// A header block over [`Limits::header_bytes_max`].
    #[error("header block over {limit} bytes")]
    HeaderTooLong {
        /// The limit, in bytes.
        limit: usize,
    },
    /// A content over [`Limits::message_bytes_max`]; its bytes are skipped and decoding goes on behind it.
    #[error("message of {length} bytes, over the limit of {limit}")]
    TooLarge {
        /// The declared length, in bytes.
        length: u64,
        /// The limit, in bytes.
        limit: usize,
    },
    /// The stream ended inside a frame.
    #[error("stream ended {missing} bytes short of a whole frame")]
    Truncated {
        /// Bytes of content still missing; 0 if the end fell inside a header block.
        missing: u64,
    },
}

/// One thing found in the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decoded {
    /// The content of one frame, exactly as many bytes as its header said.
    Content(Vec<u8>),
    /// Something that is not a frame. Decoding goes on behind it.
    Error(FrameError),
}

enum State {
    Header,
    Content { missing: usize },
    Skip { missing: u64 },
}

/// An incremental frame decoder: feed bytes with [`Decoder::push`], take results with [`Decoder::next`].
///
/// Memory is bounded by one message and one header block, plus what was pushed and not yet taken.
pub struct Decoder {
    limits: Limits,
    /// Bytes pushed and not yet consumed start at `buffer[start]`.
    buffer: Vec<u8>,
    start: usize,
    /// Bytes of `buffer[start..]` already searched for a line end.
    searched: usize,
    /// Offset in the stream of `buffer[start]`.
    offset: u64,
    state: State,
    header: Header,
}

#[derive(Default)]
struct Header {
    begun_at: u64,
    bytes: usize,
    fields: usize,
    length: Option<u64>,
    failed: bool,
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new(Limits::default())
    }
}

impl Decoder {
    /// A decoder at the start of a stream.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            buffer: Vec::new(),
            start: 0,
            searched: 0,
            offset: 0,
            state: State::Header,
            header: Header::default(),
        }
    }

    /// Appends bytes of the stream, in any split. Bytes of an oversized message are dropped here.
    pub fn push(&mut self, mut bytes: &[u8]) {
        if let State::Skip { missing } = &mut self.state
            && self.start == self.buffer.len()
        {
            let skipped = usize::try_from(*missing).unwrap_or(usize::MAX).min(bytes.len());
            *missing -= skipped as u64;
            self.offset += skipped as u64;
            bytes = &bytes[skipped..];
        }
        if self.start > 0 && (self.start == self.buffer.len() || self.start >= 64 * 1024) {
            self.buffer.drain(..self.start);
            self.start = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// The next content or error, or `None` until more bytes are pushed.
    #[expect(clippy::should_implement_trait, reason = "not an iterator: None means not yet, and more may follow")]
    pub fn next(&mut self) -> Option<Decoded> {
        loop {
            match self.state {
                State::Header => match self.line()? {
                    Line::Progress => {}
                    Line::Error(error) => return Some(Decoded::Error(error)),
                },
                State::Content { missing } => {
                    if self.buffer.len() - self.start < missing {
                        return None;
                    }
                    let content = self.take_content(missing);
                    self.state = State::Header;
                    return Some(Decoded::Content(content));
                }
                State::Skip { missing } => {
                    let available = self.buffer.len() - self.start;
                    let skipped = usize::try_from(missing).unwrap_or(usize::MAX).min(available);
                    self.consume(skipped);
                    let missing = missing - skipped as u64;
                    if missing > 0 {
                        self.state = State::Skip { missing };
                        return None;
                    }
                    self.state = State::Header;
                }
            }
        }
    }

    /// Says that the stream has ended: an error if it ended inside a frame.
    #[must_use]
    pub fn finish(&self) -> Option<FrameError> {
        let pending = (self.buffer.len() - self.start) as u64;
        let missing = match self.state {
            State::Header if pending == 0 && self.header.bytes == 0 => return None,
            State::Header => 0,
            State::Content { missing } => missing as u64 - pending.min(missing as u64),
            State::Skip { missing: 0 } => return None,
            State::Skip { missing } => missing,
        };
        Some(FrameError { offset: self.offset + pending, kind: FrameErrorKind::Truncated { missing } })
    }

    /// Bytes held now; bounded by one message and one header block plus what was last pushed.
    #[must_use]
    pub fn held(&self) -> usize {
        self.buffer.len() - self.start
    }

    fn take_content(&mut self, length: usize) -> Vec<u8> {
        let content = if self.start == 0 && self.buffer.len() == length {
            std::mem::take(&mut self.buffer)
        } else {
            self.buffer[self.start..self.start + length].to_vec()
        };
        if self.buffer.is_empty() {
            self.offset += length as u64;
            self.start = 0;
        } else {
            self.consume(length);
        }
        self.searched = 0;
        content
    }

    fn consume(&mut self, bytes: usize) {
        self.start += bytes;
        self.offset += bytes as u64;
        self.searched = 0;
    }

    /// Handles one line of a header block, or returns `None` if there is no whole line yet. It looks
    /// no further than the limit on header blocks, so that the split of the stream makes no difference.
    fn line(&mut self) -> Option<Line> {
        let room = self.limits.header_bytes_max.saturating_sub(self.header.bytes);
        let pending = &self.buffer[self.start..];
        let window = &pending[..pending.len().min(room + 1)];
        let Some(end) = memchr::memchr(b'\n', &window[self.searched..]).map(|at| at + self.searched) else {
            if window.len() > room {
                return Some(self.header_too_long(room + 1));
            }
            self.searched = window.len();
            return None;
        };
        if end + 1 > room {
            return Some(self.header_too_long(room + 1));
        }
        let line = window[..end].strip_suffix(b"\r").unwrap_or(&window[..end]).to_vec();
        let at = self.offset;
        self.consume(end + 1);
        if self.header.bytes == 0 {
            self.header.begun_at = at;
        }
        self.header.bytes += end + 1;
        Some(if line.is_empty() { self.block_end() } else { self.field(&line, at) })
    }

    /// Drops what cannot be a header from the next `window` bytes, up to the next length's field name
    /// if there is one, else but for a tail in which one may begin.
    fn header_too_long(&mut self, window: usize) -> Line {
        let offset = if self.header.bytes == 0 { self.offset } else { self.header.begun_at };
        let bytes = &self.buffer[self.start..self.start + window];
        let dropped = find_length_name(&bytes[1..])
            .map_or_else(|| window.saturating_sub(LENGTH_NAME.len()), |name_at| name_at + 1)
            .max(1);
        self.consume(dropped);
        self.header = Header::default();
        Line::Error(FrameError { offset, kind: FrameErrorKind::HeaderTooLong { limit: self.limits.header_bytes_max } })
    }

    fn field(&mut self, line: &[u8], at: u64) -> Line {
        let noise = |line: &[u8]| FrameErrorKind::Noise { excerpt: excerpt(line) };
        let field = line.iter().position(|byte| *byte == b':').map(|colon| (&line[..colon], &line[colon + 1..]));
        let glued = find_length_name(line).is_some_and(|at| at > 0 && line[at - 1] != b'-');
        let Some((name, value)) = field.filter(|(name, _)| is_token(name) && !glued) else {
            // Noise without a line end runs into the header behind it: keep that header.
            if let Some(name_at) = find_length_name(line).filter(|name_at| *name_at > 0) {
                self.header =
                    Header { begun_at: at + name_at as u64, bytes: line.len() - name_at, ..Header::default() };
                let error = FrameError { offset: at, kind: noise(&line[..name_at]) };
                return match self.field(&line[name_at..], at + name_at as u64) {
                    Line::Progress => Line::Error(error),
                    other @ Line::Error(_) => other,
                };
            }
            self.header = Header::default();
            return Line::Error(FrameError { offset: at, kind: noise(line) });
        };
        self.header.fields += 1;
        let value = value.trim_ascii();
        if name.eq_ignore_ascii_case(LENGTH_NAME) {
            return self.length_field(value, at);
        }
        if name.eq_ignore_ascii_case(b"content-type") && !charset_is_utf8(value) {
            return Line::Error(FrameError {
                offset: at,
                kind: FrameErrorKind::UnsupportedCharset { excerpt: excerpt(value) },
            });
        }
        Line::Progress
    }

    fn length_field(&mut self, value: &[u8], at: u64) -> Line {
        let digits = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
        let length = digits.then(|| std::str::from_utf8(value).ok()?.parse::<u64>().ok()).flatten();
        let kind = match (length, self.header.length) {
            (None, _) => FrameErrorKind::BadLength { excerpt: excerpt(value) },
            (Some(new), Some(old)) if new != old => FrameErrorKind::ConflictingLength,
            (Some(new), _) => {
                self.header.length = Some(new);
                return Line::Progress;
            }
        };
        self.header.failed = true;
        Line::Error(FrameError { offset: at, kind })
    }

    fn block_end(&mut self) -> Line {
        let header = std::mem::take(&mut self.header);
        if header.failed || (header.length.is_none() && header.fields == 0) {
            // Already reported, or blank lines between frames.
            return Line::Progress;
        }
        let Some(length) = header.length else {
            return Line::Error(FrameError { offset: header.begun_at, kind: FrameErrorKind::MissingLength });
        };
        match usize::try_from(length).ok().filter(|length| *length <= self.limits.message_bytes_max) {
            Some(missing) => {
                self.state = State::Content { missing };
                Line::Progress
            }
            None => {
                self.state = State::Skip { missing: length };
                Line::Error(FrameError {
                    offset: header.begun_at,
                    kind: FrameErrorKind::TooLarge { length, limit: self.limits.message_bytes_max },
                })
            }
        }
    }
}

enum Line {
    Progress,
    Error(FrameError),
}

const LENGTH_NAME: &[u8] = b"content-length";

/// Where the field name of a length begins in `bytes`, in any case.
fn find_length_name(bytes: &[u8]) -> Option<usize> {
    bytes.windows(LENGTH_NAME.len()).position(|window| window.eq_ignore_ascii_case(LENGTH_NAME))
}

/// A field name as HTTP has it (RFC 7230 §3.2.6, `token`).
fn is_token(name: &[u8]) -> bool {
    !name.is_empty() && name.iter().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte))
}

fn charset_is_utf8(content_type: &[u8]) -> bool {
    let text = String::from_utf8_lossy(content_type).to_ascii_lowercase();
    let charset = text.split(';').skip(1).find_map(|parameter| parameter.trim().strip_prefix("charset="));
    // `utf8` is the old spelling that the specification asks to accept.
    charset.is_none_or(|charset| matches!(charset.trim_matches('"'), "utf-8" | "utf8"))
}

fn excerpt(bytes: &[u8]) -> String {
    const SHOWN: usize = 60;
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN)]).into_owned();
    if bytes.len() > SHOWN { format!("{text}…") } else { text }
}

/// Frames `content` in one allocation.
#[must_use]
pub fn encode(content: &[u8]) -> Vec<u8> {
    encode_with(content.len(), |frame| frame.extend_from_slice(content))
}

/// Frames content that `write` appends, `length_hint` bytes or thereabouts, in one allocation if the
/// hint is not too low. The header has room for any length and is moved up against the content.
pub fn encode_with(length_hint: usize, write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    const NAME: &[u8] = b"Content-Length: ";
    /// Decimal digits of the longest `usize`.
    const DIGITS: usize = 20;
    let reserved = NAME.len() + DIGITS + 4;
    let mut frame = Vec::with_capacity(reserved + length_hint);
    frame.resize(reserved, 0);
    write(&mut frame);
    let header = format_header(frame.len() - reserved);
    let unused = reserved - header.len();
    frame[unused..reserved].copy_from_slice(&header);
    frame.drain(..unused);
    frame
}

fn format_header(length: usize) -> Vec<u8> {
    format!("Content-Length: {length}\r\n\r\n").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(decoder: &mut Decoder) -> Vec<Decoded> {
        std::iter::from_fn(|| decoder.next()).collect()
    }

    fn decode(bytes: &[u8]) -> Vec<Decoded> {
        let mut decoder = Decoder::new(Limits { header_bytes_max: 200, message_bytes_max: 100 });
        decoder.push(bytes);
        all(&mut decoder)
    }

    fn content(text: &str) -> Decoded {
        Decoded::Content(text.as_bytes().to_vec())
    }

    fn error(offset: u64, kind: FrameErrorKind) -> Decoded {
        Decoded::Error(FrameError { offset, kind })
    }

    #[test]
    fn header_names_come_in_any_case_and_order() {
        let wanted = vec![content("{}")];
        assert_eq!(decode(b"Content-Length: 2\r\n\r\n{}"), wanted);
        assert_eq!(
            decode(b"content-length:2\r\nContent-Type: application/vscode-jsonrpc; charset=utf8\r\n\r\n{}"),
            wanted
        );
        assert_eq!(decode(b"X-Other: y\r\nCONTENT-LENGTH:  2  \r\n\r\n{}"), wanted);
    }

    #[test]
    fn noise_is_reported_with_its_place_and_skipped() {
        let noise = |text: &str| FrameErrorKind::Noise { excerpt: text.to_owned() };
        assert_eq!(
            decode(b"starting up\nContent-Length: 2\r\n\r\n{}"),
            vec![error(0, noise("starting up")), content("{}")]
        );
        assert_eq!(decode(b"ready!Content-Length: 2\r\n\r\n{}"), vec![error(0, noise("ready!")), content("{}")]);
        assert_eq!(
            decode(b"Content-Length: 2\r\n\r\n{}oops oops\nContent-Length: 1\r\n\r\n1"),
            vec![content("{}"), error(23, noise("oops oops")), content("1")]
        );
    }

    #[test]
    fn lengths_that_are_no_lengths() {
        let digits = "9".repeat(70);
        let bytes = format!("Content-Length: {digits}\r\n\r\nContent-Length: 2\r\n\r\n{{}}");
        let shown = format!("{}…", &digits[..60]);
        assert_eq!(
            decode(bytes.as_bytes()),
            vec![error(0, FrameErrorKind::BadLength { excerpt: shown }), content("{}")]
        );
        assert_eq!(
            decode(b"Content-Length: 2\r\nContent-Length: 3\r\n\r\nContent-Length: 2\r\n\r\n{}"),
            vec![error(19, FrameErrorKind::ConflictingLength), content("{}")]
        );
        assert_eq!(
            decode(b"Content-Type: x\r\n\r\nContent-Length: 2\r\n\r\n{}"),
            vec![error(0, FrameErrorKind::MissingLength), content("{}")]
        );
    }

    #[test]
    fn an_oversized_message_is_skipped_without_being_held() {
        let mut decoder = Decoder::new(Limits { header_bytes_max: 200, message_bytes_max: 100 });
        decoder.push(b"Content-Length: 5000000\r\n\r\n");
        let too_large = FrameErrorKind::TooLarge { length: 5_000_000, limit: 100 };
        assert_eq!(all(&mut decoder), vec![error(0, too_large)]);
        for _ in 0..5_000 {
            decoder.push(&[b'x'; 1000]);
            assert_eq!(all(&mut decoder), vec![]);
            assert_eq!(decoder.held(), 0);
        }
        decoder.push(b"Content-Length: 2\r\n\r\n{}");
        assert_eq!(all(&mut decoder), vec![content("{}")]);
        assert_eq!(decoder.finish(), None);
    }

    #[test]
    fn a_header_without_end_is_dropped_at_the_limit() {
        let mut decoder = Decoder::new(Limits { header_bytes_max: 200, message_bytes_max: 100 });
        for _ in 0..10_000 {
            decoder.push(b"x");
            let _ = all(&mut decoder);
            assert!(decoder.held() <= 201);
        }
        decoder.push(b"\nContent-Length: 2\r\n\r\n{}");
        assert_eq!(all(&mut decoder).last(), Some(&content("{}")));
    }

    #[test]
    fn the_end_of_the_stream_inside_a_frame_is_told() {
        let mut decoder = Decoder::default();
        decoder.push(b"Content-Length: 10\r\n\r\n{}");
        assert_eq!(decoder.next(), None);
        assert_eq!(decoder.finish(), Some(FrameError { offset: 24, kind: FrameErrorKind::Truncated { missing: 8 } }));
    }

    #[test]
    fn the_encoder_allocates_once() {
        let frame = encode(b"{\"a\":1}");
        assert_eq!(frame, b"Content-Length: 7\r\n\r\n{\"a\":1}");
    }
}

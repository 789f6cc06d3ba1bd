//! Lines from a reader, bounded: a line that is too long is skipped, and said.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt as _};

/// Longest line taken.
pub(super) const LINE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// What came in.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A line without its end; the last one may have none.
    Whole(Vec<u8>),
    /// A line over [`LINE_BYTES_MAX`]; it was skipped.
    TooLong,
}

/// Reads lines.
pub(super) struct Lines<R> {
    from: R,
    begun: Vec<u8>,
    skipping: bool,
    bytes_max: usize,
}

impl<R: AsyncBufRead + Unpin> Lines<R> {
    pub(super) fn new(from: R) -> Self {
        Self { from, begun: Vec::new(), skipping: false, bytes_max: LINE_BYTES_MAX }
    }

    /// The next line, `None` at the end. A dropped call loses nothing.
    pub(super) async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            let bytes = self.from.fill_buf().await?;
            if bytes.is_empty() {
                let rest = !self.begun.is_empty() || self.skipping;
                return Ok(rest.then(|| self.line()));
            }
            let end = line_end(bytes);
            let piece = &bytes[..end.unwrap_or(bytes.len())];
            if self.begun.len() + piece.len() > self.bytes_max {
                self.skipping = true;
                self.begun = Vec::new();
            }
            if !self.skipping {
                self.begun.extend_from_slice(piece);
            }
            let taken = piece.len() + usize::from(end.is_some());
            self.from.consume(taken);
            if end.is_some() {
                return Ok(Some(self.line()));
            }
        }
    }

    fn line(&mut self) -> Line {
        let whole = std::mem::take(&mut self.begun);
        if std::mem::take(&mut self.skipping) { Line::TooLong } else { Line::Whole(whole) }
    }
}

fn line_end(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|byte| *byte == b'\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_skipped_and_the_next_is_whole() {
        let read = |text: &'static str, buffer: usize| {
            crate::session::block_on(async move {
                let from = tokio::io::BufReader::with_capacity(buffer, text.as_bytes());
                let mut lines = Lines { bytes_max: 4, ..Lines::new(from) };
                let mut read = Vec::new();
                while let Some(line) = lines.next().await.unwrap() {
                    read.push(line);
                }
                read
            })
            .unwrap()
        };
        let whole = |text: &str| Line::Whole(text.as_bytes().to_vec());
        for buffer in [1, 3, 64] {
            assert_eq!(
                read("ab\n\n1234\n12345\nc", buffer),
                [whole("ab"), whole(""), whole("1234"), Line::TooLong, whole("c")]
            );
            assert_eq!(read("123456", buffer), [Line::TooLong]);
            assert_eq!(read("", buffer), []);
        }
    }
}

//! Bytes in and out of descriptors that never block: lines with a bound on their length, a bounded tail,
//! and a queue of what could not be written yet. Nothing here knows what the lines mean.

use std::collections::VecDeque;
use std::io::{self, Read, Write};

/// Bytes taken from one descriptor at a time, so that a flood on one does not starve the others.
const READ_BYTES_MAX: usize = 256 * 1024;

/// A line was longer than allowed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LineTooLong {
    /// The bound, in bytes.
    pub(super) bytes_max: usize,
}

/// Splits a stream of bytes at line ends.
#[derive(Debug)]
pub(super) struct LineSplitter {
    begun: Vec<u8>,
    bytes_max: usize,
}

impl LineSplitter {
    /// A splitter that refuses lines over `bytes_max`.
    pub(super) fn new(bytes_max: usize) -> Self {
        Self { begun: Vec::new(), bytes_max }
    }

    /// Takes bytes in any split and appends the lines that they complete, without their ends.
    pub(super) fn push(&mut self, mut bytes: &[u8], lines: &mut Vec<Vec<u8>>) -> Result<(), LineTooLong> {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.extend(&bytes[..end])?;
            lines.push(std::mem::take(&mut self.begun));
            bytes = &bytes[end + 1..];
        }
        self.extend(bytes)
    }

    fn extend(&mut self, bytes: &[u8]) -> Result<(), LineTooLong> {
        if self.begun.len() + bytes.len() > self.bytes_max {
            return Err(LineTooLong { bytes_max: self.bytes_max });
        }
        self.begun.extend_from_slice(bytes);
        Ok(())
    }
}

/// The last bytes of a stream.
#[derive(Debug, Default)]
pub(super) struct Tail(VecDeque<u8>);

impl Tail {
    const BYTES_MAX: usize = 8 * 1024;

    /// Appends, forgetting the oldest.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.0.extend(&bytes[bytes.len().saturating_sub(Self::BYTES_MAX)..]);
        let excess = self.0.len().saturating_sub(Self::BYTES_MAX);
        self.0.drain(..excess);
    }

    /// What is kept, as text.
    pub(super) fn text(&self) -> String {
        let bytes: Vec<u8> = self.0.iter().copied().collect();
        String::from_utf8_lossy(&bytes).trim_end().to_owned()
    }
}

/// Whether a stream may give more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stream {
    /// It is open.
    Open,
    /// It has ended, or broke.
    Ended,
}

/// Reads what is there now, without waiting, and appends it.
pub(super) fn read_available(from: &mut impl Read, into: &mut Vec<u8>) -> Stream {
    let mut chunk = [0; 64 * 1024];
    let enough = into.len() + READ_BYTES_MAX;
    while into.len() < enough {
        match from.read(&mut chunk) {
            Ok(0) => return Stream::Ended,
            Ok(count) => into.extend_from_slice(&chunk[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Stream::Open,
            Err(_) => return Stream::Ended,
        }
    }
    Stream::Open
}

/// What is to be written to a descriptor that was not ready yet.
#[derive(Debug, Default)]
pub(super) struct Outgoing(VecDeque<u8>);

impl Outgoing {
    /// Queues bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.0.extend(bytes);
    }

    /// How many bytes wait.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Writes what can be written now.
    pub(super) fn flush(&mut self, to: &mut impl Write) -> Stream {
        while !self.0.is_empty() {
            match to.write(self.0.as_slices().0) {
                Ok(0) => return Stream::Ended,
                Ok(count) => drop(self.0.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Stream::Open,
                Err(_) => return Stream::Ended,
            }
        }
        Stream::Open
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_split_gives_the_same_lines() {
        let text = b"one\n\ntwo three\nunfinished";
        for size in 1..=text.len() {
            let (mut splitter, mut lines) = (LineSplitter::new(64), Vec::new());
            for chunk in text.chunks(size) {
                assert_eq!(splitter.push(chunk, &mut lines), Ok(()));
            }
            assert_eq!(lines, [b"one".to_vec(), b"".to_vec(), b"two three".to_vec()], "in chunks of {size}");
        }
    }

    #[test]
    fn a_line_over_the_bound_is_refused_wherever_it_is_cut() {
        for size in 1..=9 {
            let (mut splitter, mut lines) = (LineSplitter::new(8), Vec::new());
            let refused = b"12345678\n123456789".chunks(size).any(|chunk| splitter.push(chunk, &mut lines).is_err());
            assert!(refused, "in chunks of {size}");
            assert_eq!(lines, [b"12345678".to_vec()], "in chunks of {size}");
        }
    }

    #[test]
    fn a_tail_keeps_the_end() {
        let mut tail = Tail::default();
        tail.push(&vec![b'a'; 3 * Tail::BYTES_MAX]);
        tail.push(b"the end\n");
        assert_eq!(tail.text().len(), Tail::BYTES_MAX - 1);
        assert!(tail.text().ends_with("athe end"));
    }
}

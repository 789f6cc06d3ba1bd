//! A simulated pipe: bytes in order, a bounded capacity, and a writer that waits while it is full. When
//! bytes arrive, and in which pieces, is decided by whoever schedules the deliveries.

/// Bytes that a pipe holds (Linux `pipe(7)`: 16 pages).
pub(super) const CAPACITY: usize = 64 * 1024;

/// One direction between a loop and a server. The first [`CAPACITY`] bytes are in the pipe, the rest are
/// still with the writer.
#[derive(Debug, Default)]
pub(super) struct Pipe {
    bytes: Vec<u8>,
    start: usize,
    /// The writer has closed its end.
    pub(super) closed: bool,
    /// The reader was told that nothing follows.
    pub(super) ended: bool,
    /// A delivery is scheduled; there is never more than one, so that nothing is reordered.
    pub(super) flowing: bool,
}

impl Pipe {
    /// Appends what the writer has written or wants to.
    pub(super) fn write(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    fn len(&self) -> usize {
        self.bytes.len() - self.start
    }

    /// Bytes that a reader could take now.
    pub(super) fn readable(&self) -> usize {
        self.len().min(CAPACITY)
    }

    /// Whether the writer still waits for room.
    pub(super) fn is_full(&self) -> bool {
        self.len() > CAPACITY
    }

    /// Whether there is something to deliver: bytes, or the end.
    pub(super) fn has_news(&self) -> bool {
        self.len() > 0 || self.closed && !self.ended
    }

    /// Hands the next bytes to the reader, at most `count`.
    pub(super) fn read(&mut self, count: usize, reader: impl FnOnce(&[u8])) {
        let count = count.min(self.readable());
        reader(&self.bytes[self.start..self.start + count]);
        self.start += count;
        if self.start == self.bytes.len() {
            self.bytes.clear();
            self.start = 0;
        } else if self.start >= CAPACITY {
            self.bytes.drain(..self.start);
            self.start = 0;
        }
    }

    /// The writer is gone: what was not yet in the pipe is lost.
    pub(super) fn writer_died(&mut self) {
        self.bytes.truncate(self.start + self.readable());
        self.closed = true;
    }

    /// The reader is gone: everything is lost.
    pub(super) fn reader_died(&mut self) {
        self.bytes = Vec::new();
        self.start = 0;
        self.closed = true;
        self.ended = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_is_done_when_its_last_byte_is_in_the_pipe() {
        let mut pipe = Pipe::default();
        pipe.write(&[7; CAPACITY + 10]);
        assert!(pipe.is_full());
        assert_eq!(pipe.readable(), CAPACITY);
        pipe.read(9, |bytes| assert_eq!(bytes, [7; 9]));
        assert!(pipe.is_full());
        pipe.read(1, |_| ());
        assert!(!pipe.is_full());
    }

    #[test]
    fn what_a_dead_writer_had_not_put_in_is_lost() {
        let mut pipe = Pipe::default();
        pipe.write(&[7; CAPACITY + 10]);
        pipe.writer_died();
        let mut read = 0;
        while pipe.readable() > 0 {
            pipe.read(1000, |bytes| read += bytes.len());
        }
        assert_eq!(read, CAPACITY);
        assert!(pipe.has_news(), "the end is still to be told");
    }
}

//! Bytes on their way into a pipe or a socket that may be full: written as far as there is room, never
//! waited for.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::time::Timespec;

/// A pipe that polls as writable has room for this much (`PIPE_BUF`; pipe(7)).
const ROOM: usize = 4096;
/// A written prefix is dropped from memory once it is this long.
const DROPPED_AT: usize = 64 * 1024;

/// The outgoing side of one descriptor.
pub(super) struct Outbox<F> {
    /// `None` once it is closed, by us or by the other end.
    to: Option<F>,
    chunks: VecDeque<Vec<u8>>,
    begun: usize,
    waiting: usize,
    /// Closed as soon as everything is written.
    closing: bool,
}

impl<F: AsFd> Outbox<F> {
    pub(super) fn new(to: F) -> Self {
        Self { to: Some(to), chunks: VecDeque::new(), begun: 0, waiting: 0, closing: false }
    }

    /// Bytes that wait.
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    pub(super) fn push(&mut self, bytes: Vec<u8>) {
        if self.to.is_some() && !self.closing && !bytes.is_empty() {
            self.waiting += bytes.len();
            self.chunks.push_back(bytes);
        }
    }

    /// Closes the descriptor once everything is written.
    pub(super) fn close(&mut self) {
        self.closing = true;
        self.close_if_done();
    }

    /// What to wait for, if anything waits.
    pub(super) fn interest(&self) -> Option<BorrowedFd<'_>> {
        self.to.as_ref().filter(|_| self.waiting > 0).map(AsFd::as_fd)
    }

    /// Writes while there is room.
    pub(super) fn write(&mut self) {
        while let (Some(to), Some(chunk)) = (&self.to, self.chunks.front()) {
            if !has_room(to.as_fd()) {
                return;
            }
            let piece = &chunk[self.begun..chunk.len().min(self.begun + ROOM)];
            match rustix::io::write(to, piece) {
                Ok(written) => self.advance(written),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                // The other end is gone: nobody is left to write to.
                Err(_) => self.drop_all(),
            }
        }
        self.close_if_done();
    }

    fn advance(&mut self, written: usize) {
        self.waiting -= written;
        self.begun += written;
        let Some(chunk) = self.chunks.front_mut() else { return };
        if self.begun >= chunk.len() {
            self.chunks.pop_front();
            self.begun = 0;
        } else if self.begun >= DROPPED_AT {
            chunk.drain(..self.begun);
            self.begun = 0;
        }
    }

    fn close_if_done(&mut self) {
        if self.closing && self.waiting == 0 {
            self.to = None;
        }
    }

    fn drop_all(&mut self) {
        self.to = None;
        self.chunks.clear();
        self.begun = 0;
        self.waiting = 0;
    }
}

fn has_room(to: BorrowedFd<'_>) -> bool {
    let mut fds = [PollFd::from_borrowed_fd(to, PollFlags::OUT)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    matches!(poll(&mut fds, Some(&now)), Ok(1))
}

/// A descriptor of this process's own, so that it can be closed for good.
pub(super) fn own(fd: BorrowedFd<'_>) -> io::Result<std::os::fd::OwnedFd> {
    fd.try_clone_to_owned()
}

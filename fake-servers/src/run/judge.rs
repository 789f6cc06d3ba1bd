//! The fake's end of the control socket: greeting, trace lines out, gates in.

use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use super::RunError;
use super::outbox::Outbox;
use crate::control::{FromFake, FromJudge, to_line};

/// How long the judge may take to answer the greeting.
const WELCOME_WAIT: Duration = Duration::from_secs(10);
/// Bytes of one line from the judge at most; its longest names a gate.
const LINE_BYTES_MAX: usize = 64 * 1024;

/// What the judge's end is good for after a reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Judge {
    Listens,
    Gone,
}

/// A connection to a judge.
pub(super) struct Control {
    /// For reading; the outbox holds the same socket for writing.
    pub(super) socket: UnixStream,
    pub(super) outbox: Outbox<UnixStream>,
    buffer: Vec<u8>,
}

impl Control {
    /// Connects, greets, and waits to be told which start this is.
    pub(super) fn connect(socket: &Path, hello: &FromFake) -> Result<(Self, u32), RunError> {
        let wrong = |what: String| RunError::Judge { socket: socket.to_owned(), what };
        let failed = |error: io::Error| wrong(format!("cannot be reached: {error}"));
        let mut stream = UnixStream::connect(socket).map_err(failed)?;
        stream.set_read_timeout(Some(WELCOME_WAIT)).map_err(failed)?;
        stream.write_all(&to_line(hello)).map_err(failed)?;
        let outbox = Outbox::new(stream.try_clone().map_err(failed)?);
        let mut control = Self { socket: stream, outbox, buffer: Vec::new() };
        let instance = control.await_welcome().map_err(wrong)?;
        control.socket.set_nonblocking(true).map_err(failed)?;
        Ok((control, instance))
    }

    fn await_welcome(&mut self) -> Result<u32, String> {
        loop {
            match self.next_message() {
                Some(FromJudge::Welcome { instance }) => return Ok(instance),
                Some(FromJudge::Gate { .. }) => return Err("opened a gate before it said welcome".to_owned()),
                None if self.buffer.contains(&b'\n') => return Err("says what is no message".to_owned()),
                None => {}
            }
            let mut bytes = [0; 4096];
            match self.socket.read(&mut bytes) {
                Ok(0) => return Err("hung up without a welcome".to_owned()),
                Ok(read) => self.buffer.extend_from_slice(&bytes[..read]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(format!("did not say welcome: {error}")),
            }
        }
    }

    /// Reads what has come.
    pub(super) fn read(&mut self) -> Judge {
        loop {
            let mut bytes = [0; 4096];
            match self.socket.read(&mut bytes) {
                Ok(0) => return Judge::Gone,
                Ok(read) => self.buffer.extend_from_slice(&bytes[..read]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Judge::Listens,
                Err(_) => return Judge::Gone,
            }
            if self.buffer.len() > LINE_BYTES_MAX && !self.buffer.contains(&b'\n') {
                return Judge::Gone;
            }
        }
    }

    /// The next whole message; lines that are none are passed over.
    pub(super) fn next_message(&mut self) -> Option<FromJudge> {
        loop {
            let end = self.buffer.iter().position(|byte| *byte == b'\n')?;
            let line: Vec<u8> = self.buffer.drain(..=end).collect();
            if let Ok(message) = serde_json::from_slice(&line) {
                return Some(message);
            }
        }
    }
}

//! The two tasks between a server's pipes and the probe: one cuts frames, one writes them.

use feedback::runtime::process::ServerProcess;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::mpsc;
use tokio::time::Instant;
use wire::{Decoded, Decoder, FrameError, Limits};

/// A server that sends larger messages than this is judged by what they are: too large.
const MESSAGE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Messages that wait for the probe before the server has to.
const INCOMING_MAX: usize = 64;
/// Frames that wait for the server before the probe has to.
const FRAMES_MAX: usize = 64;

/// What came from a server's standard output, and when its last byte was read.
#[derive(Debug)]
pub(super) struct Incoming {
    pub(super) at: Instant,
    pub(super) what: What,
}

#[derive(Debug)]
pub(super) enum What {
    /// The content of one frame.
    Content(Vec<u8>),
    /// Bytes that are no frame.
    Fault(FrameError),
    /// The end of the output.
    End,
}

/// Takes over both pipes.
pub(super) fn connect(process: &mut ServerProcess) -> (Option<mpsc::Sender<Vec<u8>>>, mpsc::Receiver<Incoming>) {
    let (incoming_to, incoming) = mpsc::channel(INCOMING_MAX);
    if let Some(output) = process.take_stdout() {
        tokio::spawn(read(output, incoming_to));
    }
    let frames = process.take_stdin().map(|input| {
        let (frames, frames_from) = mpsc::channel(FRAMES_MAX);
        tokio::spawn(write(input, frames_from));
        frames
    });
    (frames, incoming)
}

async fn read(mut output: ChildStdout, to: mpsc::Sender<Incoming>) {
    let mut decoder = Decoder::new(Limits { message_bytes_max: MESSAGE_BYTES_MAX, ..Limits::default() });
    let mut chunk = vec![0; 64 * 1024];
    while let Some(length) = output.read(&mut chunk).await.ok().filter(|length| *length > 0) {
        let at = Instant::now();
        decoder.push(&chunk[..length]);
        while let Some(decoded) = decoder.next() {
            let what = match decoded {
                Decoded::Content(content) => What::Content(content),
                Decoded::Error(error) => What::Fault(error),
            };
            if to.send(Incoming { at, what }).await.is_err() {
                return;
            }
        }
    }
    let at = Instant::now();
    if let Some(error) = decoder.finish() {
        let _ = to.send(Incoming { at, what: What::Fault(error) }).await;
    }
    // Nobody listens any more if this fails.
    let _ = to.send(Incoming { at, what: What::End }).await;
}

async fn write(mut input: ChildStdin, mut frames: mpsc::Receiver<Vec<u8>>) {
    while let Some(frame) = frames.recv().await {
        if input.write_all(&frame).await.is_err() || input.flush().await.is_err() {
            return;
        }
    }
}

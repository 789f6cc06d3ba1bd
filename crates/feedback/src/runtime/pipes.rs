//! One server process and its pipes, as tasks: bytes come out in chunks with back-pressure, one write
//! goes in at a time, and the end is told after the output, soon even if somebody keeps the pipe open.

use std::path::PathBuf;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::process::ServerProcess;
use crate::{Command, Event, ExitStatus, OpId, ProcessId, Signal};

/// Largest piece of output handed on at once.
const CHUNK_BYTES_MAX: usize = 64 * 1024;

/// How long output is awaited after the leader's end, while others of its group hold the pipe.
const OUTPUT_GRACE: Duration = Duration::from_millis(200);

/// Then the group is killed, and what is left in the pipe is taken: until nothing comes for this long …
const REST_PAUSE: Duration = Duration::from_millis(20);

/// … or there was more of it than a pipe holds (Linux: `pipe-max-size` is 1 MiB), which means that
/// somebody who left the group goes on writing.
const REST_BYTES_MAX: usize = 1024 * 1024;

/// What the driver asks of a process.
#[derive(Debug)]
pub(super) enum Order {
    /// Write all of it to standard input.
    Write(OpId, Vec<u8>),
    /// Close standard input, also under a write that makes no progress.
    CloseInput,
    /// Signal the group.
    Signal(Signal),
}

/// Starts a process, carries out orders, and reports everything until the process has ended. Dropping
/// the future kills the group.
pub(super) async fn run(
    id: ProcessId,
    command: Command,
    workspace: PathBuf,
    mut orders: mpsc::Receiver<Order>,
    events: mpsc::Sender<Event>,
) {
    let mut process = match start(command, workspace).await {
        Ok(process) => process,
        Err(error) => return send(&events, Event::SpawnFailed { process: id, error }).await,
    };
    let (stdin, stdout) = (process.take_stdin(), process.take_stdout());
    send(&events, Event::Spawned { process: id }).await;

    let mut pipes = JoinSet::new();
    // A write and a close at most: the loop has one write under way.
    let (input, writes) = mpsc::channel(2);
    if let Some(stdin) = stdin {
        pipes.spawn(write(id, stdin, writes, events.clone()));
    }
    let (ended, at_end) = oneshot::channel();
    let (output_done, mut output_end) = oneshot::channel::<()>();
    if let Some(stdout) = stdout {
        pipes.spawn(read(id, stdout, at_end, events.clone(), output_done));
    }

    loop {
        tokio::select! {
            order = orders.recv() => match order {
                Some(Order::Signal(signal)) => process.signal(signal),
                Some(order) => refuse(id, input.try_send(order), &events).await,
                None => return,
            },
            () = process.leader_ended() => break,
        }
    }
    let delivered = timeout(OUTPUT_GRACE, &mut output_end).await.is_ok();
    let status = process.wait().await.unwrap_or(ExitStatus::default());
    drop(ended);
    if !delivered {
        let _ = output_end.await;
    }
    drop(pipes);
    send(&events, Event::Exited { process: id, status, stderr_tail: process.stderr_tail() }).await;
}

/// Looking for a program and forking may block; neither is to hold up the loop.
async fn start(command: Command, workspace: PathBuf) -> Result<ServerProcess, String> {
    match tokio::task::spawn_blocking(move || ServerProcess::spawn_outside(&command, Some(&workspace))).await {
        Ok(Ok(process)) => Ok(process),
        Ok(Err(error)) => Err(error.to_string()),
        Err(error) => Err(format!("the task that starts it failed: {error}")),
    }
}

/// The input is closed or taken: a write is answered at once, a close has nothing left to do.
async fn refuse(id: ProcessId, sent: Result<(), mpsc::error::TrySendError<Order>>, events: &mpsc::Sender<Event>) {
    if let Err(error) = sent
        && let Order::Write(op, _) = error.into_inner()
    {
        let error = "standard input is closed".to_owned();
        send(events, Event::WriteFailed { process: id, op, error }).await;
    }
}

async fn write(id: ProcessId, mut stdin: ChildStdin, mut orders: mpsc::Receiver<Order>, events: mpsc::Sender<Event>) {
    while let Some(Order::Write(op, bytes)) = orders.recv().await {
        let written = tokio::select! {
            written = stdin.write_all(&bytes) => written.map_err(|error| error.to_string()),
            // Anything that comes now is a close.
            _ = orders.recv() => Err("standard input was closed before all was written".to_owned()),
        };
        match written {
            Ok(()) => send(&events, Event::Written { process: id, op }).await,
            Err(error) => return send(&events, Event::WriteFailed { process: id, op, error }).await,
        }
    }
}

/// Reads until the end of the output, or, once `at_end` resolves (the group is dead), until the pipe is
/// empty. Holds `_done` until then.
async fn read(
    id: ProcessId,
    mut stdout: ChildStdout,
    mut at_end: oneshot::Receiver<()>,
    events: mpsc::Sender<Event>,
    _done: oneshot::Sender<()>,
) {
    let mut chunk = vec![0; CHUNK_BYTES_MAX];
    let mut rest = REST_BYTES_MAX;
    let mut dead = false;
    while rest > 0 {
        let read = if dead {
            let Ok(read) = timeout(REST_PAUSE, stdout.read(&mut chunk)).await else { break };
            read
        } else {
            tokio::select! {
                read = stdout.read(&mut chunk) => read,
                _ = &mut at_end => { dead = true; continue }
            }
        };
        // An error of a pipe is its end, as far as anybody can tell.
        let Ok(count @ 1..) = read else { break };
        if dead {
            rest = rest.saturating_sub(count);
        }
        send(&events, Event::Output { process: id, bytes: chunk[..count].to_vec() }).await;
    }
    send(&events, Event::OutputEnded { process: id }).await;
}

/// The driver may be gone; then nobody wants to know.
async fn send(events: &mpsc::Sender<Event>, event: Event) {
    let _ = events.send(event).await;
}

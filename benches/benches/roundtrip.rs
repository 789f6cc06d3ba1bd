//! Edit → report over real pipes to a push server without delay, beside a raw ping-pong of the same
//! bytes between two processes that also read the file and parse the JSON; in one run, block by block in
//! turn, on one core and on two. What is published is the ratio and the difference of the medians.
//!
//! The bench starts itself as the server (`serve`) and as the other end of the ping-pong (`pong`). It
//! fails when the ratio on one core is over the mark.

#![expect(clippy::print_stdout, reason = "what a bench prints is its result")]

use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command as ChildCommand, ExitCode, Stdio};
use std::time::Instant;

use benches::{spec, text};
use feedback::runtime::Feedback;
use feedback::{Command, Conclusion, Config, Policy};
use hdrhistogram::Histogram;
use rustix::thread::{CpuSet, sched_setaffinity};

const BLOCKS: usize = 20;
const ROUNDS_PER_BLOCK: usize = 100;
const WARM_UP: usize = 50;
/// The ratio of medians on one core at most.
const RATIO_MAX: f64 = 6.0;

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    match args.get(1).and_then(|arg| arg.to_str()) {
        Some("serve") => {
            let args = ["fake-lsp", "push"].map(OsString::from);
            fake_lsp::run::main(args)
        }
        Some("pong") => pong(),
        _ => measure(),
    }
}

fn measure() -> ExitCode {
    let quick = std::env::args().any(|arg| arg == "--test");
    let blocks = if quick { 1 } else { BLOCKS };
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    println!("edit → report beside a raw ping-pong of the same bytes ({blocks} blocks of {ROUNDS_PER_BLOCK} each)");
    for pinned in [1, 2] {
        if pinned > cores {
            println!("{pinned} cores: not measured, this machine has {cores}");
            continue;
        }
        pin(pinned);
        let outcome = compare(blocks);
        println!("{}", outcome.line(pinned));
        if pinned == 1 && !quick && outcome.ratio() > RATIO_MAX {
            println!("over the mark: a ratio of {RATIO_MAX} on one core");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// Pins this process, and so its children, to the first cores.
fn pin(cores: usize) {
    let mut set = CpuSet::new();
    (0..cores).for_each(|core| set.set(core));
    sched_setaffinity(None, &set).expect("a process may pin itself to its own cores");
}

struct Outcome {
    feedback: Histogram<u64>,
    raw: Histogram<u64>,
}

impl Outcome {
    fn line(&self, cores: usize) -> String {
        let (feedback, raw) = (micros(&self.feedback, 0.5), micros(&self.raw, 0.5));
        format!(
            "{cores} core{}: edit → report p50 {feedback:.1} µs, p99 {:.1} µs; ping-pong p50 {raw:.1} µs; ratio {:.2}, difference {:.1} µs",
            if cores == 1 { "" } else { "s" },
            micros(&self.feedback, 0.99),
            self.ratio(),
            feedback - raw,
        )
    }

    fn ratio(&self) -> f64 {
        micros(&self.feedback, 0.5) / micros(&self.raw, 0.5)
    }
}

#[expect(clippy::cast_precision_loss, reason = "nanoseconds of a round trip are far below 2^53")]
fn micros(histogram: &Histogram<u64>, quantile: f64) -> f64 {
    histogram.value_at_quantile(quantile) as f64 / 1000.0
}

fn compare(blocks: usize) -> Outcome {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let root = folder.path().canonicalize().expect("the scratch folder exists");
    let file = root.join("a.fake");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let program = std::env::current_exe().expect("this program has a path");
    let command = Command { program, args: vec!["serve".to_owned()], env: Vec::new(), cwd: root.clone() };
    let config = Config {
        root: root.clone(),
        servers: vec![spec(command)],
        policy: Policy::default(),
        process_id: Some(std::process::id()),
    };
    let mut rounds = 0;
    let mut outcome = Outcome { feedback: histogram(), raw: histogram() };
    let mut raw = Raw::start(&root);
    runtime.block_on(async {
        let feedback = Feedback::start(config);
        for block in 0..=blocks {
            // The first block warms up both and is not counted.
            let count = if block == 0 { WARM_UP } else { ROUNDS_PER_BLOCK };
            for _ in 0..count {
                rounds += 1;
                std::fs::write(&file, text(rounds)).expect("the file can be written");
                let start = Instant::now();
                let report = feedback.check(&file).await.expect("a report");
                let took = start.elapsed();
                assert_eq!((report.conclusion, report.counts.errors), (Conclusion::Errors, 1), "round {rounds}");
                assert!(report.findings[0].message.ends_with(&format!("round {rounds}")), "a stale answer");
                if block > 0 {
                    outcome.feedback.saturating_record(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
                }
            }
            for _ in 0..count {
                rounds += 1;
                let text = text(rounds);
                std::fs::write(&file, &text).expect("the file can be written");
                let took = raw.round(&file, rounds);
                if block > 0 {
                    outcome.raw.saturating_record(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
                }
            }
        }
        feedback.stop().await;
    });
    raw.end();
    outcome
}

/// Nanoseconds up to ten seconds: saturating records never widen a histogram by themselves.
fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 10_000_000_000, 3).expect("the bounds are allowed")
}

/// The ping-pong: a didChange of the size that the loop sends, answered by a publish of the size that
/// the fake sends. Both ends frame, and parse what they get.
struct Raw {
    child: Child,
    root: PathBuf,
    decoder: wire::Decoder,
}

impl Raw {
    fn start(root: &Path) -> Self {
        let program = std::env::current_exe().expect("this program has a path");
        let child = ChildCommand::new(program)
            .arg("pong")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("this program can be started again");
        Self { child, root: root.to_owned(), decoder: wire::Decoder::default() }
    }

    fn round(&mut self, file: &Path, round: u64) -> std::time::Duration {
        let start = Instant::now();
        let text = std::fs::read_to_string(file).expect("the file can be read");
        let changed = text.lines().last().unwrap_or_default();
        let range =
            serde_json::json!({ "start": { "line": 14, "character": 0 }, "end": { "line": 14, "character": 9 } });
        let params = serde_json::json!({
            "textDocument": { "uri": format!("file://{}/a.fake", self.root.display()), "version": round },
            "contentChanges": [{ "range": range, "text": changed }],
        });
        let message = serde_json::json!({ "jsonrpc": "2.0", "method": "textDocument/didChange", "params": params });
        let frame = wire::encode(message.to_string().as_bytes());
        self.child.stdin.as_mut().expect("piped").write_all(&frame).expect("the other end reads");
        let answer = next(&mut self.decoder, self.child.stdout.as_mut().expect("piped")).expect("an answer");
        let took = start.elapsed();
        assert_eq!(answer["params"]["version"], round);
        took
    }

    fn end(mut self) {
        drop(self.child.stdin.take());
        let status = self.child.wait().expect("the other end ends");
        assert!(status.success(), "{status}");
    }
}

/// The other end of the ping-pong: parses a change, answers with a publish of one error.
fn pong() -> ExitCode {
    let mut decoder = wire::Decoder::default();
    let (mut input, mut output) = (std::io::stdin().lock(), std::io::stdout().lock());
    while let Some(message) = next(&mut decoder, &mut input) {
        let params = &message["params"];
        let range =
            serde_json::json!({ "start": { "line": 14, "character": 0 }, "end": { "line": 14, "character": 20 } });
        let text = &params["contentChanges"][0]["text"];
        let item = serde_json::json!({ "range": range, "severity": 1, "code": "E1-00000000.0", "source": "fake", "message": text });
        let document = &params["textDocument"];
        let params =
            serde_json::json!({ "uri": document["uri"], "version": document["version"], "diagnostics": [item] });
        let message =
            serde_json::json!({ "jsonrpc": "2.0", "method": "textDocument/publishDiagnostics", "params": params });
        if output.write_all(&wire::encode(message.to_string().as_bytes())).and_then(|()| output.flush()).is_err() {
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// The next message, parsed; `None` at the end of the input.
fn next(decoder: &mut wire::Decoder, input: &mut impl std::io::Read) -> Option<serde_json::Value> {
    let mut chunk = [0; 64 * 1024];
    loop {
        match decoder.next() {
            Some(wire::Decoded::Content(content)) => return serde_json::from_slice(&content).ok(),
            Some(wire::Decoded::Error(error)) => panic!("{error}"),
            None => {}
        }
        let count = input.read(&mut chunk).expect("a pipe can be read");
        if count == 0 {
            return None;
        }
        decoder.push(&chunk[..count]);
    }
}

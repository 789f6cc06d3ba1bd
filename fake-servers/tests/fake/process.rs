//! The command over real pipes: a conversation, its end, what it writes about it, and its errors.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixListener;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

use fake_lsp::control::{FromFake, FromJudge, to_line};
use serde_json::{Value, json};
use wire::trace::{Direction, Entry, Line};

fn command() -> Command {
    Command::new(assert_cmd::cargo::cargo_bin!("fake-lsp"))
}

struct Server {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: ChildStdout,
    decoder: wire::Decoder,
}

impl Server {
    fn start(args: &[&str]) -> Self {
        let mut child =
            command().args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take().unwrap());
        Self { child, stdin, stdout, decoder: wire::Decoder::default() }
    }

    fn running(args: &[&str]) -> Self {
        let mut server = Self::start(args);
        server.send(&json!({ "id": 0, "method": "initialize", "params": { "capabilities": {} } }));
        assert!(server.receive()["result"]["capabilities"].is_object());
        server.send(&json!({ "method": "initialized", "params": {} }));
        server
    }

    fn send(&mut self, message: &Value) {
        self.stdin.as_mut().unwrap().write_all(&wire::encode(message.to_string().as_bytes())).unwrap();
    }

    fn open(&mut self, text: &str) {
        let document = json!({ "uri": "file:///w/a.fake", "version": 1, "text": text });
        self.send(&json!({ "method": "textDocument/didOpen", "params": { "textDocument": document } }));
    }

    fn receive(&mut self) -> Value {
        loop {
            match self.decoder.next() {
                Some(wire::Decoded::Content(content)) => return serde_json::from_slice(&content).unwrap(),
                Some(wire::Decoded::Error(error)) => panic!("{error}"),
                None => {}
            }
            let mut bytes = [0; 4096];
            let read = self.stdout.read(&mut bytes).unwrap();
            assert!(read > 0, "the output ended");
            self.decoder.push(&bytes[..read]);
        }
    }

    fn terminate(&self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    }

    /// Closes the input, if it is open, and waits.
    fn wait(mut self) -> (ExitStatus, String) {
        drop(self.stdin.take());
        let mut stderr = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        (self.child.wait().unwrap(), stderr)
    }
}

#[test]
fn a_conversation_with_push() {
    let mut server = Server::running(&["push"]);
    server.open("ERROR E1 boom\n");
    let publish = server.receive();
    let tag = fake_lsp::finding_tag(wire::text_hash(b"ERROR E1 boom\n"), 0);
    assert_eq!(publish["method"], "textDocument/publishDiagnostics");
    assert_eq!(publish["params"]["version"], 1);
    assert_eq!(publish["params"]["diagnostics"][0]["message"], format!("{tag} boom"));
    server.send(&json!({ "id": 1, "method": "shutdown" }));
    assert_eq!(server.receive()["result"], Value::Null);
    server.send(&json!({ "method": "exit" }));
    assert_eq!(server.wait(), (ExitStatus::from_raw(0), String::new()));
}

#[test]
fn the_ways_to_end() {
    let code = |server: Server| server.wait().0.code();
    assert_eq!(code(Server::running(&["push"])), Some(1), "the end of the input without shutdown");

    let mut server = Server::running(&["push"]);
    server.send(&json!({ "method": "exit" }));
    assert_eq!(code(server), Some(1), "exit without shutdown");

    let mut server = Server::running(&["push"]);
    server.terminate();
    assert_eq!(server.child.wait().unwrap().code(), Some(143), "SIGTERM");

    let mut server = Server::running(&["crash"]);
    server.open("ok\n");
    server.receive();
    let params =
        json!({ "textDocument": { "uri": "file:///w/a.fake", "version": 2 }, "contentChanges": [{ "text": "" }] });
    server.send(&json!({ "method": "textDocument/didChange", "params": params }));
    let (status, stderr) = server.wait();
    assert_eq!((status.code(), stderr.as_str()), (Some(1), "fatal: assertion failed: the text never changes\n"));

    let mut server = Server::running(&["dies-mid-frame"]);
    server.open("ok\n");
    server.receive();
    server.send(&json!({ "method": "textDocument/didChange", "params": params }));
    let mut rest = Vec::new();
    server.stdout.read_to_end(&mut rest).unwrap();
    assert!(rest.starts_with(b"Content-Length: 500\r\n\r\n{"), "{}", String::from_utf8_lossy(&rest));
    assert_eq!(server.wait().0.signal(), Some(9));
}

#[test]
fn a_server_that_stops_reading_really_does_and_one_that_ignores_everything_is_killed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("stops.toml");
    let script =
        "summary = 's'\n[[on]]\nmessage = 'initialized'\ndo = [{ stop_reading = true }, { log = 'stopped' }]\n";
    std::fs::write(&path, script).unwrap();
    let mut server = Server::running(&[path.to_str().unwrap()]);
    assert_eq!(server.receive()["params"]["message"], "stopped");
    let mut stdin = server.stdin.take().unwrap();
    rustix::io::ioctl_fionbio(&stdin, true).unwrap();
    let capacity = rustix::pipe::fcntl_getpipe_size(&stdin).unwrap();
    let mut taken = 0;
    while let Ok(written) = stdin.write(&[b' '; 4096]) {
        taken += written;
        assert!(taken <= capacity, "the server took bytes that it should not have read");
    }
    server.terminate();
    assert_eq!(server.child.wait().unwrap().code(), Some(143));

    let mut server = Server::running(&["ignores-exit"]);
    server.send(&json!({ "id": 1, "method": "shutdown" }));
    server.receive();
    server.send(&json!({ "method": "exit" }));
    server.terminate();
    server.send(&json!({ "id": 2, "method": "x" }));
    assert_eq!(server.receive()["error"]["code"], -32600, "it is still there");
    server.child.kill().unwrap();
    assert_eq!(server.wait().0.signal(), Some(9));
}

#[test]
fn a_closed_output_is_closed_while_the_server_lives_on() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("closes.toml");
    std::fs::write(&path, "summary = 's'\n[[on]]\nmessage = 'initialized'\ndo = [{ close_stdout = true }]\n").unwrap();
    let mut server = Server::running(&[path.to_str().unwrap()]);
    let mut rest = Vec::new();
    assert_eq!(server.stdout.read_to_end(&mut rest).unwrap(), 0);
    assert_eq!(server.child.try_wait().unwrap(), None);
    server.send(&json!({ "id": 1, "method": "shutdown" }));
    server.send(&json!({ "method": "exit" }));
    assert_eq!(server.wait().0.code(), Some(0));
}

#[test]
fn a_flood_arrives_whole_while_the_server_stays_small() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("flood.toml");
    let script = "summary = 's'\n[[on]]\nmessage = 'textDocument/didOpen'\n\
                  do = [{ flood = { what = 'findings', count = 200_000 } }, { log = 'over' }]\n";
    std::fs::write(&path, script).unwrap();
    let mut server = Server::running(&[path.to_str().unwrap()]);
    server.open("ERROR E1 boom\n");
    assert_eq!(server.receive()["params"]["diagnostics"].as_array().map(Vec::len), Some(200_000));
    assert_eq!(server.receive()["params"]["message"], "over");
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.child.id())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak_kib: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(peak_kib < 40_000, "{peak_kib} KiB to write some 35 MiB");
    assert_eq!(server.wait().0.code(), Some(1));
}

#[test]
fn the_trace_file_tells_everything() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("trace.jsonl");
    let mut server = Server::running(&["push", "--trace", path.to_str().unwrap()]);
    server.open("ok\n");
    server.receive();
    let pid = server.child.id();
    server.wait();
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<Line> = text.lines().map(|line| Line::from_json(line).unwrap()).collect();
    assert!(lines.iter().map(|line| line.seq).eq(0..lines.len() as u64), "{text}");
    assert!(
        matches!(&lines[0].entry, Entry::Start { writer, pid: told, instance: 1, .. } if writer == "push" && *told == pid)
    );
    assert!(matches!(lines.last().unwrap().entry, Entry::Exit { code: Some(1), .. }));
    let methods: Vec<_> = lines
        .iter()
        .filter_map(|line| match &line.entry {
            Entry::Message { dir, msg } => Some((*dir, msg["method"].as_str().unwrap_or("answer"))),
            Entry::Note { what, data } if what == "document" => {
                assert_eq!(data["hash"], format!("{:08x}", wire::text_hash(b"ok\n")));
                None
            }
            _ => None,
        })
        .collect();
    let expected = [
        (Direction::ToServer, "initialize"),
        (Direction::ToClient, "answer"),
        (Direction::ToServer, "initialized"),
        (Direction::ToServer, "textDocument/didOpen"),
        (Direction::ToClient, "textDocument/publishDiagnostics"),
    ];
    assert_eq!(methods, expected);
}

#[test]
fn a_judge_hears_everything_and_opens_gates() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("s");
    let listener = UnixListener::bind(&socket).unwrap();
    let mut server = Server::start(&["publishes-late", "--control", socket.to_str().unwrap(), "--token", "t"]);
    let (stream, _) = listener.accept().unwrap();
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    let mut hear = || serde_json::from_str::<FromFake>(&lines.next().unwrap().unwrap()).unwrap();
    let FromFake::Hello { token, pid, .. } = hear() else { panic!("no hello") };
    assert_eq!((token.as_str(), pid), ("t", server.child.id()));
    (&stream).write_all(&to_line(&FromJudge::Welcome { instance: 3 })).unwrap();
    let FromFake::Line { line: Line { entry: Entry::Start { instance: 3, .. }, .. } } = hear() else {
        panic!("no start")
    };

    server.send(&json!({ "id": 0, "method": "initialize", "params": { "capabilities": {} } }));
    server.receive();
    server.send(&json!({ "method": "initialized", "params": {} }));
    server.open("ok\n");
    assert_eq!(server.receive()["params"]["version"], 1);
    let params =
        json!({ "textDocument": { "uri": "file:///w/a.fake", "version": 2 }, "contentChanges": [{ "text": "" }] });
    server.send(&json!({ "method": "textDocument/didChange", "params": params }));
    (&stream).write_all(&to_line(&FromJudge::Gate { name: "late".to_owned() })).unwrap();
    assert_eq!(server.receive()["params"]["version"], 2);

    server.send(&json!({ "method": "exit" }));
    let mut last = None;
    for line in lines {
        last = Some(line.unwrap());
    }
    assert!(last.as_ref().unwrap().contains("\"kind\":\"exit\""), "the exit is told before it happens: {last:?}");
    assert_eq!(server.wait().0.code(), Some(1));
}

#[test]
fn a_fake_does_not_outlive_its_judge() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("s");
    let listener = UnixListener::bind(&socket).unwrap();
    let mut server = Server::start(&["ignores-exit", "--control", socket.to_str().unwrap(), "--token", "t"]);
    let (stream, _) = listener.accept().unwrap();
    (&stream).write_all(&to_line(&FromJudge::Welcome { instance: 1 })).unwrap();
    let mut hello = String::new();
    BufReader::new(&stream).read_line(&mut hello).unwrap();
    drop(stream);
    assert_eq!(server.child.wait().unwrap().code(), Some(4));
}

#[test]
fn wrong_calls_are_told_with_exit_code_2() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("wrong.toml");
    std::fs::write(&path, "summary = 's'\n[[on]]\nmessage = 'initialized'\ndo = [{ publisch = 'current' }]\n").unwrap();
    let path = path.to_str().unwrap();
    let cases: [(&[&str], &str); 5] = [
        (&["pusch"], "pull, push"),
        (&[path], "wrong.toml:4:9: unknown field `publisch`"),
        (&[], "NAME|FILE"),
        (&["--print", "none"], "built in are"),
        (&["push", "--control", "/s"], "--token"),
    ];
    for (args, expected) in cases {
        let output = command().args(args).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        // Reports are wrapped to the terminal's width.
        let unwrapped = stderr.replace("\n  │ ", "").replace("\n   ", " ");
        assert_eq!(output.status.code(), Some(2), "{args:?}: {stderr}");
        assert!(unwrapped.contains(expected), "{args:?}: {stderr}");
        assert!(output.stdout.is_empty(), "{args:?}");
    }
    let output = command().args(["push", "--control", "/nowhere/s", "--token", "t"]).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
}

#[test]
fn scripts_can_be_listed_and_printed() {
    let stdout = |args: &[&str]| {
        let output = command().args(args).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let list = stdout(&["--list"]);
    assert!(list.lines().any(|line| line.starts_with("stale-push ") && line.ends_with("300 ms later")), "{list}");
    assert_eq!(stdout(&["--print", "push"]), fake_lsp::embedded("push").unwrap());
}

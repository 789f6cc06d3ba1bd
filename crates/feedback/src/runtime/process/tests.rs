//! Server processes of real shells.

use std::path::PathBuf;

use tokio::io::AsyncBufReadExt as _;

use super::*;

fn sh(script: &str) -> Command {
    Command {
        program: "sh".into(),
        args: vec!["-c".to_owned(), script.to_owned()],
        env: vec![("GREETING".to_owned(), "hello".to_owned())],
        cwd: "/".into(),
    }
}

/// The first line that the process prints.
async fn line(process: &mut ServerProcess) -> String {
    let mut text = String::new();
    tokio::io::BufReader::new(process.take_stdout().unwrap()).read_line(&mut text).await.unwrap();
    text.trim_end().to_owned()
}

/// Waits for the end of a process that is not ours.
async fn gone(pid: &str) {
    let pid = Pid::from_raw(pid.parse().unwrap()).unwrap();
    if let Some(ended) = watch(pid) {
        let ready = tokio::time::timeout(Duration::from_secs(2), ended.readable()).await;
        assert!(ready.is_ok(), "process {pid:?} still runs");
    }
}

#[tokio::test]
async fn a_process_gets_its_environment_and_ends_with_its_status_and_the_end_of_its_stderr() {
    let mut process = ServerProcess::spawn(&sh("echo $GREETING; echo oops >&2; exit 3")).unwrap();
    assert_eq!(line(&mut process).await, "hello");
    assert_eq!(process.wait().await.unwrap(), ExitStatus { code: Some(3), signal: None });
    assert_eq!(process.wait().await.unwrap(), ExitStatus { code: Some(3), signal: None });
    assert_eq!(process.stderr_tail(), "oops\n");
}

#[tokio::test]
async fn a_flood_on_stderr_neither_blocks_nor_grows() {
    let script = "i=0; while [ $i -lt 2000 ]; do echo 0123456789012345678901234567890123456789é; i=$((i+1)); done >&2";
    let mut process = ServerProcess::spawn(&sh(script)).unwrap();
    process.wait().await.unwrap();
    let tail = process.stderr_tail();
    assert!(tail.len() <= STDERR_TAIL_BYTES && tail.len() > STDERR_TAIL_BYTES - 4, "{}", tail.len());
    assert!(tail.ends_with("9é\n"), "{tail}");
    assert!(!tail.contains('\u{fffd}'), "{tail}");
}

#[tokio::test]
async fn a_signal_reaches_the_whole_group_and_the_end_of_the_leader_ends_the_rest() {
    let cases = [("sleep 600 & echo $!; wait", true), ("trap '' TERM; sleep 600 & echo $!; exit 0", false)];
    for (script, signalled) in cases {
        let mut process = ServerProcess::spawn(&sh(script)).unwrap();
        let grandchild = line(&mut process).await;
        if signalled {
            process.signal(Signal::Terminate);
        }
        let status = process.wait().await.unwrap();
        assert_eq!(status.signal, signalled.then_some(15), "{script}");
        gone(&grandchild).await;
        process.signal(Signal::Kill);
    }
}

#[tokio::test]
async fn dropping_the_handle_kills_the_group() {
    let mut process = ServerProcess::spawn(&sh("trap '' TERM; sleep 600 & echo $!; wait")).unwrap();
    let grandchild = line(&mut process).await;
    let leader = process.id().to_string();
    drop(process);
    gone(&grandchild).await;
    gone(&leader).await;
}

#[tokio::test]
async fn what_cannot_be_started_is_said_with_where_it_was_looked_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("plain"), "").unwrap();
    std::fs::write(path("script"), "#!/no/such/interpreter\n").unwrap();
    std::fs::set_permissions(path("script"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let cases = [
        (PathBuf::from("no-such-server"), "`no-such-server` was not found; looked in the folders of PATH: /"),
        (path("absent"), "absent does not exist"),
        (path("plain"), "plain is not an executable file"),
        (path("script"), "script needs an interpreter that does not exist; see its first line"),
    ];
    for (program, expected) in cases {
        let error = ServerProcess::spawn(&Command { program, ..sh("") }).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let error = ServerProcess::spawn(&Command { cwd: path("nowhere"), ..sh("") }).unwrap_err().to_string();
    assert!(error.ends_with("nowhere does not exist"), "{error}");
}

//! Peak memory of the servers that this process has started, as `/proc` tells (Linux).

use std::collections::BTreeMap;
use std::fs;

/// What one process says of itself.
struct Row {
    parent: u32,
    session: u32,
    peak_bytes: u64,
}

/// The peak resident memory of all living descendants of this process that lead or belong to another
/// session (servers do, helpers of this process don't), summed. `None` where `/proc` doesn't tell.
pub(super) fn peak_bytes() -> Option<u64> {
    let own = std::process::id();
    let rows: BTreeMap<u32, Row> = fs::read_dir("/proc")
        .ok()?
        .filter_map(|entry| {
            let pid: u32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
            Some((pid, row(pid)?))
        })
        .collect();
    let session = rows.get(&own)?.session;
    let ours = rows.iter().filter(|(pid, row)| row.session != session && descends(**pid, own, &rows));
    Some(ours.map(|(_, row)| row.peak_bytes).sum())
}

/// A process that ends meanwhile has no row.
fn row(pid: u32) -> Option<Row> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // proc(5): the second field is a name in parentheses, which may hold anything; then state, parent,
    // group, session.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes: u64 = peak.and_then(|peak| peak.trim().strip_suffix(" kB")?.trim().parse().ok()).unwrap_or(0);
    Some(Row {
        parent: fields.get(1)?.parse().ok()?,
        session: fields.get(3)?.parse().ok()?,
        peak_bytes: kibibytes * 1024,
    })
}

fn descends(pid: u32, from: u32, rows: &BTreeMap<u32, Row>) -> bool {
    // Parents are never cyclic in one moment, but the rows were not read in one.
    let mut at = pid;
    for _ in 0..rows.len() {
        match rows.get(&at) {
            Some(row) if row.parent == from => return true,
            Some(row) => at = row.parent,
            None => return false,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_process_in_a_session_of_its_own_is_counted() {
        let mut command = Command::new("setsid");
        command.args(["sh", "-c", "echo up; read line"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0; 3]).unwrap();
        let peak = peak_bytes().unwrap();
        assert!((100_000..1_000_000_000).contains(&peak), "{peak}");
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

//! Looking at files on the loop's behalf: bounded, never outside the workspace, and never blocking on
//! what only looks like a file.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;

use crate::{FileError, FileKind};

/// Reads a regular file of the workspace whole.
///
/// # Errors
/// [`FileError`]: also when links lead out of `root`, and when there are more than `bytes_max` bytes.
pub(super) fn read(root: &Path, path: &Path, bytes_max: u64) -> Result<Vec<u8>, FileError> {
    let root = root.canonicalize().map_err(failure)?;
    let real = path.canonicalize().map_err(failure)?;
    if !real.starts_with(&root) {
        return Err(FileError::OutsideWorkspace { resolved: real.display().to_string() });
    }
    let file = open(&real)?;
    // One byte more than allowed tells "too large" from "just so", also while the file is growing.
    let mut bytes = Vec::new();
    file.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes).map_err(failure)?;
    if bytes.len() as u64 > bytes_max {
        return Err(FileError::TooLarge { bytes_max });
    }
    Ok(bytes)
}

/// Opens without waiting for anybody (a pipe without a writer would) and accepts regular files only.
fn open(real: &Path) -> Result<File, FileError> {
    let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY;
    #[expect(clippy::cast_possible_wrap, reason = "a set of flags, whatever its sign")]
    let file = OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(real).map_err(failure)?;
    let kind = file.metadata().map_err(failure)?.file_type();
    if kind.is_dir() {
        return Err(FileError::Other("it is a directory".to_owned()));
    }
    if !kind.is_file() {
        return Err(FileError::Other("it is not a regular file".to_owned()));
    }
    Ok(file)
}

/// What a path names, links followed.
///
/// # Errors
/// [`FileError`].
pub(super) fn stat(path: &Path) -> Result<FileKind, FileError> {
    let kind = path.metadata().map_err(failure)?.file_type();
    Ok(if kind.is_file() {
        FileKind::File
    } else if kind.is_dir() {
        FileKind::Directory
    } else {
        FileKind::Other
    })
}

fn failure(error: io::Error) -> FileError {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => FileError::NotFound,
        _ => FileError::Other(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn reads_are_bounded_and_stay_inside() {
        let outside = tempfile::tempdir().unwrap();
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        std::fs::write(outside.path().join("secret"), "s").unwrap();
        std::fs::write(at("four"), "1234").unwrap();
        std::fs::create_dir(at("folder")).unwrap();
        symlink(outside.path().join("secret"), at("out")).unwrap();
        symlink(at("four"), at("in")).unwrap();
        symlink(at("loop"), at("loop")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, at("fifo"), rustix::fs::Mode::RUSR).unwrap();

        let secret = outside.path().join("secret").canonicalize().unwrap().display().to_string();
        let outcome =
            |name: &str, bytes_max| read(root.path(), &at(name), bytes_max).map_err(|error| error.to_string());
        assert_eq!(outcome("four", 4).as_deref(), Ok(b"1234".as_slice()));
        assert_eq!(outcome("in", u64::MAX).as_deref(), Ok(b"1234".as_slice()));
        let failures = [
            ("four", "larger than 3 bytes".to_owned()),
            ("absent", "no such file".to_owned()),
            ("four/below", "no such file".to_owned()),
            ("out", format!("resolves to {secret}, outside the workspace")),
            ("folder", "it is a directory".to_owned()),
            ("fifo", "it is not a regular file".to_owned()),
        ];
        for (name, expected) in failures {
            assert_eq!(outcome(name, 3), Err(expected), "{name}");
        }
        assert!(outcome("loop", 3).unwrap_err().contains("symbolic links"));
        assert_eq!(stat(&at("folder")), Ok(FileKind::Directory));
        assert_eq!(stat(&at("in")), Ok(FileKind::File));
        assert_eq!(stat(&at("fifo")), Ok(FileKind::Other));
        assert_eq!(stat(&at("absent")), Err(FileError::NotFound));
    }
}

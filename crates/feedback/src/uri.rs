//! File URIs: from paths, and back to a key by which two spellings of one file are the same document.

use std::path::{Component, Path, PathBuf};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};

/// All but RFC 3986's unreserved characters and the separators of segments.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// The file URI of an absolute path, always in the same form.
pub(crate) fn of(path: &Path) -> String {
    format!("file://{}", percent_encode(path.as_os_str().as_encoded_bytes(), ESCAPED))
}

/// What a URI means, whatever its spelling: escapes decoded, host `localhost` dropped, the drive letter
/// of a Windows path in lower case. URIs that are not files are themselves.
pub(crate) fn key(uri: &str) -> Vec<u8> {
    let Some(rest) = strip_prefix_ignoring_case(uri, "file:") else { return uri.as_bytes().to_vec() };
    let path = rest.strip_prefix("//").map_or(rest, |authority| {
        let path = strip_prefix_ignoring_case(authority, "localhost").unwrap_or(authority);
        if path.starts_with('/') { path } else { authority }
    });
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let mut bytes: Vec<u8> = percent_decode_str(path).collect();
    if let [b'/', drive, b':', ..] = bytes.as_mut_slice() {
        drive.make_ascii_lowercase();
    }
    bytes
}

fn strip_prefix_ignoring_case<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let head = text.get(..prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then(|| &text[prefix.len()..])
}

/// `path` made absolute under `root`, with `.` and `..` resolved by name; `None` if that leaves `root`.
pub(crate) fn within(root: &Path, path: &Path) -> Option<PathBuf> {
    let mut resolved = PathBuf::new();
    for component in root.join(path).components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                resolved.pop();
            }
            other => resolved.push(other),
        }
    }
    (resolved.starts_with(root) && resolved != root).then_some(resolved)
}

/// `path` relative to `root`, with `/`, for people.
pub(crate) fn shown(root: &Path, path: &Path) -> String {
    let relative = path.strip_prefix(root).unwrap_or(path);
    crate::clean::line(&relative.to_string_lossy(), 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_names_are_escaped_and_found_again() {
        let path = Path::new("/w/a b#c%d[é]?.x");
        let uri = of(path);
        assert_eq!(uri, "file:///w/a%20b%23c%25d%5B%C3%A9%5D%3F.x");
        assert_eq!(key(&uri), path.as_os_str().as_encoded_bytes());
    }

    #[test]
    fn spellings_of_one_file_are_one_document() {
        let same = ["file:///C%3A/a.x", "file:///c:/a.x", "FILE:///C:/a%2ex", "file://localhost/c:/a.x"];
        for uri in same {
            assert_eq!(key(uri), b"/c:/a.x", "{uri}");
        }
        assert_ne!(key("file:///w/a.x"), key("file:///w/A.x"));
        assert_eq!(key("untitled:1"), b"untitled:1");
    }

    #[test]
    fn paths_stay_within_the_root() {
        let root = Path::new("/w");
        assert_eq!(within(root, Path::new("a/../b.x")), Some(PathBuf::from("/w/b.x")));
        for outside in ["../b.x", "/etc/passwd", "/w2/a", "a/../../w2/x", ".", ""] {
            assert_eq!(within(root, Path::new(outside)), None, "{outside}");
        }
    }
}

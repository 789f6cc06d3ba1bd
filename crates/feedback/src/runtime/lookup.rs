//! Where programs are looked for: the absolute folders of `PATH`, and never the workspace, whose files
//! may come from a stranger, not even through a link.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Folders of `PATH` beyond this many are not looked at.
const FOLDERS_MAX: usize = 512;

/// The folders in which bare names are looked for, and those that were refused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchPath {
    /// Looked in, in order.
    pub folders: Vec<PathBuf>,
    /// Not looked in, because they are relative or inside the workspace.
    pub refused: Vec<PathBuf>,
    /// With links resolved; a program in it is not taken.
    workspace: Option<PathBuf>,
}

impl SearchPath {
    /// Splits the value of a `PATH` variable. Relative entries, and with a workspace all entries inside
    /// it (also through links), are refused.
    #[must_use]
    pub fn new(path: &OsStr, workspace: Option<&Path>) -> Self {
        let workspace = workspace.map(|root| root.canonicalize().unwrap_or_else(|_| root.to_owned()));
        let mut search = Self { workspace, ..Self::default() };
        for folder in std::env::split_paths(path).filter(|folder| !folder.as_os_str().is_empty()).take(FOLDERS_MAX) {
            let list = if folder.is_relative() || search.is_inside(&folder) {
                &mut search.refused
            } else {
                &mut search.folders
            };
            if !list.contains(&folder) {
                list.push(folder);
            }
        }
        search
    }

    /// The `PATH` of this process.
    #[must_use]
    pub fn of_environment(workspace: Option<&Path>) -> Self {
        Self::new(&std::env::var_os("PATH").unwrap_or_default(), workspace)
    }

    /// The first executable file of that name that is not, through links, inside the workspace.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<PathBuf> {
        self.named(name).find(|path| !self.is_inside(path))
    }

    /// The executable files of that name that [`Self::find`] passes over, since they are links into the
    /// workspace.
    pub fn links_inside(&self, name: &str) -> impl Iterator<Item = PathBuf> {
        self.named(name).filter(|path| self.is_inside(path))
    }

    fn named(&self, name: &str) -> impl Iterator<Item = PathBuf> {
        self.folders.iter().map(move |folder| folder.join(name)).filter(|path| is_executable(path))
    }

    /// Whether a path lies in the workspace, by its name or through links.
    fn is_inside(&self, path: &Path) -> bool {
        self.workspace
            .as_ref()
            .is_some_and(|root| path.starts_with(root) || path.canonicalize().is_ok_and(|real| real.starts_with(root)))
    }

    /// The folders in words, for errors.
    #[must_use]
    pub fn in_words(&self) -> String {
        let list = |folders: &[PathBuf]| {
            folders.iter().map(|folder| folder.display().to_string()).collect::<Vec<_>>().join(", ")
        };
        let refused = match self.refused.as_slice() {
            [] => String::new(),
            [one] => format!(" (and not in {}: relative, or inside the workspace)", one.display()),
            [first, more @ ..] => {
                format!(" (and not in {} and {} more: relative, or inside the workspace)", first.display(), more.len())
            }
        };
        match self.folders.as_slice() {
            [] => format!("no folder, since PATH names none that may be used{refused}"),
            folders => format!("the folders of PATH: {}{refused}", list(folders)),
        }
    }
}

/// Whether this is a regular file that somebody may execute.
pub(super) fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_that_a_stranger_may_fill_are_refused() {
        let workspace = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        let inside = workspace.path().join("bin");
        std::fs::create_dir(&inside).unwrap();
        let link = outside.path().join("link");
        std::os::unix::fs::symlink(&inside, &link).unwrap();
        let program = outside.path().join("server");
        std::fs::write(&program, "").unwrap();

        let path = format!("relative:.::{}:{}:{}", inside.display(), link.display(), outside.path().display());
        let search = SearchPath::new(OsStr::new(&path), Some(workspace.path()));
        assert_eq!(search.folders, [outside.path()]);
        assert_eq!(search.refused, [Path::new("relative"), Path::new("."), &inside, &link]);

        assert_eq!(search.find("server"), None, "not executable");
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(search.find("server"), Some(program));

        let planted = workspace.path().join("planted");
        std::fs::copy(outside.path().join("server"), &planted).unwrap();
        let link = outside.path().join("planted");
        std::os::unix::fs::symlink(&planted, &link).unwrap();
        assert_eq!(search.find("planted"), None, "a link into the workspace");
        assert_eq!(search.links_inside("planted").collect::<Vec<_>>(), std::slice::from_ref(&link));
        assert_eq!(SearchPath::new(OsStr::new(&path), None).find("planted"), Some(link));
    }
}

//! The workspace in which edits happen: one of our own, or the user's, whose file is put back afterwards.

use std::path::{Path, PathBuf};
use std::{fs, io};

use tempfile::TempDir;

use crate::fixture::Fixture;
use crate::world::HarnessError;

/// A workspace with the file that is edited.
#[derive(Debug)]
pub struct Place {
    root: PathBuf,
    file: PathBuf,
    after: After,
}

#[derive(Debug)]
enum After {
    /// The whole workspace goes.
    Remove(#[expect(dead_code, reason = "held for its drop")] TempDir),
    /// The file gets its text back, or goes if it was not there.
    Restore(Option<Vec<u8>>),
}

impl Place {
    /// A new workspace with the fixture's files.
    ///
    /// # Errors
    /// When it can't be made.
    pub fn of_our_own(fixture: &Fixture) -> Result<Self, HarnessError> {
        let made = || -> io::Result<Self> {
            let folder = TempDir::with_prefix("lsp-assay-")?;
            let root = folder.path().canonicalize()?;
            let file = fixture.write_to(&root)?;
            Ok(Self { root, file, after: After::Remove(folder) })
        };
        made().map_err(|error| HarnessError::new(format!("no workspace could be made: {error}")))
    }

    /// A file in a workspace of the user's. Its text is put back when the value is dropped.
    ///
    /// # Errors
    /// When the file can't be read.
    pub fn of_the_users(root: &Path, file: &Path) -> Result<Self, HarnessError> {
        let text = match fs::read(file) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(HarnessError::new(format!("{}: {error}", file.display()))),
        };
        Ok(Self { root: root.to_owned(), file: file.to_owned(), after: After::Restore(text) })
    }

    /// The workspace.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The file that is edited.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Gives the file a text.
    pub(super) fn edit(&self, text: &str) -> Result<(), HarnessError> {
        fs::write(&self.file, text).map_err(|error| HarnessError::new(format!("{}: {error}", self.file.display())))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // There is nobody left to tell of an error; the text is where the user has it under version control.
        let _ = match &self.after {
            After::Remove(_) => Ok(()),
            After::Restore(Some(text)) => fs::write(&self.file, text),
            After::Restore(None) => fs::remove_file(&self.file),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_file_is_put_back() {
        let folder = tempfile::tempdir().unwrap();
        let (old, new) = (folder.path().join("old.py"), folder.path().join("new.py"));
        fs::write(&old, "x = 1\n").unwrap();
        for file in [&old, &new] {
            let place = Place::of_the_users(folder.path(), file).unwrap();
            place.edit("x = 2\n").unwrap();
            assert_eq!(fs::read_to_string(file).unwrap(), "x = 2\n");
        }
        assert_eq!(fs::read_to_string(&old).unwrap(), "x = 1\n");
        assert!(!new.exists());
    }
}

//! The scripts that the crate brings along, one per behaviour, and loading one by name or by path.

use std::path::{Path, PathBuf};

use include_dir::{Dir, include_dir};
use miette::Diagnostic;
use scenario::{ParseError, Script};
use thiserror::Error;

static SCRIPTS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/scripts");

/// The text of a script that is built in.
#[must_use]
pub fn embedded(name: &str) -> Option<&'static str> {
    SCRIPTS.get_file(format!("{name}.toml"))?.contents_utf8()
}

/// The names of the scripts that are built in, sorted.
#[must_use]
pub fn names() -> Vec<&'static str> {
    let stem = |path: &'static Path| path.file_stem().and_then(|stem| stem.to_str());
    let mut names: Vec<_> = SCRIPTS.files().filter_map(|file| stem(file.path())).collect();
    names.sort_unstable();
    names
}

/// Why there is no script.
#[derive(Debug, Error, Diagnostic)]
pub enum LoadError {
    /// Neither a file nor a name.
    #[error("{wanted:?} is neither a file nor the name of a built-in script")]
    #[diagnostic(help("built in are: {}", names().join(", ")))]
    Unknown {
        /// What was asked for.
        wanted: String,
    },
    /// The file can't be read.
    #[error("cannot read the script {path}", path = path.display())]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The script is wrong.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Wrong(#[from] ParseError),
}

/// The script in the file of this path if there is one, else the built-in one of this name.
///
/// # Errors
/// When there is neither, or when the script is wrong.
pub fn load(name_or_path: &str) -> Result<Script, LoadError> {
    let path = Path::new(name_or_path);
    if path.is_file() {
        let bytes = std::fs::read(path).map_err(|source| LoadError::Unreadable { path: path.to_owned(), source })?;
        return Ok(Script::parse(name_or_path, &scenario::text_of(name_or_path, bytes)?)?);
    }
    let text = embedded(name_or_path).ok_or_else(|| LoadError::Unknown { wanted: name_or_path.to_owned() })?;
    Ok(Script::parse(name_or_path, text)?)
}

//! The face for machines: the results as pretty JSON, and the file that holds them.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::Serialize;

/// The name of the file that [`save`] writes.
pub const RESULTS_FILE: &str = "results.json";

/// Results as JSON, with a line end.
///
/// # Errors
/// None for the types of this project; what the serializer says for others.
pub fn json(results: &impl Serialize) -> Result<String, serde_json::Error> {
    serde_json::to_string_pretty(results).map(|text| text + "\n")
}

/// Writes the results to [`RESULTS_FILE`] in `dir`, which is made if it is missing. A reader sees the old
/// file or the new one, never a part. Returns the file's path.
///
/// # Errors
/// What the system says, with the path that it is about.
pub fn save(results: &impl Serialize, dir: &Path) -> io::Result<PathBuf> {
    let file = dir.join(RESULTS_FILE);
    let beside = dir.join(format!(".{RESULTS_FILE}.{}", std::process::id()));
    let text = json(results).map_err(io::Error::other)?;
    write_and_rename(dir, &beside, &file, &text).map_err(|error| {
        // What was begun is of no use; that it can't be removed adds nothing to the error.
        let _ = fs::remove_file(&beside);
        io::Error::new(error.kind(), format!("{} was not written: {error}", file.display()))
    })?;
    Ok(file)
}

fn write_and_rename(dir: &Path, beside: &Path, file: &Path, text: &str) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    let mut written = fs::File::create(beside)?;
    written.write_all(text.as_bytes())?;
    written.sync_all()?;
    fs::rename(beside, file)
}

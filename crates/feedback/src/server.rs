//! The table of servers: what a server covers and how it is started.

use std::path::PathBuf;

use serde_json::Value;

use crate::{Command, Policy};

/// Everything a loop is made from.
#[derive(Clone, Debug)]
pub struct Config {
    /// The workspace: absolute, normalized. Files outside it are refused.
    pub root: PathBuf,
    /// The servers, in order of preference; every one that covers a file is asked.
    pub servers: Vec<ServerSpec>,
    /// The tunables.
    pub policy: Policy,
    /// The host's own process id, told to servers so that they can watch it; `None` tells `null`.
    pub process_id: Option<u32>,
}

/// How a server is started, or why it can't be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Launch {
    /// Start this; its working directory is replaced by the root that was found.
    Command(Command),
    /// It is not there: a sentence that says what was looked for and where, and what would install it.
    Missing(String),
}

/// One row of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerSpec {
    /// Its name in reports.
    pub name: String,
    /// Ends of file names with their language ids, such as `(".py", "python")` or `("Dockerfile", "dockerfile")`.
    pub extensions: Vec<(String, String)>,
    /// Names of files or folders that mark a root, looked for from the file upward; without a match
    /// the workspace is the root.
    pub root_markers: Vec<String>,
    /// How to start it.
    pub launch: Launch,
    /// `initializationOptions`, if any.
    pub initialization_options: Option<Value>,
    /// What `workspace/configuration` is answered from, by dotted section.
    pub settings: Value,
    /// Whether a conclusion needs this server. Others only add findings and notes.
    pub required: bool,
}

impl ServerSpec {
    /// The language id of a file that this server covers, by the longest matching end of its name.
    #[must_use]
    pub fn language_id(&self, path: &std::path::Path) -> Option<&str> {
        let name = path.file_name()?.to_str()?;
        let covering = self.extensions.iter().filter(|(extension, _)| name.ends_with(extension.as_str()));
        covering.max_by_key(|(extension, _)| extension.len()).map(|(_, language_id)| language_id.as_str())
    }
}

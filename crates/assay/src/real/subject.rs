//! Who is judged in the real world: any program that speaks the adapter protocol on its standard streams.

use std::path::PathBuf;
use std::process::Command;

use crate::world::HarnessError;

/// A loop that can be judged in the real world.
pub trait Subject: Sync {
    /// What results call it.
    fn name(&self) -> String;
    /// How it is started. Streams, process group and lifetime are the world's business.
    fn command(&self) -> Command;
}

/// A loop behind a command line that speaks the adapter protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdapterCommand {
    /// The program: a path, or a name that is looked up on `PATH`.
    pub program: PathBuf,
    /// Its arguments, passed exactly.
    pub args: Vec<String>,
}

impl AdapterCommand {
    /// The reference loop: this very executable with `adapter`.
    ///
    /// # Errors
    /// When the system does not tell the path of the running executable.
    pub fn reference() -> Result<Self, HarnessError> {
        let program = std::env::current_exe()
            .map_err(|error| HarnessError::new(format!("the path of the running executable is unknown: {error}")))?;
        Ok(Self { program, args: vec!["adapter".to_owned()] })
    }
}

impl Subject for AdapterCommand {
    fn name(&self) -> String {
        let program = self.program.file_name().unwrap_or(self.program.as_os_str()).to_string_lossy();
        std::iter::once(program.as_ref()).chain(self.args.iter().map(String::as_str)).collect::<Vec<_>>().join(" ")
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.args);
        command
    }
}

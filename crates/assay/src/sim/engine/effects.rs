//! What the loop wants done, done to simulated processes, pipes and files. Completions are scheduled,
//! each after a delay from the seed; in what order they come is not decided here.

use std::path::Path;

use fake_lsp::{Fake, Options};
use feedback::{Command, Effect, Event, FileError, FileKind, OpId, ProcessId, Signal};

use super::{Due, Engine, Poke};
use crate::sim::process::Process;
use crate::world::Instance;

impl Engine {
    pub(super) fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Spawn { process, command } => self.spawn(process, &command),
            Effect::Write { process, op, bytes } => self.write(process, op, &bytes),
            Effect::CloseInput { process } => {
                if let Some(index) = self.find(process) {
                    self.processes[index].stdin.closed = true;
                    self.settle(index);
                }
            }
            Effect::Signal { process, signal } => {
                if let Some(index) = self.find(process) {
                    let poke = if signal == Signal::Kill { Poke::Kill } else { Poke::Terminate };
                    self.poke(index, poke);
                }
            }
            Effect::ReadFile { op, path, bytes_max } => {
                let result = self.read_file(&path, bytes_max);
                self.later(10, 100, Due::ToLoop(Event::FileRead { op, result }));
            }
            Effect::Stat { op, path } => {
                let result = self.stat(&path);
                self.later(5, 50, Due::ToLoop(Event::Statted { op, result }));
            }
            Effect::Answer { call, answer } => {
                self.answers.insert(call, (self.now, answer));
            }
            _ => {}
        }
    }

    fn find(&self, id: ProcessId) -> Option<usize> {
        self.processes.iter().position(|process| process.id == id)
    }

    fn spawn(&mut self, id: ProcessId, command: &Command) {
        let Some(program) = self.programs.get(&command.program).cloned() else {
            let error = format!("no such program: {}", command.program.display());
            return self.later(50, 300, Due::ToLoop(Event::SpawnFailed { process: id, error }));
        };
        let earlier = self.instances.iter().filter(|instance| instance.server == program.server).count();
        let number = u32::try_from(earlier + 1).unwrap_or(u32::MAX);
        let options = Options { seed: self.seed, instance: number };
        let (instance, index) = (self.instances.len(), self.processes.len());
        self.instances.push(Instance {
            server: program.server,
            number,
            pid: 0,
            started: self.now,
            lines: Vec::new(),
            ended: false,
        });
        self.processes.push(Process::new(id, instance, Fake::new(program.script, options)));
        self.later(50, 300, Due::ToLoop(Event::Spawned { process: id }));
        self.later(300, 900, Due::Poke(index, Poke::Start));
    }

    fn write(&mut self, process: ProcessId, op: OpId, bytes: &[u8]) {
        let index = self.find(process).filter(|&index| !self.processes[index].stdin.closed);
        let Some(index) = index else {
            return self.later(1, 20, Due::ToLoop(broken(process, op)));
        };
        let target = &mut self.processes[index];
        target.stdin.write(bytes);
        target.write = Some(op);
        self.settle(index);
    }

    fn read_file(&self, path: &Path, bytes_max: u64) -> Result<Vec<u8>, FileError> {
        match self.files.get(path) {
            None => Err(FileError::NotFound),
            Some(bytes) if bytes.len() as u64 > bytes_max => Err(FileError::TooLarge { bytes_max }),
            Some(bytes) => Ok(bytes.clone()),
        }
    }

    fn stat(&self, path: &Path) -> Result<FileKind, FileError> {
        if self.files.contains_key(path) {
            Ok(FileKind::File)
        } else if self.files.keys().any(|file| file.starts_with(path)) {
            Ok(FileKind::Directory)
        } else {
            Err(FileError::NotFound)
        }
    }
}

pub(super) fn broken(process: ProcessId, op: OpId) -> Event {
    Event::WriteFailed { process, op, error: "Broken pipe".to_owned() }
}

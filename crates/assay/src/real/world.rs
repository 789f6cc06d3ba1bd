//! The real world: a temporary workspace, the loop's process, the fakes' control socket, and one wait
//! over all of them. Everything happens inside the calls of [`World`]; there are no threads here.

use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use fake_lsp::control::monotonic_us;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tempfile::TempDir;
use wire::Time;

use super::adapter::Adapter;
use super::control::{Control, Token};
use super::launcher::{FakeCommand, Launcher};
use super::process::{self, Held, Marks};
use super::subject::Subject;
use crate::protocol::{Op, Request, Start};
use crate::results::WorldKind;
use crate::world::{Awaited, HarnessError, Instance, Observed, Ticket, World};

/// How long the answer to `stop` is waited for; more than any policy's shutdown takes.
const STOP_WAIT: Duration = Duration::from_secs(5);
/// How long the loop's process may take to end after `stop` was answered and its input closed.
const LOOP_EXIT_WAIT: Duration = Duration::from_secs(2);
/// What still lives this long after the loop's end was left behind.
const LEFT_BEHIND_AFTER: Duration = Duration::from_secs(2);
/// How long a killed process may take to be gone.
const KILL_WAIT: Duration = Duration::from_secs(2);
/// Processes named as left behind.
const LEFT_BEHIND_MAX: usize = 100;

/// One server of a world.
#[derive(Clone, Debug)]
pub struct ServerSetup {
    /// Its name in `start`.
    pub name: String,
    /// Its script, as TOML; `None` for a program that is not there.
    pub script: Option<String>,
}

/// What a world is made from.
pub struct Setup<'a> {
    /// Who is judged.
    pub subject: &'a dyn Subject,
    /// How fakes are started.
    pub fake: &'a FakeCommand,
    /// The servers that get a launcher.
    pub servers: &'a [ServerSetup],
    /// The seed of the fakes' jitter.
    pub seed: u64,
    /// Becomes readable when the run is interrupted; everything in the world then fails at once.
    pub interrupt: Option<Arc<OwnedFd>>,
}

/// One loop with its servers, in processes.
#[derive(Debug)]
pub struct RealWorld {
    /// Dropped first: a loop has to end before its workspace goes.
    adapter: Adapter,
    control: Control,
    launchers: Vec<(String, PathBuf)>,
    interrupt: Option<Arc<OwnedFd>>,
    /// The folder that holds everything, without symbolic links on the way to it.
    base: PathBuf,
    root: PathBuf,
    epoch: Instant,
    last_id: u64,
    stop: Option<Ticket>,
    /// A loop that never answered anything is not asked to stop; it is only told so by the end of its input.
    answered_once: bool,
    _dir: TempDir,
}

impl RealWorld {
    /// Makes the workspace and the launchers, listens, and starts the loop.
    ///
    /// # Errors
    /// When a folder, a file, the socket or the loop's process could not be made.
    pub fn open(setup: &Setup<'_>) -> Result<Self, HarnessError> {
        let failed = |what: &str, error: std::io::Error| HarnessError::new(format!("{what} was not made: {error}"));
        let dir = tempfile::Builder::new()
            .prefix("lsp-assay-")
            .tempdir()
            .map_err(|error| failed("a temporary folder", error))?;
        let base = dir.path().canonicalize().map_err(|error| failed("a temporary folder", error))?;
        let root = base.join("workspace");
        for folder in [&root, &base.join("servers")] {
            fs::create_dir(folder).map_err(|error| failed(&folder.display().to_string(), error))?;
        }
        let world = world_name(&base);
        let socket = base.join("control");
        let tokens: Vec<Token> = (setup.servers.iter())
            .map(|server| Token { token: format!("{world}-{}", server.name), server: server.name.clone() })
            .collect();
        let launchers = (setup.servers.iter().zip(&tokens))
            .map(|(server, token)| Ok((server.name.clone(), write_launcher(setup, server, &base, &socket, token)?)))
            .collect::<Result<_, HarnessError>>()?;
        let (epoch, epoch_us) = (Instant::now(), monotonic_us());
        let control = Control::listen(&socket, tokens, epoch_us)?;
        let adapter = Adapter::start(setup.subject, world)?;
        Ok(Self {
            adapter,
            control,
            launchers,
            interrupt: setup.interrupt.clone(),
            base,
            root,
            epoch,
            last_id: 0,
            stop: None,
            answered_once: false,
            _dir: dir,
        })
    }

    /// Absolute path of the workspace.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Waits once, until something is ready or `deadline`, and does what can be done.
    fn pump(&mut self, deadline: Instant) -> Result<(), HarnessError> {
        let deadline = self.adapter.deadline().map_or(deadline, |own| own.min(deadline));
        let interrupt = self.interrupt.as_ref().map(|fd| PollFd::new(fd, PollFlags::IN));
        let mut fds: Vec<PollFd<'_>> =
            self.adapter.poll_fds().chain(self.control.poll_fds()).chain(interrupt).collect();
        wait(&mut fds, deadline)?;
        let interrupted = self.interrupt.is_some() && fds.last().is_some_and(|fd| !fd.revents().is_empty());
        drop(fds);
        if interrupted {
            return Err(HarnessError::new("interrupted"));
        }
        let now = self.now();
        self.adapter.progress(now);
        self.control.progress()
    }

    /// Pumps until `done` or `deadline`; whether it was done.
    fn pump_until(&mut self, deadline: Instant, mut done: impl FnMut(&mut Self) -> bool) -> Result<bool, HarnessError> {
        loop {
            if done(self) {
                return Ok(true);
            }
            if Instant::now() >= deadline {
                return Ok(false);
            }
            self.pump(deadline)?;
        }
    }

    /// `start` with what only the world knows.
    fn filled(&self, mut start: Start) -> Result<Start, HarnessError> {
        let text = |path: &Path| {
            path.to_str().map(str::to_owned).ok_or_else(|| {
                HarnessError::new(format!("{} is not UTF-8; set TMPDIR to another folder", path.display()))
            })
        };
        start.root = text(&self.root)?;
        for server in start.servers.iter_mut().filter(|server| server.command.is_empty()) {
            let launcher = self.launchers.iter().find(|(name, _)| *name == server.name);
            let (_, path) =
                launcher.ok_or_else(|| HarnessError::new(format!("no server `{}` was set up", server.name)))?;
            server.command = vec![text(path)?];
        }
        Ok(start)
    }

    /// A path of the workspace; refuses those that lead out of it.
    fn place(&self, path: &str) -> Result<PathBuf, HarnessError> {
        let relative = Path::new(path);
        let inside = !path.is_empty() && relative.components().all(|part| matches!(part, Component::Normal(_)));
        inside
            .then(|| self.root.join(relative))
            .ok_or_else(|| HarnessError::new(format!("`{path}` is not a relative path inside the workspace")))
    }

    fn marks(&self) -> Marks<'_> {
        Marks { world: world_name(&self.base), dir: &self.base, group: self.adapter.group() }
    }

    /// Asks the loop to stop, if that was not done, and waits until its process has ended.
    fn end_loop(&mut self) -> Result<(), HarnessError> {
        if self.stop.is_none() && self.answered_once {
            let ticket = self.submit(Op::Stop)?;
            self.answer(ticket, STOP_WAIT)?;
        }
        self.adapter.close_input();
        self.pump_until(Instant::now() + LOOP_EXIT_WAIT, |world| world.adapter.held().has_ended())?;
        Ok(())
    }

    /// Waits until nothing of this world lives, names what still does in the end, and kills it.
    fn leave(&mut self) -> Result<Vec<String>, HarnessError> {
        let deadline = Instant::now() + LEFT_BEHIND_AFTER;
        self.pump_until(deadline, |world| {
            world.adapter.held().has_ended() && world.control.running().next().is_none()
        })?;
        let left = loop {
            let left = process::marked(&self.marks());
            if left.is_empty() || Instant::now() >= deadline {
                break left;
            }
            wait(&mut left.iter().map(|(held, _)| held.poll_fd()).collect::<Vec<_>>(), deadline)?;
        };
        let running: Vec<String> = self.control.running().map(|(instance, held)| named(instance, held)).collect();
        let known: Vec<u32> = self.control.running().map(|(_, held)| held.pid).collect();
        self.control.running().for_each(|(_, held)| held.kill());
        for (held, _) in &left {
            held.kill();
        }
        let gone = Instant::now() + KILL_WAIT;
        self.pump_until(gone, |world| world.control.running().next().is_none())?;
        let own = self.adapter.group();
        let others = left.iter().filter(|(held, _)| !known.contains(&held.pid)).map(|(held, command)| {
            let who = if held.pid == own { "the loop itself" } else { "a process" };
            format!("{who}, process {}: {command}", held.pid)
        });
        Ok(running.into_iter().chain(others).take(LEFT_BEHIND_MAX).collect())
    }
}

impl World for RealWorld {
    fn kind(&self) -> WorldKind {
        WorldKind::Real
    }

    fn now(&self) -> Time {
        Time::ZERO.after(self.epoch.elapsed())
    }

    fn write_file(&mut self, path: &str, bytes: &[u8]) -> Result<(), HarnessError> {
        let place = self.place(path)?;
        let folder = place.parent().unwrap_or(&self.root);
        fs::create_dir_all(folder)
            .and_then(|()| tempfile::NamedTempFile::new_in(&self.base))
            .and_then(|file| fs::write(file.path(), bytes).map(|()| file))
            .and_then(|file| file.persist(&place).map_err(|error| error.error))
            .map(drop)
            .map_err(|error| HarnessError::new(format!("{} was not written: {error}", place.display())))
    }

    fn remove_file(&mut self, path: &str) -> Result<(), HarnessError> {
        let place = self.place(path)?;
        fs::remove_file(&place)
            .map_err(|error| HarnessError::new(format!("{} was not removed: {error}", place.display())))
    }

    fn submit(&mut self, op: Op) -> Result<Ticket, HarnessError> {
        self.last_id += 1;
        let ticket = Ticket(self.last_id);
        if op == Op::Stop {
            self.stop = Some(ticket);
        }
        let op = if let Op::Start(start) = op { Op::Start(self.filled(start)?) } else { op };
        self.adapter.send(&Request { id: ticket.0, op })?;
        self.adapter.progress(self.now());
        Ok(ticket)
    }

    fn answer(&mut self, ticket: Ticket, wait_max: Duration) -> Result<Awaited, HarnessError> {
        let deadline = Instant::now() + wait_max;
        let mut awaited = Awaited::TimedOut;
        self.pump_until(deadline, |world| {
            if let Some((at, answer)) = world.adapter.take_answer(ticket.0) {
                world.answered_once = true;
                awaited = Awaited::Answered { at, answer };
            } else if let Some(how) = world.adapter.ended() {
                awaited = Awaited::LoopEnded { how };
            }
            !matches!(awaited, Awaited::TimedOut)
        })?;
        Ok(awaited)
    }

    fn pass(&mut self, duration: Duration) -> Result<(), HarnessError> {
        self.pump_until(Instant::now() + duration, |_| false).map(drop)
    }

    fn open_gate(&mut self, gate: &str) -> Result<(), HarnessError> {
        self.control.open_gate(gate);
        Ok(())
    }

    fn await_instances(
        &mut self,
        until: &mut dyn FnMut(&[Instance]) -> bool,
        wait_max: Duration,
    ) -> Result<bool, HarnessError> {
        self.pump_until(Instant::now() + wait_max, |world| until(world.control.instances()))
    }

    fn kill_server(&mut self, server: &str) -> Result<(), HarnessError> {
        let Some((index, held)) = self.control.newest(server) else {
            return Err(HarnessError::new(format!("no instance of the server `{server}` runs that could be killed")));
        };
        held.kill();
        let gone = self.pump_until(Instant::now() + KILL_WAIT, |world| world.control.instances()[index].ended)?;
        if gone {
            Ok(())
        } else {
            Err(HarnessError::new(format!("the server `{server}` was killed and has not ended")))
        }
    }

    fn finish(mut self: Box<Self>) -> Result<Observed, HarnessError> {
        self.end_loop()?;
        let mut left_behind = self.leave()?;
        let (instances, cut) = self.control.take_instances();
        if cut > 0 {
            return Err(HarnessError::new(format!("the fakes' traces are too long: {cut} lines were not kept")));
        }
        left_behind.sort();
        Ok(Observed { instances, left_behind, loop_stderr: self.adapter.stderr_text() })
    }
}

impl Drop for RealWorld {
    /// A world that is left early, by an error or a panic, leaves nothing running either.
    fn drop(&mut self) {
        self.control.running().for_each(|(_, held)| held.kill());
        for (held, _) in process::marked(&self.marks()) {
            held.kill();
        }
    }
}

/// The name by which a world's processes are marked: that of its folder, which is unique.
fn world_name(base: &Path) -> &str {
    base.file_name().and_then(|name| name.to_str()).unwrap_or("lsp-assay")
}

/// Writes a server's script and the launcher that the loop is given for it; a missing one gets its path only.
fn write_launcher(
    setup: &Setup<'_>,
    server: &ServerSetup,
    base: &Path,
    socket: &Path,
    token: &Token,
) -> Result<PathBuf, HarnessError> {
    let launcher = base.join("servers").join(server.name.replace('/', "-"));
    let Some(text) = &server.script else { return Ok(launcher) };
    let mut script = launcher.clone().into_os_string();
    script.push(".toml");
    let script = PathBuf::from(script);
    fs::write(&script, text)
        .map_err(|error| HarnessError::new(format!("{} was not written: {error}", script.display())))?;
    let (script, token) = (script.as_path(), token.token.as_str());
    Launcher { fake: setup.fake, script, socket, token, seed: setup.seed }.write(&launcher)?;
    Ok(launcher)
}

/// How a process that was left behind is named.
fn named(instance: &Instance, held: &Held) -> String {
    format!("server {}#{}, process {}", instance.server, instance.number, held.pid)
}

/// Waits until a descriptor is ready or `deadline`.
fn wait(fds: &mut [PollFd<'_>], deadline: Instant) -> Result<(), HarnessError> {
    match poll(fds, Some(&timeout(deadline))) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(HarnessError::new(format!("waiting for processes failed: {error}"))),
    }
}

/// How long until `deadline`, as `poll` takes it.
fn timeout(deadline: Instant) -> Timespec {
    let left = deadline.saturating_duration_since(Instant::now()).min(Duration::from_secs(3600));
    Timespec::try_from(left).unwrap_or(Timespec { tv_sec: 3600, tv_nsec: 0 })
}

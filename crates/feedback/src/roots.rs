//! Finding a server's root: the nearest folder from the file upward, within the workspace, that holds
//! one of the server's markers; the workspace itself where none does.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::session::Io;
use crate::{Effect, OpId, ServerSpec};

/// Folders that are looked at from one file upward.
const DEPTH_MAX: usize = 64;

/// Which (server, folder) has which root, and the searches under way. Roots are remembered for the
/// life of the loop: a marker that appears later does not move documents between servers.
#[derive(Default)]
pub(crate) struct Roots {
    known: BTreeMap<(usize, PathBuf), PathBuf>,
    searches: BTreeMap<(usize, PathBuf), Search>,
    ops: BTreeMap<OpId, Probe>,
}

struct Search {
    open: usize,
    /// Index into the folders from the file's upward; the smallest found wins.
    nearest: Option<usize>,
}

struct Probe {
    search: (usize, PathBuf),
    folder: usize,
}

impl Roots {
    /// The root for files of `folder`, if it is known.
    pub(crate) fn known(&self, server: usize, folder: &Path) -> Option<&PathBuf> {
        self.known.get(&(server, folder.to_owned()))
    }

    /// Looks for the root, unless it is known or being looked for.
    pub(crate) fn search(
        &mut self,
        server: usize,
        spec: &ServerSpec,
        workspace: &Path,
        folder: &Path,
        io: &mut Io<'_>,
    ) {
        let key = (server, folder.to_owned());
        if self.known.contains_key(&key) || self.searches.contains_key(&key) {
            return;
        }
        let mut open = 0;
        for (at, candidate) in upward(workspace, folder).enumerate() {
            for marker in &spec.root_markers {
                let op = io.ids.op();
                self.ops.insert(op, Probe { search: key.clone(), folder: at });
                io.effects.push(Effect::Stat { op, path: candidate.join(marker) });
                open += 1;
            }
        }
        if open == 0 {
            self.known.insert(key, workspace.to_owned());
        } else {
            self.searches.insert(key, Search { open, nearest: None });
        }
    }

    /// One look is done.
    pub(crate) fn statted(&mut self, op: OpId, exists: bool, workspace: &Path) {
        let Some(probe) = self.ops.remove(&op) else { return };
        let Some(search) = self.searches.get_mut(&probe.search) else { return };
        search.open -= 1;
        if exists {
            search.nearest = Some(search.nearest.map_or(probe.folder, |nearest| nearest.min(probe.folder)));
        }
        if search.open == 0 {
            let nearest = search.nearest;
            self.searches.remove(&probe.search);
            let found =
                nearest.and_then(|at| upward(workspace, &probe.search.1).nth(at)).unwrap_or(workspace).to_owned();
            self.known.insert(probe.search, found);
        }
    }
}

/// The folder and those above it, up to the workspace.
fn upward<'a>(workspace: &'a Path, folder: &'a Path) -> impl Iterator<Item = &'a Path> {
    folder.ancestors().take_while(move |candidate| candidate.starts_with(workspace)).take(DEPTH_MAX)
}

//! Watch over the control files of a workspace while commands run. It remembers the files as they
//! were before, and moves those that a command creates or changes to quarantine.
//!
//! All commands of a daemon share one state. While no command runs, all control files belong to the
//! user and are trusted. While one runs, a new or changed control file is trusted only if no command
//! can have written it: its path was mounted read-only and is unchanged, or the user saved it in the
//! editor.

use std::{
    convert::Infallible,
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use cairn_core::{policy::control_files::Zone, text::Text};
use parking_lot::Mutex;

use super::{
    PreparedSandbox,
    control_files::{ControlFiles, canonical},
    quarantine::{self, put_back, remove_if},
    quarantined::{QuarantineReport, QuarantinedFile},
    request::WatchScope,
    shown_path::shown_path,
    system,
};

mod judge;
mod record;
mod saved;
mod state;

use judge::ScanMoment;
use record::{Mounts, Root, WatchRecord, WatchState};
use saved::SavedTexts;
use state::{Shared, WatchedRoot};

/// Pause between two scans of the top while a command runs. An editor opens a new repository half a
/// second after its file event.
const MIN_PAUSE: Duration = Duration::from_millis(200);
/// Pause between two whole scans in multiples of the last one's duration, so that they take at most a
/// tenth of a core.
const PAUSE_FACTOR: u32 = 10;

#[derive(Debug)]
pub struct Watch {
    /// Cairn's state folder.
    state: Option<PathBuf>,
    shared: Mutex<Shared>,
    saved: SavedTexts,
}

/// Watch over one command. When it ends, new control files are moved to quarantine.
#[derive(Debug)]
pub struct Watching {
    watch: Arc<Watch>,
    id: u64,
    control: Arc<ControlFiles>,
    ended: bool,
}

impl Watch {
    /// `state` is Cairn's state folder, which holds the quarantine.
    pub fn new(state: Option<PathBuf>) -> Self {
        let quarantine_parent = quarantine::parent_folder(state.as_deref());
        let shared = Mutex::new(Shared { quarantine_parent, ..Shared::default() });
        Self { state, shared, saved: SavedTexts::default() }
    }

    /// Starts to watch for a command: scans, and trusts all control files unless another command
    /// runs. Blocks.
    pub fn begin(self: &Arc<Self>, scope: &WatchScope) -> io::Result<Watching> {
        let mut shared = self.shared.lock();
        self.recover_once(&mut shared, scope);
        shared.set_roots(scope);
        let idle = shared.running.is_empty();
        if idle {
            self.saved.clear();
            shared.trust_all()?;
        }
        if shared.read_named_paths(scope) {
            shared.roots.iter_mut().for_each(|root| root.tree.forget());
            if idle {
                shared.trust_all()?;
            }
        }
        if !idle {
            shared.scan(ScanMoment::Running, &self.saved);
        }
        shared.last_id += 1;
        let id = shared.last_id;
        shared.running.insert(id, Mounts::new());
        let (protected, named) = (shared.uppermost(), shared.named.clone());
        let control = Arc::new(ControlFiles { protected, named });
        drop(shared);
        Ok(Watching { watch: Arc::clone(self), id, control, ended: false })
    }

    /// Records a text that the editor saved for the user.
    pub fn was_saved(&self, path: &Path, text: Text) {
        self.saved.insert(path, text);
    }

    /// Moves control files to quarantine that commands of a killed daemon left, and removes old
    /// entries there. Blocks.
    pub fn recover(&self, scope: &WatchScope) -> QuarantineReport {
        let mut shared = self.shared.lock();
        self.recover_once(&mut shared, scope);
        std::mem::take(&mut shared.left)
    }

    fn recover_once(&self, shared: &mut Shared, scope: &WatchScope) {
        if std::mem::replace(&mut shared.recovered, true) {
            return;
        }
        quarantine::remove_old(&shared.quarantine_parent, SystemTime::now(), quarantine::MAX_BYTES);
        let Some(state) = &self.state else { return };
        let folders = canonical(scope.folders);
        for WatchState { roots, mounts, named, skipped } in record::take_abandoned(state, &folders)
        {
            let root = |(path, is_repository, known): Root| {
                let zone = if is_repository { Zone::Repository } else { Zone::Project };
                let known = known.into_iter().map(|(at, stamp)| (at.into(), stamp)).collect();
                WatchedRoot { known, ..WatchedRoot::new(path.into(), zone) }
            };
            let mut before = Shared {
                quarantine_parent: shared.quarantine_parent.clone(),
                named: named.into_iter().map(PathBuf::from).collect(),
                skipped: skipped.into_iter().map(PathBuf::from).collect(),
                roots: roots.into_iter().map(root).collect(),
                ..Shared::default()
            };
            before.running.insert(0, mounts.into_iter().map(|(at, id)| (at.into(), id)).collect());
            before.scan(ScanMoment::Ended, &self.saved);
            shared.left.extend(before.left);
        }
        shared.quarantine = None;
    }

    /// Moves entries back from quarantine. Returns the paths that failed, each with the reason. Blocks.
    pub fn put_back(&self, left: &[QuarantinedFile]) -> Vec<(PathBuf, String)> {
        let mut shared = self.shared.lock();
        let mut failed = Vec::new();
        for entry in left {
            if let Some(stamp) = &entry.restored
                && let Err(error) = remove_if(&entry.root, &entry.path, stamp)
            {
                failed.push((entry.place(), error.to_string()));
                continue;
            }
            match put_back(&entry.at, &entry.root, &entry.path) {
                Ok(()) => shared.trust(&entry.root, &entry.path),
                Err(error) => {
                    if let Some(former) = &entry.former {
                        let _ = former.restore(&entry.root, &entry.path);
                    }
                    failed.push((entry.place(), error.to_string()));
                }
            }
        }
        failed
    }
}

impl Watching {
    pub fn control_files(&self) -> Arc<ControlFiles> {
        Arc::clone(&self.control)
    }

    /// Registers the mounts that the command will see (`None`: no sandbox), and writes the state of the
    /// watch to disk. The command must not start before this call. Blocks.
    pub fn mounted(&self, sandbox: Option<&PreparedSandbox>) -> io::Result<()> {
        let (writable, read_only) = sandbox.map_or((&[][..], &[][..]), system::mounted_paths);
        let identity = |path: &PathBuf| {
            let data = std::fs::symlink_metadata(path).ok()?;
            Some((path.clone(), Some((data.dev(), data.ino()))))
        };
        let writable = writable.iter().map(|path| (path.clone(), None));
        // If a path is in both lists, it is read-only.
        let mounts: Mounts = writable.chain(read_only.iter().filter_map(identity)).collect();
        let mut shared = self.watch.shared.lock();
        shared.running.insert(self.id, mounts);
        let Some(state) = &self.watch.state else { return Ok(()) };
        if shared.record.is_none() {
            let mounts = shared.running.values().flatten();
            let root = |root: &WatchedRoot| {
                let known = root.known.iter().map(|(at, stamp)| (at.into(), *stamp)).collect();
                (root.path.clone().into(), root.zone == Zone::Repository, known)
            };
            let recorded = WatchState {
                roots: shared.roots.iter().map(root).collect(),
                mounts: mounts.map(|(path, identity)| (path.into(), *identity)).collect(),
                named: shared.named.iter().map(Into::into).collect(),
                skipped: shared.skipped.iter().map(Into::into).collect(),
            };
            shared.record = Some(WatchRecord::write(state, &recorded)?);
        }
        Ok(())
    }

    /// Scans repeatedly while the command runs. After a scan that moved files, `moved` may take the
    /// report. A report that stays is part of the next one. Ends only when dropped.
    pub async fn scan_repeatedly(&self, moved: impl Fn(&mut QuarantineReport)) -> Infallible {
        loop {
            tokio::time::sleep(MIN_PAUSE).await;
            let watch = Arc::clone(&self.watch);
            let scanned = tokio::task::spawn_blocking(move || {
                let mut shared = watch.shared.lock();
                // When no command runs, new files belong to the user.
                if !shared.running.is_empty() {
                    let pause = shared.scan_time * PAUSE_FACTOR;
                    let is_due = shared.scanned.is_none_or(|scanned| scanned.elapsed() >= pause);
                    let moment =
                        if is_due { ScanMoment::Running } else { ScanMoment::RunningAtTop };
                    shared.scan(moment, &watch.saved);
                }
            });
            if let Err(error) = scanned.await {
                tracing::error!("a scan for control files failed: {error}");
            }
            let mut shared = self.watch.shared.lock();
            if !shared.left.moved.is_empty() {
                moved(&mut shared.left);
            }
        }
    }

    /// Ends the watch after the command and all its processes have ended. Blocks.
    pub fn finish(mut self) -> QuarantineReport {
        self.end()
    }

    fn end(&mut self) -> QuarantineReport {
        if std::mem::replace(&mut self.ended, true) {
            return QuarantineReport::default();
        }
        let mut shared = self.watch.shared.lock();
        shared.scan(ScanMoment::Ended, &self.watch.saved);
        shared.running.remove(&self.id);
        if shared.running.is_empty() {
            shared.record = None;
            shared.quarantine = None;
            self.watch.saved.clear();
        }
        std::mem::take(&mut shared.left)
    }
}

/// Ends the watch without `finish`: the daemon ends, or the task of the command failed.
impl Drop for Watching {
    fn drop(&mut self) {
        for line in self.end().entries(shown_path) {
            tracing::warn!("a command left {}", line.english());
        }
    }
}

#[cfg(test)]
mod tests;

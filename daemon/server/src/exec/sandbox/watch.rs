//! Watch over the control files of a workspace while commands run. It remembers the files from
//! before, and moves those that a command creates or changes to quarantine.
//!
//! A daemon has one state. While no command runs, all control files found belong to the user and
//! are trusted. While one runs, a new or changed control file is trusted only if the command cannot
//! have made it: its path was mounted read-only and is unchanged, or the user saved it in the
//! editor.

use std::{
    collections::{BTreeSet, HashMap},
    convert::Infallible,
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

use cairn_core::text::{self, Text};

use super::{
    Begin, PreparedSandbox,
    path_scan::{Kind, Stamp},
    quarantine::{self, Former, put_back, remove_if},
    quarantined::{Left, LeftBehind},
};

mod judge;
mod record;
mod state;

use judge::Moment;
use record::{Record, Recorded};
use state::{Mounts, Root, Shared, canonical};

/// Shortest pause between two scans while a command runs. An editor opens a new repository half a
/// second after its file event.
const PERIOD: Duration = Duration::from_millis(200);
/// Pause in multiples of the last scan's duration, so that scanning takes at most a tenth of a
/// core.
const REST: u32 = 10;
/// Files whose text saved by the editor is remembered.
const MOST_SAVED: usize = 512;

#[derive(Debug)]
pub struct Watch {
    state: Option<PathBuf>,
    shared: Mutex<Shared>,
    /// Texts that the editor saved while commands ran. Behind a lock of their own, so that a save
    /// never waits for a scan.
    saved: Mutex<HashMap<PathBuf, Text>>,
}

/// Control files from before a command.
#[derive(Debug, Default)]
pub struct ControlFiles {
    paths: Vec<PathBuf>,
    named: BTreeSet<PathBuf>,
}

impl ControlFiles {
    /// Paths to mount read-only, the uppermost of each folder.
    pub(super) fn protected(&self) -> impl Iterator<Item = &Path> {
        self.paths.iter().map(PathBuf::as_path)
    }

    /// Paths that git's settings name, existing or missing.
    pub(super) fn named(&self) -> &BTreeSet<PathBuf> {
        &self.named
    }
}

/// Watch over one command. Its end moves new control files to quarantine.
#[derive(Debug)]
pub struct Watching {
    watch: Arc<Watch>,
    id: u64,
    control: Arc<ControlFiles>,
    over: bool,
}

impl Watch {
    /// `state` is Cairn's state folder, which holds the quarantine.
    pub fn new(state: Option<PathBuf>) -> Self {
        Self { state, shared: Mutex::default(), saved: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn saved(&self) -> MutexGuard<'_, HashMap<PathBuf, Text>> {
        self.saved.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts to watch for a command: scans, and trusts all control files unless another command
    /// runs. Blocks.
    pub fn begin(self: &Arc<Self>, begin: &Begin) -> io::Result<Watching> {
        let mut shared = self.lock();
        self.recover_once(&mut shared, begin);
        shared.set(begin);
        let idle = shared.running.is_empty();
        if idle {
            self.saved().clear();
            shared.trust_all()?;
        }
        if shared.read_names(begin) {
            shared.roots.iter_mut().for_each(|root| root.tree.forget());
            if idle {
                shared.trust_all()?;
            }
        }
        if !idle {
            shared.look(Moment::Running, self);
        }
        shared.next += 1;
        let id = shared.next;
        shared.running.insert(id, Mounts::new());
        let control =
            Arc::new(ControlFiles { paths: shared.uppermost(), named: shared.named.clone() });
        drop(shared);
        Ok(Watching { watch: Arc::clone(self), id, control, over: false })
    }

    /// Records a text that the editor saved for the user.
    pub fn was_saved(&self, path: &Path, text: Text) {
        let mut saved = self.saved();
        if saved.len() < MOST_SAVED || saved.contains_key(path) {
            saved.insert(path.to_owned(), text);
        }
    }

    /// True if the file holds the text that the editor saved.
    fn has_saved(&self, root: &Root, path: &Path, stamp: &Stamp) -> bool {
        let saved = self.saved().get(&root.path.join(path)).cloned();
        let Some(saved) = saved else { return false };
        let now = Former::of(&root.path, path, crate::workspace::MAX_FILE_BYTES);
        match now {
            Some(Former::File { bytes, .. }) if stamp.kind == Kind::File => {
                text::decode(&bytes).is_ok_and(|decoded| decoded.text == saved)
            }
            Some(Former::File { .. } | Former::Link(_)) | None => false,
        }
    }

    /// Moves control files to quarantine that commands of a killed daemon left, and removes old
    /// entries there. Blocks.
    pub fn recover(&self, begin: &Begin) -> LeftBehind {
        let mut shared = self.lock();
        self.recover_once(&mut shared, begin);
        std::mem::take(&mut shared.left)
    }

    fn recover_once(&self, shared: &mut Shared, begin: &Begin) {
        if std::mem::replace(&mut shared.recovered, true) {
            return;
        }
        quarantine::sweep(&quarantine::home(self.state.as_deref()), SystemTime::now());
        let Some(state) = &self.state else { return };
        let folders = canonical(begin.folders);
        for recorded in record::abandoned(state, &folders) {
            let Recorded { roots, mounts, named, skipped } = recorded;
            let mut before = Shared { named, skipped, ..Shared::default() };
            before.running.insert(0, mounts);
            before.roots = roots
                .into_iter()
                .map(|(path, zone, known)| Root { known, ..Root::new(path, zone) })
                .collect();
            before.look(Moment::Over, self);
            shared.left.extend(before.left);
        }
        shared.quarantine = None;
    }

    /// Moves entries back from quarantine. Returns those that failed, each with the reason. Blocks.
    pub fn put_back(&self, left: &[Left]) -> Vec<(PathBuf, String)> {
        let mut shared = self.lock();
        let mut refused = Vec::new();
        for one in left {
            if let Some(stamp) = &one.restored
                && let Err(error) = remove_if(&one.root, &one.path, stamp)
            {
                refused.push((one.place(), error.to_string()));
                continue;
            }
            match put_back(&one.at, &one.root, &one.path) {
                Ok(()) => shared.trust(&one.root, &one.path),
                Err(error) => {
                    if let Some(former) = &one.former {
                        let _ = former.restore(&one.root, &one.path);
                    }
                    refused.push((one.place(), error.to_string()));
                }
            }
        }
        refused
    }
}

impl Watching {
    pub fn control_files(&self) -> Arc<ControlFiles> {
        Arc::clone(&self.control)
    }

    /// Registers the mounts that the command will see (`None`: no sandbox). The command may start
    /// after this call, which writes the state of the watch to disk first. Blocks.
    pub fn mounted(&self, sandbox: Option<&PreparedSandbox>) -> io::Result<()> {
        let (writable, read_only) = sandbox.map(PreparedSandbox::places).unwrap_or_default();
        let identity = |path: &PathBuf| {
            let data = std::fs::symlink_metadata(path).ok()?;
            Some((path.clone(), Some((data.dev(), data.ino()))))
        };
        let writable = writable.iter().map(|path| (path.clone(), None));
        // Of two mounts for one path the stricter counts.
        let mounts: Mounts = writable.chain(read_only.iter().filter_map(identity)).collect();
        let mut shared = self.watch.lock();
        shared.running.insert(self.id, mounts);
        let Some(state) = &self.watch.state else { return Ok(()) };
        if shared.record.is_none() {
            let mounts = shared.running.values().flatten();
            let recorded = Recorded {
                roots: shared
                    .roots
                    .iter()
                    .map(|root| (root.path.clone(), root.zone, root.known.clone()))
                    .collect(),
                mounts: mounts.map(|(path, identity)| (path.clone(), *identity)).collect(),
                named: shared.named.clone(),
                skipped: shared.skipped.clone(),
            };
            shared.record = Some(Record::write(state, &recorded)?);
        }
        Ok(())
    }

    /// Scans repeatedly while the command runs. Ends only when dropped.
    pub async fn repeat(&self) -> Infallible {
        loop {
            let rest = (self.watch.lock().last * REST).max(PERIOD);
            tokio::time::sleep(rest).await;
            let watch = Arc::clone(&self.watch);
            let scanned = tokio::task::spawn_blocking(move || {
                let mut shared = watch.lock();
                // After the command's end all new files belong to the user.
                if !shared.running.is_empty() {
                    shared.look(Moment::Running, &watch);
                }
            });
            if let Err(error) = scanned.await {
                tracing::error!("a scan failed: {error}");
            }
        }
    }

    /// Ends the watch after the command and all its processes have ended. Blocks.
    pub fn finish(mut self) -> LeftBehind {
        self.end()
    }

    fn end(&mut self) -> LeftBehind {
        if std::mem::replace(&mut self.over, true) {
            return LeftBehind::default();
        }
        let mut shared = self.watch.lock();
        shared.look(Moment::Over, &self.watch);
        shared.running.remove(&self.id);
        if shared.running.is_empty() {
            shared.record = None;
            shared.quarantine = None;
            self.watch.saved().clear();
        }
        std::mem::take(&mut shared.left)
    }
}

/// Ends the watch of a command that was not waited for, because the daemon ends or its task failed.
impl Drop for Watching {
    fn drop(&mut self) {
        for line in self.end().lines(super::shown_path) {
            tracing::warn!("a command left {line}");
        }
    }
}

#[cfg(test)]
mod tests;

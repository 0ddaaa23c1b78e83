//! State of the watch: the watched folders, and the control files in them that belong to the user.

use std::{
    collections::{BTreeSet, HashMap},
    io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use cairn_core::policy::control_files::{EntryKind, Zone, is_generated};

use super::{
    super::{
        control_files::{canonical, never_writable_in_home},
        control_interest::{Compare, Control},
        git,
        path_scan::{PathSnapshot, Stamp, Tree},
        quarantine::{FormerEntry, Quarantine},
        quarantined::QuarantineReport,
        request::WatchScope,
    },
    record::{Mounts, WatchRecord},
};

/// Bytes of one copy of a control file, and of all copies in a root.
const MAX_COPY_BYTES: u64 = 64 * 1024;
const MAX_COPIED_BYTES: u64 = 4 * 1024 * 1024;
/// Repositories in a workspace whose settings are read.
const MAX_REPOSITORIES: usize = 32;

/// State of the watch, shared by all commands.
#[derive(Debug, Default)]
pub(super) struct Shared {
    pub(super) roots: Vec<WatchedRoot>,
    /// Paths that git's settings name.
    pub(super) named: BTreeSet<PathBuf>,
    /// Folders that are not watched.
    pub(super) skipped: BTreeSet<PathBuf>,
    /// Running commands by their id, each with its mounts.
    pub(super) running: HashMap<u64, Mounts>,
    pub(super) last_id: u64,
    /// Entries in quarantine that were not reported yet.
    pub(super) left: QuarantineReport,
    /// Folder in which quarantines are created.
    pub(super) quarantine_parent: PathBuf,
    /// Quarantine of the running commands, if one was needed.
    pub(super) quarantine: Option<Quarantine>,
    pub(super) record: Option<WatchRecord>,
    /// Set when records of killed daemons have been read.
    pub(super) recovered: bool,
    /// Duration of the last whole scan.
    pub(super) scan_time: Duration,
    /// Time of the last whole scan while a command ran.
    pub(super) scanned: Option<Instant>,
}

/// Watched folder with the control files in it that belong to the user.
#[derive(Debug)]
pub(super) struct WatchedRoot {
    pub(super) path: PathBuf,
    pub(super) zone: Zone,
    pub(super) tree: Tree,
    pub(super) known: PathSnapshot,
    /// Copies of small control files, to restore those that a command replaces.
    pub(super) copies: HashMap<PathBuf, (Stamp, FormerEntry)>,
}

impl WatchedRoot {
    pub(super) fn new(path: PathBuf, zone: Zone) -> Self {
        let tree = Tree::new(path.clone(), zone);
        Self { path, zone, tree, known: PathSnapshot::new(), copies: HashMap::new() }
    }

    /// Copies small control files of the user that have no copy yet, and drops outdated copies.
    pub(super) fn update_copies(&mut self) {
        self.copies.retain(|path, (stamp, _)| {
            self.known.get(path).is_some_and(|known| known.is_still(stamp))
        });
        let mut left = MAX_COPIED_BYTES;
        for (path, stamp) in &self.known {
            let small = stamp.kind == EntryKind::Link
                || (stamp.kind == EntryKind::File && stamp.size <= MAX_COPY_BYTES);
            if stamp.compare != Compare::Whole || !small || left < stamp.size {
                continue;
            }
            left -= stamp.size;
            if !self.copies.contains_key(path)
                && let Some(former) = FormerEntry::of(&self.path, path, MAX_COPY_BYTES)
            {
                self.copies.insert(path.clone(), (*stamp, former));
            }
        }
    }

    /// Marks the entries at and below a path as the user's.
    pub(super) fn trust(&mut self, path: &Path, found: &PathSnapshot) {
        self.known.retain(|known, _| !known.starts_with(path));
        let below = found.iter().filter(|(found, _)| found.starts_with(path));
        self.known.extend(below.map(|(path, stamp)| (path.clone(), *stamp)));
    }
}

impl Shared {
    /// Sets the watched folders.
    pub(super) fn set_roots(&mut self, scope: &WatchScope) {
        let folders = canonical(scope.folders);
        self.skipped = scope.hidden.iter().filter_map(|path| path.canonicalize().ok()).collect();
        if let Some(home) = scope.home.and_then(|home| home.canonicalize().ok())
            && folders.iter().any(|folder| home.starts_with(folder))
        {
            // No command can write these, so they need not be scanned.
            self.skipped.extend(never_writable_in_home(&home));
        }
        let mut roots: Vec<(PathBuf, Zone)> =
            folders.iter().map(|folder| (folder.clone(), Zone::Project)).collect();
        if scope.git_writable {
            let places = folders.iter().flat_map(|folder| git::writable_folders(folder));
            roots.extend(places.map(|place| (place, Zone::Repository)));
        }
        for (path, zone) in roots {
            let contains = |root: &WatchedRoot| path.starts_with(&root.path);
            if !self.roots.iter().any(contains) {
                let is_inside = |root: &WatchedRoot| root.path.starts_with(&path);
                if self.running.is_empty() {
                    self.roots.retain(|root| !is_inside(root));
                }
                let mut root = WatchedRoot::new(path, zone);
                if !self.running.is_empty() {
                    // The running commands cannot write there, so all that is found is the user's.
                    let control = self.control(&root.path);
                    root.known = root.tree.scan(&control, None, false).unwrap_or_default().found;
                    root.update_copies();
                }
                self.roots.push(root);
            }
        }
    }

    pub(super) fn control(&self, root: &Path) -> Control {
        Control::below(root, self.named.iter(), self.skipped.iter())
    }

    /// Reads the paths that git's settings name. True if they changed.
    pub(super) fn read_named_paths(&mut self, scope: &WatchScope) -> bool {
        let folders = canonical(scope.folders);
        let mut named: BTreeSet<PathBuf> =
            folders.iter().flat_map(|folder| git::named_paths(folder)).collect();
        let repositories = self.roots.iter().flat_map(|root| {
            let is_nested = |path: &&PathBuf| {
                path.file_name().is_some_and(|name| name == ".git")
                    && path.components().count() > 1
                    && !is_generated(path)
            };
            root.known
                .keys()
                .filter(is_nested)
                .filter_map(|path| Some(root.path.join(path.parent()?)))
        });
        let repositories: Vec<PathBuf> = repositories.take(MAX_REPOSITORIES).collect();
        named.extend(repositories.iter().flat_map(|folder| git::named_paths(folder)));
        // A whole workspace folder cannot be protected.
        named.retain(|path| !folders.iter().any(|folder| folder.starts_with(path)));
        let changed = named != self.named;
        self.named = named;
        changed
    }

    /// Scans, and marks all control files as the user's.
    pub(super) fn trust_all(&mut self) -> io::Result<()> {
        let began = Instant::now();
        for root in &mut self.roots {
            let control = Control::below(&root.path, self.named.iter(), self.skipped.iter());
            let scan = root.tree.scan(&control, None, false).map_err(|error| {
                io::Error::new(error.kind(), format!("{}: {error}", root.path.display()))
            })?;
            root.known = scan.found;
            root.update_copies();
        }
        self.scan_time = began.elapsed();
        Ok(())
    }

    /// Scans, and marks the entry at a path as the user's.
    pub(super) fn trust(&mut self, root: &Path, path: &Path) {
        let control = self.control(root);
        if let Some(root) = self.roots.iter_mut().find(|it| it.path == root)
            && let Ok(scan) = root.tree.scan(&control, None, false)
        {
            root.trust(path, &scan.found);
            root.update_copies();
        }
    }

    /// Returns the control files to be protected: of a control folder only the folder itself, and no
    /// files that tools generate, because a build must be able to remove them.
    pub(super) fn uppermost(&self) -> Vec<PathBuf> {
        let mut paths = Vec::new();
        for root in &self.roots {
            let mut folder: Option<&Path> = None;
            for (path, stamp) in &root.known {
                let in_folder = folder.is_some_and(|folder| path.starts_with(folder));
                if in_folder || stamp.compare == Compare::Presence || is_generated(path) {
                    continue;
                }
                if stamp.kind == EntryKind::Folder {
                    folder = Some(path);
                }
                paths.push(root.path.join(path));
            }
        }
        paths
    }
}

//! State of the watch: the watched folders, and the control files in them that belong to the user.

use std::{
    collections::{BTreeSet, HashMap},
    io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use cairn_core::policy::control_files::{Zone, is_generated};

use super::{
    super::{
        Begin,
        control_interest::Control,
        existing_paths::not_written_at,
        git,
        path_scan::{Compare, Kind, Snapshot, Stamp, Tree},
        quarantine::{Former, Quarantine},
        quarantined::LeftBehind,
    },
    record::Record,
};

/// Bytes of one copy of a control file; copies restore files that a command replaced.
const LARGEST_COPY: u64 = 64 * 1024;
const MOST_COPIES: u64 = 4 * 1024 * 1024;
/// Repositories in a workspace whose settings are read.
const MOST_REPOSITORIES: usize = 32;

#[derive(Debug, Default)]
pub(super) struct Shared {
    pub(super) roots: Vec<Root>,
    pub(super) named: BTreeSet<PathBuf>,
    pub(super) skipped: BTreeSet<PathBuf>,
    /// Running commands, each with its mounts.
    pub(super) running: HashMap<u64, Mounts>,
    pub(super) next: u64,
    pub(super) left: LeftBehind,
    pub(super) quarantine: Option<Quarantine>,
    pub(super) record: Option<Record>,
    pub(super) recovered: bool,
    pub(super) last: Duration,
}

/// Mounts of a command, each with the identity of a read-only path, or `None` for a writable one.
pub(super) type Mounts = HashMap<PathBuf, Option<(u64, u64)>>;

#[derive(Debug)]
pub(super) struct Root {
    pub(super) path: PathBuf,
    pub(super) zone: Zone,
    pub(super) tree: Tree<Zone>,
    pub(super) known: Snapshot,
    pub(super) copies: HashMap<PathBuf, (Stamp, Former)>,
}

impl Root {
    pub(super) fn new(path: PathBuf, zone: Zone) -> Self {
        let tree = Tree::new(path.clone(), zone);
        Self { path, zone, tree, known: Snapshot::new(), copies: HashMap::new() }
    }

    /// Copies small control files that may have to be restored.
    pub(super) fn copy(&mut self) {
        self.copies.retain(|path, (stamp, _)| {
            self.known.get(path).is_some_and(|known| known.is_still(stamp))
        });
        let mut left = MOST_COPIES;
        for (path, stamp) in &self.known {
            let small = stamp.kind == Kind::Link
                || (stamp.kind == Kind::File && stamp.size() <= LARGEST_COPY);
            if stamp.compare != Compare::Whole || !small || left < stamp.size() {
                continue;
            }
            left -= stamp.size();
            if !self.copies.contains_key(path)
                && let Some(former) = Former::of(&self.path, path, LARGEST_COPY)
            {
                self.copies.insert(path.clone(), (*stamp, former));
            }
        }
    }

    /// Marks the entries at and below a path as known.
    pub(super) fn learn(&mut self, path: &Path, found: &Snapshot) {
        self.known.retain(|known, _| !known.starts_with(path));
        let below = found.iter().filter(|(found, _)| found.starts_with(path));
        self.known.extend(below.map(|(path, stamp)| (path.clone(), *stamp)));
    }
}

impl Shared {
    /// Sets the watched folders.
    pub(super) fn set(&mut self, begin: &Begin) {
        let folders = canonical(begin.folders);
        self.skipped = begin.hidden.iter().filter_map(|path| path.canonicalize().ok()).collect();
        if let Some(home) = begin.home.and_then(|home| home.canonicalize().ok())
            && folders.iter().any(|folder| home.starts_with(folder))
        {
            // Never writable there.
            self.skipped.extend(not_written_at(&home));
        }
        let mut roots: Vec<(PathBuf, Zone)> =
            folders.iter().map(|folder| (folder.clone(), Zone::Project)).collect();
        if begin.granted {
            let places = folders.iter().flat_map(|folder| git::granted(folder));
            roots.extend(places.map(|place| (place, Zone::Repository)));
        }
        for (path, zone) in roots {
            let is_watched = |root: &Root| path.starts_with(&root.path);
            if !self.roots.iter().any(is_watched) {
                let within = |root: &Root| root.path.starts_with(&path);
                if self.running.is_empty() {
                    self.roots.retain(|root| !within(root));
                }
                let mut root = Root::new(path, zone);
                if !self.running.is_empty() {
                    // Not writable by the running commands.
                    let control = self.control(&root.path);
                    root.known = root.tree.scan(&control, false).unwrap_or_default().found;
                    root.copy();
                }
                self.roots.push(root);
            }
        }
    }

    pub(super) fn control(&self, root: &Path) -> Control {
        Control::below(root, self.named.iter(), self.skipped.iter())
    }

    /// Reads the paths that git's settings name. True if they changed.
    pub(super) fn read_names(&mut self, begin: &Begin) -> bool {
        let folders = canonical(begin.folders);
        let mut named: BTreeSet<PathBuf> =
            folders.iter().flat_map(|folder| git::named(folder)).collect();
        let repositories = self.roots.iter().flat_map(|root| {
            let own = |path: &&PathBuf| {
                path.file_name().is_some_and(|name| name == ".git")
                    && path.components().count() > 1
                    && !is_generated(path)
            };
            root.known.keys().filter(own).filter_map(|path| Some(root.path.join(path.parent()?)))
        });
        let repositories: Vec<PathBuf> = repositories.take(MOST_REPOSITORIES).collect();
        named.extend(repositories.iter().flat_map(|folder| git::named(folder)));
        // A whole workspace folder is never meant.
        named.retain(|path| !folders.iter().any(|folder| folder.starts_with(path)));
        let differs = named != self.named;
        self.named = named;
        differs
    }

    pub(super) fn trust_all(&mut self) -> io::Result<()> {
        let began = Instant::now();
        let mut roots = std::mem::take(&mut self.roots);
        let mut fault = None;
        for root in &mut roots {
            let control = self.control(&root.path);
            match root.tree.scan(&control, false) {
                Ok(scan) => {
                    root.known = scan.found;
                    root.copy();
                }
                Err(error) => {
                    let named = format!("{}: {error}", root.path.display());
                    fault = Some(io::Error::new(error.kind(), named));
                }
            }
        }
        self.roots = roots;
        self.last = began.elapsed();
        match fault {
            Some(fault) => Err(fault),
            None => Ok(()),
        }
    }

    /// Marks the entry at a path as the user's.
    pub(super) fn trust(&mut self, root: &Path, path: &Path) {
        let control = self.control(root);
        if let Some(root) = self.roots.iter_mut().find(|it| it.path == root)
            && let Ok(scan) = root.tree.scan(&control, false)
        {
            root.learn(path, &scan.found);
            root.copy();
        }
    }

    /// Control files without those in a control folder and those that tools generate, which a build
    /// must be able to remove.
    pub(super) fn uppermost(&self) -> Vec<PathBuf> {
        let mut paths = Vec::new();
        for root in &self.roots {
            let mut within: Option<&Path> = None;
            for (path, stamp) in &root.known {
                let skipped = within.is_some_and(|folder| path.starts_with(folder));
                if skipped || stamp.compare == Compare::Presence || is_generated(path) {
                    continue;
                }
                if stamp.kind == Kind::Folder {
                    within = Some(path);
                }
                paths.push(root.path.join(path));
            }
        }
        paths
    }
}

pub(super) fn canonical(folders: &[PathBuf]) -> Vec<PathBuf> {
    folders.iter().map(|path| path.canonicalize().unwrap_or_else(|_| path.clone())).collect()
}

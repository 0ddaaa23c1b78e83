//! Watch over the control files of a workspace while commands run: what is there before is
//! remembered, and what a command makes or changes is moved to quarantine.
//!
//! One state for a daemon. While no command runs, everything found is the user's and is trusted.
//! While one runs, a new or changed control file is trusted only if the command cannot have made it:
//! its place was mounted read-only and is still the same, or the user saved it in the editor.

use std::{
    collections::{BTreeSet, HashMap},
    convert::Infallible,
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant, SystemTime},
};

use cairn_core::{
    policy::control_files::{REPOSITORY_NAMES, Zone, is_generated},
    text::{self, Text},
};

use super::{
    Boxed,
    control::Control,
    git,
    left::{Left, LeftBehind},
    path_scan::{Compare, Kind, Snapshot, Stamp, Tree, differing},
    quarantine::{self, Former, Quarantine, put_back, remove_if},
};

mod record;

use record::{Record, Recorded};

/// Between two scans while a command runs, at least. An editor opens a new repository half a second
/// after it has heard of it.
const PERIOD: Duration = Duration::from_millis(200);
/// And as many times the last one's duration, so that scanning takes a tenth of a core at most.
const REST: u32 = 10;
/// Copies of control files, to restore what a command replaced.
const LARGEST_COPY: u64 = 64 * 1024;
const MOST_COPIES: u64 = 4 * 1024 * 1024;
/// Files of which is known what the editor saved.
const MOST_SAVED: usize = 512;
/// Repositories in a workspace whose settings are read.
const MOST_REPOSITORIES: usize = 32;

#[derive(Debug)]
pub struct Watch {
    state: Option<PathBuf>,
    shared: Mutex<Shared>,
    /// Texts that the editor saved while commands ran. Locked by itself, so that who saves never waits for a scan.
    saved: Mutex<HashMap<PathBuf, Text>>,
}

/// A command that is about to run.
#[derive(Debug, Clone, Copy)]
pub struct Begin<'a> {
    /// Folders of the workspace.
    pub folders: &'a [PathBuf],
    pub home: Option<&'a Path>,
    /// Cairn's own folders.
    pub hidden: &'a [PathBuf],
    /// The command may write `.git`.
    pub granted: bool,
}

/// Control files as they were before a command.
#[derive(Debug, Default)]
pub struct ControlFiles {
    paths: Vec<PathBuf>,
    named: BTreeSet<PathBuf>,
}

impl ControlFiles {
    /// Those to be mounted read-only, the uppermost of each folder.
    pub(super) fn protected(&self) -> impl Iterator<Item = &Path> {
        self.paths.iter().map(PathBuf::as_path)
    }

    /// Places that git's settings name, there or missing.
    pub(super) fn named(&self) -> &BTreeSet<PathBuf> {
        &self.named
    }
}

/// The watch over one command. Its end moves what is left to quarantine.
#[derive(Debug)]
pub struct Watching {
    watch: Arc<Watch>,
    id: u64,
    control: Arc<ControlFiles>,
    over: bool,
}

#[derive(Debug, Default)]
struct Shared {
    roots: Vec<Root>,
    named: BTreeSet<PathBuf>,
    skipped: BTreeSet<PathBuf>,
    /// Commands that run, each with the places that it sees read-only.
    running: HashMap<u64, Mounts>,
    next: u64,
    left: LeftBehind,
    quarantine: Option<Quarantine>,
    record: Option<Record>,
    recovered: bool,
    last: Duration,
}

/// Places that a command sees, each with the identity of what is read-only there. `None`: it is
/// writable.
type Mounts = HashMap<PathBuf, Option<(u64, u64)>>;

#[derive(Debug)]
struct Root {
    path: PathBuf,
    zone: Zone,
    tree: Tree<Zone>,
    known: Snapshot,
    copies: HashMap<PathBuf, (Stamp, Former)>,
}

/// When a scan is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// Only what somebody may use at once is moved.
    Running,
    Over,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// It is the user's.
    Trust,
    /// It is judged when the command is over.
    Later,
    Move,
}

impl Watch {
    /// `state`: Cairn's folder of state, in which quarantine is.
    pub fn new(state: Option<PathBuf>) -> Self {
        Self { state, shared: Mutex::default(), saved: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn saved(&self) -> MutexGuard<'_, HashMap<PathBuf, Text>> {
        self.saved.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Scans, and trusts what is there unless another command runs. Blocks.
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

    /// The editor wrote this text to a file on the user's behalf.
    pub fn was_saved(&self, path: &Path, text: Text) {
        let mut saved = self.saved();
        if saved.len() < MOST_SAVED || saved.contains_key(path) {
            saved.insert(path.to_owned(), text);
        }
    }

    /// True for the text that the editor saved there.
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

    /// Moves what commands left whose daemon was killed, and removes old quarantine. Blocks.
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

    /// Moves what was left back to where it was. Those that could not be, with why. Blocks.
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

    /// The places that the command will see; `None`: it has no sandbox. From here on it may begin:
    /// what the watch knows is written down first. Blocks.
    pub fn mounted(&self, sandbox: Option<&Boxed>) -> io::Result<()> {
        let (writable, read_only) = sandbox.map(Boxed::places).unwrap_or_default();
        let identity = |path: &PathBuf| {
            let data = std::fs::symlink_metadata(path).ok()?;
            Some((path.clone(), Some((data.dev(), data.ino()))))
        };
        let writable = writable.iter().map(|path| (path.clone(), None));
        // Of two for one place the stricter counts.
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

    /// Scans again and again while the command runs. Ends only by being dropped.
    pub async fn repeat(&self) -> Infallible {
        loop {
            let rest = (self.watch.lock().last * REST).max(PERIOD);
            tokio::time::sleep(rest).await;
            let watch = Arc::clone(&self.watch);
            let scanned = tokio::task::spawn_blocking(move || {
                let mut shared = watch.lock();
                // It may have ended meanwhile, and then everything new is the user's.
                if !shared.running.is_empty() {
                    shared.look(Moment::Running, &watch);
                }
            });
            if let Err(error) = scanned.await {
                tracing::error!("a scan failed: {error}");
            }
        }
    }

    /// The command and all its processes are gone. Blocks.
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

/// A command whose end nobody waited for: the daemon ends, or its task failed.
impl Drop for Watching {
    fn drop(&mut self) {
        for line in self.end().lines() {
            tracing::warn!("a command left {line}");
        }
    }
}

impl Root {
    fn new(path: PathBuf, zone: Zone) -> Self {
        let tree = Tree::new(path.clone(), zone);
        Self { path, zone, tree, known: Snapshot::new(), copies: HashMap::new() }
    }

    /// Keeps small copies of what could have to be restored.
    fn copy(&mut self) {
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

    /// Takes what is at a path, and below it, as known.
    fn learn(&mut self, path: &Path, found: &Snapshot) {
        self.known.retain(|known, _| !known.starts_with(path));
        let below = found.iter().filter(|(found, _)| found.starts_with(path));
        self.known.extend(below.map(|(path, stamp)| (path.clone(), *stamp)));
    }
}

impl Shared {
    /// The folders that are watched from now on.
    fn set(&mut self, begin: &Begin) {
        let folders = canonical(begin.folders);
        self.skipped = begin.hidden.iter().filter_map(|path| path.canonicalize().ok()).collect();
        if let Some(home) = begin.home.and_then(|home| home.canonicalize().ok())
            && folders.iter().any(|folder| home.starts_with(folder))
        {
            // They are never written there.
            self.skipped.extend(super::look::not_written_at(&home));
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
                    // Nothing of it could be written by the commands that run.
                    let control = self.control(&root.path);
                    root.known = root.tree.scan(&control, false).unwrap_or_default().found;
                    root.copy();
                }
                self.roots.push(root);
            }
        }
    }

    fn control(&self, root: &Path) -> Control {
        Control::below(root, self.named.iter(), self.skipped.iter())
    }

    /// Reads what git's settings name. True if that is something else than before.
    fn read_names(&mut self, begin: &Begin) -> bool {
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
        // Nobody means a whole folder of the workspace.
        named.retain(|path| !folders.iter().any(|folder| folder.starts_with(path)));
        let differs = named != self.named;
        self.named = named;
        differs
    }

    fn trust_all(&mut self) -> io::Result<()> {
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

    /// Takes what is at a path for the user's.
    fn trust(&mut self, root: &Path, path: &Path) {
        let control = self.control(root);
        if let Some(root) = self.roots.iter_mut().find(|it| it.path == root)
            && let Ok(scan) = root.tree.scan(&control, false)
        {
            root.learn(path, &scan.found);
            root.copy();
        }
    }

    /// Control files without those in a control folder, and without what tools generate: a build
    /// must be able to remove that.
    fn uppermost(&self) -> Vec<PathBuf> {
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

    /// Scans, and moves what a command left.
    fn look(&mut self, moment: Moment, watch: &Watch) {
        let began = Instant::now();
        let mut roots = std::mem::take(&mut self.roots);
        for root in &mut roots {
            let control = self.control(&root.path);
            let scan = match root.tree.scan(&control, moment == Moment::Over) {
                Ok(scan) => scan,
                Err(error) => {
                    tracing::warn!("{} cannot be scanned: {error}", root.path.display());
                    continue;
                }
            };
            self.left.incomplete |= scan.incomplete && moment == Moment::Over;
            let differing: Vec<(PathBuf, Stamp)> =
                differing(|path| root.known.get(path), &scan.found)
                    .into_iter()
                    .map(|(path, stamp)| (path.to_owned(), *stamp))
                    .collect();
            for (path, stamp) in differing {
                match self.judge(watch, root, &control, &path, &stamp, &scan.found, moment) {
                    Verdict::Later => {}
                    Verdict::Trust => root.learn(&path, &scan.found),
                    Verdict::Move => self.take(root, &path, watch),
                }
            }
            if moment == Moment::Over {
                restore_pointers(root, &scan.found);
            }
        }
        self.roots = roots;
        self.last = began.elapsed();
    }

    #[expect(clippy::too_many_arguments, reason = "they are what a verdict is made of")]
    fn judge(
        &self,
        watch: &Watch,
        root: &Root,
        control: &Control,
        path: &Path,
        stamp: &Stamp,
        found: &Snapshot,
        moment: Moment,
    ) -> Verdict {
        let absolute = root.path.join(path);
        if self.is_read_only(&absolute) || watch.has_saved(root, path, stamp) {
            return Verdict::Trust;
        }
        let repository = repository_of(path);
        let inert = |place: &Path| git::is_inert(&root.path.join(place));
        match moment {
            Moment::Running => {
                let at_top = root.zone == Zone::Repository || path.components().count() == 1;
                match repository {
                    Some(place) if place.components().count() > 1 && inert(place) => Verdict::Later,
                    Some(_) => Verdict::Move,
                    None if at_top || control.is_named(path) => Verdict::Move,
                    None => Verdict::Later,
                }
            }
            Moment::Over => {
                let harmless = is_generated(path) && repository.is_some_and(inert);
                if harmless || was_moved(root, path, found) {
                    Verdict::Trust
                } else {
                    Verdict::Move
                }
            }
        }
    }

    /// True if it, or a folder around it, is the very one that every command sees read-only.
    fn is_read_only(&self, path: &Path) -> bool {
        let holds = |mounts: &Mounts| {
            let mut around = path.ancestors();
            let nearest = around.find_map(|at| Some((at, mounts.get(at)?)));
            let Some((at, Some(identity))) = nearest else { return false };
            std::fs::symlink_metadata(at).is_ok_and(|data| {
                // A second name of the file is not read-only.
                let one_name = data.is_dir() || data.nlink() == 1;
                (data.dev(), data.ino()) == *identity && one_name
            })
        };
        !self.running.is_empty() && self.running.values().all(holds)
    }

    /// Moves it to quarantine and puts back what was there.
    fn take(&mut self, root: &mut Root, path: &Path, watch: &Watch) {
        let former = root.copies.get(path).map(|(_, former)| former.clone());
        let was_known = root.known.contains_key(path);
        root.known.retain(|known, _| !known.starts_with(path));
        let quarantine = match &mut self.quarantine {
            Some(quarantine) => Ok(quarantine),
            None => Quarantine::make(&quarantine::home(watch.state.as_deref()))
                .map(|made| self.quarantine.insert(made)),
        };
        let at = match quarantine.and_then(|quarantine| quarantine.take(&root.path, path)) {
            Ok(at) => at,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(error) => {
                self.left.failed(root.path.join(path), &error);
                return;
            }
        };
        let mut restored = None;
        if let Some(former) = &former {
            match former.restore(&root.path, path) {
                Ok(()) => {
                    let folder = rustix::fs::openat(
                        rustix::fs::CWD,
                        &root.path,
                        super::path_scan::FOLDER,
                        rustix::fs::Mode::empty(),
                    );
                    restored = folder.ok().and_then(|it| Stamp::at(it, path, Compare::Whole).ok());
                    if let Some(stamp) = restored {
                        root.known.insert(path.to_owned(), stamp);
                        root.copies.insert(path.to_owned(), (stamp, former.clone()));
                    }
                }
                Err(error) => tracing::warn!("{} is not restored: {error}", path.display()),
            }
        }
        let root = root.path.clone();
        self.left.push(Left { root, path: path.to_owned(), at, was_known, former, restored });
    }
}

/// The repository's own folder that a path is, or decides about.
fn repository_of(path: &Path) -> Option<&Path> {
    let git = path.ancestors().find(|at| at.file_name().is_some_and(|name| name == ".git"));
    let name = path.file_name()?.to_str()?;
    let bare = || (name == "HEAD" || REPOSITORY_NAMES.contains(&name)).then(|| path.parent())?;
    git.or_else(bare)
}

/// True if the folder around it was renamed and everything is as it was. Never of a repository: at
/// its new place git may enter it.
fn was_moved(root: &Root, path: &Path, found: &Snapshot) -> bool {
    if repository_of(path).is_some() || path.components().count() < 2 {
        return false;
    }
    let Some(stamp) = found.get(path) else { return false };
    let was = |(old, known): (&PathBuf, &Stamp)| {
        let renamed = old.file_name() == path.file_name()
            && old.parent().is_some_and(|parent| !root.path.join(parent).exists());
        let mut below = found.iter().filter(|(at, _)| at.starts_with(path));
        let is_as_it_was = |(at, stamp): (&PathBuf, &Stamp)| {
            let old = at
                .strip_prefix(path)
                .map(|rest| if rest.as_os_str().is_empty() { old.clone() } else { old.join(rest) });
            old.is_ok_and(|old| root.known.get(&old).is_some_and(|known| known.is_still(stamp)))
        };
        renamed && known.is_still(stamp) && below.all(is_as_it_was)
    };
    root.known.iter().any(was)
}

/// A working copy without its `.git` would belong to whatever repository lies above it.
fn restore_pointers(root: &mut Root, found: &Snapshot) {
    let gone: Vec<PathBuf> = root
        .known
        .iter()
        .filter(|(path, stamp)| {
            path.file_name().is_some_and(|name| name == ".git")
                && stamp.kind != Kind::Folder
                && !found.contains_key(*path)
        })
        .map(|(path, _)| path.clone())
        .collect();
    for path in gone {
        if let Some((_, former)) = root.copies.get(&path)
            // Its folder may be gone as well.
            && former.restore(&root.path, &path).is_ok()
        {
            tracing::info!("{} is restored", path.display());
        }
    }
}

fn canonical(folders: &[PathBuf]) -> Vec<PathBuf> {
    folders.iter().map(|path| path.canonicalize().unwrap_or_else(|_| path.clone())).collect()
}

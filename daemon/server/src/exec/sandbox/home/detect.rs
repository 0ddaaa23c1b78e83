//! Detection of toolchains and caches in the home folder. Repeated when one of the folders it
//! depends on changed, and after 30 seconds.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use cairn_core::policy::{
    home::{
        BESIDE_BIN, GRADLE_MODULES, LOCK_ENDING, ROOT_VARIABLES, SHARED_FOLDERS, TOOLS,
        is_credential,
    },
    sandbox::Placed,
};

use super::{Hidden, expand, is_secret};

/// Visible paths, each of which is a mount.
const MOST_SHOWN: usize = 256;
/// Entries of a program folder whose links are followed.
const MOST_PROGRAMS: usize = 2_000;
/// Links in program folders that are followed, and the length of a chain of links.
const MOST_LINKS: usize = 128;
const LONGEST_CHAIN: usize = 8;
/// Limits of the search for credentials by name: levels below a visible path, entries of one root,
/// and entries of all.
const DEEPEST: usize = 2;
const MOST_OF_A_ROOT: usize = 1_500;
const MOST_ENTRIES: usize = 12_000;
/// Age at which a detection is repeated: the time stamps of a tree's root do not show changes deep
/// inside.
const LONGEST_TRUST: Duration = Duration::from_secs(30);

/// Result of a detection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::exec::sandbox) struct Shown {
    pub(in crate::exec::sandbox) places: Vec<Placed>,
    /// Files and folders below `places` whose names indicate credentials.
    pub(in crate::exec::sandbox) credentials: Vec<Hidden>,
}

/// Search path and variables of the daemon, which commands inherit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::exec::sandbox) struct Environment {
    pub(in crate::exec::sandbox) search_path: Vec<PathBuf>,
    pub(in crate::exec::sandbox) variables: BTreeMap<&'static str, PathBuf>,
}

impl Environment {
    pub(in crate::exec::sandbox) fn of_process() -> Self {
        let names =
            TOOLS.iter().filter_map(|tool| tool.variable).chain(ROOT_VARIABLES.iter().copied());
        let absolute =
            |value: OsString| Some(PathBuf::from(value)).filter(|path| path.is_absolute());
        Self {
            search_path: crate::exec::search_path(),
            variables: names
                .filter_map(|name| Some((name, absolute(std::env::var_os(name)?)?)))
                .collect(),
        }
    }
}

#[derive(Debug, Default)]
pub(in crate::exec::sandbox) struct Detector(Mutex<Option<Known>>);

#[derive(Debug)]
struct Known {
    home: PathBuf,
    stamps: Vec<Option<Stamp>>,
    when: Instant,
    shown: Arc<Shown>,
}

/// Identity and time stamp of a folder.
type Stamp = (u64, u64, i64, i64);

impl Detector {
    /// Returns the visible paths. `home` is the path in the environment.
    pub(in crate::exec::sandbox) fn shown(&self, home: &Path) -> Arc<Shown> {
        let environment = Environment::of_process();
        let stamps = stamps(home, &environment);
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let valid = |known: &&Known| {
            known.home == home && known.stamps == stamps && known.when.elapsed() < LONGEST_TRUST
        };
        if let Some(known) = known.as_ref().filter(valid) {
            return Arc::clone(&known.shown);
        }
        let shown = Arc::new(detect(home, &environment));
        let (home, when) = (home.to_owned(), Instant::now());
        *known = Some(Known { home, stamps, when, shown: Arc::clone(&shown) });
        shown
    }
}

fn stamps(home: &Path, environment: &Environment) -> Vec<Option<Stamp>> {
    let roots = TOOLS.iter().map(|tool| home.join(tool.root));
    let named = environment.variables.values().chain(&environment.search_path).cloned();
    let stamp = |path: PathBuf| {
        let data = fs::metadata(path).ok()?;
        Some((data.dev(), data.ino(), data.mtime(), data.mtime_nsec()))
    };
    [home.to_owned()].into_iter().chain(roots).chain(named).map(stamp).collect()
}

/// Replaces the home folder in a path by its real path, if the path is below it.
pub(in crate::exec::sandbox) fn below(
    real: &Path,
    called: Option<&Path>,
    path: &Path,
) -> Option<PathBuf> {
    let prefixes = [Some(real), called];
    let inside = prefixes.into_iter().flatten().find_map(|home| path.strip_prefix(home).ok())?;
    let plain = |component| matches!(component, std::path::Component::Normal(_));
    (inside.components().next().is_some() && inside.components().all(plain))
        .then(|| real.join(inside))
}

fn detect(called: &Path, environment: &Environment) -> Shown {
    let Ok(home) = called.canonicalize() else { return Shown::default() };
    let mut search = Search { home: &home, called, places: Vec::new() };
    for tool in TOOLS {
        let variable = tool.variable.and_then(|name| environment.variables.get(name));
        let named = variable.and_then(|root| below(&home, Some(called), root));
        for root in [Some(home.join(tool.root)), named].into_iter().flatten() {
            if fs::metadata(&root).is_err() {
                continue;
            }
            if tool.shown.is_empty() {
                search.add(root);
                continue;
            }
            for path in tool.shown.iter().flat_map(|part| expand(&root, part)) {
                if !path.as_os_str().as_encoded_bytes().ends_with(LOCK_ENDING.as_bytes()) {
                    search.add(path);
                }
            }
        }
    }
    for root in ROOT_VARIABLES.iter().filter_map(|name| environment.variables.get(name)) {
        if let Some(root) = below(&home, Some(called), root) {
            search.add(root);
        }
    }
    for folder in &environment.search_path {
        if let Some(folder) = below(&home, Some(called), folder) {
            search.programs(&folder);
        }
    }
    let (from, at) = GRADLE_MODULES;
    if let Ok(from) = home.join(from).canonicalize() {
        search.places.push(Placed { from, at: home.join(at) });
    }
    let mut places = search.places;
    // Sorts a folder before its contents, which need no mount of their own.
    places.sort_by(|one, other| one.at.cmp(&other.at));
    let mut kept: Vec<Placed> = Vec::new();
    for place in places {
        let covered = |kept: &Placed| {
            let inside = place.at.strip_prefix(&kept.at).ok();
            inside.is_some_and(|inside| kept.from.join(inside) == place.from)
        };
        if kept.len() < MOST_SHOWN && !kept.iter().any(covered) {
            kept.push(place);
        }
    }
    let credentials = credentials(&kept);
    Shown { places: kept, credentials }
}

struct Search<'a> {
    home: &'a Path,
    called: &'a Path,
    places: Vec<Placed>,
}

impl Search<'_> {
    /// Makes a path visible, unless that shows a secret or folders of other programs. True if it is
    /// visible.
    fn add(&mut self, at: PathBuf) -> bool {
        let Ok(from) = at.canonicalize() else { return false };
        let shared = |path: &Path| {
            let inside = path.strip_prefix(self.home).ok();
            inside.is_some_and(|inside| {
                SHARED_FOLDERS.iter().any(|shared| inside == Path::new(shared))
            })
        };
        let bad =
            |path: &Path| self.home.starts_with(path) || shared(path) || is_secret(self.home, path);
        if bad(&at) || bad(&from) || !at.starts_with(self.home) {
            return false;
        }
        let place = Placed { from, at };
        if !self.places.contains(&place) {
            self.places.push(place);
        }
        true
    }

    /// Adds a folder of the search path, and folders that its programs need.
    fn programs(&mut self, folder: &Path) {
        if !self.add(folder.to_owned()) {
            return;
        }
        self.beside(folder);
        let Ok(entries) = fs::read_dir(folder) else { return };
        let links = entries
            .flatten()
            .take(MOST_PROGRAMS)
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()));
        for link in links.take(MOST_LINKS) {
            self.target(&link.path());
        }
    }

    /// Adds folders that programs load, next to the folder they are in.
    fn beside(&mut self, folder: &Path) {
        let Some(root) = folder.parent().filter(|_| folder.ends_with("bin")) else { return };
        if root == self.home || root == self.home.join(".local") {
            return;
        }
        for name in BESIDE_BIN {
            self.add(root.join(name));
        }
        // `GOROOT`.
        if root.join("VERSION").is_file() {
            for name in ["VERSION", "go.env", "misc", "pkg", "src"] {
                self.add(root.join(name));
            }
        }
    }

    /// Adds the program that a link leads to, by each name in the chain. Links to anything but a
    /// program are not followed.
    fn target(&mut self, link: &Path) {
        use std::os::unix::fs::PermissionsExt;
        let program = |path: &Path| {
            let data = fs::metadata(path).ok();
            data.is_some_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
        };
        if !program(link) {
            return;
        }
        let mut at = link.to_owned();
        for _ in 0..LONGEST_CHAIN {
            let Ok(words) = fs::read_link(&at) else { break };
            let Some(next) = at.parent().and_then(|folder| joined(folder, &words)) else { break };
            at = next;
            self.program(&at);
        }
        if let Ok(real) = link.canonicalize() {
            self.program(&real);
        }
    }

    fn program(&mut self, path: &Path) {
        let Some(path) = below(self.home, Some(self.called), path) else { return };
        let Some(folder) = path.parent().filter(|folder| *folder != self.home) else { return };
        if folder.ends_with("bin") && folder.parent() != Some(self.home) {
            if self.add(folder.to_owned()) {
                self.beside(folder);
            }
            return;
        }
        let packages = path.ancestors().filter(|above| above.ends_with("node_modules")).last();
        if let Some(packages) = packages {
            self.add(packages.to_owned());
            return;
        }
        // An installed program lies among the files it loads; other folders contain other files
        // too.
        let inside = folder.strip_prefix(self.home).unwrap_or(folder);
        let installed =
            [".local", "opt", ".opt", "Applications"].iter().any(|top| inside.starts_with(top));
        if installed && inside.components().count() >= 3 && self.add(folder.to_owned()) {
            return;
        }
        self.add(path);
    }
}

/// Joins the target of a link to its folder, and resolves `..` by name.
fn joined(folder: &Path, words: &Path) -> Option<PathBuf> {
    let mut path = folder.to_owned();
    for component in words.components() {
        match component {
            std::path::Component::ParentDir => drop(path.pop().then_some(())?),
            std::path::Component::CurDir => {}
            other => path.push(other),
        }
    }
    Some(path)
}

fn credentials(places: &[Placed]) -> Vec<Hidden> {
    let mut found = Vec::new();
    let mut left = MOST_ENTRIES;
    for place in places {
        let mut of_root = MOST_OF_A_ROOT.min(left);
        let before = of_root;
        named(&place.from, &place.at, 0, &mut of_root, &mut found);
        left -= before - of_root;
    }
    found
}

fn named(real: &Path, at: &Path, depth: usize, left: &mut usize, found: &mut Vec<Hidden>) {
    let Ok(entries) = fs::read_dir(real) else { return };
    let mut deeper = Vec::new();
    for entry in entries.flatten() {
        if *left == 0 || found.len() >= MOST_SHOWN {
            return;
        }
        *left -= 1;
        let Ok(kind) = entry.file_type() else { continue };
        let name = entry.file_name();
        if kind.is_symlink() {
            continue;
        }
        if is_credential(&name.to_string_lossy(), kind.is_dir()) {
            found.push(Hidden { at: at.join(&name), is_folder: kind.is_dir() });
        } else if kind.is_dir() && depth < DEEPEST {
            deeper.push(name);
        }
    }
    for name in deeper {
        named(&real.join(&name), &at.join(&name), depth + 1, left, found);
    }
}

//! Detection of toolchains and caches in the home folder. The result is kept until one of the folders
//! it depends on changes, at most for 30 seconds.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use cairn_core::policy::{
    home::{
        BESIDE_BIN, GRADLE_MODULES, LOCK_ENDING, PACKAGE_CACHES, PackageCache, ROOT_VARIABLES,
        SHARED_FOLDERS, Toolchain, is_credential, tools,
    },
    sandbox::Placed,
};
use parking_lot::Mutex;

use super::paths::{HiddenPath, expand, is_secret, real_path_below};
use crate::{exec::environment::search_path, workspace::without_dots};

/// Visible paths, each of which is a mount.
const MAX_VISIBLE: usize = 256;
/// Entries of a program folder whose links are followed.
const MAX_PROGRAMS: usize = 2_000;
/// Links in program folders that are followed, and the length of a chain of links.
const MAX_LINKS: usize = 128;
const MAX_CHAIN: usize = 8;
/// Limits of the search for credentials by name: folders below a visible path, entries below one
/// visible path, and entries below all.
const MAX_DEPTH: usize = 2;
const MAX_ENTRIES_OF_PATH: usize = 1_500;
const MAX_ENTRIES: usize = 12_000;
/// Age at which a detection is repeated: the time stamp of a folder does not show changes in folders
/// below it.
const MAX_AGE: Duration = Duration::from_secs(30);

/// Paths in the home folder that commands may see.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::exec::sandbox) struct VisiblePaths {
    pub(in crate::exec::sandbox) places: Vec<Placed>,
    /// Files and folders below `places` whose names indicate credentials.
    pub(in crate::exec::sandbox) credentials: Vec<HiddenPath>,
    pub(in crate::exec::sandbox) caches: Vec<FoundCache>,
}

/// Folder of the user in which a package manager keeps packages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::exec::sandbox) struct FoundCache {
    pub(in crate::exec::sandbox) at: PathBuf,
    /// See [`PackageCache::filled`].
    pub(in crate::exec::sandbox) filled: &'static str,
}

/// Search path and variables of the daemon, which commands inherit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::exec::sandbox) struct HomeEnvironment {
    pub(in crate::exec::sandbox) search_path: Vec<PathBuf>,
    pub(in crate::exec::sandbox) variables: BTreeMap<&'static str, PathBuf>,
}

impl HomeEnvironment {
    pub(in crate::exec::sandbox) fn of_process() -> Self {
        let names = tools().filter_map(|tool| tool.variable).chain(ROOT_VARIABLES.iter().copied());
        let absolute =
            |value: OsString| Some(PathBuf::from(value)).filter(|path| path.is_absolute());
        Self {
            search_path: search_path(),
            variables: names
                .filter_map(|name| Some((name, absolute(std::env::var_os(name)?)?)))
                .collect(),
        }
    }
}

/// Detection with the last result.
#[derive(Debug, Default)]
pub(in crate::exec::sandbox) struct Detector(Mutex<Option<Detected>>);

#[derive(Debug)]
struct Detected {
    home: PathBuf,
    stamps: Vec<Option<Stamp>>,
    when: Instant,
    visible: Arc<VisiblePaths>,
}

/// Identity and time stamp of a folder.
type Stamp = (u64, u64, i64, i64);

impl Detector {
    /// Returns the visible paths. `home` is the home folder as the environment names it.
    pub(in crate::exec::sandbox) fn visible_paths(&self, home: &Path) -> Arc<VisiblePaths> {
        let environment = HomeEnvironment::of_process();
        let stamps = stamps(home, &environment);
        let mut known = self.0.lock();
        let valid = |known: &&Detected| {
            known.home == home && known.stamps == stamps && known.when.elapsed() < MAX_AGE
        };
        if let Some(known) = known.as_ref().filter(valid) {
            return Arc::clone(&known.visible);
        }
        let visible = Arc::new(detect(home, &environment));
        let (home, when) = (home.to_owned(), Instant::now());
        *known = Some(Detected { home, stamps, when, visible: Arc::clone(&visible) });
        visible
    }
}

/// Returns the stamps of all folders that a detection depends on.
fn stamps(home: &Path, environment: &HomeEnvironment) -> Vec<Option<Stamp>> {
    let roots = tools().map(|tool| home.join(tool.root));
    let named = environment.variables.values().chain(&environment.search_path).cloned();
    let stamp = |path: PathBuf| {
        let data = fs::metadata(path).ok()?;
        Some((data.dev(), data.ino(), data.mtime(), data.mtime_nsec()))
    };
    [home.to_owned()].into_iter().chain(roots).chain(named).map(stamp).collect()
}

/// Searches the home folder. `home_variable` is the folder as the environment names it.
fn detect(home_variable: &Path, environment: &HomeEnvironment) -> VisiblePaths {
    let Ok(home) = home_variable.canonicalize() else { return VisiblePaths::default() };
    let mut search = Search { home: &home, home_variable, places: Vec::new() };
    let mut caches = Vec::new();
    for tool in tools() {
        let variable = tool.variable.and_then(|name| environment.variables.get(name));
        let named = variable.and_then(|root| real_path_below(&home, Some(home_variable), root));
        let outside =
            variable.filter(|_| named.is_none()).and_then(|root| root.canonicalize().ok());
        let roots = [Some(home.join(tool.root)), named];
        caches.extend(
            roots.iter().chain([&outside]).flatten().flat_map(|root| caches_of(&tool, root)),
        );
        for root in roots.into_iter().flatten() {
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
        if let Some(root) = real_path_below(&home, Some(home_variable), root) {
            search.add(root);
        }
    }
    for folder in &environment.search_path {
        if let Some(folder) = real_path_below(&home, Some(home_variable), folder) {
            search.add_programs(&folder);
        }
    }
    let (from, at) = GRADLE_MODULES;
    if let Ok(from) = home.join(from).canonicalize() {
        search.places.push(Placed { from, at: home.join(at) });
    }
    let mut places = search.places;
    // A folder comes before its contents, which are visible with it and need no mount.
    places.sort_by(|one, other| one.at.cmp(&other.at));
    let mut kept: Vec<Placed> = Vec::new();
    for place in places {
        let contains = |kept: &Placed| {
            let inside = place.at.strip_prefix(&kept.at).ok();
            inside.is_some_and(|inside| kept.from.join(inside) == place.from)
        };
        if kept.len() < MAX_VISIBLE && !kept.iter().any(contains) {
            kept.push(place);
        }
    }
    let credentials = credentials(&kept);
    VisiblePaths { places: kept, credentials, caches }
}

/// Package caches below the root of a toolchain.
fn caches_of(tool: &Toolchain, root: &Path) -> Vec<FoundCache> {
    let caches = PACKAGE_CACHES.iter().filter(|cache| cache.root == tool.root);
    let found = |&PackageCache { part, filled, .. }: &PackageCache| {
        let at = if part.is_empty() { root.to_owned() } else { root.join(part) };
        at.is_dir().then_some(FoundCache { at, filled })
    };
    caches.filter_map(found).collect()
}

struct Search<'a> {
    home: &'a Path,
    home_variable: &'a Path,
    places: Vec<Placed>,
}

impl Search<'_> {
    /// Makes a path visible, unless it is a secret or a folder that many programs share. True if it is
    /// visible.
    fn add(&mut self, at: PathBuf) -> bool {
        let Ok(from) = at.canonicalize() else { return false };
        let is_shared = |path: &Path| {
            let inside = path.strip_prefix(self.home).ok();
            inside.is_some_and(|inside| {
                SHARED_FOLDERS.iter().any(|shared| inside == Path::new(shared))
            })
        };
        let is_refused = |path: &Path| {
            self.home.starts_with(path) || is_shared(path) || is_secret(self.home, path)
        };
        if is_refused(&at) || is_refused(&from) || !at.starts_with(self.home) {
            return false;
        }
        let place = Placed { from, at };
        if !self.places.contains(&place) {
            self.places.push(place);
        }
        true
    }

    /// Adds a folder of the search path, and folders that its programs need.
    fn add_programs(&mut self, folder: &Path) {
        if !self.add(folder.to_owned()) {
            return;
        }
        self.add_beside(folder);
        let Ok(entries) = fs::read_dir(folder) else { return };
        let links = entries
            .flatten()
            .take(MAX_PROGRAMS)
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()));
        for link in links.take(MAX_LINKS) {
            self.add_link_targets(&link.path());
        }
    }

    /// Adds folders next to a `bin` folder, from which its programs load files.
    fn add_beside(&mut self, folder: &Path) {
        let Some(root) = folder.parent().filter(|_| folder.ends_with("bin")) else { return };
        if root == self.home || root == self.home.join(".local") {
            return;
        }
        for name in BESIDE_BIN {
            self.add(root.join(name));
        }
        // The folder is an installation of Go.
        if root.join("VERSION").is_file() {
            for name in ["VERSION", "go.env", "misc", "pkg", "src"] {
                self.add(root.join(name));
            }
        }
    }

    /// Adds the program that a link leads to, at each path in the chain of links. Links to anything but
    /// a program are not followed.
    fn add_link_targets(&mut self, link: &Path) {
        use std::os::unix::fs::PermissionsExt;
        let is_program = |path: &Path| {
            let data = fs::metadata(path).ok();
            data.is_some_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
        };
        if !is_program(link) {
            return;
        }
        let mut at = link.to_owned();
        for _ in 0..MAX_CHAIN {
            let Ok(target) = fs::read_link(&at) else { break };
            let Some(folder) = at.parent() else { break };
            at = without_dots(&folder.join(target));
            self.add_program(&at);
        }
        if let Ok(real) = link.canonicalize() {
            self.add_program(&real);
        }
    }

    /// Adds a program with the folder that holds its files.
    fn add_program(&mut self, path: &Path) {
        let Some(path) = real_path_below(self.home, Some(self.home_variable), path) else { return };
        let Some(folder) = path.parent().filter(|folder| *folder != self.home) else { return };
        if folder.ends_with("bin") && folder.parent() != Some(self.home) {
            if self.add(folder.to_owned()) {
                self.add_beside(folder);
            }
            return;
        }
        let packages = path.ancestors().filter(|above| above.ends_with("node_modules")).last();
        if let Some(packages) = packages {
            self.add(packages.to_owned());
            return;
        }
        // The folder of an installed program holds its files. Another folder may hold other files too,
        // so only the program itself is added.
        let inside = folder.strip_prefix(self.home).unwrap_or(folder);
        let is_installed =
            [".local", "opt", ".opt", "Applications"].iter().any(|top| inside.starts_with(top));
        if is_installed && inside.components().count() >= 3 && self.add(folder.to_owned()) {
            return;
        }
        self.add(path);
    }
}

/// Searches visible paths for files and folders whose names indicate credentials.
fn credentials(places: &[Placed]) -> Vec<HiddenPath> {
    let mut found = Vec::new();
    let mut entries_left = MAX_ENTRIES;
    for place in places {
        let limit = MAX_ENTRIES_OF_PATH.min(entries_left);
        let mut left = limit;
        search_credentials(&place.from, &place.at, 0, &mut left, &mut found);
        entries_left -= limit - left;
    }
    found
}

fn search_credentials(
    real: &Path,
    at: &Path,
    depth: usize,
    left: &mut usize,
    found: &mut Vec<HiddenPath>,
) {
    let Ok(entries) = fs::read_dir(real) else { return };
    let mut deeper = Vec::new();
    for entry in entries.flatten() {
        if *left == 0 || found.len() >= MAX_VISIBLE {
            return;
        }
        *left -= 1;
        let Ok(kind) = entry.file_type() else { continue };
        let name = entry.file_name();
        if kind.is_symlink() {
            continue;
        }
        if is_credential(&name.to_string_lossy(), kind.is_dir()) {
            found.push(HiddenPath { at: at.join(&name), is_folder: kind.is_dir() });
        } else if kind.is_dir() && depth < MAX_DEPTH {
            deeper.push(name);
        }
    }
    for name in deeper {
        search_credentials(&real.join(&name), &at.join(&name), depth + 1, left, found);
    }
}

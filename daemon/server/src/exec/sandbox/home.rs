//! Home folder of a command: a private, empty folder, in which the user's toolchains and caches are
//! mounted read-only, by the allow-list in `policy::home`.
//!
//! Reads names and links only. Never shows a folder that is, or contains, the whole home folder.

use std::{
    fs,
    path::{Path, PathBuf},
};

use cairn_core::policy::{
    home::{DATA_FOLDERS, SECRETS, fits, is_secret_place},
    sandbox::{Home, Placed, SandboxPaths},
};

use super::{existing_paths::ScanScope, git};

pub(super) mod copies;
pub(super) mod detect;

/// Entries with plain names in a home folder that is a workspace. Each is a mount.
const MOST_PLAIN: usize = 256;
/// Sockets that are hidden. Each is a mount.
const MOST_SOCKETS: usize = 64;
/// Names that one pattern is compared with.
const MOST_NAMES: usize = 4_000;

/// Part of the user's home folder that a command sees.
#[derive(Debug, Clone, Default)]
pub(super) struct View {
    pub(super) shown: std::sync::Arc<detect::Shown>,
    /// Copies of settings, without credentials.
    pub(super) copies: Vec<Placed>,
    /// Paths that the user makes visible (`cairn.sandbox.readable`).
    pub(super) readable: Vec<PathBuf>,
}

/// Path that a command sees as an empty file or folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hidden {
    pub(super) at: PathBuf,
    pub(super) is_folder: bool,
}

impl Hidden {
    /// A link is hidden by hiding what it leads to.
    fn existing(path: &Path) -> Option<Self> {
        let at = path.canonicalize().ok()?;
        Some(Self { is_folder: at.is_dir(), at })
    }
}

/// Adds the private home folder, its visible paths, and the hidden paths below these.
pub(super) fn hide(scope: &ScanScope, folders: &[PathBuf], found: &mut SandboxPaths) {
    let home = scope.home.and_then(|home| home.canonicalize().ok());
    match home.as_deref().filter(|home| can_be_private(home, scope, found)) {
        Some(home) => private(home, scope, folders, found),
        None => {
            let at = home.as_deref().map(secrets).unwrap_or_default();
            cover(at, scope, folders, found);
        }
    }
    sockets(found);
}

/// False for a root, for a folder that is private already, and if the user made the whole folder
/// writable.
fn can_be_private(home: &Path, scope: &ScanScope, found: &SandboxPaths) -> bool {
    let opened = scope.writable.iter().filter_map(|path| path.canonicalize().ok());
    home.components().count() > 1
        && !found.temporary.iter().any(|at| at == home)
        && !opened.into_iter().any(|path| home.starts_with(path))
}

fn private(home: &Path, scope: &ScanScope, folders: &[PathBuf], found: &mut SandboxPaths) {
    let in_workspace = folders.iter().any(|folder| home.starts_with(folder));
    if in_workspace {
        plain_entries(home, found);
    }
    let mut shown = scope.view.shown.places.clone();
    let below = |path: &Path| path.starts_with(home) && path != home;
    for path in folders.iter().flat_map(|folder| git::read_from(folder)).filter(|path| below(path))
    {
        shown.push(Placed { from: path.clone(), at: path });
    }
    // An explicit setting: visible even if it is a secret.
    let mut meant = Vec::new();
    for path in &scope.view.readable {
        let Some(at) = detect::below(home, scope.home, path) else { continue };
        let Ok(from) = at.canonicalize() else { continue };
        if !home.starts_with(&from) {
            meant.extend([at.clone(), from.clone()]);
            shown.push(Placed { from, at });
        }
    }
    // Paths in the workspace, or in a folder that the user opened, are visible there.
    let open: Vec<PathBuf> = found.writable.iter().chain(folders).cloned().collect();
    let worked_in = |path: &Path| {
        open.iter().any(|at| *at != *home && !home.starts_with(at) && path.starts_with(at))
    };
    shown.retain(|place| !worked_in(&place.at));
    let plain = found.read_only.iter().filter(|path| in_workspace && path.parent() == Some(home));
    let is_plain = |path: &&PathBuf| {
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        !name.starts_with(b".")
    };
    let containers: Vec<PathBuf> = folders
        .iter()
        .chain(&found.writable)
        .chain(plain.filter(is_plain))
        .chain(shown.iter().map(|place| &place.at))
        .filter(|path| below(path))
        .cloned()
        .collect();
    let seen = |path: &PathBuf| {
        !path.starts_with(home) || containers.iter().any(|container| path.starts_with(container))
    };
    for list in [&mut found.writable, &mut found.read_only] {
        list.retain(|path| path == home || seen(path));
    }
    let mut hidden = secrets(home);
    // Hides it under each name by which it is visible.
    for Placed { from, at } in shown.iter().filter(|place| place.from != place.at) {
        let inside = |hidden: &Hidden| {
            let at = at.join(hidden.at.strip_prefix(from).ok()?);
            Some(Hidden { at, is_folder: hidden.is_folder })
        };
        let more: Vec<Hidden> = hidden.iter().filter_map(inside).collect();
        hidden.extend(more);
    }
    hidden.extend(scope.view.shown.credentials.iter().cloned());
    hidden.retain(|hidden| !meant.contains(&hidden.at));
    for place in shown {
        if place.from == place.at {
            found.shown.push(place.at);
        } else {
            found.placed.push(place);
        }
    }
    found.copies = scope.view.copies.iter().filter(|copy| !worked_in(&copy.at)).cloned().collect();
    found.home = Some(Home { at: home.to_owned(), writable: !in_workspace });
    cover(hidden, scope, folders, found);
    let (files, dirs) = (&mut found.hidden_files, &mut found.hidden_folders);
    for list in [files, dirs] {
        list.retain(|path| seen(path));
    }
}

/// Folders and files with a plain name, of a home folder in the workspace. Folders may be writable
/// already.
fn plain_entries(home: &Path, found: &mut SandboxPaths) {
    let Ok(entries) = fs::read_dir(home) else { return };
    let plain = entries.flatten().filter(|entry| {
        let name = entry.file_name();
        let hidden = name.as_encoded_bytes().starts_with(b".")
            || DATA_FOLDERS.iter().any(|data| name == *data);
        !hidden && entry.file_type().is_ok_and(|kind| kind.is_dir() || kind.is_file())
    });
    let paths: Vec<PathBuf> = plain.take(MOST_PLAIN).map(|entry| entry.path()).collect();
    found.read_only.extend(paths.into_iter().filter(|path| !found.writable.contains(path)));
}

/// Existing secrets of a home folder.
fn secrets(home: &Path) -> Vec<Hidden> {
    let paths = SECRETS.iter().flat_map(|secret| expand(home, secret));
    paths.filter_map(|path| Hidden::existing(&path)).collect()
}

/// Hides these paths and Cairn's own folders.
fn cover(places: Vec<Hidden>, scope: &ScanScope, folders: &[PathBuf], found: &mut SandboxPaths) {
    let own = scope.hidden.iter().filter_map(|path| Hidden::existing(path));
    for Hidden { at, is_folder } in places.into_iter().chain(own) {
        // A link to a workspace folder does not make it a secret.
        if folders.contains(&at) {
            continue;
        }
        let list = if is_folder { &mut found.hidden_folders } else { &mut found.hidden_files };
        if !list.contains(&at) {
            list.push(at);
        }
    }
}

/// Existing paths below a folder that match a pattern of path components.
pub(super) fn expand(folder: &Path, pattern: &str) -> Vec<PathBuf> {
    let mut paths = vec![folder.to_owned()];
    for part in pattern.split('/') {
        if !part.contains('*') {
            for path in &mut paths {
                path.push(part);
            }
            continue;
        }
        let names = |folder: &PathBuf| -> Vec<PathBuf> {
            let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
            let fit = entries.flatten().take(MOST_NAMES);
            fit.filter(|entry| fits(part, &entry.file_name().to_string_lossy()))
                .map(|entry| entry.path())
                .collect()
        };
        paths = paths.iter().flat_map(names).collect();
    }
    paths.retain(|path| fs::symlink_metadata(path).is_ok());
    paths
}

/// True for a path below the home folder that is a secret, or lies in one.
pub(super) fn is_secret(home: &Path, path: &Path) -> bool {
    let Ok(below) = path.strip_prefix(home) else { return false };
    let names: Option<Vec<&str>> =
        below.components().map(|component| component.as_os_str().to_str()).collect();
    names.is_some_and(|names| is_secret_place(names.iter().copied()))
}

/// Hides listening sockets below visible paths: a read-only mount does not prevent a connection.
/// Sockets of the workspace stay.
fn sockets(found: &mut SandboxPaths) {
    use std::os::unix::fs::FileTypeExt;
    let Ok(table) = fs::read_to_string("/proc/net/unix") else { return };
    let inside = |list: &[PathBuf], path: &Path| list.iter().any(|at| path.starts_with(at));
    let is_covered = |path: &Path| {
        let hidden = found.home.as_ref().is_some_and(|home| path.starts_with(&home.at));
        inside(&found.writable, path)
            || inside(&found.hidden_folders, path)
            || !inside(&found.shown, path) && (hidden || inside(&found.temporary, path))
    };
    // `Num RefCount Protocol Flags Type St Inode Path`
    let names = table.lines().skip(1).filter_map(|line| line.split_whitespace().nth(7));
    let real: Vec<PathBuf> = names
        .filter(|name| name.starts_with('/'))
        .filter_map(|name| Path::new(name).canonicalize().ok())
        .filter(|path| fs::symlink_metadata(path).is_ok_and(|data| data.file_type().is_socket()))
        .collect();
    let elsewhere = found.placed.iter().flat_map(|placed| {
        let inside = real.iter().filter_map(|path| path.strip_prefix(&placed.from).ok());
        inside.map(|path| placed.at.join(path))
    });
    let mut open: Vec<PathBuf> =
        real.iter().filter(|path| !is_covered(path)).cloned().chain(elsewhere).collect();
    open.sort();
    open.dedup();
    found.hidden_files.extend(open.into_iter().take(MOST_SOCKETS));
}

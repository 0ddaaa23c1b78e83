//! Home folder of a command: a private, empty folder, in which the user's toolchains and caches are
//! mounted read-only, by the allow-list in `policy::home` in the core.
//!
//! Reads names and links only. Never makes the whole home folder visible, nor a folder around it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use cairn_core::policy::{
    home::{self, DATA_FOLDERS},
    sandbox::{Home, Placed, SandboxPaths},
};

use super::scan_scope::ScanScope;
use crate::exec::sandbox::git;

pub(super) mod detect;
pub(super) mod paths;
pub(super) mod user_settings;

use detect::FoundCache;
use paths::{HiddenPath, expand, real_path_below};

/// Entries with plain names in a home folder in the workspace. Each is a mount.
const MAX_PLAIN_ENTRIES: usize = 256;
/// Sockets that are hidden. Each is a mount.
const MAX_SOCKETS: usize = 64;

/// Adds the private home folder, the paths of the user's home folder that are visible in it, and
/// hidden paths below these.
pub(super) fn hide(scope: &ScanScope, folders: &[PathBuf], found: &mut SandboxPaths) {
    let home = scope.home.and_then(|home| home.canonicalize().ok());
    match home.as_deref().filter(|home| can_be_private(home, scope, found)) {
        Some(home) => add_private_home(home, scope, folders, found),
        None => {
            let secrets = home.as_deref().map(secrets).unwrap_or_default();
            hide_paths(secrets, scope, folders, found);
        }
    }
    hide_sockets(found);
}

/// False for the root folder, for a temporary folder, which is private anyway, and if the user made
/// the whole home folder writable.
fn can_be_private(home: &Path, scope: &ScanScope, found: &SandboxPaths) -> bool {
    let writable =
        scope.request.settings.writable.iter().filter_map(|path| path.canonicalize().ok());
    home.components().count() > 1
        && !found.temporary.iter().any(|at| at == home)
        && !writable.into_iter().any(|path| home.starts_with(path))
}

fn add_private_home(home: &Path, scope: &ScanScope, folders: &[PathBuf], found: &mut SandboxPaths) {
    let in_workspace = folders.iter().any(|folder| home.starts_with(folder));
    if in_workspace {
        add_plain_entries(home, found);
    }
    let below = |path: &Path| path.starts_with(home) && path != home;
    let mut shown = scope.view.detected.places.clone();
    let read_by_git = folders.iter().flat_map(|folder| git::folders_read_by_git(folder));
    let read_by_git = read_by_git.filter(|path| below(path));
    shown.extend(read_by_git.map(|path| Placed { from: path.clone(), at: path }));
    // Paths that the user names in a setting are visible even if they are secrets.
    let named = named_places(home, scope);
    let allowed_secrets: Vec<PathBuf> =
        named.iter().flat_map(|Placed { from, at }| [at.clone(), from.clone()]).collect();
    shown.extend(named);
    // Paths in the workspace or another writable folder are visible with that folder.
    let writable: Vec<PathBuf> = found.writable.iter().chain(folders).cloned().collect();
    let in_writable = |path: &Path| {
        writable.iter().any(|at| *at != *home && !home.starts_with(at) && path.starts_with(at))
    };
    shown.retain(|place| !in_writable(&place.at));
    let replaced = replace_caches(scope, in_writable, &mut shown, found);
    let plain = found.read_only.iter().filter(|path| in_workspace && path.parent() == Some(home));
    let is_plain = |path: &&PathBuf| {
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        !name.starts_with(b".")
    };
    let visible: Vec<PathBuf> = folders
        .iter()
        .chain(&found.writable)
        .chain(plain.filter(is_plain))
        .chain(shown.iter().map(|place| &place.at))
        .filter(|path| below(path))
        .cloned()
        .collect();
    let is_visible = |path: &PathBuf| {
        !path.starts_with(home) || visible.iter().any(|folder| path.starts_with(folder))
    };
    for list in [&mut found.writable, &mut found.read_only] {
        list.retain(|path| path == home || is_visible(path));
    }
    let mut hidden = secrets_in_view(home, &shown);
    hidden.extend(scope.view.detected.credentials.iter().cloned());
    hidden.retain(|hidden| !allowed_secrets.contains(&hidden.at));
    hidden.retain(|hidden| !replaced.iter().any(|at| hidden.at.starts_with(at)));
    for place in shown {
        if place.from == place.at {
            found.shown.push(place.at);
        } else {
            found.placed.push(place);
        }
    }
    let settings = scope.view.user_settings.iter().filter(|placed| !in_writable(&placed.at));
    found.placed.extend(settings.cloned());
    found.home = Some(Home { at: home.to_owned(), writable: !in_workspace });
    hide_paths(hidden, scope, folders, found);
    for list in [&mut found.hidden_files, &mut found.hidden_folders] {
        list.retain(|path| is_visible(path));
    }
}

/// Returns the paths below the home folder that the user names in a setting.
fn named_places(home: &Path, scope: &ScanScope) -> Vec<Placed> {
    let named = scope.request.settings.readable.iter().filter_map(|path| {
        let at = real_path_below(home, scope.home, path)?;
        let from = at.canonicalize().ok()?;
        (!home.starts_with(&from)).then_some(Placed { from, at })
    });
    named.collect()
}

/// Returns the secrets of the home folder, at each path where a folder shows them.
fn secrets_in_view(home: &Path, shown: &[Placed]) -> Vec<HiddenPath> {
    let mut hidden = secrets(home);
    for Placed { from, at } in shown.iter().filter(|place| place.from != place.at) {
        let inside = |hidden: &HiddenPath| {
            let at = at.join(hidden.at.strip_prefix(from).ok()?);
            Some(HiddenPath { at, is_folder: hidden.is_folder })
        };
        let more: Vec<HiddenPath> = hidden.iter().filter_map(inside).collect();
        hidden.extend(more);
    }
    hidden
}

/// Puts Cairn's own package caches in the place of the user's, which no command may write: writable with the
/// network, and read-only once they have packages. Returns the places.
fn replace_caches(
    scope: &ScanScope,
    in_writable: impl Fn(&Path) -> bool,
    shown: &mut Vec<Placed>,
    found: &mut SandboxPaths,
) -> Vec<PathBuf> {
    let mut replaced = Vec::new();
    let all = scope.view.detected.caches.iter();
    for FoundCache { at, filled } in all.filter(|cache| !in_writable(&cache.at)) {
        let Ok(inside) = at.strip_prefix("/") else { continue };
        let (at, from) = (at.clone(), scope.view.packages.join(inside));
        let has_packages =
            || fs::read_dir(from.join(filled)).is_ok_and(|mut all| all.next().is_some());
        let list = if scope.request.needs.network && !scope.request.read_only {
            if fs::create_dir_all(&from).is_err() {
                continue;
            }
            &mut found.caches
        } else if has_packages() {
            &mut *shown
        } else {
            continue;
        };
        list.push(Placed { from, at: at.clone() });
        replaced.push(at);
    }
    shown.retain(|place| {
        place.from.starts_with(&scope.view.packages) || !replaced.contains(&place.at)
    });
    replaced
}

/// Makes the folders and files with a plain name visible, in a home folder in the workspace. Folders
/// that are writable stay so.
fn add_plain_entries(home: &Path, found: &mut SandboxPaths) {
    let Ok(entries) = fs::read_dir(home) else { return };
    let plain = entries.flatten().filter(|entry| {
        let name = entry.file_name();
        let hidden = name.as_encoded_bytes().starts_with(b".")
            || DATA_FOLDERS.iter().any(|data| name == *data);
        !hidden && entry.file_type().is_ok_and(|kind| kind.is_dir() || kind.is_file())
    });
    let paths: Vec<PathBuf> = plain.take(MAX_PLAIN_ENTRIES).map(|entry| entry.path()).collect();
    found.read_only.extend(paths.into_iter().filter(|path| !found.writable.contains(path)));
}

/// Returns the existing secrets of a home folder.
fn secrets(folder: &Path) -> Vec<HiddenPath> {
    let paths = home::secrets().flat_map(|secret| expand(folder, secret));
    paths.filter_map(|path| HiddenPath::existing(&path)).collect()
}

/// Hides these paths and Cairn's own folders.
fn hide_paths(
    places: Vec<HiddenPath>,
    scope: &ScanScope,
    folders: &[PathBuf],
    found: &mut SandboxPaths,
) {
    let own = scope.hidden.iter().filter_map(|path| HiddenPath::existing(path));
    for HiddenPath { at, is_folder } in places.into_iter().chain(own) {
        // A secret path may be a link to a workspace folder, which stays visible.
        if folders.contains(&at) {
            continue;
        }
        let list = if is_folder { &mut found.hidden_folders } else { &mut found.hidden_files };
        if !list.contains(&at) {
            list.push(at);
        }
    }
}

/// Hides listening sockets at visible paths, because a read-only mount does not prevent a connection.
/// Sockets in writable folders stay.
fn hide_sockets(found: &mut SandboxPaths) {
    use std::{
        ffi::OsStr,
        os::unix::{ffi::OsStrExt, fs::FileTypeExt},
    };
    // Bytes: the name of one socket may be invalid UTF-8.
    let Ok(table) = fs::read("/proc/net/unix") else { return };
    let inside = |list: &[PathBuf], path: &Path| list.iter().any(|at| path.starts_with(at));
    let is_harmless = |path: &Path| {
        let hidden = found.home.as_ref().is_some_and(|home| path.starts_with(&home.at));
        inside(&found.writable, path)
            || inside(&found.hidden_folders, path)
            || !inside(&found.shown, path) && (hidden || inside(&found.temporary, path))
    };
    // `Num RefCount Protocol Flags Type St Inode Path`
    let names = table
        .split(|&byte| byte == b'\n')
        .filter_map(|line| line.windows(2).position(|two| two == b" /").map(|at| &line[at + 1..]));
    let real: Vec<PathBuf> = names
        .filter_map(|name| Path::new(OsStr::from_bytes(name)).canonicalize().ok())
        .filter(|path| fs::symlink_metadata(path).is_ok_and(|data| data.file_type().is_socket()))
        .collect();
    let elsewhere = found.placed.iter().flat_map(|placed| {
        let inside = real.iter().filter_map(|path| path.strip_prefix(&placed.from).ok());
        inside.map(|path| placed.at.join(path))
    });
    let mut sockets: Vec<PathBuf> =
        real.iter().filter(|path| !is_harmless(path)).cloned().chain(elsewhere).collect();
    sockets.sort();
    sockets.dedup();
    found.hidden_files.extend(sockets.into_iter().take(MAX_SOCKETS));
}

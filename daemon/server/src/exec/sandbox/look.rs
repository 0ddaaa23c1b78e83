//! Looks what exists of what a box must hide or protect, and holds the names of what does not.
//!
//! Reads folders and the few words git keeps in pointers; never a file of the project.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use cairn_core::policy::sandbox::{DECIDERS, Found, HELD_BESIDE, Needs, decides};

use super::{
    git,
    hold::{Held, Kind},
    home,
};

/// Deeper, nothing is looked for: editors and agents look near the top, too.
const DEEPEST: usize = 4;
/// Entries of folders; a look at them takes some milliseconds.
const MOST_ENTRIES: usize = 8_000;
/// Each is a mount.
const MOST_NESTED: usize = 128;
/// Made by programs, not by people; and what holds thousands of folders.
const SKIPPED: &[&str] =
    &["node_modules", "target", ".git", ".venv", "venv", "dist", "build", "__pycache__"];

/// Folders of a home folder from which programs are started.
const RUN_AT_HOME: &[&str] = &["bin", "Library", "Applications"];

pub(super) struct Scene<'a> {
    /// Of the workspace.
    pub(super) folders: &'a [PathBuf],
    /// That the user allows besides.
    pub(super) writable: &'a [PathBuf],
    pub(super) home: Option<&'a Path>,
    /// What of the home folder is shown.
    pub(super) view: &'a home::View,
    /// Cairn's own.
    pub(super) hidden: &'a [PathBuf],
    pub(super) needs: Needs,
    /// Nothing is to be written in any folder but the temporary one.
    pub(super) looks: bool,
}

pub(super) fn look(scene: &Scene) -> io::Result<(Found, Held)> {
    let mut held = Held::default();
    // A box knows places by their own names, not by links to them.
    let folders: Vec<PathBuf> = scene
        .folders
        .iter()
        .map(|path| path.canonicalize().unwrap_or_else(|_| path.clone()))
        .collect();
    let mut found = Found {
        temporary: existing(["/tmp", "/var/tmp"].map(PathBuf::from)),
        hidden_folders: existing(["/run", "/var/run"].map(PathBuf::from)),
        ..Found::default()
    };
    if scene.needs.network {
        // Often a link to what a service of the system keeps there.
        found.shown = existing(["/etc/resolv.conf".into()]);
        found.shown.retain(|path| found.hidden_folders.iter().any(|at| path.starts_with(at)));
    }
    if scene.looks {
        found.read_only.extend_from_slice(&folders);
        for folder in &folders {
            clear(folder)?;
        }
        home::hide(scene, &folders, &mut found);
        return Ok((found, held));
    }
    let extra = scene.writable.iter().filter_map(|path| path.canonicalize().ok());
    found.writable = folders.iter().cloned().chain(extra.filter(|path| path.is_dir())).collect();
    let home = scene.home.and_then(|home| home.canonicalize().ok());
    for folder in &folders {
        if let Some(home) = home.as_deref().filter(|home| home.starts_with(folder)) {
            only_folders_of(home, &mut found);
        }
        if home.as_ref() != Some(folder) {
            deciders(folder, &mut found, &mut held)?;
        }
        let mut left = MOST_ENTRIES;
        nested(folder, 1, &mut left, &mut found.read_only);
        git::look(folder, scene.needs.git, &mut found, &mut held)?;
    }
    home::hide(scene, &folders, &mut found);
    Ok((found, held))
}

fn existing(paths: impl IntoIterator<Item = PathBuf>) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        paths.into_iter().filter_map(|path| path.canonicalize().ok()).collect();
    found.dedup();
    found
}

/// Of a home folder that is in the workspace, folders with a plain name are written, as far as there
/// are not too many, and nothing beside them: what is read at a login has many names, and one that is
/// missing cannot be held without harm to who logs in meanwhile.
fn only_folders_of(home: &Path, found: &mut Found) {
    found.read_only.push(home.to_owned());
    let Ok(entries) = fs::read_dir(home) else { return };
    let plain = entries.flatten().filter(|entry| {
        let name = entry.file_name();
        let decides =
            name.as_encoded_bytes().starts_with(b".") || RUN_AT_HOME.iter().any(|own| name == *own);
        !decides && entry.file_type().is_ok_and(|kind| kind.is_dir())
    });
    found.writable.extend(plain.take(MOST_NESTED).map(|entry| entry.path()));
}

/// At the top of a folder they are protected whether they exist or not.
fn deciders(folder: &Path, found: &mut Found, held: &mut Held) -> io::Result<()> {
    for name in DECIDERS {
        let path = folder.join(name);
        if missing(&path) {
            held.hold(folder.join(format!("{HELD_BESIDE}{name}")), Kind::Folder)?;
        }
        protect(path, Kind::Folder, found, held)?;
    }
    Ok(())
}

/// Takes away what a killed daemon held, which whoever holds names does by that alone.
fn clear(folder: &Path) -> io::Result<()> {
    let mut left = Held::default();
    for name in DECIDERS {
        for path in [folder.join(format!("{HELD_BESIDE}{name}")), folder.join(name)] {
            if fs::symlink_metadata(&path).is_ok_and(|data| data.is_dir()) && is_empty(&path) {
                left.hold(path, Kind::Folder)?;
            }
        }
    }
    Ok(())
}

/// Or only held.
fn missing(path: &Path) -> bool {
    match fs::symlink_metadata(path) {
        Ok(data) => data.is_dir() && is_empty(path),
        Err(_) => true,
    }
}

/// Read-only if it is there, held if it is not.
pub(super) fn protect(
    path: PathBuf,
    kind: Kind,
    found: &mut Found,
    held: &mut Held,
) -> io::Result<()> {
    let protected = match fs::symlink_metadata(&path) {
        // Nothing can be laid over a link itself: what it leads to is protected.
        Ok(data) if data.is_symlink() => path.canonicalize().ok(),
        // Perhaps only held, by somebody who lets go before we do.
        Ok(data) if data.is_dir() && is_empty(&path) => {
            held.hold(path.clone(), Kind::Folder)?.then_some(path)
        }
        Ok(data) if kind != Kind::Folder && data.is_file() && data.len() < 2 => {
            held.hold(path.clone(), kind)?.then_some(path)
        }
        Ok(_) => Some(path),
        Err(_) => held.hold(path.clone(), kind)?.then_some(path),
    };
    found.read_only.extend(protected);
    Ok(())
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}

/// Deeper, what exists is protected, as far as a short look goes.
fn nested(folder: &Path, depth: usize, left: &mut usize, read_only: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut below = Vec::new();
    for entry in entries.flatten() {
        if *left == 0 || read_only.len() >= MOST_NESTED {
            return;
        }
        *left -= 1;
        let (name, Ok(kind)) = (entry.file_name(), entry.file_type()) else { continue };
        let name = name.to_string_lossy();
        if kind.is_symlink() {
            continue;
        }
        if decides(&name) {
            if !read_only.contains(&entry.path()) {
                read_only.push(entry.path());
            }
        } else if kind.is_dir() && depth < DEEPEST && !SKIPPED.contains(&name.as_ref()) {
            below.push(entry.path());
        }
    }
    for folder in below {
        nested(&folder, depth + 1, left, read_only);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relative(paths: &[PathBuf], folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = paths
            .iter()
            .filter_map(|path| Some(path.strip_prefix(folder).ok()?.display().to_string()))
            .collect();
        names.sort();
        names
    }

    #[test]
    fn what_decides_is_found_or_held() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().canonicalize().unwrap().join("ws");
        for name in ["sub/.vscode", "node_modules/x/.vscode", ".git/hooks", "a/b/c/d/.idea"] {
            fs::create_dir_all(folder.join(name)).unwrap();
        }
        for name in ["CLAUDE.md", "sub/AGENTS.md", "app.code-workspace", "package.json"] {
            fs::write(folder.join(name), "").unwrap();
        }
        std::os::unix::fs::symlink("CLAUDE.md", folder.join("AGENTS.md")).unwrap();
        let folders = [folder.clone()];
        let scene = Scene {
            folders: &folders,
            writable: &[],
            home: None,
            view: &home::View::default(),
            hidden: &[],
            needs: Needs::NONE,
            looks: false,
        };
        let (found, held) = look(&scene).unwrap();
        let mut wanted: Vec<String> =
            DECIDERS.iter().filter(|name| **name != "AGENTS.md").map(ToString::to_string).collect();
        wanted.extend(
            ["CLAUDE.md", "sub/.vscode", "sub/AGENTS.md", "app.code-workspace"].map(Into::into),
        );
        wanted.sort();
        assert_eq!(relative(&found.read_only, &folder), wanted);
        assert!(folder.join(".envrc").is_dir());
        assert!(folder.join(".cairn-holds-.envrc").is_dir());
        assert!(!folder.join(".cairn-holds-CLAUDE.md").exists(), "it is really there");
        // Whoever only looks needs nothing held, and writes nowhere.
        let (found, none_held) = look(&Scene { looks: true, ..scene }).unwrap();
        assert_eq!((found.writable, found.read_only), (Vec::new(), vec![folder.clone()]));
        drop((held, none_held));
        assert!(!folder.join(".envrc").exists());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 8);
    }
}

//! Finds what exists of what a sandbox must hide or protect.
//!
//! Reads folders and the few words git keeps in pointers; never a file of the project. Names that do
//! not exist are not its business: what a command makes of them is found after it (`watch`).

use std::{
    ffi::OsStr,
    fs, io,
    path::{Path, PathBuf},
};

use cairn_core::policy::sandbox::{Found, Needs};

use super::{git, home, watch::ControlFiles};

/// Each is a mount. What is beyond is found after the command if it was changed.
const MOST_MOUNTS: usize = 128;

/// Folders of a home folder from which programs are started.
const RUN_AT_HOME: &[&str] = &["bin", "Library", "Applications"];

pub(super) struct ScanScope<'a> {
    /// Of the workspace.
    pub(super) folders: &'a [PathBuf],
    /// That the user allows besides.
    pub(super) writable: &'a [PathBuf],
    pub(super) home: Option<&'a Path>,
    /// Part of the home folder that is shown.
    pub(super) view: &'a home::View,
    /// Cairn's own.
    pub(super) hidden: &'a [PathBuf],
    pub(super) needs: Needs,
    /// Control files that the scan before the command found.
    pub(super) control: &'a ControlFiles,
    /// Nothing is to be written in any folder but the temporary one.
    pub(super) looks: bool,
}

pub(super) fn look(scope: &ScanScope) -> io::Result<Found> {
    // A box knows places by their own names, not by links to them.
    let folders: Vec<PathBuf> = scope
        .folders
        .iter()
        .map(|path| path.canonicalize().unwrap_or_else(|_| path.clone()))
        .collect();
    let mut found = Found {
        temporary: existing(["/tmp", "/var/tmp"].map(PathBuf::from)),
        hidden_folders: existing(["/run", "/var/run"].map(PathBuf::from)),
        ..Found::default()
    };
    if scope.needs.network {
        // Often a link to what a service of the system keeps there.
        found.shown = existing(["/etc/resolv.conf".into()]);
        found.shown.retain(|path| found.hidden_folders.iter().any(|at| path.starts_with(at)));
    }
    if scope.looks {
        found.read_only.extend_from_slice(&folders);
        home::hide(scope, &folders, &mut found);
        return Ok(found);
    }
    let extra = scope.writable.iter().filter_map(|path| path.canonicalize().ok());
    found.writable = folders.iter().cloned().chain(extra.filter(|path| path.is_dir())).collect();
    let home = scope.home.and_then(|home| home.canonicalize().ok());
    for folder in &folders {
        if let Some(home) = home.as_deref().filter(|home| home.starts_with(folder)) {
            only_folders_of(home, &mut found);
        }
    }
    protect(scope.control, &mut found);
    for folder in &folders {
        git::look(folder, scope.needs.git, &mut found)?;
        git::protect_named(folder, scope.control.named(), &mut found);
    }
    home::hide(scope, &folders, &mut found);
    Ok(found)
}

fn existing(paths: impl IntoIterator<Item = PathBuf>) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        paths.into_iter().filter_map(|path| path.canonicalize().ok()).collect();
    found.dedup();
    found
}

/// Of a home folder that is in the workspace, folders with a plain name are written, as far as there
/// are not too many, and nothing beside them: what is read at a login has many names.
fn only_folders_of(home: &Path, found: &mut Found) {
    found.read_only.push(home.to_owned());
    let Ok(entries) = fs::read_dir(home) else { return };
    let plain = entries.flatten().filter(|entry| {
        !decides_at_home(&entry.file_name()) && entry.file_type().is_ok_and(|kind| kind.is_dir())
    });
    found.writable.extend(plain.take(MOST_MOUNTS).map(|entry| entry.path()));
}

/// Entries of a home folder that are never written.
pub(super) fn not_written_at(home: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(home) else { return Vec::new() };
    let decides = entries.flatten().filter(|entry| decides_at_home(&entry.file_name()));
    decides.map(|entry| entry.path()).collect()
}

fn decides_at_home(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".") || RUN_AT_HOME.iter().any(|own| name == *own)
}

/// Control files that are there: the uppermost first, as many as there may be mounts.
fn protect(control: &ControlFiles, found: &mut Found) {
    let mut paths: Vec<&Path> = control.protected().collect();
    paths.sort_by_key(|path| path.components().count());
    let may_write = |path: &Path| found.writable.iter().any(|at| path.starts_with(at));
    let mounts: Vec<PathBuf> = paths
        .into_iter()
        // Of a link, what it leads to: nothing can be laid over the link itself.
        .filter_map(|path| path.canonicalize().ok())
        .filter(|path| may_write(path) && !found.writable.contains(path))
        .take(MOST_MOUNTS)
        .collect();
    found.read_only.extend(mounts);
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{
        super::{Begin, watch::Watch},
        *,
    };

    fn relative(paths: &[PathBuf], folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = paths
            .iter()
            .filter_map(|path| Some(path.strip_prefix(folder).ok()?.display().to_string()))
            .collect();
        names.sort();
        names
    }

    #[test]
    fn what_is_there_is_protected_and_nothing_is_made() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().canonicalize().unwrap().join("ws");
        for name in ["sub/.vscode", "node_modules/x/.vscode", ".git/hooks", "a/b/c/d/e/f/.idea"] {
            fs::create_dir_all(folder.join(name)).unwrap();
        }
        for name in ["CLAUDE.md", "sub/AGENTS.md", "app.code-workspace", "package.json"] {
            fs::write(folder.join(name), "").unwrap();
        }
        std::os::unix::fs::symlink("CLAUDE.md", folder.join("AGENTS.md")).unwrap();
        let folders = [folder.clone()];
        let watching = Arc::new(Watch::new(None)).begin(&Begin {
            folders: &folders,
            home: None,
            hidden: &[],
            granted: false,
        });
        let watching = watching.unwrap();
        let scope = ScanScope {
            folders: &folders,
            writable: &[],
            home: None,
            view: &home::View::default(),
            hidden: &[],
            needs: Needs::NONE,
            control: &watching.control_files(),
            looks: false,
        };
        let found = look(&scope).unwrap();
        let wanted = [
            ".git",
            "CLAUDE.md",
            "CLAUDE.md",
            "a/b/c/d/e/f/.idea",
            "app.code-workspace",
            "sub/.vscode",
            "sub/AGENTS.md",
        ];
        assert_eq!(relative(&found.read_only, &folder), wanted);
        // A command that only looks writes nowhere.
        let found = look(&ScanScope { looks: true, ..scope }).unwrap();
        assert_eq!((found.writable, found.read_only), (Vec::new(), vec![folder.clone()]));
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 8);
    }
}

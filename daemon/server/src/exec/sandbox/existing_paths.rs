//! Search for existing paths that a sandbox must hide or protect.
//!
//! Reads folders and git's pointer files, never another file of the project. Paths that do not
//! exist are not searched: `watch` finds files that a command creates there.

use std::{
    ffi::OsStr,
    fs, io,
    path::{Path, PathBuf},
};

use cairn_core::policy::sandbox::{Needs, SandboxPaths};

use super::{git, home, watch::ControlFiles};

/// Protected paths, each of which is a mount. Changes of further ones are found after the command.
const MOST_MOUNTS: usize = 128;

/// Folders of a home folder that programs are started from.
const RUN_AT_HOME: &[&str] = &["bin", "Library", "Applications"];

pub(super) struct ScanScope<'a> {
    /// Folders of the workspace.
    pub(super) folders: &'a [PathBuf],
    /// Further folders that the user allows to write.
    pub(super) writable: &'a [PathBuf],
    pub(super) home: Option<&'a Path>,
    /// Visible part of the home folder.
    pub(super) view: &'a home::View,
    /// Cairn's own folders.
    pub(super) hidden: &'a [PathBuf],
    pub(super) needs: Needs,
    /// Control files that the scan before the command found.
    pub(super) control: &'a ControlFiles,
    /// Set for a read-only command: only the temporary folder is writable.
    pub(super) looks: bool,
}

pub(super) fn look(scope: &ScanScope) -> io::Result<SandboxPaths> {
    // A sandbox contains real paths, no links to them.
    let folders: Vec<PathBuf> = scope
        .folders
        .iter()
        .map(|path| path.canonicalize().unwrap_or_else(|_| path.clone()))
        .collect();
    let mut found = SandboxPaths {
        temporary: existing(["/tmp", "/var/tmp"].map(PathBuf::from)),
        hidden_folders: existing(["/run", "/var/run"].map(PathBuf::from)),
        ..SandboxPaths::default()
    };
    if scope.needs.network {
        // Often a link to a folder of a system service.
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

/// Makes only folders with a plain name writable in a home folder that is in the workspace, up to a
/// limit. Files beside them stay read-only: files read at login have many names.
fn only_folders_of(home: &Path, found: &mut SandboxPaths) {
    found.read_only.push(home.to_owned());
    let Ok(entries) = fs::read_dir(home) else { return };
    let plain = entries.flatten().filter(|entry| {
        !decides_at_home(&entry.file_name()) && entry.file_type().is_ok_and(|kind| kind.is_dir())
    });
    found.writable.extend(plain.take(MOST_MOUNTS).map(|entry| entry.path()));
}

/// Entries of a home folder that are never writable.
pub(super) fn not_written_at(home: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(home) else { return Vec::new() };
    let decides = entries.flatten().filter(|entry| decides_at_home(&entry.file_name()));
    decides.map(|entry| entry.path()).collect()
}

fn decides_at_home(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".") || RUN_AT_HOME.iter().any(|own| name == *own)
}

/// Protects existing control files, the uppermost first, up to the limit of mounts.
fn protect(control: &ControlFiles, found: &mut SandboxPaths) {
    let mut paths: Vec<&Path> = control.protected().collect();
    paths.sort_by_key(|path| path.components().count());
    let may_write = |path: &Path| found.writable.iter().any(|at| path.starts_with(at));
    let mounts: Vec<PathBuf> = paths
        .into_iter()
        // Protects the target of a link: nothing can be mounted over the link itself.
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

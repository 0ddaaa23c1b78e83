//! Search for existing paths that a sandbox must hide or protect. Control files that do not exist yet
//! are not protected: `watch` finds them if a command creates them.
//!
//! The search reads no file of the project except git's settings and pointer files.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use cairn_core::policy::{control_files::is_control_by_ending, sandbox::SandboxPaths};

use super::{home, scan_scope::ScanScope};
use crate::exec::sandbox::{
    control_files::{ControlFiles, canonical, is_never_writable},
    git,
};

/// Protected paths, each of which is a mount. `watch` finds changes of further ones after the command.
const MAX_MOUNTS: usize = 128;

/// Returns the paths of this machine that the sandbox of a command is built from.
pub(super) fn scan(scope: &ScanScope) -> io::Result<SandboxPaths> {
    let request = scope.request;
    // Mounts are at real paths, because nothing can be mounted over a link.
    let folders = canonical(&request.folders);
    let mut found = SandboxPaths {
        temporary: existing(["/tmp", "/var/tmp"].map(PathBuf::from)),
        hidden_folders: existing(["/run", "/var/run"].map(PathBuf::from)),
        ..SandboxPaths::default()
    };
    if request.needs.network {
        // The file is often a link into a hidden folder, where a system service writes it.
        found.shown = existing(["/etc/resolv.conf".into()]);
        found.shown.retain(|path| found.hidden_folders.iter().any(|at| path.starts_with(at)));
    }
    if request.read_only {
        found.read_only.extend_from_slice(&folders);
        home::hide(scope, &folders, &mut found);
        return Ok(found);
    }
    let extra = request.settings.writable.iter().filter_map(|path| path.canonicalize().ok());
    found.writable = folders.iter().cloned().chain(extra.filter(|path| path.is_dir())).collect();
    let home = scope.home.and_then(|home| home.canonicalize().ok());
    for folder in &folders {
        if let Some(home) = home.as_deref().filter(|home| home.starts_with(folder)) {
            allow_plain_folders_only(home, &mut found);
        }
    }
    protect(&request.control, &mut found);
    for folder in &folders {
        git::protect(folder, request.needs.git, &mut found)?;
        git::protect_named(folder, &request.control.named, &mut found);
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

/// Makes a home folder in the workspace read-only except for its folders with a plain name, up to a
/// limit. Its files stay read-only, because files that a shell reads at login have many names.
fn allow_plain_folders_only(home: &Path, found: &mut SandboxPaths) {
    found.read_only.push(home.to_owned());
    let Ok(entries) = fs::read_dir(home) else { return };
    let plain = entries.flatten().filter(|entry| {
        !is_never_writable(&entry.file_name()) && entry.file_type().is_ok_and(|kind| kind.is_dir())
    });
    found.writable.extend(plain.take(MAX_MOUNTS).map(|entry| entry.path()));
}

/// Protects existing control files up to the limit of mounts: the uppermost first, and last in each
/// folder those of which it can hold any number.
fn protect(control: &ControlFiles, found: &mut SandboxPaths) {
    let mut paths: Vec<&Path> = control.protected.iter().map(PathBuf::as_path).collect();
    let is_by_ending = |path: &Path| {
        path.file_name().is_some_and(|name| is_control_by_ending(&name.to_string_lossy()))
    };
    paths.sort_by_key(|path| (path.components().count(), is_by_ending(path)));
    let may_write = |path: &Path| found.writable.iter().any(|at| path.starts_with(at));
    let mounts: Vec<PathBuf> = paths
        .into_iter()
        // Protects the target of a link, because nothing can be mounted over the link itself.
        .filter_map(|path| path.canonicalize().ok())
        .filter(|path| may_write(path) && !found.writable.contains(path))
        .take(MAX_MOUNTS)
        .collect();
    found.read_only.extend(mounts);
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{super::scan_scope::HomeView, *};
    use crate::exec::sandbox::{
        request::{SandboxRequest, WatchScope},
        watch::Watch,
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
    fn existing_control_files_are_protected_and_no_file_is_created() {
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
        let watching = Arc::new(Watch::new(None)).begin(&WatchScope {
            folders: &folders,
            home: None,
            hidden: &[],
            git_writable: false,
        });
        let watching = watching.unwrap();
        let mut request = SandboxRequest {
            folders: folders.to_vec(),
            control: watching.control_files(),
            ..SandboxRequest::default()
        };
        let view = HomeView::default();
        let scan = |request: &SandboxRequest| {
            super::scan(&ScanScope { request, home: None, view: &view, hidden: &[] }).unwrap()
        };
        let found = scan(&request);
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
        // A read-only command writes nowhere.
        request.read_only = true;
        let found = scan(&request);
        assert_eq!((found.writable, found.read_only), (Vec::new(), vec![folder.clone()]));
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 8);
    }
}

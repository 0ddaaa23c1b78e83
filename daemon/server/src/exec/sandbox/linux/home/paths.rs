//! Paths in a home folder: patterns of names, secrets, and the real path behind a link.

use std::{
    fs,
    path::{Component, Path, PathBuf},
};

use cairn_core::policy::home::{fits, is_secret_place};

/// Entries of one folder that a pattern is compared with.
const MAX_COMPARED_NAMES: usize = 4_000;

/// Path that a command sees as an empty file or folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::exec::sandbox) struct HiddenPath {
    pub(in crate::exec::sandbox) at: PathBuf,
    pub(in crate::exec::sandbox) is_folder: bool,
}

impl HiddenPath {
    /// Returns the path without links, because nothing can be mounted over a link. `None` if it
    /// does not exist.
    pub(in crate::exec::sandbox) fn existing(path: &Path) -> Option<Self> {
        let at = path.canonicalize().ok()?;
        Some(Self { is_folder: at.is_dir(), at })
    }
}

/// Returns existing paths below a folder that match a pattern. `*` in the pattern stands for any
/// characters of one name.
pub(super) fn expand(folder: &Path, pattern: &str) -> Vec<PathBuf> {
    let mut paths = vec![folder.to_owned()];
    for part in pattern.split('/') {
        if !part.contains('*') {
            for path in &mut paths {
                path.push(part);
            }
            continue;
        }
        let matching = |folder: &PathBuf| -> Vec<PathBuf> {
            let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
            let entries = entries.flatten().take(MAX_COMPARED_NAMES);
            entries
                .filter(|entry| fits(part, &entry.file_name().to_string_lossy()))
                .map(|entry| entry.path())
                .collect()
        };
        paths = paths.iter().flat_map(matching).collect();
    }
    paths.retain(|path| fs::symlink_metadata(path).is_ok());
    paths
}

/// True for a path below the home folder that is a secret or lies in one.
pub(super) fn is_secret(home: &Path, path: &Path) -> bool {
    let Ok(below) = path.strip_prefix(home) else { return false };
    let names: Option<Vec<&str>> =
        below.components().map(|component| component.as_os_str().to_str()).collect();
    names.is_some_and(|names| is_secret_place(names.iter().copied()))
}

/// Replaces the home folder in a path by its real path. `None` if the path is not below it.
/// `home_variable` is the home folder as the environment names it.
pub(in crate::exec::sandbox) fn real_path_below(
    real_home: &Path,
    home_variable: Option<&Path>,
    path: &Path,
) -> Option<PathBuf> {
    let prefixes = [Some(real_home), home_variable];
    let inside = prefixes.into_iter().flatten().find_map(|home| path.strip_prefix(home).ok())?;
    let is_name = |component| matches!(component, Component::Normal(_));
    (inside.components().next().is_some() && inside.components().all(is_name))
        .then(|| real_home.join(inside))
}

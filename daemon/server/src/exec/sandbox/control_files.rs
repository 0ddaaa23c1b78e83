//! Control files of a workspace (files that git, an editor or a shell runs or obeys unasked) as
//! they were before a command, and entries of a home folder that no command may write.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

/// Folders in a home folder with programs that the system or the user starts.
const PROGRAM_FOLDERS: &[&str] = &["bin", "Library", "Applications"];

#[derive(Debug, Default)]
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only a sandbox reads them"))]
pub struct ControlFiles {
    /// Paths to mount read-only, the uppermost of each folder.
    pub(super) protected: Vec<PathBuf>,
    /// Paths that git's settings name, existing or missing.
    pub(super) named: BTreeSet<PathBuf>,
}

/// Returns the entries of a home folder that no command may write.
pub(super) fn never_writable_in_home(home: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(home) else { return Vec::new() };
    let entries = entries.flatten().filter(|entry| is_never_writable(&entry.file_name()));
    entries.map(|entry| entry.path()).collect()
}

pub(super) fn is_never_writable(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".") || PROGRAM_FOLDERS.iter().any(|own| name == *own)
}

/// Resolves links in paths, as far as they exist.
pub(super) fn canonical(folders: &[PathBuf]) -> Vec<PathBuf> {
    folders.iter().map(|path| path.canonicalize().unwrap_or_else(|_| path.clone())).collect()
}

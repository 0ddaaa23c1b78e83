//! Git repositories of folders, found without running git.

use std::path::{Path, PathBuf};

use crate::small_file;

/// Most bytes of a file of a repository that is read.
const MAX_BYTES: u64 = 1024 * 1024;

/// Finds the repository of a folder, which may be below the top of the working copy.
pub(super) fn search_upwards(
    folder: &Path,
    find: impl Fn(&Path) -> Option<Repository>,
) -> Option<(&Path, Repository)> {
    folder.ancestors().find_map(|top| Some((top, find(top)?)))
}

/// Folders of a repository.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Repository {
    /// Folder for this working copy only.
    pub(super) own: PathBuf,
    /// Folder that all working copies share; often the same as `own`.
    pub(super) common: PathBuf,
}

impl Repository {
    pub(super) fn folders(self) -> impl Iterator<Item = PathBuf> {
        let common = (self.common != self.own).then_some(self.common);
        common.into_iter().chain([self.own])
    }
}

/// Reads a small file of a repository. Follows links, by which users share settings.
pub(super) fn read(file: &Path) -> Option<Vec<u8>> {
    small_file::read(file, MAX_BYTES).ok()
}

/// Returns the repository that a folder names by a folder, a link or a pointer file, whether or not it
/// names the folder in return. Used to read only: settings that it names protect more paths, not fewer.
pub(super) fn named_repository(folder: &Path) -> Option<Repository> {
    let dot_git = folder.join(".git");
    let own = if dot_git.is_dir() {
        dot_git.canonicalize().ok()?
    } else {
        let pointer = read(&dot_git)?;
        let pointer = String::from_utf8(pointer).ok()?;
        folder.join(pointer.strip_prefix("gitdir:")?.trim()).canonicalize().ok()?
    };
    own.join("HEAD").exists().then(|| {
        let words = read(&own.join("commondir")).and_then(|words| String::from_utf8(words).ok());
        let common = words.and_then(|words| own.join(words.trim()).canonicalize().ok());
        Repository { common: common.unwrap_or_else(|| own.clone()), own }
    })
}

//! Changes of files on disk, through the open folder handle. Only `disk` uses it.

use std::{fs::File, io};

use super::{Done, Workspace, WorkspacePath};

impl Workspace {
    /// Creates a file with these bytes and the mode that it is known to have had, and missing folders.
    pub(crate) fn create_new(&self, path: &WorkspacePath, bytes: &[u8]) -> io::Result<()> {
        let mode = self.form_of(path.as_path()).mode;
        self.held[path.folder].create_new(&path.inside, bytes, mode)
    }

    /// Replaces the content of the file that was read.
    pub(crate) fn replace(
        &self,
        path: &WorkspacePath,
        read: &File,
        bytes: &[u8],
    ) -> io::Result<Done> {
        self.held[path.folder].replace(&path.inside, read, bytes)
    }

    /// Removes the file that was read.
    pub(crate) fn remove(&self, path: &WorkspacePath, read: &File) -> io::Result<Done> {
        self.held[path.folder].remove(&path.inside, read)
    }

    /// Removes an empty folder.
    pub(crate) fn remove_empty(&self, path: &WorkspacePath) -> io::Result<()> {
        self.held[path.folder].remove_empty(&path.inside)
    }

    /// Moves the file that was read to a free path.
    pub(crate) fn rename(
        &self,
        path: &WorkspacePath,
        read: &File,
        to: &WorkspacePath,
    ) -> io::Result<Done> {
        self.held[path.folder].rename(&path.inside, read, &self.held[to.folder], &to.inside)
    }
}

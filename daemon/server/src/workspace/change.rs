//! Changing files on disk, for `disk` alone: from the folder that is held open.

use std::{fs::File, io};

use super::{Done, Workspace, WorkspacePath};

impl Workspace {
    /// A new file with these bytes, and missing folders.
    pub(crate) fn create_new(&self, path: &WorkspacePath, bytes: &[u8]) -> io::Result<()> {
        self.held[path.folder].create_new(&path.inside, bytes)
    }

    /// Puts other bytes in the place of the file that was read.
    pub(crate) fn replace(
        &self,
        path: &WorkspacePath,
        read: File,
        bytes: &[u8],
    ) -> io::Result<Done> {
        self.held[path.folder].replace(&path.inside, read, bytes)
    }

    /// Removes the file that was read.
    pub(crate) fn remove(&self, path: &WorkspacePath, read: &File) -> io::Result<Done> {
        self.held[path.folder].remove(&path.inside, read)
    }

    /// Removes a folder that is empty.
    pub(crate) fn remove_empty(&self, path: &WorkspacePath) -> io::Result<()> {
        self.held[path.folder].remove_empty(&path.inside)
    }

    /// Moves the file that was read to where nothing is.
    pub(crate) fn rename(
        &self,
        path: &WorkspacePath,
        read: &File,
        to: &WorkspacePath,
    ) -> io::Result<Done> {
        self.held[path.folder].rename(&path.inside, read, &self.held[to.folder], &to.inside)
    }
}

//! Open handle of a workspace folder. Files below it are read and changed through the handle without
//! following links, so that swapping a folder for a link has no effect.
//!
//! Must never open a path from the root of the file system, or anything but a regular file.

use std::{
    ffi::OsStr,
    fs::{File, Metadata},
    io::{self, Write},
    path::{Component, Path, PathBuf},
};

mod entry;
mod folder;
#[cfg(test)]
mod tests;

pub(super) use entry::Kind;
use entry::NewFileAccess;
use folder::Folder;

/// Result of a change that applies only to the file that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    Done,
    /// The file was replaced or changed.
    Changed,
}

/// Open folder, independent of its current path. Paths below it are plain names.
#[derive(Debug)]
pub(super) struct RootDir {
    held: Folder,
    path: PathBuf,
}

impl RootDir {
    /// Opens a folder. Its path may have links, because the user chose it.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { held: Folder::open(path)?, path: path.to_owned() })
    }

    /// False if its path now leads to another folder, or to none.
    pub(super) fn is_in_place(&self) -> bool {
        Folder::open(&self.path).is_ok_and(|there| self.held.is_same(&there))
    }

    /// Kind of the entry at a path. Does not follow a link there.
    pub(super) fn kind(&self, inside: &Path) -> io::Result<Kind> {
        let place = self.place(inside)?;
        place.folder.kind(place.name)
    }

    /// True for a regular file with more than one name.
    pub(super) fn has_hard_links(&self, inside: &Path) -> bool {
        let count = self.place(inside).and_then(|place| place.folder.file_names(place.name));
        count.is_ok_and(|count| count > 1)
    }

    /// Opens a regular file for reading.
    pub(super) fn open_read(&self, inside: &Path) -> io::Result<File> {
        let place = self.place(inside)?;
        place.folder.open_file(place.name)
    }

    /// Creates a file with this text, and missing folders. Fails if the path exists. A reader never
    /// finds a part of the text: it is written to a temporary file, which then gets the name.
    /// `mode`: its permission bits; `None` for those of a new file.
    pub(super) fn create_new(
        &self,
        inside: &Path,
        bytes: &[u8],
        mode: Option<u32>,
    ) -> io::Result<()> {
        self.create_folders(parent(inside))?;
        let Place { folder, name } = self.place(inside)?;
        let temporary = temporary_name();
        let temporary = OsStr::new(&temporary);
        let access = mode.map_or(NewFileAccess::Default, |_| NewFileAccess::Private);
        let mut file = folder.create_file(temporary, access)?;
        let created = (|| {
            file.write_all(bytes)?;
            mode.map_or(Ok(()), |mode| set_mode(&file, mode))?;
            file.sync_all()?;
            drop(file);
            folder.rename_to_free(temporary, &folder, name)
        })();
        if created.is_err() {
            let _ = folder.remove_file(temporary);
        }
        created
    }

    /// Replaces a file atomically: a temporary file next to it, then a rename. Keeps the permissions.
    pub(super) fn replace(&self, inside: &Path, read: &File, bytes: &[u8]) -> io::Result<Done> {
        let place = self.place(inside)?;
        let temporary = temporary_name();
        let temporary = OsStr::new(&temporary);
        let mut file = place.folder.create_file(temporary, NewFileAccess::Private)?;
        let replaced = (|| {
            file.write_all(bytes)?;
            set_mode(&file, mode_of(&read.metadata()?))?;
            file.sync_all()?;
            drop(file);
            if !place.is_unchanged(read)? {
                return Ok(Done::Changed);
            }
            place.folder.replace_file(temporary, place.name)?;
            Ok(Done::Done)
        })();
        if !matches!(replaced, Ok(Done::Done)) {
            let _ = place.folder.remove_file(temporary);
        }
        replaced
    }

    /// Removes the file that was read.
    pub(super) fn remove(&self, inside: &Path, read: &File) -> io::Result<Done> {
        let place = self.place(inside)?;
        if !place.is_unchanged(read)? {
            return Ok(Done::Changed);
        }
        place.folder.remove_file(place.name)?;
        Ok(Done::Done)
    }

    /// Removes an empty folder.
    pub(super) fn remove_empty(&self, inside: &Path) -> io::Result<()> {
        let place = self.place(inside)?;
        place.folder.remove_folder(place.name)
    }

    /// Moves the file that was read to a free path in this folder or another one. Creates missing
    /// folders.
    pub(super) fn rename(
        &self,
        inside: &Path,
        read: &File,
        to: &RootDir,
        to_inside: &Path,
    ) -> io::Result<Done> {
        to.create_folders(parent(to_inside))?;
        let (from, to) = (self.place(inside)?, to.place(to_inside)?);
        if !from.is_unchanged(read)? {
            return Ok(Done::Changed);
        }
        match from.folder.rename_to_free(from.name, &to.folder, to.name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(Done::Changed),
            Err(error) => Err(error),
            Ok(()) => Ok(Done::Done),
        }
    }

    /// Creates the missing folders of a path.
    fn create_folders(&self, inside: &Path) -> io::Result<()> {
        let mut at = self.held.try_clone()?;
        for name in plain_names(inside)? {
            match at.create_folder(name) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
            at = at.open_below(&[name])?;
        }
        Ok(())
    }

    /// Opens the parent folder of a path.
    fn place<'a>(&self, inside: &'a Path) -> io::Result<Place<'a>> {
        let names = plain_names(inside)?;
        let Some((name, folders)) = names.split_last() else {
            return Err(io::ErrorKind::IsADirectory.into());
        };
        Ok(Place { folder: self.held.open_below(folders)?, name })
    }
}

/// Name in an open folder.
struct Place<'a> {
    folder: Folder,
    name: &'a OsStr,
}

impl Place<'_> {
    /// True if the file that was read is there, unchanged and without other names.
    fn is_unchanged(&self, read: &File) -> io::Result<bool> {
        let now = self.folder.open_file(self.name)?;
        let ((then, _), (now, names)) = (Folder::state(read)?, Folder::state(&now)?);
        Ok(then == now && names == 1)
    }
}

/// Permission bits of a file.
pub(super) fn mode_of(metadata: &Metadata) -> u32 {
    std::os::unix::fs::MetadataExt::mode(metadata) & 0o7777
}

fn set_mode(file: &File, mode: u32) -> io::Result<()> {
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(mode))
}

/// Components of a path that has only plain names.
fn plain_names(inside: &Path) -> io::Result<Vec<&OsStr>> {
    let name = |component| match component {
        Component::Normal(name) => Ok(name),
        Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => {
            Err(io::ErrorKind::InvalidInput.into())
        }
    };
    inside.components().map(name).collect()
}

fn parent(inside: &Path) -> &Path {
    inside.parent().unwrap_or(Path::new(""))
}

/// Unique name of a temporary file, also for concurrent changes of one file.
fn temporary_name() -> String {
    format!(".cairn-{}", uuid::Uuid::now_v7().simple())
}

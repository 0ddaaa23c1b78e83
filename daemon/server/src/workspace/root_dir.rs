//! Open handle of a workspace folder. Files below it are read and changed through the handle without
//! following links, so that swapping a folder for a link has no effect.
//!
//! Must never open a path from the root of the file system, or anything but a regular file.

use std::{
    ffi::OsStr,
    fs::{File, Metadata, Permissions},
    io::{self, Write},
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Component, Path, PathBuf},
};

mod folder;
#[cfg(test)]
mod tests;

use folder::Folder;
use rustix::{
    fs::{AtFlags, FileType, Mode, OFlags, Stat, mkdirat, openat, renameat, statat, unlinkat},
    io::Errno,
};

use super::nofollow::open_file;

const CREATE: OFlags = OFlags::WRONLY
    .union(OFlags::CREATE)
    .union(OFlags::EXCL)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

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
    pub(super) fn kind(&self, inside: &Path) -> io::Result<FileType> {
        Ok(FileType::from_raw_mode(self.stat(inside)?.st_mode))
    }

    /// True for a regular file with more than one name.
    pub(super) fn has_hard_links(&self, inside: &Path) -> bool {
        let is_file = |stat: &Stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        self.stat(inside).is_ok_and(|stat| is_file(&stat) && stat.st_nlink > 1)
    }

    fn stat(&self, inside: &Path) -> io::Result<Stat> {
        let place = self.place(inside)?;
        Ok(statat(&place.folder.0, place.name, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// Opens a regular file for reading.
    pub(super) fn open_read(&self, inside: &Path) -> io::Result<File> {
        let place = self.place(inside)?;
        open_file(&place.folder.0, place.name)
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
        let access = Mode::from_raw_mode(if mode.is_some() { 0o600 } else { 0o666 });
        let mut file = File::from(openat(&folder.0, temporary, CREATE, access)?);
        let created = (|| {
            file.write_all(bytes)?;
            mode.map_or(Ok(()), |mode| set_mode(&file, mode))?;
            file.sync_all()?;
            drop(file);
            folder.rename_to_free(temporary, &folder, name)
        })();
        if created.is_err() {
            let _ = unlinkat(&folder.0, temporary, AtFlags::empty());
        }
        created
    }

    /// Replaces a file atomically: a temporary file next to it, then a rename. Keeps the permissions.
    pub(super) fn replace(&self, inside: &Path, read: &File, bytes: &[u8]) -> io::Result<Done> {
        let place = self.place(inside)?;
        let temporary = temporary_name();
        let temporary = OsStr::new(&temporary);
        let private = Mode::from_raw_mode(0o600);
        let folder = &place.folder.0;
        let mut file = File::from(openat(folder, temporary, CREATE, private)?);
        let replaced = (|| {
            file.write_all(bytes)?;
            set_mode(&file, mode_of(&read.metadata()?))?;
            file.sync_all()?;
            drop(file);
            if !place.is_unchanged(read)? {
                return Ok(Done::Changed);
            }
            renameat(folder, temporary, folder, place.name)?;
            Ok(Done::Done)
        })();
        if !matches!(replaced, Ok(Done::Done)) {
            let _ = unlinkat(folder, temporary, AtFlags::empty());
        }
        replaced
    }

    /// Removes the file that was read.
    pub(super) fn remove(&self, inside: &Path, read: &File) -> io::Result<Done> {
        let place = self.place(inside)?;
        if !place.is_unchanged(read)? {
            return Ok(Done::Changed);
        }
        unlinkat(&place.folder.0, place.name, AtFlags::empty())?;
        Ok(Done::Done)
    }

    /// Removes an empty folder.
    pub(super) fn remove_empty(&self, inside: &Path) -> io::Result<()> {
        let place = self.place(inside)?;
        Ok(unlinkat(&place.folder.0, place.name, AtFlags::REMOVEDIR)?)
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
        let mut at = self.held.open_below(&[])?;
        for name in plain_names(inside)? {
            match mkdirat(&at.0, name, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
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
        let now = open_file(&self.folder.0, self.name)?.metadata()?;
        Ok(stamp(&read.metadata()?) == stamp(&now) && now.nlink() == 1)
    }
}

/// Device and number of a file, its size and the time of its last write; independent of its path.
fn stamp(data: &Metadata) -> (u64, u64, u64, i64, i64) {
    (data.dev(), data.ino(), data.len(), data.mtime(), data.mtime_nsec())
}

/// Permission bits of a file.
pub(super) fn mode_of(metadata: &Metadata) -> u32 {
    metadata.mode() & 0o7777
}

fn set_mode(file: &File, mode: u32) -> io::Result<()> {
    file.set_permissions(Permissions::from_mode(mode))
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

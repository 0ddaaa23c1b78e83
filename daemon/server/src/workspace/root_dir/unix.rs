//! Implementation by descriptors: `openat2` where available, else folder by folder.

use std::{
    ffi::OsStr,
    fs::{File, Metadata, Permissions},
    io::{self, Write},
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::fs::{MetadataExt, PermissionsExt},
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat, mkdirat, openat, statat, unlinkat},
    io::Errno,
};

use super::{Done, Kind, not_regular, parent, plain_names, temporary_name};

/// Folder by handle, independent of its current path. Paths below it are plain names.
#[derive(Debug)]
pub(in crate::workspace) struct RootDir {
    held: OwnedFd,
    path: PathBuf,
}

/// Flags for a handle that needs no right to list the folder.
const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC).union(PLACE);
#[cfg(target_os = "linux")]
const PLACE: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const PLACE: OFlags = OFlags::RDONLY;

/// Flags for files: a pipe without a writer must not block, and a terminal must not become the controlling one.
const READ: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

const CREATE: OFlags = OFlags::WRONLY
    .union(OFlags::CREATE)
    .union(OFlags::EXCL)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

impl RootDir {
    /// Opens a folder. Its path may have links, because the user chose it.
    pub(in crate::workspace) fn open(path: &Path) -> io::Result<Self> {
        let held = openat(CWD, path, FOLDER, Mode::empty())?;
        Ok(Self { held, path: path.to_owned() })
    }

    /// False if its path now leads to another folder, or to none.
    pub(in crate::workspace) fn is_in_place(&self) -> bool {
        let held = rustix::fs::fstat(&self.held);
        let there = statat(CWD, &self.path, AtFlags::empty());
        matches!((held, there), (Ok(held), Ok(there)) if is_same(&held, &there))
    }

    /// Kind of the entry at a path. Does not follow a link there.
    pub(in crate::workspace) fn kind(&self, inside: &Path) -> io::Result<Kind> {
        Ok(kind(file_type(&self.stat(inside)?)))
    }

    /// True for a regular file with more than one name.
    pub(in crate::workspace) fn has_hard_links(&self, inside: &Path) -> bool {
        self.stat(inside)
            .is_ok_and(|stat| file_type(&stat) == FileType::RegularFile && stat.st_nlink > 1)
    }

    fn stat(&self, inside: &Path) -> io::Result<Stat> {
        let place = self.place(inside)?;
        Ok(statat(&place.folder, place.name, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// Opens a regular file for reading.
    pub(in crate::workspace) fn open_read(&self, inside: &Path) -> io::Result<File> {
        self.place(inside)?.open_read()
    }

    /// Creates a file with this text, and missing folders. Fails if the path exists.
    pub(in crate::workspace) fn create_new(&self, inside: &Path, bytes: &[u8]) -> io::Result<()> {
        self.make_dirs(parent(inside))?;
        let place = self.place(inside)?;
        let mut file = place.create(place.name, Mode::from_raw_mode(0o666))?;
        let written = file.write_all(bytes);
        if written.is_err() {
            // Created here and incomplete.
            let _ = unlinkat(&place.folder, place.name, AtFlags::empty());
        }
        written
    }

    /// Replaces a file atomically: a temporary file beside it, then a rename. Keeps the permissions.
    pub(in crate::workspace) fn replace(
        &self,
        inside: &Path,
        read: File,
        bytes: &[u8],
    ) -> io::Result<Done> {
        let read = &read;
        let place = self.place(inside)?;
        let temporary = temporary_name();
        let temporary = OsStr::new(&temporary);
        let mut file = place.create(temporary, Mode::from_raw_mode(0o600))?;
        let replaced = (|| {
            file.write_all(bytes)?;
            let mode = read.metadata()?.mode() & 0o7777;
            file.set_permissions(Permissions::from_mode(mode))?;
            file.sync_all()?;
            if !place.is_still(read)? {
                return Ok(Done::Changed);
            }
            rustix::fs::renameat(&place.folder, temporary, &place.folder, place.name)?;
            Ok(Done::Done)
        })();
        if !matches!(replaced, Ok(Done::Done)) {
            let _ = unlinkat(&place.folder, temporary, AtFlags::empty());
        }
        replaced
    }

    /// Removes the file that was read.
    pub(in crate::workspace) fn remove(&self, inside: &Path, read: &File) -> io::Result<Done> {
        let place = self.place(inside)?;
        if !place.is_still(read)? {
            return Ok(Done::Changed);
        }
        unlinkat(&place.folder, place.name, AtFlags::empty())?;
        Ok(Done::Done)
    }

    /// Removes an empty folder.
    pub(in crate::workspace) fn remove_empty(&self, inside: &Path) -> io::Result<()> {
        let place = self.place(inside)?;
        Ok(unlinkat(&place.folder, place.name, AtFlags::REMOVEDIR)?)
    }

    /// Moves the file that was read to a free path in this folder or another one. Creates missing
    /// folders.
    pub(in crate::workspace) fn rename(
        &self,
        inside: &Path,
        read: &File,
        to: &RootDir,
        to_inside: &Path,
    ) -> io::Result<Done> {
        to.make_dirs(parent(to_inside))?;
        let (from, to) = (self.place(inside)?, to.place(to_inside)?);
        if !from.is_still(read)? {
            return Ok(Done::Changed);
        }
        match rename_to_nothing(&from, &to) {
            Err(Errno::EXIST) => Ok(Done::Changed),
            Err(error) => Err(error.into()),
            Ok(()) => Ok(Done::Done),
        }
    }

    /// Creates the missing folders of a path.
    fn make_dirs(&self, inside: &Path) -> io::Result<()> {
        let mut at = self.held.try_clone()?;
        for name in plain_names(inside)? {
            match mkdirat(&at, name, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            at = openat(&at, name, FOLDER | OFlags::NOFOLLOW, Mode::empty())?;
        }
        Ok(())
    }

    /// Open parent folder of a path, and the name in it.
    fn place<'a>(&self, inside: &'a Path) -> io::Result<Place<'a>> {
        let names = plain_names(inside)?;
        let Some((name, folders)) = names.split_last() else {
            return Err(io::ErrorKind::IsADirectory.into());
        };
        let folder = match folders {
            [] => self.held.try_clone()?,
            folders => self.folder(folders)?,
        };
        Ok(Place { folder, name })
    }

    fn folder(&self, names: &[&OsStr]) -> io::Result<OwnedFd> {
        #[cfg(target_os = "linux")]
        match open_beneath(self.held.as_fd(), names) {
            // An older kernel or filter without the call, or a folder was moved meanwhile.
            Err(Errno::NOSYS | Errno::PERM | Errno::INVAL | Errno::AGAIN) => {}
            opened => return Ok(opened?),
        }
        Ok(step_by_step(self.held.as_fd(), names)?)
    }
}

/// Name in an open folder.
struct Place<'a> {
    folder: OwnedFd,
    name: &'a OsStr,
}

impl Place<'_> {
    /// Checks the kind before it opens: opening a device may have an effect.
    fn open_read(&self) -> io::Result<File> {
        let stat = statat(&self.folder, self.name, AtFlags::SYMLINK_NOFOLLOW)?;
        if file_type(&stat) != FileType::RegularFile {
            return Err(not_regular());
        }
        let file = File::from(openat(&self.folder, self.name, READ, Mode::empty())?);
        if !file.metadata()?.is_file() {
            return Err(not_regular());
        }
        Ok(file)
    }

    fn create(&self, name: &OsStr, mode: Mode) -> io::Result<File> {
        Ok(File::from(openat(&self.folder, name, CREATE, mode)?))
    }

    /// True if the file that was read is there, unchanged and without other names.
    fn is_still(&self, read: &File) -> io::Result<bool> {
        let (then, now) = (read.metadata()?, self.open_read()?.metadata()?);
        let mark =
            |meta: &Metadata| (meta.dev(), meta.ino(), meta.len(), meta.mtime(), meta.mtime_nsec());
        Ok(mark(&then) == mark(&now) && now.nlink() == 1)
    }
}

#[cfg(target_os = "linux")]
fn open_beneath(held: BorrowedFd<'_>, names: &[&OsStr]) -> Result<OwnedFd, Errno> {
    use rustix::fs::{ResolveFlags, openat2};
    let path: PathBuf = names.iter().collect();
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    openat2(held, path, FOLDER, Mode::empty(), resolve)
}

fn step_by_step(held: BorrowedFd<'_>, names: &[&OsStr]) -> Result<OwnedFd, Errno> {
    let mut at: Option<OwnedFd> = None;
    for name in names {
        let from = at.as_ref().map_or(held, AsFd::as_fd);
        at = Some(openat(from, *name, FOLDER | OFlags::NOFOLLOW, Mode::empty())?);
    }
    at.ok_or(Errno::INVAL)
}

fn rename_to_nothing(from: &Place<'_>, to: &Place<'_>) -> Result<(), Errno> {
    #[cfg(any(target_os = "linux", target_vendor = "apple"))]
    {
        use rustix::fs::{RenameFlags, renameat_with};
        let flags = RenameFlags::NOREPLACE;
        match renameat_with(&from.folder, from.name, &to.folder, to.name, flags) {
            // The file system does not support it.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
            done => return done,
        }
    }
    match statat(&to.folder, to.name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => rustix::fs::renameat(&from.folder, from.name, &to.folder, to.name),
        Err(error) => Err(error),
        Ok(_) => Err(Errno::EXIST),
    }
}

fn is_same(a: &Stat, b: &Stat) -> bool {
    (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino)
}

fn kind(found: FileType) -> Kind {
    match found {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Folder,
        FileType::Symlink => Kind::Link,
        FileType::Fifo => Kind::Pipe,
        FileType::Socket => Kind::Socket,
        FileType::BlockDevice | FileType::CharacterDevice => Kind::Device,
        FileType::Unknown => Kind::Other,
    }
}

fn file_type(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

#[cfg(test)]
mod tests;

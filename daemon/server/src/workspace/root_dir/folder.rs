//! Single steps in an open folder, by its descriptor.

use std::{
    ffi::OsStr,
    fs::File,
    io,
    os::{fd::OwnedFd, unix::fs::MetadataExt},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{
        AtFlags, CWD, FileType, Mode, OFlags, Stat, fstat, mkdirat, openat, renameat, statat,
        unlinkat,
    },
    io::Errno,
};

use super::entry::{FileStamp, Kind, NewFileAccess};
use crate::workspace::nofollow::{FOLDER, open_file, open_folder};

const CREATE: OFlags = OFlags::WRONLY
    .union(OFlags::CREATE)
    .union(OFlags::EXCL)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Open folder.
#[derive(Debug)]
pub(super) struct Folder(OwnedFd);

impl Folder {
    /// Opens a folder by its path, which may have links.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(openat(CWD, path, FOLDER, Mode::empty())?))
    }

    pub(super) fn try_clone(&self) -> io::Result<Self> {
        Ok(Self(self.0.try_clone()?))
    }

    /// Opens a folder below this one. Follows no link.
    pub(super) fn open_below(&self, names: &[&OsStr]) -> io::Result<Self> {
        if names.is_empty() {
            return self.try_clone();
        }
        let path: PathBuf = names.iter().collect();
        Ok(Self(open_folder(&self.0, &path, FOLDER)?))
    }

    /// True if both are the same folder.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let identity = |stat: Stat| (stat.st_dev, stat.st_ino);
        let (one, other) = (fstat(&self.0).map(identity), fstat(&other.0).map(identity));
        one.is_ok() && one == other
    }

    pub(super) fn create_folder(&self, name: &OsStr) -> io::Result<()> {
        Ok(mkdirat(&self.0, name, Mode::from_raw_mode(0o777))?)
    }

    /// Kind of an entry. Does not follow a link.
    pub(super) fn kind(&self, name: &OsStr) -> io::Result<Kind> {
        let stat = statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Kind::File,
            FileType::Directory => Kind::Folder,
            FileType::Symlink => Kind::Link,
            FileType::Fifo => Kind::Pipe,
            FileType::Socket => Kind::Socket,
            FileType::BlockDevice | FileType::CharacterDevice => Kind::Device,
            FileType::Unknown => Kind::Other,
        })
    }

    /// Number of names of a regular file; 0 for anything else.
    pub(super) fn file_names(&self, name: &OsStr) -> io::Result<u64> {
        let stat = statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        #[allow(clippy::unnecessary_cast, reason = "the type differs between systems")]
        Ok(if is_file { stat.st_nlink as u64 } else { 0 })
    }

    /// Opens a regular file for reading. Does not follow a link.
    pub(super) fn open_file(&self, name: &OsStr) -> io::Result<File> {
        open_file(&self.0, name)
    }

    /// Creates a file. Fails if the name exists.
    pub(super) fn create_file(&self, name: &OsStr, access: NewFileAccess) -> io::Result<File> {
        let mode = match access {
            NewFileAccess::Private => Mode::from_raw_mode(0o600),
            NewFileAccess::Default => Mode::from_raw_mode(0o666),
        };
        Ok(File::from(openat(&self.0, name, CREATE, mode)?))
    }

    pub(super) fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        Ok(unlinkat(&self.0, name, AtFlags::empty())?)
    }

    /// Removes an empty folder.
    pub(super) fn remove_folder(&self, name: &OsStr) -> io::Result<()> {
        Ok(unlinkat(&self.0, name, AtFlags::REMOVEDIR)?)
    }

    /// Renames a file within this folder, and replaces the one at the new name.
    pub(super) fn replace_file(&self, name: &OsStr, new_name: &OsStr) -> io::Result<()> {
        Ok(renameat(&self.0, name, &self.0, new_name)?)
    }

    /// Moves a file to a name that must be free.
    pub(super) fn rename_to_free(
        &self,
        name: &OsStr,
        to: &Self,
        to_name: &OsStr,
    ) -> io::Result<()> {
        #[cfg(any(target_os = "linux", target_vendor = "apple"))]
        {
            use rustix::fs::{RenameFlags, renameat_with};
            match renameat_with(&self.0, name, &to.0, to_name, RenameFlags::NOREPLACE) {
                // The file system does not support it.
                Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
                done => return Ok(done?),
            }
        }
        match statat(&to.0, to_name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => Ok(renameat(&self.0, name, &to.0, to_name)?),
            Err(error) => Err(error.into()),
            Ok(_) => Err(Errno::EXIST.into()),
        }
    }

    /// State of an open file, and the number of its names.
    pub(super) fn state(file: &File) -> io::Result<(FileStamp, u64)> {
        let data = file.metadata()?;
        let state = FileStamp {
            identity: (data.dev(), data.ino()),
            size: data.len(),
            modified: (data.mtime(), data.mtime_nsec()),
        };
        Ok((state, data.nlink()))
    }
}

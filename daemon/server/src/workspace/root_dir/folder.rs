//! Open folder, by its descriptor.

use std::{
    ffi::OsStr,
    io,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, CWD, Mode, Stat, fstat, openat, renameat, statat},
    io::Errno,
};

use crate::workspace::nofollow::{FOLDER, open_folder};

/// Open folder.
#[derive(Debug)]
pub(super) struct Folder(pub(super) OwnedFd);

impl Folder {
    /// Opens a folder by its path, which may have links.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(openat(CWD, path, FOLDER, Mode::empty())?))
    }

    /// Opens a folder below this one, or this one again. Follows no link.
    pub(super) fn open_below(&self, names: &[&OsStr]) -> io::Result<Self> {
        let path: PathBuf = names.iter().collect();
        Ok(Self(open_folder(&self.0, &path, FOLDER)?))
    }

    /// True if both are the same folder.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let identity = |stat: Stat| (stat.st_dev, stat.st_ino);
        let (one, other) = (fstat(&self.0).map(identity), fstat(&other.0).map(identity));
        one.is_ok() && one == other
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
}

//! Folders on Windows, by handles (cap-std). An open folder cannot be renamed or removed, so that it
//! cannot be swapped for a link.

use std::{ffi::OsStr, fs::File, io, path::Path};

use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt};
use cap_std::{
    ambient_authority,
    fs::{Dir, OpenOptions},
};
use winapi_util::file::information;

use super::entry::{FileStamp, Kind, NewFileAccess};

/// Open folder.
#[derive(Debug)]
pub(super) struct Folder(Dir);

impl Folder {
    /// Opens a folder by its path, which may have links.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(Dir::open_ambient_dir(path, ambient_authority())?))
    }

    pub(super) fn try_clone(&self) -> io::Result<Self> {
        Ok(Self(self.0.try_clone()?))
    }

    /// Opens a folder below this one. Follows no link.
    pub(super) fn open_below(&self, names: &[&OsStr]) -> io::Result<Self> {
        let mut folder = self.0.try_clone()?;
        for name in names {
            folder = folder.open_dir_nofollow(name)?;
        }
        Ok(Self(folder))
    }

    /// True if both are the same folder.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let identity = |folder: &Dir| -> io::Result<_> {
            let found = information(folder.try_clone()?.into_std_file())?;
            Ok((found.volume_serial_number(), found.file_index()))
        };
        matches!((identity(&self.0), identity(&other.0)), (Ok(one), Ok(other)) if one == other)
    }

    pub(super) fn create_folder(&self, name: &OsStr) -> io::Result<()> {
        self.0.create_dir(name)
    }

    /// Kind of an entry. Does not follow a link.
    pub(super) fn kind(&self, name: &OsStr) -> io::Result<Kind> {
        let found = self.0.symlink_metadata(name)?.file_type();
        Ok(if found.is_symlink() {
            Kind::Link
        } else if found.is_dir() {
            Kind::Folder
        } else if found.is_file() {
            Kind::File
        } else {
            Kind::Other
        })
    }

    /// Number of names of a regular file.
    pub(super) fn file_names(&self, name: &OsStr) -> io::Result<u64> {
        Ok(information(self.open_file(name)?)?.number_of_links())
    }

    /// Opens a regular file for reading. Does not follow a link. The kind is checked before the file
    /// is opened too, because opening a device may have an effect.
    pub(super) fn open_file(&self, name: &OsStr) -> io::Result<File> {
        if !self.0.symlink_metadata(name)?.is_file() {
            return Err(not_regular());
        }
        let mut options = OpenOptions::new();
        options.read(true).follow(FollowSymlinks::No);
        let file = self.0.open_with(name, &options)?.into_std();
        if file.metadata()?.is_file() { Ok(file) } else { Err(not_regular()) }
    }

    /// Creates a file. Fails if the name exists.
    pub(super) fn create_file(&self, name: &OsStr, _: NewFileAccess) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).follow(FollowSymlinks::No);
        Ok(self.0.open_with(name, &options)?.into_std())
    }

    pub(super) fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        self.0.remove_file(name)
    }

    /// Removes an empty folder.
    pub(super) fn remove_folder(&self, name: &OsStr) -> io::Result<()> {
        self.0.remove_dir(name)
    }

    /// Renames a file within this folder, and replaces the one at the new name.
    pub(super) fn replace_file(&self, name: &OsStr, new_name: &OsStr) -> io::Result<()> {
        self.0.rename(name, &self.0, new_name)
    }

    /// Moves a file to a name that must be free. No call does both at once: a file that is created at
    /// the new name between the check and the move is lost.
    pub(super) fn rename_to_free(
        &self,
        name: &OsStr,
        to: &Self,
        to_name: &OsStr,
    ) -> io::Result<()> {
        match to.0.symlink_metadata(to_name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
            Ok(_) => return Err(io::ErrorKind::AlreadyExists.into()),
        }
        self.0.rename(name, &to.0, to_name)
    }

    /// State of an open file, and the number of its names.
    pub(super) fn state(file: &File) -> io::Result<(FileStamp, u64)> {
        let found = information(file)?;
        let modified = found.last_write_time().unwrap_or_default();
        let state = FileStamp {
            identity: (found.volume_serial_number(), found.file_index()),
            size: found.file_size(),
            modified: (modified.cast_signed(), 0),
        };
        Ok((state, found.number_of_links()))
    }
}

fn not_regular() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")
}

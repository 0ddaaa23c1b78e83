//! Implementation by handles (cap-std), folder by folder. An open folder cannot be renamed or removed, so
//! that it cannot be swapped for a link.

use std::{
    ffi::OsStr,
    fs::File,
    io::{self, Write},
    path::{Path, PathBuf},
};

use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt};
use cap_std::{
    ambient_authority,
    fs::{Dir, OpenOptions},
};
use winapi_util::file::information;

use super::{Done, Kind, not_regular, parent, plain_names, temporary_name};

/// Folder by handle, independent of its current path. Paths below it are plain names.
#[derive(Debug)]
pub(in crate::workspace) struct RootDir {
    held: Dir,
    path: PathBuf,
}

impl RootDir {
    /// Opens a folder. Its path may have links, because the user chose it.
    pub(in crate::workspace) fn open(path: &Path) -> io::Result<Self> {
        let held = Dir::open_ambient_dir(path, ambient_authority())?;
        Ok(Self { held, path: path.to_owned() })
    }

    /// False if its path now leads to another folder, or to none.
    pub(in crate::workspace) fn is_in_place(&self) -> bool {
        let there = Dir::open_ambient_dir(&self.path, ambient_authority());
        let held = self.held.try_clone().and_then(identity);
        matches!((held, there.and_then(identity)), (Ok(held), Ok(there)) if held == there)
    }

    /// Kind of the entry at a path. Does not follow a link there.
    pub(in crate::workspace) fn kind(&self, inside: &Path) -> io::Result<Kind> {
        let place = self.place(inside)?;
        let found = place.folder.symlink_metadata(place.name)?.file_type();
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

    /// True for a regular file with more than one name.
    pub(in crate::workspace) fn has_hard_links(&self, inside: &Path) -> bool {
        let found = self.open_read(inside).and_then(information);
        found.is_ok_and(|found| found.number_of_links() > 1)
    }

    /// Opens a regular file for reading.
    pub(in crate::workspace) fn open_read(&self, inside: &Path) -> io::Result<File> {
        self.place(inside)?.open_read()
    }

    /// Creates a file with this text, and missing folders. Fails if the path exists.
    pub(in crate::workspace) fn create_new(&self, inside: &Path, bytes: &[u8]) -> io::Result<()> {
        self.make_dirs(parent(inside))?;
        let place = self.place(inside)?;
        let written = place.create(place.name)?.write_all(bytes);
        if written.is_err() {
            // Created here and incomplete.
            let _ = place.folder.remove_file(place.name);
        }
        written
    }

    /// Replaces a file atomically: a temporary file beside it, then a rename. The file gets the access
    /// rules that the folder gives to new files.
    pub(in crate::workspace) fn replace(
        &self,
        inside: &Path,
        read: File,
        bytes: &[u8],
    ) -> io::Result<Done> {
        let place = self.place(inside)?;
        let temporary = temporary_name();
        let temporary = OsStr::new(&temporary);
        let mut file = place.create(temporary)?;
        let replaced = (|| {
            file.write_all(bytes)?;
            file.sync_all()?;
            drop(file);
            if !place.is_still(&read)? {
                return Ok(Done::Changed);
            }
            // Not every file system replaces a file that is open.
            drop(read);
            place.folder.rename(temporary, &place.folder, place.name)?;
            Ok(Done::Done)
        })();
        if !matches!(replaced, Ok(Done::Done)) {
            let _ = place.folder.remove_file(temporary);
        }
        replaced
    }

    /// Removes the file that was read.
    pub(in crate::workspace) fn remove(&self, inside: &Path, read: &File) -> io::Result<Done> {
        let place = self.place(inside)?;
        if !place.is_still(read)? {
            return Ok(Done::Changed);
        }
        place.folder.remove_file(place.name)?;
        Ok(Done::Done)
    }

    /// Removes an empty folder.
    pub(in crate::workspace) fn remove_empty(&self, inside: &Path) -> io::Result<()> {
        let place = self.place(inside)?;
        place.folder.remove_dir(place.name)
    }

    /// Moves the file that was read to where nothing is, in this folder or another one; missing
    /// folders are made. There is no call that moves and replaces nothing: what comes to be there
    /// between the look and the move is lost.
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
        match to.folder.symlink_metadata(to.name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
            Ok(_) => return Ok(Done::Changed),
        }
        from.folder.rename(from.name, &to.folder, to.name)?;
        Ok(Done::Done)
    }

    /// Creates the missing folders of a path.
    fn make_dirs(&self, inside: &Path) -> io::Result<()> {
        let mut at = self.held.try_clone()?;
        for name in plain_names(inside)? {
            match at.create_dir(name) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
            at = at.open_dir_nofollow(name)?;
        }
        Ok(())
    }

    /// Open parent folder of a path, and the name in it.
    fn place<'a>(&self, inside: &'a Path) -> io::Result<Place<'a>> {
        let names = plain_names(inside)?;
        let Some((name, folders)) = names.split_last() else {
            return Err(io::ErrorKind::IsADirectory.into());
        };
        let mut folder = self.held.try_clone()?;
        for name in folders {
            folder = folder.open_dir_nofollow(name)?;
        }
        Ok(Place { folder, name })
    }
}

/// Name in an open folder.
struct Place<'a> {
    folder: Dir,
    name: &'a OsStr,
}

impl Place<'_> {
    /// Checks the kind before it opens: opening a device may have an effect.
    fn open_read(&self) -> io::Result<File> {
        if !self.folder.symlink_metadata(self.name)?.is_file() {
            return Err(not_regular());
        }
        let mut options = OpenOptions::new();
        options.read(true).follow(FollowSymlinks::No);
        let file = self.folder.open_with(self.name, &options)?.into_std();
        if !file.metadata()?.is_file() {
            return Err(not_regular());
        }
        Ok(file)
    }

    fn create(&self, name: &OsStr) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).follow(FollowSymlinks::No);
        Ok(self.folder.open_with(name, &options)?.into_std())
    }

    /// True if the file that was read is there, unchanged and without other names.
    fn is_still(&self, read: &File) -> io::Result<bool> {
        let mark = |file: &File| -> io::Result<_> {
            let found = information(file)?;
            let which = (found.volume_serial_number(), found.file_index());
            let how = (found.file_size(), found.last_write_time());
            Ok((which, how, found.number_of_links()))
        };
        let (then, now) = (mark(read)?, mark(&self.open_read()?)?);
        Ok((then.0, then.1) == (now.0, now.1) && now.2 == 1)
    }
}

/// Identity of a folder, independent of its path.
fn identity(folder: Dir) -> io::Result<(u64, u64)> {
    let found = information(folder.into_std_file())?;
    Ok((found.volume_serial_number(), found.file_index()))
}

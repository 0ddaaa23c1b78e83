//! Modes keep others out: folders are made 0700 and files 0600.

use std::{
    fs::{DirBuilder, File, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt},
    path::Path,
};

use rustix::fs::OFlags;

/// Follows no link, waits for no pipe.
pub(in crate::store) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    options.mode(0o600).custom_flags(flags.bits().cast_signed());
    options
}

/// For reading, and for writing behind the end.
pub(in crate::store) fn appending() -> OpenOptions {
    let mut options = private();
    options.read(true).append(true);
    options
}

/// An open file has no name any more.
pub(in crate::store) fn is_removed(file: &File, _path: &Path) -> io::Result<bool> {
    Ok(file.metadata()?.nlink() == 0)
}

pub(in crate::store) fn read_exact_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    file.read_exact_at(bytes, at)
}

/// Makes a folder and those above it that are missing, for nobody else to see.
pub(in crate::store) fn create_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Makes renames in a folder last.
pub(in crate::store) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

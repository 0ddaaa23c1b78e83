//! Private files by mode: 0700 for folders and 0600 for files.

use std::{
    fs::{DirBuilder, File, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt},
    path::Path,
};

use rustix::fs::OFlags;

/// Options for a private file. Opening does not follow a link and does not block on a pipe.
pub(in crate::store) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    options.mode(0o600).custom_flags(flags.bits().cast_signed());
    options
}

/// Options for reading, and for writing at the end.
pub(in crate::store) fn appending() -> OpenOptions {
    let mut options = private();
    options.read(true).append(true);
    options
}

/// True if the open file was removed.
pub(in crate::store) fn is_removed(file: &File, _path: &Path) -> io::Result<bool> {
    Ok(file.metadata()?.nlink() == 0)
}

pub(in crate::store) fn read_exact_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    file.read_exact_at(bytes, at)
}

/// Creates a private folder and its missing parents.
pub(in crate::store) fn create_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Makes renames in a folder durable.
pub(in crate::store) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

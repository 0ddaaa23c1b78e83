//! Private files, opened without following links: mode 0700 for folders and 0600 for files.
//!
//! Only for Cairn's own files, never for files of the user.

use std::{
    fs::{DirBuilder, File, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::Path,
};

use rustix::fs::OFlags;

/// Options for a private file. Opening does not follow a link and does not block on a pipe.
pub(super) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    options.mode(0o600).custom_flags(flags.bits().cast_signed());
    options
}

/// Options for reading, and for writing at the end.
pub(super) fn appending() -> OpenOptions {
    let mut options = private();
    options.read(true).append(true);
    options
}

/// True if the open file was removed.
pub(super) fn is_removed(file: &File) -> io::Result<bool> {
    Ok(file.metadata()?.nlink() == 0)
}

/// Creates a private folder and its missing parents.
pub(super) fn create_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Makes renames in a folder durable.
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

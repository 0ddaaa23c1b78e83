//! Private files by inheritance: they have the access rules of the user's profile folder.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::windows::fs::{FileExt, OpenOptionsExt},
    path::Path,
};

/// `FILE_FLAG_OPEN_REPARSE_POINT`: opens a link itself, which is not a regular file.
const NO_LINK: u32 = 0x0020_0000;

/// Options for a private file. Opening does not follow a link.
pub(in crate::store) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.custom_flags(NO_LINK);
    options
}

/// Options for reading, and for writing at the file position. A file opened only for appending
/// cannot be truncated on Windows.
pub(in crate::store) fn appending() -> OpenOptions {
    let mut options = private();
    options.read(true).write(true);
    options
}

/// True if the open file was removed.
pub(in crate::store) fn is_removed(_file: &File, path: &Path) -> io::Result<bool> {
    Ok(!path.try_exists()?)
}

pub(in crate::store) fn read_exact_at(
    file: &File,
    mut bytes: &mut [u8],
    mut at: u64,
) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.seek_read(bytes, at) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => {
                bytes = &mut bytes[read..];
                at += read as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

pub(in crate::store) fn create_folder(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

/// Does nothing: Windows has no such call and journals the names of files itself.
pub(in crate::store) fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}

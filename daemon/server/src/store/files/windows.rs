//! The folder of the user's profile keeps others out: what is made in it has its access rules.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::windows::fs::{FileExt, OpenOptionsExt},
    path::Path,
};

/// `FILE_FLAG_OPEN_REPARSE_POINT`: a link itself is opened, which is no regular file.
const NO_LINK: u32 = 0x0020_0000;

/// Follows no link.
pub(in crate::store) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.custom_flags(NO_LINK);
    options
}

/// For reading, and for writing where the file stands: a file that is opened for appending alone
/// cannot be made shorter here.
pub(in crate::store) fn appending() -> OpenOptions {
    let mut options = private();
    options.read(true).write(true);
    options
}

/// An open file has its name no more.
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

/// The system has no way to ask for it: it keeps the names of files in a journal of its own.
pub(in crate::store) fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}

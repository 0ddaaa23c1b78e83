//! Private files, opened without following links: mode 0700 for folders and 0600 for files.
//!
//! Only for Cairn's own files, never for files of the user.

use std::{
    fs::{DirBuilder, File, OpenOptions, TryLockError},
    io::{self, ErrorKind, Read, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::Path,
    thread,
    time::{Duration, Instant},
};

use rustix::fs::OFlags;
use tempfile::NamedTempFile;

const LOCK_POLL: Duration = Duration::from_millis(2);

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

/// Opens a regular file.
pub(super) fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let file = options.open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidData, "is not a regular file"));
    }
    Ok(file)
}

/// Reads a text file. Fails with `InvalidData` if it is no file of text, or has more than `most` bytes.
pub(super) fn read_text(path: &Path, most: u64) -> io::Result<String> {
    let file = open(path, private().read(true))?;
    let length = file.metadata()?.len();
    if length > most {
        return Err(io::Error::new(ErrorKind::InvalidData, format!("is {length} bytes long")));
    }
    let mut text = String::new();
    file.take(most).read_to_string(&mut text)?;
    Ok(text)
}

/// Locks a file, which is created for it. `None`: another process holds it for longer than `wait`.
pub(super) fn lock(path: &Path, wait: Duration) -> io::Result<Option<File>> {
    let file = open(path, private().read(true).write(true).create(true).truncate(false))?;
    let deadline = Instant::now() + wait;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Some(file)),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => thread::sleep(LOCK_POLL),
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// Replaces a file as a whole. Durable when it returns.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().ok_or(ErrorKind::InvalidInput)?;
    // Made 0600.
    let mut file = NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    sync_folder(folder)
}

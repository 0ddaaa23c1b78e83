//! Opening of folders and files below an open folder, without following a link. A link in the path
//! is an error, so a path that is swapped for a link leads nowhere.

use std::{
    ffi::OsStr,
    fs::File,
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::Path,
};

use rustix::{
    fs::{AtFlags, FileType, Mode, OFlags, openat, statat},
    io::Errno,
};

/// Access of a handle that only serves to open paths below it. On Linux it needs no right to list the
/// folder.
#[cfg(target_os = "linux")]
const ACCESS: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const ACCESS: OFlags = OFlags::RDONLY;

/// Flags of a handle to open paths below a folder.
pub(crate) const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC).union(ACCESS);

/// Flags for a file: opening a pipe must not block, and a terminal must not become the controlling one.
const FILE: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// Opens a folder below an open one: by `openat2` where the kernel has it, else folder by folder.
/// `path` has plain names only; empty for the open folder itself.
pub(crate) fn open_folder(root: impl AsFd, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    if path.as_os_str().is_empty() {
        return Ok(openat(root, ".", flags, Mode::empty())?);
    }
    #[cfg(target_os = "linux")]
    match open_at_once(root.as_fd(), path, flags) {
        // The kernel is older, a filter forbids this call, or a folder was moved.
        Err(Errno::NOSYS | Errno::PERM | Errno::INVAL | Errno::AGAIN) => {}
        opened => return Ok(opened?),
    }
    Ok(open_step_by_step(root.as_fd(), path, flags)?)
}

#[cfg(target_os = "linux")]
fn open_at_once(root: BorrowedFd, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    use rustix::fs::{ResolveFlags, openat2};
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    openat2(root, path, flags, Mode::empty(), resolve)
}

fn open_step_by_step(root: BorrowedFd, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let mut names = path.components().peekable();
    let mut opened: Option<OwnedFd> = None;
    while let Some(name) = names.next() {
        let flags = if names.peek().is_none() { flags } else { FOLDER };
        let folder = opened.as_ref().map_or(root, AsFd::as_fd);
        opened = Some(openat(folder, name.as_os_str(), flags | OFlags::NOFOLLOW, Mode::empty())?);
    }
    opened.ok_or(Errno::INVAL)
}

/// Opens a regular file in an open folder for reading. The kind is checked before the file is opened
/// too, because opening a device may have an effect.
pub(crate) fn open_file(folder: impl AsFd, name: &OsStr) -> io::Result<File> {
    let stat = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(not_regular());
    }
    let file = File::from(openat(&folder, name, FILE, Mode::empty())?);
    if file.metadata()?.is_file() { Ok(file) } else { Err(not_regular()) }
}

fn not_regular() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use rustix::fs::CWD;

    use super::*;

    #[test]
    fn no_folder_is_opened_through_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let ws = dir.path().join("ws");
        fs::create_dir_all(ws.join("sub/deep")).unwrap();
        fs::create_dir(dir.path().join("outside")).unwrap();
        fs::write(ws.join("sub/file"), "").unwrap();
        symlink(dir.path().join("outside"), ws.join("out")).unwrap();
        symlink("sub", ws.join("alias")).unwrap();
        symlink("/proc/self/root", ws.join("magic")).unwrap();
        let root = openat(CWD, &ws, FOLDER, Mode::empty()).unwrap();
        for (path, reachable) in [
            ("sub", true),
            ("sub/deep", true),
            ("out", false),
            ("alias", false),
            ("alias/deep", false),
            ("magic/etc", false),
            ("sub/file", false),
            ("missing", false),
        ] {
            let (root, at) = (root.as_fd(), Path::new(path));
            let opened = open_step_by_step(root, at, FOLDER);
            assert_eq!(opened.is_ok(), reachable, "{path}, step by step");
            #[cfg(target_os = "linux")]
            match open_at_once(root, at, FOLDER) {
                Err(Errno::NOSYS) => eprintln!("NOT TESTED: this kernel has no openat2"),
                opened => assert_eq!(opened.is_ok(), reachable, "{path}, by openat2"),
            }
        }
    }
}

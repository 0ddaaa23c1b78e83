//! Removal of a folder with its contents, however deep it is.
//!
//! Uses no recursion and few open files: a command can nest more folders than a process may open, or
//! than fit on its stack. Does not follow links.

use std::{
    ffi::{OsStr, OsString},
    io,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::Path,
};

use rustix::{
    fs::{AtFlags, CWD, Dir, Mode, OFlags, fchmod, openat, renameat, unlinkat},
    io::Errno,
};

const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW);

/// Removes a file, a link, or a folder with its contents, at a path.
pub(super) fn remove_tree_at(path: &Path) -> io::Result<()> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let parent = openat(CWD, parent, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    remove_tree(&parent, name)
}

/// Removes a file, a link, or a folder with its contents, by its name in an open folder.
///
/// A folder inside is moved to the top before its contents are removed, so that nothing is more than
/// two levels deep.
pub(super) fn remove_tree(parent: impl AsFd, name: &OsStr) -> io::Result<()> {
    let parent = parent.as_fd();
    if is_removed(parent, name)? {
        return Ok(());
    }
    let top = open(parent, name)?;
    let mut folders = Vec::new();
    for name in names(&top)? {
        if !is_removed(top.as_fd(), &name)? {
            folders.push(name);
        }
    }
    let (unique, mut moved) = (uuid::Uuid::now_v7().simple(), 0_u64);
    while let Some(folder) = folders.pop() {
        let inner = open(top.as_fd(), &folder)?;
        for name in names(&inner)? {
            if is_removed(inner.as_fd(), &name)? {
                continue;
            }
            moved += 1;
            let new = OsString::from(format!("{unique}-{moved}"));
            // Only a folder that its owner may write can be moved to another one.
            drop(open(inner.as_fd(), &name)?);
            renameat(&inner, &name, &top, &new)?;
            folders.push(new);
        }
        unlinkat(&top, &folder, AtFlags::REMOVEDIR)?;
    }
    Ok(unlinkat(parent, name, AtFlags::REMOVEDIR)?)
}

/// Removes an entry that is no folder. Returns false for a folder.
fn is_removed(folder: BorrowedFd, name: &OsStr) -> io::Result<bool> {
    match unlinkat(folder, name, AtFlags::empty()) {
        Ok(()) => Ok(true),
        Err(Errno::ISDIR | Errno::PERM) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Opens a folder, and gives its owner all rights to it.
fn open(parent: BorrowedFd, name: &OsStr) -> io::Result<OwnedFd> {
    let opened = match openat(parent, name, FOLDER, Mode::empty()) {
        Err(Errno::ACCESS) => {
            rustix::fs::chmodat(parent, name, Mode::RWXU, AtFlags::empty())?;
            openat(parent, name, FOLDER, Mode::empty())?
        }
        opened => opened?,
    };
    fchmod(&opened, Mode::RWXU)?;
    Ok(opened)
}

/// Names of the entries of an open folder.
pub(super) fn names(folder: &OwnedFd) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name != "." && name != ".." {
            names.push(name.to_owned());
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use super::*;

    #[test]
    fn a_tree_is_removed_however_deep_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let outside = dir.path().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("file"), "").unwrap();
        let tree = dir.path().join("tree");
        fs::create_dir(&tree).unwrap();
        let mut at = openat(CWD, &tree, FOLDER, Mode::empty()).unwrap();
        for _ in 0..15_000 {
            rustix::fs::mkdirat(&at, "d", Mode::RWXU).unwrap();
            rustix::fs::symlinkat(&outside, &at, "link").unwrap();
            at = openat(&at, "d", FOLDER, Mode::empty()).unwrap();
        }
        fs::create_dir_all(tree.join("closed/inner")).unwrap();
        for closed in ["closed/inner", "closed"] {
            fs::set_permissions(tree.join(closed), fs::Permissions::from_mode(0o000)).unwrap();
        }
        remove_tree_at(&tree).unwrap();
        assert!(!tree.exists());
        assert!(outside.join("file").exists());
        assert_eq!(remove_tree_at(&tree).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}

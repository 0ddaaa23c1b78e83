//! Paths with an upper-case drive letter, and without `\\?\` where that means the same.

use std::{
    borrow::Cow,
    fs, io,
    path::{Path, PathBuf},
};

use crate::workspace::uri;

/// Path with all links resolved.
pub fn canonical(path: &Path) -> io::Result<PathBuf> {
    dunce::canonicalize(path)
}

/// An error for a folder that is not on a drive.
pub(in crate::workspace) fn absolute(folder: &Path) -> io::Result<PathBuf> {
    let folder = std::path::absolute(folder)?;
    uri::path_of(&uri::of_absolute(dunce::simplified(&folder))).ok_or_else(|| {
        let reason = "only a folder on a drive can be opened, not one of the network";
        io::Error::new(io::ErrorKind::Unsupported, reason)
    })
}

/// Target of a link.
pub(in crate::workspace) fn link_target(link: &Path) -> io::Result<PathBuf> {
    Ok(dunce::simplified(&fs::read_link(link)?).to_owned())
}

/// Path with `/` as the separator.
pub(in crate::workspace) fn shown(inside: &Path) -> Cow<'_, str> {
    Cow::Owned(inside.to_string_lossy().replace('\\', "/"))
}

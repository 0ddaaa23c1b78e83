//! Paths as the system has them.

use std::{
    borrow::Cow,
    fs, io,
    path::{Path, PathBuf},
};

/// Path with all links resolved.
pub fn canonical(path: &Path) -> io::Result<PathBuf> {
    fs::canonicalize(path)
}

pub(in crate::workspace) fn absolute(folder: &Path) -> io::Result<PathBuf> {
    std::path::absolute(folder)
}

/// Target of a link.
pub(in crate::workspace) fn link_target(link: &Path) -> io::Result<PathBuf> {
    fs::read_link(link)
}

/// Path with `/` as the separator.
pub(in crate::workspace) fn shown(inside: &Path) -> Cow<'_, str> {
    inside.to_string_lossy()
}

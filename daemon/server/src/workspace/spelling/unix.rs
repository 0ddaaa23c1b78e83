//! As the system has them.

use std::{
    borrow::Cow,
    fs, io,
    path::{Path, PathBuf},
};

/// Where a path leads, without links.
pub fn canonical(path: &Path) -> io::Result<PathBuf> {
    fs::canonicalize(path)
}

pub(in crate::workspace) fn absolute(folder: &Path) -> io::Result<PathBuf> {
    std::path::absolute(folder)
}

/// What a link says.
pub(in crate::workspace) fn link_target(link: &Path) -> io::Result<PathBuf> {
    fs::read_link(link)
}

/// With `/`.
pub(in crate::workspace) fn shown(inside: &Path) -> Cow<'_, str> {
    inside.to_string_lossy()
}

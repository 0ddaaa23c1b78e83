//! Paths equal the path of their URI, byte by byte.

use std::{
    borrow::Cow,
    ffi::OsString,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
};

pub(super) fn bytes(path: &Path) -> Cow<'_, [u8]> {
    Cow::Borrowed(path.as_os_str().as_bytes())
}

/// Path from decoded bytes that begin with `/`.
pub(super) fn path(bytes: Vec<u8>) -> Option<PathBuf> {
    Some(PathBuf::from(OsString::from_vec(bytes)))
}

//! A folder held open: files below it are read and changed from there, and no link is followed on
//! the way, however fast somebody swaps a folder for one.
//!
//! Must never open by a path from the root of the file system, nor anything but a regular file.

use std::{
    ffi::OsStr,
    io,
    path::{Component, Path},
};

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(super) use unix::RootDir;
#[cfg(windows)]
pub(super) use windows::RootDir;

/// Whether something was done to the file that was meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    Done,
    /// Another one is there by now, or it changed.
    Changed,
}

/// What is at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(windows, expect(dead_code, reason = "folders hold no such things there"))]
pub(super) enum Kind {
    File,
    Folder,
    Link,
    Pipe,
    Socket,
    Device,
    Other,
}

impl Kind {
    pub(super) fn in_words(self) -> &'static str {
        match self {
            Kind::File => "a file",
            Kind::Folder => "a folder",
            Kind::Link => "a symbolic link",
            Kind::Pipe => "a named pipe",
            Kind::Socket => "a socket",
            Kind::Device => "a device",
            Kind::Other => "something else",
        }
    }
}

/// The names of a path in which nothing leads back or elsewhere.
fn plain_names(inside: &Path) -> io::Result<Vec<&OsStr>> {
    let name = |component| match component {
        Component::Normal(name) => Ok(name),
        Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => {
            Err(io::ErrorKind::InvalidInput.into())
        }
    };
    inside.components().map(name).collect()
}

fn parent(inside: &Path) -> &Path {
    inside.parent().unwrap_or(Path::new(""))
}

/// Nobody else's, also when two change the same file at once.
fn temporary_name() -> String {
    format!(".cairn-{}", uuid::Uuid::now_v7().simple())
}

fn not_regular() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")
}

//! Open handle of a folder. Files below it are read and changed through the handle without following
//! links, so that swapping a folder for a link has no effect.
//!
//! Must never open a path from the root of the file system, or anything but a regular file.

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

/// Result of a change that applies only to the file that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    Done,
    /// The file was replaced or changed.
    Changed,
}

/// Kind of the entry at a path.
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

/// Components of a path that has only plain names.
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

/// Unique name of a temporary file, also for concurrent changes of one file.
fn temporary_name() -> String {
    format!(".cairn-{}", uuid::Uuid::now_v7().simple())
}

fn not_regular() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")
}

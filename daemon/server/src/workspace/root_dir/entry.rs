//! Values about the entries of a folder.

/// Kind of the entry at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Folder,
    Link,
    Pipe,
    Socket,
    Device,
    Other,
}

impl Kind {
    pub(crate) fn in_words(self) -> &'static str {
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

/// Access to a new file.
#[derive(Clone, Copy)]
pub(super) enum NewFileAccess {
    /// For the user only.
    Private,
    /// As the system gives it to new files of this folder.
    Default,
}

/// State of an open file.
#[derive(PartialEq, Eq)]
pub(super) struct FileStamp {
    /// Identity (device, number of the file), independent of the path.
    pub(super) identity: (u64, u64),
    pub(super) size: u64,
    /// Time of the last write: seconds, nanoseconds.
    pub(super) modified: (i64, i64),
}

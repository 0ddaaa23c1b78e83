//! The folders the agent works in: the path jail, file URIs, reading text, ignore rules.
//!
//! A path that a model or a client gave becomes a `WorkspacePath` here or is refused; nothing
//! below takes a bare path. Never writes.

use std::{
    fmt,
    fs::{self, File},
    io::{self, Read},
    os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use anyhow::Context;
use cairn_core::text::{self, Decoded, NotText};

mod resolve;
mod similar;
pub mod uri;
mod walk;

pub use resolve::PathError;
pub use uri::{canonical_uri, path_of, uri_of};
pub use walk::{Hidden, Walked};

/// A file larger than this is not read.
pub const MAX_FILE_BYTES: u64 = 10 * 1024 * 1024;

/// The workspace folders.
#[derive(Debug)]
pub struct Workspace {
    /// As the editor spells them: what it is told must match what it has open.
    folders: Vec<PathBuf>,
    /// The same without symbolic links: what the jail compares.
    canonical: Vec<PathBuf>,
}

/// A path inside a workspace folder, whether or not something is there. Absolute; below its folder
/// it had no symbolic links when it was made.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WorkspacePath {
    absolute: PathBuf,
    inside: PathBuf,
    display: String,
}

#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("`{0}` does not exist.")]
    Missing(String),
    #[error("`{path}` is {kind}, not a regular file.")]
    NotRegular { path: String, kind: &'static str },
    #[error(
        "`{path}` has {bytes} bytes; files over {} MiB are not read. Use `grep` or a command to \
         look at parts of it.",
        MAX_FILE_BYTES / (1024 * 1024)
    )]
    TooLarge { path: String, bytes: u64 },
    #[error("`{path}` cannot be used as text: {reason}")]
    NotText { path: String, reason: NotText },
    #[error("`{path}` cannot be read: {error}")]
    Io { path: String, error: io::Error },
}

impl Workspace {
    pub fn new(folders: Vec<PathBuf>) -> anyhow::Result<Self> {
        anyhow::ensure!(!folders.is_empty(), "no workspace folder is open");
        let mut workspace = Self { folders: Vec::new(), canonical: Vec::new() };
        for folder in folders {
            let folder = std::path::absolute(&folder)?;
            let canonical = fs::canonicalize(&folder)
                .with_context(|| format!("workspace folder {}", folder.display()))?;
            anyhow::ensure!(canonical.is_dir(), "{} is not a folder", folder.display());
            workspace.folders.push(folder);
            workspace.canonical.push(canonical);
        }
        Ok(workspace)
    }

    /// The first folder: relative paths start here, and commands run here.
    pub fn root(&self) -> &Path {
        &self.folders[0]
    }

    pub fn folders(&self) -> &[PathBuf] {
        &self.folders
    }

    /// A path as people and models see it: relative to the first folder with `/`, or absolute.
    pub fn display(&self, path: &Path) -> String {
        // Only the first folder has short names: a name must lead back to its file.
        match path.strip_prefix(self.root()) {
            Ok(inside) if inside.as_os_str().is_empty() => ".".to_owned(),
            Ok(inside) => {
                let name = inside.to_string_lossy();
                // What would be read as a home folder, a URI or nothing at all.
                let misread =
                    name.starts_with('~') || name.starts_with("file:") || name.trim().is_empty();
                if misread { format!("./{name}") } else { name.into_owned() }
            }
            Err(_) => path.to_string_lossy().into_owned(),
        }
    }

    /// Reads a regular file as text. Blocks.
    pub fn read_text(&self, path: &WorkspacePath) -> Result<Decoded, ReadError> {
        let bytes = read_regular(path)?;
        text::decode(&bytes).map_err(|reason| ReadError::NotText { path: path.to_string(), reason })
    }

    fn path_in(&self, folder: &Path, inside: &Path) -> WorkspacePath {
        // Joining an empty path would add a slash.
        let absolute =
            if inside.as_os_str().is_empty() { folder.to_owned() } else { folder.join(inside) };
        let display = self.display(&absolute);
        WorkspacePath { absolute, inside: inside.to_owned(), display }
    }
}

impl WorkspacePath {
    pub fn as_path(&self) -> &Path {
        &self.absolute
    }

    /// The path below its folder.
    pub fn inside(&self) -> &Path {
        &self.inside
    }

    /// As people and models see it. Resolves to the same path again.
    pub fn display(&self) -> &str {
        &self.display
    }

    /// The key under which an open document is found.
    pub fn uri(&self) -> String {
        uri::of_absolute(&self.absolute)
    }

    /// The file has other names: a change through this one would change them unseen.
    pub fn has_hard_links(&self) -> bool {
        fs::symlink_metadata(&self.absolute).is_ok_and(|meta| meta.is_file() && meta.nlink() > 1)
    }
}

impl fmt::Display for WorkspacePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.display)
    }
}

/// Looks before it opens, so that a pipe cannot block, and again after, so that a file that was
/// swapped in between is not read.
fn read_regular(path: &WorkspacePath) -> Result<Vec<u8>, ReadError> {
    let io = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => ReadError::Missing(path.to_string()),
        _ => ReadError::Io { path: path.to_string(), error },
    };
    let check = |meta: &fs::Metadata| {
        if !meta.is_file() {
            return Err(ReadError::NotRegular { path: path.to_string(), kind: kind(meta) });
        }
        if meta.len() > MAX_FILE_BYTES {
            return Err(ReadError::TooLarge { path: path.to_string(), bytes: meta.len() });
        }
        Ok(())
    };
    check(&fs::symlink_metadata(path.as_path()).map_err(io)?)?;
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let file = File::options()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path.as_path())
        .map_err(io)?;
    let meta = file.metadata().map_err(io)?;
    check(&meta)?;
    // `take` hides the size, and reading would begin with 32 bytes.
    let mut bytes = Vec::with_capacity(usize::try_from(meta.len()).unwrap_or_default() + 1);
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(io)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(ReadError::TooLarge { path: path.to_string(), bytes: bytes.len() as u64 });
    }
    Ok(bytes)
}

fn kind(meta: &fs::Metadata) -> &'static str {
    let kind = meta.file_type();
    if kind.is_dir() {
        "a folder"
    } else if kind.is_symlink() {
        "a symbolic link"
    } else if kind.is_fifo() {
        "a named pipe"
    } else if kind.is_socket() {
        "a socket"
    } else if kind.is_block_device() || kind.is_char_device() {
        "a device"
    } else {
        "something else"
    }
}

#[cfg(test)]
mod tests;

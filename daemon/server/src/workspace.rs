//! Workspace folders: path jail, file URIs, text reading, ignore rules.
//!
//! A path from a model or a client becomes a [`WorkspacePath`] or is refused; the functions below take
//! no bare path. Files are opened from their folder's open handle. Only `disk` writes, which edits files
//! that no editor has open.

use std::{
    collections::HashMap,
    fmt,
    fs::{self, File, Metadata},
    io::{self, Read},
    path::{Path, PathBuf},
};

use anyhow::Context;
use cairn_core::{
    file_names::{Case, below},
    ids::FileKey,
    policy,
    quote::quoted,
    text::{self, Decoded, FileForm, NotText, Text},
};
use parking_lot::Mutex;

mod change;
mod ignore_rules;
pub(crate) mod nofollow;
mod resolve;
mod root_dir;
mod several;
mod similar;
pub mod uri;
mod walk;

pub use resolve::{PathError, without_dots};
pub use root_dir::Done;
use root_dir::RootDir;
use rustix::fs::FileType;
pub use several::OpenFolder;
pub use uri::{canonical_uri, key_of, path_of, uri_of};
pub use walk::{Entry, Hidden, TRAPPED, Walked};

/// Most bytes of a file that is read.
pub const MAX_FILE_BYTES: u64 = 10 * 1024 * 1024;

/// Most files whose form is remembered.
const MAX_FORMS: usize = 10_000;

/// The workspace folders.
#[derive(Debug)]
pub struct Workspace {
    /// Folders as the editor spells them: messages to it must match its open documents.
    folders: Vec<PathBuf>,
    /// Their names at the front of a path, while several are open.
    names: Vec<Option<String>>,
    /// Folders without symbolic links, for the comparisons of the jail.
    canonical: Vec<PathBuf>,
    /// Open handles of the folders, from which files are read and written.
    held: Vec<RootDir>,
    /// Home folder of the user, without symbolic links.
    home: Option<PathBuf>,
    /// Cairn's state folder if it is in one of the folders, without symbolic links. Its rules and
    /// sessions are not project files.
    own: Option<PathBuf>,
    /// Forms of files that were read, as far as a new file would have another one. A file that is
    /// deleted and restored keeps its form.
    forms: Mutex<HashMap<PathBuf, FileForm>>,
}

/// Path inside a workspace folder; it need not exist. Absolute, and without symbolic links below its
/// folder at the time it was made.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WorkspacePath {
    absolute: PathBuf,
    /// Index of its folder.
    folder: usize,
    inside: PathBuf,
    display: String,
    aliases: Vec<PathBuf>,
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
        Self::open_folders(folders.into_iter().map(OpenFolder::from).collect())
    }

    pub fn open_folders(folders: Vec<OpenFolder>) -> anyhow::Result<Self> {
        anyhow::ensure!(!folders.is_empty(), "no workspace folder is open");
        let home = std::env::var_os("HOME");
        let home = home.and_then(|home| fs::canonicalize(home).ok());
        let mut workspace = Self {
            folders: Vec::new(),
            names: several::names(&folders),
            canonical: Vec::new(),
            held: Vec::new(),
            home,
            own: None,
            forms: Mutex::default(),
        };
        for OpenFolder { path, name: _ } in folders {
            let folder = std::path::absolute(&path)
                .with_context(|| format!("workspace folder {}", path.display()))?;
            let canonical = fs::canonicalize(&folder)
                .with_context(|| format!("workspace folder {}", folder.display()))?;
            anyhow::ensure!(canonical.is_dir(), "{} is not a folder", folder.display());
            let held = RootDir::open(&folder)
                .with_context(|| format!("workspace folder {}", folder.display()))?;
            workspace.held.push(held);
            workspace.folders.push(folder);
            workspace.canonical.push(canonical);
        }
        Ok(workspace)
    }

    /// Excludes a folder from all tools. It need not exist yet.
    pub fn without(mut self, own: Option<&Path>) -> Self {
        let own = own.and_then(|own| self.where_it_leads(own));
        self.own = own.filter(|own| self.place_of(own).is_some());
        self
    }

    /// The first folder, where commands run.
    pub fn root(&self) -> &Path {
        &self.folders[0]
    }

    pub fn folders(&self) -> &[PathBuf] {
        &self.folders
    }

    /// The workspace folder that contains a path, compared by name.
    pub fn folder_of(&self, path: &Path) -> Option<&Path> {
        self.folders.iter().map(PathBuf::as_path).find(|folder| path.starts_with(folder))
    }

    /// True if a path without symbolic links is one of the folders or below one.
    pub fn holds(&self, canonical: &Path) -> bool {
        self.canonical.iter().any(|folder| below(canonical, folder, Case::HERE).is_some())
    }

    /// A path as people and models see it, with `/`: relative to the folder, with the folder's name in
    /// front if several are open; absolute outside of them or in a folder without a name. Quoted where
    /// it holds anything but printable characters.
    pub fn display(&self, path: &Path) -> String {
        let folders = self.folders.iter().zip(&self.names);
        let found = folders.into_iter().find_map(|(folder, name)| {
            let inside = path.strip_prefix(folder).ok()?;
            match (self.folders.len(), name) {
                (1, _) => Some((None, inside)),
                (_, Some(name)) => Some((Some(name), inside)),
                (_, None) => None,
            }
        });
        // A name must resolve to its file again.
        match found {
            None => quoted(&path.to_string_lossy()).into_owned(),
            Some((None, inside)) if inside.as_os_str().is_empty() => ".".to_owned(),
            Some((Some(name), inside)) if inside.as_os_str().is_empty() => {
                quoted(name).into_owned()
            }
            Some((Some(name), inside)) => {
                quoted(&format!("{name}/{}", inside.to_string_lossy())).into_owned()
            }
            Some((None, inside)) => {
                let name = inside.to_string_lossy();
                // A name that would be parsed as a home folder, a URI or an empty path.
                let misread =
                    name.starts_with('~') || name.starts_with("file:") || name.trim().is_empty();
                let name = if misread { format!("./{name}").into() } else { name };
                quoted(&name).into_owned()
            }
        }
    }

    /// Reads a regular file as text. Blocks.
    pub fn read_text(&self, path: &WorkspacePath) -> Result<Decoded, ReadError> {
        self.open_text(path).map(|(decoded, _)| decoded)
    }

    /// Reads a regular file as text, and returns the identity of the file, too. Blocks.
    pub fn open_text(&self, path: &WorkspacePath) -> Result<(Decoded, File), ReadError> {
        let mut file = self.open(path)?;
        let bytes = read_bounded(path, &mut file)?;
        let not_text = |reason| ReadError::NotText { path: path.to_string(), reason };
        let decoded = text::decode(&bytes).map_err(not_text)?;
        let mode = file.metadata().ok().as_ref().and_then(unusual_mode);
        self.remember_form(path.as_path(), FileForm { encoding: decoded.encoding, mode });
        Ok((decoded, file))
    }

    /// Reads the text of a file by its key. `None`: it is gone, or no text of the workspace. Blocks.
    pub fn text_of(&self, key: &FileKey) -> Option<Text> {
        let path = self.path_to(&self.target_of(key).ok()?);
        self.read_text(&path).ok().map(|decoded| decoded.text)
    }

    /// Reads a regular file. Blocks.
    pub fn read_bytes(&self, path: &WorkspacePath) -> Result<Vec<u8>, ReadError> {
        read_bounded(path, &mut self.open(path)?)
    }

    /// Records the form of a file. The newest files count: beyond the limit another one is forgotten.
    pub fn remember_form(&self, path: &Path, form: FileForm) {
        let mut forms = self.forms.lock();
        if form == FileForm::default() {
            forms.remove(path);
            return;
        }
        if forms.len() >= MAX_FORMS && !forms.contains_key(path) {
            let any = forms.keys().next().cloned();
            any.and_then(|any| forms.remove(&any));
        }
        forms.insert(path.to_owned(), form);
    }

    /// Form of a file when it was last read; that of a new file if it never was.
    pub fn form_of(&self, path: &Path) -> FileForm {
        let forms = self.forms.lock();
        forms.get(path).copied().unwrap_or_default()
    }

    /// The same with the mode that the file has now: the user may have its text from an editor only.
    pub fn look_at_form(&self, path: &Path) -> FileForm {
        let file = fs::symlink_metadata(path).ok().filter(Metadata::is_file);
        let mode = file.as_ref().and_then(unusual_mode);
        let form = FileForm { mode, ..self.form_of(path) };
        self.remember_form(path, form);
        form
    }

    /// A file will be created in this form. Without a recorded mode it gets that of the file that was
    /// there before.
    pub fn will_create(&self, path: &Path, recorded: FileForm) {
        let mode = recorded.mode.or(self.form_of(path).mode);
        self.remember_form(path, FileForm { mode, ..recorded });
    }

    /// Opens a regular file that is not too large. Blocks.
    pub fn open(&self, path: &WorkspacePath) -> Result<File, ReadError> {
        let io = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => ReadError::Missing(path.to_string()),
            _ => ReadError::Io { path: path.to_string(), error },
        };
        if path.inside.as_os_str().is_empty() {
            return Err(ReadError::NotRegular { path: path.to_string(), kind: "a folder" });
        }
        let folder = &self.held[path.folder];
        let file = folder.open_read(&path.inside).map_err(|error| {
            // Nearly all files are of this kind.
            match folder.kind(&path.inside) {
                Ok(FileType::RegularFile) | Err(_) => io(error),
                Ok(kind) => ReadError::NotRegular { path: path.to_string(), kind: in_words(kind) },
            }
        })?;
        match file.metadata().map_err(io)?.len() {
            bytes if bytes > MAX_FILE_BYTES => {
                Err(ReadError::TooLarge { path: path.to_string(), bytes })
            }
            _ => Ok(file),
        }
    }

    /// True if an entry of any kind exists.
    pub fn is_there(&self, path: &WorkspacePath) -> bool {
        path.inside.as_os_str().is_empty() || self.held[path.folder].kind(&path.inside).is_ok()
    }

    /// True for a folder.
    pub fn folder_is_there(&self, path: &WorkspacePath) -> bool {
        path.inside.as_os_str().is_empty()
            || matches!(self.held[path.folder].kind(&path.inside), Ok(FileType::Directory))
    }

    /// True if the file has other names (hard links), which a change would affect as well.
    pub fn has_hard_links(&self, path: &WorkspacePath) -> bool {
        self.held[path.folder].has_hard_links(&path.inside)
    }

    /// True for a regular file without other names (hard links).
    pub fn has_one_name(&self, path: &WorkspacePath) -> bool {
        let folder = &self.held[path.folder];
        matches!(folder.kind(&path.inside), Ok(FileType::RegularFile))
            && !folder.has_hard_links(&path.inside)
    }

    fn path_in(&self, folder: usize, inside: &Path) -> WorkspacePath {
        let root = &self.folders[folder];
        // Joining an empty path would add a slash.
        let absolute = if inside.as_os_str().is_empty() { root.clone() } else { root.join(inside) };
        let display = self.display(&absolute);
        WorkspacePath { absolute, folder, inside: inside.to_owned(), display, aliases: Vec::new() }
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

    /// Path for people and models. Resolves to the same path again.
    pub fn display(&self) -> &str {
        &self.display
    }

    /// URI of the file, in VS Code's spelling.
    pub fn uri(&self) -> String {
        uri::of_absolute(&self.absolute)
    }

    pub fn key(&self) -> FileKey {
        self.uri().into()
    }

    /// Other names of it below its workspace folder, through links.
    pub fn aliases(&self) -> &[PathBuf] {
        &self.aliases
    }

    /// All its names below its workspace folder.
    pub fn names(&self) -> Vec<PathBuf> {
        [&self.inside].into_iter().chain(&self.aliases).cloned().collect()
    }

    /// True if one of its names may hold secrets.
    pub fn is_secret(&self) -> bool {
        policy::is_secret(&self.inside) || self.aliases.iter().any(|name| policy::is_secret(name))
    }
}

impl fmt::Display for WorkspacePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.display)
    }
}

/// Mode of a file, unless a new file usually has it.
fn unusual_mode(metadata: &Metadata) -> Option<u32> {
    Some(root_dir::mode_of(metadata)).filter(|mode| !matches!(mode, 0o644 | 0o664))
}

fn read_bounded(path: &WorkspacePath, file: &mut File) -> Result<Vec<u8>, ReadError> {
    let io = |error| ReadError::Io { path: path.to_string(), error };
    // `take` hides the size, and reading would begin with 32 bytes.
    let expected = file.metadata().map_err(io)?.len();
    let mut bytes = Vec::with_capacity(usize::try_from(expected).unwrap_or_default() + 1);
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(io)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(ReadError::TooLarge { path: path.to_string(), bytes: bytes.len() as u64 });
    }
    Ok(bytes)
}

fn in_words(kind: FileType) -> &'static str {
    match kind {
        FileType::RegularFile => "a file",
        FileType::Directory => "a folder",
        FileType::Symlink => "a symbolic link",
        FileType::Fifo => "a named pipe",
        FileType::Socket => "a socket",
        FileType::BlockDevice | FileType::CharacterDevice => "a device",
        FileType::Unknown => "something else",
    }
}

#[cfg(test)]
mod tests;

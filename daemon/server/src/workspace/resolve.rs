//! The path jail: where a given path really leads, and whether that is inside.

use std::{
    collections::VecDeque,
    ffi::{OsStr, OsString},
    fs, io,
    path::{Component, Path, PathBuf},
};

use super::{Workspace, WorkspacePath, path_of};

/// A refused path. The message tells the model what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    #[error("The path is empty. Give a path relative to the workspace folder.")]
    Empty,
    #[error("The path is too long.")]
    TooLong,
    #[error("The path contains a control character. Give it as plain text.")]
    ControlCharacter,
    #[error("`{0}` is not a file path. Give a path relative to the workspace folder.")]
    NotAPath(String),
    #[error("`{0}`: `~` is not expanded. Give a path relative to the workspace folder.")]
    Home(String),
    #[error("`{0}` is outside the workspace. Only files below the workspace folder can be used.")]
    Outside(String),
    #[error("`{0}` belongs to Git's own data, which file tools do not touch. Use git commands.")]
    Git(String),
    #[error("`{0}` follows too many symbolic links.")]
    Loop(String),
    #[error("`{0}` leads through a file as if it were a folder.")]
    NotAFolder(String),
    #[error("`{path}` cannot be looked up: {reason}.")]
    Io { path: String, reason: String },
}

/// As many as Linux follows.
const MAX_LINKS: usize = 40;
const MAX_LENGTH: usize = 4096;

impl Workspace {
    /// Where a path leads: relative to the first folder, absolute inside any, or a `file:` URI.
    /// Nothing need be there. Links are followed, the last one too, also when they dangle.
    /// Blocks on the disk.
    pub fn resolve(&self, given: &str) -> Result<WorkspacePath, PathError> {
        let path = self.absolute(given)?;
        let mut walker = Walker { workspace: self, given, at: PathBuf::from("/"), links: 0 };
        walker.follow(&path)?;
        self.folders
            .iter()
            .zip(&self.canonical)
            .find_map(|(folder, canonical)| {
                let inside = walker.at.strip_prefix(canonical).ok()?;
                Some(self.path_in(folder, inside))
            })
            .ok_or_else(|| PathError::Outside(given.to_owned()))
    }

    /// Resolves again what was resolved before: a link may have been put in its way meanwhile.
    pub fn recheck(&self, path: &WorkspacePath) -> Result<(), PathError> {
        let now = path.as_path().to_str().map(|absolute| self.resolve(absolute));
        match now {
            Some(Ok(now)) if now == *path => Ok(()),
            Some(Err(error)) => Err(error),
            Some(Ok(_)) | None => Err(PathError::Outside(path.to_string())),
        }
    }

    fn absolute(&self, given: &str) -> Result<PathBuf, PathError> {
        if given.trim().is_empty() {
            return Err(PathError::Empty);
        }
        if given.len() > MAX_LENGTH {
            return Err(PathError::TooLong);
        }
        let decoded = if given.contains("://") || given.starts_with("file:") {
            // What is not text could not be named to a model, nor by it.
            let named = path_of(given).filter(|path| path.to_str().is_some());
            named.ok_or_else(|| PathError::NotAPath(given.to_owned()))?
        } else {
            PathBuf::from(given)
        };
        if decoded.to_string_lossy().chars().any(is_deceptive) {
            return Err(PathError::ControlCharacter);
        }
        if decoded.starts_with("~") {
            return Err(PathError::Home(given.to_owned()));
        }
        Ok(self.root().join(decoded))
    }
}

/// Control characters, and those that make a path read as another one.
fn is_deceptive(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Goes a path component by component, as the kernel does, but goes on where nothing exists.
struct Walker<'a> {
    workspace: &'a Workspace,
    given: &'a str,
    at: PathBuf,
    links: usize,
}

impl Walker<'_> {
    fn follow(&mut self, path: &Path) -> Result<(), PathError> {
        let mut ahead: VecDeque<OsString> = VecDeque::new();
        queue(&mut ahead, path);
        while let Some(name) = ahead.pop_front() {
            if name == ".." {
                self.at.pop();
                continue;
            }
            self.at.push(&name);
            self.refuse_git(&name)?;
            match fs::symlink_metadata(&self.at) {
                Ok(meta) if meta.is_symlink() => {
                    self.links += 1;
                    if self.links > MAX_LINKS {
                        return Err(PathError::Loop(self.given.to_owned()));
                    }
                    let target = fs::read_link(&self.at).map_err(|error| self.io(&error))?;
                    self.at.pop();
                    if target.is_absolute() {
                        self.at = PathBuf::from("/");
                    }
                    queue(&mut ahead, &target);
                }
                Ok(meta) if !meta.is_dir() && !ahead.is_empty() => {
                    return Err(PathError::NotAFolder(self.given.to_owned()));
                }
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(self.io(&error)),
            }
        }
        Ok(())
    }

    /// Git's folder, or the file that points to it, by any of its spellings. Looked at on the way,
    /// so that a link to elsewhere does not hide it.
    fn refuse_git(&self, name: &OsStr) -> Result<(), PathError> {
        let is_git = name.eq_ignore_ascii_case(".git") || name.eq_ignore_ascii_case("git~1");
        let inside = |root: &PathBuf| self.at != *root && self.at.starts_with(root);
        if is_git && self.workspace.canonical.iter().any(inside) {
            return Err(PathError::Git(self.given.to_owned()));
        }
        Ok(())
    }

    fn io(&self, error: &io::Error) -> PathError {
        PathError::Io { path: self.given.to_owned(), reason: error.kind().to_string() }
    }
}

/// Puts the components of a path before those that are still to go.
fn queue(ahead: &mut VecDeque<OsString>, path: &Path) {
    for component in path.components().rev() {
        match component {
            Component::Normal(name) => ahead.push_front(name.to_owned()),
            Component::ParentDir => ahead.push_front("..".into()),
            Component::Prefix(_) | Component::RootDir | Component::CurDir => {}
        }
    }
}

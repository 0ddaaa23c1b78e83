//! Path jail: resolves a given path with its links, and refuses targets outside of the workspace.

use std::{
    collections::VecDeque,
    ffi::{OsStr, OsString},
    fs, io,
    path::{Component, Path, PathBuf},
};

use cairn_core::{
    file_names::{Case, below, composed, is_deceptive, plain},
    ids::FileKey,
    policy::protected_roots,
    quote::{quoted, unquoted},
};

use super::{Workspace, WorkspacePath, path_of};

/// Refused path. The message tells the model what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    #[error("The path is empty. Give a path relative to the workspace folder.")]
    Empty,
    #[error("The path is too long.")]
    TooLong,
    #[error(
        "The path contains a control character. Give it as plain text; a file that has such a name \
         is named in quotes, as `glob` shows it."
    )]
    ControlCharacter,
    #[error("`{0}` is not a file path. Give a path relative to the workspace folder.")]
    NotAPath(String),
    #[error("`{0}`: `~` is not expanded. Give a path relative to the workspace folder.")]
    Home(String),
    #[error("`{given}` exists in several folders of the workspace: {places}. Give one of these.")]
    InSeveral { given: String, places: String },
    #[error(
        "`{given}` exists in none of the workspace's folders and fits several: {places}. Give one of \
         these."
    )]
    InNone { given: String, places: String },
    #[error(
        "`{0}` is outside the workspace. Only files below the workspace folder can be used; a command can read others."
    )]
    Outside(String),
    #[error("`{0}` belongs to Git's own data, which file tools do not touch. Use git commands.")]
    Git(String),
    #[error("`{0}` belongs to Cairn's own data, which file tools do not touch.")]
    Own(String),
    #[error("`{0}` follows too many symbolic links.")]
    Loop(String),
    #[error("`{0}` leads through a file as if it were a folder.")]
    NotAFolder(String),
    #[error(
        "The workspace folder `{0}` is another one than when it was opened, or is gone; nothing in \
         it is read or changed. The user has to open it again, or to restart Cairn."
    )]
    Replaced(String),
    #[error("`{path}` cannot be looked up: {reason}.")]
    Io { path: String, reason: String },
}

/// Most links of a path that are followed; the limit of Linux.
const MAX_LINKS: usize = 40;
const MAX_LENGTH: usize = 4096;
/// Most entries of a folder among which another spelling of a name is sought.
const MAX_ENTRIES: usize = 10_000;

/// Place in the workspace that a path leads to.
pub(super) struct FoundPath {
    /// Index of the workspace folder.
    folder: usize,
    /// Path without links.
    at: PathBuf,
    /// Path below the folder.
    inside: PathBuf,
    /// Names of the path before each link on it.
    passed: Vec<PathBuf>,
}

impl Workspace {
    /// Resolves a path: relative (see [`Workspace::beneath`]), absolute inside any folder, or a `file:`
    /// URI; plain, or quoted as by [`Workspace::display`]. The target need not exist, unless its name has control
    /// characters. Follows all links, including the last one and dangling ones. Blocks.
    pub fn resolve(&self, given: &str) -> Result<WorkspacePath, PathError> {
        let target = self.target_of(given)?;
        let (path, FoundPath { folder, at, inside, passed }) = (self.path_to(&target), target);
        let mut aliases: Vec<PathBuf> =
            passed.iter().filter_map(|it| self.place_of(it)).map(|(_, it)| it).collect();
        // A file in nested workspace folders belongs to both.
        aliases.extend(self.canonical.iter().filter_map(|it| below(&at, it, Case::HERE)));
        aliases.extend(self.by_protected_links(&at));
        aliases.extend(self.in_home(folder, &at));
        aliases.extend(self.in_environment(folder, &inside));
        aliases.retain(|alias| *alias != inside);
        Ok(WorkspacePath { aliases, ..path })
    }

    /// Key of the file that [`Workspace::resolve`] finds: for callers that need no other names of it,
    /// which take most of the time. Blocks.
    pub fn key(&self, given: &str) -> Result<FileKey, PathError> {
        Ok(self.path_to(&self.target_of(given)?).key())
    }

    pub(super) fn path_to(&self, target: &FoundPath) -> WorkspacePath {
        self.path_in(target.folder, &target.inside)
    }

    pub(super) fn target_of(&self, given: &str) -> Result<FoundPath, PathError> {
        let named = unquoted(given);
        let path = self.absolute(named.as_deref().unwrap_or(given))?;
        let deceptive = path.to_string_lossy().chars().any(is_deceptive);
        // A quoted name is deliberate, and refers to a file that was shown. It creates no new file.
        let written_out = named.is_some() || is_uri(given);
        if deceptive && !(written_out && fs::symlink_metadata(&path).is_ok()) {
            return Err(PathError::ControlCharacter);
        }
        self.follow(&path, given)
    }

    /// Resolves an absolute path.
    fn follow(&self, path: &Path, given: &str) -> Result<FoundPath, PathError> {
        let mut walker = Walker::new(self, given);
        walker.follow(path)?;
        let Walker { at, passed, .. } = walker;
        let (folder, inside) =
            self.place_of(&at).ok_or_else(|| PathError::Outside(given.to_owned()))?;
        if self.is_own(&at) {
            return Err(PathError::Own(given.to_owned()));
        }
        self.check_in_place(folder)?;
        Ok(FoundPath { folder, at, inside, passed })
    }

    /// Refuses a folder whose path now leads to another one.
    fn check_in_place(&self, folder: usize) -> Result<(), PathError> {
        match self.held[folder].is_in_place() {
            true => Ok(()),
            false => Err(PathError::Replaced(self.folders[folder].display().to_string())),
        }
    }

    /// The same for all folders. Blocks.
    pub fn check_all_in_place(&self) -> Result<(), PathError> {
        (0..self.folders.len()).try_for_each(|folder| self.check_in_place(folder))
    }

    /// True if a path without links is in Cairn's state folder.
    pub(super) fn is_own(&self, path: &Path) -> bool {
        self.own.as_deref().is_some_and(|own| below(path, own, Case::HERE).is_some())
    }

    /// Resolves the links of a path, which need not exist.
    pub(super) fn where_it_leads(&self, path: &Path) -> Option<PathBuf> {
        let mut walker = Walker::new(self, "");
        walker.follow(&std::path::absolute(path).ok()?).ok()?;
        Some(walker.at)
    }

    /// Resolves a resolved path again: a link may have been put in its way by now.
    pub fn recheck(&self, path: &WorkspacePath) -> Result<(), PathError> {
        let now = self.follow(path.as_path(), path.display())?;
        match self.path_to(&now).as_path() == path.as_path() {
            true => Ok(()),
            false => Err(PathError::Outside(path.to_string())),
        }
    }

    /// Resolves a URI that must name its file directly, not through a link. The result has no other
    /// names of the file.
    pub fn exactly(&self, uri: &str) -> Result<WorkspacePath, PathError> {
        let path = self.path_to(&self.target_of(uri)?);
        let plain = path_of(uri).is_some_and(|given| given == path.as_path());
        if plain { Ok(path) } else { Err(PathError::Outside(uri.to_owned())) }
    }

    /// Resolves an absolute path that has no links: with `.` and `..` removed as text it is the path
    /// that the kernel finds.
    pub fn resolve_without_links(&self, path: &Path) -> Option<WorkspacePath> {
        let found = self.resolve(path.to_str()?).ok()?;
        (found.as_path() == without_dots(path)).then_some(found)
    }

    fn absolute(&self, given: &str) -> Result<PathBuf, PathError> {
        if given.trim().is_empty() {
            return Err(PathError::Empty);
        }
        if given.len() > MAX_LENGTH {
            return Err(PathError::TooLong);
        }
        let decoded = if is_uri(given) {
            // A model could not name a path that is not text.
            let named = path_of(given).filter(|path| path.to_str().is_some());
            named.ok_or_else(|| PathError::NotAPath(quoted(given).into_owned()))?
        } else {
            PathBuf::from(given)
        };
        if decoded.starts_with("~") {
            return Err(PathError::Home(given.to_owned()));
        }
        if decoded.is_absolute() { Ok(decoded) } else { self.beneath(&decoded) }
    }

    /// The folder that contains a path without links, and the path below it.
    pub(super) fn place_of(&self, path: &Path) -> Option<(usize, PathBuf)> {
        let folders = self.canonical.iter().enumerate();
        folders.into_iter().find_map(|(at, it)| Some((at, below(path, it, Case::HERE)?)))
    }

    /// Other names of a path through links with protected names at the top of a folder. A program
    /// that looks for such a name reaches the path by it.
    fn by_protected_links(&self, path: &Path) -> Vec<PathBuf> {
        let links = self.canonical.iter().flat_map(|folder| protected_links(folder));
        links
            .filter_map(|(name, at)| {
                let inside = below(path, &self.where_it_leads(&at)?, Case::HERE)?;
                // Without a slash at the end.
                Some(Path::new(name).join(inside).components().collect())
            })
            .collect()
    }

    /// Name of a path in a Python or Conda environment as if the environment's folder were `.venv`,
    /// so that it is protected under any name: its programs come first in `PATH` once it is active.
    fn in_environment(&self, folder: usize, inside: &Path) -> Option<PathBuf> {
        let marks = ["pyvenv.cfg", "conda-meta"];
        let top = &self.canonical[folder];
        let has = |path: PathBuf| fs::symlink_metadata(path).is_ok();
        let is_one = |at: &&Path| marks.iter().any(|mark| has(top.join(at).join(mark)));
        let root = inside.ancestors().skip(1).find(is_one)?;
        Some(Path::new(".venv").join(inside.strip_prefix(root).ok()?))
    }

    /// Name of a path below `~`, if the workspace contains the home folder: hidden files there are
    /// the user's settings.
    fn in_home(&self, folder: usize, path: &Path) -> Option<PathBuf> {
        let home = self.home.as_deref()?;
        below(home, &self.canonical[folder], Case::HERE)?;
        Some(Path::new("~").join(below(path, home, Case::HERE)?))
    }
}

/// Links at the top of a folder whose names are protected in any case, with the protected name.
fn protected_links(folder: &Path) -> Vec<(&'static str, PathBuf)> {
    let Ok(entries) = fs::read_dir(folder) else {
        return protected_roots().map(|name| (name, folder.join(name))).collect();
    };
    let links = entries.flatten().filter(|it| it.file_type().is_ok_and(|kind| kind.is_symlink()));
    let named = links.filter_map(|link| {
        let name = plain(&link.file_name().to_string_lossy());
        Some((protected_roots().find(|root| *root == name)?, link.path()))
    });
    named.collect()
}

fn is_uri(given: &str) -> bool {
    given.contains("://") || given.starts_with("file:")
}

/// Walks a path component by component, as the kernel does, but continues where nothing exists.
struct Walker<'a> {
    workspace: &'a Workspace,
    given: &'a str,
    at: PathBuf,
    links: usize,
    /// Names of the path before each link on it.
    passed: Vec<PathBuf>,
}

impl<'a> Walker<'a> {
    fn new(workspace: &'a Workspace, given: &'a str) -> Self {
        Self { workspace, given, at: PathBuf::new(), links: 0, passed: Vec::new() }
    }

    /// Starts at the root of an absolute path.
    fn follow(&mut self, path: &Path) -> Result<(), PathError> {
        self.at = PathBuf::from("/");
        let mut ahead: VecDeque<OsString> = VecDeque::new();
        queue(&mut ahead, path);
        while let Some(name) = ahead.pop_front() {
            if name == ".." {
                self.at.pop();
                continue;
            }
            self.refuse_git(&name)?;
            self.at.push(&name);
            let mut found = fs::symlink_metadata(&self.at);
            if found.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
                && let Some(spelling) = self.other_spelling(&name)
            {
                self.at.pop();
                self.refuse_git(&spelling)?;
                self.at.push(&spelling);
                found = fs::symlink_metadata(&self.at);
            }
            match found {
                Ok(meta) if meta.is_symlink() => {
                    self.links += 1;
                    if self.links > MAX_LINKS {
                        return Err(PathError::Loop(self.given.to_owned()));
                    }
                    let target = fs::read_link(&self.at).map_err(|error| self.io(&error))?;
                    self.passed.push(ahead.iter().fold(self.at.clone(), |at, name| at.join(name)));
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
        // The target may be such a folder itself, as the start of a search.
        match self.is_inside() && is_git_folder(&self.at, None) {
            true => Err(PathError::Git(self.given.to_owned())),
            false => Ok(()),
        }
    }

    /// Name of an entry next to the missing one that looks the same: another system wrote its accents
    /// as characters of their own, or did not.
    fn other_spelling(&self, missing: &OsStr) -> Option<OsString> {
        let missing = missing.to_str().filter(|name| !name.is_ascii() && self.is_inside())?;
        let wanted = composed(missing);
        let names = fs::read_dir(self.at.parent()?).ok()?.take(MAX_ENTRIES);
        let mut names = names.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        names.find(|name| composed(name) == wanted).map(OsString::from)
    }

    fn is_inside(&self) -> bool {
        self.workspace.holds(&self.at)
    }

    /// Refuses Git's folder or the file that points to it, in any spelling, and every folder with the
    /// content of one. Each component is checked, so that a link to elsewhere does not hide it.
    fn refuse_git(&self, name: &OsStr) -> Result<(), PathError> {
        if !self.is_inside() {
            return Ok(());
        }
        let name = plain(&name.to_string_lossy());
        if name == ".git" || name == "git~1" || is_git_folder(&self.at, Some(&name)) {
            return Err(PathError::Git(self.given.to_owned()));
        }
        Ok(())
    }

    fn io(&self, error: &io::Error) -> PathError {
        PathError::Io { path: self.given.to_owned(), reason: error.kind().to_string() }
    }
}

/// True for a folder that Git accepts as a repository and whose `config` it obeys, or as that of a
/// linked worktree. `coming`, in lower case, is treated as present: it is about to be created, so a
/// repository cannot be made piece by piece.
pub(super) fn is_git_folder(folder: &Path, coming: Option<&str>) -> bool {
    let has = |name: &str| {
        coming == Some(name.to_lowercase().as_str())
            || fs::symlink_metadata(folder.join(name)).is_ok()
    };
    has("HEAD") && ((has("objects") && has("refs")) || has("commondir"))
}

/// Inserts the components of a path before the remaining ones.
fn queue(ahead: &mut VecDeque<OsString>, path: &Path) {
    for component in path.components().rev() {
        match component {
            Component::Normal(name) => ahead.push_front(name.to_owned()),
            Component::ParentDir => ahead.push_front("..".into()),
            Component::Prefix(_) | Component::RootDir | Component::CurDir => {}
        }
    }
}

/// Removes `.` and `..` from a path as text, without a look at the disk.
pub fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => {
                plain.push(component);
            }
        }
    }
    plain
}

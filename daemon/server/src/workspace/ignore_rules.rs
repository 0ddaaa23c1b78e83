//! Ignore rules of Git and of search tools, for a walk. Read from small regular files only.

use std::{
    fs,
    path::{Path, PathBuf},
};

use ignore::{
    Match,
    gitignore::{Gitignore, GitignoreBuilder},
};

use crate::small_file;

/// Most bytes of a file of rules, and of a file that names a repository.
const MOST_RULES: u64 = 1024 * 1024;
const MOST_POINTER: u64 = 4096;

/// Rules that cannot be read: in their place is a large file, or one that would block a reader.
pub(super) struct Trap;

/// Rules of a folder and of those above, outermost first.
pub(super) struct IgnoreRules {
    user: Gitignore,
    folders: Vec<FolderRules>,
}

/// Rules of one folder, the strongest first: `.ignore`, `.gitignore`, `info/exclude`.
struct FolderRules {
    folder: PathBuf,
    rules: [Gitignore; 3],
}

impl IgnoreRules {
    /// Rules for a walk of `folder`, which is in the workspace folder `root`. The paths are resolved.
    pub(super) fn above(folder: &Path, root: &Path) -> Result<Self, Trap> {
        let (user, _) = GitignoreBuilder::new(root).build_global();
        let mut rules = Self { user, folders: Vec::new() };
        let above: Vec<&Path> = folder.ancestors().skip(1).collect();
        for folder in above.into_iter().rev() {
            // Links outside the workspace are the user's own.
            rules.add(folder, !folder.starts_with(root))?;
        }
        Ok(rules)
    }

    /// Adds the rules of a folder for the entries in it.
    pub(super) fn enter(&mut self, folder: &Path) -> Result<(), Trap> {
        self.leave(folder);
        self.add(folder, false)
    }

    /// True if the rules ignore an entry of a folder that was entered, or if it is hidden and no rule
    /// says to show it.
    pub(super) fn skips(&mut self, entry: &Path, is_folder: bool, hidden: bool) -> bool {
        self.leave(entry);
        let of_kind = |kind: usize| {
            let inner_first = self.folders.iter().rev();
            let mut found = inner_first.map(|it| it.rules[kind].matched(entry, is_folder));
            found.find(|found| !found.is_none()).unwrap_or(Match::None)
        };
        let found = (0..3).map(of_kind).reduce(Match::or).unwrap_or(Match::None);
        match found.or(self.user.matched(entry, is_folder)) {
            Match::Ignore(_) => true,
            Match::Whitelist(_) => false,
            Match::None => hidden,
        }
    }

    /// Forgets the rules of folders that do not contain the path.
    fn leave(&mut self, path: &Path) {
        while self.folders.pop_if(|inner| !path.starts_with(&inner.folder)).is_some() {}
    }

    fn add(&mut self, folder: &Path, follow: bool) -> Result<(), Trap> {
        let exclude = repository(folder, follow).map(|folder| folder.join("info/exclude"));
        let files = [Some(folder.join(".ignore")), Some(folder.join(".gitignore")), exclude];
        let mut rules = [const { None }; 3];
        for (rules, file) in rules.iter_mut().zip(files) {
            *rules = file.map(|file| read(folder, &file, follow)).transpose()?.flatten();
        }
        if rules.iter().any(Option::is_some) {
            let rules = rules.map(|rules| rules.unwrap_or_else(Gitignore::empty));
            self.folders.push(FolderRules { folder: folder.to_owned(), rules });
        }
        Ok(())
    }
}

/// Rules of a file for a folder; `None` if it is missing or cannot be opened.
fn read(folder: &Path, file: &Path, follow: bool) -> Result<Option<Gitignore>, Trap> {
    match fs::symlink_metadata(file) {
        Err(_) => return Ok(None),
        Ok(data) if data.is_file() || follow => {}
        Ok(_) => return Err(Trap),
    }
    let bytes = match small_file::read(file, MOST_RULES) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::InvalidInput => return Err(Trap),
        Err(_) => return Ok(None),
    };
    let mut builder = GitignoreBuilder::new(folder);
    let text = String::from_utf8_lossy(&bytes);
    for line in text.trim_start_matches('\u{feff}').lines() {
        // Git skips a line with a malformed pattern, too.
        let _ = builder.add_line(None, line);
    }
    Ok(builder.build().ok())
}

/// Folder of the repository, of which all working copies share the rules.
fn repository(folder: &Path, follow: bool) -> Option<PathBuf> {
    let dot_git = folder.join(".git");
    let data = if follow { fs::metadata(&dot_git) } else { fs::symlink_metadata(&dot_git) };
    let data = data.ok()?;
    if data.is_dir() {
        return Some(dot_git);
    }
    let named = |file: &Path| small_file::read_text(file, MOST_POINTER).ok();
    let pointer = named(&dot_git).filter(|_| data.is_file())?;
    let own = folder.join(pointer.strip_prefix("gitdir:")?.trim());
    let common = named(&own.join("commondir")).map(|common| own.join(common.trim()));
    Some(common.unwrap_or(own))
}

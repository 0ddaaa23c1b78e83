//! Walk over the files of the workspace. Skips files that Git ignores, with or without a repository,
//! does not follow links, and has a fixed order.

use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use walkdir::{DirEntry, WalkDir};

use super::{Workspace, WorkspacePath, ignore_rules::IgnoreRules, resolve::is_git_folder};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hidden {
    Skip,
    Include,
}

/// Kind of an entry; links are not visited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    File,
    Folder,
}

/// End of a walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Walked {
    All,
    /// The visitor stopped the walk.
    Enough,
    /// The walk was cancelled after this number of files.
    Stopped {
        files: usize,
    },
    /// Ignore rules that would block a reader; nothing below them was visited.
    Trapped,
}

/// Text for a model about [`Walked::Trapped`].
pub const TRAPPED: &str = "Nothing was searched: .gitignore, .ignore or .git/info/exclude is no \
    regular file or too large to be read. Tell the user.";

/// Longest search for files by name.
const MAX_TIME: Duration = Duration::from_secs(10);

impl Workspace {
    /// Visits the regular files at and below each of the paths in the order of their names, until
    /// `stop` says so. Blocks.
    pub fn walk(
        &self,
        starts: &[WorkspacePath],
        hidden: Hidden,
        stop: &dyn Fn() -> bool,
        mut visit: impl FnMut(WorkspacePath) -> ControlFlow<()>,
    ) -> Walked {
        let (mut files, mut trapped) = (0, false);
        for from in starts {
            let visit = |path, kind| match kind {
                Entry::File => {
                    files += 1;
                    visit(path)
                }
                Entry::Folder => ControlFlow::Continue(()),
            };
            match self.walk_entries(from, (hidden, None), stop, visit) {
                // The last file may have been visited in part.
                Walked::All if stop() => return Walked::Stopped { files },
                Walked::All => {}
                Walked::Trapped => trapped = true,
                ended @ (Walked::Enough | Walked::Stopped { .. }) => return ended,
            }
        }
        if trapped { Walked::Trapped } else { Walked::All }
    }

    /// Visits the files and folders directly in a folder, in the order of their names, hidden ones
    /// included. Blocks.
    pub fn list(
        &self,
        folder: &WorkspacePath,
        visit: impl FnMut(WorkspacePath, Entry) -> ControlFlow<()>,
    ) -> Walked {
        self.walk_entries(folder, (Hidden::Include, Some(1)), &|| false, visit)
    }

    fn walk_entries(
        &self,
        from: &WorkspacePath,
        (hidden, depth): (Hidden, Option<usize>),
        stop: &dyn Fn() -> bool,
        mut visit: impl FnMut(WorkspacePath, Entry) -> ControlFlow<()>,
    ) -> Walked {
        let (folder, root) = (&self.folders[from.folder], &self.canonical[from.folder]);
        let resolved = |path: &Path| path.strip_prefix(folder).map(|inside| root.join(inside));
        let Ok(start) = resolved(from.as_path()) else { return Walked::All };
        let Ok(mut rules) = IgnoreRules::above(&start, root) else { return Walked::Trapped };
        if start.is_dir() && rules.enter(&start).is_err() {
            return Walked::Trapped;
        }
        let walk = WalkDir::new(from.as_path())
            .max_depth(depth.unwrap_or(usize::MAX))
            .sort_by_file_name()
            .into_iter()
            .filter_entry(|entry| {
                let is_hidden = hidden == Hidden::Skip && is_hidden(entry);
                let enters = |at: PathBuf| enters(&mut rules, entry, &at, is_hidden);
                !stop() && (entry.depth() == 0 || resolved(entry.path()).is_ok_and(enters))
            });
        // An entry that cannot be read is skipped, as in a listing.
        for entry in walk.flatten() {
            let Ok(inside) = entry.path().strip_prefix(folder) else { continue };
            if self.is_own(&self.canonical[from.folder].join(inside)) {
                continue;
            }
            let kind = entry.file_type();
            let kind = match (kind.is_file(), kind.is_dir() && entry.depth() > 0) {
                (true, _) => Entry::File,
                (false, true) => Entry::Folder,
                (false, false) => continue,
            };
            if visit(self.path_in(from.folder, inside), kind).is_break() {
                return Walked::Enough;
            }
        }
        Walked::All
    }
}

impl Workspace {
    /// True if Git ignores a path or a folder that contains it, by the rules of the project, of
    /// `.git/info/exclude` or of the user. A path whose rules cannot be read is treated as ignored. Blocks.
    pub fn is_ignored(&self, path: &Path) -> bool {
        let mut folders = self.folders.iter().zip(&self.canonical);
        let inside =
            folders.find_map(|(folder, root)| Some((path.strip_prefix(folder).ok()?, root)));
        let Some((inside, root)) = inside else { return true };
        let Ok(mut rules) = IgnoreRules::above(root, root) else { return true };
        let mut at = root.clone();
        inside.components().any(|name| {
            let trapped = rules.enter(&at).is_err();
            at.push(name);
            trapped || rules.skips(&at, at.is_dir(), false)
        })
    }

    /// Visits the files and links with these names that no rule ignores. Does not enter folders for
    /// which `skip` is true. Blocks.
    pub fn find_named(
        &self,
        names: &[&str],
        skip: impl Fn(&Path) -> bool,
        mut visit: impl FnMut(&Path),
    ) {
        let started = Instant::now();
        for (folder, root) in self.folders.iter().zip(&self.canonical) {
            let Ok(mut rules) = IgnoreRules::above(root, root) else { continue };
            if rules.enter(root).is_err() {
                continue;
            }
            let walk = WalkDir::new(folder).into_iter().filter_entry(|entry| {
                let Ok(inside) = entry.path().strip_prefix(folder) else { return false };
                let is_skipped = entry.file_type().is_dir() && skip(inside);
                entry.depth() == 0
                    || !is_skipped && enters(&mut rules, entry, &root.join(inside), false)
            });
            for entry in walk.flatten() {
                if started.elapsed() > MAX_TIME {
                    return;
                }
                if names.iter().any(|name| entry.file_name() == *name) {
                    visit(entry.path());
                }
            }
        }
    }
}

/// True for an entry that a walk visits: no rule ignores it, and it is not of Git. The rules of a
/// folder are added.
fn enters(rules: &mut IgnoreRules, entry: &DirEntry, at: &Path, is_hidden: bool) -> bool {
    let is_folder = entry.file_type().is_dir();
    !entry.file_name().eq_ignore_ascii_case(".git")
        && !rules.skips(at, is_folder, is_hidden)
        && !(is_folder && (is_git_folder(entry.path(), None) || rules.enter(at).is_err()))
}

fn is_hidden(entry: &DirEntry) -> bool {
    entry.file_name().as_encoded_bytes().starts_with(b".")
}

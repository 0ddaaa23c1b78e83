//! Walk over the files of the workspace. Skips files that Git ignores, with or without a repository,
//! does not follow links, and has a fixed order.

use std::{
    ops::ControlFlow,
    path::Path,
    time::{Duration, Instant},
};

use ignore::WalkBuilder;

use super::{Workspace, WorkspacePath, resolve::is_git_folder};

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
    /// Visits the regular files at and below a path in the order of their names, until `stop` says
    /// so. Blocks.
    pub fn walk(
        &self,
        from: &WorkspacePath,
        hidden: Hidden,
        stop: &dyn Fn() -> bool,
        mut visit: impl FnMut(WorkspacePath) -> ControlFlow<()>,
    ) -> Walked {
        self.walk_entries(from, (hidden, None), stop, |path, kind| match kind {
            Entry::File => visit(path),
            Entry::Folder => ControlFlow::Continue(()),
        })
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
        let folder = &self.folders[from.folder];
        let above = from.as_path().ancestors().take_while(|it| it.starts_with(folder));
        // Rules above the workspace apply as well, from its resolved path.
        let outside = self.canonical[from.folder].ancestors().skip(1);
        if above.into_iter().any(has_trap) || outside.into_iter().any(has_trap_behind_links) {
            return Walked::Trapped;
        }
        let walk = WalkBuilder::new(from.as_path())
            .max_depth(depth)
            .hidden(hidden == Hidden::Skip)
            .require_git(false)
            .follow_links(false)
            .sort_by_file_name(std::ffi::OsStr::cmp)
            .filter_entry(|entry| {
                let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
                entry.depth() == 0
                    || !(entry.file_name().eq_ignore_ascii_case(".git")
                        || is_folder
                            && (is_git_folder(entry.path(), None) || has_trap(entry.path())))
            })
            .build();
        // An entry that cannot be read is skipped, as in a listing.
        let mut files = 0;
        for entry in walk.flatten() {
            if stop() {
                return Walked::Stopped { files };
            }
            let Ok(inside) = entry.path().strip_prefix(folder) else { continue };
            if self.is_own(&self.canonical[from.folder].join(inside)) {
                continue;
            }
            let Some(kind) = entry.file_type() else { continue };
            let kind = match (kind.is_file(), kind.is_dir() && entry.depth() > 0) {
                (true, _) => Entry::File,
                (false, true) => Entry::Folder,
                (false, false) => continue,
            };
            files += usize::from(kind == Entry::File);
            if visit(self.path_in(from.folder, inside), kind).is_break() {
                return Walked::Enough;
            }
        }
        // The last file may have been visited in part.
        if stop() {
            return Walked::Stopped { files };
        }
        Walked::All
    }
}

impl Workspace {
    /// True if Git ignores a path or a folder that contains it, by the rules of the project, of
    /// `.git/info/exclude` or of the user. A path whose rules cannot be read counts as ignored. Blocks.
    pub fn is_ignored(&self, path: &Path) -> bool {
        let Some(folder) = self.folder_of(path) else { return true };
        let above = path.ancestors().skip(1).take_while(|above| above.starts_with(folder));
        if above.into_iter().any(has_trap) {
            return true;
        }
        let wanted = path.to_owned();
        let mut walk = WalkBuilder::new(folder)
            .hidden(false)
            .require_git(false)
            .follow_links(false)
            .filter_entry(move |entry| wanted.starts_with(entry.path()))
            .build();
        !walk.any(|entry| entry.is_ok_and(|entry| entry.path() == path))
    }

    /// Visits the files and links with these names that no rule ignores. Does not enter folders for
    /// which `skip` is true. Blocks.
    pub fn find_named(
        &self,
        names: &[&str],
        skip: impl Fn(&Path) -> bool + Clone + Send + Sync + 'static,
        mut visit: impl FnMut(&Path),
    ) {
        let started = Instant::now();
        for folder in &self.folders {
            let (root, skip) = (folder.clone(), skip.clone());
            let walk = WalkBuilder::new(folder)
                .hidden(false)
                .require_git(false)
                .follow_links(false)
                .filter_entry(move |entry| {
                    let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
                    !is_folder
                        || !(entry.file_name().eq_ignore_ascii_case(".git")
                            || entry.path().strip_prefix(&root).is_ok_and(&skip)
                            || is_git_folder(entry.path(), None)
                            || has_trap(entry.path()))
                })
                .build();
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

/// True if a folder has ignore rules that are very long or would block a reader.
fn has_trap(folder: &Path) -> bool {
    is_trap(|name| std::fs::symlink_metadata(folder.join(name)))
}

/// The same for a folder above the workspace. Links there are the user's own and are followed, and
/// their targets are checked.
fn has_trap_behind_links(folder: &Path) -> bool {
    is_trap(|name| std::fs::metadata(folder.join(name)))
}

fn is_trap(look: impl Fn(&str) -> std::io::Result<std::fs::Metadata>) -> bool {
    const LARGEST: u64 = 1024 * 1024;
    [".gitignore", ".ignore", ".git/info/exclude"]
        .iter()
        .any(|name| look(name).is_ok_and(|meta| !meta.is_file() || meta.len() > LARGEST))
}

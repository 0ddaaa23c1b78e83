//! Going through the files of the workspace that are of interest: what Git ignores is skipped,
//! with or without a repository, links are not followed, and the order is always the same.

use std::{
    ops::ControlFlow,
    time::{Duration, Instant},
};

use ignore::WalkBuilder;

use super::{Workspace, WorkspacePath};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hidden {
    Skip,
    Include,
}

/// Why a walk ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Walked {
    All,
    /// The visitor had enough.
    Stopped,
    /// There are more files, or it took longer, than a walk may.
    Cut,
}

const MAX_FILES: usize = 100_000;
const MAX_TIME: Duration = Duration::from_secs(10);

impl Workspace {
    /// Visits the regular files at and below a path in the order of their names. Blocks.
    pub fn walk(
        &self,
        from: &WorkspacePath,
        hidden: Hidden,
        mut visit: impl FnMut(WorkspacePath) -> ControlFlow<()>,
    ) -> Walked {
        let started = Instant::now();
        let folder = self.folders.iter().find(|folder| from.as_path().starts_with(folder));
        let Some(folder) = folder else { return Walked::All };
        let walk = WalkBuilder::new(from.as_path())
            .hidden(hidden == Hidden::Skip)
            .require_git(false)
            .follow_links(false)
            .sort_by_file_name(std::ffi::OsStr::cmp)
            .filter_entry(|entry| {
                entry.depth() == 0 || !entry.file_name().eq_ignore_ascii_case(".git")
            })
            .build();
        // An entry that cannot be read is passed over, as it would be in a listing.
        for (seen, entry) in walk.flatten().enumerate() {
            if seen >= MAX_FILES || started.elapsed() > MAX_TIME {
                return Walked::Cut;
            }
            let Ok(inside) = entry.path().strip_prefix(folder) else { continue };
            if entry.file_type().is_some_and(|kind| kind.is_file())
                && visit(self.path_in(folder, inside)).is_break()
            {
                return Walked::Stopped;
            }
        }
        Walked::All
    }
}

//! Rules of the path scan for control files: which entries are tracked and which folders are walked.

use std::{
    collections::{BTreeSet, HashSet},
    ffi::OsString,
    path::{Path, PathBuf},
};

use cairn_core::policy::control_files::{EntryKind, Role, Zone, is_repository, role, role_in_bare};
use serde::{Deserialize, Serialize};

/// Decision about one entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Judged {
    /// Part of the stamp that is compared; `None` if the entry is not tracked.
    pub(super) track: Option<Compare>,
    /// Zone in which a folder is walked; `None` if it is not walked.
    pub(super) enter: Option<Zone>,
}

/// Part of a stamp that is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Compare {
    /// Content and identity.
    Whole,
    /// Identity of a folder, not its contents.
    Identity,
    /// Existence only.
    Presence,
}

/// Control files of one root. Most are known by their name (`policy::control_files` in the core);
/// git's settings name further paths.
#[derive(Debug, Default)]
pub(super) struct Control {
    /// Paths that git's settings name, relative to the root.
    named: BTreeSet<PathBuf>,
    /// Folders above one of these paths.
    above_named: HashSet<PathBuf>,
    /// Folders that are never walked: Cairn's own, and hidden ones of a home folder.
    skipped: HashSet<PathBuf>,
}

impl Control {
    /// Creates the rules for a root. The paths `named` and `skipped` are absolute.
    pub(super) fn below<'a>(
        root: &Path,
        named: impl Iterator<Item = &'a PathBuf>,
        skipped: impl Iterator<Item = &'a PathBuf>,
    ) -> Self {
        let inside = |path: &'a PathBuf| path.strip_prefix(root).ok().map(Path::to_owned);
        let named: BTreeSet<PathBuf> =
            named.filter_map(inside).filter(|path| !path.as_os_str().is_empty()).collect();
        let above_named =
            named.iter().flat_map(|path| path.ancestors()).map(Path::to_owned).collect();
        Self { named, above_named, skipped: skipped.filter_map(inside).collect() }
    }

    pub(super) fn is_named(&self, path: &Path) -> bool {
        self.named.contains(path)
    }

    /// Judges the entries of a folder, one result for each. `folder` is relative to the root.
    pub(super) fn judge(
        &self,
        zone: Zone,
        folder: &Path,
        entries: &[(OsString, EntryKind)],
    ) -> Vec<Judged> {
        let folder_name = folder.file_name().unwrap_or_default().to_string_lossy();
        let may_be_bare = matches!(zone, Zone::Project | Zone::Generated | Zone::Repositories);
        let bare = may_be_bare && is_repository(entries.iter().filter_map(|it| it.0.to_str()));
        let may_hold_named = self.above_named.contains(folder);
        let judge = |(name, kind): &(OsString, EntryKind)| {
            let text = name.to_string_lossy();
            let mut role = if bare {
                role_in_bare(zone, &folder_name, &text, *kind)
            } else {
                role(zone, &folder_name, &text, *kind)
            };
            if may_hold_named || !self.skipped.is_empty() {
                let path = folder.join(name);
                if self.skipped.contains(&path) {
                    return Judged { track: None, enter: None };
                }
                // A link above a named path determines which file that path is.
                let leads_to_named = *kind == EntryKind::Link && self.above_named.contains(&path);
                if matches!(role, Role::Plain { .. })
                    && (leads_to_named || self.named.contains(&path))
                {
                    role = Role::Control { enter: Zone::Control };
                }
            }
            match role {
                Role::Plain { enter } => Judged { track: None, enter },
                Role::Mark => Judged { track: Some(Compare::Presence), enter: None },
                Role::Control { enter } => Judged {
                    track: Some(match kind {
                        EntryKind::Folder => Compare::Identity,
                        EntryKind::File | EntryKind::Link | EntryKind::Other => Compare::Whole,
                    }),
                    enter: Some(enter),
                },
            }
        };
        entries.iter().map(judge).collect()
    }
}

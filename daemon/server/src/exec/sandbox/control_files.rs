//! Control files of a workspace (files that git, an editor or a shell runs or obeys unasked) as
//! they were before a command.

use std::{collections::BTreeSet, path::PathBuf};

#[derive(Debug, Default)]
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only a sandbox reads them"))]
pub struct ControlFiles {
    /// Paths to mount read-only, the uppermost of each folder.
    pub(super) protected: Vec<PathBuf>,
    /// Paths that git's settings name, existing or missing.
    pub(super) named: BTreeSet<PathBuf>,
}

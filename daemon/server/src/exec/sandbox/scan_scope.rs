//! Input of the search for paths that a sandbox must hide or protect.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use cairn_core::policy::sandbox::{Needs, Placed};

use super::{control_files::ControlFiles, home::detect::VisiblePaths};

pub(super) struct ScanScope<'a> {
    /// Folders of the workspace.
    pub(super) folders: &'a [PathBuf],
    /// Further folders that the user allows to write.
    pub(super) writable: &'a [PathBuf],
    pub(super) home: Option<&'a Path>,
    /// Visible part of the home folder.
    pub(super) view: &'a HomeView,
    /// Cairn's own folders.
    pub(super) hidden: &'a [PathBuf],
    pub(super) needs: Needs,
    /// Control files that the scan before the command found.
    pub(super) control: &'a ControlFiles,
    /// Set for a read-only command: only the temporary folder is writable.
    pub(super) read_only: bool,
}

/// Part of the user's home folder that a command sees.
#[derive(Debug, Clone, Default)]
pub(super) struct HomeView {
    pub(super) detected: Arc<VisiblePaths>,
    /// Settings without credentials, in the place of the user's.
    pub(super) user_settings: Vec<Placed>,
    /// Paths that the user makes visible (`cairn.sandbox.readable`).
    pub(super) readable: Vec<PathBuf>,
    /// Folder of Cairn's own package caches.
    pub(super) packages: PathBuf,
}

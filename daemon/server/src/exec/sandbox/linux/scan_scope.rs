//! Input of the search for paths that a sandbox must hide or protect.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use cairn_core::policy::sandbox::Placed;

use super::home::detect::VisiblePaths;
use crate::exec::sandbox::request::SandboxRequest;

pub(super) struct ScanScope<'a> {
    pub(super) request: &'a SandboxRequest,
    pub(super) home: Option<&'a Path>,
    /// Visible part of the home folder.
    pub(super) view: &'a HomeView,
    /// Cairn's own folders.
    pub(super) hidden: &'a [PathBuf],
}

/// Part of the user's home folder that a command sees.
#[derive(Debug, Clone, Default)]
pub(super) struct HomeView {
    pub(super) detected: Arc<VisiblePaths>,
    /// Settings without credentials, in the place of the user's.
    pub(super) user_settings: Vec<Placed>,
    /// Folder of Cairn's own package caches.
    pub(super) packages: PathBuf,
}

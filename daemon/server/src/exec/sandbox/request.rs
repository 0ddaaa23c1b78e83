//! Requests of the caller: a sandbox for a command, and a watch over one.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use cairn_core::{ids::SessionId, policy::sandbox::Needs};

use super::{control_files::ControlFiles, settings::SandboxSettings};

/// Command to prepare a sandbox for.
#[derive(Debug, Clone, Default)]
pub struct SandboxRequest {
    pub command: String,
    pub cwd: PathBuf,
    /// Folders of the workspace.
    pub folders: Vec<PathBuf>,
    pub needs: Needs,
    /// Set for a read-only command: it gets no write access to the workspace.
    pub read_only: bool,
    /// Control files found before the command; none for a read-only command.
    pub control: Arc<ControlFiles>,
    pub settings: SandboxSettings,
    /// Session whose loopback the command shares with its other commands. `None`: the command has its own.
    pub session: Option<SessionId>,
}

/// Folders to watch while a command runs.
#[derive(Debug, Clone, Copy)]
pub struct WatchScope<'a> {
    /// Folders of the workspace.
    pub folders: &'a [PathBuf],
    pub home: Option<&'a Path>,
    /// Cairn's own folders, which are not watched.
    pub hidden: &'a [PathBuf],
    /// Set if the command may write `.git`.
    pub git_writable: bool,
}

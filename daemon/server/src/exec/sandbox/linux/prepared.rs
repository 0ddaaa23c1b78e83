//! Sandbox that is ready for one command.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    loopback::Loopback,
    private_folders::{PrivateFolders, PrivateHome},
};

/// Sandbox prepared for one command.
#[derive(Debug)]
pub struct PreparedSandbox {
    pub(in crate::exec) program: PathBuf,
    pub(in crate::exec) arguments: Vec<OsString>,
    /// Path of the temporary folder inside the sandbox.
    pub(super) temporary: PathBuf,
    /// Environment variables of [`SandboxSpec::variables`](super::builder::SandboxSpec::variables).
    pub(super) variables: Vec<(&'static str, PathBuf)>,
    /// Paths that the command may write; `read_only` lists exceptions below them.
    pub(super) writable: Vec<PathBuf>,
    pub(super) read_only: Vec<PathBuf>,
    pub(super) held: Held,
}

/// Private folders, which stay while the sandbox exists.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) folders: Arc<PrivateFolders>,
    /// `None` for the test of a backend.
    pub(super) _home: Option<Arc<PrivateHome>>,
    /// Network of the session, which the command joins.
    pub(super) loopback: Option<Arc<Loopback>>,
}

/// Equal if the same command runs with the same mounts.
impl PartialEq for PreparedSandbox {
    fn eq(&self, other: &Self) -> bool {
        (&self.program, &self.arguments) == (&other.program, &other.arguments)
    }
}

impl PreparedSandbox {
    /// Path of the temporary folder in the daemon's file system, and inside the sandbox.
    pub fn temporary_folder(&self) -> (PathBuf, &Path) {
        (self.held.folders.temporary(), &self.temporary)
    }

    /// Network of the session, which the launcher waits for.
    pub(in crate::exec) fn loopback(&self) -> Option<&Loopback> {
        self.held.loopback.as_deref()
    }

    /// Variables that redirect caches of tools to the private temporary folder. They affect nothing
    /// but each program's own cache.
    pub(in crate::exec) fn environment(&self) -> Vec<(&'static str, PathBuf)> {
        let mut all = vec![
            ("TMPDIR", self.temporary.clone()),
            ("GOCACHE", self.temporary.join("go-build")),
            ("npm_config_cache", self.temporary.join("npm")),
        ];
        all.extend(self.variables.iter().cloned());
        all
    }
}

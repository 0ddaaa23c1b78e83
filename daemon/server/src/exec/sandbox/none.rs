//! No box: there is no way to build one on this system, and so none that a command could run in.

use std::{convert::Infallible, ffi::OsString, io, path::PathBuf, process::ExitCode, sync::Arc};

use super::{AllowedBackends, SUBCOMMAND, SandboxBackend, SandboxRequest};

const REASON: &str = "Cairn has none for this system yet";

#[derive(Debug)]
pub struct Sandbox;

/// Nobody has one.
pub type PreparedSandbox = Infallible;

impl Sandbox {
    pub fn new(_program: Option<PathBuf>, _tiers: AllowedBackends, _hidden: Vec<PathBuf>) -> Self {
        Self
    }

    pub fn hidden(&self) -> &[PathBuf] {
        &[]
    }

    pub async fn backend(&self) -> Result<SandboxBackend, String> {
        Err(REASON.to_owned())
    }

    pub async fn prepare(&self, _order: SandboxRequest<'_>) -> io::Result<Arc<PreparedSandbox>> {
        Err(io::Error::new(io::ErrorKind::Unsupported, REASON))
    }
}

pub(super) fn part(_words: impl Iterator<Item = OsString>) -> anyhow::Result<ExitCode> {
    anyhow::bail!("`cairn {SUBCOMMAND}` is for Linux")
}

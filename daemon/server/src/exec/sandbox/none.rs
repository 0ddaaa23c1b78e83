//! Placeholder for systems on which no sandbox can be built.

use std::{convert::Infallible, ffi::OsString, io, path::PathBuf, process::ExitCode, sync::Arc};

use super::{
    request::SandboxRequest,
    settings::{AllowedBackends, SUBCOMMAND, SandboxBackend},
};

const REASON: &str = "Cairn has none for this system yet";

#[derive(Debug)]
pub struct Sandbox;

/// Uninhabited: no sandbox is ever prepared.
pub type PreparedSandbox = Infallible;

impl Sandbox {
    pub fn new(
        _program: Option<PathBuf>,
        _backends: AllowedBackends,
        _hidden: Vec<PathBuf>,
    ) -> Self {
        Self
    }

    pub fn hidden(&self) -> &[PathBuf] {
        &[]
    }

    pub async fn backend(&self) -> Result<SandboxBackend, String> {
        Err(REASON.to_owned())
    }

    pub async fn prepare(&self, _request: SandboxRequest) -> io::Result<Arc<PreparedSandbox>> {
        Err(io::Error::new(io::ErrorKind::Unsupported, REASON))
    }
}

pub(super) fn mounted_paths(sandbox: &PreparedSandbox) -> (&[PathBuf], &[PathBuf]) {
    match *sandbox {}
}

pub(super) fn run_subcommand(
    _arguments: impl Iterator<Item = OsString>,
) -> anyhow::Result<ExitCode> {
    anyhow::bail!("`cairn {SUBCOMMAND}` works on Linux only")
}

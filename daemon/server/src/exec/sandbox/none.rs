//! No box: there is no way to build one on this system, and so none that a command could run in.

use std::{convert::Infallible, ffi::OsString, io, path::PathBuf, process::ExitCode, sync::Arc};

use super::{Order, SUBCOMMAND, Tier, Tiers};

const REASON: &str = "Cairn has none for this system yet";

#[derive(Debug)]
pub struct Sandbox;

/// Nobody has one.
pub type Boxed = Infallible;

impl Sandbox {
    pub fn new(_program: Option<PathBuf>, _tiers: Tiers, _hidden: Vec<PathBuf>) -> Self {
        Self
    }

    pub fn hidden(&self) -> &[PathBuf] {
        &[]
    }

    pub async fn tier(&self) -> Result<Tier, String> {
        Err(REASON.to_owned())
    }

    pub async fn prepare(&self, _order: Order<'_>) -> io::Result<Arc<Boxed>> {
        Err(io::Error::new(io::ErrorKind::Unsupported, REASON))
    }
}

pub(super) fn part(_words: impl Iterator<Item = OsString>) -> anyhow::Result<ExitCode> {
    anyhow::bail!("`cairn {SUBCOMMAND}` is for Linux")
}

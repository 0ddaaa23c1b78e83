//! Placeholder for the watch on systems without a sandbox, where each command needs approval.

use std::{
    convert::Infallible,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use cairn_core::text::Text;
use cairn_protocol::{QuarantineEntry, QuarantineFault};

use super::{control_files::ControlFiles, none::PreparedSandbox, request::WatchScope};

#[derive(Debug)]
pub struct Watch;

#[derive(Debug)]
pub struct Watching;

/// Uninhabited: nothing is ever moved to quarantine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuarantinedFile(Infallible);

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QuarantineReport {
    pub moved: Vec<QuarantinedFile>,
}

impl Watch {
    pub fn new(_state: Option<PathBuf>) -> Self {
        Self
    }

    pub fn begin(self: &Arc<Self>, _: &WatchScope) -> io::Result<Watching> {
        Ok(Watching)
    }

    pub fn was_saved(&self, _: &Path, _: Text) {}

    pub fn recover(&self, _: &WatchScope) -> QuarantineReport {
        QuarantineReport::default()
    }

    pub fn put_back(&self, _: &[QuarantinedFile]) -> Vec<(PathBuf, String)> {
        Vec::new()
    }
}

impl Watching {
    pub fn control_files(&self) -> Arc<ControlFiles> {
        Arc::default()
    }

    pub fn mounted(&self, _: Option<&PreparedSandbox>) -> io::Result<()> {
        Ok(())
    }

    pub async fn scan_repeatedly(&self, _: impl Fn(&mut QuarantineReport)) -> Infallible {
        std::future::pending().await
    }

    pub fn finish(self) -> QuarantineReport {
        QuarantineReport::default()
    }
}

impl QuarantinedFile {
    pub fn place(&self) -> PathBuf {
        match self.0 {}
    }
}

impl QuarantineReport {
    pub fn is_empty(&self) -> bool {
        true
    }

    pub fn extend(&mut self, other: Self) {
        self.moved.extend(other.moved);
    }

    pub fn entries(&self, _: impl Fn(&Path) -> String) -> Vec<QuarantineEntry> {
        Vec::new()
    }

    pub fn folder(&self) -> Option<&Path> {
        None
    }

    pub fn faults(&self) -> Vec<QuarantineFault> {
        Vec::new()
    }

    pub fn patch(&self) -> Option<String> {
        None
    }
}

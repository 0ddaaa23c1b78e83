//! Placeholder for the watch on systems without a sandbox, where each command needs approval.

use std::{
    convert::Infallible,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use cairn_core::text::Text;

use super::Begin;

#[derive(Debug)]
pub struct Watch;

#[derive(Debug, Default)]
pub struct ControlFiles;

#[derive(Debug)]
pub struct Watching;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left(Infallible);

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LeftBehind {
    pub moved: Vec<Left>,
}

impl Watch {
    pub fn new(_state: Option<PathBuf>) -> Self {
        Self
    }

    pub fn begin(self: &Arc<Self>, _: &Begin) -> io::Result<Watching> {
        Ok(Watching)
    }

    pub fn was_saved(&self, _: &Path, _: Text) {}

    pub fn recover(&self, _: &Begin) -> LeftBehind {
        LeftBehind::default()
    }

    pub fn put_back(&self, _: &[Left]) -> Vec<(PathBuf, String)> {
        Vec::new()
    }
}

impl Watching {
    pub fn control_files(&self) -> Arc<ControlFiles> {
        Arc::default()
    }

    pub fn mounted(&self, _: Option<&super::PreparedSandbox>) -> io::Result<()> {
        Ok(())
    }

    pub async fn repeat(&self) -> Infallible {
        std::future::pending().await
    }

    pub fn finish(self) -> LeftBehind {
        LeftBehind::default()
    }
}

impl Left {
    pub fn place(&self) -> PathBuf {
        match self.0 {}
    }
}

impl LeftBehind {
    pub fn is_empty(&self) -> bool {
        true
    }

    pub fn lines(&self, _: impl Fn(&Path) -> String) -> Vec<String> {
        Vec::new()
    }

    pub fn folder(&self) -> Option<&Path> {
        None
    }

    pub fn faults(&self) -> String {
        String::new()
    }

    pub fn patch(&self) -> Option<String> {
        None
    }
}

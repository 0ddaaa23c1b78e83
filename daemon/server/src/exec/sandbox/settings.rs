//! Settings of the user for the sandbox, and names of the programs that can build one.

use std::path::PathBuf;

/// Program that builds sandboxes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SandboxBackend {
    Bubblewrap,
    /// Cairn's own launcher.
    Namespaces,
}

/// Backends that may be used; for tests and diagnosis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AllowedBackends {
    #[default]
    Any,
    Only(SandboxBackend),
    None,
}

impl AllowedBackends {
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "any" => Some(AllowedBackends::Any),
            "bubblewrap" => Some(AllowedBackends::Only(SandboxBackend::Bubblewrap)),
            "namespaces" => Some(AllowedBackends::Only(SandboxBackend::Namespaces)),
            "none" => Some(AllowedBackends::None),
            _ => None,
        }
    }

    #[cfg(target_os = "linux")]
    pub(super) fn contains(self, backend: SandboxBackend) -> bool {
        match self {
            AllowedBackends::Any => true,
            AllowedBackends::Only(only) => only == backend,
            AllowedBackends::None => false,
        }
    }
}

/// Settings of the user for the sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxSettings {
    pub on: bool,
    /// Folders outside the workspace that commands may write.
    pub writable: Vec<PathBuf>,
    /// Paths below the home folder, besides the known toolchains, that commands may read.
    pub readable: Vec<PathBuf>,
    /// Set if every command has network access.
    pub network: bool,
}

impl Default for SandboxSettings {
    fn default() -> Self {
        Self { on: true, writable: Vec::new(), readable: Vec::new(), network: false }
    }
}

//! Settings of the user for the sandbox, and names of the programs that can build one.

use std::path::PathBuf;

/// Subcommand that starts this program inside a sandbox, as the launcher of one, or as a guard.
pub const SUBCOMMAND: &str = "sandbox-run";

/// Program that builds sandboxes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SandboxBackend {
    Bubblewrap,
    /// Cairn's own launcher.
    Namespaces,
}

/// Backends that may be used, the better one first. Fewer for tests and diagnosis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AllowedBackends(pub &'static [SandboxBackend]);

impl Default for AllowedBackends {
    fn default() -> Self {
        Self(&[SandboxBackend::Bubblewrap, SandboxBackend::Namespaces])
    }
}

impl AllowedBackends {
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "any" => Some(Self::default()),
            "bubblewrap" => Some(Self(&[SandboxBackend::Bubblewrap])),
            "namespaces" => Some(Self(&[SandboxBackend::Namespaces])),
            "none" => Some(Self(&[])),
            _ => None,
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

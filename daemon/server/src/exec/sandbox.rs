//! Sandbox of the agent's commands (`policy::sandbox` defines its contents): the backend that works
//! on this system, and preparation of a command for it.
//!
//! Bubblewrap builds the sandbox if it is installed, else Cairn's own launcher (`userns_launcher`).
//! Inside, `sandbox_init` restricts it further. If no backend works, the caller gets the reason: no
//! command runs outside because its sandbox could not be built.

use std::{
    ffi::OsString,
    io,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

use cairn_core::{policy::sandbox::Needs, quote::quoted};

#[cfg(unix)]
mod backend;
#[cfg(unix)]
mod control_interest;
#[cfg(unix)]
mod existing_paths;
#[cfg(unix)]
pub(super) mod exit_report;
#[cfg(unix)]
mod git;
#[cfg(unix)]
mod home;
#[cfg(target_os = "linux")]
mod landlock_seccomp;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
#[cfg(windows)]
mod none;
#[cfg(unix)]
mod path_scan;
#[cfg(unix)]
pub(super) mod private_folders;
#[cfg(unix)]
mod quarantine;
#[cfg(unix)]
mod quarantined;
#[cfg(target_os = "linux")]
pub(super) mod sandbox_init;
#[cfg(target_os = "linux")]
mod userns_launcher;
#[cfg(unix)]
mod watch;
#[cfg(windows)]
#[path = "sandbox/watch_none.rs"]
mod watch;

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(target_os = "macos")]
use macos as system;
#[cfg(windows)]
use none as system;

#[cfg(unix)]
use backend::{Builder, SandboxSpec};
#[cfg(unix)]
pub use backend::{PreparedSandbox, Sandbox};
#[cfg(windows)]
pub use none::{PreparedSandbox, Sandbox};
#[cfg(unix)]
pub use quarantined::{Left, LeftBehind};
pub use watch::{ControlFiles, Watch, Watching};
#[cfg(windows)]
pub use watch::{Left, LeftBehind};

/// Hidden subcommand that starts this program inside a sandbox, or as the launcher of one.
pub const SUBCOMMAND: &str = "sandbox-run";

/// Program that builds sandboxes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SandboxBackend {
    Bubblewrap,
    /// Cairn's own launcher.
    Namespaces,
    /// `sandbox-exec` of macOS.
    Seatbelt,
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
}

/// Settings of the user for the sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    pub on: bool,
    /// Folders outside the workspace that commands may write.
    pub writable: Vec<PathBuf>,
    /// Paths below the home folder, besides the known toolchains, that commands may read.
    pub readable: Vec<PathBuf>,
    /// Set if every command has network access.
    pub network: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { on: true, writable: Vec::new(), readable: Vec::new(), network: false }
    }
}

/// Sandbox with the user's settings for it.
#[derive(Debug, Clone)]
pub struct SandboxConfig {
    pub sandbox: Arc<Sandbox>,
    pub watch: Arc<Watch>,
    pub settings: Settings,
}

impl SandboxConfig {
    /// Returns the backend for the agent's commands, or the reason why there is none, so that every
    /// command needs approval.
    pub async fn stand(&self) -> Result<SandboxBackend, String> {
        if !self.settings.on {
            return Err(OFF.to_owned());
        }
        self.sandbox.backend().await
    }

    /// Begins to watch the control files for a command. Blocks.
    pub fn watch(&self, folders: &[PathBuf], granted: bool) -> io::Result<Watching> {
        let home = std::env::home_dir();
        let (home, hidden) = (home.as_deref(), self.sandbox.hidden());
        self.watch.begin(&Begin { folders, home, hidden, granted })
    }

    /// Moves control files to quarantine that commands of a killed daemon left. Blocks.
    pub fn recover(&self, folders: &[PathBuf]) -> LeftBehind {
        let home = std::env::home_dir();
        let (home, hidden) = (home.as_deref(), self.sandbox.hidden());
        self.watch.recover(&Begin { folders, home, hidden, granted: false })
    }
}

/// Reason for no sandbox when the setting turns it off.
pub const OFF: &str = "it is turned off (cairn.sandbox.mode)";

/// Command to prepare a sandbox for.
pub struct SandboxRequest<'a> {
    pub command: &'a str,
    pub cwd: &'a Path,
    /// Folders of the workspace.
    pub folders: &'a [PathBuf],
    pub needs: Needs,
    /// Set for a read-only command: it gets no write access to the workspace.
    pub looks: bool,
    /// Control files found before the command; `None` for a read-only command.
    pub control: Option<Arc<ControlFiles>>,
    pub settings: &'a Settings,
}

/// Scope of the watch for a command that is about to run.
#[derive(Debug, Clone, Copy)]
pub struct Begin<'a> {
    /// Folders of the workspace.
    pub folders: &'a [PathBuf],
    pub home: Option<&'a Path>,
    /// Cairn's own folders.
    pub hidden: &'a [PathBuf],
    /// Set if the command may write `.git`.
    pub granted: bool,
}

/// Formats a path for the model and the user: quoted if it contains anything but printable
/// characters.
pub fn shown_path(path: &Path) -> String {
    quoted(&path.to_string_lossy()).into_owned()
}

/// Runs this program as a part of a sandbox, before anything else in it has started. Errors go to
/// stderr, where the daemon reads them.
pub fn run_as_part(words: impl IntoIterator<Item = OsString>) -> ExitCode {
    system::part(words.into_iter()).unwrap_or_else(|error| {
        let _ = io::Write::write_all(&mut io::stderr(), format!("{error:#}\n").as_bytes());
        ExitCode::FAILURE
    })
}

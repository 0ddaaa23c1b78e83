//! Sandbox of the agent's commands (`policy::sandbox` in the core defines its contents): the backend
//! that works on this system, and preparation of a command for it.
//!
//! Bubblewrap builds the sandbox if it is installed, else Cairn's own launcher (`userns_launcher`).
//! Inside, `sandbox_init` restricts it further. If no backend works, the caller gets the reason: no
//! command runs outside because its sandbox could not be built.

use std::{
    ffi::OsString,
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
    sync::Arc,
};

mod control_files;
mod control_interest;
pub(super) mod exit_report;
mod git;
#[cfg(target_os = "linux")]
pub(super) mod linux;
#[cfg(not(target_os = "linux"))]
mod none;
mod path_scan;
mod quarantine;
pub mod quarantine_text;
mod quarantined;
mod remove_tree;
mod request;
pub(super) mod settings;
mod shown_path;
mod watch;

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(target_os = "linux")]
pub(crate) use linux::shared_temporary;
#[cfg(not(target_os = "linux"))]
use none as system;

pub use control_files::ControlFiles;
pub use quarantined::{QuarantineReport, QuarantinedFile};
pub use request::{SandboxRequest, WatchScope};
pub use settings::{AllowedBackends, SUBCOMMAND, SandboxBackend, SandboxSettings};
pub use shown_path::shown_path;
pub use system::{PreparedSandbox, Sandbox};
pub use watch::{Watch, Watching};

/// Reason for no sandbox when the setting turns it off.
const TURNED_OFF: &str = "it is turned off (cairn.sandbox.mode)";

/// Sandbox with the user's settings for it.
#[derive(Debug, Clone)]
pub struct SandboxConfig {
    pub sandbox: Arc<Sandbox>,
    pub watch: Arc<Watch>,
    pub settings: SandboxSettings,
}

impl SandboxConfig {
    /// Returns the backend for the agent's commands, or the reason why there is none, so that every
    /// command needs approval.
    pub async fn backend(&self) -> Result<SandboxBackend, String> {
        if !self.settings.on {
            return Err(TURNED_OFF.to_owned());
        }
        self.sandbox.backend().await
    }

    /// Begins to watch the control files for a command. Blocks.
    pub fn watch(&self, folders: &[PathBuf], git_writable: bool) -> io::Result<Watching> {
        let home = std::env::home_dir();
        let (home, hidden) = (home.as_deref(), self.sandbox.hidden());
        self.watch.begin(&WatchScope { folders, home, hidden, git_writable })
    }

    /// Moves control files to quarantine that commands of a killed daemon left. Blocks.
    pub fn recover(&self, folders: &[PathBuf]) -> QuarantineReport {
        let home = std::env::home_dir();
        let (home, hidden) = (home.as_deref(), self.sandbox.hidden());
        self.watch.recover(&WatchScope { folders, home, hidden, git_writable: false })
    }
}

/// Runs this program as a part of a sandbox, or as a guard. Called before anything else has started
/// in this process. Errors go to stderr, where the daemon reads them.
pub fn run_subcommand(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    system::run_subcommand(arguments.into_iter()).unwrap_or_else(|error| {
        let _ = io::stderr().write_all(format!("{error:#}\n").as_bytes());
        ExitCode::FAILURE
    })
}

//! The box every command of the agent runs in (`policy::sandbox` says what it looks like): which way
//! of building one works here, and what it takes to start a command in it.
//!
//! Bubblewrap builds it where it is installed, else our own launcher (`outer`); inside, `init` closes
//! it further. Where none works there is no box, and who asks is told why: a command never runs
//! outside because its box could not be built.

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

/// Hidden from people: how this program is started inside a box, or as the builder of one.
pub const SUBCOMMAND: &str = "sandbox-run";

/// How boxes are built here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SandboxBackend {
    Bubblewrap,
    /// Our own launcher.
    Namespaces,
    /// That of macOS.
    Seatbelt,
}

/// Which of them may be used; for tests, and for whoever looks for a fault.
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

/// What the user says of boxes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    pub on: bool,
    /// Folders that commands may write besides the workspace's.
    pub writable: Vec<PathBuf>,
    /// Paths below the home folder that commands may read besides the known toolchains.
    pub readable: Vec<PathBuf>,
    /// Every command has the network.
    pub network: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { on: true, writable: Vec::new(), readable: Vec::new(), network: false }
    }
}

/// A sandbox and what the user says of it.
#[derive(Debug, Clone)]
pub struct SandboxConfig {
    pub sandbox: Arc<Sandbox>,
    pub watch: Arc<Watch>,
    pub settings: Settings,
}

impl SandboxConfig {
    /// How the agent's commands are boxed; or why they are not, and so are asked for, every one.
    pub async fn stand(&self) -> Result<SandboxBackend, String> {
        if !self.settings.on {
            return Err(OFF.to_owned());
        }
        self.sandbox.backend().await
    }

    /// Begins the watch over a command. Blocks.
    pub fn watch(&self, folders: &[PathBuf], granted: bool) -> io::Result<Watching> {
        let home = std::env::home_dir();
        let (home, hidden) = (home.as_deref(), self.sandbox.hidden());
        self.watch.begin(&Begin { folders, home, hidden, granted })
    }

    /// Moves what commands left whose daemon was killed. Blocks.
    pub fn recover(&self, folders: &[PathBuf]) -> LeftBehind {
        let home = std::env::home_dir();
        let (home, hidden) = (home.as_deref(), self.sandbox.hidden());
        self.watch.recover(&Begin { folders, home, hidden, granted: false })
    }
}

/// Why there is no box although one could be built.
pub const OFF: &str = "it is turned off (cairn.sandbox.mode)";

/// A command for a box.
pub struct SandboxRequest<'a> {
    pub command: &'a str,
    pub cwd: &'a Path,
    /// Of the workspace.
    pub folders: &'a [PathBuf],
    pub needs: Needs,
    /// It writes nothing in the workspace, so that it need not be able to.
    pub looks: bool,
    /// Control files found before it; `None` for a command that only looks.
    pub control: Option<Arc<ControlFiles>>,
    pub settings: &'a Settings,
}

/// A command that is about to run.
#[derive(Debug, Clone, Copy)]
pub struct Begin<'a> {
    /// Folders of the workspace.
    pub folders: &'a [PathBuf],
    pub home: Option<&'a Path>,
    /// Cairn's own folders.
    pub hidden: &'a [PathBuf],
    /// The command may write `.git`.
    pub granted: bool,
}

/// A path for the model and the user: in quotes if it has anything but printable characters.
pub fn shown_path(path: &Path) -> String {
    quoted(&path.to_string_lossy()).into_owned()
}

/// This program as a part of a box: before anything else of it has begun. What goes wrong is said on
/// stderr, where the daemon reads it.
pub fn run_as_part(words: impl IntoIterator<Item = OsString>) -> ExitCode {
    system::part(words.into_iter()).unwrap_or_else(|error| {
        let _ = io::Write::write_all(&mut io::stderr(), format!("{error:#}\n").as_bytes());
        ExitCode::FAILURE
    })
}

//! Values of a command: its script and settings, and its end.

use std::{io, path::PathBuf, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};

use super::{
    input::CommandInput,
    output::{Captured, OutputTap},
    sandbox::PreparedSandbox,
};

/// One shell command.
#[derive(Clone)]
pub struct CommandSpec {
    /// Passed to the shell unchanged.
    pub command: String,
    pub cwd: PathBuf,
    /// `None`: until it is cancelled.
    pub timeout: Option<Duration>,
    pub input: CommandInput,
    /// Gets the output while the command runs.
    pub tap: Option<OutputTap>,
    /// Added to the allowed part of the daemon's environment. The names are from the source, so that none
    /// holds a secret or loads code.
    pub env: Vec<(&'static str, String)>,
    /// Sandbox of the command. `None` for a command of the user's own.
    pub sandbox: Option<Arc<PreparedSandbox>>,
}

/// Time limits of commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandLimits {
    /// Time of a command whose call names none.
    pub usual: Duration,
    /// Longest time that a call may ask for; never below the usual time.
    pub longest: Duration,
}

impl Default for CommandLimits {
    fn default() -> Self {
        Self { usual: Duration::from_secs(120), longest: Duration::from_secs(600) }
    }
}

/// Result of a command that was started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandOutcome {
    pub exit: Exit,
    pub output: Captured,
    pub duration: Duration,
    /// Number of processes that were still running when the shell ended, and were killed.
    pub left_running: usize,
    /// Set if the command was killed because it started more processes than allowed.
    pub too_many_processes: bool,
}

/// Reason why a command has no outcome.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Error before the command began; none of it ran.
    #[error("{0}")]
    NotStarted(io::Error),
    /// Error after the command began.
    #[error("{0}")]
    NotEnded(io::Error),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Exit {
    Code(i32),
    Signal(i32),
    TimedOut,
    Cancelled,
}

/// End of all processes of a command.
#[derive(Clone)]
pub(super) struct ProcessEnd {
    pub(super) exit: Exit,
    pub(super) left_running: usize,
    pub(super) too_many_processes: bool,
    /// Reason why the sandbox was not built, or the command not started in it.
    pub(super) start_error: Option<String>,
}

//! Process execution, the only module that starts processes: one shell command at a time, with a
//! clean environment, bounded output and bounded time. Commands of the agent run in a sandbox
//! ([`sandbox`]); the user's own hooks run without one.
//!
//! No process outlives the command that started it. A command never inherits the protocol's stdio,
//! never sees a key of the daemon, and never signals a process that it did not start.

mod command;
mod environment;
mod git_index;
mod git_repository;
mod input;
mod output;
mod processes;
mod run;
pub mod sandbox;
mod terminal;
#[cfg(test)]
#[cfg(target_os = "linux")]
pub(crate) mod tests;

pub use command::{CommandLimits, CommandOutcome, CommandSpec, Exit, RunError};
pub use environment::search_path;
pub use git_index::{IndexState, index_state};
pub use input::{CommandInput, InputWriter};
pub use output::{Captured, HEAD_BYTES, OutputTap, TAIL_BYTES};
pub use processes::kill_all;
pub use run::run;

/// Runs each later command without a sandbox below a guard: another process of this program, which
/// kills the command if this process dies. Called once by the program itself; in tests that use
/// this crate as a library there is no program to start as a guard.
pub fn guard_commands() {
    #[cfg(target_os = "linux")]
    processes::guard::enable();
}

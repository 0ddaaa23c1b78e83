//! Process execution, the only module that starts processes: one shell command at a time, with a
//! clean environment, bounded output and bounded time. Commands of the agent run in a sandbox
//! ([`sandbox`]); the user's own hooks run without one.
//!
//! No process outlives the command that started it. A command never inherits the protocol's stdio,
//! never sees a key of the daemon, and never signals a process that it did not start.

use std::{io, path::PathBuf, sync::Arc, time::Duration};

use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

mod environment;
mod output;
mod processes;
pub mod sandbox;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;

pub use output::Captured;
pub use processes::kill_all;

use output::Collector;
use processes::{Group, Reader, pipe};
use sandbox::PreparedSandbox;

#[derive(Debug, Clone)]
pub struct Spec {
    /// Passed to the shell unchanged.
    pub command: String,
    pub cwd: PathBuf,
    pub timeout: Duration,
    /// Standard input of the command; empty for none.
    pub input: String,
    /// Added to the allowed part of the daemon's environment.
    pub env: Vec<(String, String)>,
    /// Sandbox of the command. `None` for a command of the user's own.
    pub sandbox: Option<Arc<PreparedSandbox>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    pub exit: Exit,
    pub output: Captured,
    pub duration: Duration,
    /// Number of processes that were still running when the shell ended, and were killed.
    pub left_running: usize,
    /// Set if the command was killed because it started too many processes.
    pub crowded: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Code(i32),
    Signal(i32),
    TimedOut,
    Cancelled,
}

/// Time to read output after the shell ends. A background process may hold the pipe open forever.
const DRAIN: Duration = Duration::from_millis(200);
/// Time between SIGTERM and SIGKILL, short enough for a command to be gone two seconds after a
/// cancel.
const GRACE: Duration = Duration::from_millis(1500);

/// Runs commands without a sandbox below a guard, another process of this program, which kills them
/// if this one dies. Only the program itself may call this, before it runs a command.
pub fn guard_commands() {
    #[cfg(target_os = "linux")]
    processes::guard::allow();
}

/// Folders in which a command looks for programs, first to last.
pub fn search_path() -> Vec<PathBuf> {
    environment::search_path(std::env::var_os("PATH").as_deref())
}

/// Runs a command to its end. Dropping the future kills everything it started.
pub async fn run(spec: Spec, cancel: CancellationToken) -> io::Result<Outcome> {
    let started = Instant::now();
    let (mut reader, writer) = pipe()?;
    let group = Group::start(&spec, writer)?;
    let mut output = Collector::default();

    let mut exited = group.exited();
    let forced = tokio::select! {
        _ = &mut exited => None,
        () = read_to_end(&mut reader, &mut output) => {
            // The command closed its output and may run on.
            tokio::select! {
                _ = &mut exited => None,
                exit = cut_short(started + spec.timeout, &cancel) => Some(exit),
            }
        }
        exit = cut_short(started + spec.timeout, &cancel) => Some(exit),
    };
    let drain_until = if forced.is_some() {
        group.terminate();
        // During a graceful shutdown the command may still write, and must not block on a full
        // pipe.
        let grace = Instant::now() + GRACE;
        tokio::select! {
            _ = timeout_at(grace, &mut exited) => {}
            () = async {
                read_to_end(&mut reader, &mut output).await;
                std::future::pending().await
            } => {}
        }
        Instant::now()
    } else {
        Instant::now() + DRAIN
    };
    let _ = timeout_at(drain_until, read_to_end(&mut reader, &mut output)).await;
    let duration = started.elapsed();
    let ended = group.end().await?;
    if let (Some(reason), None) = (ended.never_began, forced) {
        return Err(io::Error::other(reason));
    }
    Ok(Outcome {
        exit: forced.unwrap_or(ended.exit),
        crowded: ended.crowded,
        output: output.finish(),
        duration,
        left_running: ended.left_running,
    })
}

async fn cut_short(deadline: Instant, cancel: &CancellationToken) -> Exit {
    tokio::select! {
        () = cancel.cancelled() => Exit::Cancelled,
        () = tokio::time::sleep_until(deadline) => Exit::TimedOut,
    }
}

/// Reads until the end of the output. Cancel safe: bytes that were read are collected.
async fn read_to_end(reader: &mut Reader, output: &mut Collector) {
    while let Some(bytes) = reader.next().await {
        output.push(bytes);
    }
}

//! Execution of one command, from its start until all its processes have ended.

use std::{future::pending, io, time::Duration};

use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;

use super::{
    command::{CommandOutcome, CommandSpec, Exit, RunError},
    output::Collector,
    processes::{Group, OutputReader, output_pipe},
};

/// Time to read output after the shell ends. A background process may hold the pipe open forever.
const DRAIN: Duration = Duration::from_millis(200);
/// Time between SIGTERM and SIGKILL, short enough for a command to be gone two seconds after a
/// cancel.
const GRACE: Duration = Duration::from_millis(1500);

/// Runs a command to its end. Dropping the future kills everything it started.
pub async fn run(spec: CommandSpec, cancel: CancellationToken) -> Result<CommandOutcome, RunError> {
    let started = Instant::now();
    let (mut reader, writer) = output_pipe().map_err(RunError::NotStarted)?;
    let group = Group::start(&spec, writer).map_err(RunError::NotStarted)?;
    let mut output = Collector::new(spec.live.clone());

    let mut exited = group.exited();
    let forced = tokio::select! {
        _ = &mut exited => None,
        () = read_to_end(&mut reader, &mut output) => {
            // The command closed its output and may run on.
            tokio::select! {
                _ = &mut exited => None,
                exit = timeout_or_cancel(started + spec.timeout, &cancel) => Some(exit),
            }
        }
        exit = timeout_or_cancel(started + spec.timeout, &cancel) => Some(exit),
    };
    let drain_until = if forced.is_some() {
        group.terminate();
        // Output is read on, so that the command does not block on a full pipe instead of ending.
        let grace = Instant::now() + GRACE;
        tokio::select! {
            _ = timeout_at(grace, &mut exited) => {}
            () = async {
                read_to_end(&mut reader, &mut output).await;
                pending().await
            } => {}
        }
        Instant::now()
    } else {
        Instant::now() + DRAIN
    };
    let _ = timeout_at(drain_until, read_to_end(&mut reader, &mut output)).await;
    let duration = started.elapsed();
    let end = group.end().await.map_err(RunError::NotEnded)?;
    if let (Some(reason), None) = (end.start_error, forced) {
        return Err(RunError::NotStarted(io::Error::other(reason)));
    }
    Ok(CommandOutcome {
        exit: forced.unwrap_or(end.exit),
        too_many_processes: end.too_many_processes,
        output: output.finish(),
        duration,
        left_running: end.left_running,
    })
}

async fn timeout_or_cancel(deadline: Instant, cancel: &CancellationToken) -> Exit {
    tokio::select! {
        () = cancel.cancelled() => Exit::Cancelled,
        () = sleep_until(deadline) => Exit::TimedOut,
    }
}

/// Reads until the end of the output. Cancel safe: bytes that were read are collected.
async fn read_to_end(reader: &mut OutputReader, output: &mut Collector) {
    while let Some(bytes) = reader.next().await {
        output.push(bytes);
    }
}

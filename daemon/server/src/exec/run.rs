//! Execution of one command, from its start until all its processes have ended.

use std::{future::pending, io, time::Duration};

use tokio::time::{Instant, sleep, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;

use super::{
    command::{CommandOutcome, CommandSpec, Exit, RunError},
    output::{Collector, OutputReader},
    processes::Group,
};

/// Time to read output after the shell ends. A background process may hold the pipe open forever.
const DRAIN: Duration = Duration::from_millis(200);
/// Time between SIGTERM and SIGKILL, short enough for a command to be gone two seconds after a
/// cancel.
const GRACE: Duration = Duration::from_millis(1500);

/// Output after which a command is read slowly, so that a flood does not keep the machine busy.
const SLOW_AFTER: u64 = 512 * 1024 * 1024;
/// Bytes between two pauses: about 5 MB a second.
const SLOW_STEP: u64 = 256 * 1024;
const SLOW_PAUSE: Duration = Duration::from_millis(50);

/// Runs a command to its end. Dropping the future kills everything it started.
pub async fn run(spec: CommandSpec, cancel: CancellationToken) -> Result<CommandOutcome, RunError> {
    let started = Instant::now();
    let (mut reader, writer) = OutputReader::of(&spec.input).map_err(RunError::NotStarted)?;
    let group = Group::start(&spec, writer).map_err(RunError::NotStarted)?;
    let deadline = spec.timeout.and_then(|timeout| started.checked_add(timeout));
    // Only the command holds its input and its terminal from now on.
    let CommandSpec { tap, input, .. } = spec;
    drop(input);
    let mut output = Collector::new(tap);

    let mut exited = group.exited();
    let forced = tokio::select! {
        _ = &mut exited => None,
        () = read_to_end(&mut reader, &mut output) => {
            // The command closed its output and may run on.
            tokio::select! {
                _ = &mut exited => None,
                exit = timeout_or_cancel(deadline, &cancel) => Some(exit),
            }
        }
        exit = timeout_or_cancel(deadline, &cancel) => Some(exit),
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

async fn timeout_or_cancel(deadline: Option<Instant>, cancel: &CancellationToken) -> Exit {
    let late = async {
        match deadline {
            Some(deadline) => sleep_until(deadline).await,
            None => pending().await,
        }
    };
    tokio::select! {
        () = cancel.cancelled() => Exit::Cancelled,
        () = late => Exit::TimedOut,
    }
}

/// Reads until the end of the output. Cancel safe: bytes that were read are collected.
async fn read_to_end(reader: &mut OutputReader, output: &mut Collector) {
    let mut slow_at = SLOW_AFTER.max(output.total() + SLOW_STEP);
    while let Some(bytes) = reader.next().await {
        output.push(bytes);
        if output.total() >= slow_at {
            slow_at = output.total() + SLOW_STEP;
            sleep(SLOW_PAUSE).await;
        }
    }
}

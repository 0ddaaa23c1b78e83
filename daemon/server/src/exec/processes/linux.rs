//! Start of a command on Linux: in a sandbox, or below a guard.

use std::{ffi::OsStr, io};

use super::spawn::{Started, command, spawn_shell};
use crate::exec::{
    command::CommandSpec,
    sandbox::{PreparedSandbox, exit_report},
};

pub(in crate::exec) mod guard;

pub(super) fn spawn(spec: &CommandSpec, output: io::PipeWriter) -> io::Result<Started> {
    match &spec.sandbox {
        Some(prepared) => spawn_in_sandbox(prepared, spec, output),
        None if guard::is_enabled() => spawn_guarded(spec, &output),
        // A test that uses this crate as a library.
        None => spawn_shell(spec, &output),
    }
}

/// Starts the command below a guard. The guard's stdout is the command's stdout and stderr; its
/// stderr carries the report.
fn spawn_guarded(spec: &CommandSpec, output: &io::PipeWriter) -> io::Result<Started> {
    let (reports, report_writer) = exit_report::channel()?;
    let mut command = command(OsStr::new(guard::PROGRAM), spec);
    command.args(guard::arguments(&spec.command));
    command.stdin(spec.input.stdin()?).stdout(output.try_clone()?).stderr(report_writer);
    Ok((command.spawn()?, Some(reports)))
}

/// Starts the command in a sandbox. The launcher's stdout is the command's stdout and stderr; its
/// stderr carries its errors and the report.
fn spawn_in_sandbox(
    prepared: &PreparedSandbox,
    spec: &CommandSpec,
    output: io::PipeWriter,
) -> io::Result<Started> {
    let (reports, report_writer) = exit_report::channel()?;
    if let Some(loopback) = prepared.loopback() {
        loopback.send(&reports)?;
    }
    let mut command = command(prepared.program.as_os_str(), spec);
    command.args(&prepared.arguments);
    command.envs(prepared.environment());
    command.stdin(spec.input.stdin()?).stdout(output).stderr(report_writer);
    // The kernel kills the launcher when this thread ends: only the runtime's one thread starts commands.
    let child = command.spawn().map_err(|error| {
        let (program, cwd) = (prepared.program.display(), spec.cwd.display());
        let message = format!("the sandbox could not be started: {program} in {cwd}: {error}");
        io::Error::new(error.kind(), message)
    })?;
    Ok((child, Some(reports)))
}

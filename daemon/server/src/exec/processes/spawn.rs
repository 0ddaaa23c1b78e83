//! Start of a process that leads the group of a command.

use std::{
    ffi::OsStr,
    io,
    os::unix::{net::UnixStream, process::CommandExt},
    process::{Child, Command},
};

use crate::exec::{command::CommandSpec, environment};

#[cfg(not(target_os = "linux"))]
pub(super) fn spawn(spec: &CommandSpec, output: io::PipeWriter) -> io::Result<Started> {
    match &spec.sandbox {
        // Uninhabited.
        Some(prepared) => match **prepared {},
        None => spawn_shell(spec, &output),
    }
}

/// Leader of a command, and the end of a channel if another process reports how the shell ended.
pub(super) type Started = (Child, Option<UnixStream>);

/// Starts the shell as the leader.
pub(super) fn spawn_shell(spec: &CommandSpec, output: &io::PipeWriter) -> io::Result<Started> {
    let shell = |shell: &str, flags: &[&str]| {
        let mut command = command(OsStr::new(shell), spec);
        command.args(flags).arg(&spec.command);
        command.stdout(output.try_clone()?).stderr(output.try_clone()?);
        command.stdin(spec.input.stdin()?).spawn()
    };
    let child = match shell("bash", &["--noprofile", "--norc", "-c"]) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => shell("sh", &["-c"])?,
        result => result?,
    };
    Ok((child, None))
}

/// Program of a command as the leader of a group, in the clean environment.
#[allow(clippy::disallowed_methods, reason = "this is the module that starts processes")]
pub(super) fn command(program: &OsStr, spec: &CommandSpec) -> Command {
    let mut command = Command::new(program);
    command.current_dir(&spec.cwd).env_clear().process_group(0);
    command.envs(environment::for_command(std::env::vars_os(), spec));
    command
}

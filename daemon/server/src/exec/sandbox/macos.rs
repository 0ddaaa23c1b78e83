//! Sandboxes on macOS: `sandbox-exec` with a profile from the core. Not tested.
//!
//! No process of Cairn runs inside: the shell of the command is the process that Cairn starts, and
//! it ends as it does without a sandbox.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::ExitCode,
};

use cairn_core::policy::seatbelt;

use super::{
    builder::{Builder, SandboxSpec},
    prepared::{Held, PreparedSandbox},
    settings::SandboxBackend,
    subcommand::SUBCOMMAND,
};

const SANDBOX_EXEC: &str = "/usr/bin/sandbox-exec";

pub(super) const BACKENDS: &[SandboxBackend] = &[SandboxBackend::Seatbelt];

pub(super) fn builder(backend: SandboxBackend, _program: &Path) -> Result<Builder, String> {
    if backend != SandboxBackend::Seatbelt || !Path::new(SANDBOX_EXEC).exists() {
        return Err(format!("{SANDBOX_EXEC} is missing"));
    }
    Ok(Builder {
        backend,
        program: PathBuf::from(SANDBOX_EXEC),
        arguments: Vec::new(),
        shares_loopback: false,
    })
}

pub(super) fn prepare(
    builder: &Builder,
    spec: &SandboxSpec,
    command: OsString,
    held: Held,
) -> PreparedSandbox {
    let profile = seatbelt::profile(spec.paths, spec.own, spec.network);
    let mut arguments = builder.arguments.clone();
    let shell = ["/bin/bash", "--noprofile", "--norc", "-c"].map(OsString::from);
    arguments.extend(["-p".into(), profile.into()].into_iter().chain(shell).chain([command]));
    PreparedSandbox {
        program: builder.program.clone(),
        arguments,
        temporary: spec.own.temporary.clone(),
        reports: false,
        variables: spec.variables(),
        writable: spec.paths.writable.clone(),
        read_only: spec.paths.read_only.clone(),
        held,
    }
}

pub(super) fn run_subcommand(
    _arguments: impl Iterator<Item = OsString>,
) -> anyhow::Result<ExitCode> {
    anyhow::bail!("`cairn {SUBCOMMAND}` works on Linux only")
}

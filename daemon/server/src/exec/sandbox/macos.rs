//! Sandboxes on macOS: `sandbox-exec` with a profile from the core. Not tested.
//!
//! No process of Cairn's runs inside: the command is its own leader, and ends as it does without a
//! sandbox.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

use cairn_core::policy::seatbelt;

use super::{
    Builder, PreparedSandbox, SUBCOMMAND, SandboxBackend, SandboxSpec,
    private_folders::PrivateFolders,
};

const SANDBOX_EXEC: &str = "/usr/bin/sandbox-exec";

pub(super) const TIERS: &[SandboxBackend] = &[SandboxBackend::Seatbelt];

pub(super) fn builder(backend: SandboxBackend, _program: &Path) -> Result<Builder, String> {
    if backend != SandboxBackend::Seatbelt || !Path::new(SANDBOX_EXEC).exists() {
        return Err(format!("{SANDBOX_EXEC} is missing"));
    }
    Ok(Builder { backend, program: PathBuf::from(SANDBOX_EXEC), words: Vec::new() })
}

pub(super) fn prepared(
    builder: &Builder,
    spec: &SandboxSpec,
    command: OsString,
    private: Arc<PrivateFolders>,
) -> PreparedSandbox {
    let profile = seatbelt::profile(spec.found, spec.own, spec.network);
    let mut arguments = builder.words.clone();
    let shell = ["/bin/bash", "--noprofile", "--norc", "-c"].map(OsString::from);
    arguments.extend(["-p".into(), profile.into()].into_iter().chain(shell).chain([command]));
    PreparedSandbox {
        program: builder.program.clone(),
        arguments,
        temporary: spec.own.temporary.clone(),
        reports: false,
        variables: spec.variables(),
        writable: spec.found.writable.clone(),
        read_only: spec.found.read_only.clone(),
        _ground: private,
    }
}

pub(super) fn part(_words: impl Iterator<Item = OsString>) -> anyhow::Result<ExitCode> {
    anyhow::bail!("`cairn {SUBCOMMAND}` is for Linux")
}

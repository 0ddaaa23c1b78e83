//! Sandboxes on Linux: bubblewrap, or Cairn's own launcher with the same arguments.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

use cairn_core::policy::sandbox::{self as policy, PROGRAM};

use super::{
    Builder, PreparedSandbox, SUBCOMMAND, SandboxBackend, SandboxSpec,
    private_folders::PrivateFolders, sandbox_init, userns_launcher,
};
use crate::exec::processes::guard;

/// Backends, the better one first.
pub(super) const TIERS: &[SandboxBackend] =
    &[SandboxBackend::Bubblewrap, SandboxBackend::Namespaces];

/// Fixed path: systems that restrict namespaces allow them for the program at this path.
const BUBBLEWRAP: &str = "/usr/bin/bwrap";

pub(super) fn builder(backend: SandboxBackend, program: &Path) -> Result<Builder, String> {
    match backend {
        SandboxBackend::Bubblewrap => {
            let usual = PathBuf::from(BUBBLEWRAP);
            let program = if usual.exists() { Some(usual) } else { on_path("bwrap") };
            let program = program.ok_or("bubblewrap (bwrap) is not installed")?;
            Ok(Builder { backend, program, words: Vec::new() })
        }
        SandboxBackend::Namespaces => {
            let words = vec![SUBCOMMAND.into(), "launch".into()];
            Ok(Builder { backend, program: program.to_owned(), words })
        }
        SandboxBackend::Seatbelt => Err("this is not macOS".to_owned()),
    }
}

pub(super) fn prepared(
    builder: &Builder,
    spec: &SandboxSpec,
    command: OsString,
    private: Arc<PrivateFolders>,
) -> PreparedSandbox {
    let mounts = policy::mounts(spec.found, spec.own);
    let devices = PathBuf::from("/dev");
    let writable = policy::writable(&mounts).map(Path::to_owned).chain([devices]).collect();
    let words = sandbox_init::Job { writable, command }.arguments();
    let init = [PROGRAM.into(), SUBCOMMAND.into(), "init".into()].into_iter().chain(words);
    let mut arguments = builder.words.clone();
    arguments.extend(policy::arguments(&mounts, spec.network, spec.cwd, spec.own, init));
    PreparedSandbox {
        program: builder.program.clone(),
        arguments,
        temporary: "/tmp".into(),
        reports: true,
        variables: spec.variables(),
        writable: spec.found.writable.clone(),
        read_only: spec.found.read_only.clone(),
        _ground: private,
    }
}

pub(super) fn part(mut words: impl Iterator<Item = OsString>) -> anyhow::Result<ExitCode> {
    let stage = words.next();
    match stage.as_deref().and_then(OsStr::to_str) {
        Some("init") => sandbox_init::run(words),
        Some("launch") => userns_launcher::launch(words.collect()),
        Some("mounts") => userns_launcher::mounts(words.collect()),
        Some(guard::PART) => guard::run(words),
        Some(_) | None => anyhow::bail!("`cairn {SUBCOMMAND}` is Cairn's own"),
    }
}

fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|program| program.is_file())
}

//! Sandboxes on Linux: bubblewrap, or Cairn's own launcher with the same arguments.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    process::ExitCode,
};

use cairn_core::policy::sandbox::{self as policy, PROGRAM};

mod backend;
mod builder;
mod existing_paths;
mod home;
mod join_network;
mod landlock_seccomp;
mod loopback;
mod prepared;
pub(in crate::exec) mod private_folders;
pub(in crate::exec) mod sandbox_init;
mod scan_scope;
mod userns_launcher;

use super::settings::{SUBCOMMAND, SandboxBackend};
use crate::exec::{processes::guard, search_path};
pub use backend::Sandbox;
use builder::{Builder, SandboxSpec};
use join_network::JOINER;
use loopback::OPENER;
use prepared::Held;
pub use prepared::PreparedSandbox;
pub(crate) use private_folders::shared_temporary;

/// Usual path. Systems that restrict namespaces allow them for the program at this path.
const BUBBLEWRAP: &str = "/usr/bin/bwrap";

/// Roles of this program in a sandbox: arguments after [`SUBCOMMAND`].
const INIT: &str = "init";
const LAUNCHER: &str = "launch";

fn builder(backend: SandboxBackend, program: &Path) -> Result<Builder, String> {
    match backend {
        SandboxBackend::Bubblewrap => {
            let usual = PathBuf::from(BUBBLEWRAP);
            let on_path = || {
                let mut programs = search_path().into_iter().map(|folder| folder.join("bwrap"));
                programs.find(|program| program.is_file())
            };
            let program = if usual.exists() { Some(usual) } else { on_path() };
            let program = program.ok_or("bubblewrap (bwrap) is not installed")?;
            Ok(Builder { backend, program, arguments: Vec::new(), shares_loopback: false })
        }
        SandboxBackend::Namespaces => {
            let arguments = vec![SUBCOMMAND.into(), LAUNCHER.into()];
            let program = program.to_owned();
            Ok(Builder { backend, program, arguments, shares_loopback: false })
        }
    }
}

fn prepare(
    builder: &Builder,
    spec: &SandboxSpec,
    command: OsString,
    held: Held,
) -> PreparedSandbox {
    let mounts = policy::mounts(spec.paths, spec.own);
    let writable = policy::writable(&mounts).map(|path| path.as_os_str().to_owned());
    let init = [PROGRAM.into(), SUBCOMMAND.into(), INIT.into(), command];
    let init = init.into_iter().chain(writable).chain(["/dev".into()]);
    let (mut program, mut arguments) = (builder.program.clone(), builder.arguments.clone());
    let joins = held.loopback.is_some();
    if joins {
        let launcher = std::mem::replace(&mut program, spec.own.program.clone());
        arguments.splice(..0, [SUBCOMMAND.into(), JOINER.into(), launcher.into_os_string()]);
    }
    arguments.extend(policy::arguments(&mounts, spec.network || joins, spec.cwd, spec.own, init));
    PreparedSandbox {
        program,
        arguments,
        temporary: "/tmp".into(),
        variables: spec.variables(),
        writable: spec.paths.writable.clone(),
        read_only: spec.paths.read_only.clone(),
        held,
    }
}

/// Paths that the command may write, and exceptions below them.
pub(super) fn mounted_paths(sandbox: &PreparedSandbox) -> (&[PathBuf], &[PathBuf]) {
    (&sandbox.writable, &sandbox.read_only)
}

pub(super) fn run_subcommand(
    mut arguments: impl Iterator<Item = OsString>,
) -> anyhow::Result<ExitCode> {
    let role = arguments.next();
    match role.as_deref().and_then(OsStr::to_str) {
        Some(INIT) => sandbox_init::run(arguments),
        Some(LAUNCHER) => userns_launcher::launch(arguments.collect()),
        Some(userns_launcher::MOUNTER) => userns_launcher::mount_and_exec(arguments.collect()),
        Some(OPENER) => join_network::open(),
        Some(JOINER) => join_network::join_and_exec(arguments.collect()),
        Some(guard::ROLE) => guard::run(arguments),
        Some(_) | None => anyhow::bail!("`cairn {SUBCOMMAND}` is internal to Cairn"),
    }
}

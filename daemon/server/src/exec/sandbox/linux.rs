//! Boxes on Linux: bubblewrap, or our own launcher with the same words.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

use cairn_core::policy::sandbox::{self as policy, PROGRAM};

use super::{Boxed, Builder, SUBCOMMAND, Shape, Tier, ground::Ground, init, outer};
use crate::exec::processes::guard;

/// The better one first.
pub(super) const TIERS: &[Tier] = &[Tier::Bubblewrap, Tier::Namespaces];

/// Not looked up: systems that restrict namespaces let the one at this place make them.
const BUBBLEWRAP: &str = "/usr/bin/bwrap";

pub(super) fn builder(tier: Tier, program: &Path) -> Result<Builder, String> {
    match tier {
        Tier::Bubblewrap => {
            let usual = PathBuf::from(BUBBLEWRAP);
            let program = if usual.exists() { Some(usual) } else { on_path("bwrap") };
            let program = program.ok_or("bubblewrap (bwrap) is not installed")?;
            Ok(Builder { tier, program, words: Vec::new() })
        }
        Tier::Namespaces => {
            let words = vec![SUBCOMMAND.into(), "launch".into()];
            Ok(Builder { tier, program: program.to_owned(), words })
        }
        Tier::Seatbelt => Err("this is not macOS".to_owned()),
    }
}

pub(super) fn boxed(
    builder: &Builder,
    shape: &Shape,
    command: OsString,
    ground: Arc<Ground>,
) -> Boxed {
    let mounts = policy::mounts(shape.found, shape.own);
    let devices = PathBuf::from("/dev");
    let writable = policy::writable(&mounts).map(Path::to_owned).chain([devices]).collect();
    let words = init::Job { writable, command }.arguments();
    let init = [PROGRAM.into(), SUBCOMMAND.into(), "init".into()].into_iter().chain(words);
    let mut arguments = builder.words.clone();
    arguments.extend(policy::arguments(&mounts, shape.network, shape.cwd, shape.own, init));
    Boxed {
        program: builder.program.clone(),
        arguments,
        temporary: "/tmp".into(),
        reports: true,
        variables: shape.variables(),
        writable: shape.found.writable.clone(),
        read_only: shape.found.read_only.clone(),
        _ground: ground,
    }
}

pub(super) fn part(mut words: impl Iterator<Item = OsString>) -> anyhow::Result<ExitCode> {
    let stage = words.next();
    match stage.as_deref().and_then(OsStr::to_str) {
        Some("init") => init::run(words),
        Some("launch") => outer::launch(words.collect()),
        Some("mounts") => outer::mounts(words.collect()),
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

//! Boxes on macOS: sandbox-exec with a profile of the core's. Not tested.
//!
//! There is no first process of ours in it: the command is its own leader, and ends as it does
//! without a box.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

use cairn_core::policy::seatbelt;

use super::{Boxed, Builder, SUBCOMMAND, Shape, Tier, ground::Ground};

const SANDBOX_EXEC: &str = "/usr/bin/sandbox-exec";

pub(super) const TIERS: &[Tier] = &[Tier::Seatbelt];

pub(super) fn builder(tier: Tier, _program: &Path) -> Result<Builder, String> {
    if tier != Tier::Seatbelt || !Path::new(SANDBOX_EXEC).exists() {
        return Err(format!("{SANDBOX_EXEC} is missing"));
    }
    Ok(Builder { tier, program: PathBuf::from(SANDBOX_EXEC), words: Vec::new() })
}

pub(super) fn boxed(
    builder: &Builder,
    shape: &Shape,
    command: OsString,
    ground: Arc<Ground>,
) -> Boxed {
    let profile = seatbelt::profile(shape.found, shape.own, shape.network);
    let mut arguments = builder.words.clone();
    let shell = ["/bin/bash", "--noprofile", "--norc", "-c"].map(OsString::from);
    arguments.extend(["-p".into(), profile.into()].into_iter().chain(shell).chain([command]));
    Boxed {
        program: builder.program.clone(),
        arguments,
        temporary: shape.own.temporary.clone(),
        reports: false,
        variables: shape.variables(),
        writable: shape.found.writable.clone(),
        read_only: shape.found.read_only.clone(),
        _ground: ground,
    }
}

pub(super) fn part(_words: impl Iterator<Item = OsString>) -> anyhow::Result<ExitCode> {
    anyhow::bail!("`cairn {SUBCOMMAND}` is for Linux")
}

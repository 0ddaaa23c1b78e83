//! Settings of the user for git and cargo that a command sees, without credentials. Each is a file in
//! the place of the user's own.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use cairn_core::policy::{
    home::{cargo_settings, git_settings},
    sandbox::Placed,
};
use tokio::{process::Command, runtime::Handle, time::timeout};
use toml_edit::DocumentMut;

use super::super::private_folders::PrivateFolders;
use crate::small_file;

/// Time limit for git: a named pipe in place of a settings file makes it wait.
const GIT_LIMIT: Duration = Duration::from_secs(2);
/// Bytes of a settings file that are read; usually some kilobytes.
const MAX_BYTES: u64 = 1 << 20;

/// Returns the settings for a command in `cwd`. Blocks a thread of the runtime's pool.
pub(in crate::exec::sandbox) fn of_user(
    home: &Path,
    cwd: &Path,
    git: Option<PathBuf>,
    private: &PrivateFolders,
) -> Vec<Placed> {
    let home = &home.canonicalize().unwrap_or_else(|_| home.to_owned());
    let has = |name: &str| home.join(name).is_file();
    let git = git.filter(|_| has(".gitconfig") || has(".config/git/config"));
    let of_git = git.and_then(|git| Some((".gitconfig", git_settings_in(&git, home, cwd)?)));
    let of_cargo = [".cargo/config.toml", ".cargo/config"].into_iter().filter_map(|name| {
        let text = cargo_settings(&small_file::read_text(&home.join(name), MAX_BYTES).ok()?)?;
        text.parse::<DocumentMut>().is_ok().then_some((name, text))
    });
    let written = of_git.into_iter().chain(of_cargo).filter_map(|(name, text)| {
        let from = private.write_copy(&text);
        let from = from.inspect_err(|error| tracing::warn!("no settings in ~/{name}: {error}"));
        Some(Placed { from: from.ok()?, at: home.join(name) })
    });
    written.collect()
}

/// Returns the user's settings as git reads them in a folder, with includes and their conditions.
#[allow(clippy::disallowed_methods, reason = "part of the module that starts processes")]
fn git_settings_in(git: &Path, home: &Path, cwd: &Path) -> Option<String> {
    let mut command = Command::new(git);
    command.args(["config", "--global", "--includes", "--list", "-z"]).current_dir(cwd);
    command.env_clear().env("HOME", home).env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("GIT_CONFIG_NOSYSTEM", "1").stdin(Stdio::null()).kill_on_drop(true);
    let runtime = Handle::try_current().ok()?;
    let output = runtime.block_on(async { timeout(GIT_LIMIT, command.output()).await });
    let output = output.ok()?.ok().filter(|output| output.status.success())?;
    let listing = String::from_utf8_lossy(&output.stdout);
    // Git reads a key without a value as true.
    let all = listing.split_terminator('\0');
    Some(git_settings(all.map(|entry| entry.split_once('\n').unwrap_or((entry, "true")))))
}

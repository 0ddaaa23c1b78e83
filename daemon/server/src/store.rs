//! What outlives the daemon: files of ours below one folder of state.
//!
//! Never in the workspace, never readable by others: folders are made 0700 and files 0600, and only
//! when there is something to keep.

use std::path::PathBuf;

pub mod allowed;
pub mod authors;
pub mod blobs;
pub mod export;
mod files;
pub mod journal;
pub mod reviews;
pub mod session_list;
pub mod sessions;
pub mod tasks;

/// Where state is kept: `CAIRN_STATE_DIR`, else `cairn` in `XDG_STATE_HOME`, else
/// `~/.local/state/cairn`. The same on macOS, where command line tools keep to it too; on Windows
/// `%LOCALAPPDATA%\cairn`, which stays on this machine. `None`: nobody said where.
pub fn state_dir(variable: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let usual = if cfg!(windows) { "LOCALAPPDATA" } else { "XDG_STATE_HOME" };
    folder(variable, "CAIRN_STATE_DIR", usual, ".local/state")
}

/// The folder of what the user sets: `CAIRN_CONFIG_DIR`, else `cairn` in XDG's; on Windows
/// `%APPDATA%\cairn`.
pub fn config_dir(variable: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let usual = if cfg!(windows) { "APPDATA" } else { "XDG_CONFIG_HOME" };
    folder(variable, "CAIRN_CONFIG_DIR", usual, ".config")
}

fn folder(
    variable: impl Fn(&str) -> Option<String>,
    ours: &str,
    usual: &str,
    at_home: &str,
) -> Option<PathBuf> {
    let folder = |name| {
        let folder = PathBuf::from(variable(name)?);
        // The specification of XDG says so, and a relative one would be another in each workspace.
        folder.is_absolute().then_some(folder)
    };
    folder(ours)
        .or_else(|| Some(folder(usual)?.join("cairn")))
        .or_else(|| Some(folder("HOME")?.join(at_home).join("cairn")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_absolute_folder_that_is_named() {
        for (variables, expected) in [
            (vec![], None),
            (vec![("HOME", "/h")], Some("/h/.local/state/cairn")),
            (vec![("HOME", "/h"), ("XDG_STATE_HOME", "/x")], Some("/x/cairn")),
            (vec![("HOME", "/h"), ("XDG_STATE_HOME", "x")], Some("/h/.local/state/cairn")),
            (vec![("XDG_STATE_HOME", "/x"), ("CAIRN_STATE_DIR", "/c")], Some("/c")),
        ] {
            let variable = |name: &str| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            assert_eq!(state_dir(variable), expected.map(PathBuf::from), "{variables:?}");
        }
    }
}

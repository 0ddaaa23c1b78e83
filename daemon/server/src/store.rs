//! Cairn's own files below one state folder, which remain after the daemon ends.
//!
//! The files are never in the workspace. Only the user can read them: folders have mode 0700 and files
//! 0600. A folder is created with its first file.

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

/// State folder: `CAIRN_STATE_DIR`, else `cairn` in `XDG_STATE_HOME`, else `~/.local/state/cairn`,
/// also on macOS. `None`: no variable names a folder.
pub fn state_dir(variable: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    folder(variable, "CAIRN_STATE_DIR", "XDG_STATE_HOME", ".local/state")
}

/// Folder of the user's configuration: `CAIRN_CONFIG_DIR`, else `cairn` in `XDG_CONFIG_HOME` or
/// `~/.config`.
pub fn config_dir(variable: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    folder(variable, "CAIRN_CONFIG_DIR", "XDG_CONFIG_HOME", ".config")
}

fn folder(
    variable: impl Fn(&str) -> Option<String>,
    ours: &str,
    usual: &str,
    at_home: &str,
) -> Option<PathBuf> {
    let folder = |name| {
        let folder = PathBuf::from(variable(name)?);
        // The XDG specification demands it, and a relative path would differ by workspace.
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
    fn the_state_folder_is_the_first_absolute_path_of_the_environment() {
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

//! Environment of a command: only the daemon's variables on an allow-list, because a variable of any
//! name may hold a key.

use std::{
    env,
    ffi::{OsStr, OsString},
    path::PathBuf,
};

use super::{CommandInput, CommandSpec};

const ALLOWED: &[&str] = &[
    "HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TMPDIR",
    "TZ",
    "USER",
    // Toolchains outside their usual folders.
    "CARGO_HOME",
    "GOPATH",
    "GOROOT",
    "JAVA_HOME",
    "NVM_DIR",
    "PYENV_ROOT",
    "RUSTUP_HOME",
    "VIRTUAL_ENV",
];

/// Variables that turn off colours, pagers and password prompts, which nobody would answer.
const FIXED: &[(&str, &str)] =
    &[("TERM", "dumb"), ("PAGER", "cat"), ("GIT_PAGER", "cat"), ("GIT_TERMINAL_PROMPT", "0")];

/// The editor of Git in a command without a terminal: nobody would see it. Git runs the words in a
/// shell, with the name of the file behind them.
const NO_EDITOR: &str = "echo 'Git wanted an editor, which a command without a terminal does not \
    have. Give the message by -m or -F, keep one by --no-edit, or set GIT_SEQUENCE_EDITOR in the command to a \
    program that changes the list of a rebase.' >&2; exit 1; :";
/// Over the user's `core.editor` and `sequence.editor`.
const EDITORS: &[(&str, &str)] = &[("GIT_EDITOR", NO_EDITOR), ("GIT_SEQUENCE_EDITOR", NO_EDITOR)];

/// Returns the environment of a command.
pub(super) fn for_command(
    inherited: impl Iterator<Item = (OsString, OsString)>,
    spec: &CommandSpec,
) -> Vec<(OsString, OsString)> {
    let allowed = inherited
        .filter(|(name, _)| name.to_str().is_some_and(|name| ALLOWED.contains(&name)))
        .map(
            |(name, value)| {
                if name == "PATH" { (name, absolute_folders(&value)) } else { (name, value) }
            },
        );
    let editors = match spec.input {
        CommandInput::Terminal(_) => &[],
        CommandInput::Text(_) | CommandInput::Pipe(_) => EDITORS,
    };
    let fixed = FIXED.iter().chain(editors).map(|(name, value)| (name.into(), value.into()));
    let added = spec.env.iter().map(|(name, value)| (name.into(), value.into()));
    allowed.chain(fixed).chain(added).collect()
}

/// Folders in which a command looks for programs, first to last.
pub fn search_path() -> Vec<PathBuf> {
    let path = env::var_os("PATH").map(|path| absolute_folders(&path));
    path.iter().flat_map(env::split_paths).collect()
}

/// Removes relative folders from a `PATH`: with them, a file in the repository could be run as `ls`.
fn absolute_folders(path: &OsStr) -> OsString {
    let folders = env::split_paths(path).filter(|folder| folder.is_absolute());
    // Never fails: `split_paths` returns no folder that contains a separator.
    env::join_paths(folders).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_allowed_variables_reach_the_command() {
        let daemon = [
            ("PATH", ".:/bin::node_modules/.bin:/usr/bin"),
            ("ANTHROPIC_API_KEY", "x"),
            ("LD_PRELOAD", "x"),
            ("BASH_ENV", "x"),
            ("GIT_DIR", "x"),
            ("NODE_OPTIONS", "x"),
            ("PAGER", "less"),
            ("SSH_AUTH_SOCK", "x"),
            // These variables change where `cd` leads.
            ("CDPATH", "/x"),
            ("OLDPWD", "/x"),
            ("PWD", "/x"),
            ("BASHOPTS", "cdable_vars"),
            ("BASH_FUNC_cd%%", "() { :; }"),
            ("HOME", "/home/me"),
        ];
        let inherited = daemon.iter().map(|(name, value)| (name.into(), value.into()));
        let spec = CommandSpec {
            command: String::new(),
            cwd: PathBuf::new(),
            timeout: None,
            input: CommandInput::none(),
            tap: None,
            env: vec![("EXTRA", "1".to_owned())],
            sandbox: None,
        };
        let names: Vec<_> = for_command(inherited, &spec)
            .into_iter()
            .filter(|(name, _)| !EDITORS.iter().any(|(editor, _)| name == editor))
            .map(|(name, value)| format!("{}={}", name.display(), value.display()))
            .collect();
        expect_test::expect!["PATH=/bin:/usr/bin HOME=/home/me TERM=dumb PAGER=cat GIT_PAGER=cat GIT_TERMINAL_PROMPT=0 EXTRA=1"]
            .assert_eq(&names.join(" "));
    }
}

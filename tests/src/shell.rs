//! A real shell as the reference for the meaning of a script.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use cairn_core::policy::command::CommandWords;

/// Has the shell tell of each program that it would have run, where and with its words, in one write,
/// for programs of a pipe speak at once; and has them succeed.
const TELL: &str =
    "command_not_found_handle() { printf '%s\\0' \"$(pwd -P)\" \"$@\" $'\\1' >&9; }\n";

/// Commands that bash would run for a script: no program is found, so each is reported instead. Only for scripts whose
/// commands are surely none of the shell's own.
pub fn by_bash(script: &str) -> BTreeSet<CommandWords> {
    by_bash_in(Path::new("/"), script).into_iter().map(|(_, words)| words).collect()
}

/// The same where the script starts in a folder, and in which one each command runs.
pub fn by_bash_in(folder: &Path, script: &str) -> BTreeSet<(PathBuf, CommandWords)> {
    let (mut told, tell) = std::io::pipe().unwrap();
    #[expect(clippy::disallowed_methods, reason = "a test is not the daemon")]
    let mut bash = Command::new("/bin/bash")
        .args(["--noprofile", "--norc", "-c", &format!("exec 9>&0 0</dev/null\n{TELL}{script}")])
        .current_dir(folder)
        .env_clear()
        .env("PATH", "/nonexistent")
        .stdin(tell)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut bytes = Vec::new();
    // The pipe ends with the shell: ours was handed over whole.
    std::io::Read::read_to_end(&mut told, &mut bytes).unwrap();
    bash.wait().unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let told = |command: &str| {
        let mut words = command.split_terminator('\0').map(str::to_owned);
        (words.next().unwrap_or_default().into(), words.collect())
    };
    text.split_terminator("\u{1}\0").map(told).collect()
}

/// Names of git's own commands that a script has git run in a folder, by git's own trace. `home` has
/// the settings of the user.
pub fn by_git(folder: &Path, home: &Path, script: &str) -> BTreeSet<String> {
    let trace = home.join("trace");
    std::fs::write(&trace, "").unwrap();
    #[expect(clippy::disallowed_methods, reason = "a test is not the daemon")]
    let mut bash = Command::new("/bin/bash")
        .args(["--noprofile", "--norc", "-c", script])
        .current_dir(folder)
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .envs([("HOME", home), ("GIT_TRACE2_EVENT", &trace)])
        .envs([("GIT_CONFIG_NOSYSTEM", "1"), ("GIT_TERMINAL_PROMPT", "0"), ("GIT_EDITOR", "true")])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    bash.wait().unwrap();
    let name = |line: &str| {
        let event: serde_json::Value = serde_json::from_str(line).ok()?;
        let is_name = event["event"] == "cmd_name";
        is_name.then(|| event["name"].as_str().unwrap_or_default().to_owned())
    };
    std::fs::read_to_string(&trace).unwrap().lines().filter_map(name).collect()
}

//! Recognition of scripts that only read the workspace, so that their sandbox needs no writable
//! place.
//!
//! Must never decide about approval: it decides how narrow a sandbox is, and a wrong answer is a
//! command that cannot write. So it also accepts programs that need an approval, such as Git's.

use super::{CommandWords, parse, paths_read};

/// Subcommands of Git that only print.
const GIT: &[&str] = &[
    "blame",
    "cat-file",
    "describe",
    "diff",
    "for-each-ref",
    "grep",
    "log",
    "ls-files",
    "ls-tree",
    "merge-base",
    "rev-list",
    "rev-parse",
    "shortlog",
    "show",
    "status",
];

/// Returns true if the parser understands the script and every command in it only prints.
pub fn is_read_only(script: &str) -> bool {
    parse(script).is_ok_and(|commands| commands.iter().all(looks))
}

fn looks(words: &CommandWords) -> bool {
    let has = |option: &str| words.iter().any(|word| word.starts_with(option));
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["cd", ..] => true,
        ["git", command, ..] => GIT.contains(command) && !has("--output") && !has("-o"),
        ["rg", ..] => !has("--pre"),
        _ => paths_read(words).is_some(),
    }
}

#[cfg(test)]
mod tests {
    use super::is_read_only;

    #[test]
    fn what_prints_and_does_no_more_only_looks() {
        for script in [
            "ls -la",
            "cd src && ls -la | head -20; git status --short",
            "git log --oneline -5 && git diff main -- src 2>&1",
            "rg -n 'a b' src",
            "cat /etc/hosts ../x",
        ] {
            assert!(is_read_only(script), "{script}");
        }
    }

    #[test]
    fn what_may_write_or_is_not_understood_does_not() {
        for script in [
            "",
            "npm test",
            "ls > f",
            "ls; touch f",
            "git",
            "git checkout a",
            "git -C a status",
            "git diff --output=f",
            "rg --pre=x a",
            "find . -delete",
            "find . -exec touch f ;",
            "ls $(touch f)",
            "sed -i s/a/b/ f",
            "sort -o f f",
        ] {
            assert!(!is_read_only(script), "{script}");
        }
    }
}

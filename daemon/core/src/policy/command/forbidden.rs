//! What the user's settings forbid, however it is wrapped.
//!
//! A command that is understood is looked at word by word; whatever hands words on to another
//! program, and whatever is not understood, is searched for the words of a rule anywhere in it. Too
//! much is forbidden then rather than too little. A net under the user's "yes", not a wall: a
//! program can be reached in ways that no words show.
//!
//! On Windows, where another shell runs commands, all are searched, in its words too.

use super::{Rule, Words, parse};

/// Options that may stand before each further word of a rule: `git -C x push`. Bounds the search.
const OPTIONS: usize = 16;

/// The first rule that forbids something in the script.
pub(super) fn forbidden<'a>(script: &str, rules: &'a [Rule]) -> Option<&'a Rule> {
    if rules.is_empty() {
        return None;
    }
    if cfg!(windows)
        && let Some(rule) = in_powershell(script, rules)
    {
        return Some(rule);
    }
    let commands = match parse(script) {
        Ok(commands) if !commands.iter().any(|words| is_shell(&words[0])) => commands,
        // Searched just now, in the same words.
        Err(_) if cfg!(windows) && !script.contains(['\\', '`']) => return None,
        // A shell may run what another command of the script prints.
        Ok(_) | Err(_) => {
            let words = loose_words(script);
            return rules.iter().find(|rule| rule.occurs_in(&words));
        }
    };
    let handed_on: Vec<Words> = commands
        .iter()
        .filter(|words| hands_on(&words[0]))
        .map(|words| words.iter().flat_map(|word| loose_words(word)).collect())
        .collect();
    rules.iter().find(|rule| {
        commands.iter().any(|words| begins(&rule.words, words))
            || handed_on.iter().any(|words| rule.occurs_in(words))
    })
}

/// Its escapes are backticks, and its paths have backslashes.
fn in_powershell<'a>(script: &str, rules: &'a [Rule]) -> Option<&'a Rule> {
    let words = loose_words(&script.replace('`', "").replace('\\', "/"));
    rules.iter().find(|rule| rule.occurs_in(&words))
}

impl Rule {
    fn occurs_in(&self, words: &[String]) -> bool {
        let rule: Words = self.words.iter().flat_map(|word| loose_words(word)).collect();
        (0..words.len()).any(|at| begins(&rule, &words[at..]))
    }
}

/// The words begin with a rule's program, wherever it lies, and its further words, whatever options
/// stand between them and whatever follows.
fn begins(rule: &[String], words: &[String]) -> bool {
    let (Some((name, rest)), Some((program, words))) = (rule.split_first(), words.split_first())
    else {
        return false;
    };
    if !same_program(program, name) {
        return false;
    }
    // All places where the next word of the rule may stand: an option may have a value, or not.
    let mut places = vec![0];
    for wanted in rest {
        let mut at = 0;
        while at < places.len() && places.len() <= OPTIONS {
            let place = places[at];
            if words.get(place).is_some_and(|word| word.starts_with('-')) {
                for next in [place + 1, place + 2] {
                    if !places.contains(&next) {
                        places.push(next);
                    }
                }
            }
            at += 1;
        }
        places.retain(|place| words.get(*place) == Some(wanted));
        places.iter_mut().for_each(|place| *place += 1);
    }
    !places.is_empty()
}

fn is_shell(program: &str) -> bool {
    const SHELLS: &[&str] = &[
        ".",
        "ash",
        "bash",
        "busybox",
        "cmd",
        "dash",
        "eval",
        "fish",
        "ksh",
        "mksh",
        "powershell",
        "pwsh",
        "rbash",
        "sh",
        "source",
        "wsl",
        "xargs",
        "yash",
        "zsh",
    ];
    SHELLS.iter().any(|shell| same_program(program, shell))
}

/// Programs that run what is among their words: as a command, or as a program in a language of
/// theirs.
fn hands_on(program: &str) -> bool {
    const RUNNERS: &[&str] = &[
        "awk",
        "builtin",
        "chroot",
        "chrt",
        "command",
        "coproc",
        "deno",
        "doas",
        "entr",
        "env",
        "exec",
        "expect",
        "fakeroot",
        "find",
        "firejail",
        "flock",
        "gawk",
        "ionice",
        "lua",
        "mawk",
        "nice",
        "node",
        "nohup",
        "nsenter",
        "npx",
        "parallel",
        "perl",
        "php",
        "pkexec",
        "pnpx",
        "prlimit",
        "proot",
        "python",
        "ruby",
        "runuser",
        "script",
        "sed",
        "setarch",
        "setpriv",
        "setsid",
        "ssh",
        "stdbuf",
        "strace",
        "su",
        "sudo",
        "systemd-run",
        "taskset",
        "tclsh",
        "time",
        "timeout",
        "toybox",
        "trap",
        "unbuffer",
        "unshare",
        "watch",
    ];
    // `python3.12` and the like.
    let unnumbered = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    RUNNERS.iter().any(|runner| same_program(unnumbered, runner))
}

/// Some file systems do not tell letter cases apart, and Windows (also from within WSL) finds a
/// program with or without the end of its name.
fn same_program(word: &str, name: &str) -> bool {
    let last = word.rsplit('/').next().unwrap_or(word);
    let is_it = |word: &str| word.eq_ignore_ascii_case(name);
    let bare = last.len().checked_sub(4).and_then(|at| last.split_at_checked(at));
    let ends = |end: &str| PROGRAM_ENDS.iter().any(|known| known.eq_ignore_ascii_case(end));
    is_it(word) || is_it(last) || bare.is_some_and(|(bare, end)| is_it(bare) && ends(end))
}

const PROGRAM_ENDS: &[&str] = &[".bat", ".cmd", ".com", ".exe"];

/// Words as they might come out, whatever the shell does with the rest.
fn loose_words(script: &str) -> Words {
    let joined = script.replace("\\\r\n", "").replace("\\\n", "");
    let bare: String = joined.chars().filter(|c| !matches!(c, '\'' | '"' | '\\')).collect();
    bare.split(|c: char| c.is_whitespace() || c.is_control() || "&|;<>(){}`$,=[]!".contains(c))
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_powershell_the_words_count_however_they_are_written() {
        let rules = ["git push", "rm"].map(|rule| Rule::parse(rule).unwrap());
        for (script, forbids) in [
            ("git push", true),
            ("Git.EXE push origin", true),
            (r"& 'C:\Program Files\Git\bin\git.exe' -C x push", true),
            ("g`it pu`sh", true),
            ("iex \"git push\"", true),
            ("cmd /c \"cd x & git push\"", true),
            ("npm test; rm x", true),
            (r"src\rm.cmd", true),
            ("git status", false),
            ("npm test", false),
            ("Get-Content form.txt", false),
            (r"type src\arm.rs", false),
        ] {
            assert_eq!(in_powershell(script, &rules).is_some(), forbids, "{script}");
        }
    }
}

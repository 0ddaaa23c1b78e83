//! Deny rules of the user's settings, applied to a command and to the commands that it wraps.
//!
//! A command that the parser understands is judged by the option grammar of its program
//! ([`super::subcommands`]). Two kinds of text are searched for a rule at every word: words that a
//! program passes to another one, and scripts that the parser does not understand. This may deny
//! too much, but never too little. A call that remains ambiguous is undecided: it needs an
//! approval, whatever else allows it. A deny rule is no sandbox: a program can be reached in ways
//! that no words show.
//!
//! On Windows, where PowerShell runs the commands, every script is searched, by PowerShell's
//! grammar of words.

use super::{
    CommandWords, Doubt, Rule,
    loose::loose_words,
    parse,
    subcommands::{Decision, decide},
};

/// Answer of the rules of `deny` about a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Denial<'a> {
    None,
    Denied(&'a Rule),
    /// Undecided, with the reason.
    Undecided(&'a Rule, Doubt),
}

/// Maximum depth of scripts inside of scripts.
const DEEPEST: usize = 4;

/// Decides which of the rules forbids a script.
pub(super) fn denial<'a>(script: &str, rules: &'a [Rule]) -> Denial<'a> {
    denial_within(script, rules, 0)
}

fn denial_within<'a>(script: &str, rules: &'a [Rule], depth: usize) -> Denial<'a> {
    if rules.is_empty() {
        return Denial::None;
    }
    if cfg!(windows)
        && let Some(rule) = in_powershell(script, rules)
    {
        return Denial::Denied(rule);
    }
    let commands = match parse(script) {
        Ok(commands) => commands,
        // The same words were searched just before.
        Err(_) if cfg!(windows) && !script.contains(['\\', '`']) => return Denial::None,
        Err(_) => return worst(rules.iter().map(|rule| (rule, rule.search(&loose_words(script))))),
    };
    if commands.iter().any(|words| is_shell(&words[0])) {
        // A shell may run what another command of the script prints.
        let words = loose_words(script);
        let found = worst(rules.iter().map(|rule| (rule, rule.search(&words))));
        if found != Denial::None {
            return found;
        }
    }
    let mut undecided = Denial::None;
    for words in &commands {
        match of_command(words, rules, depth) {
            Denial::None => {}
            denied @ Denial::Denied(_) => return denied,
            other @ Denial::Undecided(..) => undecided = other,
        }
    }
    undecided
}

fn of_command<'a>(words: &CommandWords, rules: &'a [Rule], depth: usize) -> Denial<'a> {
    if is_shell(&words[0]) {
        return of_shell(words, rules, depth);
    }
    if !hands_on(&words[0]) {
        return worst(rules.iter().map(|rule| (rule, decide(&rule.words, words, false))));
    }
    let handed_on: CommandWords = words.iter().flat_map(|word| loose_words(word)).collect();
    let sets_git = words.iter().any(|word| word.starts_with("GIT_") && word.contains('='));
    let search = |rule: &'a Rule| match rule.search(&handed_on) {
        Decision::No if sets_git && rule.is_of("git") => {
            (rule, Decision::Unknown(Doubt::VariableDecides))
        }
        decision => (rule, decision),
    };
    let found = worst(rules.iter().map(search));
    // The first program of the rest is itself one of these: `env bash -c …`, `sudo xargs git`.
    let inner = words.iter().skip(1).position(|word| is_shell(word));
    match (found, inner) {
        (Denial::None, Some(at)) => of_shell(&words[at + 1..], rules, depth),
        (found, _) => found,
    }
}

/// Decides about a program that runs a script from its words or its input. The words have been searched.
fn of_shell<'a>(words: &[String], rules: &'a [Rule], depth: usize) -> Denial<'a> {
    let (program, arguments) = (&words[0], &words[1..]);
    let undecided = |why: Doubt| match rules.first() {
        Some(rule) => Denial::Undecided(rule, why),
        None => Denial::None,
    };
    if ["xargs", "busybox"].iter().any(|name| same_program(program, name)) {
        let more = same_program(program, "xargs");
        let handed_on: CommandWords = arguments.iter().flat_map(|word| loose_words(word)).collect();
        let runs = handed_on.iter().find(|word| !word.starts_with('-'));
        if runs.is_none_or(|_| handed_on.iter().any(|word| is_shell(word) || hands_on(word))) {
            return undecided(Doubt::InputDecides);
        }
        return worst(rules.iter().map(|rule| (rule, rule.search_in(&handed_on, more))));
    }
    let is_script =
        |word: &String| word.starts_with('-') && !word.starts_with("--") && word.contains('c');
    let Some(at) = arguments.iter().position(is_script) else {
        // The content of a script file is not judged; a script from the input is undecided.
        let names_file = arguments.iter().any(|word| !word.starts_with('-'));
        return match names_file && !["cmd", "powershell", "pwsh", "wsl"].contains(&program.as_str())
        {
            true => Denial::None,
            false => undecided(Doubt::InputDecides),
        };
    };
    match arguments[at + 1..].iter().find(|word| !word.starts_with('-')) {
        Some(script) if depth < DEEPEST && parse(script).is_ok() => {
            denial_within(script, rules, depth + 1)
        }
        Some(_) | None => undecided(Doubt::ScriptUnclear),
    }
}

/// Returns the first rule that forbids, otherwise the first undecided one.
fn worst<'a>(decisions: impl Iterator<Item = (&'a Rule, Decision)>) -> Denial<'a> {
    let mut undecided = Denial::None;
    for (rule, decision) in decisions {
        match decision {
            Decision::Yes => return Denial::Denied(rule),
            Decision::Unknown(why) if undecided == Denial::None => {
                undecided = Denial::Undecided(rule, why);
            }
            Decision::Unknown(_) | Decision::No => {}
        }
    }
    undecided
}

/// Searches a script of PowerShell, whose escapes are backticks and whose paths have backslashes.
fn in_powershell<'a>(script: &str, rules: &'a [Rule]) -> Option<&'a Rule> {
    let words = loose_words(&script.replace('`', "").replace('\\', "/"));
    rules.iter().find(|rule| rule.search(&words) == Decision::Yes)
}

impl Rule {
    fn is_of(&self, program: &str) -> bool {
        self.words.first().is_some_and(|name| same_program(name, program))
    }

    /// Decides at every word as if a command began there, and returns the strictest answer.
    fn search(&self, words: &[String]) -> Decision {
        self.search_in(words, false)
    }

    fn search_in(&self, words: &[String], goes_on: bool) -> Decision {
        let rule: CommandWords = self.words.iter().flat_map(|word| loose_words(word)).collect();
        // Skip words that cannot name the program.
        let initial = |word: &String| {
            let last = word.rsplit('/').next().unwrap_or(word);
            last.bytes().next().map(|byte| byte.to_ascii_lowercase())
        };
        let wanted = rule.first().and_then(initial);
        let mut unknown = Decision::No;
        for at in (0..words.len()).filter(|at| initial(&words[*at]) == wanted) {
            match decide(&rule, &words[at..], goes_on) {
                Decision::No => {}
                Decision::Yes => return Decision::Yes,
                why @ Decision::Unknown(_) => unknown = why,
            }
        }
        unknown
    }
}

pub(super) fn is_shell(program: &str) -> bool {
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

/// Returns true for programs that run their words, as a command or as a program in their own language.
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

/// Returns true if a word names the program. Letter cases are ignored, as some file systems do, and so
/// is the extension of the name, as Windows does (also from within WSL).
pub(super) fn same_program(word: &str, name: &str) -> bool {
    let last = word.rsplit('/').next().unwrap_or(word);
    let is_it = |word: &str| word.eq_ignore_ascii_case(name);
    let bare = last.len().checked_sub(4).and_then(|at| last.split_at_checked(at));
    let ends = |end: &str| PROGRAM_ENDS.iter().any(|known| known.eq_ignore_ascii_case(end));
    is_it(word) || is_it(last) || bare.is_some_and(|(bare, end)| is_it(bare) && ends(end))
}

const PROGRAM_ENDS: &[&str] = &[".bat", ".cmd", ".com", ".exe"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_powershell_a_denied_command_is_found_in_any_spelling() {
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

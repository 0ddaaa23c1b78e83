//! What the user's rules say about a command.
//!
//! Must never allow by a rule what was not understood, nor miss what is forbidden because it was not.

use std::fmt;

use super::{PLAIN, Words, only_reads, parse};

/// The settings `cairn.shell`. By default everything is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommandRules {
    /// Programs that only read run unasked, and what `allow` covers.
    pub unasked: bool,
    pub allow: Vec<Rule>,
    pub deny: Vec<Rule>,
    /// No sandbox works: whatever else is said here, everything is asked for.
    pub unboxed: bool,
}

/// Whether a command may run without a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unasked {
    Yes,
    /// With the reason, for the user.
    No(String),
}

impl CommandRules {
    pub fn forbids(&self, script: &str) -> Option<&Rule> {
        forbidden(script, &self.deny)
    }

    /// The same where no sandbox works.
    pub fn asking(&self) -> Self {
        Self { unboxed: true, ..self.clone() }
    }

    pub fn unasked(&self, script: &str, may_read: impl Fn(&str) -> bool) -> Unasked {
        if self.unboxed {
            return Unasked::No("It runs with your rights, without a sandbox.".to_owned());
        }
        if !self.unasked {
            return Unasked::No("Commands run with your rights.".to_owned());
        }
        let commands = match parse(script) {
            Ok(commands) => commands,
            Err(why) => return Unasked::No(format!("What it does cannot be told: {why}.")),
        };
        let free = |words: &Words| {
            self.allow.iter().any(|rule| rule.covers(words)) || only_reads(words, &may_read)
        };
        match commands.iter().find(|words| !free(words)) {
            None => Unasked::Yes,
            Some(words) => {
                let rule = Rule::exactly(words);
                Unasked::No(format!("`{rule}` may do more than read files of the workspace."))
            }
        }
    }
}

/// A rule of the user about commands: the words a simple command must have. A last word `*` stands
/// for any further words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    words: Words,
    and_more: bool,
}

impl Rule {
    /// `None` for what is no simple command.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (text, and_more) = match text.strip_suffix(" *") {
            Some(rest) => (rest, true),
            None => (text, false),
        };
        let [words] = <[Words; 1]>::try_from(parse(text).ok()?).ok()?;
        Some(Self { words, and_more })
    }

    /// The rule for exactly this command.
    pub fn exactly(words: &[String]) -> Self {
        Self { words: words.to_vec(), and_more: false }
    }

    pub fn covers(&self, words: &[String]) -> bool {
        if self.and_more { words.starts_with(&self.words) } else { words == self.words }
    }

    /// The rule forbids this command, whatever words follow, wherever the program lies, and
    /// whichever program it is handed to.
    fn forbids(&self, words: &[String]) -> bool {
        let Some((name, rest)) = self.words.split_first() else { return false };
        (0..words.len()).any(|at| {
            let handed_on = words[..at].first().is_none_or(|first| hands_on(first));
            handed_on && same_program(&words[at], name) && words[at + 1..].starts_with(rest)
        })
    }
}

impl fmt::Display for Rule {
    /// What [`Rule::parse`] reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = |word: &String| {
            !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || PLAIN.contains(c))
        };
        let quoted = |word: &String| match word {
            word if plain(word) => word.clone(),
            word if word.contains('\'') => format!("\"{word}\""),
            word => format!("'{word}'"),
        };
        let words: Vec<String> = self.words.iter().map(quoted).collect();
        f.write_str(&words.join(" "))?;
        f.write_str(if self.and_more { " *" } else { "" })
    }
}

/// The first rule that forbids something in the script. What is not understood is searched for the
/// words of a rule anywhere in it: too much is forbidden then rather than too little.
pub(super) fn forbidden<'a>(script: &str, rules: &'a [Rule]) -> Option<&'a Rule> {
    match parse(script) {
        Ok(commands) => rules.iter().find(|rule| commands.iter().any(|words| rule.forbids(words))),
        Err(_) => {
            let words = loose_words(script);
            rules.iter().find(|rule| rule.occurs_in(&words))
        }
    }
}

impl Rule {
    fn occurs_in(&self, words: &[String]) -> bool {
        let Some((name, rest)) = self.words.split_first() else { return false };
        (0..words.len())
            .any(|at| same_program(&words[at], name) && words[at + 1..].starts_with(rest))
    }
}

/// Programs that run the command that is among their words.
fn hands_on(program: &str) -> bool {
    const RUNNERS: &[&str] = &[
        "bash", "builtin", "busybox", "chroot", "command", "coproc", "dash", "doas", "env", "eval",
        "exec", "find", "flock", "ionice", "nice", "nohup", "npx", "parallel", "setsid", "sh",
        "ssh", "stdbuf", "strace", "su", "sudo", "time", "timeout", "trap", "unshare", "watch",
        "xargs", "zsh",
    ];
    RUNNERS.iter().any(|runner| same_program(program, runner))
}

fn same_program(word: &str, name: &str) -> bool {
    word == name || word.rsplit('/').next() == Some(name)
}

/// Words as they might come out, whatever the shell does with the rest.
fn loose_words(script: &str) -> Vec<String> {
    let bare: String = script.chars().filter(|c| !matches!(c, '\'' | '"' | '\\')).collect();
    bare.split(|c: char| c.is_whitespace() || "&|;<>(){}`$,=[]".contains(c))
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

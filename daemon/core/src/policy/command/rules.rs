//! What the user's rules say about a command.
//!
//! Must never allow by a rule what was not understood, nor miss what is forbidden because it was not.

use std::fmt;

use super::{
    Joint, ReadKind, Unclear, Words,
    forbidden::{Denial, denial},
    is_plain, parse, paths_read, read,
};

/// The settings `cairn.shell`, and what the user allowed for good. By default everything is asked
/// for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommandRules {
    /// Programs that only read run unasked, and what `allow` covers.
    pub unasked: bool,
    pub allow: Vec<Rule>,
    pub deny: Vec<Rule>,
    /// Answered with "always" in the folder that `CommandContext::enters`, else in the one in which the
    /// script starts. It was said of exactly these commands, so it holds whatever `unasked` is.
    pub always: Vec<Rule>,
    /// No sandbox works: whatever else is said here, everything is asked for.
    pub unboxed: bool,
}

/// Whether a command may run without a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AutoApproval {
    Allowed,
    /// With the reason, for the user.
    NeedsApproval(String),
}

/// What the rules must know of the world, and cannot look up themselves.
pub struct CommandContext<'a> {
    /// A command may read this path without asking: it is there, lies in the workspace under this
    /// name and no other, and holds no secret. For [`ReadKind::Contents`] it is a regular file.
    pub may_read: &'a dyn Fn(ReadKind, &str) -> bool,
    /// The shell will find the program of this bare name, and not in a workspace: there the agent
    /// writes, and a repository must not say which program `ls` is.
    pub finds: &'a dyn Fn(&str) -> bool,
    /// The folder of this name, below the one in which the script starts, is one of the workspace,
    /// may be read without asking, and no link is on the way there. So to enter it and run something
    /// is the same as to run that there.
    pub enters: &'a dyn Fn(&str) -> bool,
}

impl CommandContext<'_> {
    /// The name says which program it is: the shell's own, one by its path (which only a rule with
    /// that very path can allow), or one that the shell finds where nobody else wrote it.
    fn knows(&self, program: &str) -> bool {
        BUILTIN.contains(&program) || program.contains('/') || (self.finds)(program)
    }
}

/// Commands of the shell itself that it runs without looking for a program, and that leave it as it
/// is.
const BUILTIN: &[&str] =
    &[":", "echo", "exit", "false", "kill", "printf", "pwd", "test", "true", "type"];

/// Commands of the shell itself that change what the words after them mean: where names lead to,
/// which program runs. Nothing beside them is what it looks like, so no rule covers them, but for a
/// `cd` that only leads to where the rest runs ([`super::entered`]).
const CHANGES_SHELL: &[&str] = &[
    ".",
    "alias",
    "bg",
    "bind",
    "builtin",
    "cd",
    "command",
    "declare",
    "dirs",
    "disown",
    "enable",
    "eval",
    "exec",
    "export",
    "fc",
    "fg",
    "getopts",
    "hash",
    "history",
    "jobs",
    "let",
    "local",
    "logout",
    "mapfile",
    "popd",
    "pushd",
    "read",
    "readarray",
    "readonly",
    "return",
    "set",
    "shift",
    "shopt",
    "source",
    "suspend",
    "trap",
    "typeset",
    "ulimit",
    "umask",
    "unalias",
    "unset",
    "wait",
];

impl CommandRules {
    /// Decides by the rules of `deny` alone.
    pub fn denial(&self, script: &str) -> Denial<'_> {
        denial(script, &self.deny)
    }

    /// The same where no sandbox works.
    pub fn asking(&self) -> Self {
        Self { unboxed: true, ..self.clone() }
    }

    pub fn unasked(&self, script: &str, context: &CommandContext<'_>) -> AutoApproval {
        if self.unboxed {
            return AutoApproval::NeedsApproval(
                "It runs with your rights, without a sandbox.".to_owned(),
            );
        }
        if !self.unasked && self.always.is_empty() {
            return AutoApproval::NeedsApproval(RIGHTS.to_owned());
        }
        let placed = match Placed::read(script, context) {
            Ok(placed) => placed,
            Err(_) if !self.unasked => return AutoApproval::NeedsApproval(RIGHTS.to_owned()),
            Err(why) => {
                return AutoApproval::NeedsApproval(format!("What it does cannot be told: {why}."));
            }
        };
        let asks = |at: &usize| !self.is_free(*at, &placed, context);
        let Some(words) = (0..placed.commands.len()).find(asks).map(|at| &placed.commands[at])
        else {
            return AutoApproval::Allowed;
        };
        if !self.unasked {
            return AutoApproval::NeedsApproval(RIGHTS.to_owned());
        }
        let (rule, program) = (Rule::exactly(words), &words[0]);
        AutoApproval::NeedsApproval(if changes_shell(words) {
            format!("`{rule}` may change what the commands after it do.")
        } else if context.knows(program) {
            format!("`{rule}` may do more than read files of the workspace.")
        } else {
            format!("`{program}` is not installed, or a program of the workspace.")
        })
    }

    /// The rules that would let this script run unasked from now on: exactly its words, one for each
    /// command that does not yet. None for what is not wholly understood, and for what no rule
    /// would help. They are about the folder that `always` is about.
    pub fn offered(&self, script: &str, context: &CommandContext<'_>) -> Vec<Rule> {
        let Ok(placed) = Placed::read(script, context) else { return Vec::new() };
        // Where it is asked for in any case, no rule would help.
        if self.unboxed || self.denial(script) != Denial::None {
            return Vec::new();
        }
        let helps = |words: &Words| !changes_shell(words) && context.knows(&words[0]);
        if !placed.commands.iter().all(helps) {
            return Vec::new();
        }
        let mut offered: Vec<Rule> = Vec::new();
        for (at, words) in placed.commands.iter().enumerate() {
            // What only reads is free in one mode and asked for in the other: then it needs a rule.
            let free = self.is_free(at, &placed, context);
            if !free && !offered.iter().any(|rule| rule.covers(words)) {
                offered.push(Rule::exactly(words));
            }
        }
        // A rule is kept as it is written. Quotes within quotes have no way to be.
        let kept = |rule: &Rule| Rule::parse(&rule.to_string()).as_ref() == Some(rule);
        if offered.iter().all(kept) { offered } else { Vec::new() }
    }

    /// True if one of the commands may run unasked.
    fn is_free(&self, at: usize, placed: &Placed, context: &CommandContext<'_>) -> bool {
        let words = &placed.commands[at];
        let covers = |rules: &[Rule]| rules.iter().any(|rule| rule.covers(words));
        let allowed = covers(&self.always)
            || (self.unasked && (covers(&self.allow) || placed.only_reads(at, context)));
        allowed && !changes_shell(words) && context.knows(&words[0])
    }
}

/// The commands of a script as rules see them: without what only leads to where they run.
struct Placed {
    /// Below the folder in which the script starts. `None`: there.
    folder: Option<String>,
    commands: Vec<Words>,
    /// After each of the commands.
    joints: Vec<Joint>,
}

impl Placed {
    fn read(script: &str, context: &CommandContext<'_>) -> Result<Self, Unclear> {
        let mut script = read(script)?;
        let enters = |folder: &&str| (context.enters)(folder);
        let folder = script.entered().filter(enters).map(str::to_owned);
        if folder.is_some() {
            script.commands.remove(0);
            script.joints.remove(0);
        }
        Ok(Self { folder, commands: script.commands, joints: script.joints })
    }

    /// The command does nothing but read, and only what may be read. A path is looked up before the
    /// script runs, so it says nothing where a command before or beside this one may change files.
    fn only_reads(&self, at: usize, context: &CommandContext<'_>) -> bool {
        let Some(paths) = paths_read(&self.commands[at]) else { return false };
        let beside = self.joints[at..].iter().take_while(|joint| **joint == Joint::Pipe).count();
        let unchanged =
            || self.commands[..=at + beside].iter().all(|words| paths_read(words).is_some());
        let may_read = |(read, path): &(ReadKind, &str)| self.may_read(*read, path, context);
        paths.is_empty() || (unchanged() && paths.iter().all(may_read))
    }

    fn may_read(&self, read: ReadKind, path: &str, context: &CommandContext<'_>) -> bool {
        match &self.folder {
            Some(folder) if !path.starts_with('/') => {
                (context.may_read)(read, &format!("{folder}/{path}"))
            }
            Some(_) | None => (context.may_read)(read, path),
        }
    }
}

const RIGHTS: &str = "In its sandbox it can change files of this workspace.";

fn changes_shell(words: &[String]) -> bool {
    let sets_variable = |words: &[String]| words.iter().any(|word| word.starts_with("-v"));
    match words.split_first() {
        Some((program, rest)) if program == "printf" => sets_variable(rest),
        Some((program, _)) => CHANGES_SHELL.contains(&program.as_str()),
        None => false,
    }
}

/// A rule of the user about commands: the words a simple command must have. A last word `*` stands
/// for any further words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    pub(super) words: Words,
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

    /// The words that a command must have.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    pub fn covers(&self, words: &[String]) -> bool {
        if self.and_more { words.starts_with(&self.words) } else { words == self.words }
    }
}

impl fmt::Display for Rule {
    /// What [`Rule::parse`] reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = |word: &String| !word.is_empty() && word.chars().all(is_plain);
        let quoted = |word: &String| match word {
            word if plain(word) => word.clone(),
            word if word.contains('\'') && !word.contains(['"', '$', '`', '\\', '!']) => {
                format!("\"{word}\"")
            }
            word => format!("'{}'", word.replace('\'', r#"'"'"'"#)),
        };
        let words: Vec<String> = self.words.iter().map(quoted).collect();
        f.write_str(&words.join(" "))?;
        f.write_str(if self.and_more { " *" } else { "" })
    }
}

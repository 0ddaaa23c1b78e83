//! Allow rules of the user, applied to a command.
//!
//! Must never allow a command that the parser did not understand, nor miss a denied one for that
//! reason.

use std::fmt;

use super::{
    CommandWords, Joint, ReadKind, Unclear,
    forbidden::{Denial, denial},
    is_plain, parse, paths_read, read,
};

/// Settings `cairn.shell`, and the rules that the user keeps. By default every command needs an
/// approval.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommandRules {
    /// Lets programs that only read, and those that `allow` covers, run without approval.
    pub unasked: bool,
    pub allow: Vec<Rule>,
    pub deny: Vec<Rule>,
    /// Rules from the answer "always". They hold in the folder that `CommandContext::enters` names,
    /// else in the start folder of the script. They name exact commands, so they hold whatever
    /// `unasked` is.
    pub always: Vec<Rule>,
    /// No sandbox works: every command needs an approval, whatever the other fields say.
    pub unboxed: bool,
}

/// Reason why a command needs an approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoAutoApproval {
    /// No sandbox works: the command would have the user's rights.
    NoSandbox,
    /// In its sandbox the command can change files of the workspace.
    ChangesFiles,
    /// The script is not understood.
    Unclear(Unclear),
    /// The command may change what the commands after it do.
    ChangesShell { command: Rule },
    /// The command may do more than read files of the workspace.
    MoreThanReading { command: Rule },
    /// The program is not installed, or one of the workspace.
    UnknownProgram { program: String },
}

/// Facts about files and programs that the rules need and cannot look up themselves.
pub struct CommandContext<'a> {
    /// Returns true if a command may read this path without approval: it exists, lies in the
    /// workspace under no other name, and holds no secret. For [`ReadKind::Contents`] it is a
    /// regular file.
    pub may_read: &'a dyn Fn(ReadKind, &str) -> bool,
    /// Returns true if the shell finds the program of this bare name outside of every workspace.
    /// The agent writes in workspaces, and a repository must not decide which program `ls` is.
    pub finds: &'a dyn Fn(&str) -> bool,
    /// Returns true if this folder below the start folder belongs to the workspace, may be read
    /// without approval, and is reached without links. To enter it and run something is then the
    /// same as to run that there.
    pub enters: &'a dyn Fn(&str) -> bool,
}

impl CommandContext<'_> {
    /// Returns true if the name identifies the program: a builtin of the shell, a program by its
    /// path (which only a rule with that very path can allow), or one that the shell finds in a
    /// trusted folder.
    fn knows(&self, program: &str) -> bool {
        BUILTIN.contains(&program) || program.contains('/') || (self.finds)(program)
    }
}

/// Builtins that the shell runs without a search and that do not change its state.
const BUILTIN: &[&str] =
    &[":", "echo", "exit", "false", "kill", "printf", "pwd", "test", "true", "type"];

/// Builtins that change the meaning of later words: the current folder, or the program of a name.
/// No rule covers a script with one, except for a `cd` that only leads to the folder of the rest
/// ([`super::entered`]).
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

/// Beginnings of commands that are run again and again with other words, each of which only chooses tests
/// or files: tests, checks and builds. `_` stands for a name. Programs are left out whose further words name
/// other work, as in `make test publish`.
const REPEATED: &[&str] = &[
    "bundle exec rspec",
    "cargo bench",
    "cargo build",
    "cargo check",
    "cargo clippy",
    "cargo fmt",
    "cargo nextest run",
    "cargo test",
    "ctest",
    "deno test",
    "dotnet build",
    "dotnet test",
    "eslint",
    "go build",
    "go test",
    "go vet",
    "jest",
    "mix test",
    "mypy",
    "node --test",
    "npm run _",
    "npm test",
    "npx eslint",
    "npx jest",
    "npx tsc",
    "npx vitest",
    "phpunit",
    "pnpm run _",
    "pnpm test",
    "poetry run pytest",
    "pytest",
    "python -m pytest",
    "python -m unittest",
    "python3 -m pytest",
    "python3 -m unittest",
    "rspec",
    "rubocop",
    "ruff check",
    "swift test",
    "tsc",
    "uv run pytest",
    "vitest",
    "yarn run _",
    "yarn test",
];

fn is_name(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_alphabetic()) && word.chars().all(is_plain)
}

impl CommandRules {
    /// Decides by the deny rules alone.
    pub fn denial(&self, script: &str) -> Denial<'_> {
        denial(script, &self.deny)
    }

    /// Returns the same rules for a machine without a working sandbox.
    pub fn asking(&self) -> Self {
        Self { unboxed: true, ..self.clone() }
    }

    /// Reason why a script needs an approval. `None`: it may run without one.
    pub fn needs_approval(
        &self,
        script: &str,
        context: &CommandContext<'_>,
    ) -> Option<NoAutoApproval> {
        if self.unboxed {
            return Some(NoAutoApproval::NoSandbox);
        }
        if !self.unasked && self.always.is_empty() {
            return Some(NoAutoApproval::ChangesFiles);
        }
        let placed = match Placed::read(script, context) {
            Ok(placed) => placed,
            Err(_) if !self.unasked => return Some(NoAutoApproval::ChangesFiles),
            Err(why) => return Some(NoAutoApproval::Unclear(why)),
        };
        let asks = |at: &usize| !self.is_free(*at, &placed, context);
        let words = &placed.commands[(0..placed.commands.len()).find(asks)?];
        let (command, program) = (Rule::exactly(words), &words[0]);
        Some(match () {
            () if !self.unasked => NoAutoApproval::ChangesFiles,
            () if changes_shell(words) => NoAutoApproval::ChangesShell { command },
            () if context.knows(program) => NoAutoApproval::MoreThanReading { command },
            () => NoAutoApproval::UnknownProgram { program: program.clone() },
        })
    }

    /// Returns the rules that would let this script run without approval: one with the exact words
    /// of each command that still needs one. Returns none for a script that is not wholly
    /// understood, and where no rule would help. They hold in the same folder as those of `always`.
    pub fn offered(&self, script: &str, context: &CommandContext<'_>) -> Vec<Rule> {
        let Ok(placed) = Placed::read(script, context) else { return Vec::new() };
        // No rule helps where an approval is needed in any case.
        if self.unboxed || self.denial(script) != Denial::None {
            return Vec::new();
        }
        let helps = |words: &CommandWords| !changes_shell(words) && context.knows(&words[0]);
        if !placed.commands.iter().all(helps) {
            return Vec::new();
        }
        let mut offered: Vec<Rule> = Vec::new();
        for (at, words) in placed.commands.iter().enumerate() {
            // A reading command needs no approval in one mode, but a rule in the other.
            let free = self.is_free(at, &placed, context);
            if !free && !offered.iter().any(|rule| rule.covers(words)) {
                offered.push(Rule::exactly(words));
            }
        }
        // Rules are stored as text, and nested quotes have no such form.
        let kept = |rule: &Rule| Rule::parse(&rule.to_string()).as_ref() == Some(rule);
        if offered.iter().all(kept) { offered } else { Vec::new() }
    }

    /// Returns true if the command at this index may run without approval.
    fn is_free(&self, at: usize, placed: &Placed, context: &CommandContext<'_>) -> bool {
        let words = &placed.commands[at];
        let covers = |rules: &[Rule]| rules.iter().any(|rule| rule.covers(words));
        let allowed = covers(&self.always)
            || (self.unasked && (covers(&self.allow) || placed.only_reads(at, context)));
        allowed && !changes_shell(words) && context.knows(&words[0])
    }
}

/// Commands of a script as rules see them: without a leading `cd` into their folder.
struct Placed {
    /// Folder below the start folder of the script; `None` for the start folder.
    folder: Option<String>,
    commands: Vec<CommandWords>,
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

    /// Returns true if the command only reads, and only paths that may be read. Paths are checked
    /// before the script runs, so the check fails if another command before or during this one may
    /// change files.
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

fn changes_shell(words: &[String]) -> bool {
    let sets_variable = |words: &[String]| words.iter().any(|word| word.starts_with("-v"));
    match words.split_first() {
        Some((program, rest)) if program == "printf" => sets_variable(rest),
        Some((program, _)) => CHANGES_SHELL.contains(&program.as_str()),
        None => false,
    }
}

/// Rule about commands: the words that a simple command must have. A last word `*` stands for any
/// further words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    pub(super) words: CommandWords,
    and_more: bool,
}

impl Rule {
    /// Parses a rule; `None` for text that is no simple command.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (text, and_more) = match text.strip_suffix(" *") {
            Some(rest) => (rest, true),
            None => (text, false),
        };
        let [words] = <[CommandWords; 1]>::try_from(parse(text).ok()?).ok()?;
        Some(Self { words, and_more })
    }

    /// Returns the rule for exactly this command.
    pub fn exactly(words: &[String]) -> Self {
        Self { words: words.to_vec(), and_more: false }
    }

    /// Returns the rule for this command with any further words, if it is one of [`REPEATED`].
    pub fn repeated(words: &[String]) -> Option<Self> {
        let begins = |row: &&&str| {
            let row = row.split(' ');
            let words = words.iter().map(String::as_str).chain([""]);
            row.zip(words).all(|(row, word)| row == word || (row == "_" && is_name(word)))
        };
        let row = REPEATED.iter().find(begins)?;
        Some(Self { words: words[..row.split(' ').count()].to_vec(), and_more: true })
    }

    /// Returns the words that a command must have.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    pub fn covers(&self, words: &[String]) -> bool {
        if self.and_more { words.starts_with(&self.words) } else { words == self.words }
    }
}

impl fmt::Display for Rule {
    /// Writes the form that [`Rule::parse`] reads.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Patterns that "always" offers: the beginning of a test, a check or a build.
    #[test]
    fn a_pattern_is_offered_where_further_words_only_choose_tests_or_files() {
        for (script, expected) in [
            ("python -m pytest tests/a.py", "python -m pytest *"),
            ("pytest", "pytest *"),
            ("cargo test -p core words", "cargo test *"),
            ("npm run lint -- --fix", "npm run lint *"),
            ("npm run", ""),
            ("npm run -s lint", ""),
            ("npm test", "npm test *"),
            ("python -m http.server", ""),
            ("python", ""),
            ("cargo", ""),
            ("cargo run", ""),
            ("make test", ""),
            ("git push", ""),
            ("rm a", ""),
        ] {
            let words: Vec<String> = script.split(' ').map(str::to_owned).collect();
            let pattern = Rule::repeated(&words);
            assert_eq!(pattern.as_ref().map(Rule::to_string).unwrap_or_default(), expected);
            assert!(pattern.is_none_or(
                |rule| rule.covers(&words) && Rule::parse(&rule.to_string()) == Some(rule)
            ));
        }
    }
}

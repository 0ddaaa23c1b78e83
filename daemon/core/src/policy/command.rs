//! Parser of shell scripts: finds their simple commands without running them.
//!
//! The parser understands a small part of the shell's grammar: plain words, quotes without
//! expansion, `&&`, `||`, `;`, `|`, `2>&1` and newlines. Only a script wholly within this part can
//! be allowed without approval. Anything that a shell might expand, redirect, group, substitute or
//! run in the background is `Unclear`. To refuse a script is safe and to misread one is not, so the
//! parser must never guess.

use std::{iter::Peekable, str::Chars};

mod build_files;
mod forbidden;
mod loose;
mod read_only;
mod risk;
mod rules;

pub use build_files::may_define;
pub use forbidden::Denial;
pub(super) use loose::loose_commands;
pub use read_only::{ReadKind, is_read_only, paths_read};
pub use risk::{Places, Risk, risks};
pub use rules::{CommandContext, CommandRules, NoAutoApproval, Rule};

/// Maximum length of a parsed script, in bytes.
pub const LONGEST: usize = 4 * 1024;
/// Maximum number of simple commands in a parsed script.
pub const MOST: usize = 32;

/// The words of one simple command, as the program will get them.
pub type CommandWords = Vec<String>;

/// Reason why a script is not understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unclear {
    Empty,
    TooLong,
    TooMany,
    /// A character other than printable ASCII, which may look like another one.
    Character,
    /// A character that the shell expands.
    Expansion(char),
    /// An operator such as `&`, `>` or `(`.
    Operator(char),
    /// A quote that does not end, or an operator without a command.
    Incomplete,
    /// `NAME=value` before a command changes what it does.
    Assignment,
    /// A reserved word such as `if` or `time`.
    Reserved(&'static str),
}

/// Returns true if a script has only blanks and comments.
pub fn says_nothing(script: &str) -> bool {
    script.lines().map(str::trim).all(|line| line.is_empty() || line.starts_with('#'))
}

/// Returns the simple commands of a script in order.
pub fn parse(script: &str) -> Result<Vec<CommandWords>, Unclear> {
    Ok(read(script)?.commands)
}

/// Returns the folder that a script enters first, as in `cd FOLDER && …`, where the rest runs only
/// in that folder. It is an absolute path, or a path below the start folder. The function does not
/// check that it exists or has no links.
pub fn entered(script: &str) -> Option<String> {
    read(script).ok()?.entered().map(str::to_owned)
}

/// A parsed script.
#[derive(Debug, Default)]
struct Script {
    commands: Vec<CommandWords>,
    /// The separator after each command.
    joints: Vec<Joint>,
}

impl Script {
    fn entered(&self) -> Option<&str> {
        let (_, [first, others @ ..]) = self.joints.split_last()? else { return None };
        // After `;` and `||` a command runs also where the folder could not be entered.
        let holds = |joint: &Joint| matches!(joint, Joint::And | Joint::Pipe);
        match self.commands.first()?.as_slice() {
            [cd, folder] if cd == "cd" && *first == Joint::And && others.iter().all(holds) => {
                leads_straight(folder).then_some(folder)
            }
            _ => None,
        }
    }
}

/// Returns true for a path without `..`, which `cd` takes neither for an option nor for another
/// folder.
fn leads_straight(folder: &str) -> bool {
    let steps = !folder.split('/').any(|step| step == "..");
    // The meaning of two leading slashes depends on the system.
    let begins = !folder.is_empty() && !folder.starts_with('-') && !folder.starts_with("//");
    folder.chars().all(is_plain) && steps && begins
}

fn read(script: &str) -> Result<Script, Unclear> {
    if script.len() > LONGEST {
        return Err(Unclear::TooLong);
    }
    if !script.chars().all(|c| c == '\n' || (' '..='~').contains(&c)) {
        return Err(Unclear::Character);
    }
    let mut parser = Parser::default();
    let mut chars = script.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            ' ' => parser.end_word(),
            '\n' => parser.end_line()?,
            '\'' => parser.quoted(&mut chars, '\'', |_| false)?,
            '"' => parser.quoted(&mut chars, '"', |c| matches!(c, '$' | '`' | '\\' | '!'))?,
            // Errors are redirected to the output, which changes no file.
            '2' if parser.word.is_none() && joins_errors(&chars) => {
                chars.by_ref().take(JOIN_ERRORS.len()).for_each(drop);
                parser.joins_errors = true;
            }
            ';' => parser.end_command(Joint::Next)?,
            '&' if chars.next_if_eq(&'&').is_some() => parser.end_command(Joint::And)?,
            '|' if chars.next_if_eq(&'|').is_some() => parser.end_command(Joint::Or)?,
            '|' => parser.end_command(Joint::Pipe)?,
            '&' | '<' | '>' | '(' | ')' => return Err(Unclear::Operator(c)),
            c if is_plain(c) => parser.word.get_or_insert_default().push(c),
            c => return Err(Unclear::Expansion(c)),
        }
    }
    parser.finish()
}

/// Characters after the `2` of `2>&1`.
const JOIN_ERRORS: &str = ">&1";

fn joins_errors(rest: &Peekable<Chars<'_>>) -> bool {
    let mut rest = rest.clone();
    let is_it = JOIN_ERRORS.chars().all(|c| rest.next() == Some(c));
    is_it && rest.next().is_none_or(|c| " \n;|&".contains(c))
}

/// Returns true for a character without a special meaning inside a word.
fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric()
        || matches!(c, '_' | '@' | '%' | '+' | '=' | ':' | ',' | '.' | '/' | '-')
}

/// Reserved words of the shell's grammar. Those with special characters are refused because of
/// these.
const RESERVED: &[&str] = &[
    "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if", "in",
    "select", "then", "time", "until", "while",
];

/// Separator of two commands. After all but the first one a command must follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Joint {
    /// `;` or the end of a line.
    Next,
    And,
    Or,
    Pipe,
}

#[derive(Debug, Default)]
struct Parser {
    script: Script,
    words: CommandWords,
    /// The word being read; a quoted one may be empty.
    word: Option<String>,
    /// True after `2>&1` was read: then the command counts even without words.
    joins_errors: bool,
}

impl Parser {
    fn quoted(
        &mut self,
        chars: &mut impl Iterator<Item = char>,
        end: char,
        expands: impl Fn(char) -> bool,
    ) -> Result<(), Unclear> {
        let word = self.word.get_or_insert_default();
        for c in chars {
            match c {
                _ if c == end => return Ok(()),
                // A quoted line that looks like another command.
                '\n' => return Err(Unclear::Expansion('\n')),
                _ if expands(c) => return Err(Unclear::Expansion(c)),
                _ => word.push(c),
            }
        }
        Err(Unclear::Incomplete)
    }

    fn end_word(&mut self) {
        self.words.extend(self.word.take());
    }

    fn end_command(&mut self, joint: Joint) -> Result<(), Unclear> {
        self.end_word();
        let words = std::mem::take(&mut self.words);
        match words.first() {
            None => return Err(Unclear::Incomplete),
            Some(name) if name.contains('=') => return Err(Unclear::Assignment),
            Some(name) => match RESERVED.iter().find(|word| *word == name) {
                Some(word) => return Err(Unclear::Reserved(word)),
                None => self.script.commands.push(words),
            },
        }
        if self.script.commands.len() > MOST {
            return Err(Unclear::TooMany);
        }
        self.script.joints.push(joint);
        self.joins_errors = false;
        Ok(())
    }

    /// Ends a line. An empty line ends no command, and after `&&` the command continues on the next
    /// one.
    fn end_line(&mut self) -> Result<(), Unclear> {
        self.end_word();
        if self.words.is_empty() && !self.joins_errors {
            return Ok(());
        }
        self.end_command(Joint::Next)
    }

    fn finish(mut self) -> Result<Script, Unclear> {
        self.end_line()?;
        match self.script.joints.last() {
            None => Err(Unclear::Empty),
            Some(Joint::Next) => Ok(self.script),
            Some(Joint::And | Joint::Or | Joint::Pipe) => Err(Unclear::Incomplete),
        }
    }
}

#[cfg(test)]
mod tests;

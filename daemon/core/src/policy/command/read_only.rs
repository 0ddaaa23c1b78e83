//! Programs that only read and print, with the arguments that keep them so.
//!
//! [`paths_read`] decides about approval. [`is_read_only`] must never: it decides how narrow a sandbox
//! is, and a wrong answer is a command that cannot write. So it also accepts programs that need an
//! approval, such as Git.
//!
//! An unlisted argument may be harmful: many options write, run programs or follow links, and new
//! versions bring new ones. So the lists hold allowed arguments, never forbidden ones.

use super::{CommandWords, parse};

/// Access of a program to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadKind {
    /// Prints the content of the file. A folder is refused: `diff a sub` reads `sub/a`, a name that
    /// is not among the words.
    Contents,
    /// Prints names, sizes and times only, of what is in a folder too. Follows no link below it.
    Names,
}

/// Meaning of a program's operands.
#[derive(Clone, Copy)]
enum Operands {
    None,
    /// Words that name no file.
    Text,
    /// Files whose contents are printed.
    Files,
    /// At most one file whose content is printed: a second one would be written.
    OneFile,
    /// A pattern, then files whose contents are printed.
    PatternThenFiles,
    /// Files and folders whose names and sizes are printed.
    Places,
    /// Only `+%Y` and the like.
    Format,
}

struct Reader {
    name: &'static str,
    /// Letters of options without a value.
    flags: &'static str,
    /// Letters of options with a value that names no file.
    valued: &'static str,
    /// Long options without a value.
    long: &'static [&'static str],
    operands: Operands,
}

const fn reader(
    name: &'static str,
    flags: &'static str,
    valued: &'static str,
    long: &'static [&'static str],
    operands: Operands,
) -> Reader {
    Reader { name, flags, valued, long, operands }
}

/// Programs with their options.
///
/// Left out on purpose: programs that read folders recursively with the contents of files (which
/// may hold secrets; the agent has its own tool for it), follow links, page, or have an option that
/// is a small language (`sed`, `awk`, `jq`, `test`, `printf`). Git is left out in every version: it
/// runs programs that the repository configures.
const READERS: &[Reader] = &[
    reader("basename", "", "", &[], Operands::Text),
    reader("cat", "AbeEnstTv", "", &["number"], Operands::Files),
    reader("cmp", "bls", "n", &[], Operands::Files),
    reader("cut", "s", "bcdf", &[], Operands::Files),
    reader("date", "uRI", "", &["utc"], Operands::Format),
    reader("diff", "abBiquwy", "U", &["brief", "unified"], Operands::Files),
    reader("dirname", "", "", &[], Operands::Text),
    reader("du", "abchksm", "d", &["human-readable", "summarize"], Operands::Places),
    reader("egrep", "EFGchHilLnoqsvwx", "ABCem", &[], Operands::PatternThenFiles),
    reader("false", "", "", &[], Operands::None),
    reader("fgrep", "EFGchHilLnoqsvwx", "ABCem", &[], Operands::PatternThenFiles),
    reader("grep", "EFGPchHilLnoqsvwx", "ABCem", &["count"], Operands::PatternThenFiles),
    reader("head", "qv0123456789", "nc", &[], Operands::Files),
    reader(
        "ls",
        "1aAbBcCdfFghGiklmnNopqQrRsStuUvxXZ",
        "IwT",
        &["all", "almost-all"],
        Operands::Places,
    ),
    reader("nl", "", "bhfnw", &[], Operands::Files),
    reader("pwd", "LP", "", &[], Operands::None),
    reader(
        "sort",
        "bcCdfghiMnrRsuVz",
        "kt",
        &["numeric-sort", "reverse", "unique"],
        Operands::Files,
    ),
    reader("stat", "t", "c", &["terse"], Operands::Places),
    reader("tail", "qv0123456789", "nc", &[], Operands::Files),
    reader("tr", "cCdst", "", &[], Operands::Text),
    reader("true", "", "", &[], Operands::None),
    reader("uname", "asnrvmpio", "", &[], Operands::None),
    reader("uniq", "cdDiuz", "fsw", &[], Operands::OneFile),
    reader("wc", "cmlLw", "", &["bytes", "chars", "lines", "words"], Operands::Files),
    reader("which", "a", "", &[], Operands::Text),
];

/// Tests of `find` with a value that names no file, and without one.
const FIND_VALUED: &[&str] = &[
    "-iname",
    "-ipath",
    "-maxdepth",
    "-mindepth",
    "-mmin",
    "-mtime",
    "-name",
    "-path",
    "-size",
    "-type",
];
const FIND_PLAIN: &[&str] = &["-a", "-empty", "-not", "-o", "-print", "-print0", "-prune"];

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

/// Returns the paths that a simple command reads, each with the access. `None` if it may do more
/// than read, or reads more than its words name. Standard input is not listed.
pub fn paths_read(words: &[String]) -> Option<Vec<(ReadKind, &str)>> {
    let (name, arguments) = words.split_first()?;
    match name.as_str() {
        // `echo` prints all its words, options too.
        "echo" => Some(Vec::new()),
        "find" => find_reads(arguments),
        name => READERS.iter().find(|reader| reader.name == name)?.reads(arguments),
    }
}

/// True where options may follow operands: GNU programs allow it, others take them for files.
const OPTIONS_ANYWHERE: bool = cfg!(target_os = "linux");

impl Reader {
    fn reads<'w>(&self, arguments: &'w [String]) -> Option<Vec<(ReadKind, &'w str)>> {
        let mut operands: Vec<&str> = Vec::new();
        let mut pattern_given = false;
        let mut rest = arguments.iter().map(String::as_str);
        while let Some(argument) = rest.next() {
            if argument == "--" {
                operands.extend(rest.by_ref());
            } else if argument.len() < 2 || !argument.starts_with('-') {
                operands.push(argument);
            } else if !OPTIONS_ANYWHERE && !operands.is_empty() {
                return None;
            } else if let Some(long) = argument.strip_prefix("--") {
                if !self.long.contains(&long) {
                    return None;
                }
            } else {
                for (at, letter) in argument.char_indices().skip(1) {
                    if self.valued.contains(letter) {
                        pattern_given |= letter == 'e';
                        if at + 1 == argument.len() {
                            rest.next()?;
                        }
                        break;
                    }
                    if !self.flags.contains(letter) {
                        return None;
                    }
                }
            }
        }
        let files = |operands: &[&'w str]| {
            let files = operands.iter().filter(|file| **file != "-");
            Some(files.map(|file| (ReadKind::Contents, *file)).collect())
        };
        match self.operands {
            Operands::None if !operands.is_empty() => None,
            Operands::OneFile if operands.len() > 1 => None,
            Operands::Format if operands.iter().any(|operand| !operand.starts_with('+')) => None,
            Operands::None | Operands::Text | Operands::Format => Some(Vec::new()),
            Operands::Files | Operands::OneFile => files(&operands),
            Operands::PatternThenFiles if pattern_given => files(&operands),
            Operands::PatternThenFiles => files(operands.get(1..).unwrap_or_default()),
            Operands::Places => {
                Some(operands.into_iter().map(|place| (ReadKind::Names, place)).collect())
            }
        }
    }
}

/// Returns the paths that `find` reads: folders come first, then tests.
fn find_reads(arguments: &[String]) -> Option<Vec<(ReadKind, &str)>> {
    let tests = arguments.iter().position(|word| word.starts_with('-')).unwrap_or(arguments.len());
    let (folders, tests) = arguments.split_at(tests);
    let mut tests = tests.iter().map(String::as_str);
    while let Some(test) = tests.next() {
        if FIND_VALUED.contains(&test) {
            tests.next()?;
        } else if !FIND_PLAIN.contains(&test) {
            return None;
        }
    }
    Some(folders.iter().map(|folder| (ReadKind::Names, folder.as_str())).collect())
}

/// Returns true if the parser understands the script and every command in it only prints.
pub fn is_read_only(script: &str) -> bool {
    parse(script).is_ok_and(|commands| commands.iter().all(only_prints))
}

fn only_prints(words: &CommandWords) -> bool {
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
    fn a_script_that_only_prints_is_read_only() {
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
    fn a_script_that_may_write_or_is_not_understood_is_not() {
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

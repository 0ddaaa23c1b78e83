//! Programs that do nothing but read and print, and the arguments with which they do no more.
//!
//! An argument that is not listed here is not harmless: options that write, run or follow links
//! are many, and new versions bring new ones. So these are lists of what is allowed, never of what
//! is not.

/// What an operand is.
#[derive(Clone, Copy)]
enum Operands {
    None,
    /// Words that name no file.
    Text,
    /// Each a file to read.
    Paths,
    /// One file at most: a second one would be written.
    OnePath,
    /// A pattern, then files.
    PatternThenPaths,
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

/// Left out on purpose: whatever reads folders into their depth with the contents of files (they
/// may hold secrets; the agent has a tool of its own for it), follows links, pages, or has an option
/// that is a small language (`sed`, `awk`, `jq`, `test`, `printf`). And every version of Git: it
/// runs what the repository configures.
const READERS: &[Reader] = &[
    reader("basename", "", "", &[], Operands::Text),
    reader("cat", "AbeEnstTv", "", &["number"], Operands::Paths),
    reader("cmp", "bls", "n", &[], Operands::Paths),
    reader("cut", "s", "bcdf", &[], Operands::Paths),
    reader("date", "uRI", "", &["utc"], Operands::Format),
    reader("diff", "abBiquwy", "U", &["brief", "unified"], Operands::Paths),
    reader("dirname", "", "", &[], Operands::Text),
    reader("du", "abchksm", "d", &["human-readable", "summarize"], Operands::Paths),
    reader("egrep", "EFGchHilLnoqsvwx", "ABCem", &[], Operands::PatternThenPaths),
    reader("false", "", "", &[], Operands::None),
    reader("fgrep", "EFGchHilLnoqsvwx", "ABCem", &[], Operands::PatternThenPaths),
    reader("grep", "EFGPchHilLnoqsvwx", "ABCem", &["count"], Operands::PatternThenPaths),
    reader("head", "qv0123456789", "nc", &[], Operands::Paths),
    reader(
        "ls",
        "1aAbBcCdfFghGiklmnNopqQrRsStuUvxXZ",
        "IwT",
        &["all", "almost-all"],
        Operands::Paths,
    ),
    reader("nl", "", "bhfnw", &[], Operands::Paths),
    reader("pwd", "LP", "", &[], Operands::None),
    reader(
        "sort",
        "bcCdfghiMnrRsuVz",
        "kt",
        &["numeric-sort", "reverse", "unique"],
        Operands::Paths,
    ),
    reader("stat", "Lt", "c", &["terse"], Operands::Paths),
    reader("tail", "qv0123456789", "nc", &[], Operands::Paths),
    reader("tr", "cCdst", "", &[], Operands::Text),
    reader("true", "", "", &[], Operands::None),
    reader("uname", "asnrvmpio", "", &[], Operands::None),
    reader("uniq", "cdDiuz", "fsw", &[], Operands::OnePath),
    reader("wc", "cmlLw", "", &["bytes", "chars", "lines", "words"], Operands::Paths),
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

/// Whether a simple command does nothing but read, and only files that may be read.
pub fn only_reads(words: &[String], may_read: impl Fn(&str) -> bool) -> bool {
    let Some((name, arguments)) = words.split_first() else { return false };
    match name.as_str() {
        // All its words are printed, options too.
        "echo" => true,
        "find" => find_reads(arguments, may_read),
        name => {
            READERS.iter().any(|reader| reader.name == name && reader.reads(arguments, &may_read))
        }
    }
}

impl Reader {
    fn reads(&self, arguments: &[String], may_read: impl Fn(&str) -> bool) -> bool {
        let mut operands: Vec<&str> = Vec::new();
        let mut pattern_given = false;
        let mut rest = arguments.iter().map(String::as_str);
        while let Some(argument) = rest.next() {
            if argument == "--" {
                operands.extend(rest.by_ref());
            } else if let Some(long) = argument.strip_prefix("--") {
                if !self.long.contains(&long) {
                    return false;
                }
            } else if argument.len() > 1 && argument.starts_with('-') {
                for (at, letter) in argument.char_indices().skip(1) {
                    if self.valued.contains(letter) {
                        pattern_given |= letter == 'e';
                        let value_follows = at + 1 == argument.len();
                        if value_follows && rest.next().is_none() {
                            return false;
                        }
                        break;
                    }
                    if !self.flags.contains(letter) {
                        return false;
                    }
                }
            } else {
                operands.push(argument);
            }
        }
        match self.operands {
            Operands::None => operands.is_empty(),
            Operands::Text => true,
            Operands::Paths => operands.into_iter().all(may_read),
            Operands::OnePath => operands.len() < 2 && operands.into_iter().all(may_read),
            Operands::PatternThenPaths => {
                let paths = if pattern_given {
                    &operands[..]
                } else {
                    operands.get(1..).unwrap_or_default()
                };
                paths.iter().copied().all(may_read)
            }
            Operands::Format => operands.iter().all(|operand| operand.starts_with('+')),
        }
    }
}

/// `find` begins with folders; what follows are tests.
fn find_reads(arguments: &[String], may_read: impl Fn(&str) -> bool) -> bool {
    let tests = arguments.iter().position(|word| word.starts_with('-')).unwrap_or(arguments.len());
    let (folders, tests) = arguments.split_at(tests);
    let mut tests = tests.iter().map(String::as_str);
    while let Some(test) = tests.next() {
        let known =
            FIND_PLAIN.contains(&test) || (FIND_VALUED.contains(&test) && tests.next().is_some());
        if !known {
            return false;
        }
    }
    folders.iter().all(|folder| may_read(folder))
}

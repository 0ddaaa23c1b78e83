//! Deny rules of the user's settings: a command with the words of a rule in their order is denied.
//!
//! Each command that the parser understands is judged alone. A script that the parser does not
//! understand, or that runs a shell, is judged as one list of words. A program with aliases needs an
//! approval for each subcommand outside of [`PLAIN`]. All of this may deny too much, but never too
//! little. A deny rule is no sandbox: a program can be reached in ways that no words show.

use super::{CommandWords, Rule, loose::loose_words, parse};

/// Answer of the rules of `deny` about a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Denial<'a> {
    None,
    Denied(&'a Rule),
    /// The script may run what the rule names, so it needs an approval.
    Undecided(&'a Rule),
}

/// Most options that are looked at before a subcommand.
const MOST_OPTIONS: usize = 16;

/// Answer of one rule, the stricter one last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Decision {
    No,
    Unknown,
    Yes,
}

/// Subcommands that call no other subcommand, by programs whose settings can define aliases. An alias
/// cannot replace them.
const PLAIN: &[(&str, &str)] = &[
    (
        "git",
        "add am apply blame branch cat-file check-attr check-ignore checkout cherry cherry-pick clean \
         commit count-objects describe diff diff-files diff-index diff-tree for-each-ref \
         format-patch fsck gc help log ls-files ls-tree merge merge-base mv name-rev notes \
         range-diff reflog reset restore rev-list rev-parse revert rm shortlog show show-branch \
         show-ref sparse-checkout stash status switch symbolic-ref tag verify-commit version",
    ),
    (
        "cargo",
        "add bench build check clean clippy doc fetch fix fmt generate-lockfile help info init \
         install metadata new nextest package remove run rustc rustdoc search test tree update \
         vendor version",
    ),
    (
        "docker podman",
        "attach build commit cp create diff events exec export history images info inspect kill load \
         logs pause port ps pull rename restart rm rmi run save search start stats stop tag top \
         unpause version wait",
    ),
    (
        "kubectl oc",
        "annotate api-resources api-versions apply attach auth autoscale cluster-info cordon cp \
         create delete describe diff drain edit events exec explain expose get label logs patch \
         port-forward proxy replace rollout run scale set taint top uncordon version wait",
    ),
    ("gh", "auth browse cache gist issue label pr project release repo run search status workflow"),
    (
        "npm",
        "audit ci exec explain fund help init install list ls outdated pack prune rebuild restart run \
         start stop test uninstall update version view",
    ),
];

/// Words that do the same, alone or as a part of their work.
const SAME: &[&str] = &[
    "add stage",
    "annotate blame pickaxe",
    "b build",
    "c check",
    "d doc",
    "exec x",
    "fetch fetch-pack http-fetch remote-ext remote-fd remote-ftp remote-ftps remote-http remote-https",
    "http-push push remote-ext remote-fd remote-ftp remote-ftps remote-http remote-https send-pack",
    "i in install",
    "init init-db",
    "log whatchanged",
    "r remove rm rmi un uninstall unlink",
    "r run run-script urn",
    "rb rebuild",
    "t test tst",
    "up update upgrade",
];

/// Decides which of the rules forbids a script: the first that denies it, else the first in doubt.
pub(super) fn denial<'a>(script: &str, rules: &'a [Rule]) -> Denial<'a> {
    if rules.is_empty() {
        return Denial::None;
    }
    let (lines, runs_unknown) = lines(script);
    let least = if runs_unknown { Decision::Unknown } else { Decision::No };
    let decide = |rule: &Rule| {
        let loose = rule.words.iter().flat_map(|word| loose_words(word)).collect();
        let [exact, loose] = [rule.words.clone(), loose].map(by_git_itself);
        let decide = |line: &Line| line.decide(if line.anywhere { &loose } else { &exact });
        lines.iter().map(decide).max().unwrap_or(least).max(least)
    };
    let mut undecided = Denial::None;
    for rule in rules {
        match decide(rule) {
            Decision::Yes => return Denial::Denied(rule),
            Decision::Unknown if undecided == Denial::None => undecided = Denial::Undecided(rule),
            Decision::Unknown | Decision::No => {}
        }
    }
    undecided
}

/// Words in which rules are searched.
struct Line {
    words: CommandWords,
    /// Any word may be a program; else only the first.
    anywhere: bool,
}

/// Returns the lines of a script, and true if it runs a script that is not among its words.
fn lines(script: &str) -> (Vec<Line>, bool) {
    let whole = |words: CommandWords| Line { words: by_git_itself(words), anywhere: true };
    let Ok(commands) = parse(script) else { return (vec![whole(loose_words(script))], false) };
    if commands.iter().any(|words| shell_in(words).is_some()) {
        // A shell may run what another command of the script prints.
        let runs_unknown = commands.iter().any(|words| runs_unknown(words));
        return (vec![whole(loose_words(script))], runs_unknown);
    }
    let line = |words: CommandWords| match hands_on(&words[0]) {
        true => whole(words.iter().flat_map(|word| loose_words(word)).collect()),
        false => Line { words: by_git_itself(words), anywhere: false },
    };
    (commands.into_iter().map(line).collect(), false)
}

/// Replaces programs like `git-push` by `git push`.
fn by_git_itself(words: CommandWords) -> CommandWords {
    let split = |word: String| -> CommandWords {
        let last = word.rsplit('/').next().unwrap_or(&word);
        match last.split_at_checked(4) {
            Some((git, command)) if git.eq_ignore_ascii_case("git-") => {
                vec!["git".to_owned(), command.trim_end_matches(".exe").to_owned()]
            }
            Some(_) | None => vec![word],
        }
    };
    words.into_iter().flat_map(split).collect()
}

impl Line {
    fn decide(&self, rule: &[String]) -> Decision {
        let Some((name, wanted)) = rule.split_first() else { return Decision::No };
        let end = if self.anywhere { self.words.len() } else { 1 };
        let programs: Vec<usize> =
            (0..end).filter(|at| same_program(&self.words[*at], name)).collect();
        let Some(first) = programs.first() else { return Decision::No };
        // All that follows a later program follows the first one too.
        let arguments = &self.words[first + 1..];
        let decision = in_order(wanted, arguments);
        if decision != Decision::No {
            return decision;
        }
        // Further words come from the input, or a variable defines what git runs.
        let is_open = |word: &String| same_program(word, "xargs") || word.starts_with("GIT_");
        let is_open = self.anywhere && self.words.iter().any(is_open);
        let known =
            PLAIN.iter().find(|(names, _)| names.split(' ').any(|it| same_program(name, it)));
        let is_known = known.is_none_or(|(_, commands)| {
            programs.iter().all(|at| is_plain(commands, wanted, &self.words[at + 1..]))
        });
        let loose =
            || -> CommandWords { arguments.iter().flat_map(|it| loose_words(it)).collect() };
        match is_known && !is_open {
            true => Decision::No,
            false => in_order(wanted, &loose()).max(Decision::Unknown),
        }
    }
}

/// Returns true if the arguments begin with one of these subcommands or that of the rule, or print the
/// version.
fn is_plain(commands: &str, wanted: &[String], arguments: &[String]) -> bool {
    let mut rest = arguments.iter().map(String::as_str);
    for _ in 0..MOST_OPTIONS {
        match rest.next() {
            Some("-C") => drop(rest.next()),
            Some("-P" | "--no-pager") => {}
            Some("--help" | "--version") => return true,
            Some(subcommand) => {
                let is_known = commands.split(' ').any(|known| known == subcommand);
                return is_known || wanted.first().is_some_and(|named| named == subcommand);
            }
            None => return false,
        }
    }
    false
}

/// Searches the operands of a rule in their order, and its options anywhere. Other options may be
/// other forms of a missing one.
fn in_order(wanted: &[String], words: &[String]) -> Decision {
    let (options, operands): (Vec<&String>, Vec<&String>) =
        wanted.iter().partition(|word| word.starts_with('-') && word.len() > 1);
    let mut rest = words.iter();
    if !operands.iter().all(|operand| rest.any(|word| means(word, operand))) {
        return Decision::No;
    }
    if options.iter().all(|option| has_option(words, option)) {
        return Decision::Yes;
    }
    match words.iter().any(|word| word.starts_with('-')) {
        true => Decision::Unknown,
        false => Decision::No,
    }
}

/// Returns true for a word, another name of it, or its beginning, which some programs accept.
fn means(word: &str, wanted: &str) -> bool {
    let has = |names: &str, word: &str| names.split(' ').any(|name| name == word);
    let is_same = |names: &&str| has(names, word) && has(names, wanted);
    word == wanted || (word.len() > 2 && wanted.starts_with(word)) || SAME.iter().any(is_same)
}

/// Returns true if an option is among the arguments: verbatim, with a value, as a prefix of a long
/// option, with its letters in groups of short ones, or as the refspecs `+main` and `:main`.
fn has_option(arguments: &[String], option: &str) -> bool {
    let refspec = match option {
        "--force" | "-f" => Some('+'),
        "--delete" | "-d" => Some(':'),
        _ => None,
    };
    if refspec.is_some_and(|sign| arguments.iter().any(|word| word.starts_with(sign))) {
        return true;
    }
    let name = |word: &'_ String| word.split('=').next().unwrap_or(word).to_owned();
    if arguments.iter().any(|word| word == option || name(word) == option) {
        return true;
    }
    if option.starts_with("--") {
        let begins = |word: &String| name(word).len() > 2 && option.starts_with(&name(word));
        return arguments.iter().any(begins);
    }
    let short = |word: &&String| word.starts_with('-') && !word.starts_with("--");
    let grouped = |letter: char| arguments.iter().filter(short).any(|word| word.contains(letter));
    option.chars().skip(1).all(grouped)
}

/// Returns the index of a shell that a command runs: its program, or one that its program runs.
fn shell_in(words: &[String]) -> Option<usize> {
    if is_shell(&words[0]) {
        return Some(0);
    }
    // `find .` runs no shell.
    let is_inner = |word: &String| word != "." && is_shell(word);
    words.iter().position(is_inner).filter(|_| hands_on(&words[0]))
}

/// Returns true if a command runs a script that is not among its words, or is not understood. The
/// content of a script file is not judged.
fn runs_unknown(words: &[String]) -> bool {
    let Some(at) = shell_in(words) else { return false };
    let (program, arguments) = (&words[at], &words[at + 1..]);
    let is = |names: &[&str]| names.iter().any(|name| same_program(program, name));
    let operand = arguments.iter().position(|word| !word.starts_with('-'));
    let Some(operand) = operand.filter(|_| !is(&["cmd", "powershell", "pwsh", "wsl"])) else {
        return true;
    };
    if is(&["busybox", "xargs"]) {
        return arguments.iter().any(|word| is_shell(word) || hands_on(word));
    }
    let is_text = |word: &String| !word.starts_with("--") && word.contains('c');
    if !arguments[..operand].iter().any(is_text) {
        return false;
    }
    let nested = parse(&arguments[operand]);
    nested.map_or(true, |commands| commands.iter().any(|words| runs_unknown(words)))
}

pub(super) fn is_shell(program: &str) -> bool {
    const SHELLS: &str = ". ash bash busybox cmd dash eval fish ksh mksh powershell pwsh rbash sh source \
        wsl xargs yash zsh";
    SHELLS.split_whitespace().any(|shell| same_program(program, shell))
}

/// Returns true for programs that run their words, as a command or as a program in their own language.
fn hands_on(program: &str) -> bool {
    const RUNNERS: &str = "awk builtin chroot chrt command coproc deno doas entr env exec expect fakeroot \
        find firejail flock gawk ionice lua mawk nice node nohup nsenter npx parallel \
        perl php pkexec pnpx prlimit proot python ruby runuser script sed setarch \
        setpriv setsid ssh stdbuf strace su sudo systemd-run taskset tclsh time timeout \
        toybox trap unbuffer unshare watch";
    // `python3.12` and the like.
    let unnumbered = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    RUNNERS.split_whitespace().any(|runner| same_program(unnumbered, runner))
}

/// Returns true if a word names the program. Letter cases are ignored, as some file systems do, and so
/// is the extension of the name: WSL starts programs of Windows.
pub(super) fn same_program(word: &str, name: &str) -> bool {
    let last = word.rsplit('/').next().unwrap_or(word);
    let is_it = |word: &str| word.eq_ignore_ascii_case(name);
    let bare = last.len().checked_sub(4).and_then(|at| last.split_at_checked(at));
    let ends = |end: &str| PROGRAM_ENDS.iter().any(|known| known.eq_ignore_ascii_case(end));
    is_it(word) || is_it(last) || bare.is_some_and(|(bare, end)| is_it(bare) && ends(end))
}

const PROGRAM_ENDS: &[&str] = &[".bat", ".cmd", ".com", ".exe"];

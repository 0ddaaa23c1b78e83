//! Fuzz target of the command policy: the parser of scripts, and the decision about them.

use std::{collections::BTreeSet, path::PathBuf, sync::OnceLock, time::Duration};

use cairn_core::policy::{
    Access, Verdict,
    command::{CommandContext, CommandRules, CommandWords, LONGEST, Rule, entered, parse},
    judge,
    sandbox::Needs,
};
use rustix::time::{ClockId, clock_gettime};

use crate::by_bash;

/// To judge one script; more in a build that is not optimised.
const SLOWEST: Duration = Duration::from_millis(if cfg!(feature = "fuzz") { 50 } else { 500 });

const DENIED: [&str; 5] = ["rm", "git push", "sudo", "'a b' c", "make x=1"];

/// Programs that the policy may know as readers. One more is an argument to be made here, too.
const READERS: &[&str] = &[
    "basename", "cat", "cmp", "cut", "date", "diff", "dirname", "du", "echo", "egrep", "false",
    "fgrep", "find", "grep", "head", "ls", "nl", "pwd", "sort", "stat", "tail", "tr", "true",
    "uname", "uniq", "wc", "which",
];

pub(super) fn run(input: &[u8]) {
    let script = String::from_utf8_lossy(input);
    let script = script.as_ref();
    let before = clock_gettime(ClockId::ThreadCPUTime);
    let parsed = parse(script);
    let verdict = judged(script);
    let after = clock_gettime(ClockId::ThreadCPUTime);
    let took = Duration::try_from(after - before).unwrap_or_default();
    assert!(took < SLOWEST || script.len() > LONGEST, "judging took {took:?}");

    if let Ok(commands) = &parsed {
        check_plain(script);
        for words in commands {
            check_rule(words);
        }
        if let Some(every) = ask_bash() {
            check_bash(script, commands, every);
        }
        let again = commands.iter().map(quoted).collect::<Vec<_>>().join("; ");
        if again.len() <= LONGEST {
            assert_eq!(parse(&again).as_ref(), Ok(commands), "quoted: {again}");
        }
    }
    match verdict {
        Verdict::Allow => {
            let commands = parsed.expect("only what is understood runs unasked");
            let first = usize::from(commands[0][0] == "cd");
            if first == 1 {
                check_entering(script, &commands);
            }
            commands[first..].iter().for_each(check_reader);
        }
        Verdict::Deny { reason } => {
            for (before, after) in
                [("true && ", ""), ("\n", ""), ("", "\n"), ("true; ", ""), ("", " && true")]
            {
                let longer = format!("{before}{script}{after}");
                let verdict = judged(&longer);
                let denied = matches!(verdict, Verdict::Deny { .. });
                assert!(denied, "{script:?}: {reason}, but {longer:?}: {verdict:?}");
            }
        }
        Verdict::Ask { .. } => {}
    }
}

/// By the policy of a user who wants readers unasked, for a workspace whose one secret is `secret`.
fn judged(script: &str) -> Verdict {
    let rules = CommandRules {
        unasked: true,
        deny: DENIED.iter().filter_map(|rule| Rule::parse(rule)).collect(),
        ..CommandRules::default()
    };
    let (command, cwd, needs) = (script.to_owned(), PathBuf::from("/ws"), Needs::NONE);
    let touch = Access::Command { command, cwd, needs };
    let may = |name: &str| !name.contains("secret");
    let context = CommandContext { may_read: &|_, name| may(name), finds: &|_| true, enters: &may };
    judge(&touch, false, &rules, &context)
}

/// Outside of quotes only what means the same to every shell: letters, digits, a few marks, blanks,
/// line ends and `&&`, `||`, `;`, `|`, `2>&1`. Read by other means than the parser's.
fn check_plain(script: &str) {
    let mut quote = None;
    let mut bare = String::new();
    for c in script.chars() {
        assert!(c == '\n' || (' '..='~').contains(&c), "{c:?} in {script:?}");
        match quote {
            None if c == '\'' || c == '"' => {
                quote = Some(c);
                bare.push('q');
            }
            None => bare.push(c),
            Some(end) if c == end => quote = None,
            Some('"') => assert!(!"$`\\!\n".contains(c), "{c:?} in quotes: {script:?}"),
            Some(_) => assert!(c != '\n', "a line end in quotes: {script:?}"),
        }
    }
    assert_eq!(quote, None, "an open quote: {script:?}");
    // Errors to where the output goes are no word's end.
    let joined = [' ', '\n', ';', '|', '&'].iter().fold(format!(" {bare}"), |text, before| {
        text.replace(&format!("{before}2>&1"), &before.to_string())
    });
    let bare = joined.replace("&&", ";").replace("||", ";");
    let plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./- ;|\n".contains(c);
    assert!(bare.chars().all(plain), "{bare:?} in {script:?}");
}

/// A folder is entered by its own name, and nothing of the rest runs where that failed.
fn check_entering(script: &str, commands: &[CommandWords]) {
    let [_, folder] = commands[0].as_slice() else { panic!("{script:?} ran unasked") };
    let step = |step: &str| step != ".." && !step.contains(['~', '$', ' ']);
    let below =
        !folder.is_empty() && !folder.starts_with(['-', '/']) && folder.split('/').all(step);
    assert!(below, "{folder:?} was entered unasked: {script:?}");
    assert_eq!(entered(script).as_ref(), Some(folder));
    assert!(commands.len() > 1 && !folder.contains("secret"), "{script:?} ran unasked");
    // Without quotes there is no doubt what joins the commands: all other joints are gone.
    if !script.contains(['\'', '"']) {
        let joined = script.trim_matches([' ', '\n', ';']);
        let apart = joined.contains(';') || joined.contains("||");
        let lines: Vec<&str> =
            joined.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let goes_on = |line: &&str| line.ends_with("&&") || line.ends_with('|');
        let whole = lines[..lines.len() - 1].iter().all(goes_on);
        assert!(!apart && whole, "{script:?} ran unasked");
    }
}

/// Every how many scripts a real shell is asked; not in tests, which have one of their own.
fn ask_bash() -> Option<u32> {
    static EVERY: OnceLock<Option<u32>> = OnceLock::new();
    let from_env = || std::env::var("CAIRN_FUZZ_BASH").ok()?.parse().ok();
    *EVERY.get_or_init(from_env)
}

/// Compares the parsed commands with those of bash. Only for programs that cannot be there.
fn check_bash(script: &str, commands: &[CommandWords], every: u32) {
    let chosen =
        script.bytes().fold(7_u32, |sum, byte| sum.wrapping_mul(16_777_619) ^ u32::from(byte));
    let none_such = |words: &CommandWords| words[0].starts_with('x') && !words[0].contains('/');
    if (chosen >> 8) % every != 0 || !commands.iter().all(none_such) {
        return;
    }
    let ours: BTreeSet<CommandWords> = commands.iter().cloned().collect();
    let theirs = by_bash(script);
    if script.contains("||") {
        assert!(theirs.is_subset(&ours), "{script:?}: {ours:?} but {theirs:?}");
    } else {
        assert_eq!(theirs, ours, "{script:?}");
    }
}

/// A rule is shown as it can be read again, or not at all as another one.
fn check_rule(words: &CommandWords) {
    let rule = Rule::exactly(words);
    let read = Rule::parse(&rule.to_string());
    assert!(read.as_ref() == Some(&rule), "{words:?} is shown as {rule}, which is {read:?}");
}

fn quoted(words: &CommandWords) -> String {
    let word = |word: &String| format!("'{}'", word.replace('\'', r#"'"'"'"#));
    words.iter().map(word).collect::<Vec<_>>().join(" ")
}

/// Programs known to do more than read, whatever list the policy has.
fn check_reader(words: &CommandWords) {
    let program = words[0].as_str();
    assert!(READERS.contains(&program), "{words:?} ran unasked");
    let (options, operands) = taken_apart(program, &words[1..]);
    let harmful: &[&str] = match program {
        "find" => &["-exec", "-ok", "-delete", "-fprint", "-fls", "-files0", "-follow", "-L"],
        "sort" => &["-o", "--o", "-T", "--t", "--c", "--f", "-S"],
        "date" => &["-s", "--s", "-f", "--f", "-r"],
        "tail" => &["-f", "-F", "--f", "--r", "--p"],
        "grep" | "egrep" | "fgrep" => &["-f", "--f", "-r", "-R", "--r", "--d"],
        "diff" => &["-r", "-l", "--r", "--p", "--l", "--to", "--from"],
        "du" => &["-X", "--e", "--f"],
        "wc" => &["--f"],
        _ => &[],
    };
    let does = options.iter().find(|option| harmful.iter().any(|with| option.starts_with(with)));
    assert_eq!(does, None, "{words:?} ran unasked");
    assert!(program != "uniq" || operands.len() < 2, "{words:?} writes a file");
    let reads = match program {
        "basename" | "date" | "dirname" | "echo" | "tr" | "which" => &[],
        "grep" | "egrep" | "fgrep" if !options.iter().any(|option| option == "-e") => {
            operands.get(1..).unwrap_or_default()
        }
        _ => &operands[..],
    };
    assert!(!reads.iter().any(|file| file.contains("secret")), "{words:?} read a secret");
}

/// Options and operands, as getopt takes words apart: letters alone, until one has the rest as its
/// value.
fn taken_apart<'w>(program: &str, words: &'w [String]) -> (Vec<String>, Vec<&'w str>) {
    let mut words = words.iter().map(String::as_str);
    if program == "find" {
        let words: Vec<&str> = words.collect();
        let first = words.iter().position(|word| word.starts_with('-')).unwrap_or(words.len());
        let (folders, tests) = words.split_at(first);
        return (tests.iter().map(|&test| test.to_owned()).collect(), folders.to_vec());
    }
    let valued = match program {
        "sort" => "kt",
        "grep" | "egrep" | "fgrep" => "ABCem",
        "head" | "tail" => "nc",
        "diff" => "U",
        "du" => "d",
        "cut" => "bcdf",
        "cmp" => "n",
        "nl" => "bhfnw",
        "uniq" => "fsw",
        "ls" => "IwT",
        "stat" => "c",
        _ => "",
    };
    let (mut options, mut operands) = (Vec::new(), Vec::new());
    while let Some(word) = words.next() {
        match word.strip_prefix('-') {
            Some("-") => operands.extend(words.by_ref()),
            Some(long) if long.starts_with('-') => options.push(word.to_owned()),
            Some(letters) if !letters.is_empty() => {
                for (at, letter) in letters.char_indices() {
                    options.push(format!("-{letter}"));
                    if valued.contains(letter) {
                        if at + 1 == letters.len() {
                            words.next();
                        }
                        break;
                    }
                }
            }
            Some(_) | None => operands.push(word),
        }
    }
    (options, operands)
}

//! Command line of git: options before the subcommand, subcommands, and those that run others.
//!
//! Decides for a deny rule which subcommand git would run. An unlisted option or name makes the command
//! undecided, so that a new subcommand or an alias needs an approval.

use std::borrow::Cow;

use super::{
    Doubt,
    subcommands::{Decision, arguments_match, has_option, lists},
};

/// Options before the subcommand without a value.
const FLAGS: &str = "--bare --glob-pathspecs --html-path --icase-pathspecs --info-path \
    --literal-pathspecs --man-path --no-advice --no-lazy-fetch --no-optional-locks \
    --no-pager --no-replace-objects --noglob-pathspecs --paginate -P -p";
/// Options with a value: the next word or, for long ones, the text after `=`.
const VALUED: &str = "--attr-source --git-dir --namespace --shallow-file --super-prefix --work-tree \
    -C";
/// Options that print and exit.
const PRINTING: &str = "--help --version -h -v";

/// Sections and keys of settings that define neither a program nor an alias.
const HARMLESS_SETTINGS: &[&str] = &[
    "advice.",
    "color.",
    "column.",
    "commit.gpgsign",
    "core.abbrev",
    "core.autocrlf",
    "core.filemode",
    "core.ignorecase",
    "core.longpaths",
    "core.quotepath",
    "init.defaultbranch",
    "log.",
    "pull.ff",
    "pull.rebase",
    "rebase.autosquash",
    "rebase.autostash",
    "status.",
    "tag.gpgsign",
    "user.email",
    "user.name",
];

/// Git's own subcommands, which no alias can replace.
const COMMANDS: &str = "add am annotate apply archimport archive bisect blame branch bugreport bundle \
    cat-file check-attr check-ignore check-mailmap check-ref-format checkout \
    checkout-index cherry cherry-pick citool clean clone column commit commit-graph \
    commit-tree config count-objects credential credential-cache credential-store \
    cvsexportcommit cvsimport cvsserver daemon describe diagnose diff diff-files \
    diff-index diff-tree difftool fast-export fast-import fetch fetch-pack \
    filter-branch fmt-merge-msg for-each-ref for-each-repo format-patch fsck \
    fsck-objects gc get-tar-commit-id grep gui hash-object help hook http-backend \
    http-fetch http-push imap-send index-pack init init-db instaweb \
    interpret-trailers log ls-files ls-remote ls-tree mailinfo mailsplit \
    maintenance merge merge-base merge-file merge-index merge-octopus \
    merge-one-file merge-ours merge-recursive merge-resolve merge-subtree \
    merge-tree mergetool mktag mktree multi-pack-index mv name-rev notes p4 \
    pack-objects pack-redundant pack-refs patch-id pickaxe prune prune-packed pull \
    push quiltimport range-diff read-tree rebase receive-pack reflog refs remote \
    remote-ext remote-fd remote-ftp remote-ftps remote-http remote-https repack \
    replace replay request-pull rerere reset restore rev-list rev-parse revert rm \
    send-email send-pack shell shortlog show show-branch show-index show-ref \
    sparse-checkout stage stash status stripspace submodule subtree svn switch \
    symbolic-ref tag unpack-file unpack-objects update-index update-ref \
    update-server-info upload-archive upload-pack var verify-commit verify-pack \
    verify-tag version whatchanged worktree write-tree";

/// Subcommands that do the same as another one, alone or as a part of their work.
const DOES: &[(&str, &[&str])] = &[
    ("annotate", &["blame"]),
    ("fetch-pack", &["fetch"]),
    ("http-fetch", &["fetch"]),
    ("http-push", &["push"]),
    ("init-db", &["init"]),
    ("pickaxe", &["blame"]),
    ("pull", &["fetch"]),
    ("remote-ext", &["fetch", "push"]),
    ("remote-fd", &["fetch", "push"]),
    ("remote-ftp", &["fetch", "push"]),
    ("remote-ftps", &["fetch", "push"]),
    ("remote-http", &["fetch", "push"]),
    ("remote-https", &["fetch", "push"]),
    ("send-pack", &["push"]),
    ("stage", &["add"]),
    ("whatchanged", &["log"]),
];

/// Subcommands that may run other programs, with the words that make them do so. No words: always.
const RUNNING: &[(&str, &[&str])] = &[
    ("archimport", &[]),
    ("archive", &["--exec", "--remote"]),
    ("bisect", &["run"]),
    ("citool", &[]),
    ("clone", &["--config", "--template", "--upload-pack", "-c", "-u"]),
    ("cvsexportcommit", &[]),
    ("cvsimport", &[]),
    ("cvsserver", &[]),
    ("daemon", &[]),
    ("difftool", &["--extcmd", "-x"]),
    ("fetch", &["--upload-pack"]),
    ("fetch-pack", &["--exec", "--upload-pack"]),
    ("filter-branch", &[]),
    ("for-each-repo", &[]),
    ("grep", &["--open-files-in-pager", "-O"]),
    ("gui", &[]),
    ("hook", &[]),
    ("http-backend", &[]),
    ("init", &["--template"]),
    ("instaweb", &[]),
    ("ls-remote", &["--exec", "--upload-pack"]),
    ("merge-index", &[]),
    ("mergetool", &[]),
    ("p4", &[]),
    ("pull", &["--upload-pack"]),
    ("quiltimport", &[]),
    ("rebase", &["--exec", "-x"]),
    ("remote-ext", &[]),
    ("send-email", &[]),
    ("shell", &[]),
    ("submodule", &["foreach"]),
    ("subtree", &[]),
    ("svn", &[]),
];

/// Subcommands that may call other subcommands, with the words that make them do so. No words: always.
const CALLING: &[(&str, &[&str], &[&str])] = &[
    ("clone", &[], &["checkout", "fetch"]),
    ("maintenance", &[], &["fetch", "gc", "pack-refs", "repack"]),
    ("remote", &["--fetch", "-f", "prune", "show", "update"], &["fetch", "ls-remote"]),
    ("submodule", &["add", "update"], &["checkout", "clone", "fetch", "merge", "rebase"]),
    ("worktree", &["add"], &["checkout"]),
];

/// Maximum depth of aliases of aliases.
const DEEPEST: usize = 8;
/// Maximum number of options before the subcommand.
const MOST_OPTIONS: usize = 256;

/// Decides whether git with these words runs the subcommand that a rule names. Both lists begin after
/// `git`. `goes_on`: further, unknown words follow.
pub(super) fn decide(wanted: &[String], words: &[String], goes_on: bool) -> Decision {
    Invocation { wanted, goes_on, aliases: Vec::new(), doubt: None }.decide(words, 0)
}

struct Invocation<'a> {
    wanted: &'a [String],
    goes_on: bool,
    /// Aliases defined with `-c`: name and value.
    aliases: Vec<(String, String)>,
    /// Reason why another setting may decide which programs run.
    doubt: Option<Doubt>,
}

/// Arguments of a subcommand, with the options that refspecs of `push` stand for: `+main` forces, `:main` deletes.
fn with_options_of_refspecs<'a>(command: &str, arguments: &'a [String]) -> Cow<'a, [String]> {
    let options = [('+', ["--force", "-f"]), (':', ["--delete", "-d"])];
    let mut all = Cow::Borrowed(arguments);
    for (sign, options) in options.into_iter().filter(|_| command == "push") {
        if arguments.iter().any(|word| word.starts_with(sign)) {
            all.to_mut().extend(options.map(str::to_owned));
        }
    }
    all
}

impl Invocation<'_> {
    fn decide(&mut self, words: &[String], depth: usize) -> Decision {
        let mut rest = words.iter();
        let mut options = 0;
        let subcommand = loop {
            let Some(word) = rest.next() else { break None };
            if !word.starts_with('-') {
                break Some(word);
            }
            options += 1;
            if options > MOST_OPTIONS {
                return Decision::Unknown(Doubt::TooManyOptions);
            }
            let (name, value) = match word.split_once('=') {
                Some((name, value)) if name.starts_with("--") => (name, Some(value)),
                Some(_) | None => (word.as_str(), None),
            };
            match name {
                "-c" => match rest.next() {
                    Some(setting) => self.setting(setting),
                    None => break None,
                },
                "--config-env" | "--exec-path" => {
                    self.doubt = Some(Doubt::OptionDecides { option: name.to_owned() });
                    if name == "--config-env" && value.is_none() {
                        rest.next();
                    }
                }
                name if lists(FLAGS, name) && value.is_none() => {}
                name if lists(VALUED, name) => {
                    if value.is_none() {
                        rest.next();
                    }
                }
                name if lists(PRINTING, name) => return Decision::No,
                name => {
                    let option = name.to_owned();
                    return Decision::Unknown(Doubt::OptionUnknown { option });
                }
            }
        };
        let Some(subcommand) = subcommand else {
            return match self.goes_on {
                true => Decision::Unknown(Doubt::SubcommandUnknown),
                false => Decision::No,
            };
        };
        let decision = match lists(COMMANDS, subcommand) {
            true => self.own_command(subcommand, rest.as_slice()),
            false => self.alias(subcommand, rest.as_slice(), depth),
        };
        match (decision, self.doubt.take()) {
            (Decision::No, Some(doubt)) => Decision::Unknown(doubt),
            (decision, _) => decision,
        }
    }

    /// `-c name=value`.
    fn setting(&mut self, setting: &str) {
        let (key, value) = setting.split_once('=').unwrap_or((setting, ""));
        let key = key.to_ascii_lowercase();
        let harmless = |known: &&str| match known.strip_suffix('.') {
            Some(section) => key.split('.').next() == Some(section),
            None => key == **known,
        };
        match key.strip_prefix("alias.") {
            Some(name) if !name.contains('.') => {
                self.aliases.push((name.to_owned(), value.to_owned()));
            }
            Some(_) | None if HARMLESS_SETTINGS.iter().any(harmless) => {}
            Some(_) | None => {
                self.doubt = Some(Doubt::OptionDecides { option: format!("-c {key}") })
            }
        }
    }

    fn own_command(&self, command: &str, arguments: &[String]) -> Decision {
        let Some((wanted, wanted_arguments)) = self.wanted.split_first() else {
            return Decision::Yes;
        };
        let does = DOES.iter().find(|(name, _)| *name == command);
        if command == wanted {
            let arguments = with_options_of_refspecs(command, arguments);
            return arguments_match(wanted_arguments, &arguments, self.goes_on);
        }
        if does.is_some_and(|(_, does)| does.contains(&wanted.as_str())) {
            return match wanted_arguments {
                [] => Decision::Yes,
                _ => {
                    let (command, wanted) = (command.to_owned(), wanted.clone());
                    Decision::Unknown(Doubt::SameEffect { command, wanted })
                }
            };
        }
        let calls = CALLING.iter().any(|(name, with, called)| {
            let has = |word: &&str| has_option(arguments, word);
            *name == command
                && called.contains(&wanted.as_str())
                && (with.is_empty() || self.goes_on || with.iter().any(has))
        });
        if calls {
            let (command, wanted) = (command.to_owned(), wanted.clone());
            return Decision::Unknown(Doubt::MayCall { command, wanted });
        }
        let runs = RUNNING.iter().find(|(name, _)| *name == command);
        let by_url = arguments.iter().any(|argument| argument.contains("::"));
        let runs = runs.is_some_and(|(_, with)| {
            with.is_empty() || with.iter().any(|option| has_option(arguments, option))
        });
        match runs || by_url {
            true => Decision::Unknown(Doubt::RunsOthers { command: command.to_owned() }),
            false => Decision::No,
        }
    }

    fn alias(&mut self, name: &str, arguments: &[String], depth: usize) -> Decision {
        let given = self.aliases.iter().rfind(|(alias, _)| alias.eq_ignore_ascii_case(name));
        let Some((_, value)) = given else {
            return Decision::Unknown(Doubt::GitAlias { name: name.to_owned() });
        };
        let words = value.split_whitespace().map(|word| word.replace(['"', '\'', '\\'], ""));
        let words: Vec<String> = words.chain(arguments.iter().cloned()).collect();
        if value.starts_with('!') || depth == DEEPEST {
            return Decision::Unknown(Doubt::AliasRuns { name: name.to_owned() });
        }
        self.decide(&words, depth + 1)
    }
}

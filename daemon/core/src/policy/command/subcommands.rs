//! Subcommands in a command line, found by the option grammar of their program.
//!
//! Used by deny rules. A word that the grammar does not know makes the command undecided: it needs
//! an approval, and is never allowed.

use std::{borrow::Cow, collections::BTreeSet};

use super::{Doubt, forbidden::same_program, git};

/// Answer of a deny rule about a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Decision {
    Yes,
    No,
    /// Undecided, with the reason.
    Unknown(Doubt),
}

/// Command line of a program with subcommands. Lists are words with a blank between them.
struct Grammar {
    programs: &'static [&'static str],
    /// Options before the subcommand without a value.
    flags: &'static str,
    /// Options before the subcommand whose value is the next word, if it is not in the same one.
    valued: &'static str,
    /// Words that may precede a subcommand without changing it: `docker image push`.
    passed_over: &'static str,
    /// Other names of a subcommand, as `other=name`.
    same: &'static str,
    /// True if the program accepts an unambiguous prefix of a subcommand.
    abbreviates: bool,
    /// All subcommands, for programs whose settings can define aliases. Empty: any name is a
    /// subcommand.
    known: &'static str,
}

const GRAMMARS: &[Grammar] = &[
    Grammar {
        programs: &["cargo"],
        flags: "--frozen --help --list --locked --offline --quiet --verbose --version -V -h -q \
            -v -vv",
        valued: "--color --config --explain -C -Z",
        passed_over: "",
        same: "b=build c=check d=doc r=run rm=remove t=test",
        abbreviates: false,
        known: "add b bench build c check clean clippy config d doc fetch fix fmt \
            generate-lockfile git-checkout help info init install locate-project login \
            logout metadata miri new nextest owner package pkgid publish r read-manifest \
            remove report rm run rustc rustdoc search t test tree uninstall update vendor \
            verify-project version yank",
    },
    Grammar {
        programs: &["docker", "podman"],
        flags: "--debug --help --tls --tlsverify --version -D -h -v",
        valued: "--config --connection --context --host --log-level --root --runroot --tlscacert \
            --tlscert --tlskey --url -H -c -l",
        passed_over: "builder buildx container image system",
        same: "remove=rm rmi=rm list=ls ps=ls images=ls",
        abbreviates: false,
        known: "attach build checkpoint commit compose config context cp create df diff events \
            exec export generate history images import info init inspect kill kube list \
            load login logout logs ls machine manifest mount network node pause plugin pod \
            port prune ps pull push rename restart rm rmi run save search secret service \
            stack start stats stop swarm tag top trust unpause unshare update version \
            volume wait",
    },
    Grammar {
        programs: &["kubectl", "oc"],
        flags: "--help --insecure-skip-tls-verify --match-server-version --warnings-as-errors \
            -h",
        valued: "--as --as-group --as-uid --cache-dir --certificate-authority \
            --client-certificate --client-key --cluster --context --kubeconfig --namespace \
            --password --profile --request-timeout --server --tls-server-name --token \
            --user --username --v -n -s -v",
        passed_over: "",
        same: "",
        abbreviates: false,
        known: "annotate api-resources api-versions apply attach auth autoscale certificate \
            cluster-info completion config cordon cp create debug delete describe diff \
            drain edit events exec explain expose get help kustomize label logs options \
            patch plugin port-forward proxy replace rollout run scale set taint top \
            uncordon version wait",
    },
    Grammar {
        programs: &["gh"],
        flags: "--help --version -h",
        valued: "--repo -R",
        passed_over: "",
        same: "cs=codespace rs=ruleset ext=extension at=attestation",
        abbreviates: false,
        known: "api at attestation auth browse cache codespace completion config cs ext \
            extension gist gpg-key help issue label org pr preview project release repo rs \
            ruleset run search secret ssh-key status variable version workflow",
    },
    Grammar {
        programs: &["npm"],
        flags: "--global --help --json --no-audit --no-fund --offline --quiet --silent \
            --verbose --version --workspaces --yes -d -g -h -q -s -v -y",
        valued: "--cache --loglevel --prefix --registry --tag --userconfig --workspace -C -w",
        passed_over: "",
        same: "add=install i=install in=install isntall=install ic=ci clean-install=ci \
            install-clean=ci isntall-clean=ci it=install-test cit=install-ci-test \
            r=uninstall rb=rebuild remove=uninstall rm=uninstall rum=run run-script=run \
            t=test tst=test un=uninstall unlink=uninstall up=update udpate=update \
            upgrade=update urn=run x=exec",
        abbreviates: true,
        known: "",
    },
    Grammar {
        programs: &["bun", "pnpm", "yarn"],
        flags: "--help --recursive --silent --version -h -r -s -w",
        valued: "--config --cwd --dir --filter -C -F",
        passed_over: "exec run run-script",
        same: "i=install rm=remove un=remove uninstall=remove",
        abbreviates: false,
        known: "",
    },
];

/// Programs whose operands are all subcommands of equal rank: `make -k test deploy`.
const WITH_TARGETS: &str = "ant bmake gmake gradle gradlew just make mvn mvnw ninja rake task";

/// Returns true if a list of words, separated by blanks, has this one.
pub(super) fn lists(list: &str, word: &str) -> bool {
    list.split(' ').any(|listed| listed == word)
}

/// Maximum number of words that are examined. A longer command is undecided.
const MOST_WORDS: usize = 1024;

/// Decides whether a command is what a rule names. Both begin with a program. `goes_on`: further words
/// follow that are not known.
pub(super) fn decide(rule: &[String], words: &[String], goes_on: bool) -> Decision {
    let (Some((name, wanted)), Some((program, arguments))) =
        (rule.split_first(), words.split_first())
    else {
        return Decision::No;
    };
    if !same_program(program, name) && git_name(program).is_none() {
        return Decision::No;
    }
    let cut = arguments.len() > MOST_WORDS;
    let arguments = &arguments[..arguments.len().min(MOST_WORDS)];
    let decision = if let (Some(dashed), Some(given)) = (git_name(name), git_name(program)) {
        let joined = |dashed: &str, rest: &[String]| -> Vec<String> {
            [dashed.to_owned()].into_iter().chain(rest.iter().cloned()).collect()
        };
        let wanted = dashed.map_or(Cow::Borrowed(wanted), |name| joined(name, wanted).into());
        let given = given.map_or(Cow::Borrowed(arguments), |name| joined(name, arguments).into());
        git::decide(&wanted, &given, goes_on)
    } else if !same_program(program, name) {
        Decision::No
    } else if wanted.is_empty() {
        Decision::Yes
    } else if WITH_TARGETS.split(' ').any(|with| same_program(program, with)) {
        targets_match(wanted, arguments, goes_on)
    } else {
        let known =
            |grammar: &&Grammar| grammar.programs.iter().any(|it| same_program(program, it));
        match GRAMMARS.iter().find(known) {
            Some(grammar) => grammar.decide(wanted, arguments, goes_on),
            None => arguments_match(wanted, arguments, goes_on),
        }
    };
    match decision {
        Decision::No if cut && same_program(program, name) => {
            Decision::Unknown(Doubt::TooManyWords)
        }
        decision => decision,
    }
}

/// Returns `Some` if the program is git, with the subcommand of a name like `git-push`.
fn git_name(program: &str) -> Option<Option<&str>> {
    let last = program.rsplit('/').next().unwrap_or(program);
    if same_program(program, "git") {
        return Some(None);
    }
    let (git, subcommand) = last.split_at_checked(4)?;
    let subcommand = subcommand.strip_suffix(".exe").unwrap_or(subcommand);
    git.eq_ignore_ascii_case("git-").then_some(Some(subcommand))
}

impl Grammar {
    fn decide(&self, wanted: &[String], arguments: &[String], goes_on: bool) -> Decision {
        let rule: Vec<&String> =
            wanted.iter().skip_while(|word| lists(self.passed_over, word)).collect();
        let Some((subcommand, rest)) = rule.split_first() else {
            // The rule names a group of subcommands.
            return arguments_match(wanted, arguments, goes_on);
        };
        if subcommand.starts_with('-') {
            return arguments_match(wanted, arguments, goes_on);
        }
        let rest: Vec<String> = rest.iter().map(|word| (*word).clone()).collect();
        let (places, doubt) = self.subcommands(arguments);
        let mut unknown = doubt;
        if places.is_empty() && goes_on {
            unknown = Some(Doubt::SubcommandUnknown);
        }
        for place in places {
            let name = &arguments[place];
            if self.is(name, subcommand) {
                match arguments_match(&rest, &arguments[place + 1..], goes_on) {
                    Decision::No => {}
                    Decision::Unknown(why) => unknown = Some(why),
                    Decision::Yes => return Decision::Yes,
                }
            } else if !self.known.is_empty()
                && !lists(self.known, name)
                && !lists(self.passed_over, name)
            {
                unknown = Some(Doubt::OtherAlias { name: name.clone() });
            }
        }
        unknown.map_or(Decision::No, Decision::Unknown)
    }

    /// Returns the indexes at which the subcommand may stand, and the reason if that is uncertain.
    fn subcommands(&self, arguments: &[String]) -> (Vec<usize>, Option<Doubt>) {
        let (mut open, mut places, mut doubt) = (BTreeSet::from([0]), Vec::new(), None);
        while let Some(at) = open.pop_first() {
            let Some(word) = arguments.get(at) else { continue };
            let name = word.split('=').next().unwrap_or(word);
            if !word.starts_with('-') && !word.starts_with('+') {
                places.push(at);
                if lists(self.passed_over, word) {
                    open.insert(at + 1);
                }
            } else if word.contains('=') || word.starts_with('+') || lists(self.flags, name) {
                open.insert(at + 1);
            } else if lists(self.valued, name) {
                open.insert(at + 2);
            } else {
                doubt = Some(Doubt::OptionUnknown { option: name.to_owned() });
                open.extend([at + 1, at + 2]);
            }
        }
        (places, doubt)
    }

    fn is(&self, name: &str, wanted: &str) -> bool {
        let plain = |name: &str| -> String {
            let mut same = self.same.split(' ').filter_map(|pair| pair.split_once('='));
            same.find(|(other, _)| *other == name).map_or(name, |(_, plain)| plain).to_owned()
        };
        let short = self.abbreviates && name.len() > 2 && wanted.starts_with(name);
        plain(name) == plain(wanted) || short
    }
}

/// Decides whether the arguments have all that a rule names: its operands first and in this order,
/// its options anywhere. An option may have a value or not.
pub(super) fn arguments_match(wanted: &[String], arguments: &[String], goes_on: bool) -> Decision {
    let (options, operands): (Vec<&String>, Vec<&String>) =
        wanted.iter().partition(|word| word.starts_with('-') && word.len() > 1);
    let mut places = BTreeSet::from([0]);
    for operand in operands {
        let mut next = BTreeSet::new();
        while let Some(at) = places.pop_first() {
            match arguments.get(at) {
                Some(word) if word == operand => drop(next.insert(at + 1)),
                Some(word) if word.starts_with('-') => places.extend([at + 1, at + 2]),
                None if goes_on => {
                    return Decision::Unknown(Doubt::WordsUnknown);
                }
                Some(_) | None => {}
            }
        }
        places = next;
    }
    if places.is_empty() {
        return Decision::No;
    }
    let missing = options.into_iter().find(|option| !has_option(arguments, option));
    let Some(missing) = missing else { return Decision::Yes };
    // A long option may have a short form and the other way round.
    let other_form = |word: &&String| {
        word.len() > 1
            && word.starts_with('-')
            && word.starts_with("--") != missing.starts_with("--")
    };
    match arguments.iter().find(other_form) {
        Some(other) => {
            let (option, wanted) = (other.clone(), missing.clone());
            Decision::Unknown(Doubt::OtherForm { option, wanted })
        }
        None if goes_on => Decision::Unknown(Doubt::WordsUnknown),
        None => Decision::No,
    }
}

/// Decides whether the targets of a program like `make` include all those of a rule.
fn targets_match(wanted: &[String], arguments: &[String], goes_on: bool) -> Decision {
    let has = |word: &String| match word.starts_with('-') {
        true => has_option(arguments, word),
        false => arguments.contains(word),
    };
    match (wanted.iter().all(has), goes_on) {
        (true, _) => Decision::Yes,
        (false, true) => Decision::Unknown(Doubt::WordsUnknown),
        (false, false) => Decision::No,
    }
}

/// Returns true if an option is among the arguments: verbatim, with a value, as a prefix of a long
/// option, or with its letters in groups of short ones. A word without a dash stands for itself.
pub(super) fn has_option(arguments: &[String], option: &str) -> bool {
    let name = |word: &str| -> String { word.split('=').next().unwrap_or(word).to_owned() };
    let exact = arguments.iter().any(|word| word == option || name(word) == option);
    if exact || !option.starts_with('-') {
        return exact;
    }
    if option.starts_with("--") {
        let begins = |word: &String| {
            let name = name(word);
            name.len() > 2 && name.starts_with("--") && option.starts_with(name.as_str())
        };
        return arguments.iter().any(begins);
    }
    let short = |word: &&String| word.starts_with('-') && !word.starts_with("--");
    let grouped = |letter: char| arguments.iter().filter(short).any(|word| word.contains(letter));
    option.chars().skip(1).all(grouped)
}

//! Decision about a call: allow, ask the user, or deny, by the access that it needs.
//!
//! Never reads what the model says about its call, and never allows by default. A command needs an
//! approval, unless the user lets reading commands run or has a rule for each part of it.

use std::path::PathBuf;

pub mod command;
pub mod control_files;
pub mod git_config;
pub mod home;
mod protected;
pub mod sandbox;
pub mod trust;

use command::{CommandContext, CommandRules, Denial, NoAutoApproval, Rule};
pub use protected::{is_protected, is_secret, protected_roots};
use sandbox::Needs;

use crate::process::ProcessId;

/// Access that a call needs, for the policy and for the question to the user. `aliases` are other
/// names of its files below their workspace folder: links by which they were or can be reached.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Access {
    /// Reads inside the workspace. `path`: exactly this file or folder, with all its names below
    /// its workspace folder.
    Read { path: Option<PathBuf>, names: Vec<PathBuf> },
    /// Changes only the plan, which belongs to Cairn.
    Plan,
    /// Starts a subagent. Each of its calls is judged separately.
    Subagent,
    /// Proposes a change to one file inside the workspace.
    Edit {
        path: PathBuf,
        /// The path below its workspace folder. Names above it say nothing about the file.
        inside: PathBuf,
        aliases: Vec<PathBuf>,
    },
    /// Proposes to delete one file inside the workspace.
    Delete { path: PathBuf, inside: PathBuf, aliases: Vec<PathBuf> },
    /// Proposes to move one file inside the workspace.
    Move {
        from: PathBuf,
        from_inside: PathBuf,
        to: PathBuf,
        to_inside: PathBuf,
        aliases: Vec<PathBuf>,
    },
    /// Runs exactly this command, with these grants.
    Command { command: String, cwd: PathBuf, needs: Needs },
    /// Reads the output of a process of this session, or stops it.
    Process,
    /// Sends this text to a process of this session, which runs a command with these grants.
    Input { process: ProcessId, command: String, text: String, cwd: PathBuf, needs: Needs },
}

/// Effect of an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessKind {
    Read,
    Edit,
    Command,
}

impl Access {
    #[must_use]
    pub fn kind(&self) -> AccessKind {
        match self {
            Access::Read { .. } | Access::Plan | Access::Subagent | Access::Process => {
                AccessKind::Read
            }
            Access::Edit { .. } | Access::Delete { .. } | Access::Move { .. } => AccessKind::Edit,
            Access::Command { .. } | Access::Input { .. } => AccessKind::Command,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Allow,
    /// Only the user can allow it. At least one reason.
    Ask {
        reasons: Vec<AskReason>,
    },
    /// Denied without a question to the user, with the reason for the model.
    Deny {
        reason: String,
    },
}

/// Reason why only the user can allow an access.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AskReason {
    /// The text of a file that may hold secrets would go to the model.
    ReadsSecret,
    /// The changed file may hold secrets.
    HoldsSecrets,
    /// The changed file decides what runs, or what an agent may do.
    Protected,
    /// A deny rule may name the command.
    DenyUndecided {
        rule: Rule,
    },
    /// The command gets more than the usual sandbox.
    Grants(Needs),
    Command(NoAutoApproval),
    /// The text decides what the process does next.
    Types,
}

/// Decides about an access.
///
/// Approvals for the rest of a session are not considered here: they answer the question that this
/// function asks for.
pub fn judge(
    access: &Access,
    plans_only: bool,
    rules: &CommandRules,
    context: &CommandContext<'_>,
) -> Verdict {
    match access {
        Access::Plan | Access::Subagent | Access::Process => Verdict::Allow,
        // In every mode: the text that is read goes to the provider of the model.
        Access::Read { path: _, names } if names.iter().any(|name| is_secret(name)) => {
            ask(AskReason::ReadsSecret)
        }
        Access::Read { .. } => Verdict::Allow,
        Access::Edit { path: _, inside, aliases } | Access::Delete { path: _, inside, aliases } => {
            judge_edit([inside].into_iter().chain(aliases), plans_only)
        }
        Access::Move { from: _, from_inside, to: _, to_inside, aliases } => {
            judge_edit([from_inside, to_inside].into_iter().chain(aliases), plans_only)
        }
        Access::Command { command, cwd: _, needs } => {
            judge_command(command, *needs, plans_only, rules, context)
        }
        Access::Input { .. } if plans_only => {
            deny("Plan mode: nothing is sent to a process. Present the plan instead.")
        }
        // No rule covers a text: it decides what the process does next.
        Access::Input { .. } => ask(AskReason::Types),
    }
}

fn ask(reason: AskReason) -> Verdict {
    Verdict::Ask { reasons: vec![reason] }
}

fn deny(reason: &str) -> Verdict {
    Verdict::Deny { reason: reason.to_owned() }
}

fn judge_edit<'a>(mut names: impl Iterator<Item = &'a PathBuf>, plans_only: bool) -> Verdict {
    if plans_only {
        return deny("Plan mode: no file may be changed. Present the plan instead.");
    }
    // A change shows the old text, and a move copies the text to another file.
    let reason = names.find_map(|name| match (is_protected(name), is_secret(name)) {
        (true, _) => Some(AskReason::Protected),
        (false, true) => Some(AskReason::HoldsSecrets),
        (false, false) => None,
    });
    reason.map_or(Verdict::Allow, ask)
}

fn judge_command(
    command: &str,
    needs: Needs,
    plans_only: bool,
    rules: &CommandRules,
    context: &CommandContext<'_>,
) -> Verdict {
    if let Some(reason) = destroys(command) {
        return Verdict::Deny { reason };
    }
    let undecided = match rules.denial(command) {
        Denial::None => None,
        Denial::Denied(rule) => {
            let words = format!("Refused: the user's settings forbid `{rule}` (cairn.shell.deny).");
            return deny(&words);
        }
        Denial::Undecided(rule) => Some(AskReason::DenyUndecided { rule: rule.clone() }),
    };
    if plans_only {
        return deny("Plan mode: no command may run. Present the plan instead.");
    }
    // No rule covers more than the default sandbox gives.
    let granted = (!needs.is_none()).then_some(AskReason::Grants(needs));
    let reasons: Vec<AskReason> = undecided.into_iter().chain(granted).collect();
    if !reasons.is_empty() {
        return Verdict::Ask { reasons };
    }
    let why = rules.needs_approval(command, context);
    why.map_or(Verdict::Allow, |why| ask(AskReason::Command(why)))
}

/// Finds commands that are never intended: removing the root or the home folder, overwriting a
/// disk, a fork bomb. An aid for the approving user and no sandbox: it can be circumvented.
fn destroys(command: &str) -> Option<String> {
    let squeezed = || command.split_whitespace().collect::<String>();
    if command.contains('{') && squeezed().contains(":(){:|:&};:") {
        return Some("Refused: this is a fork bomb.".to_owned());
    }
    // Braces stay in the words, because of `${HOME}`.
    let commands = command::loose_commands(command, "\n;&|()`");
    commands.into_iter().find_map(|words| {
        let bare: Vec<String> = words.iter().map(|word| word.replace('\\', "")).collect();
        destroys_simple(&bare)
    })
}

fn destroys_simple(words: &[String]) -> Option<String> {
    let is = |word: &str, name: &str| {
        word.strip_suffix(name).is_some_and(|before| before.is_empty() || before.ends_with('/'))
    };
    if let Some(at) = words.iter().position(|word| is(word, "rm")) {
        let (flags, targets): (Vec<&str>, Vec<&str>) =
            words[at + 1..].iter().map(String::as_str).partition(|word| word.starts_with('-'));
        let recursive = flags.iter().any(|flag| {
            *flag == "--recursive" || (!flag.starts_with("--") && flag.contains(['r', 'R']))
        });
        if let Some(target) = targets.iter().find(|target| recursive && is_precious(target)) {
            return Some(format!("Refused: this removes all of `{target}`."));
        }
    }
    let formats = words.iter().any(|word| {
        word.rsplit('/').next().is_some_and(|name| name == "mkfs" || name.starts_with("mkfs."))
    });
    let writes_disk = words.iter().any(|word| is(word, "dd"))
        && words.iter().any(|word| {
            ["of=/dev/sd", "of=/dev/nvme", "of=/dev/vd", "of=/dev/disk"]
                .iter()
                .any(|disk| word.starts_with(disk))
        });
    (formats || writes_disk).then(|| "Refused: this overwrites a disk.".to_owned())
}

/// Returns true for the root, a home folder, or all entries of one.
fn is_precious(target: &str) -> bool {
    let bare = target.trim_end_matches(['/', '*', '.']);
    let system = [
        "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/opt", "/proc", "/root", "/sbin",
        "/sys", "/usr", "/var", "/Users", "/System", "/Library",
    ];
    let homes = ["~", "$HOME", "${HOME}"];
    (bare.is_empty() && target.starts_with('/')) || homes.contains(&bare) || system.contains(&bare)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// May read everything, and finds every program.
    const WORLD: CommandContext<'_> =
        CommandContext { may_read: &|_, _| true, finds: &|_| true, enters: &|_| true };

    fn judged(access: &Access, plans_only: bool) -> &'static str {
        match judge(access, plans_only, &CommandRules::default(), &WORLD) {
            Verdict::Allow => "allow",
            Verdict::Ask { .. } => "ask",
            Verdict::Deny { .. } => "deny",
        }
    }

    fn edit(inside: &str) -> Access {
        edit_by(inside, &[])
    }

    fn edit_by(inside: &str, aliases: &[&str]) -> Access {
        Access::Edit {
            path: Path::new("/home/me/.cargo/ws").join(inside),
            inside: inside.into(),
            aliases: aliases.iter().map(PathBuf::from).collect(),
        }
    }

    fn read(names: &[&str]) -> Access {
        let names: Vec<PathBuf> = names.iter().map(PathBuf::from).collect();
        Access::Read {
            path: names.first().map(|name| Path::new("/home/me/.ssh/ws").join(name)),
            names,
        }
    }

    fn command(command: &str) -> Access {
        Access::Command { command: command.into(), cwd: "/ws".into(), needs: Needs::NONE }
    }

    #[test]
    fn each_mode_decides_each_access() {
        let source_read = read(&["a"]);
        let source = edit("a.rs");
        let protected = edit(".vscode/tasks.json");
        let run = command("ls");
        let secret = read(&[".env"]);
        for (mode, expected) in [
            (false, ["allow", "allow", "ask", "ask", "ask"]),
            (true, ["allow", "deny", "deny", "deny", "ask"]),
        ] {
            let got = [&source_read, &source, &protected, &run, &secret]
                .map(|access| judged(access, mode));
            assert_eq!(got, expected, "{mode:?}");
        }
    }

    #[test]
    fn a_command_with_needs_requires_approval_despite_rules() {
        let rules = CommandRules { unasked: true, ..CommandRules::default() };
        for (network, git) in [(true, false), (false, true), (true, true)] {
            let needs = Needs { network, git };
            let access = Access::Command { command: "ls".into(), cwd: "/ws".into(), needs };
            let verdict = judge(&access, false, &rules, &WORLD);
            assert_eq!(verdict, Verdict::Ask { reasons: vec![AskReason::Grants(needs)] });
        }
        let access = command("ls");
        assert_eq!(judge(&access, false, &rules, &WORLD), Verdict::Allow);
        let verdict = judge(&access, false, &rules.asking(), &WORLD);
        assert!(matches!(verdict, Verdict::Ask { .. }), "without a sandbox");
    }

    #[test]
    fn deletions_and_moves_are_judged_as_edits_of_every_path() {
        let delete = |inside: &str| Access::Delete {
            path: "/ws".into(),
            inside: inside.into(),
            aliases: Vec::new(),
        };
        let relocate = |from: &str, to: &str| Access::Move {
            from: "/ws".into(),
            from_inside: from.into(),
            to: "/ws".into(),
            to_inside: to.into(),
            aliases: Vec::new(),
        };
        for (access, expected) in [
            (delete("a.rs"), ["allow", "deny"]),
            (delete(".env"), ["ask", "deny"]),
            (relocate("a.rs", "b.rs"), ["allow", "deny"]),
            (relocate("a.rs", ".envrc"), ["ask", "deny"]),
            (relocate("package.json", "b.json"), ["ask", "deny"]),
            // A secret file under another name would be read without approval.
            (relocate("server.pem", "a.txt"), ["ask", "deny"]),
            (relocate("a.txt", ".aws/config"), ["ask", "deny"]),
            (delete("keys/id_rsa"), ["ask", "deny"]),
            (edit("credentials.json"), ["ask", "deny"]),
        ] {
            let got = [false, true].map(|mode| judged(&access, mode));
            assert_eq!(got, expected, "{access:?}");
        }
    }

    #[test]
    fn a_file_is_judged_by_every_name_it_has() {
        for (access, expected) in [
            (edit_by("config/tasks.json", &[]), "allow"),
            (edit_by("config/tasks.json", &[".vscode/tasks.json"]), "ask"),
            (read(&["notes"]), "allow"),
            (read(&["notes", ".env"]), "ask"),
            (read(&[]), "allow"),
        ] {
            assert_eq!(judged(&access, false), expected, "{access:?}");
        }
    }

    #[test]
    fn some_commands_are_denied_in_any_mode() {
        for line in [
            "rm -rf /",
            "rm -rf ~ .",
            "rm -fr '/'",
            "rm -r -f /*",
            "sudo rm -rf --no-preserve-root /",
            "ls && /bin/rm -R $HOME/",
            "echo $(rm -rf ~/*)",
            "env X=1 rm --recursive /etc",
            "true; r\\m -rf \"${HOME}\"",
            "rm -rf ${X%/} /",
            "rm -rf \\\n  /",
            "# note\\\nr\\\nm -rf /",
            "mkfs.ext4 /dev/sda1",
            "dd if=/dev/zero of=/dev/sda bs=1M",
            ":(){ :|:& };:",
        ] {
            let verdict = judged(&command(line), false);
            assert_eq!(verdict, "deny", "{line}");
        }
        for line in ["rm -rf target", "rm /tmp/x", "rm -rf ./build/*", "ls ~", "echo rm", ""] {
            let verdict = judged(&command(line), false);
            assert_eq!(verdict, "ask", "{line}");
        }
    }
}

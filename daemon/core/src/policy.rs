//! May a call run? Allow, ask the user, or deny, from what it will touch.
//!
//! Never reads what the model says about itself, and never allows by default: a command is asked
//! for unless the user wants those unasked that only read, or has a rule for it.

use std::path::{Component, Path, PathBuf};

pub mod command;
pub mod sandbox;
pub mod seatbelt;

use command::{CommandRules, Unasked};
use sandbox::Needs;

/// What a call will touch, for the policy and for the user's eyes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Touch {
    /// Only reads, inside the workspace.
    Read { path: Option<PathBuf> },
    /// Changes the plan only, which is Cairn's own.
    Plan,
    /// Starts a child. Each of its calls is judged by itself.
    Child,
    /// Proposes a change to one file inside the workspace.
    Edit {
        path: PathBuf,
        /// The same below its workspace folder: names above it say nothing about the file.
        inside: PathBuf,
    },
    /// Proposes to delete one file inside the workspace.
    Delete { path: PathBuf, inside: PathBuf },
    /// Proposes to move one file inside the workspace.
    Move { from: PathBuf, from_inside: PathBuf, to: PathBuf, to_inside: PathBuf },
    /// Runs exactly this command, with what it needs besides the usual.
    Command { command: String, cwd: PathBuf, needs: Needs },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Allow,
    /// Only the user can allow it.
    Ask {
        reason: String,
    },
    /// Not even the user is asked.
    Deny {
        reason: String,
    },
}

/// How proposed edits and effects are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    #[default]
    Review,
    Ask,
    Auto,
    Plan,
}

/// A yes that a user gave for the rest of a session is not looked up here: it is their answer to
/// the question. `may_read`: whether a command may read the file of this name without asking.
pub fn judge(
    touch: &Touch,
    mode: Mode,
    rules: &CommandRules,
    may_read: impl Fn(&str) -> bool,
) -> Verdict {
    match touch {
        Touch::Read { path: _ } | Touch::Plan | Touch::Child => Verdict::Allow,
        Touch::Edit { path: _, inside } | Touch::Delete { path: _, inside } => {
            judge_edit(inside, mode)
        }
        Touch::Move { from: _, from_inside, to: _, to_inside } => {
            match judge_edit(from_inside, mode) {
                Verdict::Allow => judge_edit(to_inside, mode),
                other @ (Verdict::Ask { .. } | Verdict::Deny { .. }) => other,
            }
        }
        Touch::Command { command, cwd: _, needs } => {
            judge_command(command, *needs, mode, rules, may_read)
        }
    }
}

/// True for files that change what runs, or what an agent may do, outside of any review: hooks,
/// editor and agent settings, secrets, build manifests. Compared without regard to letter case, as
/// some file systems do. `path` is relative to its workspace folder.
pub fn is_protected(path: &Path) -> bool {
    let names = path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_string_lossy().to_lowercase()),
        Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => {
            None
        }
    });
    let mut last = String::new();
    for name in names {
        if PROTECTED_ANYWHERE.contains(&name.as_str()) || name.starts_with(".git") {
            return true;
        }
        last = name;
    }
    PROTECTED_FILES.contains(&last.as_str())
        || PROTECTED_PREFIXES.iter().any(|prefix| last.starts_with(prefix))
        || PROTECTED_SUFFIXES.iter().any(|suffix| last.ends_with(suffix))
}

/// True for files that are likely to hold secrets: reading them asks, too.
pub fn is_secret(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase());
    name.is_some_and(|name| {
        [".env", ".netrc", ".npmrc", ".pypirc", "id_", "credentials"]
            .iter()
            .any(|prefix| name.starts_with(prefix))
            || [".key", ".p12", ".pem", ".pfx"].iter().any(|suffix| name.ends_with(suffix))
    })
}

/// Folders whose whole contents are protected, and files whose name alone says it.
const PROTECTED_ANYWHERE: &[&str] = &[
    ".agents",
    ".cairn",
    ".cargo",
    ".claude",
    ".codex",
    ".cursor",
    ".devcontainer",
    ".envrc",
    ".husky",
    ".idea",
    ".mcp.json",
    ".npmrc",
    ".ssh",
    ".vscode",
];
const PROTECTED_FILES: &[&str] = &[
    ".bash_profile",
    ".bashrc",
    ".profile",
    ".zprofile",
    ".zshenv",
    ".zshrc",
    "agents.md",
    "build.rs",
    "cargo.lock",
    "cargo.toml",
    "claude.md",
    "package-lock.json",
    "package.json",
    "pnpm-lock.yaml",
    "pnpm-workspace.yaml",
    "yarn.lock",
];
const PROTECTED_PREFIXES: &[&str] = &[".env", ".pnpmfile.", ".yarnrc"];
const PROTECTED_SUFFIXES: &[&str] =
    &[".code-workspace", ".csproj", ".gradle", ".gradle.kts", ".props", ".targets"];

fn judge_edit(path: &Path, mode: Mode) -> Verdict {
    match mode {
        Mode::Plan => Verdict::Deny {
            reason: "Plan mode: no file may be changed. Present the plan instead.".to_owned(),
        },
        Mode::Review | Mode::Ask | Mode::Auto if is_protected(path) => Verdict::Ask {
            reason: "This file decides what runs or what an agent may do.".to_owned(),
        },
        Mode::Review | Mode::Ask | Mode::Auto => Verdict::Allow,
    }
}

fn judge_command(
    command: &str,
    needs: Needs,
    mode: Mode,
    rules: &CommandRules,
    may_read: impl Fn(&str) -> bool,
) -> Verdict {
    if let Some(reason) = destroys(command) {
        return Verdict::Deny { reason };
    }
    if let Some(rule) = rules.forbids(command) {
        return Verdict::Deny {
            reason: format!("Refused: the user's settings forbid `{rule}` (cairn.shell.deny)."),
        };
    }
    match mode {
        Mode::Plan => Verdict::Deny {
            reason: "Plan mode: no command may run. Present the plan instead.".to_owned(),
        },
        // Rules are about commands in the usual box.
        Mode::Review | Mode::Ask | Mode::Auto if !needs.is_none() => {
            Verdict::Ask { reason: format!("The command {}.", needs.in_words()) }
        }
        Mode::Review | Mode::Ask | Mode::Auto => match rules.unasked(command, may_read) {
            Unasked::Yes => Verdict::Allow,
            Unasked::No(why) => Verdict::Ask { reason: why },
        },
    }
}

/// Finds commands no one means: removing the root or the home folder, overwriting a disk, a fork
/// bomb. A net under the user's "yes", not a sandbox: it can be written around.
fn destroys(command: &str) -> Option<String> {
    let squeezed: String = command.split_whitespace().collect();
    if squeezed.contains(":(){:|:&};:") {
        return Some("Refused: this is a fork bomb.".to_owned());
    }
    command
        .split(['\n', ';', '&', '|', '(', ')', '`'])
        .find_map(|simple| destroys_simple(&words(simple)))
}

/// The words of a simple command without quotes and backslashes, as the shell would pass them in
/// the plain cases.
fn words(simple: &str) -> Vec<String> {
    simple
        .split_whitespace()
        .map(|word| word.chars().filter(|c| !matches!(c, '"' | '\'' | '\\')).collect())
        .collect()
}

fn destroys_simple(words: &[String]) -> Option<String> {
    let is = |word: &String, name: &str| word == name || word.ends_with(&format!("/{name}"));
    if let Some(at) = words.iter().position(|word| is(word, "rm")) {
        let (flags, targets): (Vec<&String>, Vec<&String>) =
            words[at + 1..].iter().partition(|word| word.starts_with('-'));
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

/// The root, a home folder, or everything in one.
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
    use super::*;

    fn judged(touch: &Touch, mode: Mode) -> &'static str {
        match judge(touch, mode, &CommandRules::default(), |_| true) {
            Verdict::Allow => "allow",
            Verdict::Ask { .. } => "ask",
            Verdict::Deny { .. } => "deny",
        }
    }

    fn edit(inside: &str) -> Touch {
        Touch::Edit { path: Path::new("/home/me/.cargo/ws").join(inside), inside: inside.into() }
    }

    fn command(command: &str) -> Touch {
        Touch::Command { command: command.into(), cwd: "/ws".into(), needs: Needs::NONE }
    }

    #[test]
    fn modes() {
        let read = Touch::Read { path: Some("/ws/a".into()) };
        let source = edit("a.rs");
        let protected = edit(".vscode/tasks.json");
        let run = command("ls");
        for (mode, expected) in [
            (Mode::Review, ["allow", "allow", "ask", "ask"]),
            (Mode::Ask, ["allow", "allow", "ask", "ask"]),
            (Mode::Auto, ["allow", "allow", "ask", "ask"]),
            (Mode::Plan, ["allow", "deny", "deny", "deny"]),
        ] {
            let got = [&read, &source, &protected, &run].map(|touch| judged(touch, mode));
            assert_eq!(got, expected, "{mode:?}");
        }
    }

    #[test]
    fn a_command_with_needs_is_asked_for_whatever_the_rules_say() {
        let rules = CommandRules { unasked: true, ..CommandRules::default() };
        for (network, git) in [(true, false), (false, true), (true, true)] {
            let needs = Needs { network, git };
            let touch = Touch::Command { command: "ls".into(), cwd: "/ws".into(), needs };
            let verdict = judge(&touch, Mode::Review, &rules, |_| true);
            let Verdict::Ask { reason } = verdict else { panic!("{verdict:?}") };
            assert_eq!(reason, format!("The command {}.", needs.in_words()));
        }
        let touch = command("ls");
        assert_eq!(judge(&touch, Mode::Review, &rules, |_| true), Verdict::Allow);
        let verdict = judge(&touch, Mode::Review, &rules.asking(), |_| true);
        assert!(matches!(verdict, Verdict::Ask { .. }), "without a sandbox");
    }

    #[test]
    fn deletions_and_moves_are_judged_as_edits_of_every_path() {
        let delete = |inside: &str| Touch::Delete { path: "/ws".into(), inside: inside.into() };
        let relocate = |from: &str, to: &str| Touch::Move {
            from: "/ws".into(),
            from_inside: from.into(),
            to: "/ws".into(),
            to_inside: to.into(),
        };
        for (touch, expected) in [
            (delete("a.rs"), ["allow", "deny"]),
            (delete(".env"), ["ask", "deny"]),
            (relocate("a.rs", "b.rs"), ["allow", "deny"]),
            (relocate("a.rs", ".envrc"), ["ask", "deny"]),
            (relocate("package.json", "b.json"), ["ask", "deny"]),
        ] {
            let got = [Mode::Auto, Mode::Plan].map(|mode| judged(&touch, mode));
            assert_eq!(got, expected, "{touch:?}");
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
            "mkfs.ext4 /dev/sda1",
            "dd if=/dev/zero of=/dev/sda bs=1M",
            ":(){ :|:& };:",
        ] {
            let verdict = judged(&command(line), Mode::Auto);
            assert_eq!(verdict, "deny", "{line}");
        }
        for line in ["rm -rf target", "rm /tmp/x", "rm -rf ./build/*", "ls ~", "echo rm", ""] {
            let verdict = judged(&command(line), Mode::Auto);
            assert_eq!(verdict, "ask", "{line}");
        }
    }

    #[test]
    fn protected_files() {
        for path in [
            ".vscode/tasks.json",
            ".VSCode/settings.json",
            ".github/workflows/ci.yml",
            ".gitignore",
            "sub/.env.local",
            "package.json",
            "Cargo.toml",
            "AGENTS.md",
            "app.code-workspace",
        ] {
            assert!(is_protected(Path::new(path)), "{path}");
        }
        for path in ["src/main.rs", "env.rs", "docs/git.md", "vscode/x", ""] {
            assert!(!is_protected(Path::new(path)), "{path}");
        }
    }
}

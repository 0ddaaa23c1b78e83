//! The gate before every effect: the only place that makes an `Approved`, from the policy's
//! verdict or from the user's answer.

use std::path::Path;

use cairn_core::policy::{self, Mode, Touch, Verdict, command::CommandRules, sandbox::Needs};
use cairn_protocol::{Need, ReviewMode};

use crate::workspace::{Workspace, uri_of};

/// Proof that a call may run.
#[derive(Debug)]
pub struct Approved(());

#[derive(Debug)]
pub enum Gate {
    Open(Approved),
    /// Denied, with the reason for the model.
    Closed(String),
    Ask(Question),
}

/// What the user is asked. Shown whole, as data.
#[derive(Debug)]
pub struct Question {
    pub title: String,
    /// Exactly what will run, or which file will change.
    pub command: String,
    pub cwd: String,
    pub reason: String,
    /// Of a command.
    pub asks: Needs,
}

impl Question {
    pub fn needs(&self) -> Vec<Need> {
        let Needs { network, git } = self.asks;
        let asked = [(network, Need::Network), (git, Need::Git)];
        asked.into_iter().filter_map(|(asked, need)| asked.then_some(need)).collect()
    }

    /// The user said yes.
    pub fn allowed(self) -> Approved {
        Approved(())
    }
}

pub fn gate(touch: &Touch, mode: ReviewMode, rules: &CommandRules, workspace: &Workspace) -> Gate {
    let mode = match mode {
        ReviewMode::Review => Mode::Review,
        ReviewMode::Ask => Mode::Ask,
        ReviewMode::Auto => Mode::Auto,
        ReviewMode::Plan => Mode::Plan,
    };
    let cwd = match touch {
        Touch::Command { cwd, .. } => cwd.as_path(),
        Touch::Read { .. }
        | Touch::Plan
        | Touch::Child
        | Touch::Edit { .. }
        | Touch::Delete { .. }
        | Touch::Move { .. } => workspace.root(),
    };
    // Not a lock: what lies there may be another file when the command runs. It can only be read.
    let may_read = |path: &str| {
        let path = cwd.join(path);
        workspace
            .resolve(&path.to_string_lossy())
            .is_ok_and(|path| !policy::is_secret(path.as_path()))
    };
    match policy::judge(touch, mode, rules, may_read) {
        Verdict::Allow => Gate::Open(Approved(())),
        Verdict::Deny { reason } => Gate::Closed(reason),
        Verdict::Ask { reason } => Gate::Ask(question(touch, rules, reason)),
    }
}

/// The file a call touches, for links in the editor.
pub fn uri(touch: &Touch) -> Option<String> {
    match touch {
        Touch::Read { path } => path.as_deref().and_then(uri_of),
        Touch::Edit { path, inside: _ }
        | Touch::Delete { path, inside: _ }
        | Touch::Move { to: path, .. } => uri_of(path),
        Touch::Command { .. } | Touch::Plan | Touch::Child => None,
    }
}

fn question(touch: &Touch, rules: &CommandRules, reason: String) -> Question {
    match touch {
        Touch::Read { path } => Question {
            title: "Read a file".to_owned(),
            command: path.as_deref().map(|path| path.display().to_string()).unwrap_or_default(),
            cwd: String::new(),
            reason,
            asks: Needs::NONE,
        },
        // Never the bare path: that is a command too, and a yes for a session is remembered by
        // these words.
        Touch::Edit { path, inside } => Question {
            title: "Change a protected file".to_owned(),
            command: format!("Change {}", inside.display()),
            cwd: folder_of(path, inside),
            reason,
            asks: Needs::NONE,
        },
        Touch::Delete { path, inside } => Question {
            title: "Delete a protected file".to_owned(),
            command: format!("Delete {}", inside.display()),
            cwd: folder_of(path, inside),
            reason,
            asks: Needs::NONE,
        },
        Touch::Move { from, from_inside, to: _, to_inside } => Question {
            title: "Move a protected file".to_owned(),
            command: format!("Move {} to {}", from_inside.display(), to_inside.display()),
            cwd: folder_of(from, from_inside),
            reason,
            asks: Needs::NONE,
        },
        Touch::Plan => Question {
            title: "Change the plan".to_owned(),
            command: String::new(),
            cwd: String::new(),
            reason,
            asks: Needs::NONE,
        },
        Touch::Child => Question {
            title: "Start a subagent".to_owned(),
            command: String::new(),
            cwd: String::new(),
            reason,
            asks: Needs::NONE,
        },
        Touch::Command { command, cwd, needs } => Question {
            title: run(*needs, !rules.unboxed).to_owned(),
            command: command.clone(),
            cwd: cwd.display().to_string(),
            reason,
            asks: *needs,
        },
    }
}

/// Above everything else that is shown of a command, wherever it is shown.
fn run(needs: Needs, boxed: bool) -> &'static str {
    match (boxed, needs.network, needs.git) {
        (false, _, _) => "Run a command without a sandbox",
        (true, false, false) => "Run a command",
        (true, true, false) => "Run a command with network access",
        (true, false, true) => "Run a command that may change .git (except hooks and config)",
        (true, true, true) => "Run with network access; may change .git (except hooks and config)",
    }
}

/// The workspace folder a path is in.
fn folder_of(path: &Path, inside: &Path) -> String {
    let folder = path.ancestors().nth(inside.components().count());
    folder.map(|folder| folder.display().to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(touch: &Touch, mode: ReviewMode) -> Gate {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::new(vec![folder.path().to_owned()]).unwrap();
        gate(touch, mode, &CommandRules::default(), &workspace)
    }

    #[test]
    fn a_command_reads_unasked_what_is_ours_and_no_secret() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        std::fs::create_dir_all(root.join("src")).unwrap();
        std::fs::write(folder.path().join("private"), "").unwrap();
        std::os::unix::fs::symlink("../../private", root.join("src/link")).unwrap();
        let workspace = Workspace::new(vec![root.clone()]).unwrap();
        let rules = CommandRules { unasked: true, ..CommandRules::default() };
        for (command, open) in [
            ("cat src/a", true),
            ("cat src/link", false),
            ("cat ../private", false),
            ("cat src/../src/a", true),
            ("cat .env", false),
            ("cat keys/server.PEM", false),
            ("ls .git", false),
            ("cat src/a > b", false),
        ] {
            let touch =
                Touch::Command { command: command.into(), cwd: root.clone(), needs: Needs::NONE };
            let gate = gate(&touch, ReviewMode::Review, &rules, &workspace);
            assert_eq!(matches!(gate, Gate::Open(_)), open, "{command}");
            assert!(matches!(at(&touch, ReviewMode::Review), Gate::Ask(_)), "{command}");
        }
        let touch =
            Touch::Command { command: "cat a".into(), cwd: root.join("src"), needs: Needs::NONE };
        assert!(matches!(gate(&touch, ReviewMode::Plan, &rules, &workspace), Gate::Closed(_)));
    }

    #[test]
    fn asks_with_exactly_what_will_happen() {
        let command =
            Touch::Command { command: "ls\t-l".into(), cwd: "/ws".into(), needs: Needs::NONE };
        let Gate::Ask(question) = at(&command, ReviewMode::Auto) else { panic!("must ask") };
        assert_eq!((question.command.as_str(), question.cwd.as_str()), ("ls\t-l", "/ws"));

        let edit = Touch::Edit { path: "/ws/a/.env".into(), inside: "a/.env".into() };
        let Gate::Ask(question) = at(&edit, ReviewMode::Review) else { panic!("must ask") };
        assert_eq!((question.command.as_str(), question.cwd.as_str()), ("Change a/.env", "/ws"));
        assert!(matches!(at(&edit, ReviewMode::Plan), Gate::Closed(_)));
        assert!(matches!(at(&Touch::Read { path: None }, ReviewMode::Plan), Gate::Open(_)));
    }

    #[test]
    fn the_title_says_what_is_granted_and_whether_there_is_a_box() {
        let title = |rules: &CommandRules, network, git| {
            let needs = Needs { network, git };
            let touch = Touch::Command { command: "ls".into(), cwd: "/ws".into(), needs };
            question(&touch, rules, String::new())
        };
        let boxed = CommandRules::default();
        assert_eq!(title(&boxed, false, false).title, "Run a command");
        assert_eq!(title(&boxed, true, false).title, "Run a command with network access");
        assert_eq!(title(&boxed, true, true).needs(), [Need::Network, Need::Git]);
        assert_eq!(title(&boxed.asking(), true, true).title, "Run a command without a sandbox");
    }

    #[test]
    fn names_the_file() {
        let edit = Touch::Edit { path: "/ws/a b".into(), inside: "a b".into() };
        assert_eq!(uri(&edit).as_deref(), Some("file:///ws/a%20b"));
    }
}

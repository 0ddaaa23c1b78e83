//! Gate before every effect. Only this module makes an [`Approved`]: from the policy's verdict or
//! from the user's answer.

use std::path::Path;

use cairn_core::policy::{
    self, Access, Mode, Verdict,
    command::{CommandContext, CommandRules, ReadKind, Rule},
    sandbox::Needs,
};
use cairn_protocol::{ApprovalKind, Need, ReviewMode};

use crate::{
    exec,
    workspace::{Workspace, uri_of},
};

pub mod definitions;
mod programs;
mod rule_folder;

pub use rule_folder::RuleFolder;

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

/// Question to the user. Clients show its texts in full and do not interpret them.
#[derive(Debug)]
pub struct Question {
    pub title: String,
    pub kind: Option<ApprovalKind>,
    /// Exactly what will run, or which file will change.
    pub command: String,
    pub cwd: String,
    pub reason: String,
    /// Rules that "always" would store. If empty, "always" is not offered.
    pub rules: Vec<Rule>,
    /// Additional rights that a command asks for.
    pub asks: Needs,
    /// Scope of an approval for the session.
    pub for_session: &'static str,
}

impl Question {
    pub fn needs(&self) -> Vec<Need> {
        let Needs { network, git } = self.asks;
        let asked = [(network, Need::Network), (git, Need::Git)];
        asked.into_iter().filter_map(|(asked, need)| asked.then_some(need)).collect()
    }

    /// Turns the user's consent into the proof of it.
    pub fn allowed(self) -> Approved {
        Approved(())
    }
}

/// Decides about an access. The "always" rules in `rules` must be those of `rule_folder`.
pub fn gate(
    access: &Access,
    mode: ReviewMode,
    rules: &CommandRules,
    rule_folder: &RuleFolder,
    workspace: &Workspace,
) -> Gate {
    let mode = match mode {
        ReviewMode::Review => Mode::Review,
        ReviewMode::Ask => Mode::Ask,
        ReviewMode::Auto => Mode::Auto,
        ReviewMode::Plan => Mode::Plan,
    };
    let cwd = if let Access::Command { cwd, .. } = access { cwd } else { workspace.root() };
    // Not a lock: another file may be there when the command runs. It can only be read.
    let may_read = |read: ReadKind, path: &str| {
        let Some(path) = workspace.resolve_without_links(&cwd.join(path)) else { return false };
        let found = match read {
            ReadKind::Contents => workspace.has_one_name(&path),
            ReadKind::Names => workspace.is_there(&path),
        };
        found && !path.is_secret()
    };
    let path = exec::search_path();
    let finds = |program: &str| programs::lies_outside(program, &path, workspace);
    let enters = |folder: &str| rule_folder.enters(folder);
    let context = CommandContext { may_read: &may_read, finds: &finds, enters: &enters };
    match policy::judge(access, mode, rules, &context) {
        Verdict::Allow => Gate::Open(Approved(())),
        Verdict::Deny { reason } => Gate::Closed(reason),
        Verdict::Ask { reason } => {
            let mut question = question(access, rules, reason, workspace);
            // Rules cover only commands in the default sandbox.
            if let Access::Command { command, needs, .. } = access
                && needs.is_none()
            {
                question.rules = rules.offered(command, &context);
            }
            Gate::Ask(question)
        }
    }
}

/// URI of the file that a call accesses, for links in the editor.
pub fn uri(access: &Access) -> Option<String> {
    match access {
        Access::Read { path, names: _ } => path.as_deref().and_then(uri_of),
        Access::Edit { path, .. } | Access::Delete { path, .. } | Access::Move { to: path, .. } => {
            uri_of(path)
        }
        Access::Command { .. } | Access::Plan | Access::Subagent => None,
    }
}

/// Builds the question about a call.
pub fn question(
    access: &Access,
    rules: &CommandRules,
    reason: String,
    workspace: &Workspace,
) -> Question {
    // Absolute except in the first folder: consent to one file must not cover another of the same name.
    let named = |path: &Path| workspace.display(path);
    let folder = |path: &Path| folder_of(workspace, path);
    // Never the bare path of a file: it could be read as a command.
    let (title, command, cwd, for_session) = match access {
        Access::Read { path, names: _ } => {
            let path = path.as_deref();
            let command = path.map(|path| format!("Read {}", named(path))).unwrap_or_default();
            let cwd = path.map(folder).unwrap_or_default();
            ("Read a file that may hold secrets", command, cwd, "this file, as often as it likes")
        }
        Access::Edit { path, .. } => {
            let command = format!("Change {}", named(path));
            ("Change a protected file", command, folder(path), "any change of this file")
        }
        Access::Delete { path, .. } => {
            let command = format!("Delete {}", named(path));
            ("Delete a protected file", command, folder(path), "exactly this, again")
        }
        Access::Move { from, to, .. } => {
            let command = format!("Move {} to {}", named(from), named(to));
            ("Move a protected file", command, folder(from), "exactly this, again")
        }
        Access::Plan => ("Change the plan", String::new(), String::new(), "any change of the plan"),
        Access::Subagent => ("Start a subagent", String::new(), String::new(), "any subagent"),
        Access::Command { command, cwd, needs } => {
            let (title, cwd) = (command_title(*needs, !rules.unboxed), cwd.display().to_string());
            (title, command.clone(), cwd, "exactly this command, again")
        }
    };
    let kind = match access {
        Access::Plan | Access::Subagent => None,
        Access::Read { .. } => Some(ApprovalKind::Read),
        Access::Edit { .. } | Access::Delete { .. } | Access::Move { .. } => {
            Some(ApprovalKind::Change)
        }
        Access::Command { .. } if rules.unboxed => Some(ApprovalKind::UnsandboxedCommand),
        Access::Command { .. } => Some(ApprovalKind::Command),
    };
    let asks = if let Access::Command { needs, .. } = access { *needs } else { Needs::NONE };
    let (title, rules) = (title.to_owned(), Vec::new());
    Question { title, kind, command, cwd, reason, rules, asks, for_session }
}

/// Title of a question about a command. Clients show it first.
fn command_title(needs: Needs, sandboxed: bool) -> &'static str {
    match (sandboxed, needs.network, needs.git) {
        (false, _, _) => "Run a command without a sandbox",
        (true, false, false) => "Run a command",
        (true, true, false) => "Run a command with network access",
        (true, false, true) => "Run a command that may change .git (except hooks and config)",
        (true, true, true) => "Run with network access; may change .git (except hooks and config)",
    }
}

/// The workspace folder that contains a path.
fn folder_of(workspace: &Workspace, path: &Path) -> String {
    let folder = workspace.folders().iter().find(|folder| path.starts_with(folder));
    folder.map(|folder| folder.display().to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(access: &Access, mode: ReviewMode) -> Gate {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::new(vec![folder.path().to_owned()]).unwrap();
        gated(access, mode, &CommandRules::default(), &workspace)
    }

    fn gated(
        access: &Access,
        mode: ReviewMode,
        rules: &CommandRules,
        workspace: &Workspace,
    ) -> Gate {
        gate(access, mode, rules, &RuleFolder::of(access, workspace), workspace)
    }

    #[test]
    fn a_command_reads_files_of_the_workspace_except_secrets_without_approval() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        std::fs::create_dir_all(root.join("src")).unwrap();
        std::fs::write(folder.path().join("private"), "").unwrap();
        std::fs::write(root.join("src/a"), "").unwrap();
        std::fs::write(root.join("b"), "").unwrap();
        std::fs::create_dir(root.join(".ssh")).unwrap();
        std::os::unix::fs::symlink("../../private", root.join("src/link")).unwrap();
        std::os::unix::fs::symlink("src", root.join("linked")).unwrap();
        let workspace = Workspace::new(vec![root.clone()]).unwrap();
        let rules = CommandRules { unasked: true, ..CommandRules::default() };
        for (command, open) in [
            ("cat src/a", true),
            ("cat missing", false),
            ("cat src", false),
            ("ls src", true),
            ("cat linked/a", false),
            ("ls linked", false),
            ("cat src/link", false),
            ("cat ../private", false),
            ("cat src/../src/a", true),
            ("cat .env", false),
            ("cat keys/server.PEM", false),
            ("ls .git", false),
            ("cat src/a > b", false),
            // The same after `cd` into a folder.
            ("cd src && cat a ../b ./a", true),
            ("cd ./src/ && ls | wc -l", true),
            ("cd src && cat link", false),
            ("cd src && cat ../../private", false),
            ("cd src && cat /etc/passwd", false),
            ("cd src && cat .env", false),
            ("cd src && ls ../.git", false),
            ("cd src && ls; ls", false),
            ("cd src && ls || ls", false),
            ("cd linked && ls", false),
            ("cd .. && ls", false),
            ("cd src && cd .. && ls", false),
            ("cd missing && ls", false),
            ("cd .ssh && ls", false),
        ] {
            let access =
                Access::Command { command: command.into(), cwd: root.clone(), needs: Needs::NONE };
            let gate = gated(&access, ReviewMode::Review, &rules, &workspace);
            assert_eq!(matches!(gate, Gate::Open(_)), open, "{command}");
            assert!(matches!(at(&access, ReviewMode::Review), Gate::Ask(_)), "{command}");
        }
        let access =
            Access::Command { command: "cat a".into(), cwd: root.join("src"), needs: Needs::NONE };
        assert!(matches!(gated(&access, ReviewMode::Plan, &rules, &workspace), Gate::Closed(_)));
    }

    #[test]
    fn a_question_shows_the_exact_command_and_change() {
        let command =
            Access::Command { command: "ls\t-l".into(), cwd: "/ws".into(), needs: Needs::NONE };
        let Gate::Ask(question) = at(&command, ReviewMode::Auto) else { panic!("must ask") };
        assert_eq!((question.command.as_str(), question.cwd.as_str()), ("ls\t-l", "/ws"));

        let folder = tempfile::tempdir().unwrap();
        let [first, second] = ["first", "second"].map(|name| folder.path().join(name));
        std::fs::create_dir(&first).unwrap();
        std::fs::create_dir(&second).unwrap();
        let workspace = Workspace::new(vec![first.clone(), second.clone()]).unwrap();
        let asked =
            |access: &Access, mode| match gated(access, mode, &CommandRules::default(), &workspace)
            {
                Gate::Ask(question) => format!("{} in {}", question.command, question.cwd),
                Gate::Open(_) => "open".to_owned(),
                Gate::Closed(_) => "closed".to_owned(),
            };
        let edit = |root: &Path| Access::Edit {
            path: root.join("a/.env"),
            inside: "a/.env".into(),
            aliases: Vec::new(),
        };
        let read = Access::Read { path: Some(first.join(".env")), names: vec![".env".into()] };
        let (one, two) = (first.display(), second.display());
        for (access, mode, expected) in [
            (edit(&first), ReviewMode::Review, format!("Change a/.env in {one}")),
            (edit(&second), ReviewMode::Review, format!("Change {two}/a/.env in {two}")),
            (edit(&first), ReviewMode::Plan, "closed".to_owned()),
            (read.clone(), ReviewMode::Auto, format!("Read .env in {one}")),
            (read, ReviewMode::Plan, format!("Read .env in {one}")),
            (Access::Read { path: None, names: Vec::new() }, ReviewMode::Plan, "open".to_owned()),
        ] {
            assert_eq!(asked(&access, mode), expected, "{access:?}");
        }
    }

    #[test]
    fn the_title_names_the_grants_and_a_missing_sandbox() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::new(vec![folder.path().to_owned()]).unwrap();
        let title = |rules: &CommandRules, network, git| {
            let needs = Needs { network, git };
            let access = Access::Command { command: "ls".into(), cwd: "/ws".into(), needs };
            question(&access, rules, String::new(), &workspace)
        };
        let boxed = CommandRules::default();
        assert_eq!(title(&boxed, false, false).title, "Run a command");
        assert_eq!(title(&boxed, true, false).title, "Run a command with network access");
        assert_eq!(title(&boxed, true, true).needs(), [Need::Network, Need::Git]);
        assert_eq!(title(&boxed.asking(), true, true).title, "Run a command without a sandbox");
    }

    #[test]
    fn the_access_of_an_edit_has_the_uri_of_its_file() {
        let edit =
            Access::Edit { path: "/ws/a b".into(), inside: "a b".into(), aliases: Vec::new() };
        assert_eq!(uri(&edit).as_deref(), Some("file:///ws/a%20b"));
    }
}

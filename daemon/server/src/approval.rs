//! Gate before every effect. Only this module makes an [`Approved`]: from the policy's verdict or
//! from the user's answer.

use std::path::Path;

use cairn_core::{
    policy::{
        self, Access, Verdict,
        command::{CommandContext, CommandRules, ReadKind, Rule},
    },
    sanitize::excerpt,
};
use cairn_protocol::{ApprovalKind, ApprovalQuestion, ApprovalReason, Need, ReviewMode};

use crate::{
    exec,
    workspace::{Workspace, uri_of},
};

mod changed_files;
mod codes;
mod programs;
mod rule_folder;

pub use changed_files::{Behind, ChangedFiles};
pub(crate) use codes::needs;
pub use rule_folder::RuleFolder;

/// Longest command in a title, in bytes.
const MAX_TITLE_BYTES: usize = 120;

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
    pub asked: ApprovalQuestion,
    pub kind: Option<ApprovalKind>,
    /// Exactly what will run, or which file will change.
    pub command: String,
    pub cwd: String,
    pub reasons: Vec<ApprovalReason>,
    /// Rules that "always" would store. If empty, "always" is not offered.
    pub rules: Vec<Rule>,
    /// Additional rights that a command asks for.
    pub needs: Vec<Need>,
}

impl Question {
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
    let plans_only = match mode {
        ReviewMode::Plan => true,
        ReviewMode::Review | ReviewMode::Ask | ReviewMode::Auto => false,
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
    let finds =
        |program: &str| programs::lies_outside(program, &path, workspace, &programs::TEMPORARY);
    let enters = |folder: &str| rule_folder.enters(folder);
    let context = CommandContext { may_read: &may_read, finds: &finds, enters: &enters };
    match policy::judge(access, plans_only, rules, &context) {
        Verdict::Allow => Gate::Open(Approved(())),
        Verdict::Deny { reason } => Gate::Closed(reason),
        Verdict::Ask { reasons } => {
            let reasons = reasons.into_iter().map(codes::reason).collect();
            let mut question = question(access, rules, reasons, workspace);
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
        _ => None,
    }
}

/// Builds the question about a call.
pub fn question(
    access: &Access,
    rules: &CommandRules,
    reasons: Vec<ApprovalReason>,
    workspace: &Workspace,
) -> Question {
    // With its folder: consent to one file must not cover another of the same name.
    let named = |path: &Path| workspace.display(path);
    let folder = |path: &Path| {
        workspace.folder_of(path).map(|folder| folder.display().to_string()).unwrap_or_default()
    };
    let command_kind = match rules.unboxed {
        true => ApprovalKind::UnsandboxedCommand,
        false => ApprovalKind::Command,
    };
    let (asked, kind, cwd) = match access {
        Access::Read { path, names: _ } => {
            let path = path.as_deref();
            let file = path.map(named).unwrap_or_default();
            let cwd = path.map(folder).unwrap_or_default();
            (ApprovalQuestion::ReadSecretFile { file }, Some(ApprovalKind::Read), cwd)
        }
        Access::Edit { path, .. } => {
            let asked = ApprovalQuestion::ChangeProtectedFile { file: named(path) };
            (asked, Some(ApprovalKind::Change), folder(path))
        }
        Access::Delete { path, .. } => {
            let asked = ApprovalQuestion::DeleteProtectedFile { file: named(path) };
            (asked, Some(ApprovalKind::Change), folder(path))
        }
        Access::Move { from, to, .. } => {
            let asked = ApprovalQuestion::MoveProtectedFile { from: named(from), to: named(to) };
            (asked, Some(ApprovalKind::Change), folder(from))
        }
        Access::Plan => (ApprovalQuestion::ChangePlan, None, String::new()),
        Access::Subagent => (ApprovalQuestion::StartSubagent, None, String::new()),
        Access::Process => (ApprovalQuestion::UseProcess, None, String::new()),
        Access::Input { process, command, cwd, .. } => {
            let command = excerpt(command, MAX_TITLE_BYTES);
            let asked = ApprovalQuestion::TypeIntoProcess { process: *process, command };
            (asked, Some(command_kind), cwd.display().to_string())
        }
        Access::Command { command: _, cwd, needs } => {
            let asked = match rules.unboxed {
                true => ApprovalQuestion::RunUnsandboxed,
                false => ApprovalQuestion::RunCommand { needs: codes::needs(*needs) },
            };
            (asked, Some(command_kind), cwd.display().to_string())
        }
    };
    let (command, needs) = match access {
        Access::Command { command: text, needs, .. } | Access::Input { text, needs, .. } => {
            (text.clone(), codes::needs(*needs))
        }
        _ => Default::default(),
    };
    Question { asked, kind, command, cwd, reasons, rules: Vec::new(), needs }
}

#[cfg(test)]
mod tests {
    use cairn_core::policy::sandbox::Needs;

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
                Gate::Ask(question) => {
                    format!("{} in {}", question.asked.files().unwrap().english(), question.cwd)
                }
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
            (edit(&first), ReviewMode::Review, format!("Change first/a/.env in {one}")),
            (edit(&second), ReviewMode::Review, format!("Change second/a/.env in {two}")),
            (edit(&first), ReviewMode::Plan, "closed".to_owned()),
            (read.clone(), ReviewMode::Auto, format!("Read first/.env in {one}")),
            (read, ReviewMode::Plan, format!("Read first/.env in {one}")),
            (Access::Read { path: None, names: Vec::new() }, ReviewMode::Plan, "open".to_owned()),
        ] {
            assert_eq!(asked(&access, mode), expected, "{access:?}");
        }
    }

    #[test]
    fn the_title_names_the_grants_and_a_missing_sandbox() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::new(vec![folder.path().to_owned()]).unwrap();
        let asked = |rules: &CommandRules, network, git| {
            let needs = Needs { network, git };
            let access = Access::Command { command: "ls".into(), cwd: "/ws".into(), needs };
            question(&access, rules, Vec::new(), &workspace)
        };
        let boxed = CommandRules::default();
        let title = |question: Question| question.asked.english();
        assert_eq!(title(asked(&boxed, false, false)), "Run a command");
        assert_eq!(title(asked(&boxed, true, false)), "Run a command with network access");
        assert_eq!(asked(&boxed, true, true).needs, [Need::Network, Need::Git]);
        let unboxed = asked(&boxed.asking(), true, true);
        assert_eq!(title(unboxed), "Run a command without a sandbox");
    }

    #[test]
    fn the_access_of_an_edit_has_the_uri_of_its_file() {
        let edit =
            Access::Edit { path: "/ws/a b".into(), inside: "a b".into(), aliases: Vec::new() };
        assert_eq!(uri(&edit).as_deref(), Some("file:///ws/a%20b"));
    }
}

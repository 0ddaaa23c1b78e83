//! English texts of questions, for clients without texts of their own.

use cairn_protocol::{
    ApprovalQuestion, ApprovalReason, CommandRisk, DenyDoubt, Need, SessionScope, UnclearCommand,
};

/// Title of a question. Clients show it first.
pub(crate) fn title(question: &ApprovalQuestion) -> String {
    let title = match question {
        ApprovalQuestion::RunUnsandboxed => "Run a command without a sandbox",
        ApprovalQuestion::RunCommand { needs } => {
            match (needs.contains(&Need::Network), needs.contains(&Need::Git)) {
                (false, false) => "Run a command",
                (true, false) => "Run a command with network access",
                (false, true) => "Run a command that may change .git (except hooks and config)",
                (true, true) => {
                    "Run with network access; may change .git (except hooks and config)"
                }
            }
        }
        ApprovalQuestion::ReadSecretFile { .. } => "Read a file that may hold secrets",
        ApprovalQuestion::ChangeProtectedFile { .. } => "Change a protected file",
        ApprovalQuestion::DeleteProtectedFile { .. } => "Delete a protected file",
        ApprovalQuestion::MoveProtectedFile { .. } => "Move a protected file",
        ApprovalQuestion::ChangePlan => "Change the plan",
        ApprovalQuestion::StartSubagent => "Start a subagent",
        ApprovalQuestion::UseProcess => "Read or stop a process",
        ApprovalQuestion::TypeIntoProcess { process, command } => {
            return format!("Type into process {process}: {command}");
        }
        ApprovalQuestion::ReturnFiles { count: 1, .. } => {
            "Move a quarantined file back to the workspace"
        }
        ApprovalQuestion::ReturnFiles { count, .. } => {
            return format!("Move {count} quarantined files back to the workspace");
        }
    };
    title.to_owned()
}

/// Line that names the files of a question; empty for a question about a command or about no file.
/// Never the bare path of a file: it could be read as a command.
pub(crate) fn files(question: &ApprovalQuestion) -> String {
    match question {
        ApprovalQuestion::ReadSecretFile { file } => format!("Read {file}"),
        ApprovalQuestion::ChangeProtectedFile { file } => format!("Change {file}"),
        ApprovalQuestion::DeleteProtectedFile { file } => format!("Delete {file}"),
        ApprovalQuestion::MoveProtectedFile { from, to } => format!("Move {from} to {to}"),
        ApprovalQuestion::RunCommand { .. }
        | ApprovalQuestion::RunUnsandboxed
        | ApprovalQuestion::ChangePlan
        | ApprovalQuestion::StartSubagent
        | ApprovalQuestion::UseProcess
        | ApprovalQuestion::TypeIntoProcess { .. }
        | ApprovalQuestion::ReturnFiles { .. } => String::new(),
    }
}

/// Scope of an approval for the session, as a part of a sentence.
pub(crate) fn scope(scope: SessionScope) -> &'static str {
    match scope {
        SessionScope::SameCommand => "exactly this command, again",
        SessionScope::SameFile => "this file, as often as it likes",
        SessionScope::AnyChangeOfFile => "any change of this file",
        SessionScope::SameAction => "exactly this, again",
        SessionScope::AnyPlanChange => "any change of the plan",
        SessionScope::AnySubagent => "any subagent",
        SessionScope::AnyUseOfProcesses => "reading and stopping processes",
        SessionScope::AnyInput => "anything typed into this process",
        SessionScope::Once => "these files, this once",
    }
}

/// Sentences of the reasons for a question.
pub(crate) fn reasons(reasons: &[ApprovalReason]) -> String {
    reasons.iter().map(sentence).collect::<Vec<_>>().join(" ")
}

fn sentence(reason: &ApprovalReason) -> String {
    let text = match reason {
        ApprovalReason::ReadsSecret => {
            "This file may hold secrets, and what is read goes to the model."
        }
        ApprovalReason::HoldsSecrets => "This file may hold secrets.",
        ApprovalReason::FileProtected => "This file decides what runs or what an agent may do.",
        ApprovalReason::DenyUndecided { rule, doubt } => {
            let why = doubtful(doubt);
            return format!(
                "It cannot be told whether this is `{rule}`, which your settings forbid \
                 (cairn.shell.deny): {why}."
            );
        }
        ApprovalReason::CommandNeeds { needs } => {
            let needs = needs.iter().map(|need| match need {
                Need::Network => "has network access",
                Need::Git => "may change .git except hooks and config",
            });
            return format!("The command {}.", needs.collect::<Vec<_>>().join(" and "));
        }
        ApprovalReason::WithoutSandbox => "It runs with your rights, without a sandbox.",
        ApprovalReason::CommandChangesFiles => {
            "In its sandbox it can change files of this workspace."
        }
        ApprovalReason::CommandUnclear { reason } => {
            return format!("What it does cannot be told: {}.", unclear(reason));
        }
        ApprovalReason::CommandChangesShell { command } => {
            return format!("`{command}` may change what the commands after it do.");
        }
        ApprovalReason::CommandMoreThanReads { command } => {
            return format!("`{command}` may do more than read files of the workspace.");
        }
        ApprovalReason::ProgramUnknown { program } => {
            return format!("`{program}` is not installed, or a program of the workspace.");
        }
        ApprovalReason::TextDecides => "The text decides what the process does next.",
        ApprovalReason::HookAsks => "A hook in your settings asks for your approval.",
        ApprovalReason::RuleFileChanged { file, rule } => {
            return format!("`{file}` changed since you always allowed `{rule}`.");
        }
        ApprovalReason::RuleFilesUnknown { rule } => {
            return format!("What `{rule}` does was not recorded when you allowed it.");
        }
        ApprovalReason::SessionFileChanged { file } => {
            return format!("`{file}` changed since you allowed this for the session.");
        }
        ApprovalReason::FilesLeft { folder } => {
            return format!(
                "These appeared or changed while a command ran. Cairn moved them to {folder}, because git, an editor, a shell or an agent can run or follow them outside of the sandbox. If they are yours, allow it: they return to the workspace. If you deny it, they stay there."
            );
        }
    };
    text.to_owned()
}

fn unclear(reason: &UnclearCommand) -> String {
    let text = match reason {
        UnclearCommand::CommandEmpty => "it is empty",
        UnclearCommand::CommandTooLong { limit } => {
            return format!("it is longer than {limit} bytes");
        }
        UnclearCommand::TooManyCommands { limit } => {
            return format!("it is more than {limit} commands");
        }
        UnclearCommand::CommandNotAscii => "it has characters other than plain ASCII",
        UnclearCommand::ShellExpands { character } => {
            return format!("the shell expands `{character}`");
        }
        UnclearCommand::ShellOperator { character } => {
            return format!("`{character}` does more than run a program");
        }
        UnclearCommand::CommandIncomplete => "it is incomplete",
        UnclearCommand::SetsVariable => "it sets a variable",
        UnclearCommand::ShellWord { word } => {
            return format!("`{word}` is a word of the shell's own");
        }
    };
    text.to_owned()
}

fn doubtful(doubt: &DenyDoubt) -> String {
    let text = match doubt {
        DenyDoubt::TooManyWords => "it has too many words",
        DenyDoubt::WordsUnknown => "not all its words are known",
        DenyDoubt::SubcommandUnknown => "its subcommand is not among the words",
        DenyDoubt::TooManyOptions => "there are too many options before the subcommand",
        DenyDoubt::OptionUnknown { option } => {
            return format!("`{option}` is an option that Cairn does not know");
        }
        DenyDoubt::OptionDecides { option } => return format!("`{option}` may say what git runs"),
        DenyDoubt::VariableDecides => "a variable may say what git runs",
        DenyDoubt::InputDecides => "what it runs comes from its input",
        DenyDoubt::ScriptUnclear => "the script in its words is not understood",
        DenyDoubt::OptionForm { option, wanted } => {
            return format!("`{option}` may be another form of `{wanted}`");
        }
        DenyDoubt::GitSameEffect { command, wanted } => {
            return format!("`git {command}` does what `git {wanted}` does");
        }
        DenyDoubt::GitMayCall { command, wanted } => {
            return format!("`git {command}` may call `git {wanted}`");
        }
        DenyDoubt::GitRunsOthers { command } => {
            return format!("`git {command}` may run other commands");
        }
        DenyDoubt::GitAlias { name } => {
            return format!("`{name}` is none of git's own commands, so it may be an alias");
        }
        DenyDoubt::OtherAlias { name } => {
            return format!("`{name}` is no subcommand that Cairn knows, and may be an alias");
        }
        DenyDoubt::AliasRuns { name } => {
            return format!("the alias `{name}` runs a command of its own");
        }
    };
    text.to_owned()
}

/// Effects of a command that make an answer risky; empty without one.
pub(crate) fn risks(risks: &[CommandRisk]) -> String {
    let words = |risk: &CommandRisk| match risk {
        CommandRisk::DeletesFiles => "deletes files",
        CommandRisk::DiscardsChanges => "discards uncommitted changes",
        CommandRisk::RewritesHistory => "rewrites history",
        CommandRisk::LeavesWorkspace => "leaves the workspace",
        CommandRisk::ChangesControlFiles => "changes files that decide what runs",
        CommandRisk::LacksNetwork => "needs the network and will fail without it",
        CommandRisk::CannotTell => "hides its effects",
    };
    match risks {
        [] => String::new(),
        some => format!("Careful: {}.", some.iter().map(words).collect::<Vec<_>>().join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reasons_of_a_command_are_sentences_in_their_order() {
        let reasons = super::reasons(&[
            ApprovalReason::DenyUndecided {
                rule: "git push".to_owned(),
                doubt: DenyDoubt::GitAlias { name: "p".to_owned() },
            },
            ApprovalReason::CommandNeeds { needs: vec![Need::Network, Need::Git] },
        ]);
        assert_eq!(
            reasons,
            "It cannot be told whether this is `git push`, which your settings forbid \
             (cairn.shell.deny): `p` is none of git's own commands, so it may be an alias. \
             The command has network access and may change .git except hooks and config."
        );
    }
}

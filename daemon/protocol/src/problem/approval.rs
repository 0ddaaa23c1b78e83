//! Codes of questions to the user: title, reasons and scope of an approval.

use serde::{Deserialize, Serialize};

use super::{
    ActionId, CodeRow, Coded, QuarantineEntry, UiArgument, UiMessage, call::access,
    message::Argument,
};
use crate::Need;

problems! {
    /// Title of an approval. A later version may add codes.
    ApprovalQuestion of SessionScope {
        RunCommand { needs: Vec<Need> }: SameCommand = [
            "Run a command",
            "Run a command with network access",
            "Run a command that may change .git (except hooks and config)",
            "Run with network access; may change .git (except hooks and config)",
        ] at access(needs);
        /// No sandbox works: the command has the user's rights.
        RunUnsandboxed: SameCommand = "Run a command without a sandbox";
        ReadSecretFile { file: String }: SameFile = "Read a file that may hold secrets";
        ChangeProtectedFile { file: String }: AnyChangeOfFile = "Change a protected file";
        DeleteProtectedFile { file: String }: SameAction = "Delete a protected file";
        MoveProtectedFile { from: String, to: String }: SameAction = "Move a protected file";
        ChangePlan: AnyPlanChange = "Change the plan";
        StartSubagent: AnySubagent = "Start a subagent";
        /// Reads or stops a process of the session. A hook asks about it.
        UseProcess: AnyUseOfProcesses = "Read or stop a process";
        /// Sends a text to a process of the session.
        TypeIntoProcess { process: u32, command: String }: AnyInput = "Type into process {process}: {command}";
        /// Moves files from quarantine back to the workspace.
        ReturnFiles { count: u32, files: Vec<QuarantineEntry> }: Once = [
            "Move a quarantined file back to the workspace",
            "Move {count} quarantined files back to the workspace",
        ] at usize::from(*count != 1);
    }
}

codes! {
    /// Reason for a question. A later version may add codes.
    ApprovalReason {
        /// The text of a file that may hold secrets would go to the model.
        ReadsSecret = "This file may hold secrets, and what is read goes to the model.";
        /// The changed file may hold secrets.
        HoldsSecrets = "This file may hold secrets.";
        /// The changed file decides what runs, or what an agent may do.
        FileProtected = "This file decides what runs or what an agent may do.";
        /// `rule`, a deny rule of the settings, may name the command.
        DenyUndecided { rule: String } = "This may run `{rule}`, which your settings forbid (cairn.shell.deny).";
        CommandNeeds { needs: Vec<Need> } = [
            "The command has the usual access.",
            "The command has network access.",
            "The command may change .git except hooks and config.",
            "The command has network access and may change .git except hooks and config.",
        ] at access(needs);
        WithoutSandbox = "It runs with your rights, without a sandbox.";
        /// In its sandbox the command can change files of the workspace.
        CommandChangesFiles = "In its sandbox it can change files of this workspace.";
        CommandUnclear { reason: UnclearCommand } = "What it does cannot be told: {reason}.";
        /// `command` may change what the commands after it do.
        CommandChangesShell { command: String } = "`{command}` may change what the commands after it do.";
        CommandMoreThanReads { command: String } = "`{command}` may do more than read files of the workspace.";
        /// Not installed, or a program of the workspace.
        ProgramUnknown { program: String } = "`{program}` is not installed, or a program of the workspace.";
        HookAsks = "A hook in your settings asks for your approval.";
        /// The text decides what a process does next.
        TextDecides = "The text decides what the process does next.";
        /// `file` is behind a command that the user always allows by `rule`.
        RuleFileChanged { file: String, rule: String } = "`{file}` changed since you always allowed `{rule}`.";
        /// `file` is behind a command that the user allowed for the session.
        SessionFileChanged { file: String } = "`{file}` changed since you allowed this for the session.";
        /// A command left control files, which are in `folder` now.
        FilesLeft { folder: String } = "These appeared or changed while a command ran. Cairn moved them to {folder}, because git, an editor, a shell or an agent can run or follow them outside of the sandbox. If they are yours, allow it: they return to the workspace. If you deny it, they stay there.";
    }
}

codes! {
    /// Reason why a script is not understood. A later version may add codes.
    UnclearCommand {
        CommandEmpty = "it is empty";
        /// `limit` in bytes.
        CommandTooLong { limit: u32 } = "it is longer than {limit} bytes";
        TooManyCommands { limit: u32 } = "it is more than {limit} commands";
        CommandNotAscii = "it has characters other than plain ASCII";
        ShellExpands { character: String } = "the shell expands `{character}`";
        ShellOperator { character: String } = "`{character}` does more than run a program";
        CommandIncomplete = "it is incomplete";
        SetsVariable = "it sets a variable";
        ShellWord { word: String } = "`{word}` is a word of the shell's own";
    }
}

codes! {
    /// Scope of an approval for the session, as a part of a sentence.
    #[derive(Copy)]
    SessionScope {
        /// The same command with the same grants.
        SameCommand = "exactly this command, again";
        /// Reading the same file.
        SameFile = "this file, as often as it likes";
        AnyChangeOfFile = "any change of this file";
        /// The same deletion or move.
        SameAction = "exactly this, again";
        AnyPlanChange = "any change of the plan";
        AnySubagent = "any subagent";
        /// Reading and stopping processes of the session.
        AnyUseOfProcesses = "reading and stopping processes";
        /// Any text for the same process.
        AnyInput = "anything typed into this process";
        /// These files now: a session approval covers no more than a single one.
        Once = "these files, this once";
    }
}

codes! {
    /// Effect of a command that the user should see before an answer. A later version may add codes.
    #[derive(Copy)]
    CommandRisk {
        DeletesFiles = "deletes files";
        /// Uncommitted changes are lost.
        DiscardsChanges = "discards uncommitted changes";
        RewritesHistory = "rewrites history";
        /// Changes or enters a path outside of the workspace.
        LeavesWorkspace = "leaves the workspace";
        /// Changes a file that decides what runs.
        ChangesControlFiles = "changes files that decide what runs";
        /// The command needs the network, and its sandbox has none.
        LacksNetwork = "needs the network: will fail";
        /// The words do not show the effects.
        CannotTell = "hides its effects";
    }
}

codes! {
    /// Line that names the files of a question. Never a bare path, which could be read as a command.
    AskedFiles {
        ReadAskedFile { file: String } = "Read {file}";
        ChangeAskedFile { file: String } = "Change {file}";
        DeleteAskedFile { file: String } = "Delete {file}";
        MoveAskedFile { from: String, to: String } = "Move {from} to {to}";
        ReturnAskedFiles { files: Vec<QuarantineEntry> } = "{files}";
    }
}

impl ApprovalQuestion {
    /// Returns the files of the question; `None` for a command and for a question about no file.
    pub fn files(&self) -> Option<AskedFiles> {
        Some(match self.clone() {
            Self::ReadSecretFile { file } => AskedFiles::ReadAskedFile { file },
            Self::ChangeProtectedFile { file } => AskedFiles::ChangeAskedFile { file },
            Self::DeleteProtectedFile { file } => AskedFiles::DeleteAskedFile { file },
            Self::MoveProtectedFile { from, to } => AskedFiles::MoveAskedFile { from, to },
            Self::ReturnFiles { files, .. } => AskedFiles::ReturnAskedFiles { files },
            _ => return None,
        })
    }
}

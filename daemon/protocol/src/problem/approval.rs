//! Codes of questions to the user: title, reasons and scope of an approval.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::{ActionId, CodeRow, QuarantineEntry};
use crate::{Need, SessionScope};

problems! {
    /// Title of an approval. Since 1.3. A later version may add codes.
    ApprovalQuestion of SessionScope {
        RunCommand { needs: Vec<Need> }: SameCommand,
        /// No sandbox works: the command has the user's rights.
        RunUnsandboxed: SameCommand,
        ReadSecretFile { file: String }: SameFile,
        ChangeProtectedFile { file: String }: AnyChangeOfFile,
        DeleteProtectedFile { file: String }: SameAction,
        MoveProtectedFile { from: String, to: String }: SameAction,
        ChangePlan: AnyPlanChange,
        StartSubagent: AnySubagent,
        /// Reads or stops a process of the session. A hook asks about it. Since 1.4.
        UseProcess: AnyUseOfProcesses,
        /// Sends a text to a process of the session. Since 1.4.
        TypeIntoProcess { process: u32, command: String }: AnyInput,
        /// Moves files from quarantine back to the workspace.
        ReturnFiles { count: u32, files: Vec<QuarantineEntry> }: Once,
    }
}

codes! {
    /// Reason for a question. Since 1.3. A later version may add codes.
    ApprovalReason {
        /// The text of a file that may hold secrets would go to the model.
        ReadsSecret,
        /// The changed file may hold secrets.
        HoldsSecrets,
        /// The changed file decides what runs, or what an agent may do.
        FileProtected,
        /// `rule`, a deny rule of the settings, may name the command.
        DenyUndecided { rule: String, doubt: DenyDoubt },
        CommandNeeds { needs: Vec<Need> },
        WithoutSandbox,
        /// In its sandbox the command can change files of the workspace.
        CommandChangesFiles,
        CommandUnclear { reason: UnclearCommand },
        /// `command` may change what the commands after it do.
        CommandChangesShell { command: String },
        CommandMoreThanReads { command: String },
        /// Not installed, or a program of the workspace.
        ProgramUnknown { program: String },
        HookAsks,
        /// The text decides what a process does next. Since 1.4.
        TextDecides,
        /// `file` is behind a command that the user always allows by `rule`.
        RuleFileChanged { file: String, rule: String },
        /// The files behind an "always" of an earlier version are unknown.
        RuleFilesUnknown { rule: String },
        /// `file` is behind a command that the user allowed for the session.
        SessionFileChanged { file: String },
        /// A command left control files, which are in `folder` now.
        FilesLeft { folder: String },
    }
}

codes! {
    /// Reason why a script is not understood. Since 1.3. A later version may add codes.
    UnclearCommand {
        CommandEmpty,
        /// `limit` in bytes.
        CommandTooLong { limit: u32 },
        TooManyCommands { limit: u32 },
        CommandNotAscii,
        ShellExpands { character: String },
        ShellOperator { character: String },
        CommandIncomplete,
        SetsVariable,
        ShellWord { word: String },
    }
}

codes! {
    /// Reason why it is uncertain whether a deny rule names a command. Since 1.3. A later version may
    /// add codes.
    DenyDoubt {
        TooManyWords,
        WordsUnknown,
        SubcommandUnknown,
        TooManyOptions,
        OptionUnknown { option: String },
        /// The option may define which programs git runs; likewise a variable.
        OptionDecides { option: String },
        VariableDecides,
        InputDecides,
        ScriptUnclear,
        /// `option` may be another form of the option `wanted`.
        OptionForm { option: String, wanted: String },
        GitSameEffect { command: String, wanted: String },
        GitMayCall { command: String, wanted: String },
        GitRunsOthers { command: String },
        GitAlias { name: String },
        OtherAlias { name: String },
        AliasRuns { name: String },
    }
}

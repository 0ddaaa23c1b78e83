//! Problems that the user should know of: each has a stable code, the values of its text and, where
//! there is a next step, an action.
//!
//! The client owns the words and labels: it makes the text from code and arguments, and maps the
//! action to a command of its own. A client that does not know a code shows the English text beside
//! it.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::{
    BannerKind, EndReason, ErrorKind, MessageRole, ReadOnlyReason, RefusedEdit, SandboxKind,
};

/// A row of the table of codes, in the form of the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeRow {
    pub code: String,
    pub kind: String,
    pub args: Vec<&'static str>,
    pub action: Option<ActionId>,
}

/// Declares the codes of one carrier. Each code has a kind of that carrier, and its arguments.
macro_rules! problems {
    ($(#[$meta:meta])* $name:ident of $Kind:ident {
        $($(#[$doc:meta])* $code:ident $({ $($arg:ident: $ty:ty),+ })?: $kind:ident $(=> $action:ident)?,)+
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
        #[serde(tag = "code", content = "args", rename_all = "snake_case")]
        pub enum $name {
            $($(#[$doc])* $code $({ $($arg: $ty),+ })?,)+
        }

        impl $name {
            /// Returns the kind that the problem belongs to.
            pub fn kind(&self) -> $Kind {
                match self { $(Self::$code { .. } => $Kind::$kind,)+ }
            }

            /// Returns the next step of the user, if one is known.
            pub fn action(&self) -> Option<ActionId> {
                match self { $(Self::$code { .. } => None $(.or(Some(ActionId::$action)))?,)+ }
            }

            /// Lists the codes, for the documentation and tests.
            pub fn rows() -> Vec<CodeRow> {
                vec![$(CodeRow {
                    code: $crate::problem::markdown::snake_case(stringify!($code)),
                    kind: $crate::problem::markdown::wire_name(&$Kind::$kind),
                    args: vec![$($(stringify!($arg)),+)?],
                    action: None $(.or(Some(ActionId::$action)))?,
                }),+]
            }
        }
    };
}

/// Declares codes without a kind and an action: parts of another text.
macro_rules! codes {
    ($(#[$meta:meta])* $name:ident {
        $($(#[$doc:meta])* $code:ident $({ $($arg:ident: $ty:ty),+ })?,)+
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
        #[serde(tag = "code", content = "args", rename_all = "snake_case")]
        pub enum $name {
            $($(#[$doc])* $code $({ $($arg: $ty),+ })?,)+
        }

        impl $name {
            /// Lists the codes, for the documentation and tests.
            pub fn rows() -> Vec<CodeRow> {
                vec![$(CodeRow {
                    code: $crate::problem::markdown::snake_case(stringify!($code)),
                    kind: String::new(),
                    args: vec![$($(stringify!($arg)),+)?],
                    action: None,
                }),+]
            }
        }
    };
}

// After the macros that they use.
mod approval;
mod call;
mod check;
mod connection;
mod markdown;
mod quarantine;

pub use approval::{ApprovalQuestion, ApprovalReason, DenyDoubt, UnclearCommand};
pub use call::ToolLabel;
pub use check::ModelFinding;
pub use connection::RetryReason;
pub use markdown::section;
pub use quarantine::{QuarantineEntry, QuarantineFault};

problems! {
    /// Reason why a request was refused. Since 1.1. A later version may add codes.
    RequestProblem of ErrorKind {
        NotInitialized: NotReady,
        AlreadyShutDown: NotReady => Restart,
        /// The major versions of the two sides differ.
        ProtocolVersion { daemon: String, editor: String }: InvalidParams,
        InvalidParams { method: String, reason: String }: InvalidParams,
        UnknownCommand { command: String }: InvalidParams,
        InvalidArguments { command: String, reason: String, form: String }: InvalidParams,
        Overloaded: Overloaded,
        /// The daemon dropped the request without an answer.
        RequestDropped: Internal => ShowLog,
        InternalError: Internal => ShowLog,
        NoFolder: NotReady => OpenFolder,
        /// The configured model, or any model, cannot be used. `reason` is a code with its arguments
        /// since 1.3.
        NoUsableModel { reason: TurnProblem }: NoModel => ChooseModel,
        EmptyTask: InvalidParams,
        TurnRunning: TurnMismatch => CancelTurn,
        TurnEnded: TurnMismatch => Reply,
        /// The named session is not one of this window.
        SessionNotLoaded: UnknownSession => OpenSession,
        SessionUnknown: UnknownSession => NewTask,
        /// The workspace has no such session.
        SessionNotFound: UnknownSession => OpenSession,
        /// No session exists that could continue.
        NoSession: UnknownSession => NewTask,
        SessionRunning: SessionLocked => CancelTurn,
        /// `reason` is a code with its arguments since 1.3.
        SessionReadOnly { reason: ReadOnlyProblem }: SessionLocked,
        SessionOpenElsewhere: SessionLocked,
        SessionUnreadable { reason: String }: Internal => ShowLog,
        /// A name of a session is longer than `limit` characters, or holds control characters. Since 1.3.
        SessionNameInvalid { limit: u32 }: InvalidParams,
        InvalidPage: InvalidParams => OpenSession,
        NoEndedTurn: InvalidParams,
        QueueFull { limit: u32 }: InvalidParams,
        /// Since 1.4.
        ProcessUnknown { id: u32 }: InvalidParams,
        /// `limit` in bytes. Since 1.4.
        ProcessInputTooLong { limit: u32 }: InvalidParams,
        TooManyAttachments { limit: u32 }: InvalidParams,
        /// `limit` in bytes.
        AttachmentTooLarge { name: String, limit: u32 }: InvalidParams,
        AttachmentUnreadable { name: String, reason: String }: InvalidParams,
        /// The file may hold secrets: the agent may only read it with an approval.
        AttachmentProtected { name: String }: InvalidParams,
        /// The bytes are no image of a known type.
        NotAnImage { name: String }: InvalidParams,
        ImagesUnsupported { model: String }: InvalidParams => ChooseModel,
        EmptyFollowUp: InvalidParams,
        FollowUpStarted: TurnMismatch => ShowConversation,
        NothingToCompact: InvalidParams,
        DocumentNotOpen: InvalidParams,
        CheckpointNotFound: UnknownSession => RestoreCheckpoint,
        RulesUnreadable { reason: String }: Internal => ShowLog,
    }
}

problems! {
    /// Reason why a turn ended before its work was done. Since 1.1. A later version may add codes.
    TurnProblem of EndReason {
        /// `variable` is the environment variable that may hold the key.
        NoApiKey { provider: String, variable: String }: Failed => SetApiKey,
        /// The known keys belong to other servers (`owners`) than the configured one (`origin`).
        KeyOfOtherServer { provider: String, owners: String, origin: String }: Failed => SetApiKey,
        KeyRejected { provider: String, reason: String }: Failed => SetApiKey,
        ModelUnreachable { reason: String }: Failed => Retry,
        LocalModelUnreachable { reason: String, setting: String }: Failed => Retry,
        ModelTimeout { reason: String }: Failed => Retry,
        ModelRateLimited { reason: String }: Failed => Retry,
        /// The server asks for a wait that is too long to wait without the user.
        ModelBusy { reason: String, seconds: u32 }: Failed => Retry,
        ModelServerError { reason: String }: Failed => Retry,
        /// The stream ended before the message did.
        AnswerCut { reason: String }: Failed => Retry,
        AnswerInvalid { reason: String }: Failed => Retry,
        EmptyAnswer: Failed => Retry,
        /// The model stopped for a reason that is not in the format.
        UnknownStop { reason: String }: Failed => Retry,
        ModelCrashed { reason: String }: Failed => ShowLog,
        ModelRefused: Failed => ChooseModel,
        ModelRejected { reason: String }: Failed => ChooseModel,
        ModelNotFound { reason: String }: Failed => ChooseModel,
        /// The address of the model server is not usable, or is not the one of a model server.
        ModelAddress { reason: String, setting: String }: Failed => OpenSettings,
        ModelUnusable { reason: String, setting: String }: Failed => OpenSettings,
        /// Neither a key nor a server nor a script is configured; `setting` may name a server. Since
        /// 1.3.
        NoModelConfigured { setting: String }: Failed => ChooseModel,
        HttpClientFailed { reason: String }: Failed => ShowLog,
        ReplayScript { reason: String, setting: String }: Failed => OpenSettings,
        /// A hook of the user refused the request to the model.
        HookRefused { reason: String, setting: String }: Failed => OpenSettings,
        ContextFull { reason: String }: Failed => NewTask,
        /// The window of the model server has no room beside the system prompt and the tools, which
        /// take `head` tokens. Since 1.4.
        WindowTooSmall { window: u32, head: u32 }: Failed => ChooseModel,
        NotCompacted { reason: String }: Failed,
        RepeatedCall { tool: String }: Failed => Reply,
        /// The model wrote its tool calls as text, so nothing was run. Since 1.4.
        CallInText: Failed => ChooseModel,
        RoundLimit { limit: u32, setting: String }: Limit => ContinueTask,
        OutputLimit { setting: String }: Limit => ContinueTask,
        /// The daemon ended while the turn ran.
        Interrupted: Interrupted => ContinueTask,
        /// The editor closed the connection while the turn ran. Since 1.4.
        EditorClosed: Interrupted => ContinueTask,
        /// The turn may still run in another window.
        RunsElsewhere: Interrupted,
    }
}

problems! {
    /// Condition that the user should know now. Since 1.1. A later version may add codes.
    StatusProblem of BannerKind {
        /// A script answers in place of a model.
        AnswersReplayed: Replay => SetApiKey,
        UntrustedWorkspace: Untrusted => TrustWorkspace,
        SettingUnknown { setting: String }: Setting => OpenSettings,
        /// The old name still works.
        SettingRenamed { setting: String, old: String }: Setting => OpenSettings,
        SettingType { setting: String, expected: String, found: String }: Setting => OpenSettings,
        SettingChoice { setting: String, value: String, choices: String }: Setting => OpenSettings,
        SettingInvalid { setting: String, reason: String }: Setting => OpenSettings,
        /// Since 1.4. `limit`: most KiB of an API key; `total`: of all.
        KeyTooLong { limit: u32, total: u32 }: Setting => SetApiKey,
        StorageFailed { reason: String }: Storage => ShowLog,
        WorkspaceOpenElsewhere: Elsewhere,
        SandboxOff { setting: String }: Sandbox => OpenSettings,
        /// No sandbox works here; a program that makes one can be installed.
        SandboxMissing { reason: String }: Sandbox => Restart,
        SandboxUnsupported: Sandbox => OpenSettings,
        /// A killed daemon had left files of a command; they are in `folder` now.
        LeftoversQuarantined {
            folder: String,
            files: Vec<QuarantineEntry>,
            faults: Vec<QuarantineFault>
        }: Sandbox => ShowLog,
    }
}

problems! {
    /// Notice of a turn that does not end it. Since 1.1. A later version may add codes.
    TurnNotice of MessageRole {
        /// Old tool results are no longer sent. Tokens `before` and `after`.
        ResultsElided { before: u32, after: u32 }: Notice,
        ConversationCompacted { before: u32, after: u32 }: Notice,
        CompactedWithoutSummary { before: u32, after: u32 }: Notice,
        /// The model server refused a request with images, and accepted it without. Since 1.3.
        ImagesLeftOut: Notice => ChooseModel,
        /// The model server counted fewer tokens than were sent, so it seems to drop a part. Since 1.4.
        RequestLikelyCut { counted: u32, sent: u32 }: Notice,
        FilesQuarantined {
            folder: String,
            files: Vec<QuarantineEntry>,
            faults: Vec<QuarantineFault>
        }: Notice,
        FileNotReturned { file: String, folder: String, reason: String }: Notice,
        ApprovalsUnreadable { reason: String }: Notice => ShowLog,
        ApprovalNotSaved { reason: String }: Notice => ShowLog,
        /// Output of a hook of the user.
        HookOutput { text: String }: Notice,
        /// A restored checkpoint took `turn` back, with all turns from it to the one of the notice. Since 1.4.
        TurnsRestored { turn: String, files: u32 }: Notice,
        /// The user undid that: the turns from `turn` on count again. Since 1.4.
        TurnsRedone { turn: String }: Notice,
    }
}

problems! {
    /// Reason why the edit of a decision, an undo or a checkpoint was not made. Since 1.1. A later
    /// version may add codes.
    ReviewProblem of RefusedEdit {
        /// The text is not the one that the user decided about.
        FileChanged { file: String }: Stale,
        /// `reason` is a code with its arguments since 1.3.
        EditRefused { file: String, reason: EditProblem }: Failed,
        /// The editor did not answer in time and may still apply the edit. `reason` is a code with its
        /// arguments since 1.3.
        EditDelayed { file: String, reason: EditProblem }: Failed,
        EditAbandoned { file: String }: Failed,
        NothingToUndo: Stale,
    }
}

problems! {
    /// Reason why one edit was refused, or is not in the text yet. Since 1.3. A later version may add
    /// codes.
    EditProblem of RefusedEdit {
        FileReadOnly: ReadOnly,
        /// The file is gone or cannot be read as text.
        FileNotOpened: Closed,
        /// The file is open as a notebook with unsaved cells, which the next save would write over the
        /// edit. Since 1.4.
        NotebookUnsaved: Notebook,
        /// The editor's own words.
        EditorFailed { reason: String }: Failed,
        EditorGaveNoReason: Failed,
        /// The encoding of the file has no bytes for a character of the edit.
        EncodingLacksCharacter: Encoding,
        EditorTimedOut: Failed,
        /// The editor reported the edit as applied, but the text does not show it.
        EditNotSeen: Failed,
        EditorGone: Failed,
        /// The turn that made the edit was cancelled.
        TurnOver: Failed,
        /// The name of the file has no URI.
        PathWithoutUri: Failed,
        /// Another edit or an open document is at the new path of a move.
        PathBusy: Failed,
        PathRefused { reason: String }: Failed,
        /// A link has replaced the path since the edit was made.
        PathRedirected: Failed,
        FolderNotOpen: Failed,
        /// The edit could not be stored, so it was not sent.
        EditNotRecorded { reason: String }: Failed,
        /// The lines of an outdated edit no longer exist.
        LinesGone: Failed,
        /// The edit was made for a text of another length.
        EditMismatch: Failed,
        /// The undo of an accept left these edits accepted, and `more` that are not named.
        EditsStayAccepted { edits: Vec<StillAcceptedEdit>, more: u32 }: Failed,
    }
}

/// Edit that stays accepted after the undo of its accept. Since 1.3.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct StillAcceptedEdit {
    /// Start of its first line.
    pub line: String,
    pub reason: StillAcceptedReason,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum StillAcceptedReason {
    NotAccepted,
    /// The lines changed since the accept.
    Changed,
    /// A newer proposal changes the lines.
    Covered,
}

problems! {
    /// Reason why a session can only be read. Since 1.1. A later version may add codes.
    ReadOnlyProblem of ReadOnlyReason {
        SessionInOtherWindow: OpenElsewhere,
        /// Number of records that are shown, and of lines from the damage on.
        JournalDamaged { records: u32, lost: u32 }: Damaged,
        JournalNotWritable { reason: String }: NotWritable,
    }
}

problems! {
    /// Sandbox of commands, or the reason why there is none. Since 1.1. A later version may add codes.
    SandboxState of SandboxKind {
        InBubblewrap: Bubblewrap,
        InNamespaces: Namespaces,
        InSeatbelt: Seatbelt,
        NoSandboxBySetting: Off,
        NoSandboxWorks { reason: String }: Missing,
    }
}

macro_rules! actions {
    ($($(#[$doc:meta])* $id:ident,)+) => {
        /// Actions that a client may offer. The client owns their labels and commands. Since 1.1. A
        /// later version may add actions.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
        #[serde(rename_all = "snake_case")]
        pub enum ActionId {
            $($(#[$doc])* $id,)+
        }

        impl ActionId {
            pub const ALL: &[Self] = &[$(Self::$id),+];
        }
    };
}

actions! {
    NewTask,
    /// Sends the same task again, in the same session.
    Retry,
    /// Sends a message to the session.
    Reply,
    /// Lets the agent continue its work.
    ContinueTask,
    CancelTurn,
    OpenSession,
    RestoreCheckpoint,
    ShowConversation,
    ShowLog,
    /// Restarts the daemon.
    Restart,
    OpenFolder,
    /// Opens the setting of the argument `setting`.
    OpenSettings,
    TrustWorkspace,
    /// Enters a key, for the provider of the argument `provider` if there is one.
    SetApiKey,
    ChooseModel,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_code_belongs_to_one_problem() {
        let all = [
            RequestProblem::rows(),
            TurnProblem::rows(),
            StatusProblem::rows(),
            TurnNotice::rows(),
            ReviewProblem::rows(),
            EditProblem::rows(),
            ReadOnlyProblem::rows(),
            SandboxState::rows(),
            ApprovalQuestion::rows(),
            ApprovalReason::rows(),
            UnclearCommand::rows(),
            DenyDoubt::rows(),
            ToolLabel::rows(),
            RetryReason::rows(),
            ModelFinding::rows(),
            QuarantineEntry::rows(),
            QuarantineFault::rows(),
        ];
        let codes: Vec<String> = all.concat().into_iter().map(|row| row.code).collect();
        let distinct: BTreeSet<&String> = codes.iter().collect();
        assert_eq!(distinct.len(), codes.len());
    }

    #[test]
    fn settings_to_open_are_named() {
        let all = [
            RequestProblem::rows(),
            TurnProblem::rows(),
            StatusProblem::rows(),
            TurnNotice::rows(),
        ];
        for row in all.concat() {
            if row.action == Some(ActionId::OpenSettings) && row.code != "sandbox_unsupported" {
                assert!(row.args.contains(&"setting"), "{}", row.code);
            }
        }
    }

    #[test]
    fn a_row_names_the_code_and_the_arguments_of_the_wire() {
        let sent = serde_json::to_value(RequestProblem::QueueFull { limit: 20 }).unwrap();
        assert_eq!(sent, serde_json::json!({ "code": "queue_full", "args": { "limit": 20 } }));
        let row = RequestProblem::rows().into_iter().find(|row| row.code == "queue_full").unwrap();
        assert_eq!((row.kind.as_str(), row.args), ("invalidParams", vec!["limit"]));
    }
}

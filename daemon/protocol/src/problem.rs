//! Messages to the user. Each has a stable code, an English template, arguments and, where there is a
//! next step, an action.
//!
//! This is the only place of their texts: the daemon shows them in English, a client looks the
//! template up in its translation and maps the action to one of its commands.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use message::Argument;

use crate::{
    BannerKind, EndReason, ErrorKind, MessageRole, ReadOnlyReason, RefusedEdit, SandboxKind,
};

/// A row of a table of messages, in the form of the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeRow {
    pub code: String,
    pub kind: String,
    /// Forms of the text.
    pub templates: &'static [&'static str],
    pub args: Vec<&'static str>,
    pub action: Option<ActionId>,
}

/// Reads the text of a message: one template, or several with an expression that selects one.
macro_rules! templates {
    ([$($template:literal),+ $(,)?]) => {
        &[$($template),+]
    };
    ($template:literal) => {
        &[$template]
    };
}

/// Declares a table of messages: `Code { arguments } => Action = "template"`, or
/// `= ["first", "second"] at index` for a text with several forms.
macro_rules! codes {
    ($(#[$meta:meta])* $name:ident $(joined $separator:literal)? {
        $($(#[$doc:meta])* $code:ident $({ $($arg:ident: $ty:ty),+ $(,)? })? $(in $kind:path)?
            $(=> $action:ident)? = $text:tt $(at $form:expr)?;)+
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(tag = "code", content = "args", rename_all = "snake_case")]
        pub enum $name {
            $($(#[$doc])* $code $({ $($arg: $ty),+ })?,)+
        }

        impl $name {
            /// Returns the message as it is sent.
            #[allow(unused_variables)] // An argument of several forms may only select one.
            pub fn message(&self) -> UiMessage {
                let (code, at, templates, args): (_, _, &[&str], Vec<(&str, Option<UiArgument>)>) = match self {
                    $(Self::$code $({ $($arg),+ })? => (
                        stringify!($code),
                        [$($form,)? 0][0],
                        templates!($text),
                        vec![$($((stringify!($arg), $arg.argument())),+)?],
                    ),)+
                };
                UiMessage {
                    code: $crate::problem::snake_case(code),
                    template: templates.get(at).copied().unwrap_or_default().to_owned(),
                    args: args
                        .into_iter()
                        .filter_map(|(name, value)| Some((name.to_owned(), value?)))
                        .collect(),
                    action: self.action(),
                }
            }

            /// Returns the text in English.
            pub fn english(&self) -> String {
                self.message().english()
            }

            /// Returns the next step of the user, if one is known.
            pub fn action(&self) -> Option<ActionId> {
                match self { $(Self::$code { .. } => None $(.or(Some(ActionId::$action)))?,)+ }
            }

            /// Lists the messages, for the documentation, the translators and tests.
            pub fn rows() -> Vec<CodeRow> {
                vec![$(CodeRow {
                    code: $crate::problem::snake_case(stringify!($code)),
                    kind: String::new() $(+ &$crate::problem::wire_name(&$kind))?,
                    templates: templates!($text),
                    args: vec![$($(stringify!($arg)),+)?],
                    action: None $(.or(Some(ActionId::$action)))?,
                }),+]
            }
        }

        impl Coded for $name {
            const SEPARATOR: &'static str = [$($separator,)? "; "][0];

            fn message(&self) -> UiMessage {
                $name::message(self)
            }
        }
    };
}

/// Declares a table of messages that each have a kind, `Code { arguments } : Kind => Action = "template"`.
macro_rules! problems {
    ($(#[$meta:meta])* $name:ident of $Kind:ident {
        $($(#[$doc:meta])* $code:ident $({ $($arg:ident: $ty:ty),+ $(,)? })? : $kind:ident
            $(=> $action:ident)? = $text:tt $(at $form:expr)?;)+
    }) => {
        codes! {
            $(#[$meta])*
            $name {
                $($(#[$doc])* $code $({ $($arg: $ty),+ })? in $Kind::$kind
                    $(=> $action)? = $text $(at $form)?;)+
            }
        }

        impl $name {
            /// Returns the kind that the message belongs to.
            pub fn kind(&self) -> $Kind {
                match self { $(Self::$code { .. } => $Kind::$kind,)+ }
            }
        }
    };
}

// After the macros that they use.
mod approval;
mod call;
mod check;
mod connection;
mod message;
mod quarantine;

pub use approval::{
    ApprovalQuestion, ApprovalReason, AskedFiles, CommandRisk, SessionScope, UnclearCommand,
};
pub use call::ToolLabel;
pub use check::{CheckState, CheckedPart, FormChange, ModelFinding};
pub use connection::RetryReason;
pub use message::{Coded, Tokens, UiArgument, UiMessage, english_of_all};
pub use quarantine::{QuarantineEntry, QuarantineFault};

/// Returns the name of a unit variant on the wire.
pub fn wire_name(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => name,
        Ok(serde_json::Value::Object(message)) => {
            message["code"].as_str().unwrap_or_default().to_owned()
        }
        _ => String::new(),
    }
}

/// Converts the name of a variant as serde's `snake_case` does.
fn snake_case(variant: &str) -> String {
    let mut name = String::new();
    for c in variant.chars() {
        if c.is_ascii_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(c.to_ascii_lowercase());
    }
    name
}

problems! {
    /// Reason why a request was refused.  A later version may add codes.
    RequestProblem of ErrorKind {
        NotInitialized: NotReady = "The Cairn daemon is still starting. Try again.";
        AlreadyShutDown: NotReady => Restart = "The Cairn daemon has stopped. Restart it.";
        /// The major versions of the two sides differ.
        ProtocolVersion { daemon: String, editor: String }: InvalidParams = "The Cairn daemon speaks version {daemon} of the protocol, the editor version {editor}. Install both from the same release.";
        InvalidParams { method: String, reason: String }: InvalidParams = "The Cairn daemon did not understand {method}: {reason}";
        UnknownCommand { command: String }: InvalidParams = "The Cairn daemon has no command {command}.";
        InvalidArguments { command: String, reason: String, form: String }: InvalidParams = "The Cairn daemon did not understand the arguments of {command}: {reason}. Expected: {form}";
        Overloaded: Overloaded = "Too many requests are waiting. Try again in a moment.";
        /// The daemon dropped the request without an answer.
        RequestDropped: Internal => ShowLog = "Cairn dropped the request. Try again; the log has details.";
        InternalError: Internal => ShowLog = "Cairn failed with an internal error. Try again; the log has details.";
        NoFolder: NotReady => OpenFolder = "No folder is open. The agent works inside a folder.";
        /// The configured model, or any model, cannot be used.
        NoUsableModel { reason: TurnProblem }: NoModel => ChooseModel = "No model can be used, so the task was not started. {reason}";
        EmptyTask: InvalidParams = "The task is empty. Enter what the agent should do.";
        TurnRunning: TurnMismatch => CancelTurn = "The agent is still working in this session. Cancel the task first.";
        TurnEnded: TurnMismatch => Reply = "The task has ended. Send your message as a reply.";
        /// The named session is not one of this window.
        SessionNotLoaded: UnknownSession => OpenSession = "This session is no longer open. Open it again, or start a new task.";
        SessionUnknown: UnknownSession => NewTask = "This session is unknown. Start a new task.";
        /// The workspace has no such session.
        SessionNotFound: UnknownSession => OpenSession = "This workspace has no such session. Open another one.";
        /// No session exists that could continue.
        NoSession: UnknownSession => NewTask = "There is no session to continue. Start a new task.";
        SessionRunning: SessionLocked => CancelTurn = "The agent is working in this session. Cancel the task first.";
        SessionReadOnly { reason: UiMessage }: SessionLocked = "{reason}, so this session is read-only here. Open it again when that has changed, or fork it.";
        SessionOpenElsewhere: SessionLocked = "Another window has this session open. Close it there first.";
        SessionUnreadable { reason: String }: Internal => ShowLog = "The session cannot be read: {reason}";
        /// A name of a session is longer than `limit` characters, or holds control characters.
        SessionNameInvalid { limit: u32 }: InvalidParams = "The name is too long, or holds control characters. Enter at most {limit} characters.";
        InvalidPage: InvalidParams => OpenSession = "This part of the session is no longer available. Open the session again.";
        NoEndedTurn: InvalidParams = "The session has no completed task to fork from. Wait for the end of its task.";
        QueueFull { limit: u32 }: InvalidParams = "{limit} follow-ups are waiting already. Remove one first.";
        ProcessUnknown { id: u32 }: InvalidParams = "This session has no process {id}.";
        /// `limit` in bytes.
        ProcessInputTooLong { limit: u32 }: InvalidParams = "This input has more than {limit} bytes. Send it in parts.";
        TooManyAttachments { limit: u32 }: InvalidParams = "At most {limit} attachments can be sent with a message.";
        AttachmentTooLarge { name: String, limit: String }: InvalidParams = "{name} is too large: at most {limit} can be attached.";
        AttachmentUnreadable { name: String, reason: String }: InvalidParams = "{name} cannot be attached: {reason}";
        /// The file may hold secrets: the agent may only read it with an approval.
        AttachmentProtected { name: String }: InvalidParams = "{name} may hold secrets, so it is not attached. Ask the agent to read it: you can then allow that.";
        /// The bytes are no image of a known type.
        NotAnImage { name: String }: InvalidParams = "{name} is not a PNG, JPEG, WebP or GIF image.";
        ImagesUnsupported { model: String }: InvalidParams => ChooseModel = "{model} takes no images. Remove the image, or choose another model.";
        EmptyFollowUp: InvalidParams = "The follow-up is empty. Enter what the agent should do next, or remove it.";
        FollowUpStarted: TurnMismatch => ShowConversation = "This follow-up is no longer waiting. It has started or was removed.";
        NothingToCompact: InvalidParams = "The conversation is too short to compact.";
        DocumentNotOpen: InvalidParams = "The document of the selection is not open. Open it and select the text again.";
        CheckpointNotFound: UnknownSession => RestoreCheckpoint = "This checkpoint no longer exists. Choose another one.";
        RulesUnreadable { reason: String }: Internal => ShowLog = "The allowed commands cannot be read or changed: {reason}";
    }
}

problems! {
    /// Reason why a turn ended before its work was done.  A later version may add codes.
    TurnProblem of EndReason {
        /// `variable` is the environment variable that may hold the key.
        NoApiKey { provider: String, name: String, variable: String }: Failed => SetApiKey = "There is no API key for {name}. Set one, or export {variable} before the editor starts.";
        /// The known keys belong to other servers (`owners`) than the configured one (`origin`).
        KeyOfOtherServer { provider: String, owners: String, origin: String }: Failed => SetApiKey = "The API key belongs to {owners} and is not sent to {origin}. If it belongs there, enter it for that server.";
        KeyRejected { provider: String, name: String, reason: String }: Failed => SetApiKey = "{name} rejected the API key: {reason}.";
        ModelUnreachable { reason: String }: Failed => Retry = "{reason}. Check the network.";
        LocalModelUnreachable { reason: String, setting: String }: Failed => Retry = "{reason}. Is the local model server running?";
        ModelTimeout { reason: String }: Failed => Retry = "{reason}.";
        ModelRateLimited { reason: String }: Failed => Retry = "{reason}. The server limits the number of requests.";
        /// The server asks for a wait that is too long to wait without the user.
        ModelBusy { reason: String, seconds: u32 }: Failed => Retry = "{reason}. The server asks to wait {seconds} s before the next try.";
        ModelServerError { reason: String }: Failed => Retry = "{reason}.";
        /// The stream ended before the message did.
        AnswerCut { reason: String }: Failed => Retry = "{reason}.";
        AnswerInvalid { reason: String }: Failed => Retry = "{reason}. If it happens again, choose another model.";
        EmptyAnswer: Failed => Retry = "The model answered with nothing.";
        /// The model stopped for a reason that is not in the format.
        UnknownStop { reason: String }: Failed => Retry = "The model stopped for an unknown reason ({reason}). Nothing further was run.";
        ModelCrashed { reason: String }: Failed => ShowLog = "{reason}. The log has details.";
        ModelRefused: Failed => ChooseModel = "The model refused to answer. Nothing was run. Change the task, or choose another model.";
        ModelRejected { reason: String }: Failed => ChooseModel = "{reason}. Check the account and the model.";
        ModelNotFound { reason: String, setting: String }: Failed => ChooseModel = "{reason}. Choose another model (cairn.model.name), or check the address of the server ({setting}).";
        /// The address of the model server is not usable, or is not the one of a model server.
        ModelAddress { reason: String, setting: String }: Failed => OpenSettings = "{reason}. Check the address of the model server ({setting}).";
        ModelRedirected { reason: String, setting: String }: Failed => OpenSettings = "{reason}. Redirects are not followed: set {setting} to the final address.";
        ModelUnusable { reason: String, setting: String }: Failed => OpenSettings = "{reason}. Check the settings of the model ({setting}).";
        /// Neither a key nor a server nor a script is configured; `setting` may name a server.
        NoModelConfigured { setting: String }: Failed => ChooseModel = "Add an API key, choose a model, or set {setting} to a server on this machine.";
        HttpClientFailed { reason: String }: Failed => ShowLog = "{reason}. Check the certificates and the proxy settings of the system.";
        ReplayScript { reason: String, setting: String }: Failed => OpenSettings = "{reason}. Correct the script, or choose another one ({setting}).";
        /// A hook of the user refused the request to the model.
        HookRefused { reason: String, setting: String }: Failed => OpenSettings = "A hook of your settings ({setting}) refused the request, so nothing was sent: {reason}.";
        ContextFull { reason: String, compacted: bool }: Failed => NewTask = [
            "{reason}. The conversation does not fit the model. Choose a model with a larger context, or start a new task.",
            "{reason}. The conversation does not fit the model, even after it was compacted. Choose a model with a larger context, or start a new task.",
        ] at usize::from(*compacted);
        /// The window of the model server has no room besides the system prompt and the tools, which
        /// take `head` tokens.
        WindowTooSmall { window: u32, head: u32 }: Failed => ChooseModel = "The context window of the model server has {window} tokens, and the agent's instructions and tools take about {head} of them. Make it larger, for example 32768 tokens (Ollama: OLLAMA_CONTEXT_LENGTH, LM Studio: Context Length, llama.cpp: --ctx-size, vLLM: --max-model-len), or choose another model.";
        NotCompacted { reason: String }: Failed = "The conversation was not compacted; nothing has changed: {reason}.";
        RepeatedCall { tool: String }: Failed => Reply = "Stopped: the model kept making the same call of {tool}. Reply with a hint on what to do differently.";
        /// The model wrote its tool calls as text, so nothing was run.
        CallInText: Failed => ChooseModel = "The model wrote its tool calls as text, twice in a row, so nothing was run. Usually the chat template of the model server is the cause: start the server with its support for tools (llama.cpp: --jinja, vLLM: --enable-auto-tool-choice with a --tool-call-parser), or choose another model.";
        RoundLimit { limit: u32, setting: String }: Limit => ContinueTask = "Stopped after {limit} requests to the model. Continue the plan, or raise {setting}.";
        OutputLimit { setting: String }: Limit => ContinueTask = "The answer was cut at the output limit. Continue the plan, or raise {setting}.";
        /// The daemon ended while the turn ran.
        Interrupted: Interrupted => ContinueTask = "The daemon ended while the agent worked. Its conversation and plan were kept.";
        /// The editor closed the connection while the turn ran.
        EditorClosed: Interrupted => ContinueTask = "Stopped because the window was closed or reloaded, or it crashed. The conversation and plan were kept.";
        /// The turn may still run in another window.
        RunsElsewhere: Interrupted = "It may be running in the window that has the session open.";
    }
}

problems! {
    /// Condition that the user should know now.  A later version may add codes.
    StatusProblem of BannerKind {
        /// A script answers in place of a model.
        AnswersReplayed: Replay => SetApiKey = "Answers come from a script. To use a model, set an API key, or the address of a local server in the settings.";
        UntrustedWorkspace: Untrusted => TrustWorkspace = "This workspace is not trusted: the agent only reads in it, runs nothing and follows none of its instructions. Trust it to let the agent work.";
        SettingUnknown { setting: String }: Setting => OpenSettings = "There is no setting {setting}.";
        SettingType { setting: String, expected: String, found: String }: Setting => OpenSettings = "The value of {setting} is not used: it must be {expected}, not {found}.";
        SettingChoice { setting: String, value: String, choices: String }: Setting => OpenSettings = "The value “{value}” of {setting} is not used. Use one of {choices}.";
        SettingInvalid { setting: String, reason: String }: Setting => OpenSettings = "The value of {setting} is not used: {reason}.";
        ///  `limit`: most KiB of an API key; `total`: of all.
        KeyTooLong { limit: u32, total: u32 }: Setting => SetApiKey = "API key ignored: a key may have {limit} KiB, and all keys {total} KiB. Set a shorter one.";
        StorageFailed { reason: String }: Storage => ShowLog = "The session cannot be stored ({reason}). Until it can, the agent changes no file and runs no command.";
        WorkspaceOpenElsewhere: Elsewhere = "Another window works in this folder. Its sessions are read-only here, and edits proposed in this window are not kept over a restart.";
        SandboxOff { setting: String }: Sandbox => OpenSettings = "The sandbox is turned off ({setting}): commands can reach all your files and the network, so you are asked before each.";
        /// No sandbox works here; a program that makes one can be installed.
        SandboxMissing { reason: String }: Sandbox => Restart = "No sandbox works here ({reason}), so commands can reach all your files and the network, and you are asked before each. Install bubblewrap from the packages of the system, then restart Cairn.";
        SandboxUnsupported: Sandbox => OpenSettings = "There is no sandbox for this system, so commands can reach all your files and the network, and you are asked before each.";
        /// A killed daemon had left files of a command; they are in `folder` now.
        LeftoversQuarantined {
            folder: String,
            files: Vec<QuarantineEntry>,
            faults: Vec<QuarantineFault>
        }: Sandbox => ShowLog = [
            "Cairn was killed while a command ran. Files of the command that git, an editor or a shell could run were moved to {folder}:\n{files}\nLook at them before you move them back.",
            "Cairn was killed while a command ran. Files of the command that git, an editor or a shell could run were moved to {folder}:\n{files}\nLook at them before you move them back.\n{faults}",
        ] at usize::from(!faults.is_empty());
    }
}

problems! {
    /// Notice of a turn that does not end it.  A later version may add codes.
    TurnNotice of MessageRole {
        /// Old tool results are no longer sent.
        ResultsElided { before: Tokens, after: Tokens }: Notice = "Old tool results left out to save room: {before} → {after} tokens";
        ConversationCompacted { before: Tokens, after: Tokens }: Notice = "Conversation compacted: {before} → {after} tokens";
        CompactedWithoutSummary { before: Tokens, after: Tokens }: Notice = "Conversation compacted without a summary of the model: {before} → {after} tokens";
        /// The model server refused a request with images, and accepted it without.
        ImagesLeftOut: Notice => ChooseModel = "The model server refused the images, so the request was sent without them. Another model may read images.";
        /// The model server counted fewer tokens than were sent, so it seems to drop a part.
        RequestLikelyCut { counted: u32, sent: u32 }: Notice = "The model server counted {counted} tokens in a request of {sent} or more: it seems to drop the beginning of the conversation. Make its context window larger (Ollama: OLLAMA_CONTEXT_LENGTH, LM Studio: Context Length), and set cairn.model.contextTokens to the same size.";
        FilesQuarantined {
            folder: String,
            files: Vec<QuarantineEntry>,
            faults: Vec<QuarantineFault>
        }: Notice = [
            "Files that git, an editor or a shell runs without a question appeared or changed while the command ran. They were moved to {folder}. You have not allowed them in the workspace:\n{files}",
            "Files that git, an editor or a shell runs without a question appeared or changed while the command ran. They were moved to {folder}. You have not allowed them in the workspace:\n{files}\n{faults}",
        ] at usize::from(!faults.is_empty());
        FileNotReturned { file: String, folder: String, reason: String }: Notice = "{file} stays in {folder}: {reason}";
        ApprovalsUnreadable { reason: String }: Notice => ShowLog = "The list of always allowed commands cannot be read: {reason}.";
        ApprovalNotSaved { reason: String }: Notice => ShowLog = "“Always” could not be saved, so Cairn will ask about this command again: {reason}.";
        /// Output of a hook of the user.
        HookOutput { text: String }: Notice = "{text}";
        /// A restored checkpoint took `turn` back, with all turns from it to the one of the notice.
        TurnsRestored { turn: String, files: u32 }: Notice = "Restored to before that task. Files: {files}.";
        /// The user undid that: the turns from `turn` on count again.
        TurnsRedone { turn: String }: Notice = "The restored files are again as the agent left them.";
    }
}

problems! {
    /// Reason why the edit of a decision, an undo or a checkpoint was not made.  A later
    /// version may add codes.
    ReviewProblem of RefusedEdit {
        /// The text is not the text of the decision.
        FileChanged { file: String }: Stale = "{file} has changed meanwhile and stays as it is";
        EditRefused { file: String, reason: EditProblem }: Failed = "{file}: {reason}";
        /// The editor did not answer in time and may still apply the edit.
        EditDelayed { file: String, reason: EditProblem }: Failed = "{file}: not applied yet, but this may still happen: {reason}";
        EditAbandoned { file: String }: Failed = "{file}: the edit was dropped";
        NothingToUndo: Stale = "There is no decision to undo.";
    }
}

problems! {
    /// Reason why one edit was refused, or is not in the text yet.  A later version may add
    /// codes.
    EditProblem of RefusedEdit {
        FileReadOnly: ReadOnly = "the file is read-only";
        /// The file is gone or cannot be read as text.
        FileNotOpened: Closed = "the file is gone or cannot be read as text";
        /// The file is open as a notebook with unsaved cells, which the next save would write over the
        /// edit.
        NotebookUnsaved: Notebook = "it is open as a notebook with unsaved cells: save it first";
        /// The editor's own words.
        EditorFailed { reason: String }: Failed = "{reason}";
        EditorGaveNoReason: Failed = "the editor gave no reason";
        /// The encoding of the file has no bytes for a character of the edit.
        EncodingLacksCharacter: Encoding = "the encoding in which the file is open has no bytes for a character of the edit";
        EditorTimedOut: Failed = "the editor did not answer in time";
        /// The editor reported the edit as applied, but the text does not show it.
        EditNotSeen: Failed = "the editor reported it as applied, but the text does not show it";
        EditorGone: Failed = "the editor is closed";
        /// The turn that made the edit was cancelled.
        TurnOver: Failed = "the task has ended";
        /// The name of the file has no URI.
        PathWithoutUri: Failed = "the path cannot be written as a URI";
        /// Another edit or an open document is at the new path of a move.
        PathBusy: Failed = "the new path is in use by another edit or an open document";
        PathRefused { reason: String }: Failed = "{reason}";
        /// A link has replaced the path since the edit was made.
        PathRedirected: Failed = "a link now leads from its path to another file";
        FolderNotOpen: Failed = "no folder is open";
        /// The edit could not be stored, so it was not sent.
        EditNotRecorded { reason: String }: Failed = "it could not be stored before it was made ({reason})";
        /// The lines of an outdated edit no longer exist.
        LinesGone: Failed = "the lines it was made for no longer exist; copy what you need from it";
        /// The edit was made for a text of another length.
        EditMismatch: Failed = "it was made for another text";
        /// The undo of an accept left these edits accepted, and `more` that are not named.
        EditsStayAccepted { edits: Vec<StillAcceptedEdit>, more: u32 }: Failed = [
            "{edits}",
            "{edits}; {more} more edits stay accepted",
        ] at usize::from(*more > 0);
    }
}

codes! {
    /// Edit that stays accepted after the undo of its accept. `line`: the start of its first line.
    StillAcceptedEdit {
        EditNotAccepted { line: String } = "the edit “{line}” stays as it is: it is not accepted";
        EditChangedSince { line: String } = "the edit “{line}” stays accepted: its lines have changed since";
        EditCovered { line: String } = "the edit “{line}” stays accepted: a newer edit changes its lines";
    }
}

problems! {
    /// Reason why a session can only be read.  A later version may add codes.
    ReadOnlyProblem of ReadOnlyReason {
        SessionInOtherWindow: OpenElsewhere = "Open in another window";
        /// Number of records that are shown, and of lines from the damage on.
        JournalDamaged { records: u32, lost: u32 }: Damaged = "Its file is damaged: {records} records are shown, {lost} lines from the damage on are not";
        JournalNotWritable { reason: String }: NotWritable = "Its file cannot be written ({reason})";
    }
}

problems! {
    /// Sandbox of commands, or the reason why there is none.  A later version may add codes.
    SandboxState of SandboxKind {
        InBubblewrap: Bubblewrap = "Commands run in a sandbox (bubblewrap).";
        InNamespaces: Namespaces = "Commands run in a sandbox (Cairn's own; bubblewrap was not found or does not work).";
        NoSandboxBySetting: Off = "Commands run without a sandbox. Each needs your approval.";
        NoSandboxWorks { reason: String }: Missing = "Commands run without a sandbox. Each needs your approval. ({reason})";
    }
}

macro_rules! actions {
    ($($(#[$doc:meta])* $id:ident,)+) => {
        /// Actions that a client may offer. The client owns their labels and commands.  A
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
    use super::*;

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

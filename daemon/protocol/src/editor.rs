//! Requests of the daemon to an editor. A client that does not advertise `experimental.cairn` gets
//! standard LSP instead.

use macro_rules_attribute::apply;

use crate::{ApprovalDecision, TextEdit, UiMessage, english_of_all, method::declare_requests};

/// Changes one file. The editor applies all of it or nothing, without opening a tab or moving the
/// focus: an edit of an open document as one undo step, a deletion or a move outside of the undo
/// history. The daemon makes a change on disk that the editor refuses as `closed`: the file is not
/// open, or a save by the editor would change other lines.
#[apply(wire)]
pub struct ApplyEditParams {
    pub uri: String,
    /// Shown in the undo history.
    pub label: String,
    /// Encoding of the file on disk, unless that is plain UTF-8.
    pub encoding: Option<TextEncoding>,
    pub change: FileChange,
}

#[apply(wire)]
pub struct TextEncoding {
    /// Name in the Encoding Standard in lower case: `gbk`, `gb18030`, `big5`, `shift_jis`,
    /// `utf-16le`, `utf-8` and so on.
    pub name: String,
    /// The file begins with a byte order mark.
    pub bom: bool,
}

#[apply(wire)]
#[serde(tag = "kind", rename_all_fields = "camelCase")]
pub enum FileChange {
    /// Edits against exactly the text whose SHA-256 is `expectedHash` (hex, of the UTF-8 text
    /// without a byte order mark). Ascending and disjoint.
    Edit {
        /// Version of the open document the edits were made for.
        expected_version: Option<i32>,
        expected_hash: String,
        edits: Vec<TextEdit>,
    },
    /// Creates the file and missing folders with this text. Refused as stale if it exists.
    Create { text: String },
    /// Deletes the file if its text has this hash. Those of `emptyFolders`, innermost first, that
    /// are then empty are removed: they were created for the file.
    Delete {
        expected_hash: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[ts(optional, as = "Option<Vec<String>>")]
        empty_folders: Vec<String>,
    },
    /// Moves the file, if its text has this hash, to a path that does not exist; missing folders
    /// are created. Unsaved text moves along, unsaved. Those of `emptyFolders` that are then empty
    /// are removed.
    Rename {
        to: String,
        expected_hash: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[ts(optional, as = "Option<Vec<String>>")]
        empty_folders: Vec<String>,
    },
}

#[apply(wire)]
pub struct ApplyEditResult {
    pub applied: bool,
    pub reason: Option<RefusedEdit>,
    /// The editor's own words about a refusal as `failed`. They reach the user and the model.
    pub message: Option<String>,
    /// The document had unsaved text of the user before the edit, which only the user saves.
    pub was_dirty: bool,
}

#[apply(wire)]
#[derive(Copy)]
pub enum RefusedEdit {
    /// The text is not the one the edit was made for.
    Stale,
    ReadOnly,
    /// The document is not open, or a save would change other lines of it. The daemon then makes the
    /// change on disk.
    Closed,
    /// The file is open as a notebook with unsaved cells.
    Notebook,
    /// The encoding of the file has no bytes for a character of the edit.
    Encoding,
    Failed,
}

/// Saves these documents if they are open and dirty. The daemon names only documents that were
/// clean before its edits, never one with the user's own unsaved text.
#[apply(wire)]
pub struct SaveParams {
    pub uris: Vec<String>,
}

#[apply(wire)]
#[derive(Default)]
pub struct SaveResult {
    /// Files that could not be saved, with the reason.
    pub failed: Vec<SaveFailure>,
}

#[apply(wire)]
pub struct SaveFailure {
    pub uri: String,
    pub reason: String,
}

/// Asks for permission. The prompt shows `command` whole, as data. The result or `agent/answer`
/// answers it, whichever comes first. The end of the turn withdraws it: a `tool` notification takes
/// the call out of `awaitingApproval`. Without `turnId` and `callId` (both empty), it asks about files
/// that appeared during a process, and outlives the turn.
#[apply(wire)]
#[derive(Default)]
pub struct ApproveParams {
    pub approval_id: String,
    pub session_id: String,
    pub turn_id: String,
    pub call_id: String,
    /// Title, such as `Run a command` or `Change a protected file`.
    pub title: UiMessage,
    /// Kind of the effect. Absent: an older daemon asks.
    pub kind: Option<ApprovalKind>,
    /// Command, byte for byte; empty for a question about files.
    pub command: String,
    /// The files of a question about files, in a line that cannot be read as a command.
    pub files: Option<UiMessage>,
    /// Working directory of the command.
    pub cwd: String,
    /// Reasons for the question, each a sentence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<UiMessage>>")]
    pub reasons: Vec<UiMessage>,
    /// Rules that "always" would store: exact commands, one for each part of this one that still
    /// needs permission. Empty: "always" is no answer to this question.
    #[serde(default)]
    pub rules: Vec<String>,
    /// Rule that `allowPattern` would store: the beginning of the command, then ` *` for any further words.
    /// Shown with that answer. Absent: no such answer.
    pub pattern: Option<String>,
    /// Folder of these rules, if it is not `cwd`: the folder that the command enters first. Shown
    /// with them.
    pub rules_folder: Option<String>,
    /// Access that a command gets besides the usual sandbox; `title` names it, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<Need>>")]
    pub needs: Vec<Need>,
    /// Effects of the command that the user should see before an answer. Empty: none that its words show.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<UiMessage>>")]
    pub risks: Vec<UiMessage>,
    /// Title of the subagent that asks; absent: the agent itself asks.
    pub subagent: Option<String>,
    /// Proposed change of the file. Neither the file nor its document contains any of it yet.
    pub preview: Option<Preview>,
    /// Scope of `allowSession`, in a few words: `exactly this command, again`.
    pub for_session: UiMessage,
    /// File that the command follows and that changed since the user allowed it. Shown with the
    /// question; `reasons` name it, too.
    pub changed: Option<String>,
    /// `files` lists files that a command left and that are in quarantine; nothing runs. Only a
    /// person may allow it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[ts(optional, as = "Option<bool>")]
    pub quarantined: bool,
}

impl ApproveParams {
    /// Returns what the question is about: the command, or the line that names the files.
    pub fn subject(&self) -> String {
        self.files.as_ref().map_or_else(|| self.command.clone(), UiMessage::english)
    }

    /// Returns the reasons in English.
    pub fn reason(&self) -> String {
        english_of_all(&self.reasons, " ")
    }

    /// Returns the effects that make an answer risky, in English; empty without one.
    pub fn careful(&self) -> String {
        match english_of_all(&self.risks, ", ") {
            risks if risks.is_empty() => risks,
            risks => format!("Careful: {risks}."),
        }
    }

    /// Returns the risks with the reasons, in English.
    pub fn warning(&self) -> String {
        [self.careful(), self.reason()].join(" ").trim().to_owned()
    }
}

#[apply(wire)]
pub struct Preview {
    /// Unified diff. Bounded; a truncated one is marked at its end.
    pub patch: String,
    /// The whole texts. Absent: one is too long to be sent.
    pub texts: Option<PreviewTexts>,
}

/// Texts before and after a change. A missing file is an empty text.
#[apply(wire)]
pub struct PreviewTexts {
    pub before: String,
    pub after: String,
}

/// Kind of effect that a question is about.
#[apply(wire)]
#[derive(Copy)]
pub enum ApprovalKind {
    /// A command in its sandbox, with the access in `needs`.
    Command,
    /// A command without a sandbox, where none works: it has the user's rights.
    UnsandboxedCommand,
    /// Reads a file that may hold secrets.
    Read,
    /// Changes, moves or deletes a protected file.
    Change,
}

/// Access that a single command may be granted.
#[apply(wire)]
#[derive(Copy)]
pub enum Need {
    Network,
    /// `.git` is writable, except hooks and config.
    Git,
}

#[apply(wire)]
pub struct ApproveResult {
    pub decision: ApprovalDecision,
    /// Text of the user for the model, with any decision.
    pub feedback: Option<String>,
}

/// Asks the user a question of the agent. Sent only to a client with `experimental.cairn.ask` at
/// `initialize`. The end of the call or of its turn withdraws it.
#[apply(wire)]
pub struct AskParams {
    pub question_id: String,
    pub session_id: String,
    pub turn_id: String,
    pub call_id: String,
    /// Question in the words of the model.
    pub text: String,
    /// Answers that the model offers. The user may write another one.
    pub options: Vec<String>,
}

#[apply(wire)]
pub struct AskResult {
    /// Absent: the user dismissed the question.
    pub answer: Option<String>,
}

declare_requests! {
    /// Requests of the daemon to the editor.
    REQUESTS:
    ApplyEdit("agent/applyEdit", ApplyEditParams) -> ApplyEditResult,
    Save("agent/save", SaveParams) -> SaveResult,
    Approve("agent/approve", ApproveParams) -> ApproveResult,
    Ask("agent/ask", AskParams) -> AskResult,
}

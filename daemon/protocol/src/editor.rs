//! What the daemon asks of an editor. A client that does not advertise
//! `experimental.cairn` is never sent these; the daemon falls back to standard LSP.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::{ApprovalDecision, RequestMethod, TextEdit};

/// Change one file. The editor applies all of it or nothing, as one undo step, opening no tab and
/// moving no focus. A file that was not open, or was saved before the edit and not visible, is saved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ApplyEditParams {
    pub uri: String,
    /// Shown in the undo history.
    pub label: String,
    /// Encoding of the file on disk, of one that is not plain UTF-8. A file that is not open is
    /// opened, or made, in this encoding; where that is not possible the change is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub encoding: Option<TextEncoding>,
    pub change: FileChange,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct TextEncoding {
    /// Name in the Encoding Standard in lower case: `gbk`, `gb18030`, `big5`, `shift_jis`,
    /// `utf-16le`, `utf-8` and so on.
    pub name: String,
    /// The file begins with a byte order mark.
    pub bom: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum FileChange {
    /// Edits against exactly the text whose SHA-256 is `expectedHash` (hex, of the UTF-8 text
    /// without a byte order mark). Ascending and disjoint.
    Edit {
        /// Version of the open document the edits were made for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        expected_version: Option<i32>,
        expected_hash: String,
        edits: Vec<TextEdit>,
    },
    /// Create the file, and missing folders, with this text. Refused as stale if it exists.
    Create { text: String },
    /// Delete the file if its text has this hash. Of these folders, innermost first, the ones that
    /// are empty then go too: they were made for the file.
    Delete {
        expected_hash: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[ts(optional, as = "Option<Vec<String>>")]
        empty_folders: Vec<String>,
    },
    /// Move the file, if its text has this hash, to where nothing is; missing folders are made.
    /// Unsaved text moves along, unsaved. Of these folders the ones that are empty then go.
    Rename {
        to: String,
        expected_hash: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[ts(optional, as = "Option<Vec<String>>")]
        empty_folders: Vec<String>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ApplyEditResult {
    pub applied: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub reason: Option<RefusedEdit>,
    /// Details of a refusal for the log and the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub message: Option<String>,
    /// The document had unsaved text of the user before the edit: it is theirs to save.
    pub was_dirty: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum RefusedEdit {
    /// The text is not the one the edit was made for.
    Stale,
    ReadOnly,
    /// The file is gone or cannot be opened as text.
    Closed,
    Failed,
}

/// Save these documents if they are open and dirty. Never a document with the user's own unsaved
/// text: the daemon names only ones that were clean before its edits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SaveParams {
    pub uris: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SaveResult {
    /// Files that could not be saved, with the reason.
    pub failed: Vec<SaveFailure>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SaveFailure {
    pub uri: String,
    pub reason: String,
}

/// May this run? The prompt shows `command` whole, as data. Answered by the result or by
/// `agent/answer`, whichever comes first; a turn that ends withdraws it (a `tool` notification
/// takes the call out of `awaitingApproval`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ApproveParams {
    pub approval_id: String,
    pub session_id: String,
    pub turn_id: String,
    pub call_id: String,
    /// `Run a command`, `Change a protected file`.
    pub title: String,
    /// Kind of effect that is asked for. Absent: an older daemon asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub kind: Option<ApprovalKind>,
    /// Exactly what will run, byte for byte.
    pub command: String,
    /// Where it will run.
    pub cwd: String,
    /// Why it is asked, in a sentence.
    pub reason: String,
    /// What "always" would keep: exact commands, one for each part of this one that is still asked
    /// for. Empty: "always" is no answer to this question.
    #[serde(default)]
    pub rules: Vec<String>,
    /// Where they would hold, if that is not `cwd`: the folder that the command enters first. Shown
    /// beside them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub rules_folder: Option<String>,
    /// What a command gets besides the usual sandbox; `title` says it, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<Need>>")]
    pub needs: Vec<Need>,
    /// The title of the child that asks; absent: the agent itself does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub child: Option<String>,
    /// What would become of the file: nothing of it is in the file or in its document yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub preview: Option<Preview>,
    /// What `allowSession` is a yes to, in a few words: `exactly this command`.
    #[serde(default)]
    pub for_session: String,
    /// File that says what the command does and that changed since the user allowed it. Shown with the
    /// question; `reason` says it, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub changed: Option<String>,
    /// `command` lists files that a command left and that are in quarantine; nothing runs. Only a
    /// person may say yes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[ts(optional, as = "Option<bool>")]
    pub quarantined: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Preview {
    /// As a unified diff. Bounded; one that was cut says so at its end.
    pub patch: String,
    /// The whole texts. Absent: one is too long to be sent, and the patch is all there is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub texts: Option<PreviewTexts>,
}

/// A file that is not there is an empty text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PreviewTexts {
    pub before: String,
    pub after: String,
}

/// Kind of effect that a question is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum ApprovalKind {
    /// A command in its sandbox, with the `needs` that are named.
    Command,
    /// A command where no sandbox works: it has the user's rights.
    UnsandboxedCommand,
    /// To read a file that may hold secrets.
    Read,
    /// To change, move or delete a protected file.
    Change,
}

/// What a command may be granted, for that command only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum Need {
    Network,
    /// `.git` is writable, except hooks and config.
    Git,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ApproveResult {
    pub decision: ApprovalDecision,
    /// Words of the user for the model, whatever the decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub feedback: Option<String>,
}

macro_rules! request {
    ($name:ident, $method:literal, $params:ty, $result:ty) => {
        #[doc = concat!("`", $method, "`, from the daemon to the editor")]
        #[derive(Debug)]
        pub struct $name;
        impl RequestMethod for $name {
            const METHOD: &'static str = $method;
            type Params = $params;
            type Result = $result;
        }
    };
}

request!(ApplyEdit, "agent/applyEdit", ApplyEditParams, ApplyEditResult);
request!(Save, "agent/save", SaveParams, SaveResult);
request!(Approve, "agent/approve", ApproveParams, ApproveResult);

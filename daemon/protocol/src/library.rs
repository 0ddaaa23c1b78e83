//! Sessions of a workspace, current and earlier: list, search, open, rename, fork, delete, restore,
//! export.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::{Empty, EndReason, SessionSnapshot, TranscriptEntry, method::declare_client_requests};

/// Requests a page of this workspace's sessions, most recently used first. A session in memory costs
/// no read; any other one at most the last 256 KiB of its file, whatever its length.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ListSessionsParams {
    /// `next` of the previous page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub cursor: Option<String>,
    /// Size of the page: 50 by default, 200 at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub limit: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ListSessionsResult {
    pub sessions: Vec<SessionSummary>,
    /// Present if more follow: the `cursor` of the next page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub next: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SessionSummary {
    pub session_id: String,
    /// Beginning of the first message; empty if there is none.
    pub task: String,
    /// Name that the user gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub name: Option<String>,
    /// Milliseconds since 1970.
    #[ts(type = "number")]
    pub updated_ms: u64,
    pub turns: u32,
    pub running: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub state: Option<SessionState>,
    /// Reason for which its newest turn ended. Absent while one runs, and before the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub end: Option<EndReason>,
    /// Last line of the newest answer, or of the failure of its turn; at most 200 characters. Absent
    /// while a turn runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub last_line: Option<String>,
    /// Proposed edits of the session that this window keeps and that wait for a decision.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[ts(optional, as = "Option<u32>")]
    pub pending_edits: u32,
    /// Follow-ups that wait.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[ts(optional, as = "Option<u32>")]
    pub queued: u32,
    /// Estimated cost of the session in millionths of a dollar; present only if every price is
    /// known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional, type = "number")]
    pub cost_micros: Option<u64>,
    /// Completed items of its plan.
    pub done_items: u32,
    pub open_items: u32,
    /// The session in view in this window.
    pub current: bool,
    /// Another window has it open: this one can read, fork and export it.
    pub locked_elsewhere: bool,
}

/// State of a session in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum SessionState {
    Running,
    /// A turn runs and waits for an approval, an answer or a decision of the user.
    Waiting,
    Ended,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Searches the names, tasks, messages and titles of calls of this workspace's sessions, most recently
/// used session first. Case does not matter. `$/cancelRequest` ends it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SearchSessionsParams {
    /// At most 200 characters of one line. A longer or empty one has no match.
    pub query: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SearchSessionsResult {
    /// At most 50.
    pub matches: Vec<SessionMatch>,
    /// True if a limit ended the search: 50 matches, 256 MiB or 10 seconds.
    pub limited: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SessionMatch {
    pub session: SessionSummary,
    /// First line with the text, shortened around it to about 200 characters.
    pub line: String,
}

/// Brings a session into view. A session that another window has open, or that is damaged, is
/// `readOnly`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct OpenSessionParams {
    pub session_id: String,
    /// `earlier` of a snapshot or of the previous page. The answer is then only the part of the
    /// transcript before it, and no session comes into view.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub before: Option<String>,
    /// The same for the part before this turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub before_turn: Option<String>,
    /// The same for the part before this call, which is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub before_call: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum OpenSessionResult {
    /// The session is in view. Its transcript holds the newest entries.
    Opened { session: Box<SessionSnapshot> },
    Earlier {
        transcript: Vec<TranscriptEntry>,
        /// Present if earlier entries exist.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        earlier: Option<String>,
    },
}

/// Creates a session with the conversation of another one, and brings it into view.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ForkSessionParams {
    pub session_id: String,
    /// Last turn to copy. By default the newest one that ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub at_turn: Option<String>,
}

/// Gives a session a name, also while it runs. Refused while another window has it open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RenameSessionParams {
    pub session_id: String,
    /// At most 200 characters, without control characters. Space around it is removed. Empty: the
    /// session no longer has a name, and is shown by its first message.
    pub name: String,
}

/// Deletes a session. Refused while it runs, and while another window has it open. For ten minutes
/// `agent/sessions/restore` brings it back; later its files are removed from the disk.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct DeleteSessionParams {
    pub session_id: String,
}

/// Brings a deleted session back as it was. It is not in view then.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RestoreSessionParams {
    pub session_id: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ExportSessionParams {
    pub session_id: String,
    pub format: ExportFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum ExportFormat {
    /// Text for people.
    Markdown,
    /// Script for the `replay` provider: the model's answers, in order.
    Replay,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ExportSessionResult {
    Text {
        text: String,
    },
    /// The export is longer than 4 MiB and was written to this file, which only the user can read.
    File {
        uri: String,
    },
}

declare_client_requests! {
    REQUESTS:
    ListSessions("agent/sessions/list", ListSessionsParams {}) -> ListSessionsResult,
    SearchSessions("agent/sessions/search", SearchSessionsParams { query }) -> SearchSessionsResult,
    OpenSession("agent/sessions/open", OpenSessionParams {}) -> OpenSessionResult,
    ForkSession("agent/sessions/fork", ForkSessionParams {}) -> OpenSessionResult,
    RenameSession("agent/sessions/rename", RenameSessionParams { name }) -> Empty,
    DeleteSession("agent/sessions/delete", DeleteSessionParams {}) -> Empty,
    RestoreSession("agent/sessions/restore", RestoreSessionParams {}) -> Empty,
    ExportSession("agent/sessions/export", ExportSessionParams {}) -> ExportSessionResult,
}

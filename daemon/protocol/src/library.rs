//! Sessions of a workspace, current and earlier: list, search, open, rename, fork, delete, restore,
//! export.

use macro_rules_attribute::apply;

use crate::{
    Empty, EndReason, SessionParams, SessionSnapshot, TranscriptEntry,
    method::declare_client_requests,
};

/// Requests a page of this workspace's sessions, most recently used first. A session in memory costs
/// no read; any other one at most the last 256 KiB of its file, whatever its length.
#[apply(wire)]
#[derive(Default)]
pub struct ListSessionsParams {
    /// `next` of the previous page.
    pub cursor: Option<String>,
    /// Size of the page: 50 by default, 200 at most.
    pub limit: Option<u32>,
}

#[apply(wire)]
#[derive(Default)]
pub struct ListSessionsResult {
    pub sessions: Vec<SessionSummary>,
    /// Present if more follow: the `cursor` of the next page.
    pub next: Option<String>,
}

/// Facts that are stored with a session, shown in the list of sessions and told with its snapshot. The
/// lines of earlier versions have none of a new fact.
#[apply(wire)]
#[derive(Default)]
pub struct SessionFacts {
    /// Name that the user gave it.
    pub name: Option<String>,
}

#[apply(wire)]
pub struct SessionSummary {
    pub session_id: String,
    /// Beginning of the first message; empty if there is none.
    pub task: String,
    #[serde(flatten)]
    pub facts: SessionFacts,
    /// Milliseconds since 1970.
    #[ts(type = "number")]
    pub updated_ms: u64,
    pub turns: u32,
    pub running: bool,
    pub state: Option<SessionState>,
    /// Reason for which its newest turn ended. Absent while one runs, and before the first one.
    pub end: Option<EndReason>,
    /// Last line of the newest answer, or of the failure of its turn; at most 200 characters. Absent
    /// while a turn runs.
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
#[apply(wire)]
#[derive(Copy)]
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
#[apply(wire)]
pub struct SearchSessionsParams {
    /// At most 200 characters of one line. A longer or empty one has no match.
    pub query: String,
}

#[apply(wire)]
#[derive(Default)]
pub struct SearchSessionsResult {
    /// At most 50.
    pub matches: Vec<SessionMatch>,
    /// True if a limit ended the search: 50 matches, 256 MiB or 10 seconds.
    pub limited: bool,
}

#[apply(wire)]
pub struct SessionMatch {
    pub session: SessionSummary,
    /// First line with the text, shortened around it to about 200 characters.
    pub line: String,
}

/// Brings a session into view. A session that another window has open, or that is damaged, is
/// `readOnly`.
#[apply(wire)]
#[derive(Default)]
pub struct OpenSessionParams {
    pub session_id: String,
    /// `earlier` of a snapshot or of the previous page. The answer is then only the part of the
    /// transcript before it, and no session comes into view.
    pub before: Option<String>,
    /// The same for the part before this turn.
    pub before_turn: Option<String>,
    /// The same for the part before this call, which is over.
    pub before_call: Option<String>,
}

#[apply(wire)]
#[serde(tag = "kind", rename_all_fields = "camelCase")]
pub enum OpenSessionResult {
    /// The session is in view. Its transcript holds the newest entries.
    Opened { session: Box<SessionSnapshot> },
    Earlier {
        transcript: Vec<TranscriptEntry>,
        /// Present if earlier entries exist.
        earlier: Option<String>,
    },
}

/// Creates a session with the conversation of another one, and brings it into view.
#[apply(wire)]
#[derive(Default)]
pub struct ForkSessionParams {
    pub session_id: String,
    /// Last turn to copy. By default the newest one that ended.
    pub at_turn: Option<String>,
}

/// Gives a session a name, also while it runs. Refused while another window has it open.
#[apply(wire)]
pub struct RenameSessionParams {
    pub session_id: String,
    /// At most 200 characters, without control characters. Space around it is removed. Empty: the
    /// session no longer has a name, and is shown by its first message.
    pub name: String,
}

#[apply(wire)]
pub struct ExportSessionParams {
    pub session_id: String,
    pub format: ExportFormat,
}

#[apply(wire)]
#[derive(Copy)]
pub enum ExportFormat {
    /// Text for people.
    Markdown,
    /// Script for the `replay` provider: the model's answers, in order.
    Replay,
}

#[apply(wire)]
#[serde(tag = "kind", rename_all_fields = "camelCase")]
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
    DeleteSession("agent/sessions/delete", SessionParams {}) -> Empty,
    RestoreSession("agent/sessions/restore", SessionParams {}) -> Empty,
    ExportSession("agent/sessions/export", ExportSessionParams {}) -> ExportSessionResult,
}

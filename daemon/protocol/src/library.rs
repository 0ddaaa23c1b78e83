//! Sessions of a workspace, current and earlier: list, open, fork, delete, export.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::{Empty, RequestMethod, SessionSnapshot, TranscriptEntry, request::request};

/// Requests a page of this workspace's sessions, most recently used first. Its cost is the end of
/// each file on the page, independent of the files' lengths.
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
    /// Milliseconds since 1970.
    #[ts(type = "number")]
    pub updated_ms: u64,
    pub turns: u32,
    pub running: bool,
    /// Completed items of its plan.
    pub done_items: u32,
    pub open_items: u32,
    /// The session in view in this window.
    pub current: bool,
    /// Another window has it open: this one can read, fork and export it.
    pub locked_elsewhere: bool,
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

/// Deletes a session from the disk. Refused while it runs, and while another window has it open.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct DeleteSessionParams {
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

request!(ListSessions, "agent/sessions/list", ListSessionsParams, ListSessionsResult);
request!(OpenSession, "agent/sessions/open", OpenSessionParams, OpenSessionResult);
request!(ForkSession, "agent/sessions/fork", ForkSessionParams, OpenSessionResult);
request!(DeleteSession, "agent/sessions/delete", DeleteSessionParams, Empty);
request!(ExportSession, "agent/sessions/export", ExportSessionParams, ExportSessionResult);

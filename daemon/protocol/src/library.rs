//! The sessions of a workspace, this one's and earlier ones: list, open, fork, delete, export.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::{Empty, RequestMethod, SessionSnapshot, TranscriptEntry, request::request};

/// A page of the sessions of this workspace, those used last first. It costs the end of each file on
/// the page, however long the files are.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ListSessionsParams {
    /// `next` of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub cursor: Option<String>,
    /// 50 without it, 200 at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub limit: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ListSessionsResult {
    pub sessions: Vec<SessionSummary>,
    /// There are more: ask with it as `cursor`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub next: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SessionSummary {
    pub session_id: String,
    /// The words it began with, or their beginning; empty when nobody has said any.
    pub task: String,
    /// Milliseconds since 1970.
    #[ts(type = "number")]
    pub updated_ms: u64,
    pub turns: u32,
    pub running: bool,
    /// Items of its plan.
    pub done_items: u32,
    pub open_items: u32,
    /// The one in view in this window.
    pub current: bool,
    /// Another window has it: here it can be read, forked and exported.
    pub locked_elsewhere: bool,
}

/// Brings a session into view. One that another window has, or that is damaged, comes `readOnly`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct OpenSessionParams {
    pub session_id: String,
    /// `earlier` of a snapshot or of the page before: only what was said before that is answered,
    /// and nothing comes into view.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub before: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum OpenSessionResult {
    /// It is in view. Its transcript is the newest part of all that was said in it.
    Opened { session: Box<SessionSnapshot> },
    Earlier {
        transcript: Vec<TranscriptEntry>,
        /// There is more before it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        earlier: Option<String>,
    },
}

/// A new session with the conversation of another one. It comes into view.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ForkSessionParams {
    pub session_id: String,
    /// The last turn to take along. Without it: the newest one that is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub at_turn: Option<String>,
}

/// Removes a session from the disk. Refused while it runs, and while another window has it.
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
    /// To read.
    Markdown,
    /// A script that the `replay` provider plays: the answers of the model, in order.
    Replay,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ExportSessionResult {
    Text {
        text: String,
    },
    /// It is too long for an answer (more than 4 MiB) and in this file, which only the user can read.
    File {
        uri: String,
    },
}

request!(ListSessions, "agent/sessions/list", ListSessionsParams, ListSessionsResult);
request!(OpenSession, "agent/sessions/open", OpenSessionParams, OpenSessionResult);
request!(ForkSession, "agent/sessions/fork", ForkSessionParams, OpenSessionResult);
request!(DeleteSession, "agent/sessions/delete", DeleteSessionParams, Empty);
request!(ExportSession, "agent/sessions/export", ExportSessionParams, ExportSessionResult);

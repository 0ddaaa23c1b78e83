//! Tool calls in a session's journal. The rules of [`super::lines`] hold here.

use cairn_core::ids::{CallId, SessionId, TurnId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Command that was run under a plan item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredCommand {
    pub call_id: CallId,
    /// Title, such as `Run npm test`.
    pub title: String,
    /// Code and arguments of the title, in the form of the protocol of the writer. Absent in the lines of
    /// earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<Box<Value>>,
    pub state: StoredCallState,
    /// Duration in milliseconds. Absent until the command ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elapsed_ms: Option<u64>,
}

/// Tool call of the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredCall {
    /// Session of the call; a subagent's own session for a call of a subagent.
    pub session_id: SessionId,
    pub turn_id: TurnId,
    /// Revision with which it was shown.
    pub rev: u32,
    pub call_id: CallId,
    /// Name of the tool.
    pub name: String,
    /// One line, such as `Read src/cart.mjs`.
    pub title: String,
    /// Code and arguments of the title, in the form of the protocol of the writer. Absent in the lines of
    /// earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<Box<Value>>,
    pub state: StoredCallState,
    /// Id of the plan item that was in progress. Absent if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_item: Option<String>,
    /// Output of a command, or the reason of a failure. Absent if there is no such text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// URI of the file that the call touched. Absent if it touched none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    /// Call that started the subagent. Absent for a call of the session itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<StoredParent>,
    /// Absent for an unknown tool. This and the fields below are absent in the lines of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_kind: Option<StoredKind>,
    /// Absent if the call was about no file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<StoredTarget>,
    /// Absent if there is nothing to count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stats: Option<StoredStats>,
    /// Milliseconds since 1970. Absent if the call never ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<u64>,
    /// Milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<u64>,
    /// Absent if the call needed no decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Box<StoredCallDecision>>,
    /// Plan items that the call completed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub completed: Vec<StoredCompletedItem>,
}

/// Plan item that a call completed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredCompletedItem {
    pub id: String,
    pub content: String,
    /// Number of completed items, with this one.
    pub place: u32,
    pub total: u32,
}

/// Decision that let a call run, or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredCallDecision {
    pub decision: StoredAnswer,
    pub by: StoredDecider,
    /// Words of the user to the model. Absent if there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
    /// Milliseconds since 1970.
    pub at: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StoredAnswer {
    AllowOnce,
    AllowSession,
    AllowAlways,
    AllowPattern,
    Deny,
}

/// Origin of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StoredDecider {
    Answer,
    Session,
    Rule,
    Nobody,
}

/// Effect of a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StoredKind {
    Read,
    Search,
    Edit,
    Create,
    Delete,
    Move,
    Run,
    Plan,
    Task,
    Ask,
}

/// File that a call was about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredTarget {
    pub uri: String,
    /// First line, counted from 0, and the line after the last. Absent: the whole file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<(u32, u32)>,
}

/// Numbers about a call; each is absent where it has no meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredStats {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub added: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removed: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matches: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
}

/// State of a tool call. The first three are only in the commands under a plan item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StoredCallState {
    Queued,
    AwaitingApproval,
    Running,
    Done,
    Failed,
    Declined,
    Cancelled,
}

/// Call that started a subagent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredParent {
    /// Session whose journal this is.
    pub session_id: SessionId,
    pub turn_id: TurnId,
    pub call_id: CallId,
    /// Id of the plan item that was in progress. Absent if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_item: Option<String>,
}

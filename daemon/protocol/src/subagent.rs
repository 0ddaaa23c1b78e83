//! Subagents: loops that the model starts with an empty context for a part of its task. The editor
//! shows them under the call that started them. They are not sessions of the user.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::{EndReason, PlanItem, Usage};

/// Snapshot of a subagent without its calls, which are `agent/tool`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SubagentNotification {
    /// The subagent's own session. With `turnId`, `agent/cancel` ends this subagent alone.
    pub session_id: String,
    pub turn_id: String,
    pub rev: u32,
    pub parent: ParentCall,
    /// Index of the call among those of its turn: subagents of one message begin in any order.
    pub place: u32,
    /// Short description of its task, by the model.
    pub title: String,
    pub phase: SubagentPhase,
    /// Its own plan; empty if it has none.
    pub items: Vec<PlanItem>,
    pub completed: u32,
    pub total: u32,
    pub rounds: u32,
    /// Its tokens, which also count in its parent's usage.
    pub usage: Usage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum SubagentPhase {
    /// Waits until other subagents of its session end.
    Waiting,
    Running,
    Ended {
        reason: EndReason,
    },
}

/// Call that started a subagent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ParentCall {
    pub session_id: String,
    pub turn_id: String,
    pub call_id: String,
    /// The plan item in progress when the call was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub plan_item: Option<String>,
}

/// Subagent that made an edit, with its plan item at that time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SubagentOrigin {
    pub session_id: String,
    /// Its call that made the edit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub call_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub plan_item: Option<String>,
}

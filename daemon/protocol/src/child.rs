//! Children: loops that the model starts with a clean context for a part of its task. They are
//! told of under the call that started them, and are no sessions of the user's.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::{EndReason, PlanItem, Usage};

/// A child as it stands: everything that is shown of it but its calls, which are `agent/tool`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ChildNotification {
    /// The child's own; with `turnId` what `agent/cancel` takes to end this child alone.
    pub session_id: String,
    pub turn_id: String,
    pub rev: u32,
    pub parent: ParentCall,
    /// Of the call among those of its turn: children of one message begin in any order.
    pub place: u32,
    /// What it is to do, in a few words of the model.
    pub title: String,
    pub phase: ChildPhase,
    /// Its own plan; empty when it has made none.
    pub items: Vec<PlanItem>,
    pub completed: u32,
    pub total: u32,
    pub rounds: u32,
    /// Its tokens; they are in its parent's too.
    pub usage: Usage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ChildPhase {
    /// For others of its session to end.
    Waiting,
    Running,
    Ended {
        reason: EndReason,
    },
}

/// The call that started a child.
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

/// The child that made an edit, and its own plan item then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ChildItem {
    pub session_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub plan_item: Option<String>,
}

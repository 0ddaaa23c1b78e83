//! Subagents: loops that the model starts with an empty context for a part of its task. The editor
//! shows them under the call that started them. They are not sessions of the user.

use macro_rules_attribute::apply;

use crate::{EndReason, PlanItem, Usage};

/// Snapshot of a subagent without its calls, which are `agent/tool`.
#[apply(wire)]
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

#[apply(wire)]
#[derive(Copy)]
#[serde(tag = "kind", rename_all_fields = "camelCase")]
pub enum SubagentPhase {
    /// Waits until other subagents of its session end.
    Waiting,
    Running,
    Ended {
        reason: EndReason,
    },
}

/// Call that started a subagent.
#[apply(wire)]
pub struct ParentCall {
    pub session_id: String,
    pub turn_id: String,
    pub call_id: String,
    /// The plan item in progress when the call was made.
    pub plan_item: Option<String>,
}

/// Subagent that made an edit, with its plan item at that time.
#[apply(wire)]
pub struct SubagentOrigin {
    pub session_id: String,
    /// Its call that made the edit.
    pub call_id: Option<String>,
    pub plan_item: Option<String>,
}

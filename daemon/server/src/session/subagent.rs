//! Subagents of the sessions: those that wait, and those that clients show.

use std::sync::Arc;

use cairn_core::{
    ids::{SessionId, TurnId},
    model::Usage as Tokens,
    review::Origin,
    subagent::SubagentReport,
};
use cairn_protocol::{ParentCall, SubagentNotification, SubagentPhase, ToolNotification};
use tokio::sync::oneshot;

use crate::{ports::SubagentTools, store::journal::Writer};

/// A subagent. When it runs, it is in the entry of its session.
pub(super) struct Subagent {
    pub(super) session: SessionId,
    pub(super) turn: TurnId,
    /// The call that started it.
    pub(super) parent: Origin,
    /// Journal of its parent.
    pub(super) journal: Option<Arc<Writer>>,
    pub(super) place: u32,
    pub(super) title: String,
    pub(super) prompt: String,
    pub(super) tools: SubagentTools,
    pub(super) max_rounds: u32,
    pub(super) phase: SubagentPhase,
    /// Tokens already reported to the parent.
    pub(super) counted: Tokens,
    /// Paths of the files it changed, in order.
    pub(super) files: Vec<String>,
    pub(super) reply: oneshot::Sender<SubagentReport>,
}

pub(super) struct ShownSubagent {
    pub(super) note: SubagentNotification,
    /// Calls of an ended subagent. Until then its session holds them.
    pub(super) calls: Vec<ToolNotification>,
}

impl Subagent {
    /// Returns the first notification about a new subagent.
    pub(super) fn note(&self, rev: u32) -> SubagentNotification {
        SubagentNotification {
            session_id: self.session.clone().into(),
            turn_id: self.turn.clone().into(),
            rev,
            parent: parent_call(&self.parent),
            place: self.place,
            title: self.title.clone(),
            phase: self.phase,
            items: Vec::new(),
            completed: 0,
            total: 0,
            rounds: 0,
            usage: cairn_protocol::Usage::default(),
        }
    }
}

/// Returns the call that started a subagent, for the client.
pub(super) fn parent_call(parent: &Origin) -> ParentCall {
    ParentCall {
        session_id: (&parent.session).into(),
        turn_id: (&parent.turn).into(),
        call_id: (&parent.call).into(),
        plan_item: parent.plan_item.clone(),
    }
}

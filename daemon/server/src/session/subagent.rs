//! Subagents of the sessions: those that wait, and those that clients show.

use std::sync::Arc;

use cairn_core::{
    ids::{SessionId, TurnId},
    model::Usage as Tokens,
    review::Origin,
    subagent::SubagentReport,
};
use cairn_protocol::{
    EndReason, ItemStatus, Notice, ParentCall, SubagentNotification, SubagentPhase,
    ToolNotification,
};
use tokio::sync::oneshot;

use super::{entry::SessionEntry, work::cancel_commands};
use crate::{ports::SubagentTools, store::journal::Writer};

/// Maximum number of calls that are kept of an ended subagent.
const CALLS_KEPT: usize = 50;
/// Maximum number of subagents of a session that `agent/state` returns.
const SHOWN_KEPT: usize = 50;

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

impl SessionEntry {
    /// Shows the newest state of a subagent.
    pub(super) fn show_subagent(&mut self, note: SubagentNotification) {
        match self.shown.iter_mut().find(|it| it.note.session_id == note.session_id) {
            Some(it) => it.note = note,
            None => self.shown.push(ShownSubagent { note, calls: Vec::new() }),
        }
        self.shown.drain(..self.shown.len().saturating_sub(SHOWN_KEPT));
    }

    /// Keeps the newest calls of a subagent that ended. Returns the next one that waits.
    pub(super) fn on_subagent_end(
        &mut self,
        session_id: &SessionId,
        mut calls: Vec<ToolNotification>,
    ) -> Option<Subagent> {
        calls.drain(..calls.len().saturating_sub(CALLS_KEPT));
        if let Some(it) = self.shown.iter_mut().find(|it| *session_id == it.note.session_id) {
            it.calls = calls;
        }
        (!self.waiting.is_empty()).then(|| self.waiting.remove(0))
    }

    /// Shows the subagents of an earlier process as ended.
    pub(super) fn restore_subagents(&mut self, subagents: Vec<SubagentNotification>) {
        for mut note in subagents {
            // A fork has another id than the session in its journal.
            note.parent.session_id = (&self.id).into();
            note.rev = self.services.next_rev();
            if !matches!(note.phase, SubagentPhase::Ended { .. }) {
                interrupt(&mut note);
            }
            self.show_subagent(note.clone());
            self.services.notify(Notice::Subagent(note));
        }
    }
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

/// Marks a subagent whose process ended.
fn interrupt(note: &mut SubagentNotification) {
    note.phase = SubagentPhase::Ended { reason: EndReason::Interrupted };
    for item in &mut note.items {
        if item.status == ItemStatus::InProgress {
            item.status = ItemStatus::Pending;
        }
        cancel_commands(item);
    }
}

//! Subagents of the sessions: those that wait, and those that clients show.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

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

use super::work::cancel_commands;
use crate::{ports::SubagentTools, services::Services, store::journal::Writer};

/// Maximum number of calls that are kept of an ended subagent.
const CALLS_KEPT: usize = 50;
/// Maximum number of subagents of a session that `agent/state` returns.
const SHOWN_KEPT: usize = 50;

/// Subagents that wait, and notifications of those that clients show.
#[derive(Default)]
pub(super) struct SubagentTable {
    waiting: VecDeque<Subagent>,
    /// By the session id of their parent, oldest first.
    shown: HashMap<SessionId, VecDeque<ShownSubagent>>,
}

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

impl SubagentTable {
    pub(super) fn add_waiting(&mut self, subagent: Subagent) {
        self.waiting.push_back(subagent);
    }

    /// Removes the waiting subagents that fit.
    pub(super) fn take_waiting(&mut self, fits: impl Fn(&Subagent) -> bool) -> Vec<Subagent> {
        let waiting = std::mem::take(&mut self.waiting).into_iter();
        let (taken, rest): (Vec<_>, Vec<_>) = waiting.partition(fits);
        self.waiting = rest.into();
        taken
    }

    /// Removes the first waiting subagent of a session.
    pub(super) fn next_of(&mut self, parent: &SessionId) -> Option<Subagent> {
        let at = self.waiting.iter().position(|it| it.parent.session == *parent)?;
        self.waiting.remove(at)
    }

    /// Drops the shown subagents of a dropped session.
    pub(super) fn forget(&mut self, session_id: &SessionId) {
        self.shown.remove(session_id);
    }

    pub(super) fn shown_of(&self, parent: &SessionId) -> impl Iterator<Item = &ShownSubagent> {
        self.shown.get(parent).into_iter().flatten()
    }

    /// Keeps the newest calls of a subagent that ended.
    pub(super) fn keep_calls(&mut self, ended: &Subagent, mut calls: Vec<ToolNotification>) {
        calls.drain(..calls.len().saturating_sub(CALLS_KEPT));
        let mut shown = self.shown.get_mut(&ended.parent.session).into_iter().flatten();
        if let Some(shown) = shown.find(|it| ended.session == it.note.session_id) {
            shown.calls = calls;
        }
    }

    pub(super) fn show(&mut self, note: SubagentNotification) {
        let shown = self.shown.entry(note.parent.session_id.as_str().into()).or_default();
        match shown.iter_mut().find(|it| it.note.session_id == note.session_id) {
            Some(it) => it.note = note,
            None => shown.push_back(ShownSubagent { note, calls: Vec::new() }),
        }
        while shown.len() > SHOWN_KEPT {
            shown.pop_front();
        }
    }

    /// Shows the subagents of an earlier process as ended.
    pub(super) fn restore(
        &mut self,
        services: &Services,
        parent: &SessionId,
        subagents: Vec<SubagentNotification>,
    ) {
        for mut note in subagents {
            // A fork has another id than the session in its journal.
            note.parent.session_id = parent.into();
            note.rev = services.next_rev();
            if !matches!(note.phase, SubagentPhase::Ended { .. }) {
                interrupt(&mut note);
            }
            self.show(note.clone());
            services.notify(Notice::Subagent(note));
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

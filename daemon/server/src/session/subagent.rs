//! Running, waiting and shown subagents of the sessions.

use std::collections::{HashMap, VecDeque};

use cairn_core::{
    ids::{SessionId, TurnId},
    model::Usage as Tokens,
    review::Origin,
    subagent::{self, SubagentReport},
};
use cairn_protocol::{ParentCall, SubagentNotification, SubagentPhase, ToolNotification};
use tokio::sync::oneshot;

use super::entry::new_id;
use crate::ports::{SubagentRequest, SubagentTools};

/// Maximum number of subagents of a session that `agent/state` returns.
const SHOWN_KEPT: usize = 50;

/// The running, waiting and shown subagents of all sessions.
#[derive(Default)]
pub(super) struct SubagentTable {
    /// By the ids of their sessions.
    pub(super) running: HashMap<SessionId, Subagent>,
    pub(super) waiting: VecDeque<Subagent>,
    /// By the session id of their parent, oldest first.
    pub(super) shown: HashMap<SessionId, VecDeque<ShownSubagent>>,
}

pub(super) struct Subagent {
    pub(super) session: SessionId,
    pub(super) turn: TurnId,
    /// The call that started it.
    pub(super) parent: Origin,
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
    pub(super) fn is_subagent(&self, session_id: &SessionId) -> bool {
        self.running.contains_key(session_id)
    }

    pub(super) fn parent_of(&self, session_id: &SessionId) -> Option<&Origin> {
        self.running.get(session_id).map(|subagent| &subagent.parent)
    }

    pub(super) fn title_of(&self, session_id: &SessionId) -> Option<String> {
        self.running.get(session_id).map(|subagent| subagent.title.clone())
    }

    /// Drops the shown subagents of a dropped session.
    pub(super) fn forget(&mut self, session_id: &SessionId) {
        self.shown.remove(session_id);
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
}

impl Subagent {
    pub(super) fn new(
        request: SubagentRequest,
        place: u32,
        most_rounds: u32,
        reply: oneshot::Sender<SubagentReport>,
    ) -> Self {
        let SubagentRequest { title, prompt, tools, max_rounds, origin } = request;
        Self {
            session: new_id("c").into(),
            turn: new_id("t").into(),
            parent: Origin { subagent: None, ..origin },
            place,
            title,
            prompt,
            tools,
            max_rounds: max_rounds.unwrap_or(subagent::DEFAULT_ROUNDS).clamp(1, most_rounds.max(1)),
            phase: SubagentPhase::Waiting,
            counted: Tokens::default(),
            files: Vec::new(),
            reply,
        }
    }

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

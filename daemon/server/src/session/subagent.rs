//! Subagents of the sessions: those that run, those that wait, and how they are shown.

use std::collections::{HashMap, VecDeque};

use cairn_core::{
    model::Usage as Tokens,
    review::Origin,
    subagent::{self, SubagentReport},
};
use cairn_protocol::{ChildNotification, ChildPhase, ParentCall, ToolNotification};
use tokio::sync::oneshot;

use super::entry::new_id;
use crate::ports::{SubagentRequest, SubagentTools};

/// Subagents of a session that a client can ask for again.
const SHOWN_KEPT: usize = 50;

#[derive(Default)]
pub(super) struct Subagents {
    /// By their own session.
    pub(super) running: HashMap<String, Subagent>,
    pub(super) waiting: VecDeque<Subagent>,
    /// By the session of their parent, oldest first.
    pub(super) shown: HashMap<String, VecDeque<ShownSubagent>>,
}

pub(super) struct Subagent {
    pub(super) session: String,
    pub(super) turn: String,
    pub(super) parent: ParentCall,
    pub(super) place: u32,
    pub(super) title: String,
    pub(super) prompt: String,
    pub(super) tools: SubagentTools,
    pub(super) max_rounds: u32,
    pub(super) phase: ChildPhase,
    /// Tokens already reported to the parent.
    pub(super) counted: Tokens,
    /// Paths of the files it changed, in order.
    pub(super) files: Vec<String>,
    pub(super) reply: oneshot::Sender<SubagentReport>,
}

pub(super) struct ShownSubagent {
    pub(super) note: ChildNotification,
    /// Calls of a subagent that has ended. Before, its session holds them.
    pub(super) calls: Vec<ToolNotification>,
}

impl Subagents {
    pub(super) fn is_subagent(&self, session_id: &str) -> bool {
        self.running.contains_key(session_id)
    }

    pub(super) fn parent_of(&self, session_id: &str) -> Option<&ParentCall> {
        self.running.get(session_id).map(|child| &child.parent)
    }

    pub(super) fn title_of(&self, session_id: &str) -> Option<String> {
        self.running.get(session_id).map(|child| child.title.clone())
    }

    /// The session that had these is known no more.
    pub(super) fn forget(&mut self, session_id: &str) {
        self.shown.remove(session_id);
    }

    pub(super) fn show(&mut self, note: ChildNotification) {
        let shown = self.shown.entry(note.parent.session_id.clone()).or_default();
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
        let Origin { session, turn, call, plan_item, child: _ } = origin;
        Self {
            session: new_id("c"),
            turn: new_id("t"),
            parent: ParentCall { session_id: session, turn_id: turn, call_id: call, plan_item },
            place,
            title,
            prompt,
            tools,
            max_rounds: max_rounds.unwrap_or(subagent::DEFAULT_ROUNDS).clamp(1, most_rounds.max(1)),
            phase: ChildPhase::Waiting,
            counted: Tokens::default(),
            files: Vec::new(),
            reply,
        }
    }

    /// As it stands before it has done anything.
    pub(super) fn note(&self, rev: u32) -> ChildNotification {
        ChildNotification {
            session_id: self.session.clone(),
            turn_id: self.turn.clone(),
            rev,
            parent: self.parent.clone(),
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

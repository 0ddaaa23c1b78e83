//! Notifications of a turn: its start and end, tool calls and usage.
//!
//! Never steps the turn machine.

use cairn_core::ids::{CallId, SessionId, TurnId};
use cairn_protocol::{
    ContextUse, Notice, OutputNotification, Position, Range, ToolKind, ToolLabel, ToolNotification,
    ToolState, ToolTarget, TurnNotification, TurnPhase, TurnSpent, Usage, UsageNotification,
};

use super::{
    Sessions,
    entry::{SessionEntry, TurnBegan},
    subagent::parent_call,
};
use crate::{clock, ports::ToolUpdate, store::sessions::Line};

/// Maximum number of tool calls of a turn that `agent/state` returns.
const TOOLS_KEPT: usize = 500;

impl Sessions {
    pub(super) fn publish_turn(
        &mut self,
        session_id: &SessionId,
        turn_id: &TurnId,
        phase: TurnPhase,
    ) {
        let rev = self.services.next_rev();
        let note =
            TurnNotification { session_id: session_id.into(), turn_id: turn_id.into(), rev, phase };
        if let Some(session) = self.entries.get_mut(session_id) {
            session.last_turn = Some(note.clone());
        }
        self.services.notify(Notice::Turn(note));
    }

    pub(super) fn publish_usage(&mut self, session_id: &SessionId, turn_id: &TurnId) {
        if let Some(note) = self.usage_of(session_id, turn_id) {
            self.services.notify(Notice::Usage(note));
        }
    }

    pub(super) fn usage_of(
        &mut self,
        session_id: &SessionId,
        turn_id: &TurnId,
    ) -> Option<UsageNotification> {
        let rev = self.services.next_rev();
        let machine = &self.entries.get(session_id)?.machine;
        let (rounds, of_turn) = machine.turn_usage();
        let fill = machine.fill();
        Some(UsageNotification {
            session_id: session_id.into(),
            turn_id: turn_id.into(),
            rev,
            rounds,
            turn: usage(of_turn),
            session: usage(machine.usage()),
            context: ContextUse { used: fill.used, window: fill.window },
            cost_micros: machine.cost().micro_dollars(),
        })
    }

    /// Publishes the queued call, once.
    pub(super) fn announce(
        &mut self,
        session_id: &SessionId,
        turn_id: &TurnId,
        call_id: &CallId,
        name: &str,
        plan_item: Option<String>,
    ) {
        // Text before the call is published before it.
        self.publish_streams();
        let rev = self.services.next_rev();
        let parent = self.subagents.parent_of(session_id).map(parent_call);
        let Some(session) = self.entries.get_mut(session_id) else { return };
        let kind = session.turn.as_ref().and_then(|turn| turn.kind_of(name));
        let at = match session.tools.iter().position(|tool| *call_id == tool.call_id) {
            Some(at) => at,
            None => {
                if session.tools.len() >= TOOLS_KEPT {
                    session.tools.remove(0);
                }
                session.tools.push(ToolNotification {
                    session_id: session_id.into(),
                    turn_id: turn_id.into(),
                    rev,
                    call_id: call_id.into(),
                    name: name.into(),
                    title: Box::new(ToolLabel::Named { title: name.into() }.message()),
                    state: ToolState::Queued,
                    plan_item: None,
                    detail: None,
                    uri: None,
                    parent,
                    tool_kind: None,
                    target: None,
                    stats: None,
                    started_at: None,
                    ended_at: None,
                    decision: None,
                    completed: Vec::new(),
                });
                session.tools.len() - 1
            }
        };
        let Some(tool) = session.tools.get_mut(at) else { return };
        tool.rev = rev;
        // A server may use the same id in a repeated answer.
        tool.state = ToolState::Queued;
        (tool.started_at, tool.ended_at, tool.decision) = (None, None, None);
        tool.completed.clear();
        tool.tool_kind = kind;
        if plan_item.is_some() {
            tool.plan_item = plan_item;
        }
        let note = tool.clone();
        self.services.notify(Notice::Tool(note));
    }

    pub(super) fn tool_update(
        &mut self,
        session_id: &SessionId,
        turn_id: &TurnId,
        call_id: &CallId,
        update: ToolUpdate,
    ) {
        let rev = self.services.next_rev();
        let Some(session) =
            self.entries.get_mut(session_id).filter(|session| session.is_turn(turn_id))
        else {
            return;
        };
        let Some(tool) = session.tools.iter_mut().find(|tool| *call_id == tool.call_id) else {
            return;
        };
        tool.rev = rev;
        if let Some(state) = update.state {
            enter(tool, state);
        }
        if let Some(named) = &update.label {
            *tool.title = named.message();
        }
        if update.detail.is_some() {
            tool.detail.clone_from(&update.detail);
        }
        if update.uri.is_some() {
            tool.uri.clone_from(&update.uri);
            tool.target = update.uri.clone().map(|uri| ToolTarget { uri, range: None });
        }
        if let (Some(target), Some(lines)) = (&mut tool.target, &update.lines) {
            let line = |line| Position { line, character: 0 };
            target.range = Some(Range { start: line(lines.start), end: line(lines.end) });
        }
        tool.tool_kind = update.kind.or(tool.tool_kind);
        tool.stats = update.stats.or(tool.stats);
        if update.decision.is_some() {
            tool.decision.clone_from(&update.decision);
        }
        // The plan is published before the end of the call that changed it.
        if tool.state.is_over() && tool.tool_kind == Some(ToolKind::Plan) {
            tool.completed = std::mem::take(&mut session.completed_items);
        }
        let note = tool.clone();
        if let Some(item) = note.plan_item.clone() {
            self.on_work_update(session_id, call_id, &item, &update);
        }
        self.on_subagent_work(session_id, call_id, &update);
        self.write_tool(&note);
        self.services.notify(Notice::Tool(note));
    }

    /// Passes on the output of a call that still runs.
    pub(super) fn output(&self, piece: OutputNotification) {
        let session = self.entries.get(&piece.session_id.as_str().into());
        let tools = session.map(|session| session.tools.as_slice()).unwrap_or_default();
        let runs = |tool: &ToolNotification| {
            tool.call_id == piece.call_id && tool.turn_id == piece.turn_id && !tool.state.is_over()
        };
        if tools.iter().any(runs) {
            self.services.notify(Notice::Output(piece));
        }
    }

    /// Marks calls as failed whose message was truncated before they were complete.
    pub(super) fn drop_announced(&mut self, session_id: &SessionId, turn_id: &TurnId) {
        self.set_states(session_id, turn_id, |state| state == ToolState::Queued);
    }

    pub(super) fn close_tools(&mut self, session_id: &SessionId, turn_id: &TurnId) {
        self.set_states(session_id, turn_id, |state| !state.is_over());
    }

    pub(super) fn set_states(
        &mut self,
        session_id: &SessionId,
        turn_id: &TurnId,
        open: impl Fn(ToolState) -> bool,
    ) {
        let Some(session) = self.entries.get_mut(session_id) else { return };
        let mut changed = Vec::new();
        for tool in
            session.tools.iter_mut().filter(|tool| *turn_id == tool.turn_id && open(tool.state))
        {
            let rev = self.services.next_rev();
            tool.rev = rev;
            enter(tool, ToolState::Cancelled);
            changed.push(tool.clone());
        }
        for note in changed {
            let update = ToolUpdate { state: Some(note.state), ..ToolUpdate::default() };
            if let Some(item) = &note.plan_item {
                self.on_work_update(session_id, &note.call_id.as_str().into(), item, &update);
            }
            self.on_subagent_work(session_id, &note.call_id.as_str().into(), &update);
            self.write_tool(&note);
            self.services.notify(Notice::Tool(note));
        }
    }

    fn write_tool(&self, note: &ToolNotification) {
        if note.state.is_over() {
            let session_id = note.session_id.as_str().into();
            self.write(self.root_of(&session_id), &Line::Tool(note.clone()));
        }
    }
}

/// Returns what the newest turn took.
pub(super) fn spent(session: &SessionEntry) -> Option<TurnSpent> {
    let TurnBegan { at, cost_micros } = session.began?;
    let (_, used) = session.machine.turn_usage();
    let cost = session.machine.cost().micro_dollars();
    Some(TurnSpent {
        elapsed_ms: u64::try_from(at.elapsed().as_millis()).unwrap_or(u64::MAX),
        usage: usage(used),
        cost_micros: cost.map(|now| now.saturating_sub(cost_micros)),
    })
}

/// Moves a call to a state, and notes when it began to run and when it was over.
fn enter(tool: &mut ToolNotification, state: ToolState) {
    tool.state = state;
    if state == ToolState::Running {
        tool.started_at.get_or_insert_with(clock::now_ms);
    } else if state.is_over() {
        tool.ended_at.get_or_insert_with(clock::now_ms);
    }
}

pub(super) fn usage(usage: cairn_core::model::Usage) -> Usage {
    Usage {
        input_tokens: usage.input_tokens,
        output_tokens: usage.output_tokens,
        cached_tokens: usage.cached_tokens,
    }
}

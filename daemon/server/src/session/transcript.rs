//! Notifications of a turn: its start and end, tool calls and usage.
//!
//! Never steps the turn machine.

use cairn_core::ids::{CallId, TurnId};
use cairn_protocol::{
    ContextUse, EndReason, Notice, OutputNotification, Position, Range, ToolKind, ToolLabel,
    ToolNotification, ToolState, ToolTarget, TurnNotification, TurnPhase, TurnSpent, Usage,
    UsageNotification,
};

use super::{
    entry::{SessionEntry, TurnBegan},
    subagent::parent_call,
};
use crate::{
    clock,
    ports::ToolUpdate,
    store::sessions::{EndedLine, Line},
};

/// Maximum number of tool calls of a turn that `agent/state` returns.
const TOOLS_KEPT: usize = 500;

impl SessionEntry {
    pub(super) fn publish_turn(&mut self, phase: TurnPhase) {
        let note = TurnNotification {
            session_id: self.id.clone().into(),
            turn_id: self.newest_turn().into(),
            rev: self.services.next_rev(),
            phase,
        };
        self.news.turn = Some(note.clone());
        self.services.notify(Notice::Turn(note));
    }

    pub(super) fn publish_usage(&self) {
        self.services.notify(Notice::Usage(self.usage()));
    }

    pub(super) fn usage(&self) -> UsageNotification {
        let (rounds, of_turn) = self.machine.turn_usage();
        let fill = self.machine.fill();
        UsageNotification {
            session_id: self.id.clone().into(),
            turn_id: self.newest_turn().into(),
            rev: self.services.next_rev(),
            rounds,
            turn: usage(of_turn),
            session: usage(self.machine.usage()),
            context: ContextUse { used: fill.used, window: fill.window },
            cost_micros: self.machine.cost().micro_dollars(),
        }
    }

    /// Publishes the queued call, once.
    pub(super) fn announce(&mut self, call_id: &CallId, name: &str, plan_item: Option<String>) {
        // Text before the call is published before it.
        self.publish_stream();
        let rev = self.services.next_rev();
        let at = match self.tools.iter().position(|tool| *call_id == tool.call_id) {
            Some(at) => at,
            None => {
                if self.tools.len() >= TOOLS_KEPT {
                    self.tools.remove(0);
                }
                self.tools.push(ToolNotification {
                    session_id: self.id.clone().into(),
                    turn_id: self.newest_turn().into(),
                    rev,
                    call_id: call_id.into(),
                    name: name.into(),
                    title: Box::new(ToolLabel::Named { title: name.into() }.message()),
                    parent: self.subagent.as_ref().map(|subagent| parent_call(&subagent.parent)),
                    ..ToolNotification::default()
                });
                self.tools.len() - 1
            }
        };
        let Some(tool) = self.tools.get_mut(at) else { return };
        tool.rev = rev;
        // A server may use the same id in a repeated answer.
        tool.state = ToolState::Queued;
        (tool.started_at, tool.ended_at, tool.decision) = (None, None, None);
        tool.completed.clear();
        tool.tool_kind = self.turn.as_ref().and_then(|turn| turn.kind_of(name));
        if plan_item.is_some() {
            tool.plan_item = plan_item;
        }
        self.services.notify(Notice::Tool(tool.clone()));
    }

    /// Returns false if the call is unknown.
    pub(super) fn update_tool(&mut self, call_id: &CallId, update: &ToolUpdate) -> bool {
        let Some(tool) = self.tools.iter_mut().find(|tool| *call_id == tool.call_id) else {
            return false;
        };
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
            tool.completed = std::mem::take(&mut self.completed_items);
        }
        tool.rev = self.services.next_rev();
        let note = tool.clone();
        self.on_tool_change(note, update);
        true
    }

    /// Passes on the output of a call that still runs.
    pub(super) fn output(&self, piece: OutputNotification) {
        let runs = |tool: &ToolNotification| {
            tool.call_id == piece.call_id && tool.turn_id == piece.turn_id && !tool.state.is_over()
        };
        if self.tools.iter().any(runs) {
            self.services.notify(Notice::Output(piece));
        }
    }

    /// Cancels the calls in these states, and returns them.
    pub(super) fn cancel_tools(&mut self, is_open: impl Fn(ToolState) -> bool) -> Vec<CallId> {
        let mut cancelled = Vec::new();
        for tool in self.tools.iter_mut().filter(|tool| is_open(tool.state)) {
            tool.rev = self.services.next_rev();
            enter(tool, ToolState::Cancelled);
            cancelled.push(tool.clone());
        }
        let id = |note: &ToolNotification| note.call_id.as_str().into();
        let ids = cancelled.iter().map(id).collect();
        for note in cancelled {
            self.on_tool_change(note, &cancelled_call());
        }
        ids
    }

    /// Counts, writes and publishes a change of a call.
    fn on_tool_change(&mut self, note: ToolNotification, update: &ToolUpdate) {
        if let Some(item) = &note.plan_item {
            self.on_work_update(&note.call_id.as_str().into(), item, update);
        }
        if note.state.is_over() {
            self.write_to_root(&Line::Tool(note.clone()));
        }
        self.services.notify(Notice::Tool(note));
    }

    /// End of a turn, for the journal.
    pub(super) fn ended(&self, turn_id: TurnId, reason: EndReason, summary: String) -> EndedLine {
        EndedLine {
            turn_id,
            reason,
            summary,
            open_items: self.open_items(),
            unchecked_edits: false,
            closed: false,
            usage: usage(self.machine.usage()),
            spent: self.spent(),
        }
    }

    /// Returns what the newest turn took.
    pub(super) fn spent(&self) -> Option<TurnSpent> {
        let TurnBegan { at, cost_micros } = self.began?;
        let (_, used) = self.machine.turn_usage();
        let cost = self.machine.cost().micro_dollars();
        Some(TurnSpent {
            elapsed_ms: u64::try_from(at.elapsed().as_millis()).unwrap_or(u64::MAX),
            usage: usage(used),
            cost_micros: cost.map(|now| now.saturating_sub(cost_micros)),
        })
    }
}

pub(super) fn cancelled_call() -> ToolUpdate {
    ToolUpdate { state: Some(ToolState::Cancelled), ..ToolUpdate::default() }
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

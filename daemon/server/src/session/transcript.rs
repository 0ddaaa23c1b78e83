//! Notifications of a turn: its start and end, streamed messages, tool calls and usage.
//!
//! Never steps the turn machine.

use cairn_core::conversation::{Note, NoteKind};
use cairn_protocol::{
    ContextUse, MessageNotification, MessageRole, Notice, ToolNotification, ToolState,
    TurnNotification, TurnPhase, Usage, UsageNotification,
};

use super::{Sessions, entry::Stream};
use crate::{ports::ToolUpdate, store::sessions::Line};

/// Tool calls of a turn that a client can ask for again.
const TOOLS_KEPT: usize = 500;

impl Sessions {
    pub(super) fn publish_turn(&mut self, session_id: &str, turn_id: &str, phase: TurnPhase) {
        let rev = self.services.next_rev();
        let note =
            TurnNotification { session_id: session_id.into(), turn_id: turn_id.into(), rev, phase };
        if let Some(session) = self.entries.get_mut(session_id) {
            session.last_turn = Some(note.clone());
        }
        self.services.notify(Notice::Turn(note));
    }

    pub(super) fn publish_usage(&mut self, session_id: &str, turn_id: &str) {
        if let Some(note) = self.usage_of(session_id, turn_id) {
            self.services.notify(Notice::Usage(note));
        }
    }

    pub(super) fn usage_of(
        &mut self,
        session_id: &str,
        turn_id: &str,
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

    /// A row for the call, once.
    pub(super) fn announce(
        &mut self,
        session_id: &str,
        turn_id: &str,
        call_id: &str,
        name: &str,
        plan_item: Option<String>,
    ) {
        // What was said before the call is shown before it.
        self.publish_streams();
        let rev = self.services.next_rev();
        let parent = self.subagents.parent_of(session_id).cloned();
        let Some(session) = self.entries.get_mut(session_id) else { return };
        let at = match session.tools.iter().position(|tool| tool.call_id == call_id) {
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
                    title: name.into(),
                    state: ToolState::Queued,
                    plan_item: None,
                    detail: None,
                    uri: None,
                    parent,
                });
                session.tools.len() - 1
            }
        };
        let Some(tool) = session.tools.get_mut(at) else { return };
        tool.rev = rev;
        // A server may give a call the same id when it is asked again.
        tool.state = ToolState::Queued;
        if plan_item.is_some() {
            tool.plan_item = plan_item;
        }
        let note = tool.clone();
        self.services.notify(Notice::Tool(note));
    }

    pub(super) fn tool_update(
        &mut self,
        session_id: &str,
        turn_id: &str,
        call_id: &str,
        update: ToolUpdate,
    ) {
        let rev = self.services.next_rev();
        let Some(session) =
            self.entries.get_mut(session_id).filter(|session| session.is_turn(turn_id))
        else {
            return;
        };
        let Some(tool) = session.tools.iter_mut().find(|tool| tool.call_id == call_id) else {
            return;
        };
        tool.rev = rev;
        if let Some(state) = update.state {
            tool.state = state;
        }
        if let Some(title) = &update.title {
            tool.title.clone_from(title);
        }
        if update.detail.is_some() {
            tool.detail.clone_from(&update.detail);
        }
        if update.uri.is_some() {
            tool.uri.clone_from(&update.uri);
        }
        let note = tool.clone();
        if let Some(item) = note.plan_item.clone() {
            self.work_updated(session_id, call_id, &item, &update);
        }
        self.subagent_worked(session_id, call_id, &update);
        self.write_tool(&note);
        self.services.notify(Notice::Tool(note));
    }

    /// Rows of calls that never came to be: the message they were in was cut.
    pub(super) fn drop_announced(&mut self, session_id: &str, turn_id: &str) {
        self.set_states(session_id, turn_id, |state| state == ToolState::Queued);
    }

    pub(super) fn close_tools(&mut self, session_id: &str, turn_id: &str) {
        self.set_states(session_id, turn_id, |state| !state.is_over());
    }

    pub(super) fn set_states(
        &mut self,
        session_id: &str,
        turn_id: &str,
        open: impl Fn(ToolState) -> bool,
    ) {
        let Some(session) = self.entries.get_mut(session_id) else { return };
        let mut changed = Vec::new();
        for tool in
            session.tools.iter_mut().filter(|tool| tool.turn_id == turn_id && open(tool.state))
        {
            let rev = self.services.next_rev();
            tool.rev = rev;
            tool.state = ToolState::Cancelled;
            changed.push(tool.clone());
        }
        for note in changed {
            let update = ToolUpdate { state: Some(note.state), ..ToolUpdate::default() };
            if let Some(item) = &note.plan_item {
                self.work_updated(session_id, &note.call_id, item, &update);
            }
            self.subagent_worked(session_id, &note.call_id, &update);
            self.write_tool(&note);
            self.services.notify(Notice::Tool(note));
        }
    }

    fn write_tool(&self, note: &ToolNotification) {
        if note.state.is_over() {
            self.write(self.root_of(&note.session_id), &Line::Tool(note.clone()));
        }
    }

    pub(super) fn stream(&mut self, session_id: &str, role: MessageRole, delta: &str) {
        let Some(session) = self.entries.get_mut(session_id) else { return };
        if session.stream.as_ref().is_some_and(|stream| stream.role != role) {
            let turn_id = session.turn.as_ref().map(|turn| turn.id.clone()).unwrap_or_default();
            let text = session.stream.as_ref().map(|stream| stream.text.clone());
            self.end_stream(session_id, &turn_id, text);
        }
        let Some(session) = self.entries.get_mut(session_id) else { return };
        let stream = match &mut session.stream {
            Some(stream) => stream,
            None => {
                session.messages += 1;
                let item_id = format!("m{}", session.messages);
                session.stream.insert(Stream {
                    item_id,
                    role,
                    text: String::new(),
                    delta: String::new(),
                })
            }
        };
        stream.text.push_str(delta);
        stream.delta.push_str(delta);
    }

    /// Deltas of all sessions, one notification each however many pieces came.
    pub(super) fn publish_streams(&mut self) {
        let mut notes = Vec::new();
        for session in self.entries.values_mut() {
            let Some(turn) = &session.turn else { continue };
            let Some(stream) = session.stream.as_mut().filter(|stream| !stream.delta.is_empty())
            else {
                continue;
            };
            let rev = self.services.next_rev();
            notes.push(MessageNotification {
                session_id: session.id.clone(),
                turn_id: turn.id.clone(),
                rev,
                item_id: stream.item_id.clone(),
                role: stream.role,
                delta: std::mem::take(&mut stream.delta),
                text: None,
                incomplete: false,
            });
        }
        for note in notes {
            self.services.notify(Notice::Message(note));
        }
    }

    /// `None`: what streamed is not part of the conversation. What was shown piece by piece is told
    /// again as it was shown: of a message whose thoughts come between its words each part is one.
    pub(super) fn end_stream(&mut self, session_id: &str, turn_id: &str, text: Option<String>) {
        let rev = self.services.next_rev();
        let Some(session) = self.entries.get_mut(session_id) else { return };
        let Some(stream) = session.stream.take() else {
            if let Some(text) = text.filter(|text| !text.is_empty()) {
                self.message(session_id, turn_id, MessageRole::Assistant, text);
            }
            return;
        };
        let incomplete = text.is_none();
        self.services.notify(Notice::Message(MessageNotification {
            session_id: session_id.into(),
            turn_id: turn_id.into(),
            rev,
            item_id: stream.item_id,
            role: stream.role,
            delta: stream.delta,
            text: Some(stream.text),
            incomplete,
        }));
    }

    pub(super) fn show_note(&mut self, session_id: &str, turn_id: &str, note: Note) {
        match note.kind {
            NoteKind::Reminder | NoteKind::Notice => {
                self.message(session_id, turn_id, MessageRole::Reminder, note.text);
            }
            // The user's own words were shown when they sent them.
            NoteKind::Steer => {}
        }
    }

    /// A message that is there at once.
    pub(super) fn message(
        &mut self,
        session_id: &str,
        turn_id: &str,
        role: MessageRole,
        text: String,
    ) {
        let rev = self.services.next_rev();
        let Some(session) = self.entries.get_mut(session_id) else { return };
        session.messages += 1;
        let item_id = format!("m{}", session.messages);
        self.services.notify(Notice::Message(MessageNotification {
            session_id: session_id.into(),
            turn_id: turn_id.into(),
            rev,
            item_id,
            role,
            delta: String::new(),
            text: Some(text),
            incomplete: false,
        }));
    }
}

pub(super) fn usage(usage: cairn_core::model::Usage) -> Usage {
    Usage {
        input_tokens: usage.input_tokens,
        output_tokens: usage.output_tokens,
        cached_tokens: usage.cached_tokens,
    }
}

//! Subagents: agent loops that a `task` call starts. A running one has a session entry with its own
//! turn machine, encoded conversation and plan. Its report goes to its parent, is shown under the
//! parent's call, and is written into the parent's journal.
//!
//! A subagent never outlives the turn of its parent, and its tokens count once.

use std::{collections::VecDeque, sync::Arc};

use cairn_core::{
    conversation::Item,
    ids::{CallId, SessionId, TurnId},
    marks,
    model::{ModelEvent, Usage as Tokens},
    plan::PlanProgress,
    prompt::{self, Audience},
    review::{Origin, SubagentCall},
    sanitize::excerpt,
    subagent::{self, SubagentEnd, SubagentReport},
    turn::{self, Effect, End, Input, Session},
};
use cairn_protocol::{
    EndReason, ItemStatus, Notice, ReviewMode, SubagentNotification, SubagentPhase,
    ToolNotification, ToolState,
};
use tokio::sync::oneshot;

use super::{
    Sessions,
    configuration::ToolBox,
    encoding::EncodedConversation,
    entry::{RunningTurn, SessionEntry, new_id},
    problem,
    steps::SessionStep,
    subagent::{ShownSubagent, Subagent},
    transcript::{cancelled_call, usage},
    work::cancel_commands,
};
use crate::{
    ports::{SubagentRequest, SubagentTools, ToolUpdate},
    review::Reviews,
    secrets,
    store::sessions::Line,
    workspace::path_of,
};

/// Maximum number of subagents of a session that run at the same time; others wait.
const AT_ONCE: usize = 4;
/// Most bytes of the text of a plan item that are kept with each edit.
const MAX_ITEM_TEXT: usize = 200;

/// Maximum number of calls that are kept of an ended subagent.
const CALLS_KEPT: usize = 50;
/// Maximum number of subagents of a session that `agent/state` returns.
const SHOWN_KEPT: usize = 50;

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

    /// Origin of a call's edits. A call of a subagent belongs to the `task` call of its parent.
    pub(super) fn origin_of(&self, call: &CallId, plan_item: Option<String>) -> Origin {
        let (session, turn, call) = (self.id.clone(), self.newest_turn(), call.clone());
        match &self.subagent {
            None => {
                let items = self.machine.plan_items();
                let item = items.iter().find(|item| Some(&item.id) == plan_item.as_ref());
                let plan_item_text = item.map(|item| excerpt(&item.content, MAX_ITEM_TEXT));
                Origin { session, turn, call, plan_item, plan_item_text, subagent: None }
            }
            Some(Subagent { parent, .. }) => Origin {
                subagent: Some(Box::new(SubagentCall { session, turn, call, plan_item })),
                ..parent.clone()
            },
        }
    }

    /// Warns a subagent before its last request but one.
    pub(super) fn warn_subagent(&mut self, input: &Input) {
        let Some(subagent) = &self.subagent else { return };
        let (rounds, _) = self.machine.turn_usage();
        if matches!(input, Input::Model { event: ModelEvent::Finished(_), .. })
            && rounds + 2 == subagent.max_rounds
        {
            self.tell_model(subagent::LAST_ROUND);
        }
    }

    /// Returns the state of a subagent for clients.
    fn subagent_state(&mut self) -> Option<SubagentNotification> {
        let (PlanProgress { completed, total, .. }, items) = self.take_plan();
        let (rounds, tokens) = self.machine.turn_usage();
        let note = self.subagent.as_ref()?.note(self.services.next_rev());
        let usage = usage(tokens);
        Some(SubagentNotification { completed, total, items, rounds, usage, ..note })
    }
}

impl Sessions {
    pub(super) fn start_subagent(
        &mut self,
        request: SubagentRequest,
        reply: oneshot::Sender<SubagentReport>,
    ) {
        let SubagentRequest { title, prompt, tools, max_rounds, origin } = request;
        // The turn may have ended. Dropping the sender tells the caller.
        let parent = self.entries.get(&origin.session).filter(|it| it.is_turn(&origin.turn));
        let Some(parent) = parent else { return };
        let place = parent.tools.iter().position(|tool| origin.call == tool.call_id);
        let most_rounds = self.config.settings.max_rounds.max(1);
        let subagent = Subagent {
            session: new_id("c").into(),
            turn: new_id("t").into(),
            journal: parent.journal.clone(),
            parent: Origin { subagent: None, ..origin },
            place: place.unwrap_or_default() as u32,
            title,
            prompt,
            tools,
            max_rounds: max_rounds.unwrap_or(subagent::DEFAULT_ROUNDS).clamp(1, most_rounds),
            phase: SubagentPhase::Waiting,
            counted: Tokens::default(),
            files: Vec::new(),
            reply,
        };
        if self.running_subagents(&subagent.parent.session).count() < AT_ONCE {
            self.begin_subagent(subagent);
        } else {
            let note = subagent.note(self.services.next_rev());
            if let Some(parent) = self.entries.get_mut(&subagent.parent.session) {
                parent.waiting.push(subagent);
            }
            self.tell_subagent(note);
        }
    }

    fn running_subagents(&self, parent: &SessionId) -> impl Iterator<Item = &Subagent> {
        let running = self.entries.values().filter_map(|session| session.subagent.as_ref());
        running.filter(move |subagent| subagent.parent.session == *parent)
    }

    fn begin_subagent(&mut self, mut subagent: Subagent) {
        let Some(parent) = self.entries.get(&subagent.parent.session) else { return };
        let (Some(of_parent), Some(encoded)) = (&parent.turn, &parent.encoded) else { return };
        // A new conversation has no prefix to keep, so tools that plan mode refuses are left out.
        let tools = match parent.mode {
            ReviewMode::Plan => SubagentTools::Read,
            ReviewMode::Review | ReviewMode::Ask | ReviewMode::Auto => subagent.tools,
        };
        let tools: ToolBox =
            self.config.tools.iter().filter(|tool| tools.have(&tool.spec.name)).cloned().collect();
        let settings = self.config.subagent_settings(&tools, subagent.max_rounds);
        let specs = self.config.specs(&self.config.choice.info.name, settings.dialect, &tools);
        let mut surroundings = parent.surroundings.clone();
        settings.dialect.tool_in_words().clone_into(&mut surroundings.plan_tool);
        let reads_only = tools.iter().all(|tool| SubagentTools::Read.have(&tool.spec.name));
        let mut system = prompt::system(&surroundings, &Audience::Agent { reads_only });
        secrets::clean(&mut system);
        let system: Arc<str> = system.into();
        let specs: Arc<[_]> = specs.into();
        let (session, turn) = (subagent.session.clone(), subagent.turn.clone());
        // Session approvals are stored in the parent.
        let mut entry = SessionEntry {
            turn: Some(RunningTurn {
                id: turn.clone(),
                cancel: of_parent.cancel.child_token(),
                system: Arc::clone(&system),
                specs: Arc::clone(&specs),
                tools,
                max_tokens: of_parent.max_tokens,
            }),
            encoded: Some(EncodedConversation::new(
                Arc::clone(&encoded.provider),
                encoded.generation,
            )),
            task: Some(subagent.title.clone()),
            ..self.new_entry(&session, Session::new(settings), surroundings, parent.mode)
        };
        subagent.phase = SubagentPhase::Running;
        let text = marks::escape(&subagent.prompt).into_owned();
        entry.subagent = Some(subagent);
        entry.measure(&self.config, &system, &specs);
        self.entries.insert(session.clone(), entry);
        self.publish_subagent(&session);
        self.steps.input(&session, &turn, Input::UserMessage { text, attached: Vec::new() });
    }

    /// Performs the effects that differ for a subagent, and returns the others. The texts of a
    /// subagent are not shown; the last one is its report.
    pub(super) fn subagent_effect(
        &mut self,
        session_id: &SessionId,
        effect: Effect,
        reviews: &mut Reviews,
    ) -> Option<Effect> {
        match effect {
            Effect::Text { .. }
            | Effect::Thinking { .. }
            | Effect::TextWasThinking
            | Effect::MessageDone { .. }
            | Effect::Shortened(_)
            | Effect::NoteAdded(_) => {}
            Effect::PublishPlan { .. } => self.publish_subagent(session_id),
            Effect::Spent => self.add_subagent_usage(session_id),
            Effect::EndTurn(end) => self.end_subagent(session_id, &end, reviews),
            effect @ (Effect::CallModel { .. }
            | Effect::Summarize { .. }
            | Effect::RequestPendingEdits
            | Effect::WindowLearned { .. }
            | Effect::LikelyCut { .. }
            | Effect::Wait { .. }
            | Effect::RunTool { .. }
            | Effect::ToolAnswered { .. }
            | Effect::CallAnnounced { .. }
            | Effect::MessageDropped { .. }
            | Effect::CallsDropped) => return Some(effect),
        }
        None
    }

    fn add_subagent_usage(&mut self, session_id: &SessionId) {
        let Some(session) = self.entries.get_mut(session_id) else { return };
        let total = session.machine.usage();
        let Some(subagent) = &mut session.subagent else { return };
        let before = std::mem::replace(&mut subagent.counted, total);
        let usage = Tokens {
            input_tokens: total.input_tokens - before.input_tokens,
            output_tokens: total.output_tokens - before.output_tokens,
            cached_tokens: total.cached_tokens - before.cached_tokens,
        };
        let Origin { session, turn, .. } = subagent.parent.clone();
        self.publish_subagent(session_id);
        self.steps.input(&session, &turn, Input::SubagentSpent { usage });
    }

    pub(super) fn tool_update(
        &mut self,
        session_id: &SessionId,
        turn_id: &TurnId,
        call_id: &CallId,
        update: &ToolUpdate,
    ) {
        let session = self.entries.get_mut(session_id).filter(|it| it.is_turn(turn_id));
        if session.is_some_and(|session| session.update_tool(call_id, update)) {
            self.on_subagent_work(session_id, call_id, update);
        }
    }

    /// Cancels the calls of a session in these states.
    pub(super) fn cancel_tools(
        &mut self,
        session_id: &SessionId,
        is_open: impl Fn(ToolState) -> bool,
    ) {
        let Some(session) = self.entries.get_mut(session_id) else { return };
        for call_id in session.cancel_tools(is_open) {
            self.on_subagent_work(session_id, &call_id, &cancelled_call());
        }
    }

    /// Counts the work of a subagent for the plan item of its parent, too.
    fn on_subagent_work(&mut self, session_id: &SessionId, call_id: &CallId, update: &ToolUpdate) {
        let Some(session) = self.entries.get_mut(session_id) else { return };
        let Some(subagent) = &mut session.subagent else { return };
        let path = update.edited.as_deref().and_then(path_of);
        if let (Some(ToolState::Done), Some(path)) = (update.state, path) {
            let path = self.services.display(&path);
            if !subagent.files.contains(&path) {
                subagent.files.push(path);
            }
        }
        let Origin { session: parent, plan_item, .. } = subagent.parent.clone();
        if let (Some(item), Some(parent)) = (plan_item, self.entries.get_mut(&parent)) {
            parent.on_work_update(&format!("{session_id}/{call_id}").into(), &item, update);
        }
    }

    pub(super) fn publish_stale_subagents(&mut self) {
        let is_stale = |it: &&SessionEntry| it.subagent.is_some() && it.plan_stale;
        let stale = self.entries.values().filter(is_stale);
        for session_id in stale.map(|it| it.id.clone()).collect::<Vec<_>>() {
            self.publish_subagent(&session_id);
        }
    }

    fn publish_subagent(&mut self, session_id: &SessionId) {
        let session = self.entries.get_mut(session_id);
        if let Some(note) = session.and_then(SessionEntry::subagent_state) {
            self.tell_subagent(note);
        }
    }

    fn tell_subagent(&mut self, note: SubagentNotification) {
        if let Some(parent) = self.entries.get_mut(&note.parent.session_id.as_str().into()) {
            parent.show_subagent(note.clone());
            parent.write(&Line::Subagent(note.clone()));
        }
        self.services.notify(Notice::Subagent(note));
    }

    fn end_subagent(&mut self, session_id: &SessionId, end: &End, reviews: &mut Reviews) {
        let Some(session) = self.entries.get_mut(session_id) else { return };
        let Some(subagent) = &mut session.subagent else { return };
        subagent.phase = SubagentPhase::Ended { reason: problem::end_reason(end.reason) };
        if let Some(turn) = &session.turn {
            turn.cancel.cancel();
        }
        self.questions.retain(|_, question| subagent.turn != question.params.turn_id);
        reviews.stop_waiting(&subagent.turn);
        self.cancel_tools(session_id, |state| !state.is_over());
        self.publish_subagent(session_id);
        let Some(session) = self.entries.remove(session_id) else { return };
        let Some(mut subagent) = session.subagent else { return };
        let (rounds, usage) = session.machine.turn_usage();
        let open = session.machine.plan_items().into_iter().filter(|item| item.is_open());
        let ended = SubagentEnd {
            reason: end.reason,
            summary: problem::summary(end, &self.config.choice.info.provider),
            last_words: last_words(session.machine.conversation()),
            rounds,
            usage,
            files: std::mem::take(&mut subagent.files),
            open: open.map(|item| item.content).collect(),
            unchecked_edits: end.unchecked_edits,
        };
        self.services.processes.subagent_ended(&subagent.parent.session, session_id);
        let parent = self.entries.get_mut(&subagent.parent.session);
        let next = parent.and_then(|parent| parent.on_subagent_end(session_id, session.tools));
        // After the end of the parent's turn nobody waits for the report.
        drop(subagent.reply.send(ended.report()));
        if let Some(next) = next {
            self.begin_subagent(next);
        }
    }

    /// Ends the subagents of a session: drops the waiting ones, and returns the steps that cancel
    /// the running ones.
    pub(super) fn end_subagents(&mut self, session_id: &SessionId) -> VecDeque<SessionStep> {
        self.drop_waiting(|subagent| subagent.parent.session == *session_id);
        let cancel = |subagent: &Subagent| SessionStep::Input {
            session: subagent.session.clone(),
            turn: subagent.turn.clone(),
            input: Input::Cancel,
        };
        self.running_subagents(session_id).map(cancel).collect()
    }

    /// Cancels the waiting subagents that fit. Returns false if there is none.
    pub(super) fn drop_waiting(&mut self, fits: impl Fn(&Subagent) -> bool) -> bool {
        let mut dropped = Vec::new();
        for session in self.entries.values_mut() {
            dropped.extend(session.waiting.extract_if(.., |it| fits(it)));
        }
        let found = !dropped.is_empty();
        for mut subagent in dropped {
            subagent.phase = SubagentPhase::Ended { reason: EndReason::Cancelled };
            self.tell_subagent(subagent.note(self.services.next_rev()));
            let ended = SubagentEnd {
                reason: turn::EndReason::Cancelled,
                summary: String::new(),
                last_words: String::new(),
                rounds: 0,
                usage: Tokens::default(),
                files: Vec::new(),
                open: Vec::new(),
                unchecked_edits: false,
            };
            drop(subagent.reply.send(ended.report()));
        }
        found
    }
}

fn last_words(conversation: &[Item]) -> String {
    let texts = conversation.iter().rev().filter_map(|item| match item {
        Item::Assistant(message) => Some(message.text()),
        Item::User(_) | Item::ToolResults { .. } => None,
    });
    texts.into_iter().find(|text| !text.trim().is_empty()).unwrap_or_default()
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

//! Subagents: agent loops that a `task` call starts. A running one has a session entry with its own
//! turn machine, encoded conversation and plan. Its report goes to its parent, is shown under the
//! parent's call, and is written into the parent's journal.
//!
//! A subagent never outlives the turn of its parent, and its tokens count once.

use std::sync::Arc;

use cairn_core::{
    conversation::Item,
    ids::{CallId, SessionId, TurnId},
    marks,
    model::{ModelEvent, Usage as Tokens},
    plan::{Dialect, PlanProgress},
    prompt::{self, Audience},
    review::{Origin, SubagentCall},
    sanitize::excerpt,
    subagent::{self, SubagentEnd, SubagentReport},
    turn::{self, Effect, End, Input, Record, Session},
};
use cairn_protocol::{
    CancelParams, EndReason, ItemStatus, Notice, ReviewMode, SubagentNotification, SubagentPhase,
    ToolNotification, ToolState,
};
use tokio::sync::oneshot;

use super::{
    Sessions,
    configuration::ToolBox,
    effects::end_reason,
    encoding::EncodedConversation,
    entry::{RunningTurn, SessionEntry},
    problem,
    steps::SessionStep,
    subagent::Subagent,
    transcript::usage,
};
use crate::{
    ports::{SubagentRequest, SubagentTools, ToolUpdate},
    review::Reviews,
    secrets,
    store::sessions::{Line, SubagentStep},
    workspace::path_of,
};

/// Maximum number of subagents of a session that run at the same time; others wait.
const AT_ONCE: usize = 4;
/// Maximum number of calls that are kept of an ended subagent.
const CALLS_KEPT: usize = 50;
/// Most bytes of the text of a plan item that are kept with each edit.
const MAX_ITEM_TEXT: usize = 200;

impl Sessions {
    /// Returns the session of the user that this one belongs to: its parent, or itself.
    pub(super) fn root_of<'a>(&'a self, session_id: &'a SessionId) -> &'a SessionId {
        self.subagents.parent_of(session_id).map_or(session_id, |parent| &parent.session)
    }

    /// Origin of a call's edits. A call of a subagent belongs to the `task` call of its parent.
    pub(super) fn origin_of(
        &self,
        session_id: &SessionId,
        turn_id: &TurnId,
        call_id: &CallId,
        plan_item: Option<String>,
    ) -> Origin {
        let (session, turn, call) = (session_id.to_owned(), turn_id.to_owned(), call_id.to_owned());
        match self.subagents.parent_of(session_id).cloned() {
            None => {
                let plan_item_text = self.text_of(session_id, plan_item.as_deref());
                Origin { session, turn, call, plan_item, plan_item_text, subagent: None }
            }
            Some(parent) => Origin {
                subagent: Some(Box::new(SubagentCall { session, turn, call, plan_item })),
                ..parent
            },
        }
    }

    /// Text of an item of a session's plan, for its edits.
    fn text_of(&self, session_id: &SessionId, plan_item: Option<&str>) -> Option<String> {
        let items = self.entries.get(session_id)?.machine.plan_items();
        let item = items.iter().find(|item| Some(item.id.as_str()) == plan_item)?;
        Some(excerpt(&item.content, MAX_ITEM_TEXT))
    }

    pub(super) fn start_subagent(
        &mut self,
        request: SubagentRequest,
        reply: oneshot::Sender<SubagentReport>,
    ) {
        let Origin { session, turn, call, .. } = &request.origin;
        // The turn may have ended. Dropping the sender tells the caller.
        let parent = self.entries.get(session).filter(|parent| parent.is_turn(turn));
        let Some(parent) = parent else { return };
        let place = parent.tools.iter().position(|tool| *call == tool.call_id).unwrap_or_default();
        let running =
            self.subagents.running.values().filter(|subagent| subagent.parent.session == *session);
        let room = running.count() < AT_ONCE;
        let subagent = Subagent::new(request, place as u32, self.config.settings.max_rounds, reply);
        if room {
            self.begin_subagent(subagent);
        } else {
            let note = subagent.note(self.services.next_rev());
            self.subagents.waiting.push_back(subagent);
            self.tell_subagent(note);
        }
    }

    fn begin_subagent(&mut self, mut subagent: Subagent) {
        let Some(parent) = self.entries.get(&subagent.parent.session) else { return };
        let (Some(turn), Some(encoded)) = (&parent.turn, &parent.encoded) else { return };
        // A new conversation has no prefix to keep, so tools that plan mode refuses are left out.
        let tools = match parent.mode {
            ReviewMode::Plan => SubagentTools::Read,
            ReviewMode::Review | ReviewMode::Ask | ReviewMode::Auto => subagent.tools,
        };
        let tools: ToolBox =
            self.config.tools.iter().filter(|(spec, _)| tools.have(&spec.name)).cloned().collect();
        let settings = self.subagent_settings(&tools, subagent.max_rounds);
        let specs = self.config.specs(&self.config.choice.info.name, settings.dialect, &tools);
        let mut surroundings = parent.surroundings.clone();
        settings.dialect.tool_in_words().clone_into(&mut surroundings.plan_tool);
        let reads_only = tools.iter().all(|(spec, _)| SubagentTools::Read.have(&spec.name));
        let mut system = prompt::system(&surroundings, &Audience::Agent { reads_only });
        secrets::clean(&mut system);
        let system: Arc<str> = system.into();
        let specs: Arc<[_]> = specs.into();
        // Session approvals are stored in the parent.
        let entry = SessionEntry {
            turn: Some(RunningTurn {
                id: subagent.turn.clone(),
                cancel: turn.cancel.child_token(),
                system: Arc::clone(&system),
                specs: Arc::clone(&specs),
                tools,
                max_tokens: turn.max_tokens,
            }),
            encoded: Some(EncodedConversation::new(
                Arc::clone(&encoded.provider),
                encoded.generation,
            )),
            task: Some(subagent.title.clone()),
            ..SessionEntry::new(
                subagent.session.clone(),
                Session::new(settings),
                surroundings,
                parent.mode,
            )
        };
        subagent.phase = SubagentPhase::Running;
        let (id, turn_id) = (subagent.session.clone(), subagent.turn.clone());
        let text = marks::escape(&subagent.prompt).into_owned();
        self.entries.insert(id.clone(), entry);
        self.subagents.running.insert(id.clone(), subagent);
        self.measure(&id, &system, &specs);
        self.publish_subagent(&id);
        self.steps.input(&id, &turn_id, Input::UserMessage { text, attached: Vec::new() });
    }

    fn subagent_settings(&self, tools: &ToolBox, max_rounds: u32) -> turn::TurnSettings {
        let model = &self.config.choice.info.name;
        let mut settings = self.config.turn_settings(model);
        if settings.dialect == Dialect::Tasks {
            // Only sessions of the user have a task graph.
            settings.dialect = Dialect::for_model(model);
            let end = settings.reminders.end;
            settings.reminders = self.config.settings.reminders.in_words_of(settings.dialect);
            settings.reminders.end = end;
        }
        settings.reminders.initial = false;
        settings.max_rounds = max_rounds;
        settings.tools = tools.iter().map(|(spec, _)| spec.into()).collect();
        settings
    }

    /// Warns a subagent before its last request but one.
    pub(super) fn warn_subagent(&mut self, session_id: &SessionId, input: &Input) {
        let Some(subagent) = self.subagents.running.get(session_id) else { return };
        if !matches!(input, Input::Model { event: ModelEvent::Finished(_), .. }) {
            return;
        }
        let Some(session) = self.entries.get_mut(session_id) else { return };
        let (rounds, _) = session.machine.turn_usage();
        if rounds + 2 == subagent.max_rounds {
            session.machine.step(Input::Notice { text: subagent::LAST_ROUND.to_owned() });
        }
    }

    /// Performs the effects that differ for a subagent, and returns the others. The texts of a
    /// subagent are not shown; the last one is its report.
    pub(super) fn subagent_effect(
        &mut self,
        session_id: &SessionId,
        turn_id: &TurnId,
        effect: Effect,
        reviews: &mut Reviews,
    ) -> Option<Effect> {
        if !self.subagents.is_subagent(session_id) {
            return Some(effect);
        }
        match effect {
            Effect::Text { .. }
            | Effect::Thinking { .. }
            | Effect::TextWasThinking
            | Effect::MessageDone { .. }
            | Effect::Shortened(_)
            | Effect::NoteAdded(_) => {}
            Effect::MessageDropped { .. } => self.drop_announced(session_id, turn_id),
            Effect::PublishPlan { .. } => self.publish_subagent(session_id),
            Effect::Spent => self.add_subagent_usage(session_id),
            Effect::EndTurn(end) => self.end_subagent(session_id, turn_id, end, reviews),
            effect @ (Effect::CallModel { .. }
            | Effect::Summarize { .. }
            | Effect::RequestPendingEdits
            | Effect::WindowLearned { .. }
            | Effect::LikelyCut { .. }
            | Effect::Wait { .. }
            | Effect::RunTool { .. }
            | Effect::ToolAnswered { .. }
            | Effect::CallAnnounced { .. }
            | Effect::CallsDropped) => return Some(effect),
        }
        None
    }

    fn add_subagent_usage(&mut self, session_id: &SessionId) {
        let Some(session) = self.entries.get(session_id) else { return };
        let total = session.machine.usage();
        let Some(subagent) = self.subagents.running.get_mut(session_id) else { return };
        let before = std::mem::replace(&mut subagent.counted, total);
        let usage = Tokens {
            input_tokens: total.input_tokens - before.input_tokens,
            output_tokens: total.output_tokens - before.output_tokens,
            cached_tokens: total.cached_tokens - before.cached_tokens,
        };
        let Origin { session: parent, turn: turn_id, .. } = subagent.parent.clone();
        self.publish_subagent(session_id);
        self.steps.input(&parent, &turn_id, Input::SubagentSpent { usage });
    }

    /// Writes the conversation of a subagent into the journal of its parent. It is never continued,
    /// but the cause of every effect is recorded.
    pub(super) fn write_subagent_steps(&self, session_id: &SessionId, records: Vec<Record>) {
        let Some(parent) = self.subagents.parent_of(session_id) else { return };
        for step in records {
            if matches!(step, Record::Item(_)) {
                let line = SubagentStep { session_id: session_id.to_owned(), step };
                self.write(&parent.session, &Line::SubagentStep(line));
            }
        }
    }

    /// Counts the work of a subagent for the plan item of its parent, too.
    pub(super) fn on_subagent_work(
        &mut self,
        session_id: &SessionId,
        call_id: &CallId,
        update: &ToolUpdate,
    ) {
        let path =
            update.edited.as_deref().and_then(path_of).map(|path| self.services.display(&path));
        let Some(subagent) = self.subagents.running.get_mut(session_id) else { return };
        if let (Some(ToolState::Done), Some(path)) = (update.state, path)
            && !subagent.files.contains(&path)
        {
            subagent.files.push(path);
        }
        let Origin { session: parent, plan_item, .. } = subagent.parent.clone();
        if let Some(item) = plan_item {
            self.on_work_update(&parent, &format!("{session_id}/{call_id}").into(), &item, update);
        }
    }

    pub(super) fn publish_stale_subagents(&mut self) {
        let is_stale = |id: &&SessionId| self.entries.get(*id).is_some_and(|it| it.plan_stale);
        let stale: Vec<SessionId> =
            self.subagents.running.keys().filter(is_stale).cloned().collect();
        for session_id in stale {
            self.publish_subagent(&session_id);
        }
    }

    fn publish_subagent(&mut self, session_id: &SessionId) {
        let rev = self.services.next_rev();
        let Some(subagent) = self.subagents.running.get(session_id) else { return };
        let Some(session) = self.entries.get_mut(session_id) else { return };
        session.plan_stale = false;
        let plan = session.machine.plan_items();
        let progress = PlanProgress::of(plan.iter().map(|item| item.status));
        let items = session.work.shown_all(&plan);
        let (rounds, tokens) = session.machine.turn_usage();
        let note = SubagentNotification {
            completed: progress.completed,
            total: progress.total,
            items,
            rounds,
            usage: usage(tokens),
            ..subagent.note(rev)
        };
        self.tell_subagent(note);
    }

    fn tell_subagent(&mut self, note: SubagentNotification) {
        self.subagents.show(note.clone());
        self.write(&note.parent.session_id.as_str().into(), &Line::Subagent(note.clone()));
        self.services.notify(Notice::Subagent(note));
    }

    fn end_subagent(
        &mut self,
        session_id: &SessionId,
        turn_id: &TurnId,
        end: End,
        reviews: &mut Reviews,
    ) {
        let Some(session) = self.entries.get_mut(session_id) else { return };
        if let Some(turn) = session.turn.take() {
            turn.cancel.cancel();
        }
        self.questions.withdraw(turn_id);
        reviews.stop_waiting(turn_id);
        self.close_tools(session_id, turn_id);
        if let Some(subagent) = self.subagents.running.get_mut(session_id) {
            subagent.phase = SubagentPhase::Ended { reason: end_reason(end.reason) };
        }
        self.publish_subagent(session_id);
        let Some(session) = self.entries.remove(session_id) else { return };
        let Some(subagent) = self.subagents.running.remove(session_id) else { return };
        let (rounds, usage) = session.machine.turn_usage();
        let open = session.machine.plan_items().into_iter().filter(|item| item.is_open());
        let ended = SubagentEnd {
            reason: end.reason,
            summary: problem::summary(&end, &self.config.choice.info.provider),
            last_words: last_words(session.machine.conversation()),
            rounds,
            usage,
            files: subagent.files,
            open: open.map(|item| item.content).collect(),
            unchecked_edits: end.unchecked_edits,
        };
        // After the end of the parent's turn nobody waits for the report.
        drop(subagent.reply.send(ended.report()));
        self.keep_calls(&subagent.parent.session, session_id, session.tools);
        let of_parent = |it: &Subagent| it.parent.session == subagent.parent.session;
        if let Some(at) = self.subagents.waiting.iter().position(of_parent)
            && let Some(next) = self.subagents.waiting.remove(at)
        {
            self.begin_subagent(next);
        }
    }

    fn keep_calls(
        &mut self,
        parent: &SessionId,
        session_id: &SessionId,
        mut calls: Vec<ToolNotification>,
    ) {
        calls.drain(..calls.len().saturating_sub(CALLS_KEPT));
        let shown = self.subagents.shown.get_mut(parent).into_iter().flatten();
        for it in shown.filter(|it| *session_id == it.note.session_id) {
            it.calls = std::mem::take(&mut calls);
        }
    }

    /// Ends the subagents of a session: drops the waiting ones, and returns the steps that cancel
    /// the running ones.
    pub(super) fn end_subagents(&mut self, session_id: &SessionId) -> Vec<SessionStep> {
        let waiting = std::mem::take(&mut self.subagents.waiting).into_iter();
        let (gone, rest): (Vec<Subagent>, Vec<Subagent>) =
            waiting.partition(|subagent| subagent.parent.session == *session_id);
        self.subagents.waiting = rest.into();
        for subagent in gone {
            self.drop_waiting(subagent);
        }
        let running = self.subagents.running.values();
        running
            .filter(|subagent| subagent.parent.session == *session_id)
            .map(|subagent| SessionStep::Input {
                session: subagent.session.clone(),
                turn: subagent.turn.clone(),
                input: Input::Cancel,
            })
            .collect()
    }

    /// Cancels a waiting subagent. Returns false if none waits under this id.
    pub(super) fn cancel_waiting_subagent(&mut self, params: &CancelParams) -> bool {
        let waiting = &mut self.subagents.waiting;
        let at = waiting.iter().position(|subagent| subagent.session == params.session_id);
        match at.and_then(|at| waiting.remove(at)) {
            Some(subagent) => {
                self.drop_waiting(subagent);
                true
            }
            None => false,
        }
    }

    fn drop_waiting(&mut self, mut subagent: Subagent) {
        subagent.phase = SubagentPhase::Ended { reason: EndReason::Cancelled };
        let note = subagent.note(self.services.next_rev());
        self.tell_subagent(note);
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

    /// Returns the subagents of a session for a client, with the calls of those that the newest
    /// turn started.
    pub(super) fn subagents_of(
        &self,
        session: &SessionEntry,
    ) -> (Vec<SubagentNotification>, Vec<ToolNotification>) {
        let turn = session.last_turn.as_ref().map(|turn| &turn.turn_id);
        let (mut notes, mut calls) = (Vec::new(), Vec::new());
        for it in self.subagents.shown.get(&session.id).into_iter().flatten() {
            if Some(&it.note.parent.turn_id) == turn {
                let running = self.entries.get(&it.note.session_id.as_str().into());
                calls.extend(running.map_or(&it.calls, |subagent| &subagent.tools).iter().cloned());
            }
            notes.push(it.note.clone());
        }
        (notes, calls)
    }

    /// Restores the subagents of an earlier process as ended.
    pub(super) fn restore_subagents(
        &mut self,
        session_id: &SessionId,
        subagents: Vec<SubagentNotification>,
    ) {
        for mut note in subagents {
            // A fork has another id than the session in its journal.
            note.parent.session_id = session_id.into();
            note.rev = self.services.next_rev();
            match note.phase {
                SubagentPhase::Ended { .. } => {}
                SubagentPhase::Waiting | SubagentPhase::Running => interrupt(&mut note),
            }
            self.subagents.show(note.clone());
            self.services.notify(Notice::Subagent(note));
        }
    }
}

/// Marks a subagent whose process ended.
fn interrupt(note: &mut SubagentNotification) {
    note.phase = SubagentPhase::Ended { reason: EndReason::Interrupted };
    for item in &mut note.items {
        if item.status == ItemStatus::InProgress {
            item.status = ItemStatus::Pending;
        }
        for command in item.commands.iter_mut().filter(|command| !command.state.is_over()) {
            command.state = ToolState::Cancelled;
        }
    }
}

fn last_words(conversation: &[Item]) -> String {
    let texts = conversation.iter().rev().filter_map(|item| match item {
        Item::Assistant(message) => Some(message.text()),
        Item::User(_) | Item::ToolResults { .. } => None,
    });
    texts.into_iter().find(|text| !text.trim().is_empty()).unwrap_or_default()
}

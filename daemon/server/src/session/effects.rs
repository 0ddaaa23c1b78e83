//! Steps of the turn machine and their effects.
//!
//! Inputs that an effect causes are queued; [`Sessions::settle`] processes the queue.

use std::{collections::VecDeque, sync::Arc};

use cairn_core::{
    conversation::ToolCall,
    ids::{SessionId, TurnId},
    model::ModelEvent,
    plan::graph::TaskTool,
    turn::{self, Effect, End, Input},
};
use cairn_protocol::{
    Connection, EndReason, ItemStatus, MessageRole, PlanItem, ToolLabel, ToolState, TurnPhase,
};
use tokio_util::sync::CancellationToken;

use super::{
    Sessions,
    entry::SessionEntry,
    problem,
    steps::SessionStep,
    transcript::{spent, usage},
};
use crate::{
    model::problem::retry_reason,
    ports::{EditPolicy, Questions, ToolUpdate},
    review::Reviews,
    runner,
    store::sessions::{EndedLine, Line},
    tools::ToolContext,
};

impl Sessions {
    /// Processes the queue, including steps that are added while it runs.
    pub(crate) fn settle(&mut self, reviews: &mut Reviews) {
        while let Some(step) = self.steps.pop() {
            match step {
                SessionStep::Input { session, turn, input } => {
                    self.step(&session, &turn, input, reviews)
                }
                SessionStep::Checkpoint { session, turn, task } => {
                    if let Some(entry) = self.entries.get(&session) {
                        let plan = entry.machine.plan().clone();
                        reviews.begin_checkpoint(session, turn, task, plan);
                    }
                }
                SessionStep::TurnEnded { session, turn, end } => {
                    self.on_turn_end(&session, &turn, &end, reviews);
                }
            }
        }
    }

    /// Steps the turn machine and performs its effects. Drops inputs of a turn that has ended.
    fn step(
        &mut self,
        session_id: &SessionId,
        turn_id: &TurnId,
        input: Input,
        reviews: &mut Reviews,
    ) {
        // An input that may end a round is preceded by notices about files that changed.
        if matches!(input, Input::ToolDone { .. } | Input::UserMessage { .. })
            && let Some(text) = reviews.changes_for(session_id)
            && let Some(session) = self.entries.get_mut(session_id)
        {
            session.machine.step(Input::Notice { text });
        }
        if matches!(input, Input::ToolDone { .. } | Input::UserMessage { .. })
            && let Some(text) = self.ended_processes(session_id)
            && let Some(session) = self.entries.get_mut(session_id)
        {
            session.machine.step(Input::Notice { text });
        }
        self.warn_subagent(session_id, &input);
        let Some(session) =
            self.entries.get_mut(session_id).filter(|session| session.is_turn(turn_id))
        else {
            return;
        };
        let is_piece = matches!(
            &input,
            Input::Model { event: ModelEvent::Text(_) | ModelEvent::Thinking(_), .. }
                | Input::Printed { .. }
        );
        let effects = session.machine.step(input);
        if !is_piece {
            // Written before the effects, so that their cause is durable first.
            self.write_steps(session_id);
        }
        for effect in effects {
            self.perform(session_id, turn_id, effect, reviews);
        }
    }

    fn perform(
        &mut self,
        session_id: &SessionId,
        turn_id: &TurnId,
        effect: Effect,
        reviews: &mut Reviews,
    ) {
        let Some(effect) = self.subagent_effect(session_id, turn_id, effect, reviews) else {
            return;
        };
        match effect {
            Effect::CallModel { request } => self.call_model(session_id, turn_id, request),
            Effect::Summarize { request, shortest } => {
                self.status.connect(Connection::Streaming);
                self.summarize(session_id, turn_id, request, shortest)
            }
            Effect::RequestPendingEdits => {
                let proposals = reviews.pending_edits(session_id);
                self.steps.input(session_id, turn_id, Input::PendingEdits { proposals });
            }
            Effect::Shortened(shortened) => self.on_shortened(session_id, turn_id, shortened),
            Effect::WindowLearned { tokens } => self.on_window_learned(tokens),
            Effect::LikelyCut { counted, sent } => {
                self.on_likely_cut(session_id, turn_id, counted, sent)
            }
            Effect::Wait { request, attempt, delay_ms, failure } => {
                let reason = retry_reason(&failure).message();
                self.status.connect(Connection::Retrying { attempt, delay_ms, reason });
                self.wait(session_id, turn_id, request, delay_ms);
            }
            Effect::RunTool { call, plan_item } => {
                self.status.connect(Connection::Working);
                self.run_tool(session_id, turn_id, call, plan_item)
            }
            Effect::ToolAnswered { call, plan_item, content, is_error } => {
                self.announce(session_id, turn_id, &call.id, &call.name, plan_item);
                let update = answered(&call.name, content, is_error);
                self.tool_update(session_id, turn_id, &call.id, update);
            }
            Effect::CallAnnounced { id, name } => {
                self.announce(session_id, turn_id, &id, &name, None)
            }
            Effect::Text { delta } => self.stream(session_id, MessageRole::Assistant, &delta),
            Effect::Thinking { delta } => self.stream(session_id, MessageRole::Thinking, &delta),
            Effect::TextWasThinking => self.mark_text_as_thinking(session_id),
            Effect::MessageDone { text } => self.end_stream(session_id, turn_id, Some(text)),
            Effect::MessageDropped { .. } => {
                self.end_stream(session_id, turn_id, None);
                self.drop_announced(session_id, turn_id);
            }
            Effect::CallsDropped => self.drop_announced(session_id, turn_id),
            Effect::NoteAdded(note) => self.show_note(session_id, turn_id, note),
            Effect::PublishPlan { dropped } => self.publish_plan(session_id, turn_id, dropped),
            Effect::Spent => self.publish_usage(session_id, turn_id),
            Effect::EndTurn(end) => self.end_turn(session_id, turn_id, end),
        }
    }

    /// Sends the request again after a delay, unless the turn ends before.
    fn wait(&self, session_id: &SessionId, turn_id: &TurnId, request: u32, delay_ms: u64) {
        let Some(cancel) = self.cancel_token(session_id) else { return };
        let (session, turn) = (session_id.clone(), turn_id.clone());
        let waiting = runner::wait(self.notices(), session, turn, request, delay_ms);
        self.services.spawn_until(cancel, waiting);
    }

    fn call_model(&mut self, session_id: &SessionId, turn_id: &TurnId, number: u32) {
        self.status.connect(Connection::Streaming);
        let Some(session) = self.entries.get_mut(session_id) else { return };
        let Some(encoded) = &mut session.encoded else { return };
        let messages = encoded.catch_up(&session.machine);
        self.ask(session_id, turn_id, number, messages);
    }

    fn run_tool(
        &mut self,
        session_id: &SessionId,
        turn_id: &TurnId,
        call: ToolCall,
        plan_item: Option<String>,
    ) {
        self.announce(session_id, turn_id, &call.id, &call.name, plan_item.clone());
        let Some(session) = self.entries.get_mut(session_id) else { return };
        // A todo call is not treated as work on an item.
        let plan_item = plan_item.filter(|_| TaskTool::named(&call.name).is_none());
        if let Some(item) = &plan_item {
            session.work.call_started(item);
            session.plan_stale = true;
        }
        let origin = self.origin_of(session_id, turn_id, &call.id, plan_item);
        let root = self.entries.get(&origin.session);
        let journal = root.and_then(|root| root.journal.clone());
        let edit_policy = root.map_or(EditPolicy::Propose, SessionEntry::edit_policy);
        let Some(session) = self.entries.get(session_id) else { return };
        let (Some(turn), Some(workspace)) = (&session.turn, self.services.workspace.clone()) else {
            return;
        };
        let context = ToolContext {
            workspace,
            docs: Arc::clone(&self.services.docs),
            edits: Arc::clone(&self.edits),
            edit_policy,
            subagents: Arc::new(self.mailbox.clone()),
            questions: Arc::clone(&self.services.editor) as Arc<dyn Questions>,
            searches: Arc::clone(&self.searches),
            trusted: self.config.trusted,
            is_answered: self.config.is_answered(),
            reads_images: self.config.choice.provider.reads_images(),
            cancel: turn.cancel.clone(),
            sources: Arc::clone(&self.services.sources),
            commands: Arc::clone(&self.config.settings.commands),
            allowed: self.config.allowed(),
            changed: Arc::clone(&self.services.changed),
            sandbox_config: self.config.sandbox_config(),
            command_limits: self.config.settings.command_limits,
            processes: Arc::clone(&self.services.processes),
            live: None,
            origin,
            hooks: self.hook_context(session_id, turn_id, turn.cancel.clone()),
            journal,
        };
        let tool = turn.tools.iter().find(|(spec, _)| spec.name == call.name);
        let tool = tool.map(|(_, tool)| Arc::clone(tool));
        let mode = session.mode;
        // Not dropped when the token is cancelled: a command must be able to end its processes.
        self.services.tasks.spawn(runner::run_tool(self.notices(), tool, call, context, mode));
    }

    fn cancel_token(&self, session_id: &SessionId) -> Option<CancellationToken> {
        self.entries.get(session_id)?.turn.as_ref().map(|turn| turn.cancel.clone())
    }

    /// Ends the turn once its subagents have ended.
    fn end_turn(&mut self, session_id: &SessionId, turn_id: &TurnId, end: End) {
        let Some(session) = self.entries.get_mut(session_id) else { return };
        let Some(turn) = session.turn.take() else { return };
        turn.cancel.cancel();
        let root = self.root_of(session_id);
        if root != session_id {
            self.services.processes.subagent_ended(root, session_id);
        } else if end.reason == turn::EndReason::Cancelled {
            self.services.processes.turn_cancelled(session_id);
        }
        let mut first = VecDeque::from(self.end_subagents(session_id));
        let (session, turn) = (session_id.to_owned(), turn_id.to_owned());
        first.push_back(SessionStep::TurnEnded { session, turn, end });
        self.steps.push_first(first);
    }

    fn on_turn_end(
        &mut self,
        session_id: &SessionId,
        turn_id: &TurnId,
        end: &End,
        reviews: &mut Reviews,
    ) {
        let Some(session) = self.entries.get_mut(session_id) else { return };
        // The machine keeps them for the next turn.
        session.unread.clear();
        // A turn without a todo call still adds work to the plan's items.
        let in_progress = |item: &PlanItem| item.status == ItemStatus::InProgress;
        session.plan_stale |=
            session.plan.as_ref().is_some_and(|plan| plan.items.iter().any(in_progress));
        self.end_stream(session_id, turn_id, None);
        self.questions.withdraw(turn_id);
        reviews.stop_waiting(turn_id);
        self.close_tools(session_id, turn_id);
        self.publish_stale_plans();
        // A client that learns of the end has seen every edit of the turn.
        reviews.publish();
        let reason = end_reason(end.reason);
        let Some(session) = self.entries.get(session_id) else { return };
        let (task, usage) = (session.task.clone(), usage(session.machine.usage()));
        let spent = spent(session);
        self.keep_plan(session_id, turn_id, task.unwrap_or_default(), reason);
        let provider = &self.config.choice.info.provider;
        let problem = end.cause.as_ref().map(|cause| problem::of_end(cause, provider).message());
        let summary = problem::summary(end, provider);
        let line = EndedLine {
            turn_id: turn_id.clone(),
            reason,
            summary: summary.clone(),
            open_items: end.open_items,
            unchecked_edits: end.unchecked_edits,
            closed: false,
            usage,
            spent,
        };
        self.write(session_id, &Line::Ended(line));
        let phase = TurnPhase::Ended {
            reason,
            summary: summary.clone(),
            open_items: end.open_items,
            unchecked_edits: end.unchecked_edits,
            usage,
            problem,
            spent,
        };
        self.publish_turn(session_id, turn_id, phase);
        self.hooks_of_end(session_id, turn_id, reason, &summary);
        self.continue_queue(session_id, reason == EndReason::Completed);
        if self.entries.values().all(|session| session.turn.is_none()) {
            self.status.connect(Connection::Idle);
            reviews.save_at_turn_end();
        }
    }
}

pub(super) fn end_reason(reason: turn::EndReason) -> EndReason {
    match reason {
        turn::EndReason::Completed => EndReason::Completed,
        turn::EndReason::NeedsInput => EndReason::NeedsInput,
        turn::EndReason::Cancelled => EndReason::Cancelled,
        turn::EndReason::Failed => EndReason::Failed,
        turn::EndReason::Limit => EndReason::Limit,
    }
}

/// Outcome of a call that the turn machine answered: of the planning tool, or one that cannot run.
fn answered(tool: &str, content: String, is_error: bool) -> ToolUpdate {
    let (state, label) = match is_error {
        true => (ToolState::Failed, ToolLabel::NotRun { tool: tool.to_owned() }),
        false => (ToolState::Done, ToolLabel::UpdatePlan),
    };
    let (state, label, detail) = (Some(state), Some(label), Some(content));
    ToolUpdate { state, label, detail, ..ToolUpdate::default() }
}

//! Steps of the turn machine and their effects.
//!
//! Inputs that an effect causes are queued; [`Sessions::settle`] processes the queue.

use std::{collections::BTreeMap, sync::Arc};

use cairn_core::{
    conversation::ToolCall,
    ids::{SessionId, TurnId},
    model::ModelEvent,
    plan::graph::TaskTool,
    review::Checkpoint,
    turn::{self, Effect, End, Input},
};
use cairn_protocol::{
    Connection, EndReason, ItemStatus, MessageRole, PlanItem, ToolLabel, ToolState, TurnPhase,
};

use super::{Sessions, entry::RunningTurn, problem, steps::SessionStep};
use crate::{
    model::problem::retry_reason,
    ports::{Questions, ToolUpdate},
    review::Reviews,
    runner, shortened,
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
                        let files = BTreeMap::new();
                        reviews.begin_checkpoint(Checkpoint { turn, session, task, plan, files });
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
        let Some(session) = self.entries.get_mut(session_id) else { return };
        // An input that may end a round is preceded by notices about files that changed.
        if matches!(input, Input::ToolDone { .. } | Input::UserMessage { .. }) {
            let notices = [reviews.changes_for(session_id), session.ended_processes()];
            for text in notices.into_iter().flatten() {
                session.tell_model(&text);
            }
        }
        session.warn_subagent(&input);
        if !session.is_turn(turn_id) {
            return;
        }
        let is_piece = matches!(
            &input,
            Input::Model { event: ModelEvent::Text(_) | ModelEvent::Thinking(_), .. }
                | Input::Printed { .. }
        );
        let is_subagent = session.subagent.is_some();
        let effects = session.machine.step(input);
        if !is_piece {
            // Written before the effects, so that their cause is durable first.
            session.write_steps();
        }
        for effect in effects {
            let effect = match is_subagent {
                true => self.subagent_effect(session_id, effect, reviews),
                false => Some(effect),
            };
            if let Some(effect) = effect {
                self.perform(session_id, effect, reviews);
            }
        }
    }

    fn perform(&mut self, session_id: &SessionId, effect: Effect, reviews: &mut Reviews) {
        let Some(session) = self.entries.get_mut(session_id) else { return };
        let config = &self.config;
        match effect {
            Effect::CallModel { request } => {
                self.status.connect(Connection::Streaming);
                session.ask(config, request, None);
            }
            Effect::Summarize { request, shortest } => {
                self.status.connect(Connection::Streaming);
                session.ask(config, request, Some(shortest));
            }
            Effect::RequestPendingEdits => {
                let input = Input::PendingEdits { proposals: reviews.pending_edits(session_id) };
                self.steps.input(session_id, &session.newest_turn(), input);
            }
            Effect::Shortened(shortened) => {
                session.show_notice(&shortened::notice(&shortened));
                session.publish_usage();
            }
            Effect::WindowLearned { tokens } => {
                self.config.learned_window = Some((self.config.generation, tokens));
            }
            Effect::LikelyCut { counted, sent } => session.on_likely_cut(counted, sent),
            Effect::Wait { request, attempt, delay_ms, failure } => {
                let reason = retry_reason(&failure).message();
                self.status.connect(Connection::Retrying { attempt, delay_ms, reason });
                session.wait(request, delay_ms);
            }
            Effect::RunTool { call, plan_item } => {
                self.status.connect(Connection::Working);
                self.run_tool(session_id, call, plan_item);
            }
            Effect::ToolAnswered { call, plan_item, content, is_error } => {
                session.announce(&call.id, &call.name, plan_item);
                let turn_id = session.newest_turn();
                let update = answered(&call.name, content, is_error);
                self.tool_update(session_id, &turn_id, &call.id, &update);
            }
            Effect::CallAnnounced { id, name } => session.announce(&id, &name, None),
            Effect::Text { delta } => session.stream(MessageRole::Assistant, &delta),
            Effect::Thinking { delta } => session.stream(MessageRole::Thinking, &delta),
            Effect::TextWasThinking => session.mark_text_as_thinking(),
            Effect::MessageDone { text } => session.end_stream(Some(text)),
            Effect::MessageDropped { .. } => {
                session.end_stream(None);
                self.cancel_tools(session_id, |state| state == ToolState::Queued);
            }
            Effect::CallsDropped => {
                self.cancel_tools(session_id, |state| state == ToolState::Queued);
            }
            Effect::NoteAdded(note) => session.show_note(note),
            Effect::PublishPlan { dropped } => {
                session.publish_plan(config, &session.newest_turn(), dropped);
            }
            Effect::Spent => session.publish_usage(),
            Effect::EndTurn(end) => self.end_turn(session_id, end),
        }
    }

    fn run_tool(&mut self, session_id: &SessionId, call: ToolCall, plan_item: Option<String>) {
        let Some(session) = self.entries.get_mut(session_id) else { return };
        session.announce(&call.id, &call.name, plan_item.clone());
        // A todo call is not treated as work on an item.
        let plan_item = plan_item.filter(|_| TaskTool::named(&call.name).is_none());
        if let Some(item) = &plan_item {
            session.work.call_started(item);
            session.plan_stale = true;
        }
        let (services, config) = (&self.services, &self.config);
        let (Some(turn), Some(workspace)) = (&session.turn, services.workspace.clone()) else {
            return;
        };
        let context = ToolContext {
            workspace,
            docs: Arc::clone(&services.docs),
            edits: Arc::clone(&self.edits),
            edit_policy: session.edit_policy(),
            subagents: Arc::new(self.mailbox.clone()),
            questions: Arc::clone(&services.editor) as Arc<dyn Questions>,
            searches: Arc::clone(&self.searches),
            trusted: config.trusted,
            is_answered: config.is_answered(),
            reads_images: config.choice.provider.reads_images(),
            cancel: turn.cancel.clone(),
            sources: Arc::clone(&services.sources),
            commands: Arc::clone(&config.settings.commands),
            allowed: config.allowed(),
            changed: Arc::clone(&services.changed),
            sandbox_config: config.sandbox_config(),
            command_limits: config.settings.command_limits,
            processes: Arc::clone(&services.processes),
            live: None,
            origin: session.origin_of(&call.id, plan_item),
            hooks: session.hook_context(config, turn.cancel.clone()),
            journal: session.root_journal().cloned(),
        };
        let tool = turn.tools.iter().find(|tool| tool.spec.name == call.name).cloned();
        let running = runner::run_tool(session.turn_mailbox(), tool, call, context, session.mode);
        // Not dropped when the token is cancelled: a command must be able to end its processes.
        services.tasks.spawn(running);
    }

    /// Ends the turn once its subagents have ended.
    fn end_turn(&mut self, session_id: &SessionId, end: End) {
        let Some(session) = self.entries.get_mut(session_id) else { return };
        let Some(RunningTurn { id: turn, cancel, .. }) = session.turn.take() else { return };
        cancel.cancel();
        if end.reason == turn::EndReason::Cancelled {
            self.services.processes.turn_cancelled(session_id);
        }
        let mut first = self.end_subagents(session_id);
        first.push_back(SessionStep::TurnEnded { session: session_id.clone(), turn, end });
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
        session.end_stream(None);
        self.questions.retain(|_, question| *turn_id != question.params.turn_id);
        reviews.stop_waiting(turn_id);
        session.cancel_tools(|state| !state.is_over());
        session.publish_stale_plan(&self.config);
        // A client that learns of the end has seen every edit of the turn.
        reviews.publish();
        let reason = problem::end_reason(end.reason);
        session.keep_plan(reason);
        let provider = &self.config.choice.info.provider;
        let summary = problem::summary(end, provider);
        let (open_items, unchecked_edits) = (end.open_items, end.unchecked_edits);
        let ended = session.ended(turn_id.clone(), reason, summary.clone());
        let ended = EndedLine { open_items, unchecked_edits, ..ended };
        session.write(&Line::Ended(ended.clone()));
        let mut phase = ended.into();
        if let (TurnPhase::Ended { problem, .. }, Some(cause)) = (&mut phase, &end.cause) {
            *problem = Some(problem::of_end(cause, provider).message());
        }
        session.publish_turn(phase);
        session.hooks_of_end(&self.config, reason, &summary);
        self.continue_queue(session_id, reason == EndReason::Completed);
        if self.entries.values().all(|session| session.turn.is_none()) {
            self.status.connect(Connection::Idle);
            reviews.save_at_turn_end();
        }
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

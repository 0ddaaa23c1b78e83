//! Sessions and their turns: feeds inputs to the pure machine and has its effects performed.

use std::{collections::VecDeque, sync::Arc};

use cairn_core::{
    conversation::ToolCall,
    model::{ModelEvent, ToolSpec},
    plan::{Dialect, graph::TaskTool},
    policy::trust,
    prompt::{self, InView, SelectedText, Surroundings, instructions::Instructions},
    turn::{self, Effect, End, Input, Session},
};
use cairn_protocol::{
    CancelParams, Connection, Empty, EndReason, ErrorKind, ItemStatus, MessageRole, PlanItem,
    ReviewMode, RunTaskParams, RunTaskResult, SteerParams, SteerResult, TaskContext, ToolState,
    TurnPhase,
};

use tokio_util::sync::CancellationToken;

use super::{
    Sessions,
    encoding::Wire,
    entry::{Opening, RunningTurn, SessionEntry, Step, new_id},
    persistence,
    transcript::usage,
};
use crate::{
    event::RequestError,
    ports::{EditPolicy, ToolUpdate},
    review::Reviews,
    runner, secrets,
    store::sessions::{self, EndedLine, Header, Line, TurnLine, VERSION},
    tools::ToolContext,
    workspace::path_of,
};

/// Sessions kept in memory; the oldest idle one goes first.
const SESSIONS_KEPT: usize = 50;

/// Told when the mode becomes this one: to learn it from a call that is refused costs a round.
const PLANNING: &str = "The user wants a plan first: for now no file may be changed and no command may run. Look at what you need, then present the plan.";
const PLANNED: &str = "Planning is over: from now on you may edit files and run commands again.";

impl Sessions {
    pub(super) fn run_task(
        &mut self,
        params: RunTaskParams,
        opening: Opening,
    ) -> Result<RunTaskResult, RequestError> {
        if params.text.trim().is_empty() {
            return Err(RequestError::new(
                ErrorKind::InvalidParams,
                "The task is empty",
                "Say what the agent should do.",
            ));
        }
        let Some(workspace) = self.services.workspace.clone() else {
            return Err(RequestError::new(
                ErrorKind::NotReady,
                "No folder is open",
                "Open a folder (File: Open Folder…); the agent works inside it.",
            ));
        };
        if params.session_id.is_none() && self.config.choice.info.replay {
            // A new session reads the script anew; older ones keep their place in theirs.
            self.config.choose_model();
            self.status.dirty = true;
        }
        let turn_settings = self.config.turn_settings(&self.config.choice.info.name);
        let session_id = match &params.session_id {
            Some(id) => match self.entries.get(id) {
                Some(session) if session.turn.is_some() => {
                    return Err(RequestError::new(
                        ErrorKind::TurnMismatch,
                        "The agent is still working in this session",
                        "Cancel the turn first, or send your words to it with agent/steer.",
                    ));
                }
                Some(session) => match session.locked() {
                    Some(error) => return Err(error),
                    None => id.clone(),
                },
                None => {
                    return Err(RequestError::new(
                        ErrorKind::UnknownSession,
                        "This session is not known any more",
                        "Open it with Agent: open session, or start a new task.",
                    ));
                }
            },
            None => self.new_session(&turn_settings, &workspace, opening.instructions),
        };
        let turn_id = new_id("t");
        let text = prompt::user_message(&params.text, &self.in_view(params.context.as_ref()));
        let mode = params.mode.unwrap_or(self.config.settings.review_mode);
        self.begin_turn(&session_id, &turn_id)?;
        let trusted = self.config.trusted;
        let session = self.known(&session_id)?;
        let was_planning = session.task.is_some() && session.mode == ReviewMode::Plan;
        let notice = match (was_planning, mode == ReviewMode::Plan) {
            (false, true) => Some(PLANNING),
            (true, false) => Some(PLANNED),
            (false, false) | (true, true) => None,
        };
        if let Some(text) = notice {
            session.machine.step(Input::Notice { text: text.to_owned() });
        }
        let trust = match (trusted, session.trusted) {
            (false, true) => Some(trust::UNTRUSTED),
            (true, false) => Some(trust::TRUSTED),
            (true, true) | (false, false) => None,
        };
        if let Some(text) = trust {
            session.machine.step(Input::Notice { text: text.to_owned() });
        }
        session.trusted = trusted;
        session.mode = mode;
        session.task = Some(params.text.clone());
        session.title.get_or_insert_with(|| sessions::title(&params.text));
        session.turns += 1;
        session.tools.clear();
        self.steps.push_back(Step::Checkpoint {
            session: session_id.clone(),
            turn: turn_id.clone(),
            task: params.text.clone(),
        });
        let line = TurnLine {
            turn_id: turn_id.clone(),
            task: params.text.clone(),
            mode,
            follow_up: opening.follow_up,
        };
        self.write(&session_id, &Line::Turn(line));
        self.bring_into_view(&session_id);
        self.publish_turn(&session_id, &turn_id, TurnPhase::Started { text: params.text.clone() });
        self.message(&session_id, &turn_id, MessageRole::User, params.text);
        if params.session_id.is_none() {
            self.show_instructions(&session_id, &turn_id);
        }
        self.status.dirty = true;
        self.turn_input(&session_id, &turn_id, Input::UserMessage { text });
        Ok(RunTaskResult { session_id, turn_id })
    }

    /// Whom a turn asks, with what at hand, as settings and keys are now.
    pub(super) fn begin_turn(
        &mut self,
        session_id: &str,
        turn_id: &str,
    ) -> Result<(), RequestError> {
        let turn_settings = self.config.turn_settings(&self.config.choice.info.name);
        let tools = self.config.tools_of(turn_settings.dialect);
        let of_plan = match turn_settings.dialect {
            Dialect::List(list) => Some(list.spec()),
            Dialect::Tasks => None,
        };
        let specs: Vec<ToolSpec> =
            of_plan.into_iter().chain(tools.iter().map(|(spec, _)| spec.clone())).collect();
        let (provider, generation) =
            (Arc::clone(&self.config.choice.provider), self.config.generation);
        let (cancel, max_tokens) =
            (self.services.shutdown.child_token(), self.config.choice.max_tokens);
        let session = self.known(session_id)?;
        if session.wire.as_ref().is_none_or(|wire| wire.generation != generation) {
            session.wire = Some(Wire::new(provider, generation));
        }
        session.machine.configure(turn_settings);
        let mut system = prompt::system(&session.surroundings);
        secrets::clean(&mut system);
        session.turn = Some(RunningTurn {
            id: turn_id.to_owned(),
            cancel,
            system: system.as_str().into(),
            specs: specs.as_slice().into(),
            tools,
            max_tokens,
        });
        self.measure(session_id, &system, &specs);
        Ok(())
    }

    fn new_session(
        &mut self,
        settings: &turn::TurnSettings,
        workspace: &crate::workspace::Workspace,
        instructions: Vec<Instructions>,
    ) -> String {
        if self.order.len() >= SESSIONS_KEPT
            && let Some(at) = self
                .order
                .iter()
                .position(|id| self.entries.get(id).is_none_or(|s| s.turn.is_none()))
        {
            let id = self.order.remove(at);
            self.entries.remove(&id);
            self.subagents.forget(&id);
        }
        let id = new_id("s");
        let surroundings = Surroundings {
            folders: workspace
                .folders()
                .iter()
                .map(|folder| folder.display().to_string())
                .collect(),
            os: std::env::consts::OS.to_owned(),
            date: crate::clock::today(),
            plan_tool: settings.dialect.tool_in_words().to_owned(),
            instructions,
        };
        let header =
            Header { version: VERSION, session_id: id.clone(), surroundings, forked_from: None };
        let machine = Session::new(settings.clone());
        let (surroundings, mode) = (header.surroundings.clone(), self.config.settings.review_mode);
        let entry = SessionEntry {
            journal: self.begin_journal(&header),
            ..SessionEntry::new(id.clone(), machine, surroundings, mode)
        };
        self.entries.insert(id.clone(), entry);
        self.order.push(id.clone());
        self.write(&id, &Line::Session(header));
        id
    }

    fn in_view(&self, context: Option<&TaskContext>) -> InView {
        let (Some(context), Some(workspace)) = (context, &self.services.workspace) else {
            return InView::default();
        };
        let inside = |uri: &str| {
            let path = path_of(uri)?;
            workspace.resolve(&path.to_string_lossy()).ok().map(|path| path.display().to_owned())
        };
        InView {
            active_file: context.active_file.as_deref().and_then(inside),
            selection: context.selection.as_ref().and_then(|selection| {
                Some(SelectedText {
                    path: inside(&selection.uri)?,
                    first_line: selection.range.start.line + 1,
                    last_line: selection.range.end.line + 1,
                    text: selection.text.clone(),
                })
            }),
        }
    }

    pub(crate) fn steer(&mut self, params: SteerParams) -> Result<SteerResult, RequestError> {
        let session = self.known(&params.session_id)?;
        if !session.is_turn(&params.expected_turn_id) {
            return Err(RequestError::new(
                ErrorKind::TurnMismatch,
                "That turn is over",
                "Send your words as a reply: agent/runTask with the session's id.",
            ));
        }
        let (session_id, turn_id) = (params.session_id, params.expected_turn_id);
        self.message(&session_id, &turn_id, MessageRole::User, params.text.clone());
        self.turn_input(&session_id, &turn_id, Input::Steer { text: params.text });
        Ok(SteerResult { queued: true })
    }

    pub(crate) fn cancel(&mut self, params: &CancelParams) -> Result<Empty, RequestError> {
        if self.cancel_waiting_child(params) {
            return Ok(Empty {});
        }
        self.known(&params.session_id)?;
        self.turn_input(&params.session_id, &params.turn_id, Input::Cancel);
        Ok(Empty {})
    }

    pub(super) fn known(&mut self, id: &str) -> Result<&mut SessionEntry, RequestError> {
        self.entries.get_mut(id).ok_or_else(|| {
            RequestError::new(
                ErrorKind::UnknownSession,
                "This session is not known",
                "Start a new task with Agent: run task.",
            )
        })
    }

    /// Queues an input of a turn.
    pub(super) fn turn_input(&mut self, session: &str, turn: &str, input: Input) {
        let (session, turn) = (session.to_owned(), turn.to_owned());
        self.steps.push_back(Step::Input { session, turn, input });
    }

    /// Does everything that is queued, and what that causes.
    pub(crate) fn settle(&mut self, reviews: &mut Reviews) {
        while let Some(step) = self.steps.pop_front() {
            match step {
                Step::Input { session, turn, input } => self.step(&session, &turn, input, reviews),
                Step::Checkpoint { session, turn, task } => {
                    if let Some(entry) = self.entries.get(&session) {
                        let plan = entry.machine.plan().clone();
                        reviews.begin_checkpoint(session, turn, task, plan);
                    }
                }
                Step::TurnEnded { session, turn, end } => {
                    self.turn_ended(&session, &turn, &end, reviews);
                }
            }
        }
    }

    /// Steps the machine, and performs the effects. Inputs of a turn that is over are dropped.
    fn step(&mut self, session_id: &str, turn_id: &str, input: Input, reviews: &mut Reviews) {
        // What may close a round first tells the model what is not as it knows it any more.
        if matches!(input, Input::ToolDone { .. } | Input::UserMessage { .. })
            && let Some(text) = reviews.changes_for(session_id)
            && let Some(session) = self.entries.get_mut(session_id)
        {
            session.machine.step(Input::Notice { text });
        }
        self.warn_child(session_id, &input);
        let Some(session) =
            self.entries.get_mut(session_id).filter(|session| session.is_turn(turn_id))
        else {
            return;
        };
        let is_piece = matches!(
            &input,
            Input::Model { event: ModelEvent::Text(_) | ModelEvent::Thinking(_), .. }
        );
        let effects = session.machine.step(input);
        if !is_piece {
            // Before the effects: what led to them is durable before they are.
            self.write_steps(session_id);
        }
        for effect in effects {
            self.perform(session_id, turn_id, effect, reviews);
        }
    }

    fn perform(&mut self, session_id: &str, turn_id: &str, effect: Effect, reviews: &mut Reviews) {
        let Some(effect) = self.child_effect(session_id, turn_id, effect, reviews) else { return };
        match effect {
            Effect::CallModel { request } => self.call_model(session_id, turn_id, request),
            Effect::Summarize { request, shortest } => {
                self.status.connect(Connection::Streaming);
                self.summarize(session_id, turn_id, request, shortest)
            }
            Effect::RequestPendingEdits => {
                let proposals = reviews.pending_edits(session_id);
                self.turn_input(session_id, turn_id, Input::PendingEdits { proposals });
            }
            Effect::Shortened(shortened) => self.shortened(session_id, turn_id, shortened),
            Effect::WindowLearned { tokens } => self.window_learned(tokens),
            Effect::Wait { request, attempt, delay_ms, reason } => {
                self.status.connect(Connection::Retrying { attempt, delay_ms, reason });
                if let Some(cancel) = self.cancel_token(session_id) {
                    let waiting = runner::wait(
                        self.notices(),
                        session_id.into(),
                        turn_id.into(),
                        request,
                        delay_ms,
                    );
                    self.services.spawn_until(cancel, waiting);
                }
            }
            Effect::RunTool { call, plan_item } => {
                self.status.connect(Connection::Working);
                self.run_tool(session_id, turn_id, call, plan_item)
            }
            Effect::ToolAnswered { call, plan_item, content, is_error } => {
                let update = ToolUpdate {
                    state: Some(if is_error { ToolState::Failed } else { ToolState::Done }),
                    title: Some(if is_error {
                        format!("{} was not run", call.name)
                    } else {
                        "Update the plan".into()
                    }),
                    detail: Some(content),
                    ..ToolUpdate::default()
                };
                self.announce(session_id, turn_id, &call.id, &call.name, plan_item);
                self.tool_update(session_id, turn_id, &call.id, update);
            }
            Effect::CallAnnounced { id, name } => {
                self.announce(session_id, turn_id, &id, &name, None)
            }
            Effect::Text { delta } => self.stream(session_id, MessageRole::Assistant, &delta),
            Effect::Thinking { delta } => self.stream(session_id, MessageRole::Thinking, &delta),
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

    fn call_model(&mut self, session_id: &str, turn_id: &str, number: u32) {
        self.status.connect(Connection::Streaming);
        let Some(session) = self.entries.get_mut(session_id) else { return };
        let Some(wire) = &mut session.wire else { return };
        let messages = wire.catch_up(&session.machine);
        self.ask(session_id, turn_id, number, messages);
    }

    fn run_tool(
        &mut self,
        session_id: &str,
        turn_id: &str,
        call: ToolCall,
        plan_item: Option<String>,
    ) {
        self.announce(session_id, turn_id, &call.id, &call.name, plan_item.clone());
        let Some(session) = self.entries.get_mut(session_id) else { return };
        // Keeping the plan is no work on an item of it.
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
            children: Arc::new(self.mailbox.clone()),
            searches: Arc::clone(&self.searches),
            trusted: self.config.trusted,
            cancel: turn.cancel.clone(),
            sources: Arc::clone(&self.services.sources),
            commands: Arc::clone(&self.config.settings.commands),
            allowed: self.allowed(),
            walls: self.walls(),
            timeout: self.config.settings.tool_timeout,
            origin,
            hooks: self.hook_desk(session_id, turn_id, turn.cancel.clone()),
            journal,
        };
        let tool = turn.tools.iter().find(|(spec, _)| spec.name == call.name);
        let tool = tool.map(|(_, tool)| Arc::clone(tool));
        let mode = session.mode;
        // Not cut by the token: a command must get the chance to end its processes.
        self.services.tasks.spawn(runner::run_tool(self.notices(), tool, call, context, mode));
    }

    fn cancel_token(&self, session_id: &str) -> Option<CancellationToken> {
        self.entries.get(session_id)?.turn.as_ref().map(|turn| turn.cancel.clone())
    }

    /// Ends the turn once its subagents have ended.
    fn end_turn(&mut self, session_id: &str, turn_id: &str, end: End) {
        let Some(session) = self.entries.get_mut(session_id) else { return };
        let Some(turn) = session.turn.take() else { return };
        turn.cancel.cancel();
        let mut first = VecDeque::from(self.end_children(session_id));
        let (session, turn) = (session_id.to_owned(), turn_id.to_owned());
        first.push_back(Step::TurnEnded { session, turn, end });
        first.append(&mut self.steps);
        self.steps = first;
    }

    fn turn_ended(&mut self, session_id: &str, turn_id: &str, end: &End, reviews: &mut Reviews) {
        let Some(session) = self.entries.get_mut(session_id) else { return };
        let open_items = persistence::open_items(&session.machine);
        // A turn that did not touch the plan still worked under it.
        let in_progress = |item: &PlanItem| item.status == ItemStatus::InProgress;
        session.plan_stale |=
            session.plan.as_ref().is_some_and(|plan| plan.items.iter().any(in_progress));
        self.end_stream(session_id, turn_id, None);
        self.withdraw_approvals(turn_id);
        reviews.stop_waiting(turn_id);
        self.close_tools(session_id, turn_id);
        self.publish_stale_plans();
        let reason = end_reason(end.reason);
        let Some(session) = self.entries.get(session_id) else { return };
        let (task, usage) = (session.task.clone(), usage(session.machine.usage()));
        self.keep_plan(session_id, turn_id, task.unwrap_or_default(), reason);
        let line = EndedLine {
            turn_id: turn_id.into(),
            reason,
            summary: end.summary.clone(),
            open_items,
            usage,
        };
        self.write(session_id, &Line::Ended(line));
        self.publish_turn(
            session_id,
            turn_id,
            TurnPhase::Ended { reason, summary: end.summary.clone(), open_items, usage },
        );
        self.hooks_of_end(session_id, turn_id, reason, &end.summary);
        self.queue_goes_on(session_id, reason == EndReason::Completed);
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

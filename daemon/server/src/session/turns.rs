//! Start, steering and cancellation of turns.

use std::{sync::Arc, time::Instant};

use cairn_core::{
    ids::{SessionId, TurnId},
    policy::trust,
    prompt::{self, InView, SelectedText, Surroundings},
    turn::{self, Input, Session},
};
use cairn_protocol::{
    RequestProblem, ReviewMode, RunTaskParams, RunTaskResult, TaskContext, TurnPhase,
};

use super::{
    Sessions,
    encoding::EncodedConversation,
    entry::{FoundAtStart, RunningTurn, SessionEntry, TurnBegan, TurnStart, new_id},
    steps::SessionStep,
};
use crate::{
    event::RequestError,
    model::{Provider, replay::ReplayProvider},
    secrets,
    store::sessions::{self, Header, Line, TurnLine, VERSION},
    workspace::path_of,
};

/// Maximum number of sessions in memory; the oldest idle one is dropped first.
const SESSIONS_KEPT: usize = 50;

/// Name of the built-in demonstration, in place of a model.
const DEMO: &str = "demo";
/// Generation of its conversation: a turn with a model after it encodes the conversation again.
const DEMO_GENERATION: u32 = u32::MAX;

/// Notices of the start and the end of plan mode. Without one the model would learn of it by a
/// refused call, which costs a round.
const PLANNING: &str = "The user wants a plan first: for now no file may be changed and no command may run. Look at what you need, then present the plan.";
const PLANNED: &str = "Planning is over: from now on you may edit files and run commands again.";

impl SessionEntry {
    /// Takes the mode and the trust of a new turn, and tells the model what changed.
    fn take_mode(&mut self, mode: ReviewMode, trusted: bool) {
        let was_planning = self.task.is_some() && self.mode == ReviewMode::Plan;
        let planning = match (was_planning, mode == ReviewMode::Plan) {
            (false, true) => Some(PLANNING),
            (true, false) => Some(PLANNED),
            (false, false) | (true, true) => None,
        };
        let trust = match (trusted, self.trusted) {
            (false, true) => Some(trust::UNTRUSTED),
            (true, false) => Some(trust::TRUSTED),
            (true, true) | (false, false) => None,
        };
        for text in planning.into_iter().chain(trust) {
            self.machine.step(Input::Notice { text: text.to_owned() });
        }
        (self.trusted, self.mode) = (trusted, mode);
    }
}

impl Sessions {
    pub(super) fn run_task(
        &mut self,
        mut params: RunTaskParams,
        opening: TurnStart,
    ) -> Result<RunTaskResult, RequestError> {
        let attached = opening.attached;
        if params.text.trim().is_empty() && attached.is_empty() {
            return Err(RequestProblem::EmptyTask.into());
        }
        let workspace = self.services.workspace.clone().ok_or(RequestProblem::NoFolder)?;
        if let Some(unusable) = self.config.choice.unusable.as_ref().filter(|_| !params.demo) {
            return Err(RequestProblem::NoUsableModel { reason: unusable.clone() }.into());
        }
        if params.session_id.is_none() && self.config.choice.info.replay {
            // A new session starts the replay script again; older ones keep their position.
            self.config.choose_model();
            self.status.dirty = true;
        }
        let model = if params.demo { DEMO } else { &self.config.choice.info.name };
        let turn_settings = self.config.turn_settings(model);
        let session_id = match params.session_id.as_deref().map(SessionId::from) {
            Some(id) => self.ready_for_turn(id)?,
            None => self.new_session(&turn_settings, &workspace, opening.found),
        };
        let turn_id = TurnId::from(new_id("t"));
        let text =
            prompt::user_message(&params.text, &self.editor_context(params.context.as_ref()));
        if params.text.trim().is_empty() {
            params.text = sessions::attachment_names(&attached);
        }
        let mode = params.mode.unwrap_or(self.config.settings.review_mode);
        self.begin_turn(&session_id, &turn_id, params.demo)?;
        let trusted = self.config.trusted;
        let session = self.known(&session_id)?;
        session.take_mode(mode, trusted);
        session.task = Some(params.text.clone());
        session.title.get_or_insert_with(|| sessions::title(&params.text));
        session.turns += 1;
        session.tools.clear();
        let (session, turn, task) = (session_id.clone(), turn_id.clone(), params.text.clone());
        self.steps.push(SessionStep::Checkpoint { session, turn, task });
        let (task, attachments) = (params.text.clone(), sessions::described(&attached));
        let line = TurnLine {
            turn_id: turn_id.clone(),
            task: task.clone(),
            mode,
            follow_up: opening.follow_up,
            attachments: attachments.clone(),
        };
        self.write(&session_id, &Line::Turn(line));
        self.bring_into_view(&session_id);
        let started = TurnPhase::Started { text: task, attachments };
        self.publish_turn(&session_id, &turn_id, started);
        self.queue_follows_a_turn(&session_id);
        self.user_message(&session_id, &turn_id, params.text, &attached);
        if params.session_id.is_none() {
            self.show_instructions(&session_id, &turn_id);
        }
        self.status.dirty = true;
        self.steps.input(&session_id, &turn_id, Input::UserMessage { text, attached });
        Ok(RunTaskResult { session_id: session_id.into(), turn_id: turn_id.into() })
    }

    /// Returns the id of a session in which a turn can begin.
    fn ready_for_turn(&self, id: SessionId) -> Result<SessionId, RequestError> {
        match self.entries.get(&id) {
            Some(session) if session.turn.is_some() => Err(RequestProblem::TurnRunning.into()),
            Some(session) => session.locked().map_or(Ok(id), Err),
            None => Err(RequestProblem::SessionNotLoaded.into()),
        }
    }

    /// Takes the model, the tools and the limits of a turn from the present settings and keys.
    pub(super) fn begin_turn(
        &mut self,
        session_id: &SessionId,
        turn_id: &TurnId,
        demo: bool,
    ) -> Result<(), RequestError> {
        let model = if demo { DEMO } else { &self.config.choice.info.name };
        let mut turn_settings = self.config.turn_settings(model);
        let tools = self.config.tools_of(turn_settings.dialect);
        let specs = self.config.specs(model, turn_settings.dialect, &tools);
        let (provider, generation): (Arc<dyn Provider>, u32) = if demo {
            (Arc::new(ReplayProvider::demo()), DEMO_GENERATION)
        } else {
            (Arc::clone(&self.config.choice.provider), self.config.generation)
        };
        let (cancel, max_tokens) =
            (self.services.shutdown.child_token(), self.config.choice.max_tokens);
        let audience = self.config.audience.clone();
        let session = self.known(session_id)?;
        if session.encoded.as_ref().is_none_or(|encoded| encoded.generation != generation) {
            session.encoded = Some(EncodedConversation::new(provider, generation));
        }
        turn_settings.plans_only = session.mode == ReviewMode::Plan;
        session.machine.configure(turn_settings);
        let mut system = prompt::system(&session.surroundings, &audience);
        secrets::clean(&mut system);
        let cost_micros = session.machine.cost().micro_dollars().unwrap_or(0);
        session.began = Some(TurnBegan { at: Instant::now(), cost_micros });
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
        FoundAtStart { instructions, project }: FoundAtStart,
    ) -> SessionId {
        if self.order.len() >= SESSIONS_KEPT
            && let Some(at) = self
                .order
                .iter()
                .position(|id| self.entries.get(id).is_none_or(|s| s.turn.is_none()))
        {
            let id = self.order.remove(at);
            self.entries.remove(&id);
            self.services.processes.forget(&id);
            self.questions.forget(&id);
            self.subagents.forget(&id);
        }
        let id = SessionId::from(new_id("s"));
        let surroundings = Surroundings {
            folders: workspace
                .folders()
                .iter()
                .map(|folder| folder.display().to_string())
                .collect(),
            folder_names: workspace.folder_names(),
            os: std::env::consts::OS.to_owned(),
            date: crate::clock::today(),
            plan_tool: settings.dialect.tool_in_words().to_owned(),
            project,
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

    fn editor_context(&self, context: Option<&TaskContext>) -> InView {
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

    pub(super) fn known(&mut self, id: &SessionId) -> Result<&mut SessionEntry, RequestError> {
        self.entries.get_mut(id).ok_or_else(|| RequestProblem::SessionUnknown.into())
    }
}

//! Start, steering and cancellation of turns.

use std::{sync::Arc, time::Instant};

use cairn_core::{
    ids::SessionId,
    policy::trust,
    prompt::{self, InView, SelectedText, Surroundings},
    turn::{Input, Session},
};
use cairn_protocol::{
    Attachment, RequestProblem, ReviewMode, RunTaskParams, RunTaskResult, TaskContext, TurnPhase,
};

use super::{
    Sessions,
    configuration::Configuration,
    encoding::EncodedConversation,
    entry::{RunningTurn, SessionEntry, TurnBegan, TurnStart, new_id},
    event::FoundAtStart,
    steps::SessionStep,
};
use crate::{
    event::RequestError,
    model::{Provider, replay::ReplayProvider},
    secrets,
    store::sessions::{self, FollowUpLine, Header, Line, TurnLine, VERSION},
    workspace::{Workspace, path_of},
};

/// Maximum number of sessions in memory; the oldest idle one is dropped first.
const SESSIONS_KEPT: usize = 50;

/// Generation of the conversation of a demonstration: a turn with a model after it encodes the conversation again.
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

    /// Takes the model, the tools and the limits of a turn from the present settings and keys.
    pub(super) fn begin_turn(&mut self, config: &Configuration, demo: bool) {
        let model = config.model_name(demo);
        let mut settings = config.turn_settings(model);
        let tools = config.tools_of(settings.dialect);
        let specs = config.specs(model, settings.dialect, &tools);
        let (provider, generation): (Arc<dyn Provider>, u32) = if demo {
            (Arc::new(ReplayProvider::demo()), DEMO_GENERATION)
        } else {
            (Arc::clone(&config.choice.provider), config.generation)
        };
        if self.encoded.as_ref().is_none_or(|encoded| encoded.generation != generation) {
            self.encoded = Some(EncodedConversation::new(provider, generation));
        }
        settings.plans_only = self.mode == ReviewMode::Plan;
        self.machine.configure(settings);
        let mut system = prompt::system(&self.surroundings, &config.audience);
        secrets::clean(&mut system);
        let cost_micros = self.machine.cost().micro_dollars().unwrap_or(0);
        self.began = Some(TurnBegan { at: Instant::now(), cost_micros });
        self.measure(config, &system, &specs);
        self.turn = Some(RunningTurn {
            id: new_id("t").into(),
            cancel: self.services.shutdown.child_token(),
            system: system.into(),
            specs: specs.into(),
            tools,
            max_tokens: config.choice.max_tokens,
        });
    }

    /// Writes the start of the turn that has just begun.
    pub(super) fn write_turn(
        &self,
        task: String,
        follow_up: Option<String>,
        attachments: Vec<Attachment>,
    ) {
        let (turn_id, mode) = (self.newest_turn(), self.mode);
        self.write(&Line::Turn(TurnLine { turn_id, task, mode, follow_up, attachments }));
    }
}

impl Sessions {
    pub(super) fn run_task(
        &mut self,
        mut params: RunTaskParams,
        opening: TurnStart,
    ) -> Result<RunTaskResult, RequestError> {
        let TurnStart { found, follow_up, attached } = opening;
        if params.text.trim().is_empty() && attached.is_empty() {
            return Err(RequestProblem::EmptyTask.into());
        }
        let workspace = self.services.workspace.clone().ok_or(RequestProblem::NoFolder)?;
        if let Some(unusable) = self.config.choice.unusable.as_ref().filter(|_| !params.demo) {
            return Err(RequestProblem::NoUsableModel { reason: unusable.clone() }.into());
        }
        let is_new = params.session_id.is_none();
        if is_new && self.config.choice.info.replay {
            // A new session starts the replay script again; older ones keep their position.
            self.config.choose_model();
            self.status.dirty = true;
        }
        let session_id = match params.session_id.as_deref() {
            Some(id) => id.into(),
            None => self.new_session(params.demo, &workspace, found),
        };
        let session = self.entries.get_mut(&session_id);
        let session = session.ok_or(RequestProblem::SessionNotLoaded)?;
        if session.turn.is_some() {
            return Err(RequestProblem::TurnRunning.into());
        }
        session.locked().map_or(Ok(()), Err)?;
        let in_view = params.context.as_ref().map(|it| editor_context(it, &workspace));
        let text = prompt::user_message(&params.text, &in_view.unwrap_or_default());
        if params.text.trim().is_empty() {
            params.text = sessions::attachment_names(&attached);
        }
        let task = params.text;
        session.begin_turn(&self.config, params.demo);
        let mode = params.mode.unwrap_or(self.config.settings.review_mode);
        session.take_mode(mode, self.config.trusted);
        session.task = Some(task.clone());
        session.title.get_or_insert_with(|| sessions::title(&task));
        session.turns += 1;
        session.tools.clear();
        let attachments = sessions::described(&attached);
        session.write_turn(task.clone(), follow_up, attachments.clone());
        session.write_digest();
        session.publish_turn(TurnPhase::Started { text: task.clone(), attachments });
        session.queue_follows_a_turn();
        session.user_message(task.clone(), &attached);
        if is_new {
            session.show_instructions();
        }
        let turn = session.newest_turn();
        let result = RunTaskResult { session_id: (&session_id).into(), turn_id: (&turn).into() };
        self.bring_into_view(&session_id);
        self.status.dirty = true;
        let (session, input) = (session_id.clone(), Input::UserMessage { text, attached });
        self.steps.push(SessionStep::Checkpoint { session, turn: turn.clone(), task });
        self.steps.input(&session_id, &turn, input);
        Ok(result)
    }

    fn new_session(
        &mut self,
        demo: bool,
        workspace: &Workspace,
        FoundAtStart { instructions, project }: FoundAtStart,
    ) -> SessionId {
        if self.order.len() >= SESSIONS_KEPT {
            let is_idle =
                |id: &&SessionId| self.entries.get(*id).is_none_or(|it| it.turn.is_none());
            if let Some(id) = self.order.iter().find(is_idle).cloned() {
                self.unload(&id);
            }
        }
        let settings = self.config.turn_settings(self.config.model_name(demo));
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
        let (surroundings, mode) = (header.surroundings.clone(), self.config.settings.review_mode);
        let entry = SessionEntry {
            journal: self.begin_journal(&id),
            ..self.new_entry(&id, Session::new(settings), surroundings, mode)
        };
        entry.write(&Line::Session(header));
        self.entries.insert(id.clone(), entry);
        self.order.push(id.clone());
        id
    }

    /// Handles the end of a turn: starts the next follow-up, or holds the queue for the user.
    pub(super) fn continue_queue(&mut self, session_id: &SessionId, completed: bool) {
        if self.entries.get(session_id).is_none_or(|session| session.queue.items.is_empty()) {
            return;
        }
        if completed {
            match self.begin_follow_up(session_id, 0) {
                Ok(()) => return,
                Err(error) => tracing::warn!("a follow-up did not begin: {}", error.english()),
            }
        }
        if let Some(session) = self.entries.get_mut(session_id) {
            session.hold_queue();
        }
    }

    pub(super) fn begin_follow_up(
        &mut self,
        session_id: &SessionId,
        at: usize,
    ) -> Result<(), RequestError> {
        let session = self.known(session_id)?;
        let Some(FollowUpLine { id, text, mode, attached }) = session.queue.items.get(at).cloned()
        else {
            return Ok(());
        };
        let mode = Some(mode.unwrap_or(session.mode));
        let params = RunTaskParams {
            text,
            session_id: Some(session_id.into()),
            mode,
            ..RunTaskParams::default()
        };
        let opening = TurnStart { follow_up: Some(id.clone()), attached, ..TurnStart::default() };
        self.run_task(params, opening)?;
        self.known(session_id)?.on_follow_up_started(&id);
        Ok(())
    }

    pub(super) fn known(&mut self, id: &SessionId) -> Result<&mut SessionEntry, RequestError> {
        self.entries.get_mut(id).ok_or_else(|| RequestProblem::SessionUnknown.into())
    }
}

fn editor_context(context: &TaskContext, workspace: &Workspace) -> InView {
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

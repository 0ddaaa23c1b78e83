//! Sessions: conversations with the agent, their turns, plans, questions and journals.
//!
//! An event may cause inputs of turns. They are queued, and [`Sessions::settle`] processes the
//! queue, so that no call re-enters another. Never waits: slow work runs in its own task and
//! returns as a [`SessionEvent`].

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

use cairn_core::{
    ids::{CallId, SessionId, TurnId},
    prompt::Audience,
    subagent::SubagentReport,
    turn::Input,
};
use cairn_protocol::{
    CredentialsParams, Notice, OutputNotification, SessionSnapshot, StatusNotification, TurnNotice,
};
use futures_util::future::{BoxFuture, FutureExt};
use tokio::sync::oneshot;

use crate::{
    config::Settings,
    environment::Environment,
    event::Remember,
    exec::sandbox::Watch,
    ports::{Edits, Mailbox, OpenQuestion, SubagentRequest, Subagents, ToolUpdate, TurnNews},
    review::{Reviews, SessionNotice},
    services::Services,
    store::journal::State,
    tools::Searches,
    workspace::Workspace,
};

mod approvals;
mod attachments;
mod background;
mod configuration;
mod context;
mod effects;
mod encoding;
mod entry;
mod event;
mod hooks;
mod instructions;
mod journal;
mod messages;
mod persistence;
mod plans;
mod problem;
mod processes;
mod queue;
pub(crate) mod requests;
mod sandbox;
mod session_list;
mod standard_client;
mod status;
mod steps;
mod subagent;
mod subagents;
mod transcript;
mod turns;
mod work;

use configuration::Configuration;
use entry::SessionEntry;
use status::DaemonStatus;
use steps::StepQueue;

type Continuation = Box<dyn FnOnce(&mut Sessions, &mut Reviews) + Send>;

/// Events for the sessions from the runner, tools, hooks and background tasks.
pub(crate) enum SessionEvent {
    Turn(SessionId, TurnId, TurnNews),
    /// Request of a call for a subagent, answered with its report.
    Subagent {
        request: Box<SubagentRequest>,
        reply: oneshot::Sender<SubagentReport>,
    },
    /// Sessions with a process that started, wrote or ended.
    Processes(HashSet<SessionId>),
    /// Code that continues a request or the start of the daemon once its background work is done.
    Then(Continuation),
    /// State of the journal: writable or failed.
    Storage(State),
}

pub(crate) struct Sessions {
    services: Services,
    mailbox: Mailbox<SessionEvent>,
    edits: Arc<dyn Edits>,
    config: Configuration,
    /// Limits for the searches of all sessions together.
    searches: Arc<Searches>,
    entries: HashMap<SessionId, SessionEntry>,
    /// Ids in order of use; the last is in view.
    order: Vec<SessionId>,
    /// Questions without an answer, by the id of their approval. These ids sort by time.
    questions: BTreeMap<String, OpenQuestion>,
    /// State folder of this workspace; `None`: no state is stored.
    state_dir: Option<std::path::PathBuf>,
    /// True while the state of an earlier process is being read.
    restoring: bool,
    status: DaemonStatus,
    steps: StepQueue,
}

impl Sessions {
    pub(crate) fn new(
        services: Services,
        mailbox: Mailbox<SessionEvent>,
        edits: Arc<dyn Edits>,
        watch: Arc<Watch>,
        environment: Environment,
    ) -> Self {
        Self {
            services,
            mailbox,
            edits,
            config: Configuration::new(environment, watch),
            searches: Arc::default(),
            entries: HashMap::new(),
            order: Vec::new(),
            questions: BTreeMap::new(),
            state_dir: None,
            restoring: false,
            status: DaemonStatus::default(),
            steps: StepQueue::default(),
        }
    }

    /// Opens a workspace. The settings are set before.
    pub(crate) fn open(
        &mut self,
        workspace: Option<Arc<Workspace>>,
        trusted: bool,
        audience: Audience,
    ) {
        self.services.workspace = workspace;
        self.config.audience = audience;
        self.config.trusted = trusted;
    }

    pub(crate) fn start(&mut self, remember: Remember) {
        self.find_sandbox();
        self.recover_commands();
        self.look_for_sessions(remember);
        processes::follow(&self.services, self.mailbox.clone());
    }

    pub(crate) fn configure(&mut self, section: &serde_json::Value) {
        self.config.read(section);
        self.status.dirty = true;
    }

    pub(crate) fn credentials(&mut self, credentials: CredentialsParams) {
        self.config.credentials(credentials);
        self.status.dirty = true;
    }

    /// Applies from the next turn on, except that calls which need trust are denied at once.
    pub(crate) fn trust(&mut self, trusted: bool) {
        if self.config.trust(trusted) {
            self.status.dirty = true;
            self.refuse_without_trust();
            if !trusted {
                self.services.processes.stop_every();
            }
        }
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.config.settings
    }

    /// True while requests must wait for the state of an earlier process.
    pub(crate) fn is_restoring(&self) -> bool {
        self.restoring
    }

    pub(crate) fn is_working(&self) -> bool {
        self.entries.values().any(|session| session.turn.is_some())
    }

    pub(crate) fn snapshots(&self) -> Vec<SessionSnapshot> {
        self.order.iter().filter_map(|id| self.snapshot_of(id)).collect()
    }

    pub(crate) fn handle(&mut self, event: SessionEvent, reviews: &mut Reviews) {
        match event {
            SessionEvent::Turn(session, turn, news) => {
                self.on_turn_news(&session, &turn, news, reviews);
            }
            SessionEvent::Subagent { request, reply } => self.start_subagent(*request, reply),
            SessionEvent::Processes(sessions) => processes::publish(&self.services, sessions),
            SessionEvent::Then(then) => then(self, reviews),
            SessionEvent::Storage(state) => self.status.on_storage(state),
        }
        self.settle(reviews);
    }

    fn on_turn_news(
        &mut self,
        id: &SessionId,
        turn: &TurnId,
        news: TurnNews,
        reviews: &mut Reviews,
    ) {
        match news {
            TurnNews::Input(input) => self.steps.input(id, turn, input),
            TurnNews::Tool { call_id, update } => {
                self.on_tool_progress(id, turn, &call_id, *update, reviews);
            }
            TurnNews::Output { call_id, seq, text } => {
                let printed = Input::Printed { call_id: call_id.clone(), text: text.clone() };
                self.steps.input(id, turn, printed);
                if let Some(session) = self.entries.get(id) {
                    let (session_id, turn_id, call_id) = (id.into(), turn.into(), call_id.into());
                    session.output(OutputNotification { session_id, turn_id, call_id, seq, text });
                }
            }
            TurnNews::Tell(notice) => {
                if let Some(session) = self.entries.get_mut(id) {
                    session.turn_notice(turn, notice);
                }
            }
            TurnNews::StreamDue => {
                if let Some(session) = self.entries.get_mut(id) {
                    session.write_stream();
                }
            }
            TurnNews::Ask(question) => self.ask_approval(*question),
        }
    }

    fn on_tool_progress(
        &mut self,
        session_id: &SessionId,
        turn: &TurnId,
        call_id: &CallId,
        mut update: ToolUpdate,
        reviews: &mut Reviews,
    ) {
        if let Some(text) = update.read_text.take() {
            reviews.record_read(session_id, text, |id| self.entries.contains_key(id));
        }
        if let Some(session) = self.entries.get_mut(session_id) {
            for text in session.nearby_instructions(std::mem::take(&mut update.near)) {
                self.steps.input(session_id, turn, Input::Notice { text });
            }
        }
        self.settle(reviews);
        self.tool_update(session_id, turn, call_id, &update);
    }

    /// Handles a message from the reviews.
    pub(crate) fn on_review_notice(&mut self, notice: SessionNotice) {
        match notice {
            SessionNotice::Tell { sessions, text } => {
                for id in sessions {
                    if let Some(session) = self.entries.get_mut(&id) {
                        session.tell_model(&text);
                        session.write_steps();
                    }
                }
            }
            SessionNotice::CheckpointRestored { plans, result, reply } => {
                let files = u32::try_from(result.restored.len()).unwrap_or(u32::MAX);
                for before in plans {
                    let Some(session) = self.entries.get_mut(&before.session) else { continue };
                    session.machine.restore_plan(before.plan);
                    let turn = session.newest_turn();
                    session.publish_plan(&self.config, &turn, Vec::new());
                    session.tell_model(&before.text);
                    session.write_steps();
                    let notice = TurnNotice::TurnsRestored { turn: before.turn.into(), files };
                    session.turn_notice(&turn, notice);
                }
                reply.send(Ok(result));
            }
            SessionNotice::Redone { turns } => {
                for (id, turn) in turns {
                    let Some(session) = self.entries.get_mut(&id) else { continue };
                    let notice = TurnNotice::TurnsRedone { turn: turn.into() };
                    session.turn_notice(&session.newest_turn(), notice);
                }
            }
        }
    }

    /// Publishes each change since the last call once.
    pub(crate) fn publish(&mut self) {
        self.entries.values_mut().for_each(SessionEntry::publish_stream);
        self.entries.values_mut().for_each(|session| session.publish_stale_plan(&self.config));
        self.publish_stale_subagents();
    }

    /// Publishes the status if it changed since the last time.
    pub(crate) fn publish_status(&mut self) {
        if std::mem::take(&mut self.status.dirty) {
            self.services.notify(Notice::Status(self.status()));
        }
    }

    pub(crate) fn status(&self) -> StatusNotification {
        self.status.note(self.services.next_rev(), &self.config)
    }
}

impl Subagents for Mailbox<SessionEvent> {
    fn run(&self, request: SubagentRequest) -> BoxFuture<'static, Option<SubagentReport>> {
        let (reply, report) = oneshot::channel();
        self.send(SessionEvent::Subagent { request: Box::new(request), reply });
        async move { report.await.ok() }.boxed()
    }
}

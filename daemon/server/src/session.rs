//! Sessions: conversations with the agent, their turns, plans, questions and journals.
//!
//! One event may cause more inputs of turns. They wait in a queue, and [`Sessions::settle`] works it off:
//! nothing is re-entered. Must never wait: whatever takes time runs in a task of its own and comes
//! back as a [`SessionEvent`].

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use cairn_core::{policy::Access, subagent::SubagentReport, turn::Input};
use cairn_protocol::{
    ApproveParams, ApproveResult, Connection, CredentialsParams, MessageRole, ModelsResult,
    SessionSnapshot,
};
use futures_util::future::{BoxFuture, FutureExt};
use tokio::sync::oneshot;

use crate::{
    approval::definitions::Definitions,
    config::Settings,
    environment::Environment,
    event::Remember,
    exec::sandbox::{Sandbox, SandboxBackend, Watch},
    ports::{Edits, Notices, SubagentRequest, Subagents as SubagentPort, ToolUpdate},
    review::{Reviews, SessionNotice},
    services::{Mailbox, Services},
    tools::Searches,
    workspace::Workspace,
};

mod approvals;
mod configuration;
mod context;
mod effects;
mod encoding;
mod entry;
mod event;
mod hooks;
mod instructions;
mod persistence;
mod plans;
mod queue;
mod rules;
mod sandbox;
mod session_list;
mod standard_client;
mod status;
mod subagent;
mod subagents;
mod transcript;
mod turns;
mod work;

use approvals::Approvals;
use configuration::Configuration;
use entry::{SessionEntry, Step};
pub(crate) use event::SessionEvent;
use subagent::Subagents;

pub(crate) struct Sessions {
    services: Services,
    mailbox: Mailbox<SessionEvent>,
    edits: Arc<dyn Edits>,
    config: Configuration,
    /// Slots for searches of all sessions.
    searches: Arc<Searches>,
    sandbox: Arc<Sandbox>,
    watch: Arc<Watch>,
    entries: HashMap<String, SessionEntry>,
    /// The one in view is the last.
    order: Vec<String>,
    subagents: Subagents,
    approvals: Approvals,
    /// Folder of state of this workspace; `None`: nothing is kept.
    state_dir: Option<std::path::PathBuf>,
    /// True while the state of an earlier process is read.
    restoring: bool,
    status: Status,
    steps: VecDeque<Step>,
}

/// Status of the daemon for the client, besides settings and model.
struct Status {
    dirty: bool,
    connection: Connection,
    storage_fault: Option<String>,
    /// Another window works here and holds what is kept.
    locked_by_other_window: bool,
    /// Files left by a command whose daemon was killed.
    recovered: Option<String>,
    /// Backend of the sandbox, once that is known, or why there is none.
    backend: Option<Result<SandboxBackend, String>>,
}

impl Status {
    fn connect(&mut self, connection: Connection) {
        if self.connection != connection {
            self.connection = connection;
            self.dirty = true;
        }
    }
}

impl Sessions {
    pub(crate) fn new(
        services: Services,
        mailbox: Mailbox<SessionEvent>,
        edits: Arc<dyn Edits>,
        watch: Arc<Watch>,
        environment: Environment,
    ) -> Self {
        // Commands do not see what Cairn keeps of other projects.
        let hidden = environment.state_dir.clone().into_iter().collect();
        let sandbox = Sandbox::new(environment.program.clone(), environment.backends, hidden);
        Self {
            services,
            mailbox,
            edits,
            config: Configuration::new(environment),
            searches: Arc::default(),
            sandbox: Arc::new(sandbox),
            watch,
            entries: HashMap::new(),
            order: Vec::new(),
            subagents: Subagents::default(),
            approvals: Approvals::default(),
            state_dir: None,
            restoring: false,
            status: Status {
                dirty: false,
                connection: Connection::Idle,
                storage_fault: None,
                locked_by_other_window: false,
                recovered: None,
                backend: None,
            },
            steps: VecDeque::new(),
        }
    }

    /// Begins to work in a workspace. The settings are there already.
    pub(crate) fn open(&mut self, workspace: Option<Arc<Workspace>>, trusted: bool) {
        self.services.workspace = workspace;
        self.config.trusted = trusted;
    }

    pub(crate) fn start(&mut self, remember: Remember) {
        self.find_sandbox();
        self.recover_commands();
        self.look_for_sessions(remember);
    }

    pub(crate) fn configure(&mut self, section: &serde_json::Value) {
        self.config.read(section);
        self.status.dirty = true;
    }

    pub(crate) fn credentials(&mut self, credentials: CredentialsParams) {
        self.config.credentials(credentials);
        self.status.dirty = true;
    }

    /// Holds from the next turn on; what is denied without trust is denied at once.
    pub(crate) fn trust(&mut self, trusted: bool) {
        if self.config.trust(trusted) {
            self.status.dirty = true;
            self.refuse_without_trust();
        }
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.config.settings
    }

    pub(crate) fn models(&self) -> ModelsResult {
        let choice = &self.config.choice;
        ModelsResult { active: choice.info.clone(), providers: choice.providers.clone() }
    }

    /// Requests wait until what an earlier process has left was read.
    pub(crate) fn is_restoring(&self) -> bool {
        self.restoring
    }

    pub(crate) fn is_working(&self) -> bool {
        self.entries.values().any(|session| session.turn.is_some())
    }

    pub(crate) fn snapshots(&mut self) -> Vec<SessionSnapshot> {
        let order = self.order.clone();
        order.iter().filter_map(|id| self.snapshot_of(id)).collect()
    }

    pub(crate) fn handle(&mut self, event: SessionEvent, reviews: &mut Reviews) {
        match event {
            SessionEvent::Turn { session, turn, input } => self.turn_input(&session, &turn, input),
            SessionEvent::Tool { session, turn, call_id, update } => {
                self.tool_progressed(&session, &turn, &call_id, *update, reviews);
            }
            SessionEvent::Subagent { request, reply } => self.start_subagent(*request, reply),
            SessionEvent::Approve { params, access, definitions, reply } => {
                self.ask_approval(*params, *access, definitions, reply)
            }
            SessionEvent::Approved { approval_id, result } => {
                self.approved(&approval_id, result);
            }
            SessionEvent::Tell { session, turn, text } => {
                self.message(&session, &turn, MessageRole::Notice, text)
            }
            SessionEvent::Found(found) => self.found(*found, reviews),
            SessionEvent::InstructionsLoaded(instructed) => self.instructed(*instructed, reviews),
            SessionEvent::Read(read) => self.read(read),
            SessionEvent::Storage(state) => self.storage(state),
            SessionEvent::Sandbox(found) => self.sandbox_found(found),
            SessionEvent::Recovered(left) => self.recovered(&left),
        }
        self.settle(reviews);
    }

    fn tool_progressed(
        &mut self,
        session: &str,
        turn: &str,
        call_id: &str,
        mut update: ToolUpdate,
        reviews: &mut Reviews,
    ) {
        if let Some(saw) = update.saw.take() {
            reviews.saw(session, saw, |id| self.entries.contains_key(id));
        }
        self.came_upon(session, turn, std::mem::take(&mut update.near));
        self.settle(reviews);
        self.tool_update(session, turn, call_id, update);
    }

    /// Takes a message from the reviews.
    pub(crate) fn heard(&mut self, notice: SessionNotice) {
        match notice {
            SessionNotice::Tell { sessions, text } => {
                for id in sessions {
                    self.tell_model(&id, &text);
                }
            }
            SessionNotice::WentBack { plans, result, reply } => {
                for before in plans {
                    let Some(session) = self.entries.get_mut(&before.session) else { continue };
                    session.machine.restore_plan(before.plan);
                    let turn = session.last_turn.as_ref().map(|turn| turn.turn_id.clone());
                    self.publish_plan(&before.session, &turn.unwrap_or_default(), Vec::new());
                    self.tell_model(&before.session, &before.text);
                }
                drop(reply.send(Ok(result)));
            }
        }
    }

    fn tell_model(&mut self, id: &str, text: &str) {
        if let Some(session) = self.entries.get_mut(id) {
            session.machine.step(Input::Notice { text: text.to_owned() });
            self.write_steps(id);
        }
    }

    /// Sends out what changed since the last time, each thing once.
    pub(crate) fn publish(&mut self) {
        self.publish_streams();
        self.publish_stale_plans();
        self.publish_stale_subagents();
    }

    fn notices(&self) -> Arc<dyn Notices> {
        Arc::new(self.mailbox.clone())
    }
}

impl Notices for Mailbox<SessionEvent> {
    fn input(&self, session: &str, turn: &str, input: Input) {
        let (session, turn) = (session.to_owned(), turn.to_owned());
        self.send(SessionEvent::Turn { session, turn, input });
    }

    fn tool(&self, session: &str, turn: &str, call_id: &str, update: ToolUpdate) {
        let (session, turn) = (session.to_owned(), turn.to_owned());
        let (call_id, update) = (call_id.to_owned(), Box::new(update));
        self.send(SessionEvent::Tool { session, turn, call_id, update });
    }

    fn tell(&self, session: &str, turn: &str, text: String) {
        let (session, turn) = (session.to_owned(), turn.to_owned());
        self.send(SessionEvent::Tell { session, turn, text });
    }

    fn ask(
        &self,
        params: ApproveParams,
        access: Access,
        definitions: Definitions,
    ) -> oneshot::Receiver<ApproveResult> {
        let (reply, answer) = oneshot::channel();
        let (params, access) = (Box::new(params), Box::new(access));
        self.send(SessionEvent::Approve { params, access, definitions, reply });
        answer
    }
}

impl SubagentPort for Mailbox<SessionEvent> {
    fn run(&self, request: SubagentRequest) -> BoxFuture<'static, Option<SubagentReport>> {
        let (reply, report) = oneshot::channel();
        self.send(SessionEvent::Subagent { request: Box::new(request), reply });
        async move { report.await.ok() }.boxed()
    }
}

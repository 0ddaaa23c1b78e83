//! The hub: the single owner of documents, reviews, sessions and plans.
//!
//! One task, one closed enum of events, no waiting: whatever takes time runs in a task of its own
//! and comes back as an event, so a cancel or a keystroke is handled at once however busy the agent
//! is. It resolves paths; it never reads a workspace file, and never waits for anyone.
//!
//! Invariant: only the hub writes documents, reviews and sessions.
//! Invariant: `rev` grows with everything published, across all methods.

use std::{collections::HashMap, path::PathBuf, sync::Arc};

use cairn_core::{
    child::Report,
    model::ToolSpec,
    plan::Dialect,
    policy::trust,
    prompt::instructions::Instructions,
    review::HunkId,
    text::Text,
    turn::{self, Input},
};
use cairn_protocol::{
    ApplyEditResult, ApproveParams, ApproveResult, Banner, BannerKind, Connection,
    CredentialsParams, MessageRole, ModelsResult, Notice, StatusNotification,
};
use secrecy::SecretString;
use tokio::sync::{mpsc, oneshot};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    approval::definitions::Definitions,
    config::{self, Settings},
    docs::Docs,
    editor::Editor,
    event::{AgentRequest, ClientEvent, Initialized},
    exec::sandbox::{LeftBehind, Sandbox, SandboxBackend, Watch},
    model::choose::{self, Choice, Environment, Keys},
    secrets,
    store::{journal, reviews::ReviewStore},
    tools::{self, Proposal, Proposed, Searches, Tool},
    workspace::Workspace,
};

mod approvals;
mod checkpoints;
mod children;
mod context;
mod decisions;
mod documents;
mod edits;
mod fates;
mod files;
mod hooks;
mod instructions;
mod keeping;
mod library;
mod notices;
mod pending;
mod plain;
mod plans;
mod queue;
mod rules;
mod sandbox;
mod saving;
mod seen;
mod sessions;
mod transcript;

use approvals::Approvals;
use edits::EditForm;
pub(crate) use edits::hash;
use files::Files;

use sessions::SessionEntry;

/// Events handled before changes are published, so that a burst becomes one notification.
const BATCH: usize = 256;

/// Everything that can happen inside, besides what the client says.
#[derive(Debug)]
pub(crate) enum Event {
    Turn {
        session: String,
        turn: String,
        input: Input,
    },
    Tool {
        session: String,
        turn: String,
        call_id: String,
        update: ToolUpdate,
    },
    Propose {
        proposal: Proposal,
        reply: oneshot::Sender<Proposed>,
    },
    Flush {
        reply: oneshot::Sender<Vec<String>>,
    },
    /// A call wants a child started; its report is the answer.
    Child {
        request: Box<tools::SubagentRequest>,
        reply: oneshot::Sender<Report>,
    },
    /// A command ran: files under review may be others by now.
    CommandRan,
    /// The editor's answer to the edit with this ticket.
    Applied {
        ticket: u64,
        result: ApplyEditResult,
    },
    /// The edit with this ticket should have been seen by now.
    Overdue {
        ticket: u64,
    },
    /// What is on disk at the file of this key; `None`: gone, or not text.
    DiskText {
        key: String,
        purpose: DiskPurpose,
        /// Counts the reads in the order they began.
        read: u64,
        text: Option<Text>,
    },
    Rejected(decisions::Rejected),
    Restored(decisions::Restored),
    Approve {
        params: Box<ApproveParams>,
        /// What a yes for the session is remembered by.
        access: Box<tools::Access>,
        /// Files behind a command as they are; a yes for the session holds while they stay so.
        definitions: Definitions,
        reply: oneshot::Sender<ApproveResult>,
    },
    Approved {
        approval_id: String,
        result: ApproveResult,
    },
    GoingBack(Box<checkpoints::GoingBack>),
    WentBack(Box<checkpoints::WentBack>),
    /// An outdated proposal is in the text again.
    MadeAgain {
        key: String,
        id: HunkId,
    },
    /// What was left in this workspace the last time.
    Found(Box<keeping::Found>),
    /// The instructions for a task were read.
    Instructed(Box<instructions::Instructed>),
    /// A session, or a part of one, was read from the disk.
    Read(library::Read),
    /// Whether what sessions must remember can be written.
    Storage(journal::State),
    /// Words for the user in a turn.
    Tell {
        session: String,
        turn: String,
        text: String,
    },
    /// How commands are boxed here, or why they cannot be.
    Sandbox(Result<SandboxBackend, String>),
    /// Files left by a command whose daemon was killed.
    Recovered(Box<LeftBehind>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DiskPurpose {
    /// To see whether the edit with this ticket is there.
    Confirm(u64),
    /// The file changed or was closed outside our sight.
    /// Read when so many edits were made.
    Reconcile(u64),
}

/// News of a tool call for the user's eyes.
#[derive(Debug, Clone, Default)]
pub(crate) struct ToolUpdate {
    pub(crate) state: Option<cairn_protocol::ToolState>,
    pub(crate) title: Option<String>,
    pub(crate) detail: Option<String>,
    pub(crate) uri: Option<String>,
    /// With the title: what the call is going to touch.
    pub(crate) access: Option<AccessKind>,
    /// With the final state: the file it changed.
    pub(crate) edited: Option<String>,
    /// With the final state: the text the model knows now.
    pub(crate) saw: Option<tools::Saw>,
    /// With the final state: what says how to work in the folders above that file.
    pub(crate) near: Vec<Instructions>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AccessKind {
    Read,
    Edit,
    Command,
}

/// How tasks reach the hub.
#[derive(Debug, Clone)]
pub(crate) struct HubHandle {
    events: mpsc::UnboundedSender<Event>,
}

impl HubHandle {
    /// After the hub has ended this does nothing: its tasks are being torn down too.
    pub(crate) fn send(&self, event: Event) {
        let _ = self.events.send(event);
    }
}

/// Starts the hub. It ends when the sender it returns is dropped; the tracker then holds what is
/// still winding down.
pub fn spawn(
    editor: Arc<dyn Editor>,
    environment: Environment,
) -> (mpsc::UnboundedSender<ClientEvent>, TaskTracker) {
    // Unbounded on purpose: the front door must hand over in wire order without waiting, and it
    // bounds what it takes in itself.
    let (client, from_client) = mpsc::unbounded_channel();
    let (events, from_inside) = mpsc::unbounded_channel();
    let tasks = TaskTracker::new();
    let hub = Hub::new(editor, environment, HubHandle { events }, tasks.clone());
    tasks.spawn(hub.run(from_client, from_inside));
    tasks.close();
    (client, tasks)
}

/// Tools with their specs, which are made once.
type ToolBox = Arc<[(ToolSpec, Arc<dyn Tool>)]>;

fn with_specs(tools: Vec<Arc<dyn Tool>>) -> impl Iterator<Item = (ToolSpec, Arc<dyn Tool>)> {
    tools.into_iter().map(|tool| (tool.spec(), tool))
}

pub(crate) struct Hub {
    editor: Arc<dyn Editor>,
    handle: HubHandle,
    tasks: TaskTracker,
    /// Cancelled when the hub ends.
    shutdown: CancellationToken,
    workspace: Option<Arc<Workspace>>,
    /// The user trusts the workspace; else the agent only reads.
    trusted: bool,
    /// The form in which the editor gets edits of open documents.
    form: EditForm,
    docs: Arc<Docs>,
    /// Makers of the files that instruct the agent.
    sources: Arc<crate::instructions::Sources>,
    /// Slots for searches of all sessions.
    searches: Arc<Searches>,
    tools: ToolBox,
    settings: Settings,
    setting_faults: Vec<String>,
    keys: Keys,
    environment: Environment,
    /// Who answers, as of the newest settings and keys.
    choice: Choice,
    /// Counts changes of what decides who answers.
    generation: u32,
    /// What the server that answers takes, if it had to say so: of a generation, in tokens.
    learned_window: Option<(u32, u64)>,
    files: Files,
    sessions: HashMap<String, SessionEntry>,
    /// The one in view is the last.
    session_order: Vec<String>,
    children: children::Children,
    approvals: Approvals,
    decisions: decisions::Undo,
    checkpoints: checkpoints::Checkpoints,
    /// The folder of this workspace; `None`: nothing is kept.
    keep_in: Option<PathBuf>,
    /// What was left from before is being looked for: requests wait for it, in order.
    looking: bool,
    asked_meanwhile: Vec<AgentRequest>,
    storage_fault: Option<String>,
    /// Another window works here and holds what is kept.
    elsewhere: bool,
    sandbox: Arc<Sandbox>,
    watch: Arc<Watch>,
    /// Files left by a command whose daemon was killed.
    recovered: Option<String>,
    /// How commands are boxed here, once that is known.
    boxed_by: Option<Result<SandboxBackend, String>>,
    /// Keeps what is pending in files.
    keeper: Option<ReviewStore>,
    connection: Connection,
    status_dirty: bool,
    rev: u32,
}

impl Hub {
    fn new(
        editor: Arc<dyn Editor>,
        environment: Environment,
        handle: HubHandle,
        tasks: TaskTracker,
    ) -> Self {
        let docs = Arc::new(Docs::default());
        let settings = Settings::default();
        let keys = Keys::default();
        for key in [&environment.anthropic_key, &environment.openai_key].into_iter().flatten() {
            secrets::register(key);
        }
        let sandbox = sandbox::of(&environment);
        let watch = sandbox::watch_of(&environment);
        let sources = instructions::sources_of(&environment);
        Self {
            editor,
            handle,
            tasks,
            shutdown: CancellationToken::new(),
            workspace: None,
            trusted: true,
            form: EditForm::default(),
            docs,
            sources,
            searches: Arc::default(),
            tools: with_specs(tools::all()).collect(),
            choice: choose::choose(&settings.model, &keys, &environment),
            generation: 0,
            learned_window: None,
            settings,
            setting_faults: Vec::new(),
            keys,
            environment,
            files: Files::default(),
            sessions: HashMap::new(),
            session_order: Vec::new(),
            children: children::Children::default(),
            approvals: Approvals::default(),
            decisions: decisions::Undo::default(),
            checkpoints: checkpoints::Checkpoints::default(),
            keep_in: None,
            looking: false,
            asked_meanwhile: Vec::new(),
            storage_fault: None,
            elsewhere: false,
            sandbox,
            watch,
            recovered: None,
            boxed_by: None,
            keeper: None,
            connection: Connection::Idle,
            status_dirty: false,
            rev: 0,
        }
    }

    async fn run(
        mut self,
        mut from_client: mpsc::UnboundedReceiver<ClientEvent>,
        mut from_inside: mpsc::UnboundedReceiver<Event>,
    ) {
        loop {
            tokio::select! {
                biased;
                event = from_client.recv() => match event {
                    Some(event) => self.client(event),
                    None => break,
                },
                Some(event) = from_inside.recv() => self.inside(event),
            }
            for _ in 0..BATCH {
                if let Ok(event) = from_client.try_recv() {
                    self.client(event);
                } else if let Ok(event) = from_inside.try_recv() {
                    self.inside(event);
                } else {
                    break;
                }
            }
            self.publish();
        }
        self.shutdown.cancel();
        self.close_journals().await;
    }

    fn client(&mut self, event: ClientEvent) {
        match event {
            ClientEvent::Initialized(initialized) => self.initialized(initialized),
            ClientEvent::DidOpen { uri, version, text } => self.did_open(&uri, version, &text),
            ClientEvent::DidChange { uri, version, changes } => {
                self.did_change(&uri, version, changes)
            }
            ClientEvent::DidSave { uri } => self.did_save(&uri),
            ClientEvent::DidClose { uri } => self.did_close(&uri),
            ClientEvent::Settings(section) => self.configure(&section),
            ClientEvent::WatchedFiles(uris) => self.watched(&uris),
            ClientEvent::RenamedFiles(renames) => self.user_renamed(&renames),
            ClientEvent::Credentials(credentials) => self.credentials(credentials),
            ClientEvent::Trust(trusted) => self.trust(trusted),
            ClientEvent::Request(mut request) => {
                request.clean_words(secrets::clean);
                if self.looking {
                    self.asked_meanwhile.push(request);
                } else {
                    self.request(request);
                }
            }
        }
    }

    /// An answer that nobody waits for any more is dropped: the client went away.
    fn request(&mut self, request: AgentRequest) {
        match request {
            AgentRequest::RunTask(params, reply) => self.begin_task(params, reply),
            AgentRequest::Steer(params, reply) => {
                let session = params.session_id.clone();
                let told = self.steer(params);
                self.answer_saved(&session, told, reply);
            }
            AgentRequest::QueueAdd(params, reply) => {
                let session = params.session_id.clone();
                let added = self.queue_add(params);
                self.answer_saved(&session, added, reply);
            }
            AgentRequest::QueueEdit(params, reply) => drop(reply.send(self.queue_edit(params))),
            AgentRequest::QueueDrop(params, reply) => drop(reply.send(self.queue_drop(params))),
            AgentRequest::QueueSend(params, reply) => drop(reply.send(self.queue_send(params))),
            AgentRequest::Cancel(params, reply) => drop(reply.send(self.cancel(&params))),
            AgentRequest::Compact(params, reply) => drop(reply.send(self.compact(params))),
            AgentRequest::Answer(params, reply) => drop(reply.send(Ok(self.answer(params)))),
            AgentRequest::Decide(params, reply) => self.decide(params, reply),
            AgentRequest::UndoDecision(reply) => self.undo_decision(reply),
            AgentRequest::Baseline(params, reply) => drop(reply.send(Ok(self.baseline(&params)))),
            AgentRequest::PlanHistory(params, reply) => {
                drop(reply.send(self.plan_history(&params)))
            }
            AgentRequest::Checkpoints(reply) => drop(reply.send(Ok(self.list_checkpoints()))),
            AgentRequest::RestoreCheckpoint(params, reply) => {
                self.restore_checkpoint(params, reply)
            }
            AgentRequest::ListSessions(params, reply) => self.list_sessions(params, reply),
            AgentRequest::OpenSession(params, reply) => self.open_session(params, reply),
            AgentRequest::ForkSession(params, reply) => self.fork_session(params, reply),
            AgentRequest::DeleteSession(params, reply) => self.delete_session(params, reply),
            AgentRequest::ExportSession(params, reply) => self.export_session(params, reply),
            AgentRequest::State(reply) => self.tell_state(reply),
            AgentRequest::Models(reply) => {
                let (active, providers) = (self.choice.info.clone(), self.choice.providers.clone());
                drop(reply.send(Ok(ModelsResult { active, providers })));
            }
            AgentRequest::ListRules(reply) => self.list_rules(reply),
            AgentRequest::RevokeRule(params, reply) => self.revoke_rule(params, reply),
            AgentRequest::Pending(reply) => drop(reply.send(Ok(self.pending()))),
            AgentRequest::GoOn(params, reply) => drop(reply.send(self.go_on(params))),
            AgentRequest::CancelAll(reply) => drop(reply.send(Ok(self.cancel_all()))),
            AgentRequest::RunSelection(selection, reply) => self.run_selection(&selection, reply),
            AgentRequest::Decline(words, reply) => {
                drop(reply.send(Ok(self.decline(None, words.as_deref()))))
            }
        }
    }

    fn inside(&mut self, event: Event) {
        match event {
            Event::Turn { session, turn, input } => self.turn_input(&session, &turn, input),
            Event::Tool { session, turn, call_id, mut update } => {
                if let Some(saw) = update.saw.take() {
                    self.saw(&session, saw);
                }
                self.came_upon(&session, &turn, std::mem::take(&mut update.near));
                self.tool_update(&session, &turn, &call_id, update)
            }
            Event::Propose { proposal, reply } => self.propose(proposal, reply),
            Event::Flush { reply } => self.flush(reply),
            Event::Child { request, reply } => self.start_child(*request, reply),
            Event::CommandRan => self.look_at_closed_files(),
            Event::Applied { ticket, result } => self.applied(ticket, result),
            Event::Overdue { ticket } => self.overdue(ticket),
            Event::DiskText { key, purpose, read, text } => {
                let is_news = self.files.is_news(&key, read);
                if is_news || matches!(purpose, DiskPurpose::Confirm(_)) {
                    self.disk_text(&key, purpose, text);
                }
            }
            Event::Rejected(rejected) => self.rejected(rejected),
            Event::Restored(restored) => self.restored(restored),
            Event::Approve { params, access, definitions, reply } => {
                self.ask_approval(*params, *access, definitions, reply);
            }
            Event::Approved { approval_id, result } => drop(self.approved(&approval_id, result)),
            Event::GoingBack(going) => self.going_back(*going),
            Event::WentBack(went) => self.went_back(*went),
            Event::MadeAgain { key, id } => drop(self.forget_outdated(&key, &[id])),
            Event::Found(found) => self.found(*found),
            Event::Instructed(instructed) => self.instructed(*instructed),
            Event::Read(read) => self.read(read),
            Event::Storage(state) => self.storage(state),
            Event::Tell { session, turn, text } => {
                self.message(&session, &turn, MessageRole::Notice, text)
            }
            Event::Sandbox(found) => self.sandbox_found(found),
            Event::Recovered(left) => self.recovered(&left),
        }
    }

    fn initialized(&mut self, initialized: Initialized) {
        match Workspace::new(initialized.folders) {
            Ok(workspace) => {
                let own = self.environment.state_dir.as_deref();
                self.workspace = Some(Arc::new(workspace.without(own)));
            }
            Err(error) => {
                tracing::warn!("no workspace: {error:#}");
                self.workspace = None;
            }
        }
        self.trusted = initialized.trusted;
        self.form = EditForm { units: initialized.units, whole_lines: !initialized.speaks_agent };
        self.configure(&initialized.settings);
        self.find_sandbox();
        self.recover_commands();
        self.look_for_sessions(initialized.remember);
    }

    fn credentials(&mut self, CredentialsParams { provider, key, origin }: CredentialsParams) {
        let key = key.filter(|key| !key.trim().is_empty()).map(SecretString::from);
        if let Some(key) = &key {
            secrets::register(key);
        }
        match self.keys.set(&provider, origin.as_deref(), key) {
            Ok(()) => {
                self.generation += 1;
                self.choose_model();
            }
            Err(reason) => tracing::warn!("a key was ignored: {reason}"),
        }
    }

    /// Holds from the next turn on; what is denied without trust is denied at once.
    fn trust(&mut self, trusted: bool) {
        if self.trusted != trusted {
            self.trusted = trusted;
            self.generation += 1;
            self.choose_model();
            self.refuse_without_trust();
        }
    }

    fn configure(&mut self, section: &serde_json::Value) {
        let (settings, faults) = config::read(section);
        for fault in &faults {
            tracing::warn!("setting: {fault}");
        }
        if settings.model != self.settings.model {
            self.generation += 1;
        }
        self.settings = settings;
        self.setting_faults = faults;
        self.choose_model();
    }

    fn choose_model(&mut self) {
        let mut model = self.settings.model.clone();
        if !self.trusted {
            // A script plays a model, and it may lie in the workspace.
            model.replay_file = None;
        }
        self.choice = choose::choose(&model, &self.keys, &self.environment);
        self.status_dirty = true;
    }

    /// Sends out what changed since the last time, each thing once.
    fn publish(&mut self) {
        self.publish_streams();
        self.publish_stale_plans();
        self.publish_stale_children();
        self.publish_reviews();
        if std::mem::take(&mut self.status_dirty) {
            let status = self.status();
            self.editor.notify(Notice::Status(status));
        }
    }

    fn status(&mut self) -> StatusNotification {
        let model = self.choice.info.clone();
        let mut banners = Vec::new();
        if model.replay {
            banners.push(Banner {
                kind: BannerKind::Replay,
                text: "No model is configured: answers are played from a script. Add a model with Agent: set API key, or set cairn.model.baseUrl to a local server.".into(),
            });
        }
        if !self.trusted {
            banners.push(Banner {
                kind: BannerKind::Untrusted,
                text: "This workspace is not trusted: the agent only reads in it, runs nothing and follows none of its instructions. Trust it in the editor to let the agent work.".into(),
            });
        }
        banners.extend(self.setting_faults.iter().map(|fault| Banner {
            kind: BannerKind::Setting,
            text: format!("Setting ignored: {fault}"),
        }));
        if let Some(fault) = &self.storage_fault {
            banners.push(Banner {
                kind: BannerKind::Storage,
                text: format!("The session cannot be written down ({fault}). Until it can, the agent changes no file and runs no command."),
            });
        }
        if self.elsewhere {
            banners.push(Banner {
                kind: BannerKind::Elsewhere,
                text: "Another window works in this folder. Its sessions can only be read here, and edits proposed in this window are not kept over a restart.".into(),
            });
        }
        banners.extend(self.sandbox_banner());
        banners.extend(self.recovered_banner());
        StatusNotification {
            rev: self.next_rev(),
            model,
            connection: self.connection.clone(),
            sandbox: self.sandbox_status(),
            banners,
        }
    }

    fn connection(&mut self, connection: Connection) {
        if self.connection != connection {
            self.connection = connection;
            self.status_dirty = true;
        }
    }

    fn next_rev(&mut self) -> u32 {
        self.rev = self.rev.wrapping_add(1);
        self.rev
    }

    /// Starts a task that belongs to the hub and ends with it.
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let shutdown = self.shutdown.clone();
        self.tasks.spawn(async move {
            tokio::select! {
                () = shutdown.cancelled() => {}
                () = task => {}
            }
        });
    }

    fn turn_settings(&self, model: &str) -> turn::TurnSettings {
        let dialect = self.settings.dialect.unwrap_or_else(|| Dialect::for_model(model));
        turn::TurnSettings {
            max_rounds: self.settings.max_rounds,
            dialect,
            reminders: self.settings.reminders.in_words_of(dialect),
            tools: self
                .tools_of(dialect)
                .iter()
                .map(|(spec, _)| turn::ToolKind {
                    name: spec.name.clone(),
                    parallel: spec.parallel,
                })
                .collect(),
        }
    }

    /// What the shell runs in a turn whose plan is kept in this dialect.
    fn tools_of(&self, dialect: Dialect) -> ToolBox {
        let tools = self.tools.iter().filter(|(spec, _)| self.trusted || trust::offers(&spec.name));
        match dialect {
            Dialect::List(_) if self.trusted => Arc::clone(&self.tools),
            Dialect::List(_) => tools.cloned().collect(),
            Dialect::Tasks => {
                let state = self.environment.state_dir.clone();
                let graph = tools::tasks::all(state);
                with_specs(graph).chain(tools.cloned()).collect()
            }
        }
    }
}

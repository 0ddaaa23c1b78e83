//! The hub: the loop that owns sessions and reviews. It selects the next event, routes it to its
//! component, and publishes what changed.
//!
//! One task, one closed enum of events, no waiting: whatever takes time runs in a task of its own
//! and comes back as an event, so a cancel or a keystroke is handled at once however busy the agent
//! is.
//!
//! Invariant: only the hub's components write documents, reviews and sessions.
//! Invariant: `rev` grows with everything published, across all methods.

use std::sync::Arc;

use cairn_protocol::{ErrorKind, StateResult};
use tokio::sync::mpsc;
use tokio_util::task::TaskTracker;

use crate::{
    environment::Environment,
    event::{AgentRequest, ClientEvent, Initialized, Pending, Reply, RequestError},
    exec::sandbox::Watch,
    ports::Editor,
    review::{EditForm, ReviewEvent, Reviews},
    secrets,
    services::{Mailbox, Services},
    session::{SessionEvent, Sessions},
    workspace::Workspace,
};

/// Events handled before changes are published, so that a burst becomes one notification.
const BATCH: usize = 256;

/// Result of a background task, for one of the components.
enum Event {
    Session(SessionEvent),
    Review(ReviewEvent),
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
    let services = Services::new(editor, tasks.clone(), environment.state_dir.clone());
    let hub = Hub::new(services, environment, events);
    tasks.spawn(hub.run(from_client, from_inside));
    tasks.close();
    (client, tasks)
}

struct Hub {
    services: Services,
    /// Where the daemon keeps its own files, which are no part of a workspace.
    own_files: Option<std::path::PathBuf>,
    sessions: Sessions,
    reviews: Reviews,
    /// Requests that came while an earlier process's state was being read, in order.
    deferred_requests: Vec<AgentRequest>,
}

impl Hub {
    fn new(
        services: Services,
        environment: Environment,
        events: mpsc::UnboundedSender<Event>,
    ) -> Self {
        let to_sessions = events.clone();
        let sessions = Mailbox::new(move |event| drop(to_sessions.send(Event::Session(event))));
        let reviews = Mailbox::new(move |event| drop(events.send(Event::Review(event))));
        let own_files = environment.state_dir.clone();
        let watch = Arc::new(Watch::new(own_files.clone()));
        let edits = Arc::new(reviews.clone());
        let reviews = Reviews::new(services.clone(), reviews, Arc::clone(&watch));
        let sessions = Sessions::new(services.clone(), sessions, edits, watch, environment);
        Self { services, own_files, sessions, reviews, deferred_requests: Vec::new() }
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
        self.services.shutdown.cancel();
        self.sessions.close_journals().await;
        self.reviews.close().await;
    }

    fn client(&mut self, event: ClientEvent) {
        match event {
            ClientEvent::Initialized(initialized) => self.initialized(initialized),
            ClientEvent::DidOpen { uri, version, text } => {
                self.reviews.did_open(&uri, version, &text)
            }
            ClientEvent::DidChange { uri, version, changes } => {
                self.reviews.did_change(&uri, version, changes)
            }
            ClientEvent::DidSave { uri } => self.reviews.did_save(&uri),
            ClientEvent::DidClose { uri } => self.reviews.did_close(&uri),
            ClientEvent::Settings(section) => self.configure(&section),
            ClientEvent::WatchedFiles(uris) => self.reviews.watched(&uris),
            ClientEvent::RenamedFiles(renames) => self.reviews.user_renamed(&renames),
            ClientEvent::Credentials(credentials) => self.sessions.credentials(credentials),
            ClientEvent::Trust(trusted) => self.sessions.trust(trusted),
            ClientEvent::Request(mut request) => {
                request.clean_words(secrets::clean);
                if self.sessions.is_restoring() {
                    self.deferred_requests.push(request);
                } else {
                    self.request(request);
                }
            }
        }
        self.deliver();
    }

    fn inside(&mut self, event: Event) {
        match event {
            Event::Session(event) => self.sessions.handle(event, &mut self.reviews),
            Event::Review(event) => self.reviews.handle(event),
        }
        self.deliver();
        if !self.sessions.is_restoring() && !self.deferred_requests.is_empty() {
            self.publish();
            for request in std::mem::take(&mut self.deferred_requests) {
                self.request(request);
                self.deliver();
            }
        }
    }

    /// An answer that nobody waits for any more is dropped: the client went away.
    fn request(&mut self, request: AgentRequest) {
        let Self { sessions, reviews, .. } = self;
        match request {
            AgentRequest::RunTask(params, reply) => sessions.begin_task(params, reply, reviews),
            AgentRequest::Steer(params, reply) => {
                let session = params.session_id.clone();
                let told = sessions.steer(params);
                sessions.settle(reviews);
                sessions.answer_saved(&session, told, reply);
            }
            AgentRequest::QueueAdd(params, reply) => {
                let session = params.session_id.clone();
                let added = sessions.queue_add(params);
                sessions.settle(reviews);
                sessions.answer_saved(&session, added, reply);
            }
            AgentRequest::QueueEdit(params, reply) => self.ask(reply, |it| it.queue_edit(params)),
            AgentRequest::QueueDrop(params, reply) => self.ask(reply, |it| it.queue_drop(params)),
            AgentRequest::QueueSend(params, reply) => self.ask(reply, |it| it.queue_send(params)),
            AgentRequest::Cancel(params, reply) => self.ask(reply, |it| it.cancel(&params)),
            AgentRequest::Compact(params, reply) => self.ask(reply, |it| it.compact(params)),
            AgentRequest::Answer(params, reply) => self.ask(reply, |it| Ok(it.answer(params))),
            AgentRequest::PlanHistory(params, reply) => {
                self.ask(reply, |it| it.plan_history(&params))
            }
            AgentRequest::ListSessions(params, reply) => sessions.list_sessions(params, reply),
            AgentRequest::OpenSession(params, reply) => sessions.open_session(params, reply),
            AgentRequest::ForkSession(params, reply) => sessions.fork_session(params, reply),
            AgentRequest::DeleteSession(params, reply) => sessions.delete_session(params, reply),
            AgentRequest::ExportSession(params, reply) => sessions.export_session(params, reply),
            AgentRequest::Models(reply) => drop(reply.send(Ok(sessions.models()))),
            AgentRequest::ListRules(reply) => sessions.list_rules(reply),
            AgentRequest::RevokeRule(params, reply) => sessions.revoke_rule(params, reply),
            AgentRequest::Decide(params, reply) => reviews.decide(params, reply),
            AgentRequest::UndoDecision(reply) => reviews.undo_decision(reply),
            AgentRequest::Baseline(params, reply) => {
                drop(reply.send(Ok(reviews.baseline(&params))))
            }
            AgentRequest::Checkpoints(reply) => drop(reply.send(Ok(reviews.list_checkpoints()))),
            AgentRequest::RestoreCheckpoint(_, reply) if sessions.is_working() => {
                drop(reply.send(Err(RequestError::new(
                    ErrorKind::TurnMismatch,
                    "The agent is working",
                    "Cancel the turn first, then restore the checkpoint.",
                ))));
            }
            AgentRequest::RestoreCheckpoint(params, reply) => {
                reviews.restore_checkpoint(params, reply)
            }
            AgentRequest::State(reply) => {
                self.publish();
                let state = self.state();
                drop(reply.send(Ok(state)));
            }
            AgentRequest::Pending(reply) => {
                // A keystroke that came just before may have moved everything.
                reviews.publish();
                let pending =
                    Pending { reviews: reviews.reviews(), questions: sessions.open_questions() };
                drop(reply.send(Ok(pending)));
            }
            AgentRequest::SteerOrStart(params, reply) => self.ask(reply, |it| it.go_on(params)),
            AgentRequest::CancelAll(reply) => self.ask(reply, |it| Ok(it.cancel_all())),
            AgentRequest::RunSelection(selection, reply) => {
                let text = reviews.selected_text(&selection);
                sessions.run_selection(text, reply, reviews);
            }
            AgentRequest::Decline(words, reply) => {
                self.ask(reply, |it| Ok(it.decline(None, words.as_deref())))
            }
        }
    }

    /// Answers once everything that the request has caused is done.
    fn ask<T>(
        &mut self,
        reply: Reply<T>,
        request: impl FnOnce(&mut Sessions) -> Result<T, RequestError>,
    ) {
        let answer = request(&mut self.sessions);
        self.sessions.settle(&mut self.reviews);
        drop(reply.send(answer));
    }

    fn initialized(&mut self, initialized: Initialized) {
        let workspace = match Workspace::new(initialized.folders) {
            Ok(workspace) => Some(Arc::new(workspace.without(self.own_files.as_deref()))),
            Err(error) => {
                tracing::warn!("no workspace: {error:#}");
                None
            }
        };
        let form = EditForm { units: initialized.units, whole_lines: !initialized.speaks_agent };
        self.reviews.open(workspace.clone(), form);
        self.sessions.open(workspace, initialized.trusted);
        self.configure(&initialized.settings);
        self.sessions.start(initialized.remember);
    }

    fn configure(&mut self, section: &serde_json::Value) {
        self.sessions.configure(section);
        self.reviews.configure(self.sessions.settings());
    }

    /// Hands over what sessions are to hear of their files.
    fn deliver(&mut self) {
        for notice in self.reviews.take_notices() {
            self.sessions.heard(notice);
        }
    }

    /// Sends out what changed since the last time, each thing once.
    fn publish(&mut self) {
        self.sessions.publish();
        self.reviews.publish();
        self.deliver();
        self.sessions.publish_status();
    }

    fn state(&mut self) -> StateResult {
        StateResult {
            sessions: self.sessions.snapshots(),
            reviews: self.reviews.reviews(),
            status: self.sessions.status(),
        }
    }
}

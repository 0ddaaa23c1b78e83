//! The hub: the loop that owns sessions and reviews. It selects the next event, routes it to its
//! component, and publishes what changed.
//!
//! One task handles one queue of events and never waits. Slow work runs in its own task and
//! returns as an event, so the hub handles a cancel or a keystroke at once. The rest of a request
//! that waits for such work is an event too.
//!
//! Invariant: only the hub's components write documents, reviews and sessions.
//! Invariant: `rev` grows with everything published, across all methods.

mod components;
mod router;
mod routes;

use std::sync::{Arc, LazyLock};

use tokio::sync::mpsc;
use tokio_util::task::TaskTracker;

use self::{
    components::Components,
    router::{BoundHandler, Router},
};
use crate::{
    environment::Environment,
    event::{ClientEvent, Initialized},
    exec::sandbox::Watch,
    ports::{Editor, Mailbox},
    review::{EditForm, ReviewEvent, Reviews},
    secrets,
    services::Services,
    session::{SessionEvent, Sessions},
    workspace::Workspace,
};

/// Maximum number of events handled before changes are published, so that a burst becomes one
/// notification.
const BATCH: usize = 256;

/// Handlers of the requests of the protocol.
static ROUTER: LazyLock<Router<Components>> = LazyLock::new(routes::routes);

/// Result of a background task, for one of the components.
enum Event {
    Session(SessionEvent),
    Review(ReviewEvent),
}

/// Starts the hub. It ends when the returned sender is dropped; the tracker then holds the tasks
/// that still end.
pub fn spawn(
    editor: Arc<dyn Editor>,
    environment: Environment,
) -> (mpsc::UnboundedSender<ClientEvent>, TaskTracker) {
    // Unbounded: the ingress must pass messages on in wire order without waiting, and it bounds its
    // own input.
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
    /// Folder of the daemon's own files, which are not part of a workspace.
    own_files: Option<std::path::PathBuf>,
    components: Components,
    /// Requests received while the state of an earlier process was being read, in order.
    deferred_calls: Vec<BoundHandler<Components>>,
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
        let components = Components { sessions, reviews };
        Self { services, own_files, components, deferred_calls: Vec::new() }
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
            self.components.publish();
        }
        self.components.sessions.interrupt(true);
        self.services.shutdown.cancel();
        self.components.sessions.close_journals().await;
        self.components.reviews.close().await;
    }

    fn client(&mut self, event: ClientEvent) {
        match event {
            ClientEvent::Initialized(initialized) => self.initialized(initialized),
            ClientEvent::DidOpen { uri, version, text } => {
                self.components.reviews.did_open(&uri, version, &text)
            }
            ClientEvent::DidChange { uri, version, changes } => {
                self.components.reviews.did_change(&uri, version, changes)
            }
            ClientEvent::DidSave { uri } => self.components.reviews.did_save(&uri),
            ClientEvent::DidClose { uri } => self.components.reviews.did_close(&uri),
            ClientEvent::Settings(section) => self.configure(&section),
            ClientEvent::WatchedFiles(uris) => self.components.reviews.on_watched_files(&uris),
            ClientEvent::DeletedFiles(uris) => self.components.reviews.on_user_delete(&uris),
            ClientEvent::RenamedFiles(renames) => self.components.reviews.on_user_rename(&renames),
            ClientEvent::Credentials(credentials) => {
                self.components.sessions.credentials(credentials)
            }
            ClientEvent::Trust(trusted) => self.components.sessions.trust(trusted),
            ClientEvent::Request(request) => {
                if let Some(call) = ROUTER.route(request) {
                    self.call(call);
                }
            }
            ClientEvent::Terminated => self.components.sessions.interrupt(false),
            ClientEvent::Standard(mut request) => {
                request.each_user_text(&mut secrets::clean);
                self.call(Box::new(|components| components.standard(request)));
            }
        }
        self.components.deliver();
    }

    fn call(&mut self, call: BoundHandler<Components>) {
        if self.components.sessions.is_restoring() {
            self.deferred_calls.push(call);
        } else {
            call(&mut self.components);
        }
    }

    fn inside(&mut self, event: Event) {
        let Components { sessions, reviews } = &mut self.components;
        match event {
            Event::Session(event) => sessions.handle(event, reviews),
            Event::Review(event) => reviews.handle(event),
        }
        self.components.deliver();
        if !self.components.sessions.is_restoring() && !self.deferred_calls.is_empty() {
            self.components.publish();
            for call in std::mem::take(&mut self.deferred_calls) {
                call(&mut self.components);
                self.components.deliver();
            }
        }
    }

    fn initialized(&mut self, initialized: Initialized) {
        let workspace = match Workspace::open_folders(initialized.folders) {
            Ok(workspace) => Some(Arc::new(workspace.without(self.own_files.as_deref()))),
            Err(error) => {
                tracing::warn!("no workspace: {error:#}");
                None
            }
        };
        let form = EditForm { units: initialized.units, whole_lines: !initialized.speaks_agent };
        self.components.reviews.open(workspace.clone(), form);
        self.components.sessions.open(workspace, initialized.trusted, initialized.audience);
        self.configure(&initialized.settings);
        self.components.sessions.start(initialized.remember);
    }

    fn configure(&mut self, section: &serde_json::Value) {
        self.components.sessions.configure(section);
        self.components.reviews.configure(self.components.sessions.settings());
    }
}

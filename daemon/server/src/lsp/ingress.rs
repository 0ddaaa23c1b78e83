//! Routes the client's messages, in wire order, to the hub as events.
//!
//! `call` does everything that depends on the order before it returns. It never waits. Before
//! `initialize` and after `shutdown` only the handshake passes.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::Arc,
    time::Duration,
};

use cairn_protocol::{self as protocol, ClientRequest, Empty, NotificationMethod, RequestProblem};
use futures_util::{
    FutureExt,
    future::{AbortHandle, Abortable, ready},
};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio::{
    sync::{SetOnce, mpsc, oneshot},
    time::timeout,
};
use tower_lsp::jsonrpc::{Error, Id, Request, Response};

use super::{
    client_support::ClientSupport,
    commands::{self, ClientCommand},
    convert,
    handshake::{self, Handshake},
    outbox::Outbox,
    review,
    standard_client::{self, WindowMessage},
    transport::AnswerFuture,
};
use crate::{
    event::{self, ClientEvent, LazyJson, Pending, Responder, StandardRequest},
    secrets,
};

/// Time that the answer to a decision command waits for the result. Some editors read the resulting
/// edit only after this answer, so it cannot wait longer.
const SOON: Duration = Duration::from_millis(300);

pub(super) struct Ingress {
    handshake: Arc<SetOnce<Handshake>>,
    events: mpsc::UnboundedSender<ClientEvent>,
    outbox: Arc<Outbox>,
    phase: Phase,
    live: OpenRequests,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// `initialize` has not succeeded yet.
    Waiting,
    Open,
    ShutDown,
}

impl Ingress {
    pub(super) fn new(
        handshake: Arc<SetOnce<Handshake>>,
        events: mpsc::UnboundedSender<ClientEvent>,
        outbox: Arc<Outbox>,
    ) -> Self {
        Self { handshake, events, outbox, phase: Phase::Waiting, live: OpenRequests::default() }
    }

    pub(super) fn is_shut_down(&self) -> bool {
        self.phase == Phase::ShutDown
    }

    fn emit(&self, event: ClientEvent) {
        // A stopped hub ends the session. Until then its dropped replies answer the requests.
        let _ = self.events.send(event);
    }

    /// Does everything that depends on the order of messages before it returns. Never waits.
    pub(super) fn call(&mut self, request: Request) -> AnswerFuture {
        if self.phase == Phase::Waiting
            && let Some(accepted) = self.handshake.get()
        {
            // Not earlier: the answer to `initialize` must be the first message that the client
            // reads. By the next message it is in the queue.
            self.phase = Phase::Open;
            self.emit(ClientEvent::Initialized(accepted.hello.clone()));
        }
        match (self.phase, request.method()) {
            (_, "$/cancelRequest") if request.id().is_none() => {
                self.live.cancel(request.params());
                nothing()
            }
            (Phase::Waiting, "initialize") => self.initialize(request),
            (Phase::Waiting, _) => {
                reply(request, Err(convert::refused(RequestProblem::NotInitialized)))
            }
            (Phase::ShutDown, _) => reply(request, Err(convert::shut_down())),
            (Phase::Open, "initialize") => reply(request, Err(Error::invalid_request())),
            (Phase::Open, "shutdown") if request.id().is_some() => {
                self.phase = Phase::ShutDown;
                reply(request, Ok(Value::Null))
            }
            (Phase::Open, _) => self.open(request),
        }
    }

    fn initialize(&self, request: Request) -> AnswerFuture {
        let (method, Some(id), params) = request.into_parts() else { return nothing() };
        let accepted = convert::params(&method, params, serde_json::from_value);
        let welcome = accepted.and_then(handshake::accept).and_then(|accepted| {
            let welcome = convert::result(&handshake::welcome(&accepted));
            // The next message opens the session, so this is the first one that is accepted.
            let _ = self.handshake.set(accepted);
            welcome
        });
        answer(id, welcome)
    }

    fn open(&mut self, request: Request) -> AnswerFuture {
        if request.id().is_some() {
            return match self.handshake.get() {
                Some(Handshake { hello, supports, .. }) if !hello.speaks_agent => {
                    self.standard(request, *supports)
                }
                _ => self.agent(request),
            };
        }
        if request.method() == "initialized" {
            self.pull_settings(true);
        }
        match convert::notification(request.method(), request.params()) {
            Some(Ok(None)) if request.method() == "workspace/didChangeConfiguration" => {
                // Some editors only announce a change, without the settings.
                self.pull_settings(false);
            }
            Some(Ok(Some(event))) => self.emit(event),
            Some(Err(error)) => {
                // Never log the params: they may hold a key or a text.
                let method = request.method();
                if method == protocol::Credentials::METHOD {
                    // The error may quote the params.
                    tracing::error!(method, "a notification was not understood");
                } else {
                    tracing::error!(method, %error, "a notification was not understood");
                }
            }
            Some(Ok(None)) | None => {}
        }
        nothing()
    }

    /// Requests the settings from an editor without the extension, if it supports
    /// `workspace/configuration`.
    fn pull_settings(&self, first: bool) {
        let Some(Handshake { hello, supports, .. }) = self.handshake.get() else { return };
        if hello.speaks_agent || !supports.configuration {
            return;
        }
        if first && supports.watches_settings {
            self.outbox.watch_settings();
        }
        // An unanswered request must not keep the hub alive.
        let (settings, events) = (self.outbox.settings(), self.events.downgrade());
        self.outbox.notify_when_known(async move {
            let settings = settings.await?;
            let _ = events.upgrade()?.send(ClientEvent::Settings(settings));
            None
        });
    }

    /// Sends a request of the protocol to the hub.
    fn agent(&mut self, request: Request) -> AnswerFuture {
        let Some(declared) = protocol::client_request(request.method()) else {
            let unknown = Some(request.method().into());
            return reply(request, Err(Error { data: unknown, ..Error::method_not_found() }));
        };
        let (_, Some(id), params) = request.into_parts() else { return nothing() };
        let method = declared.method;
        match convert::params(method, params, declared.read) {
            Ok(params) => self.ask(id, |responder| event::Request { method, params, responder }),
            Err(error) => answer(id, Err(error)),
        }
    }

    /// Answers the standard requests of LSP for a review; other methods go to [`Self::agent`].
    fn standard(&mut self, request: Request, supports: ClientSupport) -> AnswerFuture {
        match request.method() {
            review::LENSES => self.show(request, |pending, params| {
                convert::result(&review::lenses(&pending.reviews, &params))
            }),
            review::ACTIONS => self.show(request, move |pending, params| {
                convert::result(&review::actions(&pending, &params, supports))
            }),
            commands::EXECUTE => self.execute(request),
            _ => self.agent(request),
        }
    }

    fn execute(&mut self, request: Request) -> AnswerFuture {
        let (_, id, params) = request.into_parts();
        let Some(id) = id else { return nothing() };
        let command = match commands::parse(params) {
            Ok(command) => command,
            Err(error) => return answer(id, Err(error)),
        };
        match command {
            ClientCommand::RunTask(task) => {
                self.ask(id, |it| event::Request::new::<protocol::RunTask>(task, it))
            }
            ClientCommand::Cancel(Some(turn)) => {
                self.ask(id, |it| event::Request::new::<protocol::Cancel>(turn, it))
            }
            ClientCommand::Answer(given) => {
                self.ask(id, |it| event::Request::new::<protocol::Answer>(given, it))
            }
            ClientCommand::Decide(decision) => {
                self.decide::<protocol::Decide>(id, decision, standard_client::decided)
            }
            ClientCommand::UndoDecision => {
                self.decide::<protocol::UndoDecision>(id, Empty {}, standard_client::undone)
            }
            ClientCommand::RunSelection(selection) => {
                self.ask_standard(id, |it| StandardRequest::RunSelection(selection, it))
            }
            ClientCommand::Reply(words) => {
                self.ask_standard(id, |it| StandardRequest::SteerOrStart(words, it))
            }
            ClientCommand::Cancel(None) => self.ask_standard(id, StandardRequest::CancelAll),
            ClientCommand::Deny(words) => self.hand_over(
                id,
                |it| ClientEvent::Standard(StandardRequest::Decline(words, it)),
                |declined| Ok(json!({ "declined": declined })),
            ),
        }
    }

    /// Performs a decision and answers within [`SOON`]. The decision edits a file through the
    /// editor, which may wait for this answer before it shows the edit. The user gets the result as
    /// a message.
    fn decide<M: ClientRequest>(
        &self,
        id: Id,
        params: M::Params,
        words: fn(&M::Result) -> Option<WindowMessage>,
    ) -> AnswerFuture {
        let (responder, replied) = Responder::new();
        let (known, knows) = oneshot::channel();
        self.emit(ClientEvent::Request(event::Request::new::<M>(params, responder)));
        self.outbox.notify_when_known(async move {
            let result = encode(replied.await.ok()?.ok()?);
            let typed = result.as_ref().ok().map(M::Result::deserialize);
            let _ = known.send(result);
            words(&typed?.ok()?)
        });
        async move {
            let known = timeout(SOON, knows).await;
            let outcome = known.unwrap_or(Ok(Ok(Value::Null)));
            Some(Response::from_parts(
                id,
                outcome.unwrap_or_else(|_| Err(convert::refused(RequestProblem::RequestDropped))),
            ))
        }
        .boxed()
    }

    /// Answers a standard request of LSP from what the user has to decide.
    fn show<P: DeserializeOwned + Send + 'static>(
        &self,
        request: Request,
        show: impl FnOnce(Pending, P) -> Result<Value, Error> + Send + 'static,
    ) -> AnswerFuture {
        let (method, id, params) = request.into_parts();
        let Some(id) = id else { return nothing() };
        let event = |it| ClientEvent::Standard(StandardRequest::Pending(it));
        match convert::params(&method, params, serde_json::from_value) {
            Ok(params) => self.hand_over(id, event, |result| show(result, params)),
            Err(error) => answer(id, Err(error)),
        }
    }

    fn ask(
        &self,
        id: Id,
        request: impl FnOnce(Responder<LazyJson>) -> event::Request,
    ) -> AnswerFuture {
        self.hand_over(id, |responder| ClientEvent::Request(request(responder)), encode)
    }

    fn ask_standard<T: Serialize + Send + 'static>(
        &self,
        id: Id,
        request: impl FnOnce(Responder<T>) -> StandardRequest,
    ) -> AnswerFuture {
        let event = |responder| ClientEvent::Standard(request(responder));
        self.hand_over(id, event, |result| encode(LazyJson::new(result, false)))
    }

    /// Sends a request to the hub at once, and returns the future of its answer.
    fn hand_over<T: Send + 'static>(
        &self,
        id: Id,
        event: impl FnOnce(Responder<T>) -> ClientEvent,
        show: impl FnOnce(T) -> Result<Value, Error> + Send + 'static,
    ) -> AnswerFuture {
        let Some((slot, abort)) = self.live.enter(id.clone()) else {
            return answer(id, Err(convert::duplicate_id()));
        };
        let (responder, replied) = Responder::new();
        self.emit(event(responder));
        async move {
            let _slot = slot;
            let outcome = match Abortable::new(replied, abort).await {
                Ok(Ok(Ok(result))) => show(result),
                Ok(Ok(Err(error))) => {
                    let mut error = convert::error(&error);
                    secrets::clean(error.message.to_mut());
                    error.data.iter_mut().for_each(secrets::clean_json);
                    Err(error)
                }
                Ok(Err(_dropped)) => Err(convert::refused(RequestProblem::RequestDropped)),
                Err(_aborted) => Err(Error::request_cancelled()),
            };
            Some(Response::from_parts(id, outcome))
        }
        .boxed()
    }
}

/// Unanswered requests, for `$/cancelRequest`.
#[derive(Clone, Default)]
struct OpenRequests(Arc<Mutex<HashMap<Id, AbortHandle>>>);

impl OpenRequests {
    /// Returns `None` if the id is in use.
    fn enter(&self, id: Id) -> Option<(OpenRequest, futures_util::future::AbortRegistration)> {
        let (handle, registration) = AbortHandle::new_pair();
        match self.0.lock().entry(id.clone()) {
            Entry::Occupied(_) => return None,
            Entry::Vacant(entry) => entry.insert(handle),
        };
        Some((OpenRequest { live: self.clone(), id }, registration))
    }

    fn cancel(&self, params: Option<&Value>) {
        let id = params.and_then(|params| Id::deserialize(params.get("id")?).ok());
        if let Some(id) = id
            && let Some(handle) = self.0.lock().get(&id)
        {
            handle.abort();
        }
    }
}

/// Entry in [`OpenRequests`], removed when dropped.
struct OpenRequest {
    live: OpenRequests,
    id: Id,
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        self.live.0.lock().remove(&self.id);
    }
}

/// Encodes a result, without API keys unless it must be exact.
fn encode(result: LazyJson) -> Result<Value, Error> {
    let exact = result.exact;
    let mut result = result.encode().map_err(|_| Error::internal_error())?;
    if !exact {
        secrets::clean_json(&mut result);
    }
    Ok(result)
}

fn nothing() -> AnswerFuture {
    ready(None).boxed()
}

fn answer(id: Id, outcome: Result<Value, Error>) -> AnswerFuture {
    ready(Some(Response::from_parts(id, outcome))).boxed()
}

/// Answers a request; a notification gets no answer.
fn reply(request: Request, outcome: Result<Value, Error>) -> AnswerFuture {
    match request.into_parts() {
        (_, Some(id), _) => answer(id, outcome),
        (_, None, _) => nothing(),
    }
}

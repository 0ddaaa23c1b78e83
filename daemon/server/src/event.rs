//! Events of the clients, for the hub.

use std::any::Any;

use cairn_core::{
    prompt::Audience,
    text::{Position, Units},
};
use cairn_protocol::{
    ApproveParams, ClientRequest, CredentialsParams, Empty, RequestProblem, ReviewNotification,
    RunTask, RunTaskParams, RunTaskResult, UserText,
};
use serde::Serialize;
use serde_json::Value;
use tokio::sync::oneshot::{self, error::RecvError};
use tokio_util::sync::CancellationToken;

/// Messages of the editor, in wire order.
#[derive(Debug)]
pub enum ClientEvent {
    /// `initialize` was accepted.
    Initialized(Initialized),
    DidOpen {
        uri: String,
        version: i32,
        text: String,
    },
    DidChange {
        uri: String,
        version: i32,
        changes: Vec<ContentChange>,
    },
    DidSave {
        uri: String,
    },
    DidClose {
        uri: String,
    },
    /// `workspace/didChangeConfiguration`: the whole `cairn` section.
    Settings(Value),
    /// Files that changed on disk, by URI.
    WatchedFiles(Vec<String>),
    /// Files or folders that the user deleted in the editor, by URI.
    DeletedFiles(Vec<String>),
    /// Files or folders that the user moved: old and new URIs.
    RenamedFiles(Vec<(String, String)>),
    Credentials(CredentialsParams),
    /// The user's trust in the workspace changed.
    Trust(bool),
    Request(Request),
    Standard(StandardRequest),
    /// A signal asked the daemon to end. The last event.
    Terminated,
}

#[derive(Debug, Clone)]
pub struct Initialized {
    /// Workspace folders with absolute paths; the first is the working directory of commands.
    pub folders: Vec<crate::workspace::OpenFolder>,
    /// `initializationOptions.settings`: the `cairn` section, or null.
    pub settings: Value,
    /// The client speaks `agent/*` (advertised `experimental.cairn`).
    pub speaks_agent: bool,
    /// The user trusts the workspace. An editor without that notion trusts all.
    pub trusted: bool,
    pub remember: Remember,
    /// Reader of the agent's text.
    pub audience: Audience,
    /// Units of columns in positions.
    pub units: Units,
}

/// State that outlives this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remember {
    /// Sessions and proposed edits; the newest session is restored.
    Sessions,
    /// Sessions only, for a program that runs one task: none is restored, and edits are decided.
    Conversations,
    Nothing,
}

/// Entry of `contentChanges`: the whole text when `range` is absent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentChange {
    pub range: Option<(Position, Position)>,
    pub text: String,
}

/// Decisions that the user has to make.
#[derive(Debug)]
pub struct Pending {
    /// Files with proposed edits.
    pub reviews: Vec<ReviewNotification>,
    /// Open questions of tool calls, oldest first.
    pub questions: Vec<ApproveParams>,
}

/// Part of an open document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    pub uri: String,
    pub start: Position,
    pub end: Position,
}

/// Request of an editor without the extension, which has no method on the wire.
#[derive(Debug)]
pub enum StandardRequest {
    /// The open decisions of the user.
    Pending(Responder<Pending>),
    /// Sends text to a session (by default the newest): to the running turn, else as a new turn.
    SteerOrStart(RunTaskParams, Responder<RunTaskResult>),
    /// Cancels every running turn.
    CancelAll(Responder<Empty>),
    /// Starts a task with the text of this part of an open document.
    RunSelection(Selection, Responder<RunTaskResult>),
    /// Declines every open question, with a text for the model; returns their number.
    Decline(Option<String>, Responder<usize>),
}

impl StandardRequest {
    /// Calls `visit` with each text that the user wrote.
    pub fn each_user_text(&mut self, visit: &mut dyn FnMut(&mut String)) {
        match self {
            Self::SteerOrStart(params, _) => RunTask::each_user_text(params, visit),
            Self::Decline(words, _) => words.each_user_text(visit),
            Self::Pending(_) | Self::CancelAll(_) | Self::RunSelection(..) => {}
        }
    }
}

/// Request of the protocol. Its method is declared in `cairn-protocol`.
#[derive(Debug)]
pub struct Request {
    pub method: &'static str,
    /// Value of the type of the method's params.
    pub params: Box<dyn Any + Send>,
    pub responder: Responder<LazyJson>,
}

impl Request {
    pub fn new<M: ClientRequest>(params: M::Params, responder: Responder<LazyJson>) -> Self {
        Self { method: M::METHOD, params: Box::new(params), responder }
    }
}

/// Sender of the answer to a request. Dropping it answers `Internal`. An answer that nobody waits
/// for a next one is dropped: the client went away.
pub struct Responder<T> {
    send: Box<dyn FnOnce(Result<T, RequestError>) + Send>,
    unwanted: CancellationToken,
}

impl<T: Send + 'static> Responder<T> {
    /// Returns a sender, and the future of its answer. Dropping that withdraws the request.
    pub fn new() -> (Self, impl Future<Output = Answered<T>> + Send + 'static) {
        let (sender, receiver) = oneshot::channel();
        let unwanted = CancellationToken::new();
        let withdrawal = unwanted.clone().drop_guard();
        let answer = async move {
            let _withdrawal = withdrawal;
            receiver.await
        };
        (Self { send: Box::new(|answer| drop(sender.send(answer))), unwanted }, answer)
    }

    pub fn send(self, answer: Result<T, RequestError>) {
        (self.send)(answer);
    }

    /// Returns a token that is cancelled once the client has withdrawn the request.
    pub fn unwanted(&self) -> CancellationToken {
        self.unwanted.clone()
    }

    /// Returns a sender of results that `convert` makes into those of this one.
    pub fn accepting<U>(self, convert: impl FnOnce(U) -> T + Send + 'static) -> Responder<U> {
        let unwanted = self.unwanted();
        let send = Box::new(move |answer: Result<U, RequestError>| self.send(answer.map(convert)));
        Responder { send, unwanted }
    }
}

/// Answer to a request, or an error if its sender was dropped.
pub type Answered<T> = Result<Result<T, RequestError>, RecvError>;

impl<T> std::fmt::Debug for Responder<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Responder")
    }
}

/// Result whose JSON is made by its receiver, because the hub has no time for it.
pub struct LazyJson {
    encode: Box<dyn FnOnce() -> serde_json::Result<Value> + Send>,
    /// The client needs it byte for byte: API keys in it stay.
    pub exact: bool,
}

impl LazyJson {
    pub fn new<T: Serialize + Send + 'static>(result: T, exact: bool) -> Self {
        Self { encode: Box::new(move || serde_json::to_value(result)), exact }
    }

    pub fn encode(self) -> serde_json::Result<Value> {
        (self.encode)()
    }
}

/// Refused request. Boxed, so that a result with this error stays small.
pub type RequestError = Box<RequestProblem>;

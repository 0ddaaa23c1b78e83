//! Input of the hub: one closed enum of all events.

use cairn_core::text::{Position, Units};
use cairn_protocol::{
    AnswerParams, AnswerResult, ApproveParams, BaselineParams, BaselineResult, CancelParams,
    CheckpointsResult, CompactParams, CompactResult, CredentialsParams, DecideParams, DecideResult,
    DeleteSessionParams, Empty, ErrorData, ErrorKind, ExportSessionParams, ExportSessionResult,
    ForkSessionParams, ListRulesResult, ListSessionsParams, ListSessionsResult, ModelsResult,
    OpenSessionParams, OpenSessionResult, PlanHistoryParams, PlanHistoryResult, QueueAddParams,
    QueueAddResult, QueueDropParams, QueueEditParams, QueueSendParams, RestoreCheckpointParams,
    RestoreCheckpointResult, ReviewNotification, RevokeRuleParams, RevokeRuleResult, RunTaskParams,
    RunTaskResult, StateResult, SteerParams, SteerResult, UndoDecisionResult,
};
use serde_json::Value;
use tokio::sync::oneshot;

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
    /// Files or folders that the user moved: old and new URIs.
    RenamedFiles(Vec<(String, String)>),
    Credentials(CredentialsParams),
    /// The user's trust in the workspace changed.
    Trust(bool),
    Request(AgentRequest),
}

#[derive(Debug, Clone)]
pub struct Initialized {
    /// Workspace folders as absolute paths; the first is the working directory of commands.
    pub folders: Vec<std::path::PathBuf>,
    /// `initializationOptions.settings`: the `cairn` section, or null.
    pub settings: Value,
    /// The client speaks `agent/*` (advertised `experimental.cairn`).
    pub speaks_agent: bool,
    /// The user trusts the workspace. An editor without that notion trusts all.
    pub trusted: bool,
    pub remember: Remember,
    /// Units of columns in positions.
    pub units: Units,
}

/// State that outlives this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remember {
    Sessions,
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

/// Request with the sender for its answer: `agent/*`, and the standard requests of an editor
/// without the extension. Dropping the sender answers `Internal`.
#[derive(Debug)]
pub enum AgentRequest {
    RunTask(RunTaskParams, Reply<RunTaskResult>),
    Steer(SteerParams, Reply<SteerResult>),
    QueueAdd(QueueAddParams, Reply<QueueAddResult>),
    QueueEdit(QueueEditParams, Reply<Empty>),
    QueueDrop(QueueDropParams, Reply<Empty>),
    QueueSend(QueueSendParams, Reply<Empty>),
    Cancel(CancelParams, Reply<Empty>),
    Compact(CompactParams, Reply<CompactResult>),
    Answer(AnswerParams, Reply<AnswerResult>),
    Decide(DecideParams, Reply<DecideResult>),
    UndoDecision(Reply<UndoDecisionResult>),
    Baseline(BaselineParams, Reply<BaselineResult>),
    PlanHistory(PlanHistoryParams, Reply<PlanHistoryResult>),
    Checkpoints(Reply<CheckpointsResult>),
    RestoreCheckpoint(RestoreCheckpointParams, Reply<RestoreCheckpointResult>),
    ListSessions(ListSessionsParams, Reply<ListSessionsResult>),
    OpenSession(OpenSessionParams, Reply<OpenSessionResult>),
    ForkSession(ForkSessionParams, Reply<OpenSessionResult>),
    DeleteSession(DeleteSessionParams, Reply<Empty>),
    ExportSession(ExportSessionParams, Reply<ExportSessionResult>),
    State(Reply<StateResult>),
    Models(Reply<ModelsResult>),
    ListRules(Reply<ListRulesResult>),
    RevokeRule(RevokeRuleParams, Reply<RevokeRuleResult>),
    /// Everything that the user has to decide now.
    Pending(Reply<Pending>),
    /// Sends text to a session (by default the newest): to the running turn, else as a new turn.
    SteerOrStart(RunTaskParams, Reply<RunTaskResult>),
    /// Cancels every running turn.
    CancelAll(Reply<Empty>),
    /// Starts a task with the text of this part of an open document.
    RunSelection(Selection, Reply<RunTaskResult>),
    /// Declines every open question, with a text for the model; returns their number.
    Decline(Option<String>, Reply<usize>),
}

impl AgentRequest {
    /// Applies `clean` to the texts of the user, to remove secrets that must not be stored.
    pub fn clean_words(&mut self, clean: impl Fn(&mut String)) {
        match self {
            Self::RunTask(params, _) | Self::SteerOrStart(params, _) => {
                clean(&mut params.text);
                let selected = params.context.as_mut().and_then(|it| it.selection.as_mut());
                if let Some(selection) = selected {
                    clean(&mut selection.text);
                }
            }
            Self::Steer(params, _) => clean(&mut params.text),
            Self::QueueAdd(params, _) => clean(&mut params.text),
            Self::QueueEdit(params, _) => clean(&mut params.text),
            Self::Answer(params, _) => params.feedback.iter_mut().for_each(clean),
            Self::Decline(words, _) => words.iter_mut().for_each(clean),
            _ => {}
        }
    }
}

pub type Reply<T> = oneshot::Sender<Result<T, RequestError>>;

/// Refused request: the failure and the next step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestError {
    pub message: String,
    pub data: ErrorData,
}

impl RequestError {
    pub fn new(kind: ErrorKind, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), data: ErrorData { kind, hint: hint.into() } }
    }
}

//! Everything that can happen to the hub, as one closed enum: its only input.

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

/// What the editor says, in wire order.
#[derive(Debug)]
pub enum ClientEvent {
    /// `initialize` was accepted: where we work and how.
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
    /// Files changed on disk, by URI.
    WatchedFiles(Vec<String>),
    /// The user moved files or folders: old and new URIs.
    RenamedFiles(Vec<(String, String)>),
    Credentials(CredentialsParams),
    /// Whether the user trusts the workspace now.
    Trust(bool),
    Request(AgentRequest),
}

#[derive(Debug, Clone)]
pub struct Initialized {
    /// Workspace folders as absolute paths, the first is the working directory of commands.
    pub folders: Vec<std::path::PathBuf>,
    /// `initializationOptions.settings`: the `cairn` section, or null.
    pub settings: Value,
    /// The client speaks `agent/*` (advertised `experimental.cairn`).
    pub speaks_agent: bool,
    /// The user trusts the workspace. An editor that does not know of trust says so of all.
    pub trusted: bool,
    pub remember: Remember,
    /// The units of columns in positions.
    pub units: Units,
}

/// What is kept for the time after this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remember {
    Sessions,
    Nothing,
}

/// One entry of `contentChanges`: the whole text when `range` is absent.
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
    /// Questions that tool calls wait for, oldest first.
    pub questions: Vec<ApproveParams>,
}

/// A part of an open document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    pub uri: String,
    pub start: Position,
    pub end: Position,
}

/// A request with the place its answer goes: `agent/*`, and what an editor that only speaks LSP
/// asks by its own means. Dropping the reply answers `Internal`.
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
    /// Everything the user has to decide, as it is at this moment.
    Pending(Reply<Pending>),
    /// Words for a session, the newest one if none is named: for the turn that runs, else a turn
    /// of their own.
    SteerOrStart(RunTaskParams, Reply<RunTaskResult>),
    /// Every turn that runs.
    CancelAll(Reply<Empty>),
    /// A new task, in the words that stand in this part of an open document.
    RunSelection(Selection, Reply<RunTaskResult>),
    /// Declines every question that is open, with words for the model; answers how many there were.
    Decline(Option<String>, Reply<usize>),
}

impl AgentRequest {
    /// Takes out of the words of the user what must not be kept.
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

/// A refused request: says what happened and what to do next.
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

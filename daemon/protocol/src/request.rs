//! What an editor asks of the daemon.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::{
    ChildNotification, CompactParams, CompactResult, Empty, EndReason, MessageNotification,
    ModelInfo, PlanNotification, QueueAddParams, QueueAddResult, QueueDropParams, QueueEditParams,
    QueueNotification, QueueSendParams, Range, RequestMethod, ReviewMode, ReviewNotification,
    StatusNotification, ToolNotification, TurnNotification, UsageNotification,
};

/// Starts a turn and answers at once. Without `sessionId` a new session begins; with the id of a
/// session whose turn still runs, the request fails with `turnMismatch` (use `agent/steer`).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RunTaskParams {
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub session_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub mode: Option<ReviewMode>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub context: Option<TaskContext>,
}

/// What the user had in view when the task was given.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct TaskContext {
    /// URI of the file in the active editor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub active_file: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub selection: Option<Selection>,
}

/// A non-empty selection in the active file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Selection {
    pub uri: String,
    pub range: Range,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RunTaskResult {
    pub session_id: String,
    pub turn_id: String,
}

/// Text for the running turn, delivered to the model at its next safe point.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SteerParams {
    pub session_id: String,
    pub expected_turn_id: String,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SteerResult {
    pub queued: bool,
}

/// Ends the turn as `cancelled`. Cancelling a turn that is over does nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CancelParams {
    pub session_id: String,
    pub turn_id: String,
}

/// Answers an approval by its id, whichever way it was shown. The first answer counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AnswerParams {
    pub approval_id: String,
    pub decision: ApprovalDecision,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub feedback: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AnswerResult {
    /// False when the approval was answered already or its turn is over.
    pub accepted: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum ApprovalDecision {
    AllowOnce,
    /// The same command, byte for byte, for the rest of this session.
    AllowSession,
    /// From now on, in the folder it runs in: the `rules` of the question are kept. Counts as
    /// `allowOnce` for a question that offered none.
    AllowAlways,
    Deny,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum Decision {
    Accept,
    Reject,
}

/// Which hunks a decision is about. `rev` is the `rev` of the `agent/review` that showed them.
/// Ids of plan items count anew in each session, so one is named with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Scope {
    Hunk { uri: String, hunk_id: String },
    File { uri: String },
    PlanItem { session_id: String, plan_item: String },
    Turn { turn_id: String },
    All,
}

/// Decides hunks. A hunk that is gone changes nothing and is counted in `stale`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct DecideParams {
    pub decision: Decision,
    pub scope: Scope,
    /// The `rev` the user looked at; an older one is refused when the hunk changed since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub rev: Option<u32>,
    /// The user's words about a rejection, for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub feedback: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct DecideResult {
    /// Hunks decided.
    pub applied: u32,
    /// Hunks that were gone or had changed; nothing was done to them.
    pub stale: u32,
    /// One line per hunk or file that could not be decided, with the reason.
    pub failed: Vec<String>,
}

/// Takes back the last decision.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct UndoDecisionResult {
    pub undone: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub message: Option<String>,
}

/// The checkpoints of this workspace: one a turn that changed files.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CheckpointsResult {
    /// Newest first, at most 50.
    pub checkpoints: Vec<Checkpoint>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Checkpoint {
    pub session_id: String,
    pub turn_id: String,
    /// The words the turn began with.
    pub task: String,
    /// Files the agent changed in it, relative to the workspace.
    pub files: Vec<String>,
}

/// Brings text, plan and review back to where they were before a turn: of every file that the agent
/// changed in it or since. Refused while a turn runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RestoreCheckpointParams {
    pub turn_id: String,
    /// Overwrite what somebody else than the agent wrote since: after it was shown.
    #[serde(default)]
    pub overwrite: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RestoreCheckpointResult {
    /// Files that are as they were, relative to the workspace.
    pub restored: Vec<String>,
    /// Files in which somebody else than the agent wrote since. Unless they may be overwritten,
    /// nothing was done to any file.
    pub conflicts: Vec<CheckpointConflict>,
    /// One line per file that could not be brought back, with the reason.
    pub failed: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CheckpointConflict {
    pub uri: String,
    pub path: String,
    /// The text at the checkpoint; absent when there was no file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub text: Option<String>,
}

/// The accepted text of a file, for diff views: what a reject of everything would restore.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct BaselineParams {
    pub uri: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct BaselineResult {
    /// Absent when the file is not under review; empty for a file the agent created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub text: Option<String>,
}

/// Everything a client needs after it (re)connects, in one snapshot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct StateResult {
    pub sessions: Vec<SessionSnapshot>,
    pub reviews: Vec<ReviewNotification>,
    pub status: StatusNotification,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SessionSnapshot {
    pub session_id: String,
    /// The words the newest turn began with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub task: Option<String>,
    /// The newest turn, running or ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub turn: Option<TurnNotification>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub plan: Option<PlanNotification>,
    /// What waits to be done next, if anything does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub queue: Option<QueueNotification>,
    /// Tool calls of the newest turn, those of its children included.
    pub tools: Vec<ToolNotification>,
    /// The newest children of its turns, in the order they were started.
    #[serde(default)]
    pub children: Vec<ChildNotification>,
    /// What was said before this daemon began, oldest first, at most the newest 1,000 entries.
    /// What was said since came as notifications.
    pub transcript: Vec<TranscriptEntry>,
    /// Tokens so far, and how full the model's window is; absent when none were used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub usage: Option<UsageNotification>,
    /// More was said before that: `agent/sessions/open` with it as `before` tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub earlier: Option<String>,
    /// No turn can start in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub read_only: Option<ReadOnly>,
}

/// Why a session can only be looked at, forked and exported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ReadOnly {
    pub reason: ReadOnlyReason,
    /// In words, for people.
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum ReadOnlyReason {
    /// Another window has it.
    OpenElsewhere,
    /// Its journal is damaged; what stands before the damage is shown.
    Damaged,
    /// The system does not let us write it.
    NotWritable,
}

/// One thing that was said or done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum TranscriptEntry {
    Turn(TurnNotification),
    Message(MessageNotification),
    Tool(ToolNotification),
}

/// The plans of a session as they stood at the end of each turn that planned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PlanHistoryParams {
    pub session_id: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PlanHistoryResult {
    /// Oldest first, at most the newest 50.
    pub turns: Vec<EarlierPlan>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct EarlierPlan {
    pub turn_id: String,
    /// The words the turn began with.
    pub task: String,
    pub reason: EndReason,
    pub plan: PlanNotification,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ModelsResult {
    pub active: ModelInfo,
    pub providers: Vec<ProviderStatus>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ProviderStatus {
    /// `anthropic`, `openai` or `replay`.
    pub provider: String,
    pub usable: bool,
    /// Why it cannot be used now and what to do about it; empty when usable.
    pub reason: String,
    /// Model names known for it, best first.
    pub models: Vec<String>,
    /// Where its requests go, as scheme, host and port: what a key that is entered for it now is
    /// for. Empty where there is no key.
    pub origin: String,
}

/// Sets or (with `key: null`) forgets the API key of a provider for one origin. A notification: the
/// key comes from the editor's secret store and is kept in memory only.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CredentialsParams {
    pub provider: String,
    pub key: Option<String>,
    /// The only server it is sent to, as in `ProviderStatus`. Absent: the provider's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub origin: Option<String>,
}

impl std::fmt::Debug for CredentialsParams {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let key = if self.key.is_some() { "[redacted]" } else { "none" };
        f.debug_struct("CredentialsParams")
            .field("provider", &self.provider)
            .field("key", &key)
            .field("origin", &self.origin)
            .finish()
    }
}

/// `data` of every error of an `agent/*` request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ErrorData {
    pub kind: ErrorKind,
    /// What the user can do next.
    pub hint: String,
}

/// Stable names of failures; the JSON-RPC code is -32803 except where noted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum ErrorKind {
    /// Before `initialized` (code -32002) or after `shutdown` (code -32600).
    NotReady,
    NoModel,
    /// Params are not of the method's form (code -32602).
    InvalidParams,
    StaleRevision,
    UnknownSession,
    /// The session can only be read here, or something that runs needs it.
    SessionLocked,
    TurnMismatch,
    Untrusted,
    /// Too many requests at once (code -32001).
    Overloaded,
    Internal,
}

macro_rules! request {
    ($name:ident, $method:literal, $params:ty, $result:ty) => {
        #[doc = concat!("`", $method, "`")]
        #[derive(Debug)]
        pub struct $name;
        impl RequestMethod for $name {
            const METHOD: &'static str = $method;
            type Params = $params;
            type Result = $result;
        }
    };
}
pub(crate) use request;

request!(RunTask, "agent/runTask", RunTaskParams, RunTaskResult);
request!(Steer, "agent/steer", SteerParams, SteerResult);
request!(QueueAdd, "agent/queue/add", QueueAddParams, QueueAddResult);
request!(QueueEdit, "agent/queue/edit", QueueEditParams, Empty);
request!(QueueDrop, "agent/queue/drop", QueueDropParams, Empty);
request!(QueueSend, "agent/queue/send", QueueSendParams, Empty);
request!(Cancel, "agent/cancel", CancelParams, Empty);
request!(Compact, "agent/compact", CompactParams, CompactResult);
request!(Answer, "agent/answer", AnswerParams, AnswerResult);
request!(Decide, "agent/review/decide", DecideParams, DecideResult);
request!(UndoDecision, "agent/review/undo", Empty, UndoDecisionResult);
request!(Baseline, "agent/review/baseline", BaselineParams, BaselineResult);
request!(Checkpoints, "agent/checkpoints", Empty, CheckpointsResult);
request!(
    RestoreCheckpoint,
    "agent/checkpoints/restore",
    RestoreCheckpointParams,
    RestoreCheckpointResult
);
request!(PlanHistory, "agent/plan/history", PlanHistoryParams, PlanHistoryResult);
request!(State, "agent/state", Empty, StateResult);
request!(Models, "agent/models", Empty, ModelsResult);

/// Says whether the user trusts the workspace now. A notification; before it counts what
/// `initializationOptions.trusted` said, and without that a workspace is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct TrustParams {
    pub trusted: bool,
}

/// `agent/trust`, a notification from the client.
pub const TRUST: &str = "agent/trust";
/// `agent/credentials`, a notification from the client.
pub const CREDENTIALS: &str = "agent/credentials";

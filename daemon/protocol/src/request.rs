//! Requests of an editor to the daemon.

use macro_rules_attribute::apply;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::{
    Attachment, CheckModelParams, CheckModelResult, Empty, EndReason, MessageNotification,
    ModelsResult, PlanNotification, ProcessInfo, QueueNotification, Range, ReadOnlyProblem,
    ReviewMode, ReviewNotification, ServerModelsParams, ServerModelsResult, SessionFacts,
    SessionNews, StatusNotification, SubagentNotification, ToolNotification, TurnAttachmentsResult,
    TurnNotification, UiMessage, UsageNotification, UserText,
    method::{declare_client_notifications, declare_client_requests},
};

/// Starts a turn and answers at once. Without `sessionId` a new session begins. While a turn of the
/// named session runs, the request fails with `turnMismatch` (use `agent/steer`).
#[apply(wire)]
#[derive(Default)]
pub struct RunTaskParams {
    pub text: String,
    pub session_id: Option<String>,
    pub mode: Option<ReviewMode>,
    pub context: Option<TaskContext>,
    /// Plays the built-in demonstration instead of asking a model. It writes `cairn-demo.md`, so the
    /// folder should not be the user's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[ts(optional, as = "Option<bool>")]
    pub demo: bool,
    /// Content sent with the text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<Attachment>>")]
    pub attachments: Vec<Attachment>,
}

/// Editor state when the user gave the task.
#[apply(wire)]
#[derive(Default)]
pub struct TaskContext {
    /// URI of the file in the active editor.
    pub active_file: Option<String>,
    pub selection: Option<Selection>,
}

/// Selection in the active file; not empty.
#[apply(wire)]
pub struct Selection {
    pub uri: String,
    pub range: Range,
    pub text: String,
}

#[apply(wire)]
pub struct RunTaskResult {
    pub session_id: String,
    pub turn_id: String,
}

/// Sends text to the running turn. The model gets it with its next request.
#[apply(wire)]
pub struct SteerParams {
    pub session_id: String,
    pub expected_turn_id: String,
    pub text: String,
    /// Content sent with the text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<Attachment>>")]
    pub attachments: Vec<Attachment>,
}

#[apply(wire)]
pub struct SteerResult {
    pub queued: bool,
}

/// Params of requests about one session.
#[apply(wire)]
pub struct SessionParams {
    pub session_id: String,
}

/// Params of requests about one turn. To cancel an ended one does nothing.
#[apply(wire)]
pub struct TurnParams {
    pub session_id: String,
    pub turn_id: String,
}

/// Answers an approval by its id, however it was shown. The first answer counts.
#[apply(wire)]
pub struct AnswerParams {
    pub approval_id: String,
    pub decision: ApprovalDecision,
    pub feedback: Option<String>,
}

#[apply(wire)]
pub struct AnswerResult {
    /// False if the approval was answered already or its turn ended.
    pub accepted: bool,
}

#[apply(wire)]
#[derive(Copy)]
pub enum ApprovalDecision {
    AllowOnce,
    /// Allows the same command, byte for byte, for the rest of this session.
    AllowSession,
    /// Allows the commands in `rules` of the question from now on, in their folder. Is treated as
    /// `allowOnce` for a question without rules.
    AllowAlways,
    /// Allows the commands that `pattern` of the question describes from now on, in the folder of its `rules`.
    /// Is treated as `allowOnce` for a question without a pattern.
    AllowPattern,
    Deny,
}

#[apply(wire)]
#[derive(Copy)]
pub enum Decision {
    Accept,
    /// Restores the former lines. Lines in which the user typed stay.
    Reject,
    /// Restores the former lines only: what the user typed in the hunk goes with it.
    Drop,
}

/// Hunks that a decision is about. `rev` is the `rev` of the `agent/review` that showed them. Ids
/// of plan items are unique within a session only, so a plan item is named with it.
#[apply(wire)]
#[serde(tag = "kind", rename_all_fields = "camelCase")]
pub enum Scope {
    Hunk { uri: String, hunk_id: String },
    Hunks { hunks: Vec<ShownHunk> },
    File { uri: String },
    PlanItem { session_id: String, plan_item: String },
    All,
}

/// A hunk among several that one decision is about, with the `rev` that showed it.
#[apply(wire)]
pub struct ShownHunk {
    pub uri: String,
    pub hunk_id: String,
    pub rev: Option<u32>,
}

/// Decides hunks. A hunk that no longer exists changes nothing and counts in `stale`.
#[apply(wire)]
pub struct DecideParams {
    pub decision: Decision,
    pub scope: Scope,
    /// The `rev` that the user saw. A decision with an older one is refused if the hunk changed
    /// since.
    pub rev: Option<u32>,
    /// Text of the user about a rejection, for the model.
    pub feedback: Option<String>,
}

#[apply(wire)]
#[derive(Default)]
pub struct DecideResult {
    /// Number of decided hunks.
    pub applied: u32,
    /// Number of hunks that had changed or no longer existed; they stayed as they were.
    pub stale: u32,
    /// One message for each hunk or file that could not be decided, with the reason.
    pub failed: Vec<UiMessage>,
}

/// Takes back the last decision.
#[apply(wire)]
#[derive(Default)]
pub struct UndoDecisionResult {
    pub undone: bool,
    /// Reason why nothing, or not all, was undone.
    pub problem: Option<UiMessage>,
}

/// Checkpoints of this workspace: one for each turn that changed files.
#[apply(wire)]
#[derive(Default)]
pub struct CheckpointsResult {
    /// Newest first, at most 50.
    pub checkpoints: Vec<Checkpoint>,
}

#[apply(wire)]
pub struct Checkpoint {
    pub session_id: String,
    pub turn_id: String,
    /// First message of the turn.
    pub task: String,
    /// Files that the agent changed in the turn, relative to the workspace.
    pub files: Vec<String>,
}

/// Restores text, plan and review to the state before a turn, for every file that the agent changed
/// in it or since. Refused while a turn runs.
#[apply(wire)]
pub struct RestoreCheckpointParams {
    pub turn_id: String,
    /// Overwrites text that others than the agent wrote since, which the user has seen.
    #[serde(default)]
    pub overwrite: bool,
}

#[apply(wire)]
#[derive(Default)]
pub struct RestoreCheckpointResult {
    /// Restored files, relative to the workspace.
    pub restored: Vec<String>,
    /// Files in which others than the agent wrote since. Unless `overwrite` is set, no file was
    /// changed.
    pub conflicts: Vec<CheckpointConflict>,
    /// One message for each file that could not be restored, with the reason.
    pub failed: Vec<UiMessage>,
}

#[apply(wire)]
pub struct CheckpointConflict {
    pub uri: String,
    pub path: String,
    /// Text at the checkpoint; absent if the file did not exist.
    pub text: Option<String>,
}

/// Requests the accepted text of a file, for diff views: the text after rejecting everything.
#[apply(wire)]
pub struct BaselineParams {
    pub uri: String,
}

#[apply(wire)]
pub struct BaselineResult {
    /// Absent when the file is not under review; empty for a file that the agent created.
    pub text: Option<String>,
}

/// Snapshot for a client that (re)connects.
#[apply(wire)]
pub struct StateResult {
    pub sessions: Vec<SessionSnapshot>,
    pub reviews: Vec<ReviewNotification>,
    pub status: StatusNotification,
}

#[apply(wire)]
pub struct SessionSnapshot {
    pub session_id: String,
    /// First message of the newest turn.
    pub task: Option<String>,
    #[serde(flatten)]
    pub facts: SessionFacts,
    /// First words of its first message.
    pub title: Option<String>,
    #[serde(flatten)]
    pub news: SessionNews,
    pub plan: Option<PlanNotification>,
    /// Waiting follow-ups, if any.
    pub queue: Option<QueueNotification>,
    /// Tool calls of the newest turn and of its subagents.
    pub tools: Vec<ToolNotification>,
    /// Newest subagents of its turns, in the order of their start.
    #[serde(default)]
    pub subagents: Vec<SubagentNotification>,
    /// Its processes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<ProcessInfo>>")]
    pub processes: Vec<ProcessInfo>,
    /// Transcript before this daemon started, oldest first; at most the newest 1,000 entries. Later
    /// entries came as notifications.
    pub transcript: Vec<TranscriptEntry>,
    /// Tokens so far, and the use of the context window; absent before the first use.
    pub usage: Option<UsageNotification>,
    /// Present if earlier entries exist: the `before` for `agent/sessions/open`.
    pub earlier: Option<String>,
    /// Present if no turn can start in the session.
    pub read_only: Option<ReadOnly>,
}

/// Reason why a session can only be read, forked and exported.
#[apply(wire)]
pub struct ReadOnly {
    pub reason: ReadOnlyReason,
    #[serde(flatten)]
    pub message: UiMessage,
}

impl From<&ReadOnlyProblem> for ReadOnly {
    fn from(problem: &ReadOnlyProblem) -> Self {
        Self { reason: problem.kind(), message: problem.message() }
    }
}

#[apply(wire)]
#[derive(Copy)]
pub enum ReadOnlyReason {
    /// Another window has it open.
    OpenElsewhere,
    /// Its journal is damaged; the part before the damage is shown.
    Damaged,
    /// The file system does not allow writing it.
    NotWritable,
}

/// Entry of a transcript.
#[apply(wire)]
#[serde(tag = "kind")]
pub enum TranscriptEntry {
    Turn(TurnNotification),
    Message(MessageNotification),
    Tool(ToolNotification),
}

/// Plans of a session at the end of each turn that planned.
#[apply(wire)]
pub struct PlanHistoryResult {
    /// Oldest first, at most the newest 50.
    pub turns: Vec<EarlierPlan>,
}

#[apply(wire)]
pub struct EarlierPlan {
    pub turn_id: String,
    /// First message of the turn.
    pub task: String,
    pub reason: EndReason,
    pub plan: PlanNotification,
}

/// Sets the API key of a provider for one origin, or removes it with `key: null`. A notification.
/// The key comes from the editor's secret store and stays in memory.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CredentialsParams {
    pub provider: String,
    pub key: Option<String>,
    /// The only origin that the key is sent to, as in `ProviderStatus`. Absent: the provider's own.
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

/// Requests the result of a tool call as the model got it: of a command the output, bounded only for
/// the model.
#[apply(wire)]
pub struct ToolOutputParams {
    pub session_id: String,
    pub call_id: String,
}

#[apply(wire)]
#[derive(Default)]
pub struct ToolOutputResult {
    /// Absent while the calls of its message run, and for an unknown call.
    pub text: Option<String>,
}

impl UserText for TaskContext {
    fn each_user_text(&mut self, visit: &mut dyn FnMut(&mut String)) {
        self.selection.each_user_text(visit);
    }
}

impl UserText for Selection {
    fn each_user_text(&mut self, visit: &mut dyn FnMut(&mut String)) {
        self.text.each_user_text(visit);
    }
}

declare_client_requests! {
    REQUESTS:
    RunTask("agent/runTask", RunTaskParams { text, context, attachments }) -> RunTaskResult,
    Steer("agent/steer", SteerParams { text, attachments }) -> SteerResult,
    Cancel("agent/cancel", TurnParams {}) -> Empty,
    Answer("agent/answer", AnswerParams { feedback }) -> AnswerResult,
    Decide("agent/review/decide", DecideParams { feedback }) -> DecideResult,
    UndoDecision("agent/review/undo", Empty {}) -> UndoDecisionResult,
    Baseline("agent/review/baseline", BaselineParams {}) -> BaselineResult,
    PlanHistory("agent/plan/history", SessionParams {}) -> PlanHistoryResult,
    Checkpoints("agent/checkpoints", Empty {}) -> CheckpointsResult,
    RestoreCheckpoint("agent/checkpoints/restore", RestoreCheckpointParams {}) -> RestoreCheckpointResult,
    State("agent/state", Empty {}) -> StateResult,
    Models("agent/models", Empty {}) -> ModelsResult,
    ServerModels("agent/models/server", ServerModelsParams {}) -> ServerModelsResult,
    CheckModel("agent/models/check", CheckModelParams {}) -> CheckModelResult,
    ToolOutput("agent/tool/output", ToolOutputParams {}) -> ToolOutputResult,
    TurnAttachments("agent/turn/attachments", TurnParams {}) -> TurnAttachmentsResult,
}

/// Tells whether the user trusts the workspace. A notification. Before it
/// `initializationOptions.trusted` counts; by default a workspace is trusted.
#[apply(wire)]
#[derive(Copy)]
pub struct TrustParams {
    pub trusted: bool,
}

declare_client_notifications! {
    NOTIFICATIONS:
    Credentials("agent/credentials", CredentialsParams),
    Trust("agent/trust", TrustParams),
}

//! Notifications of the daemon. Each is a snapshot: the newest `rev` wins.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::{
    ActionId, Attachment, ContextUse, Declaration, Hunk, OutputNotification, QueueNotification,
    SandboxState, StatusProblem, SubagentNotification, ToolNotification, ToolState, TurnNotice,
    TurnProblem,
};

/// Beginning or end of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct TurnNotification {
    pub session_id: String,
    pub turn_id: String,
    pub rev: u32,
    pub phase: TurnPhase,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum TurnPhase {
    Started {
        /// Text of the user.
        text: String,
        /// Content sent with the text, without `text` and `data`. Since 1.1.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[ts(optional, as = "Option<Vec<Attachment>>")]
        attachments: Vec<Attachment>,
    },
    Ended {
        reason: EndReason,
        /// Last text of the assistant, or the failure and the next step for the user.
        summary: String,
        open_items: u32,
        usage: Usage,
        /// Reason why the turn ended before its work was done; absent if it was completed or
        /// cancelled. Since 1.1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        problem: Option<TurnEndProblem>,
        /// Time, tokens and cost of this turn alone; absent for turns of earlier versions. Since
        /// 1.2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        spent: Option<TurnSpent>,
    },
}

/// Time, tokens and cost of one turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct TurnSpent {
    #[ts(type = "number")]
    pub elapsed_ms: u64,
    pub usage: Usage,
    /// Estimate in millionths of a dollar; present only if every price is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional, type = "number")]
    pub cost_micros: Option<u64>,
}

/// Problem that ended a turn, with the next step of the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct TurnEndProblem {
    #[serde(flatten)]
    pub problem: TurnProblem,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub action: Option<ActionId>,
}

impl From<TurnProblem> for TurnEndProblem {
    fn from(problem: TurnProblem) -> Self {
        Self { action: problem.action(), problem }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum EndReason {
    Completed,
    NeedsInput,
    Cancelled,
    Failed,
    Limit,
    /// The daemon ended while the turn ran; its known part was kept.
    Interrupted,
}

/// Tokens as the model's server counted them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    #[ts(type = "number")]
    pub input_tokens: u64,
    #[ts(type = "number")]
    pub output_tokens: u64,
    #[ts(type = "number")]
    pub cached_tokens: u64,
}

/// Plan of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PlanNotification {
    pub session_id: String,
    pub turn_id: String,
    pub rev: u32,
    pub panel: Panel,
    pub items: Vec<PlanItem>,
    pub completed: u32,
    pub total: u32,
    /// Text of open items that the newest update omitted.
    pub dropped: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum Panel {
    Expanded,
    Collapsed,
    Hidden,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PlanItem {
    /// Stable across replacements of the list.
    pub id: String,
    pub content: String,
    pub active_form: String,
    pub status: ItemStatus,
    /// The model marked it as blocked, or it waits for an open item of a task graph.
    pub blocked: bool,
    /// Ids of the open items it waits for (task graph only).
    pub blocked_by: Vec<String>,
    /// Files changed under this item, in the order of the first change.
    pub files: Vec<LinkedFile>,
    /// Commands run under this item, oldest first; at most the newest 50.
    pub commands: Vec<LinkedCommand>,
    /// Tool calls made under this item, without calls of the planning tool. A completed item
    /// without any was only declared done.
    pub calls: u32,
    /// Milliseconds in progress. The client adds the time since the notification for the item in
    /// progress.
    #[ts(type = "number")]
    pub elapsed_ms: u64,
}

/// File that the agent changed under a plan item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct LinkedFile {
    pub uri: String,
    /// Path relative to the workspace, with `/`.
    pub path: String,
}

/// Command that the agent ran under a plan item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct LinkedCommand {
    pub call_id: String,
    /// Title, such as `Run npm test`.
    pub title: String,
    pub state: ToolState,
    /// Duration, once it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional, type = "number")]
    pub elapsed_ms: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum ItemStatus {
    Pending,
    InProgress,
    Completed,
}

/// A message of the conversation as it streams. Deltas append. The last one carries the complete
/// text, which repairs a missed delta.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct MessageNotification {
    pub session_id: String,
    pub turn_id: String,
    pub rev: u32,
    pub item_id: String,
    pub role: MessageRole,
    pub delta: String,
    /// Complete text; present when the message ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub text: Option<String>,
    /// The stream was cut: this text is not part of the conversation.
    #[serde(default)]
    pub incomplete: bool,
    /// Code and arguments of a notice of the daemon. Since 1.1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub notice: Option<TurnNotice>,
    /// Time at which the message began, in milliseconds since 1970; absent in messages of earlier
    /// processes. Since 1.2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional, type = "number")]
    pub at: Option<u64>,
    /// Time at which it ended, likewise. Since 1.2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional, type = "number")]
    pub ended_at: Option<u64>,
    /// Content sent with the text, without `text` and `data`. Since 1.1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<Attachment>>")]
    pub attachments: Vec<Attachment>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum MessageRole {
    User,
    Assistant,
    Thinking,
    /// Guidance that the daemon added for the model; shown dimmed, never hidden.
    Reminder,
    /// Message of the daemon to the user.
    Notice,
}

/// Proposed edits of one file. Without hunks nothing is pending there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ReviewNotification {
    pub uri: String,
    /// Path relative to the workspace folder, with `/`.
    pub path: String,
    pub rev: u32,
    /// Document version of the ranges; absent when the file is not open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub version: Option<i32>,
    pub kind: FileKind,
    /// Former path of a moved file, relative like `path`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub from: Option<String>,
    /// True if a tool call waits for the decision about these hunks (mode `ask`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[ts(optional, as = "Option<bool>")]
    pub waiting: bool,
    pub hunks: Vec<Hunk>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum FileKind {
    Edited,
    /// The agent created the file; rejecting its text deletes it.
    Created,
    /// The agent deleted the file; rejecting that restores it.
    Deleted,
    /// The agent moved the file; rejecting that moves it back.
    Moved,
}

/// Cost of a round, and the totals of the session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct UsageNotification {
    pub session_id: String,
    pub turn_id: String,
    pub rev: u32,
    pub rounds: u32,
    pub turn: Usage,
    pub session: Usage,
    pub context: ContextUse,
    /// Estimated cost of the session in millionths of a dollar; present only if every price is
    /// known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional, type = "number")]
    pub cost_micros: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ModelInfo {
    pub provider: String,
    pub name: String,
    /// A script answers instead of a model. Always shown to the user.
    pub replay: bool,
}

/// State of the daemon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct StatusNotification {
    pub rev: u32,
    pub model: ModelInfo,
    pub connection: Connection,
    /// Sandbox of the agent's commands; absent until it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub sandbox: Option<SandboxStatus>,
    /// Conditions that the user should know now, newest last.
    pub banners: Vec<Banner>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SandboxStatus {
    pub kind: SandboxKind,
    /// Sentence for the user, in English.
    pub text: String,
    /// Code and arguments of the text. Since 1.1.
    #[serde(flatten)]
    pub state: SandboxState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum SandboxKind {
    Bubblewrap,
    /// Cairn's own, of Linux namespaces.
    Namespaces,
    /// Sandbox of macOS.
    Seatbelt,
    /// Turned off by the user: every command needs permission.
    Off,
    /// None works here: every command needs permission.
    Missing,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Connection {
    Idle,
    /// A request is in progress or its answer is streaming.
    Streaming,
    /// The model waits: a tool runs, or the user is asked.
    Working,
    /// Waits before attempt number `attempt`.
    Retrying {
        attempt: u32,
        #[ts(type = "number")]
        delay_ms: u64,
        reason: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Banner {
    /// Stable name, by which a client can offer an action.
    pub kind: BannerKind,
    /// Sentence for the user, in English.
    pub text: String,
    /// Code and arguments of the text. Since 1.1.
    #[serde(flatten)]
    pub problem: StatusProblem,
    /// Action that solves the problem; absent if there is none. Since 1.1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub action: Option<ActionId>,
}

impl Banner {
    /// Builds the banner of a problem, with its kind and action.
    pub fn new(problem: StatusProblem, text: impl Into<String>) -> Self {
        Self { kind: problem.kind(), text: text.into(), action: problem.action(), problem }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum BannerKind {
    /// No model is configured: a replay answers.
    Replay,
    /// A setting was ignored.
    Setting,
    Model,
    Internal,
    /// Sessions cannot be stored, temporarily or not at all.
    Storage,
    /// Another window works in the same folders and holds their stored state.
    Elsewhere,
    /// The user does not trust this workspace: the agent only reads.
    Untrusted,
    /// Commands run without a sandbox.
    Sandbox,
}

macro_rules! notices {
    ($($name:ident($params:ty) = $method:literal),+ $(,)?) => {
        /// Any notification of the daemon.
        #[derive(Debug, Clone, PartialEq, Serialize)]
        #[serde(untagged)]
        pub enum Notice { $($name($params)),+ }

        impl Notice {
            pub fn method(&self) -> &'static str {
                match self { $(Notice::$name(_) => $method),+ }
            }

            /// Parses a notification; `None` for a method of another protocol.
            pub fn parse(method: &str, params: serde_json::Value) -> Option<serde_json::Result<Notice>> {
                match method {
                    $($method => Some(serde_json::from_value(params).map(Notice::$name)),)+
                    _ => None,
                }
            }
        }

        pub(crate) const NOTICES: &[Declaration] =
            &[$(Declaration::notification::<$params>(stringify!($name), $method)),+];
    };
}

notices! {
    Turn(TurnNotification) = "agent/turn",
    Plan(PlanNotification) = "agent/plan",
    Subagent(SubagentNotification) = "agent/subagent",
    Message(MessageNotification) = "agent/message",
    Tool(ToolNotification) = "agent/tool",
    Output(OutputNotification) = "agent/output",
    Review(ReviewNotification) = "agent/review",
    Usage(UsageNotification) = "agent/usage",
    Queue(QueueNotification) = "agent/queue",
    Status(StatusNotification) = "agent/status",
}

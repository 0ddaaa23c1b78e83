//! What the daemon tells an editor. Each is a snapshot: the newest `rev` wins.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::{ChildItem, ChildNotification, ContextUse, ParentCall, QueueNotification, Range};

/// A turn began or ended.
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
        /// The user's words.
        text: String,
    },
    Ended {
        reason: EndReason,
        /// The final words of the assistant, or what went wrong and what to do next.
        summary: String,
        open_items: u32,
        usage: Usage,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum EndReason {
    Completed,
    NeedsInput,
    Cancelled,
    Failed,
    Limit,
    /// The daemon ended while the turn ran; what was known of it was kept.
    Interrupted,
}

/// Tokens as the server counted them.
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

/// The plan of a session.
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
    /// Open items the newest update left out, by their text.
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
    /// Marked as blocked by the model, or waiting for an open item of a task graph.
    pub blocked: bool,
    /// Ids of the open items it waits for (task graph only).
    pub blocked_by: Vec<String>,
    /// Files changed under this item, first touched first.
    pub files: Vec<LinkedFile>,
    /// Commands run under this item, oldest first, at most the newest 50.
    pub commands: Vec<LinkedCommand>,
    /// Tool calls made under this item, todo calls not counted. A completed item without any was
    /// only declared done.
    pub calls: u32,
    /// Milliseconds it was in progress; while it is in progress the clock runs on.
    #[ts(type = "number")]
    pub elapsed_ms: u64,
}

/// A file the agent changed under a plan item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct LinkedFile {
    pub uri: String,
    /// Relative to the workspace, with `/`.
    pub path: String,
}

/// A command the agent ran under a plan item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct LinkedCommand {
    pub call_id: String,
    /// `Run npm test`.
    pub title: String,
    pub state: ToolState,
    /// How long it ran, once it is over.
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

/// A message of the conversation as it streams. Deltas append; the complete text comes with the
/// last one, so a client that missed a delta is right again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct MessageNotification {
    pub session_id: String,
    pub turn_id: String,
    pub rev: u32,
    pub item_id: String,
    pub role: MessageRole,
    pub delta: String,
    /// Present when the message is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub text: Option<String>,
    /// The stream was cut: this text is not part of the conversation.
    #[serde(default)]
    pub incomplete: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum MessageRole {
    User,
    Assistant,
    Thinking,
    /// Guidance the daemon added for the model; shown dimmed, never hidden.
    Reminder,
    /// Words of the daemon to the user.
    Notice,
}

/// A tool call of the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ToolNotification {
    pub session_id: String,
    pub turn_id: String,
    pub rev: u32,
    pub call_id: String,
    pub name: String,
    /// One line: `Read src/cart.mjs`, `Run npm test`.
    pub title: String,
    pub state: ToolState,
    /// The plan item in progress when the call was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub plan_item: Option<String>,
    /// Bounded text: output of a command, reason of a failure, the whole command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub detail: Option<String>,
    /// The file it touched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub uri: Option<String>,
    /// Of a call that a child made: the call that started the child.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub parent: Option<ParentCall>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum ToolState {
    Queued,
    AwaitingApproval,
    Running,
    Done,
    Failed,
    Declined,
    Cancelled,
}

impl ToolState {
    pub fn is_over(self) -> bool {
        match self {
            ToolState::Queued | ToolState::AwaitingApproval | ToolState::Running => false,
            ToolState::Done | ToolState::Failed | ToolState::Declined | ToolState::Cancelled => {
                true
            }
        }
    }
}

/// The proposed edits of one file. No hunks: nothing is pending there (any more).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ReviewNotification {
    pub uri: String,
    /// Path relative to the workspace folder, with `/`.
    pub path: String,
    pub rev: u32,
    /// The document version the ranges belong to; absent when the file is not open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub version: Option<i32>,
    pub kind: FileKind,
    /// Where the file was (like `path`), of one that was moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub from: Option<String>,
    pub hunks: Vec<Hunk>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum FileKind {
    Edited,
    /// The agent created the file; rejecting its text deletes it.
    Created,
    /// The file is gone; rejecting that brings it back.
    Deleted,
    /// The agent moved the file; rejecting that moves it back.
    Moved,
}

/// What happened to a file as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum WholeFile {
    Deleted,
    Moved,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Hunk {
    pub id: String,
    pub session_id: String,
    pub turn_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub plan_item: Option<String>,
    /// Whole lines of the live text; empty (`start == end`) where text was only removed.
    pub range: Range,
    /// Lines removed, without the last line's terminator.
    pub old_text: String,
    /// Lines added, without the last line's terminator.
    pub new_text: String,
    pub removed_lines: u32,
    pub added_lines: u32,
    /// The user typed inside it.
    pub mixed: bool,
    /// It was proposed before a restart, and nothing of it stands in the text now: `range` is where
    /// it would be. To accept it is to make it again; to reject it is to forget it.
    pub outdated: bool,
    /// True for an outdated edit that can be made again: the lines it replaces still stand in the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub can_apply: Option<bool>,
    /// It is about the file itself, not about lines: `range` is its start, `oldText` what a
    /// rejection of its deletion brings back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub whole_file: Option<WholeFile>,
    /// It was made by a child; the ids above are those of the call that started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub child: Option<ChildItem>,
}

/// What a round cost, and the totals of the session.
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
    /// Millionths of a dollar for the whole session, an estimate; only where every price is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional, type = "number")]
    pub cost_micros: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ModelInfo {
    pub provider: String,
    pub name: String,
    /// Answers come from a script, not from a model. Always shown to the user.
    pub replay: bool,
}

/// The daemon's own state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct StatusNotification {
    pub rev: u32,
    pub model: ModelInfo,
    pub connection: Connection,
    /// What commands run in; absent until it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub sandbox: Option<SandboxStatus>,
    /// Things the user should know now, newest last.
    pub banners: Vec<Banner>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SandboxStatus {
    pub kind: SandboxKind,
    /// The same for people, in a sentence.
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum SandboxKind {
    Bubblewrap,
    /// Of Cairn's own making.
    Namespaces,
    /// That of macOS.
    Seatbelt,
    /// Turned off by the user: every command is asked for.
    Off,
    /// None works here: every command is asked for.
    Missing,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Connection {
    Idle,
    /// A request is on its way or its answer is streaming.
    Streaming,
    /// The model waits: a tool runs, or the user is asked.
    Working,
    /// Waiting before attempt number `attempt`.
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
    /// Stable name, so that a client can offer a fitting action.
    pub kind: BannerKind,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum BannerKind {
    /// No model is configured: a replay answers.
    Replay,
    /// A setting was ignored, by name.
    Setting,
    Model,
    Internal,
    /// Sessions cannot be written down, or not for now.
    Storage,
    /// Another window works in the same folders and holds what is kept for them.
    Elsewhere,
    /// The user does not trust this workspace: the agent only reads.
    Untrusted,
    /// Commands run without a sandbox.
    Sandbox,
}

macro_rules! notices {
    ($($name:ident($params:ty) = $method:literal),+ $(,)?) => {
        /// Every notification of the daemon.
        #[derive(Debug, Clone, PartialEq, Serialize)]
        #[serde(untagged)]
        pub enum Notice { $($name($params)),+ }

        impl Notice {
            pub fn method(&self) -> &'static str {
                match self { $(Notice::$name(_) => $method),+ }
            }

            /// Reads a notification; `None` when the method is not one of ours.
            pub fn parse(method: &str, params: serde_json::Value) -> Option<serde_json::Result<Notice>> {
                match method {
                    $($method => Some(serde_json::from_value(params).map(Notice::$name)),)+
                    _ => None,
                }
            }
        }

        pub(crate) const NOTICES: &[(&str, &str)] = &[$(($method, stringify!($params))),+];
    };
}

notices! {
    Turn(TurnNotification) = "agent/turn",
    Plan(PlanNotification) = "agent/plan",
    Child(ChildNotification) = "agent/child",
    Message(MessageNotification) = "agent/message",
    Tool(ToolNotification) = "agent/tool",
    Review(ReviewNotification) = "agent/review",
    Usage(UsageNotification) = "agent/usage",
    Queue(QueueNotification) = "agent/queue",
    Status(StatusNotification) = "agent/status",
}

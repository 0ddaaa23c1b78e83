//! Lines of a session's journal, format 2, as they are on disk.
//!
//! A line is a JSON object with one field, which names its kind. The types of this file are only the
//! stored form: the protocol for clients changes without them. The names of fields and variants are those
//! on disk, in camel case. A [`Record`] and the [`Surroundings`] of the turn machine have their stored form
//! in the core, in snake case.
//!
//! Each field has been there since the first version of the format, unless its comment says otherwise.
//! A new field needs a default for the lines of earlier versions; a change that earlier versions cannot
//! read needs a new [`VERSION`].

use super::calls::{StoredCall, StoredCommand, StoredParent};
use cairn_core::{
    conversation::Attached,
    ids::{SessionId, TurnId},
    prompt::Surroundings,
    turn::Record,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Version of the format. A journal with a higher one is not read.
pub const VERSION: u32 = 2;

/// One line of a session's journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Line {
    /// First line of a journal.
    Session(Header),
    /// Start of a turn.
    Turn(TurnLine),
    /// Change of the turn machine's state.
    Step(Record),
    /// Changes of one step, in one line so that all or none are stored.
    Steps(Vec<Record>),
    /// Text of an answer that streams, since the line before it of this kind. The item with the whole answer
    /// follows if the daemon lives to write it. `None`: the answer does not count. Since format 2.
    Streamed(Option<String>),
    /// Plan as it was shown, with the work under each item. The newest one counts.
    Plan(StoredPlan),
    /// Tool call that is over, of the session or of a subagent.
    Tool(StoredCall),
    /// State of a subagent. The newest one of each counts.
    #[serde(rename = "child")] // Name in the journals of earlier versions.
    Subagent(StoredSubagent),
    /// Item of a subagent's conversation, for exports. A subagent is never continued.
    #[serde(rename = "childStep")] // Name in the journals of earlier versions.
    SubagentStep(SubagentStep),
    /// Notice of the daemon to the user. Since format 2.
    Notice(NoticeLine),
    /// End of a turn. Its plan is the newest `Plan` line before it.
    Ended(EndedLine),
    /// All follow-ups that wait. The newest one counts.
    Queue(Vec<StoredFollowUp>),
    /// Facts for the list of sessions, which reads only the end of the file. The newest one counts.
    Digest(Digest),
}

/// Identity of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Header {
    /// [`VERSION`] of the writer.
    pub version: u32,
    /// Id of the session, and the name of the file without `.log`.
    pub session_id: SessionId,
    /// Folders, system, date and instructions that the system prompt names.
    pub surroundings: Surroundings,
    /// Absent in a session that is no fork.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<ForkedFrom>,
}

/// Source of the conversation of a fork.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ForkedFrom {
    pub session_id: SessionId,
    /// Last turn that was copied and had ended; `null` if none had.
    pub turn_id: Option<TurnId>,
}

/// Facts about a session for the list of sessions.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Digest {
    /// [`title`](super::title) of the first task.
    pub task: String,
    /// Number of turns.
    pub turns: u32,
    /// True while a turn runs.
    pub running: bool,
    /// Number of completed plan items.
    pub done: u32,
    /// Number of other plan items.
    pub open: u32,
    /// Reason for which the newest turn ended. Absent while one runs. Since 0.2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<StoredEnd>,
    /// [`last_line`](super::last_line) of the summary of the newest turn. Absent while one runs. Since 0.2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_line: Option<String>,
    /// Number of follow-ups that wait. Absent in the lines of earlier versions. Since 0.2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued: Option<u32>,
    /// Cost of the session in millionths of a dollar. Absent where a price is not known. Since 0.2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
    /// Name that the user gave the session. Absent if there is none, and in the lines of earlier
    /// versions. Since 0.2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// Start of a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnLine {
    pub turn_id: TurnId,
    /// Text of the user.
    pub task: String,
    pub mode: StoredMode,
    /// Id of the follow-up that became this turn, and no longer waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follow_up: Option<String>,
    /// Content sent with the text. Since 0.2.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<StoredAttachment>,
}

/// Description of attached content. The content itself is in the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredAttachment {
    pub kind: StoredAttachmentKind,
    pub name: String,
    /// Absent for a text or an image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    /// First and last line of a selection, from 1. Absent for other kinds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<(u32, u32)>,
    /// Type of an image. Absent for other kinds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StoredAttachmentKind {
    File,
    Folder,
    Selection,
    Text,
    Image,
}

/// Item of a subagent's conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SubagentStep {
    /// Id of the subagent's own session.
    pub session_id: SessionId,
    pub step: Record,
}

/// Notice of the daemon to the user.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NoticeLine {
    pub turn_id: TurnId,
    /// Milliseconds since 1970.
    pub at: u64,
    /// Code and arguments, in the form of the protocol of the writer.
    pub notice: Box<Value>,
    /// English text.
    pub text: String,
}

/// End of a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EndedLine {
    pub turn_id: TurnId,
    pub reason: StoredEnd,
    /// Last text of the assistant, or the failure in words for the user.
    pub summary: String,
    /// Number of plan items that are not completed.
    pub open_items: u32,
    /// No command has checked the last edit of the turn with success.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unchecked_edits: bool,
    /// The editor closed the connection while the turn ran.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub closed: bool,
    /// Tokens of the session up to here.
    pub usage: StoredUsage,
    /// Absent in the lines of earlier versions, and after an interruption.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent: Option<StoredSpent>,
}

/// Treatment of edits in a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StoredMode {
    Review,
    Ask,
    Auto,
    Plan,
}

/// Cause of the end of a turn or of a subagent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StoredEnd {
    Completed,
    NeedsInput,
    Cancelled,
    Failed,
    Limit,
    /// The daemon ended while the turn ran. Written by the next daemon if this one was killed.
    Interrupted,
}

/// Tokens as the model's server counted them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredUsage {
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// Part of the input tokens that the server had cached.
    pub cached_tokens: u64,
}

/// Time, tokens and cost of one turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredSpent {
    pub elapsed_ms: u64,
    pub usage: StoredUsage,
    /// Millionths of a dollar. Absent where a price is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
}

/// Plan of a session, or of a subagent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredPlan {
    pub session_id: SessionId,
    pub turn_id: TurnId,
    /// Revision with which it was shown. A later daemon begins above it.
    pub rev: u32,
    pub panel: StoredPanel,
    pub items: Vec<StoredItem>,
    /// Number of completed items.
    pub completed: u32,
    /// Number of all items.
    pub total: u32,
    /// Text of open items that the newest update of the plan left out.
    pub dropped: Vec<String>,
}

/// State of the plan's view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StoredPanel {
    Expanded,
    Collapsed,
    Hidden,
}

/// Plan item with the work done under it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredItem {
    pub id: String,
    /// Text of the item.
    pub content: String,
    /// Text while the item is in progress.
    pub active_form: String,
    pub status: StoredStatus,
    pub blocked: bool,
    /// Ids of the open items it waits for (task graph only).
    pub blocked_by: Vec<String>,
    /// Files changed under this item, in the order of the first change.
    pub files: Vec<StoredFileLink>,
    /// Commands run under this item, oldest first.
    pub commands: Vec<StoredCommand>,
    /// Number of tool calls under this item, without those of the planning tool.
    pub calls: u32,
    /// Time in progress, in milliseconds.
    pub elapsed_ms: u64,
}

/// Progress of a plan item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StoredStatus {
    Pending,
    InProgress,
    Completed,
    Cancelled,
}

/// File that was changed under a plan item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredFileLink {
    pub uri: String,
    /// Path relative to the workspace, with `/`.
    pub path: String,
}

/// State of a subagent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredSubagent {
    /// Id of the subagent's own session.
    pub session_id: SessionId,
    pub turn_id: TurnId,
    /// Revision with which it was shown.
    pub rev: u32,
    pub parent: StoredParent,
    /// Position of the call among those of its turn.
    pub place: u32,
    /// Short description of its task, by the model.
    pub title: String,
    pub phase: StoredPhase,
    /// Its own plan; empty if it has none.
    pub items: Vec<StoredItem>,
    /// Number of completed items.
    pub completed: u32,
    /// Number of all items.
    pub total: u32,
    /// Number of answers of the model.
    pub rounds: u32,
    /// Its tokens, which also count in the usage of its session.
    pub usage: StoredUsage,
}

/// Phase of a subagent: an object whose field `kind` names the variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum StoredPhase {
    /// Waiting until other subagents end.
    Waiting,
    Running,
    Ended {
        reason: StoredEnd,
    },
}

/// Follow-up that waits for the end of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredFollowUp {
    pub id: String,
    /// Text of the user.
    pub text: String,
    /// Absent: the mode of the turn before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<StoredMode>,
    /// Content sent with the text. Since 0.2.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attached: Vec<Attached>,
}

impl Line {
    /// Records of the turn machine in the line.
    pub fn records(&self) -> &[Record] {
        match self {
            Line::Step(record) => std::slice::from_ref(record),
            Line::Steps(records) => records,
            Line::Session(_)
            | Line::Turn(_)
            | Line::Plan(_)
            | Line::Tool(_)
            | Line::Subagent(_)
            | Line::SubagentStep(_)
            | Line::Ended(_)
            | Line::Queue(_)
            | Line::Digest(_)
            | Line::Streamed(_)
            | Line::Notice(_) => &[],
        }
    }
}

//! Lines of a session's journal, format 3, as they are on disk.
//!
//! A line is a JSON object with one field, which names its kind. The names of fields and variants are those
//! on disk, in camel case. Plans, calls and subagents are stored as clients get them; [`earlier`] reads the
//! forms of earlier versions. A [`Record`] and the [`Surroundings`] of the turn machine have their stored form
//! in the core, in snake case.
//!
//! Each field has been there since the first version of the format, unless its comment says otherwise.
//! A new field needs a default for the lines of earlier versions; a change that earlier versions cannot
//! read needs a new [`VERSION`].

use super::earlier;
use cairn_core::{
    conversation::Attached,
    ids::{SessionId, TurnId},
    prompt::Surroundings,
    turn::Record,
};
use cairn_protocol::{
    Attachment, EndReason, PlanNotification, ReviewMode, SessionFacts, SubagentNotification,
    ToolNotification, TurnPhase, TurnProblem, TurnSpent, UiMessage, Usage,
};
use serde::{Deserialize, Serialize};

/// Version of the format. A journal with a higher one is not read.
pub const VERSION: u32 = 3;

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
    Plan(#[serde(deserialize_with = "earlier::upgraded")] PlanNotification),
    /// Tool call that is over, of the session or of a subagent.
    Tool(#[serde(deserialize_with = "earlier::upgraded")] ToolNotification),
    /// State of a subagent. The newest one of each counts.
    #[serde(rename = "child")] // Name in the journals of earlier versions.
    Subagent(#[serde(deserialize_with = "earlier::upgraded")] SubagentNotification),
    /// Item of a subagent's conversation, for exports. A subagent is never continued.
    #[serde(rename = "childStep")] // Name in the journals of earlier versions.
    SubagentStep(SubagentStep),
    /// Notice of the daemon to the user. Since format 2.
    Notice(NoticeLine),
    /// End of a turn. Its plan is the newest `Plan` line before it.
    Ended(EndedLine),
    /// All follow-ups that wait. The newest one counts.
    Queue(Vec<FollowUpLine>),
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
    pub end: Option<EndReason>,
    /// [`last_line`](super::last_line) of the summary of the newest turn. Absent while one runs. Since 0.2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_line: Option<String>,
    /// Number of follow-ups that wait. Absent in the lines of earlier versions. Since 0.2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued: Option<u32>,
    /// Cost of the session in millionths of a dollar. Absent where a price is not known. Since 0.2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
    /// Since 0.2.
    #[serde(flatten)]
    pub facts: SessionFacts,
}

/// Start of a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnLine {
    pub turn_id: TurnId,
    /// Text of the user.
    pub task: String,
    pub mode: ReviewMode,
    /// Id of the follow-up that became this turn, and no longer waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follow_up: Option<String>,
    /// Content sent with the text. Since 0.2.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "earlier::upgraded"
    )]
    pub attachments: Vec<Attachment>,
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
    /// `None`: this version does not know the notice of an earlier one.
    #[serde(deserialize_with = "earlier::notice")]
    pub notice: Option<UiMessage>,
    /// English text.
    pub text: String,
}

/// End of a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EndedLine {
    pub turn_id: TurnId,
    pub reason: EndReason,
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
    pub usage: Usage,
    /// Absent in the lines of earlier versions, and after an interruption.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent: Option<TurnSpent>,
}

/// Follow-up that waits for the end of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FollowUpLine {
    pub id: String,
    /// Text of the user.
    pub text: String,
    /// Absent: the mode of the turn before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<ReviewMode>,
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
            _ => &[],
        }
    }
}

impl From<EndedLine> for TurnPhase {
    fn from(end: EndedLine) -> Self {
        let EndedLine { turn_id: _, reason, summary, open_items, .. } = end;
        let EndedLine { unchecked_edits, closed, usage, spent, .. } = end;
        // Journals hold the English text of a failure, not its code.
        let interrupted = reason == EndReason::Interrupted;
        let problem = interrupted.then(|| match closed {
            true => TurnProblem::EditorClosed.message(),
            false => TurnProblem::Interrupted.message(),
        });
        Self::Ended { reason, summary, open_items, unchecked_edits, usage, problem, spent }
    }
}

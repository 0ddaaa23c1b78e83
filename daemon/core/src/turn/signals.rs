//! Inputs and effects of the turn machine.

use serde::{Deserialize, Serialize};

use super::End;
use crate::{
    context::Shortened,
    conversation::{Attached, Note, NoteKind, ToolCall},
    ids::CallId,
    model::{Failure, ModelEvent, Usage},
    plan::TodoItem,
};

/// Event that the machine handles.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// Starts a turn. Ignored while one runs.
    UserMessage {
        text: String,
        attached: Vec<Attached>,
    },
    /// Event of model request number `request`.
    Model {
        request: u32,
        event: ModelEvent,
    },
    /// The wait before request number `request` is over.
    RetryDue {
        request: u32,
    },
    /// New state of the task graph. Comes before the `ToolDone` of the call that reported it.
    TaskList {
        items: Vec<TodoItem>,
        /// True if the call was an update. A call that only read may report changes of other
        /// processes.
        updated: bool,
    },
    ToolDone {
        call_id: CallId,
        content: String,
        is_error: bool,
    },
    /// Piece of the output of a running call. Kept for the model in case the call is cancelled.
    Printed {
        call_id: CallId,
        text: String,
    },
    /// Image that a running call has read. The model gets it behind the results of the round.
    Image {
        image: Attached,
    },
    /// Tokens of a subagent; they count for this session too.
    SubagentSpent {
        usage: Usage,
    },
    /// Message of the user for the running turn.
    Steer {
        text: String,
        attached: Vec<Attached>,
    },
    /// Notice for the model, added at the next safe point, even in a later turn.
    Notice {
        text: String,
    },
    /// Compacts the conversation at the user's request: between two rounds, or at once.
    Compact,
    /// Answers `RequestPendingEdits`: the edits of this session that wait for a decision, as patches.
    PendingEdits {
        proposals: Vec<String>,
    },
    Cancel,
}

/// Action that the machine requests.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Send the conversation; tag the events of the answer with this number.
    CallModel {
        request: u32,
    },
    /// Send the conversation with `context::SUMMARY_WANTED` after it; the answer is not part of it.
    Summarize {
        request: u32,
        /// Leaves out all tool results that can be left out: the server refused the whole request.
        shortest: bool,
    },
    /// Asks for the input `PendingEdits`.
    RequestPendingEdits,
    /// A new epoch: another part of the conversation is sent from now on.
    Shortened(Shortened),
    /// Context window that the server reported.
    WindowLearned {
        tokens: u64,
    },
    /// The server counted fewer tokens than the request has, so it seems to drop a part of it.
    LikelyCut {
        counted: u64,
        sent: u64,
    },
    /// Asks for the input `RetryDue` after this time.
    Wait {
        request: u32,
        attempt: u32,
        delay_ms: u64,
        failure: Failure,
    },
    RunTool {
        call: ToolCall,
        plan_item: Option<String>,
    },
    /// Result of a call that the machine answered itself: a todo call, an unknown tool, wrong
    /// arguments.
    ToolAnswered {
        call: ToolCall,
        plan_item: Option<String>,
        content: String,
        is_error: bool,
    },
    /// The model began to write a call.
    CallAnnounced {
        id: CallId,
        name: String,
    },
    /// Streamed text.
    Text {
        delta: String,
    },
    Thinking {
        delta: String,
    },
    /// All text of the streaming message was thinking.
    TextWasThinking,
    /// The message that streamed is complete and part of the conversation.
    MessageDone {
        text: String,
    },
    /// The message that streamed is not part of the conversation.
    MessageDropped {
        reason: String,
    },
    /// Calls that were announced and will not run: their message was cut.
    CallsDropped,
    /// A note was added for the model; show it as a note.
    NoteAdded(Note),
    /// The plan or its panel changed.
    PublishPlan {
        dropped: Vec<String>,
    },
    /// Tokens were used.
    Spent,
    /// End of the turn. Stops everything that belongs to it.
    EndTurn(End),
}

/// Message of the user that the model gets with its next request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoredSteering", into = "StoredSteering")]
pub struct Steering {
    pub text: String,
    pub attached: Vec<Attached>,
}

/// Stored form of [`Steering`]: journals of earlier versions hold the text alone.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum StoredSteering {
    Text(String),
    WithContent { text: String, attached: Vec<Attached> },
}

impl From<StoredSteering> for Steering {
    fn from(stored: StoredSteering) -> Self {
        match stored {
            StoredSteering::Text(text) => Self { text, attached: Vec::new() },
            StoredSteering::WithContent { text, attached } => Self { text, attached },
        }
    }
}

impl From<Steering> for StoredSteering {
    fn from(Steering { text, attached }: Steering) -> Self {
        if attached.is_empty() { Self::Text(text) } else { Self::WithContent { text, attached } }
    }
}

impl From<Steering> for Note {
    fn from(Steering { text, attached }: Steering) -> Self {
        Self { kind: NoteKind::Steer, text, attached }
    }
}

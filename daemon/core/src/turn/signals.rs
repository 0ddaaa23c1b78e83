//! Inputs and effects of the turn machine.

use crate::{
    context::Shortened,
    conversation::{Note, ToolCall},
    model::{ModelEvent, Usage},
    plan::TodoItem,
};

/// Event that the machine handles.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// Starts a turn. Ignored while one runs.
    UserMessage {
        text: String,
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
        /// The call was an update. One that only read may bring news too, made elsewhere.
        updated: bool,
    },
    ToolDone {
        call_id: String,
        content: String,
        is_error: bool,
    },
    /// Tokens of a subagent; they count for this session too.
    ChildSpent {
        usage: Usage,
    },
    /// Message of the user for the running turn.
    Steer {
        text: String,
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
    /// Come back with `PendingEdits`.
    RequestPendingEdits,
    /// Another part of the conversation is sent from here on.
    Shortened(Shortened),
    /// The model server takes no more than this.
    WindowLearned {
        tokens: u64,
    },
    /// Come back with `RetryDue` after this time.
    Wait {
        request: u32,
        attempt: u32,
        delay_ms: u64,
        reason: String,
    },
    RunTool {
        call: ToolCall,
        plan_item: Option<String>,
    },
    /// A call the machine answered itself: a todo call, an unknown tool, wrong arguments.
    ToolAnswered {
        call: ToolCall,
        plan_item: Option<String>,
        content: String,
        is_error: bool,
    },
    /// The model began to write a call.
    CallAnnounced {
        id: String,
        name: String,
    },
    /// Streamed text.
    Text {
        delta: String,
    },
    Thinking {
        delta: String,
    },
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
    /// The turn is over. Stop everything that belongs to it.
    EndTurn(End),
}

#[derive(Debug, Clone, PartialEq)]
pub struct End {
    pub reason: EndReason,
    /// Final text of the model, or the error and the next step for the user.
    pub summary: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndReason {
    Completed,
    /// The final text asks the user a question.
    NeedsInput,
    Cancelled,
    Failed,
    Limit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Panel {
    Hidden,
    Expanded,
    Collapsed,
}

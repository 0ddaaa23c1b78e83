//! What goes into the machine and what comes out of it.

use crate::{
    context::Shortened,
    conversation::{Note, ToolCall},
    model::{ModelEvent, Usage},
    plan::TodoItem,
};

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// Starts a turn. Ignored while one runs.
    UserMessage {
        text: String,
    },
    /// From model request number `request`.
    Model {
        request: u32,
        event: ModelEvent,
    },
    /// The wait before request number `request` is over.
    RetryDue {
        request: u32,
    },
    /// How the task graph stands. Comes before the `ToolDone` of the call that told of it.
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
    /// Tokens of a child: they are this session's too.
    ChildSpent {
        usage: Usage,
    },
    /// Words of the user for the running turn.
    Steer {
        text: String,
    },
    /// A fact the model should know at the next safe point, even in a later turn.
    Notice {
        text: String,
    },
    /// The user wants the conversation compacted: between two rounds, or at once.
    Compact,
    /// Answers `RequestPendingEdits`: the edits of this session that wait for a decision, as patches.
    PendingEdits {
        proposals: Vec<String>,
    },
    Cancel,
}

/// What to do about it.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Send the conversation; tag what comes back with this number.
    CallModel {
        request: u32,
    },
    /// Send the conversation with `context::SUMMARY_WANTED` after it; the answer is not part of it.
    Summarize {
        request: u32,
        /// What can be left out of it is left out: the server refused the whole.
        shortest: bool,
    },
    /// Come back with `PendingEdits`.
    RequestPendingEdits,
    /// What is sent of the conversation is another from here on.
    Shortened(Shortened),
    /// The server takes no more than this.
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
    /// A note was added for the model; show it as such.
    NoteAdded(Note),
    /// The plan or its panel changed.
    PublishPlan {
        dropped: Vec<String>,
    },
    /// Tokens of a round.
    Spent,
    /// The turn is over. Stop everything that belongs to it.
    EndTurn(End),
}

#[derive(Debug, Clone, PartialEq)]
pub struct End {
    pub reason: EndReason,
    /// The final words, or what went wrong and what to do next.
    pub summary: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndReason {
    Completed,
    /// The final words ask the user something.
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

//! Conversation: an append-only list of items that a provider encodes in its own wire format.
//!
//! Invariant: every tool call of an assistant message has exactly one result, in the item that
//! follows it. Items are never changed or removed once pushed, so the encoded prefix of a request
//! stays byte-identical and the provider's prompt cache holds.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::marks;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Item {
    User(UserMessage),
    Assistant(AssistantMessage),
    /// The results of all tool calls of the assistant message before it, in call order, followed
    /// by notes. A note never stands before a result: providers reject that.
    ToolResults {
        results: Vec<ToolResult>,
        notes: Vec<Note>,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UserMessage {
    pub text: String,
    /// Come after the text, in the same message.
    pub notes: Vec<Note>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct AssistantMessage {
    pub blocks: Vec<Block>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Block {
    Text(String),
    /// Sent back unchanged to the provider that made it, or left out.
    Thinking {
        text: String,
        signature: Option<String>,
    },
    /// Opaque data of the provider that made it.
    RedactedThinking(String),
    /// A reasoning item of the Responses API. `sealed` is opaque, and only for the provider that
    /// made it.
    Reasoning {
        id: String,
        summary: Vec<String>,
        sealed: String,
    },
    ToolCall(ToolCall),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Unique in the conversation; the provider's own id, or one made up for a server that sent none.
    pub id: String,
    pub name: String,
    pub arguments: Arguments,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Arguments {
    /// Always a JSON object.
    Object(Value),
    /// Text that is not a JSON object. The call is answered with an error and never run.
    Invalid { raw: String, error: String },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    pub call_id: String,
    pub content: String,
    pub is_error: bool,
}

/// Text the harness adds after the newest user message or tool results.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    pub kind: NoteKind,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum NoteKind {
    /// Guidance about the plan; stands in a frame of Cairn's own words.
    Reminder,
    /// Words of the user sent while the turn ran; sent as they are.
    Steer,
    /// Facts about the workspace: rejected edits, files changed by the user; stands in a frame too.
    Notice,
}

impl Note {
    /// The text as the model sees it, the same in every wire format.
    pub fn wire_text(&self) -> String {
        match self.kind {
            NoteKind::Reminder => marks::framed("reminder", &self.text),
            NoteKind::Notice => marks::framed("notice", &self.text),
            NoteKind::Steer => marks::escape(&self.text).into_owned(),
        }
    }
}

impl AssistantMessage {
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.blocks.iter().filter_map(|block| match block {
            Block::ToolCall(call) => Some(call),
            Block::Text(_)
            | Block::Thinking { .. }
            | Block::RedactedThinking(_)
            | Block::Reasoning { .. } => None,
        })
    }

    /// All visible text, joined.
    pub fn text(&self) -> String {
        let mut out = String::new();
        for block in &self.blocks {
            if let Block::Text(text) = block {
                if !out.is_empty() {
                    out.push('\n');
                }
                out.push_str(text);
            }
        }
        out
    }
}

//! Conversation: an append-only list of items that a provider encodes in its own wire format.
//!
//! Invariant: every tool call of an assistant message has exactly one result, in the item that
//! follows it. Items are never changed or removed once pushed, so the encoded prefix of a request
//! stays byte-identical and the provider's prompt cache holds.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{ids::CallId, marks};

mod attached;

pub use attached::{Attached, AttachedContent, Image};

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

impl Item {
    /// Returns the content that the user attached to its texts.
    pub fn attached(&self) -> impl Iterator<Item = &Attached> {
        let (message, notes): (&[Attached], &[Note]) = match self {
            Item::User(message) => (&message.attached, &message.notes),
            Item::ToolResults { notes, .. } => (&[], notes),
            Item::Assistant(_) => (&[], &[]),
        };
        message.iter().chain(notes.iter().flat_map(|note| &note.attached))
    }

    /// Returns true if it is sent with images.
    pub(crate) fn has_images(&self) -> bool {
        self.attached().any(|attached| attached.image().is_some())
    }

    /// Returns the item with each image replaced by its name.
    pub(crate) fn without_images(mut self) -> Self {
        let (message, notes) = match &mut self {
            Item::User(message) => (message.attached.as_mut_slice(), &mut message.notes),
            Item::ToolResults { notes, .. } => (&mut [] as &mut [Attached], notes),
            Item::Assistant(_) => return self,
        };
        for attached in
            message.iter_mut().chain(notes.iter_mut().flat_map(|note| &mut note.attached))
        {
            if attached.image().is_some() {
                attached.content = AttachedContent::RefusedImage;
            }
        }
        self
    }
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct UserMessage {
    pub text: String,
    /// Notes after the text, in the same message.
    pub notes: Vec<Note>,
    /// Content that the user sent with the text. Absent in journals of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attached: Vec<Attached>,
}

impl UserMessage {
    /// Returns the text with the attached texts, as the model gets it in every wire format.
    pub fn wire_text(&self) -> Cow<'_, str> {
        attached::with_text(Cow::Borrowed(&self.text), &self.attached)
    }
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct AssistantMessage {
    pub blocks: Vec<Block>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Block {
    Text(String),
    /// Reasoning. Returned unchanged to the provider that made it, otherwise left out.
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
    /// Members of the answer for which Cairn has no use. Sent back to the server that sent them, and to
    /// no other.
    Returned {
        /// Origin of the server.
        server: String,
        /// Name of the member that held the thinking; empty if none did.
        thinking: String,
        /// Members of the message, an object.
        message: Value,
        /// Members of its calls by their ids, an object of objects.
        calls: Value,
    },
    ToolCall(ToolCall),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Unique in the conversation; the provider's own id, or one made up for a server that sent none.
    pub id: CallId,
    pub name: String,
    pub arguments: ToolArguments,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ToolArguments {
    /// Always a JSON object.
    Object(Value),
    /// Text that is not a JSON object. The call is answered with an error and never run.
    Invalid { raw: String, error: String },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    pub call_id: CallId,
    pub content: String,
    pub is_error: bool,
}

/// Text that Cairn adds after the newest user message or tool results.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    pub kind: NoteKind,
    pub text: String,
    /// Content that the user sent with the text. Absent in journals of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attached: Vec<Attached>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum NoteKind {
    /// Guidance about the plan, between two of Cairn's own lines.
    Reminder,
    /// Text that the user sent during the turn, unchanged.
    Steer,
    /// Facts about the workspace, such as rejected edits and files changed by the user, between two
    /// of Cairn's own lines.
    Notice,
}

impl Note {
    pub fn new(kind: NoteKind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into(), attached: Vec::new() }
    }

    /// Returns the text as the model gets it, in every wire format.
    pub fn wire_text(&self) -> String {
        match self.kind {
            NoteKind::Reminder => marks::framed("reminder", &self.text),
            NoteKind::Notice => marks::framed("notice", &self.text),
            NoteKind::Steer => {
                attached::with_text(marks::escape(&self.text), &self.attached).into_owned()
            }
        }
    }
}

impl AssistantMessage {
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.blocks.iter().filter_map(|block| match block {
            Block::ToolCall(call) => Some(call),
            _ => None,
        })
    }

    /// Returns all visible text, joined.
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

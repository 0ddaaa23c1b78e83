//! What the wire formats share: the decoder's shape, ids of calls, arguments, names.
//!
//! Pure. Knows no provider.

use bytes::Bytes;
use cairn_core::{
    conversation::{Arguments, Note, ToolResult},
    model::{Failure, FailureKind, ModelEvent},
};
use memchr::memmem;
use serde_json::Value;

use super::sse::Event;

/// Events of one answer to model events; pure, so that a stream can be cut anywhere in a test.
pub trait Decoder: Send + 'static {
    /// After a `Finished` or `Failed` nothing more comes out.
    fn push(&mut self, event: &Event) -> Vec<ModelEvent>;

    /// There will be no more events. Says `Finished` or `Failed` unless that was said before.
    fn end(&mut self) -> Vec<ModelEvent>;

    /// The message is complete; only trailing data such as usage may follow.
    fn settled(&self) -> bool;
}

/// Gives every call an id that is unique in the conversation, whatever the server sends.
#[derive(Debug, Clone)]
pub struct CallIds {
    prefix: String,
    /// The encoded conversation: an id that occurs in it is taken.
    conversation: Bytes,
    /// What the server sent in this message.
    seen: Vec<String>,
    made: u32,
}

impl CallIds {
    /// `prefix` is unique to the request and made of letters, digits, `_` and `-`.
    pub fn new(prefix: impl Into<String>, conversation: Bytes) -> Self {
        Self { prefix: prefix.into(), conversation, seen: Vec::new(), made: 0 }
    }

    /// The server's id if it can be used, else a new one. An error when the server gave the same
    /// id to two calls of this message.
    pub fn admit(&mut self, wire: Option<&str>) -> Result<String, DuplicateId> {
        if let Some(id) = wire.filter(|id| !id.is_empty()) {
            if self.seen.iter().any(|seen| seen == id) {
                return Err(DuplicateId(id.to_owned()));
            }
            self.seen.push(id.to_owned());
            // Ids like `call_0` that begin anew with each answer are replaced.
            if !self.is_taken(id) {
                return Ok(id.to_owned());
            }
        }
        self.made += 1;
        Ok(format!("{}_{}", self.prefix, self.made))
    }

    fn is_taken(&self, id: &str) -> bool {
        memmem::find(&self.conversation, Value::from(id).to_string().as_bytes()).is_some()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DuplicateId(pub String);

impl From<DuplicateId> for Failure {
    fn from(DuplicateId(id): DuplicateId) -> Self {
        protocol(format!("two tool calls have the same id {id:?}"))
    }
}

/// Arguments as they came, complete. No text at all means no arguments.
pub fn parse_arguments(raw: &str) -> Arguments {
    if raw.trim().is_empty() {
        return Arguments::Object(Value::Object(serde_json::Map::new()));
    }
    match serde_json::from_str(raw) {
        Ok(object @ Value::Object(_)) => Arguments::Object(object),
        Ok(_) => Arguments::Invalid {
            raw: raw.to_owned(),
            error: "the arguments are not a JSON object".to_owned(),
        },
        Err(error) => Arguments::Invalid { raw: raw.to_owned(), error: error.to_string() },
    }
}

/// Arguments to send back. Servers parse them again, so text that is not an object is wrapped.
pub(super) fn wire_arguments(arguments: &Arguments) -> Value {
    match arguments {
        Arguments::Object(object) => object.clone(),
        Arguments::Invalid { raw, .. } => serde_json::json!({ "invalid_json": raw }),
    }
}

/// A name the APIs take back. A model can invent any name, and history with it must not make
/// every later request fail.
pub(super) fn wire_name(name: &str) -> String {
    if name.is_empty() { "unknown".to_owned() } else { wire_token(name, 64) }
}

/// Letters, digits, `_` and `-` stay; the rest becomes `_`.
pub(super) fn wire_token(text: &str, limit: usize) -> String {
    text.chars()
        .take(limit)
        .map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' })
        .collect()
}

/// What was said and the notes after it as one text, for not every server takes a list of parts.
pub(super) fn joined(text: Option<&str>, notes: &[Note]) -> Option<String> {
    let notes = notes.iter().map(Note::wire_text);
    let parts: Vec<String> = text
        .map(str::to_owned)
        .into_iter()
        .chain(notes)
        .filter(|part| !part.trim().is_empty())
        .collect();
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}

/// A result for a format that has no place for `is_error`: the words must say it.
pub(super) fn result_text(result: &ToolResult) -> String {
    let says_so = result.content.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("error"));
    match result.is_error && !says_so {
        true => format!("Error: {}", result.content),
        false => result.content.clone(),
    }
}

/// Appends one JSON value to a comma-separated list.
pub(super) fn append(out: &mut Vec<u8>, value: &Value) {
    if !out.is_empty() {
        out.push(b',');
    }
    out.extend_from_slice(value.to_string().as_bytes());
}

pub(super) fn protocol(message: impl Into<String>) -> Failure {
    Failure {
        kind: FailureKind::Protocol,
        message: format!("The model's answer is not in its format: {}.", message.into()),
        hint: String::new(),
        retry_after_ms: None,
    }
}

pub(super) fn stream_cut(message: &str) -> Failure {
    Failure {
        kind: FailureKind::StreamCut,
        message: format!("The connection broke in the middle of the answer ({message})."),
        hint: String::new(),
        retry_after_ms: None,
    }
}

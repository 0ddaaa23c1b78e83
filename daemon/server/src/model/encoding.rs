//! Parts that the wire formats share: the decoder's shape, ids of calls, arguments, names.
//!
//! Pure. Knows no provider. Bounds everything that a server can make long and that is sent back to
//! it with each later request.

use std::{borrow::Cow, collections::HashSet};

use bytes::Bytes;
use cairn_core::{
    conversation::{Arguments, Item, Note, ToolResult},
    marks,
    model::{Failure, FailureKind, ModelEvent},
};
use memchr::memmem;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::sse::Event;

/// Calls of one answer, at most.
const MAX_CALLS: usize = 256;
/// Longest arguments of a call, in bytes. The longest answers of today's models have half of it.
const MAX_ARGUMENTS: usize = 1024 * 1024;
/// Longest excerpt of arguments that are not kept, in characters.
const MAX_REJECTED: usize = 200;
/// Longest name of a tool, in characters. Longer than any name there is, so no cut makes one of them.
const MAX_NAME: usize = 128;

/// Events of one answer to model events; pure, so that a stream can be cut anywhere in a test.
pub trait Decoder: Send + 'static {
    /// After a `Finished` or `Failed` nothing more comes out.
    fn push(&mut self, event: &Event) -> Vec<ModelEvent>;

    /// There will be no more events. Says `Finished` or `Failed` unless that was said before.
    fn end(&mut self) -> Vec<ModelEvent>;

    /// The message is complete; only trailing data such as usage may follow.
    fn settled(&self) -> bool;
}

/// Form of the ids that one API takes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdRule {
    most: usize,
    /// Letters, digits, `_` and `-`; else any visible ASCII character.
    only_token: bool,
}

impl IdRule {
    /// Anthropic demands `^[a-zA-Z0-9_-]+$`.
    pub const MESSAGES: Self = Self { most: 64, only_token: true };
    /// OpenAI refuses more than 40 characters. Kimi's ids have dots and colons.
    pub const CHAT: Self = Self { most: 40, only_token: false };
    /// OpenAI refuses more than 64 characters.
    pub const RESPONSES: Self = Self { most: 64, only_token: false };

    fn takes(self, id: &str) -> bool {
        let allowed = |c: char| if self.only_token { is_token(c) } else { c.is_ascii_graphic() };
        !id.is_empty() && id.len() <= self.most && id.chars().all(allowed)
    }

    /// The id, or a short one in its place, which is the same each time. Needed for history that
    /// another provider made.
    pub(super) fn fit(self, id: &str) -> Cow<'_, str> {
        if self.takes(id) {
            return id.into();
        }
        let hash: String =
            Sha256::digest(id).iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        format!("call_{hash}").into()
    }
}

/// Gives every call an id that is unique in the conversation, whatever the server sends.
#[derive(Debug, Clone)]
pub struct CallIds {
    prefix: String,
    /// The encoded conversation: an id that occurs in it is taken.
    conversation: Bytes,
    rule: IdRule,
    /// The ids that the server sent in this message.
    seen: HashSet<String>,
    calls: usize,
    made: u32,
}

impl CallIds {
    /// `prefix` is unique to the request and made of letters, digits, `_` and `-`.
    pub fn new(prefix: impl Into<String>, conversation: Bytes, rule: IdRule) -> Self {
        let prefix = prefix.into();
        Self { prefix, conversation, rule, seen: HashSet::new(), calls: 0, made: 0 }
    }

    /// The server's id if the API takes it back and it is new, else one of ours.
    pub fn admit(&mut self, wire: Option<&str>) -> Result<String, IdFault> {
        self.calls += 1;
        if self.calls > MAX_CALLS {
            return Err(IdFault::TooMany);
        }
        if let Some(id) = wire.filter(|id| !id.is_empty()) {
            if !self.seen.insert(id.to_owned()) {
                return Err(IdFault::Duplicate(id.to_owned()));
            }
            // Ids like `call_0` that begin anew with each answer are replaced.
            if self.rule.takes(id) && !self.is_taken(id) {
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
pub enum IdFault {
    /// Two calls of one message have it.
    Duplicate(String),
    TooMany,
}

impl From<IdFault> for Failure {
    fn from(fault: IdFault) -> Self {
        match fault {
            IdFault::Duplicate(id) => {
                let id: String = id.chars().take(MAX_NAME).collect();
                protocol(format!("two tool calls have the same id {id:?}"))
            }
            IdFault::TooMany => protocol(format!("more than {MAX_CALLS} tool calls")),
        }
    }
}

/// The name of a tool as the model wrote it, cut where it is absurd.
pub(super) fn tool_name(name: &str) -> String {
    match name.char_indices().nth(MAX_NAME) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

/// Arguments as they came, complete. No text at all means no arguments; too much of it is not kept.
pub fn parse_arguments(raw: &str) -> Arguments {
    if raw.len() > MAX_ARGUMENTS {
        return Arguments::Invalid {
            raw: raw.chars().take(MAX_REJECTED).collect(),
            error: format!("they are larger than {MAX_ARGUMENTS} bytes"),
        };
    }
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
    text.chars().take(limit).map(|c| if is_token(c) { c } else { '_' }).collect()
}

fn is_token(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// Order of roles that a server accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turns {
    /// Neighbours of the user's side are joined or simply taken.
    Free,
    /// A message of the user must not follow another one, for servers whose chat template is not
    /// known.
    OneByOne,
    /// It must not follow tool results either: the templates of Mistral and Gemma raise an
    /// exception, and so the server refuses the session for good.
    Strict,
}

impl Turns {
    /// `official`: the vendor's own server, which is known to be free.
    pub(super) fn of(official: bool, loopback: bool, model: &str) -> Self {
        const STRICT: [&str; 8] = [
            "mistral",
            "mixtral",
            "ministral",
            "devstral",
            "codestral",
            "magistral",
            "pixtral",
            "gemma",
        ];
        let model = model.to_ascii_lowercase();
        match official {
            true => Self::Free,
            // A name on this machine says nothing about the template.
            false if loopback || STRICT.iter().any(|name| model.contains(name)) => Self::Strict,
            false => Self::OneByOne,
        }
    }

    /// The words of the assistant that have to stand between two items; none where they may be
    /// neighbours. Depends on these two alone, so the bytes of history never change.
    pub(super) fn between(self, previous: Option<&Item>, item: &Item) -> Option<&'static str> {
        let after_user = matches!((previous, item), (Some(Item::User(_)), Item::User(_)));
        let after_results =
            matches!((previous, item), (Some(Item::ToolResults { .. }), Item::User(_)));
        let wanted = match self {
            Self::Free => false,
            Self::OneByOne | Self::Strict => after_user || after_results,
        };
        wanted.then_some(NO_ANSWER)
    }

    /// The words between results and the notes that came with them.
    pub(super) fn before_notes(self) -> Option<&'static str> {
        (self == Self::Strict).then_some(GOING_ON)
    }
}

/// Stands for an answer that never came: a request failed or was cancelled.
const NO_ANSWER: &str = "(no answer)";
const GOING_ON: &str = "(going on)";

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

/// A result for a format that has no place for `is_error`: Cairn's own words say it.
pub(super) fn result_text(result: &ToolResult) -> String {
    match result.is_error {
        true => format!("{}\n{}", marks::own("this call failed"), result.content),
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

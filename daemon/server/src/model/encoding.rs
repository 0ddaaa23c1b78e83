//! Parts that the wire formats share: the decoder's shape, ids of calls, arguments, names.
//!
//! Pure. Knows no provider. Bounds everything that a server can make long and that is sent back to
//! it with each later request.

use std::{borrow::Cow, collections::HashSet};

use bytes::Bytes;
use cairn_core::{
    conversation::{Attached, Image, Item, Note, ToolArguments, ToolResult, UserMessage},
    ids::CallId,
    json_text, marks,
    model::{Failure, FailureKind, ModelEvent},
};
use memchr::memmem;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::sse::SseEvent;

/// Calls of one answer, at most.
const MAX_CALLS: usize = 256;
/// Longest arguments of a call, in bytes. The longest answers of today's models have half of it.
const MAX_ARGUMENTS: usize = 1024 * 1024;
/// Longest excerpt of arguments that are not kept, in characters.
const MAX_REJECTED: usize = 200;
/// Longest name of a tool, in characters. Longer than any name there is, so no cut makes one of them.
const MAX_NAME: usize = 128;

/// Failure that ends the answer, if there is one.
pub type DecodeResult = Result<(), Failure>;

/// Format of an answer. Pure, so that a test can cut a stream anywhere.
pub trait Decoder: Send + 'static {
    /// Appends the model events of one event.
    fn decode(&mut self, name: &str, data: &Value, out: &mut Vec<ModelEvent>) -> DecodeResult;

    /// Takes the end mark of Chat Completions. `None`: the format has no such mark.
    fn end_mark(&mut self, _out: &mut Vec<ModelEvent>) -> Option<DecodeResult> {
        None
    }

    /// True once the message is complete and only trailing data such as usage may follow.
    fn is_complete(&self) -> bool {
        false
    }

    /// Appends the last events of a stream that ends before its format ended it.
    fn cut_off(&mut self, out: &mut Vec<ModelEvent>) {
        out.push(ModelEvent::Failed(stream_cut("the stream ended early")));
    }
}

/// Turns the events of one answer into model events.
pub struct Decoding {
    decoder: Box<dyn Decoder>,
    /// A `Finished` or `Failed` was returned.
    ended: bool,
}

impl Decoding {
    pub fn new(decoder: impl Decoder) -> Self {
        Self { decoder: Box::new(decoder), ended: false }
    }

    pub(super) fn settled(&self) -> bool {
        self.ended || self.decoder.is_complete()
    }

    /// Returns the model events of one event; none after a `Finished` or `Failed`.
    pub fn push(&mut self, SseEvent { name, data }: &SseEvent) -> Vec<ModelEvent> {
        let mut out = Vec::new();
        if self.ended {
            return out;
        }
        let marked = (data.trim() == "[DONE]").then(|| self.decoder.end_mark(&mut out)).flatten();
        let decoded = marked.unwrap_or_else(|| {
            let data = serde_json::from_str(data)
                .map_err(|error| protocol(format!("an event is not JSON ({error})")))?;
            self.decoder.decode(name, &data, &mut out)
        });
        if let Err(failure) = decoded {
            out.push(ModelEvent::Failed(failure));
        }
        self.ended = matches!(out.last(), Some(ModelEvent::Finished(_) | ModelEvent::Failed(_)));
        out
    }

    /// Ends the stream. The last event is `Finished` or `Failed` unless one was returned before.
    pub fn end(&mut self) -> Vec<ModelEvent> {
        let mut out = Vec::new();
        if !std::mem::replace(&mut self.ended, true) {
            self.decoder.cut_off(&mut out);
        }
        out
    }
}

/// Form of call ids that one API accepts.
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

    /// Returns the id if it fits, else a short hash of it, the same each time. Conversations that
    /// began with another provider hold ids that do not fit.
    pub(super) fn fit(self, id: &str) -> Cow<'_, str> {
        if self.takes(id) {
            return id.into();
        }
        let hash: String =
            Sha256::digest(id).iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        format!("call_{hash}").into()
    }
}

/// Assigns each call an id that is unique in the conversation.
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

    /// Returns the server's id if the API accepts it and it is new, else a generated one.
    pub fn admit(&mut self, wire: Option<&str>) -> Result<CallId, Failure> {
        self.calls += 1;
        if self.calls > MAX_CALLS {
            return Err(protocol(format!("more than {MAX_CALLS} tool calls")));
        }
        if let Some(id) = wire.filter(|id| !id.is_empty()) {
            if !self.seen.insert(id.to_owned()) {
                let id: String = id.chars().take(MAX_NAME).collect();
                return Err(protocol(format!("two tool calls have the same id {id:?}")));
            }
            // Replaces ids such as `call_0` that a server uses again in each answer.
            let written = Value::from(id).to_string();
            let is_new = memmem::find(&self.conversation, written.as_bytes()).is_none();
            if is_new && self.rule.takes(id) {
                return Ok(id.into());
            }
        }
        self.made += 1;
        Ok(format!("{}_{}", self.prefix, self.made).into())
    }
}

/// Name of a tool as the model wrote it, cut at [`MAX_NAME`] characters.
pub(super) fn tool_name(name: &str) -> String {
    match name.char_indices().nth(MAX_NAME) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

/// Parses the complete arguments of a call. Blank text means no arguments. Of text that is too long
/// only an excerpt is kept.
pub fn parse_arguments(raw: &str) -> ToolArguments {
    if raw.len() > MAX_ARGUMENTS {
        return ToolArguments::Invalid {
            raw: raw.chars().take(MAX_REJECTED).collect(),
            error: format!("they are larger than {MAX_ARGUMENTS} bytes"),
        };
    }
    if raw.trim().is_empty() {
        return ToolArguments::Object(Value::Object(serde_json::Map::new()));
    }
    let parsed = json_text::parse(raw);
    // Some servers encode the arguments twice.
    let parsed = parsed.map(|value| json_text::unwrapped(&value).into_owned());
    match parsed {
        Ok(object @ Value::Object(_)) => ToolArguments::Object(object),
        Ok(_) => ToolArguments::Invalid {
            raw: raw.to_owned(),
            error: "the arguments are not a JSON object".to_owned(),
        },
        Err(error) => ToolArguments::Invalid { raw: raw.to_owned(), error: error.to_string() },
    }
}

/// Arguments for a later request. Servers parse them again, so invalid text is wrapped in an object.
pub(super) fn wire_arguments(arguments: &ToolArguments) -> Value {
    match arguments {
        ToolArguments::Object(object) => object.clone(),
        ToolArguments::Invalid { raw, .. } => serde_json::json!({ "invalid_json": raw }),
    }
}

/// Name of a tool for a later request. A model can invent any name; characters that the APIs refuse
/// are replaced, or each later request would fail.
pub(super) fn wire_name(name: &str) -> String {
    if name.is_empty() { "unknown".to_owned() } else { wire_token(name, 64) }
}

/// Keeps letters, digits, `_` and `-`, and replaces other characters by `_`.
pub(super) fn wire_token(text: &str, limit: usize) -> String {
    text.chars().take(limit).map(|c| if is_token(c) { c } else { '_' }).collect()
}

fn is_token(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// Order of roles that a server accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turns {
    /// Consecutive messages of the user are accepted.
    Free,
    /// A message of the user must not follow another one. For servers with an unknown chat template.
    OneByOne,
    /// Also not after tool results. The chat templates of Mistral and Gemma raise an exception
    /// there, and the server then refuses each later request of the session.
    Strict,
}

impl Turns {
    /// Order for a server. `official`: the vendor's own server, which accepts any order.
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
            // The name of a local model says nothing about its chat template.
            false if loopback || STRICT.iter().any(|name| model.contains(name)) => Self::Strict,
            false => Self::OneByOne,
        }
    }

    /// Assistant text to insert between two items; `None` if they may be neighbours. Depends on these
    /// two items only, so encoded bytes never change.
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

    /// Texts of results, and the text of their notes for a message of the user. A server that takes no
    /// such message there gets the notes as the end of the last result.
    pub(super) fn result_texts(
        self,
        results: &[ToolResult],
        notes: &[Note],
    ) -> (Vec<String>, Option<String>) {
        let mut texts: Vec<String> = results.iter().map(result_text).collect();
        let mut after = joined(None, notes);
        let has_images = !images(None, notes).is_empty();
        if self == Self::Strict
            && !has_images
            && let Some(last) = texts.last_mut()
            && let Some(notes) = after.take()
        {
            last.truncate(last.trim_end_matches('\n').len());
            last.push_str("\n\n");
            last.push_str(&notes);
        }
        (texts, after)
    }

    /// Assistant text to insert before a message with images after results. No result can have images.
    pub(super) fn before_images(self) -> Option<&'static str> {
        (self == Self::Strict).then_some(GOING_ON)
    }
}

/// Placeholder for a missing answer: a request failed or was cancelled.
const NO_ANSWER: &str = "(no answer)";
/// Placeholder between tool results and a message with images.
const GOING_ON: &str = "(going on)";

/// Writers of a format with a message for each result.
pub(super) struct Writers {
    pub(super) says: fn(&str) -> Value,
    pub(super) user: fn(&str, &[&Image]) -> Value,
    pub(super) result: fn(&ToolResult, &str) -> Value,
}

/// Joins a text and its notes into one text, because not every server accepts a list of parts.
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

/// Images of a message and of notes, in their order.
pub(super) fn images<'a>(message: Option<&'a UserMessage>, notes: &'a [Note]) -> Vec<&'a Image> {
    let own = message.into_iter().flat_map(|message| &message.attached);
    own.chain(notes.iter().flat_map(|note| &note.attached)).filter_map(Attached::image).collect()
}

/// Image as an address that holds its bytes.
pub(super) fn data_url(Image { mime, data }: &Image) -> String {
    format!("data:{mime};base64,{data}")
}

/// Text of a tool result for a format without an error flag. A line of Cairn's own marks an error, unless another tells
/// the exit code of a command, whose output may be good: `make; grep TODO log` ends with 1 without a match.
fn result_text(result: &ToolResult) -> String {
    let tells_end = |line: &str| {
        line.strip_prefix(marks::MARK).is_some_and(|own| own.starts_with(marks::EXIT_CODE))
    };
    match result.is_error && !result.content.lines().any(tells_end) {
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
    let message = format!("The model's answer is not in its format: {}.", message.into());
    Failure::new(FailureKind::Protocol, message)
}

pub(super) fn stream_cut(message: &str) -> Failure {
    let message = format!("The connection broke in the middle of the answer ({message}).");
    Failure::new(FailureKind::StreamCut, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exit_code_stands_for_the_mark_of_an_error() {
        let told = |content: &str| {
            let content = content.to_owned();
            result_text(&ToolResult { call_id: "a".into(), content, is_error: true })
        };
        let good = "12 passed\n[cairn] exit code 1, 0.1 s";
        assert_eq!(told(good), good);
        for other in ["no such file", "\\[cairn] exit code 1, 0.1 s", "[cairn] cancelled"] {
            assert_eq!(told(other), format!("[cairn] this call failed\n{other}"));
        }
    }
}

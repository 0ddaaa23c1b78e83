//! The Anthropic Messages API.
//!
//! Only `message_stop` after a stop reason finishes an answer. Request bodies keep to what both
//! dated versions of the API accept: no sampling parameters.

use std::{collections::BTreeMap, sync::Arc};

use bytes::Bytes;
use cairn_core::{
    conversation::{AssistantMessage, Block, Item, Note, ToolCall, ToolResult, UserMessage},
    model::{Failure, FailureKind, ModelEvent, Reply, Stop, ToolSpec, Usage},
};
use futures_util::future::BoxFuture;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use secrecy::SecretString;
use serde::Serialize;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use super::{
    Provider, Request, ToolChoice,
    encoding::{self, CallIds, Decoder, IdRule, Turns, parse_arguments, protocol, stream_cut},
    failure,
    http::{BaseUrl, Endpoint, KeyHeader, Patience, body_around, call_id_prefix},
    sse::Event,
};

pub const OFFICIAL_BASE_URL: &str = "https://api.anthropic.com";
/// Still served beside newer ones, and understood by every gateway.
pub const API_VERSION: &str = "2023-06-01";

/// The format requires a limit; this is ours when the user set none.
pub const DEFAULT_MAX_TOKENS: u32 = 16_384;

#[derive(Debug, Clone)]
pub struct Config {
    /// With or without the closing `/v1`.
    pub base_url: BaseUrl,
    pub model: String,
    pub key: Option<SecretString>,
    pub version: String,
    pub patience: Patience,
    pub tool_choice: ToolChoice,
}

impl Config {
    pub fn new(base_url: BaseUrl, model: impl Into<String>, key: Option<SecretString>) -> Self {
        Self {
            base_url,
            model: model.into(),
            key,
            version: API_VERSION.to_owned(),
            patience: Patience::default(),
            tool_choice: ToolChoice::Auto,
        }
    }
}

#[derive(Debug)]
pub struct Anthropic {
    model: String,
    version: String,
    tool_choice: ToolChoice,
    turns: Turns,
    endpoint: Arc<Endpoint>,
}

impl Anthropic {
    pub fn new(config: Config) -> Self {
        let Config { base_url, model, key, version, patience, tool_choice } = config;
        let has_version = base_url.path().rsplit('/').next() == Some("v1");
        let path = if has_version { "messages" } else { "v1/messages" };
        let official = base_url.origin() == OFFICIAL_BASE_URL;
        let turns = Turns::of(official, base_url.is_loopback(), &model);
        let endpoint = Arc::new(Endpoint::new(&base_url, path, key, patience));
        Self { model, version, tool_choice, turns, endpoint }
    }

    fn body(&self, request: &Request) -> Vec<Bytes> {
        let cached = json!({ "type": "ephemeral" });
        let mut head = json!({
            "model": self.model,
            "max_tokens": request.max_tokens.unwrap_or(DEFAULT_MAX_TOKENS),
            "stream": true,
            "cache_control": cached,
        });
        if !request.system.is_empty() {
            head["system"] =
                json!([{ "type": "text", "text": &*request.system, "cache_control": cached }]);
        }
        if !request.tools.is_empty() {
            match self.tool_choice {
                ToolChoice::Auto => {}
                ToolChoice::Required => head["tool_choice"] = json!({ "type": "any" }),
            }
        }
        let tools: Vec<Tool> = request.tools.iter().map(Tool::of).collect();
        body_around(&head, &tools, "messages", [request.messages.clone()])
    }
}

impl Provider for Anthropic {
    fn encode(&self, previous: Option<&Item>, item: &Item, out: &mut Vec<u8>) {
        if let Some(words) = self.turns.between(previous, item) {
            let content = json!([{ "type": "text", "text": words }]);
            encoding::append(out, &json!({ "role": "assistant", "content": content }));
        }
        let (role, content) = match item {
            Item::User(message) => ("user", user_blocks(message)),
            Item::Assistant(message) => ("assistant", assistant_blocks(message)),
            Item::ToolResults { results, notes } => ("user", result_blocks(results, notes)),
        };
        // A message without content is rejected; so is history that contains one.
        if !content.is_empty() {
            encoding::append(out, &json!({ "role": role, "content": content }));
        }
    }

    fn answer(&self, request: Request, events: mpsc::Sender<ModelEvent>) -> BoxFuture<'static, ()> {
        let body = self.body(&request);
        let mut headers = HeaderMap::new();
        if let Ok(version) = HeaderValue::from_str(&self.version) {
            headers.insert(HeaderName::from_static("anthropic-version"), version);
        }
        let decoder = MessagesDecoder::new(call_id_prefix(), request.messages);
        let endpoint = Arc::clone(&self.endpoint);
        Box::pin(endpoint.exchange(KeyHeader::XApiKey, headers, body, decoder, events))
    }
}

/// Borrowed: the schemas are large, and sent in each round.
#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a Value,
}

impl<'a> Tool<'a> {
    fn of(ToolSpec { name, description, schema, parallel: _ }: &'a ToolSpec) -> Self {
        Self { name, description, input_schema: schema }
    }
}

fn user_blocks(message: &UserMessage) -> Vec<Value> {
    let mut blocks = Vec::new();
    push_text(&mut blocks, &message.text);
    push_notes(&mut blocks, &message.notes);
    if blocks.is_empty() {
        push_text(&mut blocks, "(empty message)");
    }
    blocks
}

fn assistant_blocks(message: &AssistantMessage) -> Vec<Value> {
    let mut blocks = Vec::new();
    let mut has_content = false;
    for block in &message.blocks {
        match block {
            Block::Text(text) => has_content |= push_text(&mut blocks, text),
            // Without its signature the API refuses it.
            Block::Thinking { text, signature: Some(signature) } if !signature.is_empty() => {
                blocks.push(json!({ "type": "thinking", "thinking": text, "signature": signature }))
            }
            // The latter is another provider's.
            Block::Thinking { .. } | Block::Reasoning { .. } => {}
            Block::RedactedThinking(data) => {
                blocks.push(json!({ "type": "redacted_thinking", "data": data }));
            }
            Block::ToolCall(ToolCall { id, name, arguments }) => {
                has_content = true;
                blocks.push(json!({
                    "type": "tool_use",
                    "id": IdRule::MESSAGES.fit(id),
                    "name": encoding::wire_name(name),
                    "input": encoding::wire_arguments(arguments),
                }));
            }
        }
    }
    // Thinking alone is not a message that can be sent back.
    if has_content { blocks } else { Vec::new() }
}

fn result_blocks(results: &[ToolResult], notes: &[Note]) -> Vec<Value> {
    let mut blocks: Vec<Value> = results
        .iter()
        .map(|ToolResult { call_id, content, is_error }| {
            let mut block = json!({
                "type": "tool_result",
                "tool_use_id": IdRule::MESSAGES.fit(call_id),
                "content": content,
            });
            if *is_error {
                block["is_error"] = Value::Bool(true);
            }
            block
        })
        .collect();
    push_notes(&mut blocks, notes);
    blocks
}

fn push_notes(blocks: &mut Vec<Value>, notes: &[Note]) {
    for note in notes {
        push_text(blocks, &note.wire_text());
    }
}

/// Blank text blocks are rejected, so they are left out.
fn push_text(blocks: &mut Vec<Value>, text: &str) -> bool {
    let visible = !text.trim().is_empty();
    if visible {
        blocks.push(json!({ "type": "text", "text": text }));
    }
    visible
}

/// The stream of one answer.
#[derive(Debug)]
pub struct MessagesDecoder {
    ids: CallIds,
    started: bool,
    over: bool,
    blocks: BTreeMap<u64, Open>,
    /// The block that an event without an index means.
    newest: u64,
    stop: Option<String>,
    usage: WireUsage,
}

#[derive(Debug)]
struct Open {
    kind: OpenKind,
    closed: bool,
}

#[derive(Debug)]
enum OpenKind {
    Text(String),
    Thinking {
        text: String,
        signature: String,
    },
    Redacted(String),
    Call {
        id: String,
        name: String,
        input: Option<Value>,
        json: String,
    },
    /// A kind of block this client did not ask for.
    Other,
}

/// Each field keeps its newest value: the counts are cumulative.
#[derive(Debug, Default)]
struct WireUsage {
    fresh: u64,
    cache_written: u64,
    cache_read: u64,
    output: u64,
}

impl MessagesDecoder {
    pub fn new(id_prefix: impl Into<String>, conversation: Bytes) -> Self {
        Self {
            ids: CallIds::new(id_prefix, conversation, IdRule::MESSAGES),
            started: false,
            over: false,
            blocks: BTreeMap::new(),
            newest: 0,
            stop: None,
            usage: WireUsage::default(),
        }
    }

    fn event(&mut self, event: &Event) -> Result<Option<ModelEvent>, Failure> {
        let data: Value = serde_json::from_str(&event.data)
            .map_err(|error| protocol(format!("an event is not JSON ({error})")))?;
        let kind = match (event.name.as_str(), data["type"].as_str()) {
            // The error itself has a type where the wrapper is missing.
            ("error", _) => "error",
            (_, Some(kind)) => kind,
            (_, None) if !data["error"].is_null() => "error",
            (name, None) => name,
        };
        match kind {
            "error" => Err(failure::from_stream(&data)
                .unwrap_or_else(|| server_error("The model server reported an error."))),
            "message_start" => self.message_start(&data),
            "content_block_start"
            | "content_block_delta"
            | "content_block_stop"
            | "message_delta"
            | "message_stop"
                if !self.started =>
            {
                Err(protocol(format!("{kind} before message_start")))
            }
            // The stop reason is about all blocks, so one that comes later was not meant.
            "content_block_start" | "content_block_delta" | "content_block_stop"
                if self.stop.is_some() =>
            {
                Err(protocol(format!("{kind} after the stop reason")))
            }
            "content_block_start" => self.block_start(&data),
            "content_block_delta" => self.block_delta(&data),
            "content_block_stop" => {
                self.open_block(&data, kind)?.closed = true;
                Ok(None)
            }
            "message_delta" => {
                if let Some(stop) = data["delta"]["stop_reason"].as_str()
                    && self.stop.replace(stop.to_owned()).is_some_and(|before| before != stop)
                {
                    return Err(protocol("two stop reasons"));
                }
                self.usage.update(&data["usage"]);
                Ok(None)
            }
            "message_stop" if self.blocks.values().any(Open::is_open_call) => {
                Err(protocol("a tool call that never ended"))
            }
            "message_stop" => match self.stop.take() {
                Some(stop) => Ok(Some(ModelEvent::Finished(self.reply(&stop)))),
                None => Err(stream_cut("the message ended without a stop reason")),
            },
            // `ping`, and what later versions add.
            _ => Ok(None),
        }
    }

    fn message_start(&mut self, data: &Value) -> Result<Option<ModelEvent>, Failure> {
        if std::mem::replace(&mut self.started, true) {
            return Err(protocol("a second message_start"));
        }
        self.usage.update(&data["message"]["usage"]);
        Ok(None)
    }

    fn block_start(&mut self, data: &Value) -> Result<Option<ModelEvent>, Failure> {
        let next = self.blocks.last_key_value().map_or(0, |(index, _)| index.saturating_add(1));
        let index = data["index"].as_u64().unwrap_or(next);
        if self.blocks.contains_key(&index) {
            return Err(protocol(format!("content block {index} starts twice")));
        }
        let block = &data["content_block"];
        let text = |name: &str| block[name].as_str().unwrap_or_default().to_owned();
        let (kind, event) = match block["type"].as_str() {
            Some("text") => (OpenKind::Text(text("text")), shown(ModelEvent::Text, text("text"))),
            Some("thinking") => (
                OpenKind::Thinking { text: text("thinking"), signature: text("signature") },
                shown(ModelEvent::Thinking, text("thinking")),
            ),
            Some("redacted_thinking") => (OpenKind::Redacted(text("data")), None),
            Some("tool_use") => {
                let id = self.ids.admit(block["id"].as_str())?;
                let name = encoding::tool_name(&text("name"));
                let input = block["input"].as_object().filter(|input| !input.is_empty());
                let input = input.map(|input: &Map<_, _>| Value::Object(input.clone()));
                let event = ModelEvent::CallStarted { id: id.clone(), name: name.clone() };
                (OpenKind::Call { id, name, input, json: String::new() }, Some(event))
            }
            Some(_) | None => (OpenKind::Other, None),
        };
        self.blocks.insert(index, Open { kind, closed: false });
        self.newest = index;
        Ok(event)
    }

    fn block_delta(&mut self, data: &Value) -> Result<Option<ModelEvent>, Failure> {
        let delta = &data["delta"];
        let piece = |name: &str| delta[name].as_str().unwrap_or_default();
        let block = self.open_block(data, "content_block_delta")?;
        let event = match (delta["type"].as_str().unwrap_or_default(), &mut block.kind) {
            ("text_delta", OpenKind::Text(text)) => {
                text.push_str(piece("text"));
                shown(ModelEvent::Text, piece("text").to_owned())
            }
            ("thinking_delta", OpenKind::Thinking { text, .. }) => {
                text.push_str(piece("thinking"));
                shown(ModelEvent::Thinking, piece("thinking").to_owned())
            }
            ("signature_delta", OpenKind::Thinking { signature, .. }) => {
                signature.push_str(piece("signature"));
                None
            }
            ("input_json_delta", OpenKind::Call { json, .. }) => {
                json.push_str(piece("partial_json"));
                None
            }
            (_, OpenKind::Other) => None,
            (
                kind @ ("text_delta" | "thinking_delta" | "signature_delta" | "input_json_delta"),
                _,
            ) => {
                return Err(protocol(format!("{kind} for a block of another kind")));
            }
            // Citations, and what later versions add.
            _ => None,
        };
        Ok(event)
    }

    fn open_block(&mut self, data: &Value, what: &str) -> Result<&mut Open, Failure> {
        let index = data["index"].as_u64().unwrap_or(self.newest);
        match self.blocks.get_mut(&index) {
            Some(open) if !open.closed => Ok(open),
            Some(_) | None => {
                Err(protocol(format!("{what} for content block {index}, which is not open")))
            }
        }
    }

    fn reply(&mut self, stop: &str) -> Reply {
        let blocks = std::mem::take(&mut self.blocks).into_values().filter_map(Open::finish);
        let message = AssistantMessage { blocks: blocks.collect() };
        let has_calls = message.tool_calls().next().is_some();
        let stop = match stop {
            // Only this one asks for calls to be run. The loop refuses them with any other reason.
            "tool_use" if has_calls => Stop::ToolUse,
            "tool_use" | "end_turn" | "stop_sequence" => Stop::EndTurn,
            "max_tokens" => Stop::MaxTokens,
            "refusal" => Stop::Refusal,
            "pause_turn" => Stop::Pause,
            "model_context_window_exceeded" => Stop::ContextOverflow,
            other => Stop::Other(other.to_owned()),
        };
        Reply { message, stop, usage: self.usage.total() }
    }
}

impl Decoder for MessagesDecoder {
    fn push(&mut self, event: &Event) -> Vec<ModelEvent> {
        if self.over {
            return Vec::new();
        }
        let event = self.event(event).unwrap_or_else(|failure| Some(ModelEvent::Failed(failure)));
        self.over = matches!(event, Some(ModelEvent::Finished(_) | ModelEvent::Failed(_)));
        event.into_iter().collect()
    }

    fn end(&mut self) -> Vec<ModelEvent> {
        match std::mem::replace(&mut self.over, true) {
            true => Vec::new(),
            false => vec![ModelEvent::Failed(stream_cut("the stream ended early"))],
        }
    }

    fn settled(&self) -> bool {
        self.over
    }
}

impl Open {
    fn is_open_call(&self) -> bool {
        !self.closed && matches!(self.kind, OpenKind::Call { .. })
    }

    /// The block as history keeps it; nothing where nothing was said.
    fn finish(self) -> Option<Block> {
        match self.kind {
            OpenKind::Text(text) => (!text.is_empty()).then_some(Block::Text(text)),
            OpenKind::Thinking { text, signature } => {
                let signature = (!signature.is_empty()).then_some(signature);
                (!text.is_empty() || signature.is_some())
                    .then_some(Block::Thinking { text, signature })
            }
            OpenKind::Redacted(data) => Some(Block::RedactedThinking(data)),
            OpenKind::Call { id, name, input, json } => {
                let arguments = match (json.trim(), input) {
                    ("", Some(input)) => parse_arguments(&input.to_string()),
                    (raw, _) => parse_arguments(raw),
                };
                Some(Block::ToolCall(ToolCall { id, name, arguments }))
            }
            OpenKind::Other => None,
        }
    }
}

impl WireUsage {
    fn update(&mut self, wire: &Value) {
        for (field, place) in [
            ("input_tokens", &mut self.fresh),
            ("cache_creation_input_tokens", &mut self.cache_written),
            ("cache_read_input_tokens", &mut self.cache_read),
            ("output_tokens", &mut self.output),
        ] {
            if let Some(count) = wire[field].as_u64() {
                *place = count;
            }
        }
    }

    fn total(&self) -> Usage {
        Usage {
            input_tokens: self
                .fresh
                .saturating_add(self.cache_written)
                .saturating_add(self.cache_read),
            output_tokens: self.output,
            cached_tokens: self.cache_read,
        }
    }
}

fn shown(event: fn(String) -> ModelEvent, text: String) -> Option<ModelEvent> {
    (!text.is_empty()).then(|| event(text))
}

fn server_error(message: &str) -> Failure {
    Failure {
        kind: FailureKind::Server,
        message: message.to_owned(),
        hint: String::new(),
        retry_after_ms: None,
    }
}

#[cfg(test)]
mod tests;

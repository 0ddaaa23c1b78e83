//! The Anthropic Messages API.
//!
//! An answer is complete only with `message_stop` after a stop reason. Request bodies use only
//! fields that both dated versions of the API accept: no sampling parameters.

mod decoder;

use std::sync::Arc;

use bytes::Bytes;
use cairn_core::{
    conversation::{
        AssistantMessage, Attached, Block, Image, Item, Note, ToolCall, ToolResult, UserMessage,
    },
    model::{ModelEvent, ToolSpec},
};
use futures_util::future::BoxFuture;
use secrecy::SecretString;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;

pub use decoder::MessagesDecoder;

use super::{
    ModelRequest, Provider, ToolChoice,
    encoding::{self, IdRule, Turns},
    http::{BaseUrl, Endpoint, Patience, Vendor, body_around, call_id_prefix},
    manners::{self, KnownServer},
};

pub const OFFICIAL_BASE_URL: &str = "https://api.anthropic.com";

/// Limit of an answer in tokens when neither the user nor the family states one; the format requires one.
pub const DEFAULT_MAX_TOKENS: u32 = 16_384;

/// Configuration of the provider.
#[derive(Debug, Clone)]
pub struct AnthropicConfig {
    /// With or without `/v1` at its end.
    pub base_url: BaseUrl,
    pub model: String,
    pub key: Option<SecretString>,
    pub patience: Patience,
    pub tool_choice: ToolChoice,
}

/// Path of a method below a base URL with or without `/v1` at its end.
pub(super) fn path(base: &BaseUrl, method: &str) -> String {
    let has_version = base.path().rsplit('/').next() == Some("v1");
    if has_version { method.to_owned() } else { format!("v1/{method}") }
}

impl AnthropicConfig {
    pub fn new(base_url: BaseUrl, model: impl Into<String>, key: Option<SecretString>) -> Self {
        Self {
            base_url,
            model: model.into(),
            key,
            patience: Patience::default(),
            tool_choice: ToolChoice::Auto,
        }
    }
}

/// Client of a server with the Messages API.
#[derive(Debug)]
pub struct Anthropic {
    model: String,
    tool_choice: ToolChoice,
    turns: Turns,
    known: KnownServer,
    endpoint: Arc<Endpoint>,
}

impl Anthropic {
    pub fn new(config: AnthropicConfig) -> Self {
        let AnthropicConfig { base_url, model, key, patience, tool_choice } = config;
        let path = path(&base_url, "messages");
        let official = base_url.origin() == OFFICIAL_BASE_URL;
        let turns = Turns::of(official, base_url.is_loopback(), &model);
        let endpoint = Arc::new(Endpoint::new(&base_url, &path, Vendor::Anthropic, key, patience));
        Self { model, tool_choice, turns, known: KnownServer::default(), endpoint }
    }

    /// Sets the lessons of the server.
    #[must_use]
    pub fn knowing(self, known: KnownServer) -> Self {
        Self { known, ..self }
    }

    fn body(&self, request: &ModelRequest) -> Vec<Bytes> {
        let cached = json!({ "type": "ephemeral" });
        let options = self.known.options(&self.model);
        let limit = request.max_tokens.or(options.answer).unwrap_or(DEFAULT_MAX_TOKENS);
        let mut head = json!({
            "model": self.model,
            "max_tokens": limit,
            "stream": true,
            "cache_control": cached,
        });
        if options.adaptive_thinking {
            head["thinking"] = json!({ "type": "adaptive", "display": "summarized" });
        }
        if let Some(effort) = options.effort {
            head["output_config"] = json!({ "effort": effort });
        }
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
        // The API rejects a conversation that contains an empty message.
        if !content.is_empty() {
            encoding::append(out, &json!({ "role": role, "content": content }));
        }
    }

    fn answer(
        &self,
        request: ModelRequest,
        events: mpsc::Sender<ModelEvent>,
    ) -> BoxFuture<'static, ()> {
        let body = self.body(&request);
        let decoder = MessagesDecoder::new(call_id_prefix(), request.messages);
        let endpoint = Arc::clone(&self.endpoint);
        let options = self.known.options(&self.model);
        let adapts = self.known.learns(move |failure| manners::options_lesson(options, failure));
        Box::pin(endpoint.exchange(body, decoder, adapts, events))
    }
}

/// Tool as the API takes it. Borrowed, because the large schemas are sent in each round.
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
    push_text(&mut blocks, &message.wire_text());
    push_images(&mut blocks, &message.attached);
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
            // The API refuses thinking without its signature.
            Block::Thinking { text, signature: Some(signature) } if !signature.is_empty() => {
                blocks.push(json!({ "type": "thinking", "thinking": text, "signature": signature }))
            }
            // The others come from other providers.
            Block::Thinking { .. } | Block::Reasoning { .. } | Block::Returned { .. } => {}
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
    // The API refuses a message that holds thinking alone.
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
        push_images(blocks, &note.attached);
    }
}

fn push_images(blocks: &mut Vec<Value>, attached: &[Attached]) {
    for Image { mime, data } in attached.iter().filter_map(Attached::image) {
        let source = json!({ "type": "base64", "media_type": mime, "data": data });
        blocks.push(json!({ "type": "image", "source": source }));
    }
}

/// Adds a text block and returns true, unless the text is blank: the API rejects blank blocks.
fn push_text(blocks: &mut Vec<Value>, text: &str) -> bool {
    let visible = !text.trim().is_empty();
    if visible {
        blocks.push(json!({ "type": "text", "text": text }));
    }
    visible
}

#[cfg(test)]
mod tests;

//! The OpenAI Responses API without state on the server. The server sends its reasoning encrypted,
//! and each request returns it with the conversation.
//!
//! An answer is complete only with `response.completed` or `response.incomplete`. The decoder does
//! not depend on sequence numbers or indexes, because some servers leave them out.

mod decoder;

use std::sync::Arc;

use bytes::Bytes;
use cairn_core::{
    conversation::{AssistantMessage, Block, Image, Item, ToolCall, ToolResult},
    model::{ModelEvent, ToolSpec},
};
use futures_util::future::BoxFuture;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;

pub use decoder::ResponsesDecoder;

use super::{
    ModelRequest, Provider, ToolChoice,
    encoding::{self, IdRule, Turns},
    http::{Endpoint, Vendor, body_around, call_id_prefix},
    manners::{self, KnownServer},
    openai::{self, OpenAiConfig, is_official},
};

/// Client of a server with the Responses API.
#[derive(Debug)]
pub struct Responses {
    model: String,
    tool_choice: ToolChoice,
    /// Requests ask for encrypted reasoning. Models without reasoning refuse such a request.
    wants_reasoning: bool,
    has_cache_keys: bool,
    turns: Turns,
    known: KnownServer,
    endpoint: Arc<Endpoint>,
}

impl Responses {
    pub fn new(config: OpenAiConfig) -> Self {
        let OpenAiConfig { base_url, model, key, patience, tool_choice } = config;
        let path = openai::path(&base_url, "responses");
        let turns = Turns::of(is_official(&base_url), base_url.is_loopback(), &model);
        Self {
            tool_choice,
            turns,
            known: KnownServer::default(),
            has_cache_keys: is_official(&base_url),
            wants_reasoning: !is_official(&base_url) || has_reasoning(&model),
            endpoint: Arc::new(Endpoint::new(&base_url, &path, Vendor::OpenAi, key, patience)),
            model,
        }
    }

    /// Sets the lessons of the server.
    #[must_use]
    pub fn knowing(self, known: KnownServer) -> Self {
        Self { known, ..self }
    }

    fn body(&self, request: &ModelRequest) -> Vec<Bytes> {
        let mut head = json!({ "model": self.model, "stream": true, "store": false });
        if self.wants_reasoning {
            head["include"] = json!(["reasoning.encrypted_content"]);
        }
        if let Some(effort) = self.known.options(&self.model).effort {
            head["reasoning"] = json!({ "effort": effort });
        }
        if self.has_cache_keys {
            head["prompt_cache_key"] = (*request.session).into();
        }
        if let Some(limit) = request.max_tokens {
            head["max_output_tokens"] = limit.into();
        }
        if !request.system.is_empty() {
            head["instructions"] = (*request.system).into();
        }
        if !request.tools.is_empty() {
            match self.tool_choice {
                ToolChoice::Auto => {}
                ToolChoice::Required => head["tool_choice"] = "required".into(),
            }
        }
        let tools: Vec<Tool> = request.tools.iter().map(Tool::of).collect();
        body_around(&head, &tools, "input", [request.messages.clone()])
    }
}

/// True for OpenAI's models with reasoning. The list names those without, which are all old.
fn has_reasoning(model: &str) -> bool {
    let without = ["gpt-3", "gpt-4", "chatgpt"].iter().any(|old| model.starts_with(old));
    !without && !model.contains("-chat")
}

impl Provider for Responses {
    fn encode(&self, previous: Option<&Item>, item: &Item, out: &mut Vec<u8>) {
        if let Some(words) = self.turns.between(previous, item) {
            encoding::append(out, &assistant_text(words));
        }
        match item {
            Item::User(message) => {
                let text = encoding::joined(Some(&message.wire_text()), &message.notes);
                let text = text.as_deref().unwrap_or("(empty message)");
                let images = encoding::images(Some(message), &message.notes);
                encoding::append(out, &user(text, images));
            }
            Item::Assistant(message) => {
                for item in assistant(message) {
                    encoding::append(out, &item);
                }
            }
            Item::ToolResults { results, notes } => {
                let (texts, after) = self.turns.result_texts(results, notes);
                for (result, text) in results.iter().zip(&texts) {
                    encoding::append(out, &output(result, text));
                }
                if let Some(text) = after {
                    if let Some(words) = self.turns.before_images() {
                        encoding::append(out, &assistant_text(words));
                    }
                    encoding::append(out, &user(&text, encoding::images(None, notes)));
                }
            }
        }
    }

    fn answer(
        &self,
        request: ModelRequest,
        events: mpsc::Sender<ModelEvent>,
    ) -> BoxFuture<'static, ()> {
        let body = self.body(&request);
        let decoder = ResponsesDecoder::new(call_id_prefix(), request.messages)
            .with_limit(request.max_tokens);
        let endpoint = Arc::clone(&self.endpoint);
        let options = self.known.options(&self.model);
        let adapts = self.known.learns(move |failure| manners::options_lesson(options, failure));
        Box::pin(endpoint.exchange(body, decoder, adapts, events))
    }
}

/// Tool as the API takes it. Borrowed, because the large schemas are sent in each round.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Tool<'a> {
    Function {
        name: &'a str,
        description: &'a str,
        parameters: &'a Value,
        /// False: the API's default of true would require every property and forbid others.
        strict: bool,
    },
}

impl<'a> Tool<'a> {
    fn of(ToolSpec { name, description, schema, parallel: _ }: &'a ToolSpec) -> Self {
        Self::Function { name, description, parameters: schema, strict: false }
    }
}

fn user<'a>(text: &str, images: impl Iterator<Item = &'a Image>) -> Value {
    let images = images
        .map(|image| json!({ "type": "input_image", "image_url": encoding::data_url(image) }));
    let content: Value =
        [json!({ "type": "input_text", "text": text })].into_iter().chain(images).collect();
    json!({ "type": "message", "role": "user", "content": content })
}

/// Message of the assistant.
fn assistant_text(text: &str) -> Value {
    let content = json!([{ "type": "output_text", "text": text }]);
    json!({ "type": "message", "role": "assistant", "content": content })
}

fn output(result: &ToolResult, text: &str) -> Value {
    json!({
        "type": "function_call_output",
        "call_id": IdRule::RESPONSES.fit(&result.call_id),
        "output": text,
    })
}

fn assistant(message: &AssistantMessage) -> Vec<Value> {
    let mut items = Vec::new();
    // Number of items up to the last text or call. The API refuses reasoning with nothing after it.
    let mut sendable = 0;
    for block in &message.blocks {
        match block {
            Block::Text(text) if text.trim().is_empty() => {}
            Block::Text(text) => {
                items.push(assistant_text(text));
                sendable = items.len();
            }
            Block::Reasoning { id, summary, sealed } => {
                let summary: Vec<Value> = summary
                    .iter()
                    .map(|text| json!({ "type": "summary_text", "text": text }))
                    .collect();
                items.push(json!({
                    "type": "reasoning",
                    "id": id,
                    "summary": summary,
                    "encrypted_content": sealed,
                }));
            }
            // Not encrypted, or of another provider.
            Block::Thinking { .. } | Block::RedactedThinking(_) | Block::Returned { .. } => {}
            Block::ToolCall(ToolCall { id, name, arguments }) => {
                items.push(json!({
                    "type": "function_call",
                    "call_id": IdRule::RESPONSES.fit(id),
                    "name": encoding::wire_name(name),
                    "arguments": encoding::wire_arguments(arguments).to_string(),
                }));
                sendable = items.len();
            }
        }
    }
    items.truncate(sendable);
    items
}

#[cfg(test)]
mod tests;

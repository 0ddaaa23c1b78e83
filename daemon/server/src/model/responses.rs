//! The OpenAI Responses API without state on the server. The server sends its reasoning encrypted,
//! and each request returns it with the conversation.
//!
//! An answer is complete only with `response.completed` or `response.incomplete`. The decoder does
//! not depend on sequence numbers or indexes, because some servers leave them out.

mod decoder;

use cairn_core::{
    conversation::{AssistantMessage, Block, Image, ToolCall, ToolResult},
    model::ToolSpec,
};
use serde_json::{Value, json};

pub use decoder::ResponsesDecoder;

use super::{
    ModelRequest,
    encoding::{self, IdRule, Writers},
    manners::ServedModel,
};

pub(super) fn head(model: &ServedModel, request: &ModelRequest) -> Value {
    let mut head = json!({ "model": model.name, "stream": true, "store": false });
    // Models without reasoning refuse such a request.
    if !model.is_official || has_reasoning(&model.name) {
        head["include"] = json!(["reasoning.encrypted_content"]);
    }
    if let Some(effort) = model.known.options(&model.name).effort {
        head["reasoning"] = json!({ "effort": effort });
    }
    if model.is_official {
        head["prompt_cache_key"] = (*request.session).into();
    }
    if let Some(limit) = request.max_tokens {
        head["max_output_tokens"] = limit.into();
    }
    if !request.system.is_empty() {
        head["instructions"] = (*request.system).into();
    }
    head
}

/// True for OpenAI's models with reasoning. The list names those without, which are all old.
fn has_reasoning(model: &str) -> bool {
    let without = ["gpt-3", "gpt-4", "chatgpt"].iter().any(|old| model.starts_with(old));
    !without && !model.contains("-chat")
}

/// Not strict: the API's default would require every property and forbid others.
pub(super) fn tool(ToolSpec { name, description, schema, parallel: _ }: &ToolSpec) -> Value {
    json!({
        "type": "function",
        "name": name,
        "description": description,
        "parameters": schema,
        "strict": false,
    })
}

pub(super) const WRITERS: Writers = Writers { says, user, result };

/// Message of the assistant with a text.
fn says(text: &str) -> Value {
    let content = json!([{ "type": "output_text", "text": text }]);
    json!({ "type": "message", "role": "assistant", "content": content })
}

fn user(text: &str, images: &[&Image]) -> Value {
    let images = images
        .iter()
        .map(|image| json!({ "type": "input_image", "image_url": encoding::data_url(image) }));
    let content: Value =
        [json!({ "type": "input_text", "text": text })].into_iter().chain(images).collect();
    json!({ "type": "message", "role": "user", "content": content })
}

fn result(result: &ToolResult, text: &str) -> Value {
    let call_id = IdRule::RESPONSES.fit(&result.call_id);
    json!({ "type": "function_call_output", "call_id": call_id, "output": text })
}

pub(super) fn assistant(message: &AssistantMessage) -> Vec<Value> {
    let mut items = Vec::new();
    // Number of items up to the last text or call. The API refuses reasoning with nothing after it.
    let mut sendable = 0;
    for block in &message.blocks {
        match block {
            Block::Text(text) if text.trim().is_empty() => {}
            Block::Text(text) => {
                items.push(says(text));
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

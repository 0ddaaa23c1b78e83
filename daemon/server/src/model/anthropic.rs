//! The Anthropic Messages API.
//!
//! An answer is complete only with `message_stop` after a stop reason. Request bodies use only
//! fields that both dated versions of the API accept: no sampling parameters.

mod decoder;

use cairn_core::{
    conversation::{
        AssistantMessage, Attached, Block, Image, Item, Note, ToolCall, ToolResult, UserMessage,
    },
    model::ToolSpec,
};
use serde_json::{Value, json};

pub use decoder::MessagesDecoder;

use super::{
    ModelRequest,
    encoding::{self, IdRule},
    manners::ServedModel,
};

pub const OFFICIAL_BASE_URL: &str = "https://api.anthropic.com";

/// Limit of an answer in tokens when neither the user nor the family states one; the format requires one.
pub const DEFAULT_MAX_TOKENS: u32 = 16_384;

pub(super) fn head(model: &ServedModel, request: &ModelRequest) -> Value {
    let cached = json!({ "type": "ephemeral" });
    let options = model.known.options(&model.name);
    let limit = request.max_tokens.or(options.answer).unwrap_or(DEFAULT_MAX_TOKENS);
    let mut head = json!({
        "model": model.name,
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
    head
}

pub(super) fn tool(ToolSpec { name, description, schema, parallel: _ }: &ToolSpec) -> Value {
    json!({ "name": name, "description": description, "input_schema": schema })
}

/// Message of the assistant with a text.
pub(super) fn says(text: &str) -> Value {
    json!({ "role": "assistant", "content": [{ "type": "text", "text": text }] })
}

/// Message of an item. The API rejects a conversation that contains an empty one.
pub(super) fn items(item: &Item) -> Vec<Value> {
    let (role, content) = match item {
        Item::User(message) => ("user", user_blocks(message)),
        Item::Assistant(message) => ("assistant", assistant_blocks(message)),
        Item::ToolResults { results, notes } => ("user", result_blocks(results, notes)),
    };
    if content.is_empty() { Vec::new() } else { vec![json!({ "role": role, "content": content })] }
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

//! The OpenAI Chat Completions API, as OpenAI and many other servers implement it.
//!
//! An answer is complete only with a `finish_reason` or `[DONE]`, never with the end of the stream
//! alone. The decoder tolerates wrong ids and indexes of calls.
//!
//! Calls run with the finish reasons `tool_calls` and `stop`. Older versions of Ollama, vLLM with a
//! named tool, Gemini's endpoint and at times OpenAI itself send `stop` for calls. Without a reason,
//! or with any other, calls do not run.

mod decoder;
mod tags;

use bytes::Bytes;
use cairn_core::{
    conversation::{AssistantMessage, Block, Image, ToolCall, ToolResult},
    model::ToolSpec,
};
use cairn_protocol::FormChange;
use serde_json::{Value, json};

pub use decoder::ChatDecoder;

use super::{
    ModelRequest,
    encoding::{self, IdRule, Writers},
    http::BaseUrl,
    manners::ServedModel,
};

pub const OFFICIAL_BASE_URL: &str = "https://api.openai.com/v1";

/// True for OpenAI's own servers, of all regions. Other servers support a part of its formats.
pub(super) fn is_official(base: &BaseUrl) -> bool {
    let host = base.host();
    host == "api.openai.com" || host.ends_with(".api.openai.com")
}

pub(super) fn head(model: &ServedModel, request: &ModelRequest) -> Value {
    let mut head = json!({ "model": model.name, "stream": true });
    if !model.known.knows(FormChange::NoStreamOptions) {
        head["stream_options"] = json!({ "include_usage": true });
    }
    if model.is_official {
        head["prompt_cache_key"] = (*request.session).into();
    }
    // No default: the window of the user's own server may be smaller.
    if let Some(limit) = request.max_tokens {
        // OpenAI refuses the old name for newer models; other servers may not know the new one.
        let is_new = model.is_official ^ model.known.knows(FormChange::OtherLimitName);
        head[if is_new { "max_completion_tokens" } else { "max_tokens" }] = limit.into();
    }
    head
}

/// Encoded message with the system prompt.
pub(super) fn system(text: &str) -> Bytes {
    json!({ "role": "system", "content": text }).to_string().into()
}

pub(super) fn tool(ToolSpec { name, description, schema, parallel: _ }: &ToolSpec) -> Value {
    let function = json!({ "name": name, "description": description, "parameters": schema });
    json!({ "type": "function", "function": function })
}

pub(super) const WRITERS: Writers = Writers { says, user, result };

/// Message of the assistant with a text.
fn says(text: &str) -> Value {
    json!({ "role": "assistant", "content": text })
}

/// Message as the API takes it; `None` for an empty one, which the API rejects.
pub(super) fn assistant(model: &ServedModel, message: &AssistantMessage) -> Option<Value> {
    let returned = Returned::to(model, message);
    let calls: Vec<Value> = message.tool_calls().map(|it| call(model, it, &returned)).collect();
    let text = message.text();
    let text = (!text.trim().is_empty()).then_some(text);
    if text.is_none() && calls.is_empty() {
        return None;
    }
    let mut wire = json!({ "role": "assistant", "content": text });
    if let Some((name, thinking)) = returned.thinking(model, !calls.is_empty()) {
        wire[name] = thinking.into();
    }
    add_new(&mut wire, returned.message);
    if !calls.is_empty() {
        wire["tool_calls"] = calls.into();
    }
    Some(wire)
}

fn call(
    model: &ServedModel,
    ToolCall { id, name, arguments }: &ToolCall,
    returned: &Returned<'_>,
) -> Value {
    let mut wire = json!({
        "id": IdRule::CHAT.fit(id),
        "type": "function",
        "function": {
            "name": encoding::wire_name(name),
            "arguments": encoding::wire_arguments(arguments).to_string(),
        },
    });
    add_new(&mut wire, returned.calls.and_then(|calls| calls.get(&**id)));
    if model.known.knows(FormChange::SignedCalls) {
        // The value that Google documents for calls of other models.
        let signature = json!({ "thought_signature": "skip_thought_signature_validator" });
        add_new(&mut wire, Some(&json!({ "extra_content": { "google": signature } })));
    }
    wire
}

/// Adds members that an object does not have yet.
fn add_new(object: &mut Value, members: Option<&Value>) {
    for (name, value) in members.and_then(Value::as_object).into_iter().flatten() {
        if object.get(name).is_none() {
            object[name] = value.clone();
        }
    }
}

/// Members of a message that go back to the server that sent them.
#[derive(Default)]
struct Returned<'a> {
    /// Member of the thinking, and its text.
    thinking: Option<(&'a str, &'a str)>,
    message: Option<&'a Value>,
    calls: Option<&'a Value>,
}

impl<'a> Returned<'a> {
    fn to(model: &ServedModel, message: &'a AssistantMessage) -> Self {
        let own = message.blocks.iter().find_map(|block| match block {
            Block::Returned { server, thinking, message, calls } if *server == model.origin => {
                Some((thinking.as_str(), message, calls))
            }
            _ => None,
        });
        let Some((name, members, calls)) = own else { return Self::default() };
        let mut thoughts = message.blocks.iter().filter_map(|block| match block {
            Block::Thinking { text, signature: None } => Some(text.as_str()),
            _ => None,
        });
        let thinking = Some(name).filter(|name| !name.is_empty());
        let thinking = thinking.zip(thoughts.next());
        let unknown = !model.known.knows(FormChange::NoUnknownMembers);
        Self { thinking, message: unknown.then_some(members), calls: unknown.then_some(calls) }
    }

    fn thinking(&self, model: &ServedModel, has_calls: bool) -> Option<(&'a str, &'a str)> {
        let always = model.known.knows(FormChange::AlwaysReasoning);
        match self.thinking {
            _ if model.known.knows(FormChange::NeverReasoning) => None,
            Some(known) => Some(known),
            None => (always && has_calls).then_some((REASONING, "")),
        }
    }
}

/// Usual member of the thinking.
const REASONING: &str = "reasoning_content";

/// Text alone, which every server reads, or parts if there are images.
fn user(text: &str, images: &[&Image]) -> Value {
    let images = images.iter().map(|image| {
        let url = json!({ "url": encoding::data_url(image) });
        json!({ "type": "image_url", "image_url": url })
    });
    let content: Value = match images.len() {
        0 => text.into(),
        _ => [json!({ "type": "text", "text": text })].into_iter().chain(images).collect(),
    };
    json!({ "role": "user", "content": content })
}

fn result(result: &ToolResult, text: &str) -> Value {
    json!({ "role": "tool", "tool_call_id": IdRule::CHAT.fit(&result.call_id), "content": text })
}

#[cfg(test)]
mod tests;

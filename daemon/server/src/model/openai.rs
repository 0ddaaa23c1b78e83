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

use std::sync::Arc;

use bytes::Bytes;
use cairn_core::{
    conversation::{AssistantMessage, Block, Image, Item, ToolCall, ToolResult, UserMessage},
    model::{ModelEvent, ToolSpec},
};
use cairn_protocol::FormChange;
use futures_util::future::BoxFuture;
use secrecy::SecretString;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;

pub use decoder::ChatDecoder;

use super::{
    ModelRequest, Provider, ToolChoice,
    encoding::{self, IdRule, Turns},
    http::{BaseUrl, Endpoint, Patience, Vendor, body_around, call_id_prefix},
    manners::{self, KnownServer},
};

pub const OFFICIAL_BASE_URL: &str = "https://api.openai.com/v1";

/// Path of a method below a base URL; one without a path gets `/v1`.
pub(super) fn path(base: &BaseUrl, method: &str) -> String {
    if base.path().is_empty() { format!("v1/{method}") } else { method.to_owned() }
}

/// True for OpenAI's own servers, of all regions. Other servers support a part of its formats.
pub(super) fn is_official(base: &BaseUrl) -> bool {
    let host = base.host();
    host == "api.openai.com" || host.ends_with(".api.openai.com")
}

/// Configuration of both OpenAI providers.
#[derive(Debug, Clone)]
pub struct OpenAiConfig {
    /// Usually ends with `/v1`, which is added to an address without a path.
    pub base_url: BaseUrl,
    pub model: String,
    pub key: Option<SecretString>,
    pub patience: Patience,
    pub tool_choice: ToolChoice,
}

impl OpenAiConfig {
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

/// Client of a server with the Chat Completions API.
#[derive(Debug)]
pub struct OpenAi {
    model: String,
    tool_choice: ToolChoice,
    /// Names of the field, the one to try first. OpenAI refuses the old name for newer models; other
    /// servers may not know the new one.
    max_tokens_fields: [&'static str; 2],
    has_cache_keys: bool,
    turns: Turns,
    /// Origin of the server. Members of an answer go back to the same origin only.
    origin: String,
    known: KnownServer,
    endpoint: Arc<Endpoint>,
}

impl OpenAi {
    pub fn new(config: OpenAiConfig) -> Self {
        let OpenAiConfig { base_url, model, key, patience, tool_choice } = config;
        let path = path(&base_url, "chat/completions");
        let mut max_tokens_fields = ["max_tokens", "max_completion_tokens"];
        if is_official(&base_url) {
            max_tokens_fields.reverse();
        }
        // DeepSeek accepts neighbours, and may refuse an inserted answer without reasoning.
        let free = is_official(&base_url) || model.to_ascii_lowercase().contains("deepseek");
        Self {
            tool_choice,
            max_tokens_fields,
            has_cache_keys: is_official(&base_url),
            origin: base_url.origin(),
            known: KnownServer::default(),
            turns: Turns::of(free, base_url.is_loopback(), &model),
            endpoint: Arc::new(Endpoint::new(&base_url, &path, Vendor::OpenAi, key, patience)),
            model,
        }
    }

    fn body(&self, request: &ModelRequest) -> Vec<Bytes> {
        let mut head = json!({
            "model": self.model,
            "stream": true,
        });
        if !self.known.knows(FormChange::NoStreamOptions) {
            head["stream_options"] = json!({ "include_usage": true });
        }
        if self.has_cache_keys {
            head["prompt_cache_key"] = (*request.session).into();
        }
        // No default: the window of the user's own server may be smaller.
        if let Some(limit) = request.max_tokens {
            let field = usize::from(self.known.knows(FormChange::OtherLimitName));
            head[self.max_tokens_fields[field]] = limit.into();
        }
        if !request.tools.is_empty() {
            match self.tool_choice {
                ToolChoice::Auto => {}
                ToolChoice::Required => head["tool_choice"] = "required".into(),
            }
        }
        let system = match request.system.is_empty() {
            true => String::new(),
            false => json!({ "role": "system", "content": &*request.system }).to_string(),
        };
        let tools: Vec<Tool> = request.tools.iter().map(Tool::of).collect();
        body_around(&head, &tools, "messages", [system.into(), request.messages.clone()])
    }
}

impl OpenAi {
    /// Sets the lessons of the server.
    #[must_use]
    pub fn knowing(self, known: KnownServer) -> Self {
        Self { known, ..self }
    }

    fn turns(&self) -> Turns {
        if self.known.knows(FormChange::StrictTurns) { Turns::Strict } else { self.turns }
    }

    /// Message as the API takes it; `None` for an empty one, which the API rejects.
    fn assistant(&self, message: &AssistantMessage) -> Option<Value> {
        let returned = Returned::to(self, message);
        let calls: Vec<Value> =
            message.tool_calls().map(|call| self.call(call, &returned)).collect();
        let text = message.text();
        let text = (!text.trim().is_empty()).then_some(text);
        if text.is_none() && calls.is_empty() {
            return None;
        }
        let mut wire = json!({ "role": "assistant", "content": text });
        if let Some((name, thinking)) = returned.thinking(self, !calls.is_empty()) {
            wire[name] = thinking.into();
        }
        add_new(&mut wire, returned.message);
        if !calls.is_empty() {
            wire["tool_calls"] = calls.into();
        }
        Some(wire)
    }

    fn call(&self, ToolCall { id, name, arguments }: &ToolCall, returned: &Returned<'_>) -> Value {
        let mut wire = json!({
            "id": IdRule::CHAT.fit(id),
            "type": "function",
            "function": {
                "name": encoding::wire_name(name),
                "arguments": encoding::wire_arguments(arguments).to_string(),
            },
        });
        add_new(&mut wire, returned.calls.and_then(|calls| calls.get(&**id)));
        if self.known.knows(FormChange::SignedCalls) {
            // The value that Google documents for calls of other models.
            let signature = json!({ "thought_signature": "skip_thought_signature_validator" });
            add_new(&mut wire, Some(&json!({ "extra_content": { "google": signature } })));
        }
        wire
    }
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
    fn to(provider: &OpenAi, message: &'a AssistantMessage) -> Self {
        let own = message.blocks.iter().find_map(|block| match block {
            Block::Returned { server, thinking, message, calls } if *server == provider.origin => {
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
        let unknown = !provider.known.knows(FormChange::NoUnknownMembers);
        Self { thinking, message: unknown.then_some(members), calls: unknown.then_some(calls) }
    }

    fn thinking(&self, provider: &OpenAi, has_calls: bool) -> Option<(&'a str, &'a str)> {
        let always = provider.known.knows(FormChange::AlwaysReasoning);
        match self.thinking {
            _ if provider.known.knows(FormChange::NeverReasoning) => None,
            Some(known) => Some(known),
            None => (always && has_calls).then_some((REASONING, "")),
        }
    }
}

/// Usual member of the thinking.
const REASONING: &str = "reasoning_content";

impl Provider for OpenAi {
    fn encode(&self, previous: Option<&Item>, item: &Item, out: &mut Vec<u8>) {
        let say = |out: &mut Vec<u8>, words: &str| {
            encoding::append(out, &json!({ "role": "assistant", "content": words }));
        };
        if let Some(words) = self.turns().between(previous, item) {
            say(out, words);
        }
        match item {
            Item::User(message) => encoding::append(out, &user(message)),
            Item::Assistant(message) => {
                if let Some(message) = self.assistant(message) {
                    encoding::append(out, &message);
                }
            }
            Item::ToolResults { results, notes } => {
                let (texts, after) = self.turns().result_texts(results, notes);
                for (result, text) in results.iter().zip(&texts) {
                    encoding::append(out, &tool_result(result, text));
                }
                // After all results, because nothing may separate them.
                if let Some(text) = after {
                    if let Some(words) = self.turns().before_images() {
                        say(out, words);
                    }
                    let content = content(&text, encoding::images(None, notes));
                    encoding::append(out, &json!({ "role": "user", "content": content }));
                }
            }
        }
    }

    fn revision(&self) -> usize {
        self.known.revision()
    }

    fn answer(
        &self,
        request: ModelRequest,
        events: mpsc::Sender<ModelEvent>,
    ) -> BoxFuture<'static, ()> {
        let body = self.body(&request);
        let decoder = ChatDecoder::new(call_id_prefix(), request.messages).of_server(&self.origin);
        let endpoint = Arc::clone(&self.endpoint);
        let adapts = self.known.learns(manners::lesson);
        Box::pin(endpoint.exchange(body, decoder, adapts, events))
    }
}

/// Tool as the API takes it. Borrowed, because the large schemas are sent in each round.
#[derive(Serialize)]
#[serde(tag = "type", content = "function", rename_all = "lowercase")]
enum Tool<'a> {
    Function { name: &'a str, description: &'a str, parameters: &'a Value },
}

impl<'a> Tool<'a> {
    fn of(ToolSpec { name, description, schema, parallel: _ }: &'a ToolSpec) -> Self {
        Self::Function { name, description, parameters: schema }
    }
}

fn user(message: &UserMessage) -> Value {
    let text = encoding::joined(Some(&message.wire_text()), &message.notes);
    let text = text.as_deref().unwrap_or("(empty message)");
    json!({ "role": "user", "content": content(text, encoding::images(Some(message), &message.notes)) })
}

/// Text alone, which every server reads, or parts if there are images.
fn content<'a>(text: &str, images: impl Iterator<Item = &'a Image>) -> Value {
    let images: Vec<Value> = images
        .map(|image| {
            let url = json!({ "url": encoding::data_url(image) });
            json!({ "type": "image_url", "image_url": url })
        })
        .collect();
    if images.is_empty() {
        return text.into();
    }
    [json!({ "type": "text", "text": text })].into_iter().chain(images).collect()
}

fn tool_result(result: &ToolResult, text: &str) -> Value {
    json!({ "role": "tool", "tool_call_id": IdRule::CHAT.fit(&result.call_id), "content": text })
}

#[cfg(test)]
mod tests;

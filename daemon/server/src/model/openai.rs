//! The OpenAI Chat Completions API, as OpenAI and many other servers speak it.
//!
//! A `finish_reason` or `[DONE]` finishes an answer; the end of the stream alone never does.
//! Tolerates what servers get wrong about calls (ids, indexes), never about whether an answer is
//! complete.
//!
//! Calls run with `tool_calls` and with `stop`: Ollama's older versions, vLLM with a named tool,
//! Gemini's endpoint and at times OpenAI itself say `stop` for them, so the two cannot be told
//! apart. With no reason or any other one they do not run.

use std::sync::Arc;

use bytes::Bytes;
use cairn_core::{
    conversation::{AssistantMessage, Block, Item, ToolCall, ToolResult, UserMessage},
    model::{Failure, FailureKind, ModelEvent, Reply, Stop, ToolSpec, Usage},
};
use futures_util::future::BoxFuture;
use reqwest::header::HeaderMap;
use secrecy::SecretString;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{
    Provider, Request, ToolChoice,
    encoding::{self, CallIds, Decoder, IdRule, Turns, parse_arguments, protocol, stream_cut},
    failure,
    http::{BaseUrl, Endpoint, KeyHeader, Patience, body_around, call_id_prefix},
    sse::Event,
};

pub const OFFICIAL_BASE_URL: &str = "https://api.openai.com/v1";

/// OpenAI's own server, or one of its regions; others speak less of its formats.
pub(super) fn is_official(base: &BaseUrl) -> bool {
    let host = base.host();
    host == "api.openai.com" || host.ends_with(".api.openai.com")
}

#[derive(Debug, Clone)]
pub struct Config {
    /// Usually ends with `/v1`, which is added where there is no path at all.
    pub base_url: BaseUrl,
    pub model: String,
    pub key: Option<SecretString>,
    pub patience: Patience,
    pub tool_choice: ToolChoice,
}

impl Config {
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

#[derive(Debug)]
pub struct OpenAi {
    model: String,
    tool_choice: ToolChoice,
    /// OpenAI refuses the old name for newer models, other servers may not know the new one.
    max_tokens_field: &'static str,
    /// DeepSeek refuses history without its reasoning, others refuse history with it.
    returns_reasoning: bool,
    turns: Turns,
    endpoint: Arc<Endpoint>,
}

impl OpenAi {
    pub fn new(config: Config) -> Self {
        let Config { base_url, model, key, patience, tool_choice } = config;
        let path =
            if base_url.path().is_empty() { "v1/chat/completions" } else { "chat/completions" };
        let max_tokens_field =
            if is_official(&base_url) { "max_completion_tokens" } else { "max_tokens" };
        let returns_reasoning = model.to_ascii_lowercase().contains("deepseek");
        // DeepSeek takes neighbours, and may refuse an answer of ours that has no reasoning.
        let free = is_official(&base_url) || returns_reasoning;
        Self {
            tool_choice,
            max_tokens_field,
            returns_reasoning,
            turns: Turns::of(free, base_url.is_loopback(), &model),
            endpoint: Arc::new(Endpoint::new(&base_url, path, key, patience)),
            model,
        }
    }

    fn body(&self, request: &Request) -> Vec<Bytes> {
        let mut head = json!({
            "model": self.model,
            "stream": true,
            "stream_options": { "include_usage": true },
        });
        // A server of the user's own may have less room than any default of ours.
        if let Some(limit) = request.max_tokens {
            head[self.max_tokens_field] = limit.into();
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

impl Provider for OpenAi {
    fn encode(&self, previous: Option<&Item>, item: &Item, out: &mut Vec<u8>) {
        let say = |out: &mut Vec<u8>, words: &str| {
            encoding::append(out, &json!({ "role": "assistant", "content": words }));
        };
        if let Some(words) = self.turns.between(previous, item) {
            say(out, words);
        }
        match item {
            Item::User(message) => encoding::append(out, &user(message)),
            Item::Assistant(message) => {
                if let Some(message) = assistant(message, self.returns_reasoning) {
                    encoding::append(out, &message);
                }
            }
            Item::ToolResults { results, notes } => {
                for result in results {
                    encoding::append(out, &tool_result(result));
                }
                // After all of them: nothing may stand between the results.
                if let Some(text) = encoding::joined(None, notes) {
                    if let Some(words) = self.turns.before_notes() {
                        say(out, words);
                    }
                    encoding::append(out, &json!({ "role": "user", "content": text }));
                }
            }
        }
    }

    fn answer(&self, request: Request, events: mpsc::Sender<ModelEvent>) -> BoxFuture<'static, ()> {
        let body = self.body(&request);
        let decoder = ChatDecoder::new(call_id_prefix(), request.messages);
        let endpoint = Arc::clone(&self.endpoint);
        Box::pin(endpoint.exchange(KeyHeader::Bearer, HeaderMap::new(), body, decoder, events))
    }
}

/// Borrowed: the schemas are large, and sent in each round.
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
    let text = encoding::joined(Some(&message.text), &message.notes);
    json!({ "role": "user", "content": text.as_deref().unwrap_or("(empty message)") })
}

/// `None`: nothing was said, and an empty message is rejected.
fn assistant(message: &AssistantMessage, with_reasoning: bool) -> Option<Value> {
    let calls: Vec<Value> = message
        .tool_calls()
        .map(|ToolCall { id, name, arguments }| {
            json!({
                "id": IdRule::CHAT.fit(id),
                "type": "function",
                "function": {
                    "name": encoding::wire_name(name),
                    "arguments": encoding::wire_arguments(arguments).to_string(),
                },
            })
        })
        .collect();
    let text = message.text();
    let text = (!text.trim().is_empty()).then_some(text);
    if text.is_none() && calls.is_empty() {
        return None;
    }
    let mut wire = json!({ "role": "assistant", "content": text });
    if with_reasoning {
        let reasoning: String = message
            .blocks
            .iter()
            .filter_map(|block| match block {
                Block::Thinking { text, signature: None } => Some(text.as_str()),
                Block::Thinking { signature: Some(_), .. }
                | Block::RedactedThinking(_)
                | Block::Reasoning { .. }
                | Block::Text(_)
                | Block::ToolCall(_) => None,
            })
            .collect();
        if !reasoning.is_empty() {
            wire["reasoning_content"] = reasoning.into();
        }
    }
    if !calls.is_empty() {
        wire["tool_calls"] = calls.into();
    }
    Some(wire)
}

fn tool_result(result: &ToolResult) -> Value {
    let content = encoding::result_text(result);
    json!({ "role": "tool", "tool_call_id": IdRule::CHAT.fit(&result.call_id), "content": content })
}

/// The stream of one answer.
#[derive(Debug)]
pub struct ChatDecoder {
    ids: CallIds,
    any_chunk: bool,
    over: bool,
    reasoning: String,
    text: String,
    calls: Vec<OpenCall>,
    finish: Option<String>,
    refused: bool,
    usage: Usage,
}

#[derive(Debug)]
struct OpenCall {
    /// Ours: unique in the conversation.
    id: String,
    /// As sent, to tell pieces apart.
    wire_id: Option<String>,
    index: Option<u64>,
    name: String,
    arguments: String,
}

/// One entry of `delta.tool_calls`.
struct Piece<'a> {
    id: Option<&'a str>,
    index: Option<u64>,
    name: Option<&'a str>,
    arguments: String,
}

impl ChatDecoder {
    pub fn new(id_prefix: impl Into<String>, conversation: Bytes) -> Self {
        Self {
            ids: CallIds::new(id_prefix, conversation, IdRule::CHAT),
            any_chunk: false,
            over: false,
            reasoning: String::new(),
            text: String::new(),
            calls: Vec::new(),
            finish: None,
            refused: false,
            usage: Usage::default(),
        }
    }

    fn event(&mut self, event: &Event, out: &mut Vec<ModelEvent>) -> Result<(), Failure> {
        if event.data.trim() == "[DONE]" {
            if !self.any_chunk {
                return Err(protocol("the stream ended before it began"));
            }
            if self.finish.is_none() && !self.calls.is_empty() {
                return Err(protocol("tool calls without a finish reason"));
            }
            out.push(ModelEvent::Finished(self.reply()));
            return Ok(());
        }
        let data: Value = serde_json::from_str(&event.data)
            .map_err(|error| protocol(format!("an event is not JSON ({error})")))?;
        let is_error =
            !data["error"].is_null() || data["object"] == "error" || event.name == "error";
        if is_error && let Some(failure) = failure::from_stream(&data) {
            return Err(failure);
        }
        self.any_chunk = true;
        self.read_usage(&data["usage"]);
        // With `n` left at one there is one choice, and none in the chunk of the usage.
        let choice = &data["choices"][0];
        let calls = choice["delta"]["tool_calls"].as_array();
        if self.finish.is_some() && calls.is_some_and(|calls| !calls.is_empty()) {
            return Err(protocol("a tool call after the finish reason"));
        }
        self.delta(&choice["delta"], out)?;
        match choice["finish_reason"].as_str() {
            // The latter is DashScope's.
            None | Some("" | "null") => {}
            // DeepSeek, Zhipu, Mistral and OpenRouter.
            Some("error" | "insufficient_system_resource" | "network_error") => {
                return Err(Failure {
                    kind: FailureKind::Server,
                    message: "The model server ended the answer with an error.".to_owned(),
                    hint: String::new(),
                    retry_after_ms: None,
                });
            }
            // Of several, one that forbids to run calls counts.
            Some(finish) if self.finish.as_deref().is_none_or(asks_to_run) => {
                self.finish = Some(finish.to_ascii_lowercase());
            }
            Some(_) => {}
        }
        Ok(())
    }

    fn delta(&mut self, delta: &Value, out: &mut Vec<ModelEvent>) -> Result<(), Failure> {
        let text = |name: &str| delta[name].as_str().filter(|text| !text.is_empty());
        if let Some(piece) = text("reasoning_content").or_else(|| text("reasoning")) {
            self.reasoning.push_str(piece);
            out.push(ModelEvent::Thinking(piece.to_owned()));
        }
        if let Some(piece) = text("content") {
            self.text.push_str(piece);
            out.push(ModelEvent::Text(piece.to_owned()));
        }
        if let Some(piece) = text("refusal") {
            self.refused = true;
            self.text.push_str(piece);
            out.push(ModelEvent::Text(piece.to_owned()));
        }
        for wire in delta["tool_calls"].as_array().into_iter().flatten() {
            self.call_piece(&Piece::read(wire), out)?;
        }
        Ok(())
    }

    fn call_piece(&mut self, piece: &Piece<'_>, out: &mut Vec<ModelEvent>) -> Result<(), Failure> {
        let known = match (piece.id, piece.index) {
            (_, Some(index)) => self.calls.iter().rposition(|call| call.index == Some(index)),
            (Some(id), None) => {
                self.calls.iter().rposition(|call| call.wire_id.as_deref() == Some(id))
            }
            (None, None) => self.calls.len().checked_sub(1),
        };
        match known.filter(|&at| !piece.begins_after(&self.calls[at])) {
            Some(at) => {
                let call = &mut self.calls[at];
                if call.wire_id.is_none() {
                    call.wire_id = piece.id.map(str::to_owned);
                }
                if let Some(name) = piece.name
                    && call.name.is_empty()
                {
                    call.name = encoding::tool_name(name);
                    out.push(call.started());
                }
                call.arguments.push_str(&piece.arguments);
            }
            None => {
                let call = OpenCall {
                    id: self.ids.admit(piece.id)?,
                    wire_id: piece.id.map(str::to_owned),
                    index: piece.index,
                    name: encoding::tool_name(piece.name.unwrap_or_default()),
                    arguments: piece.arguments.clone(),
                };
                if !call.name.is_empty() {
                    out.push(call.started());
                }
                self.calls.push(call);
            }
        }
        Ok(())
    }

    fn read_usage(&mut self, wire: &Value) {
        if let Some(count) = wire["prompt_tokens"].as_u64() {
            self.usage.input_tokens = count;
        }
        if let Some(count) = wire["completion_tokens"].as_u64() {
            self.usage.output_tokens = count;
        }
        let cached = wire["prompt_tokens_details"]["cached_tokens"].as_u64();
        if let Some(count) = cached.or_else(|| wire["prompt_cache_hit_tokens"].as_u64()) {
            self.usage.cached_tokens = count;
        }
    }

    fn reply(&mut self) -> Reply {
        let mut blocks = Vec::new();
        if !self.reasoning.is_empty() {
            let text = std::mem::take(&mut self.reasoning);
            blocks.push(Block::Thinking { text, signature: None });
        }
        if !self.text.is_empty() {
            blocks.push(Block::Text(std::mem::take(&mut self.text)));
        }
        let has_calls = !self.calls.is_empty();
        blocks.extend(std::mem::take(&mut self.calls).into_iter().map(|call| {
            let arguments = parse_arguments(&call.arguments);
            Block::ToolCall(ToolCall { id: call.id, name: call.name, arguments })
        }));
        let stop = match self.finish.as_deref() {
            Some("length" | "max_tokens") => Stop::MaxTokens,
            Some("content_filter" | "sensitive") => Stop::Refusal,
            // Zhipu; Mistral.
            Some("model_context_window_exceeded" | "model_length") => Stop::ContextOverflow,
            _ if self.refused => Stop::Refusal,
            Some(finish) if has_calls && asks_to_run(finish) => Stop::ToolUse,
            Some(finish) if asks_to_run(finish) => Stop::EndTurn,
            None => Stop::EndTurn,
            Some(other) => Stop::Other(other.to_owned()),
        };
        Reply { message: AssistantMessage { blocks }, stop, usage: self.usage }
    }
}

/// True for a reason with which real servers end an answer that calls tools.
fn asks_to_run(finish: &str) -> bool {
    const REASONS: [&str; 7] =
        ["stop", "tool_calls", "tool_call", "function_call", "eos", "eos_token", "end_turn"];
    REASONS.iter().any(|reason| finish.eq_ignore_ascii_case(reason))
}

impl Decoder for ChatDecoder {
    fn push(&mut self, event: &Event) -> Vec<ModelEvent> {
        let mut out = Vec::new();
        if self.over {
            return out;
        }
        if let Err(failure) = self.event(event, &mut out) {
            out.push(ModelEvent::Failed(failure));
        }
        self.over = matches!(out.last(), Some(ModelEvent::Finished(_) | ModelEvent::Failed(_)));
        out
    }

    fn end(&mut self) -> Vec<ModelEvent> {
        if std::mem::replace(&mut self.over, true) {
            return Vec::new();
        }
        vec![match self.finish {
            Some(_) => ModelEvent::Finished(self.reply()),
            None => ModelEvent::Failed(stream_cut("the stream ended early")),
        }]
    }

    fn settled(&self) -> bool {
        self.over || self.finish.is_some()
    }
}

impl OpenCall {
    fn started(&self) -> ModelEvent {
        ModelEvent::CallStarted { id: self.id.clone(), name: self.name.clone() }
    }
}

impl<'a> Piece<'a> {
    fn read(wire: &'a Value) -> Self {
        let function = &wire["function"];
        Self {
            id: wire["id"].as_str().filter(|id| !id.is_empty()),
            index: wire["index"].as_u64(),
            name: function["name"].as_str().filter(|name| !name.is_empty()),
            arguments: match &function["arguments"] {
                Value::String(piece) => piece.clone(),
                object @ Value::Object(_) => object.to_string(),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => String::new(),
            },
        }
    }

    /// The piece begins another call, though its index (or the lack of one) points at this one:
    /// some servers number all parallel calls zero, or leave the numbers out.
    fn begins_after(&self, call: &OpenCall) -> bool {
        match (self.id, call.wire_id.as_deref()) {
            (Some(new), Some(old)) => new != old,
            _ => {
                self.name.is_some()
                    && !call.name.is_empty()
                    && serde_json::from_str::<Value>(&call.arguments)
                        .is_ok_and(|arguments| arguments.is_object())
            }
        }
    }
}

#[cfg(test)]
mod tests;

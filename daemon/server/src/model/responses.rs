//! The OpenAI Responses API, stateless: the server keeps nothing, so its reasoning comes sealed and
//! is sent back with the conversation.
//!
//! Only `response.completed` or `response.incomplete` finishes an answer. Of the numbers that the
//! events should carry nothing is needed: servers leave them out.

use std::sync::Arc;

use bytes::Bytes;
use cairn_core::{
    conversation::{Arguments, AssistantMessage, Block, Item, ToolCall, ToolResult, UserMessage},
    model::{Failure, FailureKind, ModelEvent, Reply, Stop, ToolSpec, Usage},
};
use futures_util::future::BoxFuture;
use reqwest::header::HeaderMap;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{
    Provider, Request, ToolChoice,
    encoding::{self, CallIds, Decoder, IdRule, Turns, parse_arguments, protocol, stream_cut},
    failure,
    http::{Endpoint, KeyHeader, body_around, call_id_prefix},
    openai::{Config, is_official},
    sse::Event,
};

#[derive(Debug)]
pub struct Responses {
    model: String,
    tool_choice: ToolChoice,
    /// The server shall seal its reasoning: those that have none refuse to.
    seals: bool,
    turns: Turns,
    endpoint: Arc<Endpoint>,
}

impl Responses {
    pub fn new(config: Config) -> Self {
        let Config { base_url, model, key, patience, tool_choice } = config;
        let path = if base_url.path().is_empty() { "v1/responses" } else { "responses" };
        let turns = Turns::of(is_official(&base_url), base_url.is_loopback(), &model);
        Self {
            tool_choice,
            turns,
            seals: !is_official(&base_url) || reasons(&model),
            endpoint: Arc::new(Endpoint::new(&base_url, path, key, patience)),
            model,
        }
    }

    fn body(&self, request: &Request) -> Vec<Bytes> {
        let mut head = json!({ "model": self.model, "stream": true, "store": false });
        if self.seals {
            head["include"] = json!(["reasoning.encrypted_content"]);
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

/// OpenAI's models without reasoning, all of them old; what comes is expected to reason.
fn reasons(model: &str) -> bool {
    let without = ["gpt-3", "gpt-4", "chatgpt"].iter().any(|old| model.starts_with(old));
    !without && !model.contains("-chat")
}

impl Provider for Responses {
    fn encode(&self, previous: Option<&Item>, item: &Item, out: &mut Vec<u8>) {
        if let Some(words) = self.turns.between(previous, item) {
            encoding::append(out, &said(words));
        }
        match item {
            Item::User(UserMessage { text, notes }) => {
                let text = encoding::joined(Some(text), notes);
                encoding::append(out, &user(text.as_deref().unwrap_or("(empty message)")));
            }
            Item::Assistant(message) => {
                for item in assistant(message) {
                    encoding::append(out, &item);
                }
            }
            Item::ToolResults { results, notes } => {
                for result in results {
                    encoding::append(out, &output(result));
                }
                if let Some(text) = encoding::joined(None, notes) {
                    if let Some(words) = self.turns.before_notes() {
                        encoding::append(out, &said(words));
                    }
                    encoding::append(out, &user(&text));
                }
            }
        }
    }

    fn answer(&self, request: Request, events: mpsc::Sender<ModelEvent>) -> BoxFuture<'static, ()> {
        let body = self.body(&request);
        let decoder = ResponsesDecoder::new(call_id_prefix(), request.messages)
            .with_limit(request.max_tokens);
        let endpoint = Arc::clone(&self.endpoint);
        Box::pin(endpoint.exchange(KeyHeader::Bearer, HeaderMap::new(), body, decoder, events))
    }
}

/// Borrowed: the schemas are large, and sent in each round.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Tool<'a> {
    Function {
        name: &'a str,
        description: &'a str,
        parameters: &'a Value,
        /// The default of this API: every property required, and no other than those.
        strict: bool,
    },
}

impl<'a> Tool<'a> {
    fn of(ToolSpec { name, description, schema, parallel: _ }: &'a ToolSpec) -> Self {
        Self::Function { name, description, parameters: schema, strict: false }
    }
}

fn user(text: &str) -> Value {
    let content = json!([{ "type": "input_text", "text": text }]);
    json!({ "type": "message", "role": "user", "content": content })
}

/// A message of the assistant.
fn said(text: &str) -> Value {
    let content = json!([{ "type": "output_text", "text": text }]);
    json!({ "type": "message", "role": "assistant", "content": content })
}

fn output(result: &ToolResult) -> Value {
    json!({
        "type": "function_call_output",
        "call_id": IdRule::RESPONSES.fit(&result.call_id),
        "output": encoding::result_text(result),
    })
}

fn assistant(message: &AssistantMessage) -> Vec<Value> {
    let mut items = Vec::new();
    // Up to the last one that was said: reasoning without what it led to is refused.
    let mut sendable = 0;
    for block in &message.blocks {
        match block {
            Block::Text(text) if text.trim().is_empty() => {}
            Block::Text(text) => {
                items.push(said(text));
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
            // Not sealed, or another provider's.
            Block::Thinking { .. } | Block::RedactedThinking(_) => {}
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

/// The stream of one answer.
#[derive(Debug)]
pub struct ResponsesDecoder {
    ids: CallIds,
    /// The most tokens that the answer may have.
    limit: Option<u64>,
    items: Vec<Slot>,
    over: bool,
}

/// One item of the output, in the order in which they began.
#[derive(Debug)]
struct Slot {
    index: Option<u64>,
    wire_id: Option<String>,
    open: Open,
    /// Its end came.
    ended: bool,
    /// The server itself calls it unfinished.
    cut: bool,
}

impl Slot {
    fn new(index: Option<u64>, wire_id: Option<String>, open: Open) -> Self {
        Self { index, wire_id, open, ended: false, cut: false }
    }

    fn is_call(&self) -> bool {
        matches!(self.open, Open::Call { .. })
    }
}

#[derive(Debug)]
enum Open {
    Message {
        text: String,
        refused: bool,
    },
    Reasoning {
        id: String,
        streamed: String,
        summary: Vec<String>,
        sealed: String,
    },
    Call {
        id: String,
        name: String,
        arguments: String,
    },
    /// A kind of item this client did not ask for.
    Other,
}

impl ResponsesDecoder {
    pub fn new(id_prefix: impl Into<String>, conversation: Bytes) -> Self {
        let ids = CallIds::new(id_prefix, conversation, IdRule::RESPONSES);
        Self { ids, limit: None, items: Vec::new(), over: false }
    }

    pub fn with_limit(mut self, tokens: Option<u32>) -> Self {
        self.limit = tokens.map(u64::from);
        self
    }

    fn event(&mut self, event: &Event, out: &mut Vec<ModelEvent>) -> Result<(), Failure> {
        // The habit of another format; here it says nothing.
        if event.data.trim() == "[DONE]" {
            return Ok(());
        }
        let data: Value = serde_json::from_str(&event.data)
            .map_err(|error| protocol(format!("an event is not JSON ({error})")))?;
        let kind = match data["type"].as_str() {
            _ if event.name == "error" || !data["error"].is_null() => "error",
            Some(kind) => kind,
            None => event.name.as_str(),
        };
        match kind {
            "error" => return Err(reported(&data)),
            "response.failed" => return Err(reported(&data["response"])),
            "response.output_item.added" => {
                self.added(&data, out)?;
            }
            "response.output_item.done" => self.done(&data, out)?,
            "response.output_text.delta" => self.text(&data, false, out)?,
            "response.refusal.delta" => self.text(&data, true, out)?,
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.thought(&data, piece(&data), out)?;
            }
            // Parts are paragraphs.
            "response.reasoning_summary_part.added" => self.thought(&data, "", out)?,
            "response.function_call_arguments.delta" | "response.function_call_arguments.done" => {
                self.arguments(&data)?;
            }
            "response.completed" | "response.incomplete" => {
                let reply = self.reply(kind, &data["response"], out)?;
                out.push(ModelEvent::Finished(reply));
            }
            // Begins and ends of parts, and what later versions add.
            _ => {}
        }
        Ok(())
    }

    /// The item that an event is about: by its place, else its id, for some servers change that
    /// on the way; the newest where the event names none.
    fn find(&self, index: Option<u64>, id: Option<&str>) -> Option<usize> {
        let by_index = || self.items.iter().rposition(|slot| slot.index == index);
        let by_id = || self.items.iter().rposition(|slot| slot.wire_id.as_deref() == id);
        match (index, id) {
            (Some(_), _) => by_index().or_else(|| id.and_then(|_| by_id())),
            (None, Some(_)) => by_id(),
            (None, None) => self.items.len().checked_sub(1),
        }
    }

    fn slot(&self, data: &Value) -> Option<usize> {
        self.find(data["output_index"].as_u64(), data["item_id"].as_str())
    }

    /// The item of an event, made where its beginning was never told.
    fn slot_or(&mut self, data: &Value, open: fn() -> Open) -> &mut Slot {
        let at = self.slot(data).unwrap_or_else(|| {
            let wire_id = data["item_id"].as_str().map(str::to_owned);
            self.items.push(Slot::new(data["output_index"].as_u64(), wire_id, open()));
            self.items.len() - 1
        });
        &mut self.items[at]
    }

    fn added(&mut self, data: &Value, out: &mut Vec<ModelEvent>) -> Result<usize, Failure> {
        let item = &data["item"];
        let (index, wire_id) = (data["output_index"].as_u64(), item["id"].as_str());
        if (index.is_some() || wire_id.is_some()) && self.find(index, wire_id).is_some() {
            return Err(protocol("an item of the output begins twice"));
        }
        let open = match item["type"].as_str() {
            Some("message") => new_message(),
            Some("reasoning") => new_reasoning(),
            Some("function_call") => {
                let id = self.ids.admit(item["call_id"].as_str())?;
                let name = encoding::tool_name(item["name"].as_str().unwrap_or_default());
                if !name.is_empty() {
                    out.push(ModelEvent::CallStarted { id: id.clone(), name: name.clone() });
                }
                Open::Call { id, name, arguments: String::new() }
            }
            Some(_) | None => Open::Other,
        };
        self.items.push(Slot::new(index, wire_id.map(str::to_owned), open));
        Ok(self.items.len() - 1)
    }

    /// The item as a whole: what it says counts, and what did not stream is passed on now.
    fn done(&mut self, data: &Value, out: &mut Vec<ModelEvent>) -> Result<(), Failure> {
        let item = &data["item"];
        let (index, id) = (data["output_index"].as_u64(), item["id"].as_str());
        let known = if index.is_none() && id.is_none() {
            // Neither named: it ends the newest one, if that is of its kind.
            self.find(None, None).filter(|&at| self.items[at].open.is_a(&item["type"]))
        } else {
            self.find(index, id)
        };
        let at = match known {
            Some(at) => at,
            None => self.added(data, out)?,
        };
        self.items[at].ended = true;
        self.items[at].cut = matches!(item["status"].as_str(), Some("incomplete" | "in_progress"));
        match &mut self.items[at].open {
            Open::Message { text, refused } => {
                let mut whole = String::new();
                for part in item["content"].as_array().into_iter().flatten() {
                    *refused |= part["type"] == "refusal";
                    let said = part["text"].as_str().or_else(|| part["refusal"].as_str());
                    whole.push_str(said.unwrap_or_default());
                }
                if let Some(rest) = whole.strip_prefix(text.as_str()).filter(|it| !it.is_empty()) {
                    out.push(ModelEvent::Text(rest.to_owned()));
                    *text = whole;
                }
            }
            Open::Reasoning { id, streamed, summary, sealed } => {
                item["id"].as_str().unwrap_or_default().clone_into(id);
                item["encrypted_content"].as_str().unwrap_or_default().clone_into(sealed);
                *summary = texts(&item["summary"]);
                if streamed.is_empty() {
                    let said =
                        if summary.is_empty() { texts(&item["content"]) } else { summary.clone() };
                    *streamed = said.join("\n\n");
                    if !streamed.is_empty() {
                        out.push(ModelEvent::Thinking(streamed.clone()));
                    }
                }
            }
            Open::Call { id, name, arguments } => {
                if let Some(late) = item["name"].as_str().filter(|late| !late.is_empty())
                    && name.is_empty()
                {
                    *name = encoding::tool_name(late);
                    out.push(ModelEvent::CallStarted { id: id.clone(), name: name.clone() });
                }
                if let Some(whole) = item["arguments"].as_str().filter(|it| !it.is_empty()) {
                    whole.clone_into(arguments);
                }
            }
            Open::Other => {}
        }
        Ok(())
    }

    fn text(
        &mut self,
        data: &Value,
        refusal: bool,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), Failure> {
        let Open::Message { text, refused } = &mut self.slot_or(data, new_message).open else {
            return Err(protocol("text for an item of another kind"));
        };
        *refused |= refusal;
        text.push_str(piece(data));
        if !piece(data).is_empty() {
            out.push(ModelEvent::Text(piece(data).to_owned()));
        }
        Ok(())
    }

    fn thought(
        &mut self,
        data: &Value,
        piece: &str,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), Failure> {
        let Open::Reasoning { streamed, .. } = &mut self.slot_or(data, new_reasoning).open else {
            return Err(protocol("reasoning for an item of another kind"));
        };
        let piece = if piece.is_empty() && !streamed.is_empty() { "\n\n" } else { piece };
        streamed.push_str(piece);
        if !piece.is_empty() {
            out.push(ModelEvent::Thinking(piece.to_owned()));
        }
        Ok(())
    }

    fn arguments(&mut self, data: &Value) -> Result<(), Failure> {
        let Some(at) = self.slot(data) else {
            return Err(protocol("arguments for a call that did not begin"));
        };
        self.items[at].ended |= data["type"] == "response.function_call_arguments.done";
        let Open::Call { arguments, .. } = &mut self.items[at].open else {
            return Err(protocol("arguments for an item of another kind"));
        };
        match data["arguments"].as_str().filter(|whole| !whole.is_empty()) {
            Some(whole) => whole.clone_into(arguments),
            None => arguments.push_str(piece(data)),
        }
        Ok(())
    }

    fn reply(
        &mut self,
        kind: &str,
        response: &Value,
        out: &mut Vec<ModelEvent>,
    ) -> Result<Reply, Failure> {
        if self.items.is_empty() {
            // Nothing streamed: the whole answer comes with its end.
            for item in response["output"].as_array().into_iter().flatten() {
                let place = self.items.len();
                self.done(&json!({ "item": item, "output_index": place }), out)?;
            }
        }
        // Some servers tell the end of an item only with the whole answer.
        for at in 0..self.items.len() {
            let slot = &self.items[at];
            let (index, wire_id) = (slot.index, slot.wire_id.clone());
            if slot.ended || !slot.is_call() || wire_id.is_none() {
                continue;
            }
            let same = |item: &&Value| item["id"].as_str() == wire_id.as_deref();
            let whole = response["output"].as_array().into_iter().flatten().find(same);
            if let Some(item) = whole {
                self.done(&json!({ "item": item, "output_index": index }), out)?;
            }
        }
        if self.items.iter().any(|slot| slot.is_call() && !slot.ended) {
            return Err(protocol("a tool call that never ended"));
        }
        let cut = self.items.iter().any(|slot| slot.is_call() && slot.cut);
        let items = std::mem::take(&mut self.items);
        let refused =
            items.iter().any(|slot| matches!(slot.open, Open::Message { refused: true, .. }));
        let blocks = items.into_iter().filter_map(|slot| slot.open.finish()).collect();
        let message = AssistantMessage { blocks };
        let usage = usage(&response["usage"]);
        let reason = response["incomplete_details"]["reason"].as_str();
        // What the answer says of itself counts, whatever the event is called.
        let status = match (kind, response["status"].as_str()) {
            ("response.incomplete", _) => "incomplete",
            (_, _) if reason.is_some() => "incomplete",
            (_, status) => status.unwrap_or("completed"),
        };
        let stop = match (status, reason) {
            ("incomplete", Some("content_filter")) => Stop::Refusal,
            ("incomplete", Some("max_output_tokens") | None) => Stop::MaxTokens,
            ("incomplete", Some(other)) => Stop::Other(other.to_owned()),
            (status, _) if status != "completed" => Stop::Other(status.to_owned()),
            _ if cut => Stop::MaxTokens,
            _ if refused => Stop::Refusal,
            _ if self.was_cut(&message, usage) => Stop::MaxTokens,
            _ if message.tool_calls().next().is_some() => Stop::ToolUse,
            _ => Stop::EndTurn,
        };
        Ok(Reply { message, stop, usage })
    }

    /// Some servers call an answer complete that they cut at the limit.
    fn was_cut(&self, message: &AssistantMessage, usage: Usage) -> bool {
        let mut calls = message.tool_calls().peekable();
        let unfinished = calls.peek().is_none()
            || calls.any(|call| matches!(call.arguments, Arguments::Invalid { .. }));
        unfinished && self.limit.is_some_and(|limit| usage.output_tokens >= limit)
    }
}

impl Decoder for ResponsesDecoder {
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
    fn is_a(&self, kind: &Value) -> bool {
        match self {
            Open::Message { .. } => kind == "message",
            Open::Reasoning { .. } => kind == "reasoning",
            Open::Call { .. } => kind == "function_call",
            Open::Other => false,
        }
    }

    /// The item as history keeps it; nothing where nothing was said.
    fn finish(self) -> Option<Block> {
        match self {
            Open::Message { text, .. } => (!text.is_empty()).then_some(Block::Text(text)),
            Open::Reasoning { id, summary, sealed, .. } if !sealed.is_empty() => {
                Some(Block::Reasoning { id, summary, sealed })
            }
            Open::Reasoning { streamed, .. } => (!streamed.is_empty())
                .then_some(Block::Thinking { text: streamed, signature: None }),
            Open::Call { id, name, arguments } => {
                let arguments = parse_arguments(&arguments);
                Some(Block::ToolCall(ToolCall { id, name, arguments }))
            }
            Open::Other => None,
        }
    }
}

fn new_message() -> Open {
    Open::Message { text: String::new(), refused: false }
}

fn new_reasoning() -> Open {
    Open::Reasoning {
        id: String::new(),
        streamed: String::new(),
        summary: Vec::new(),
        sealed: String::new(),
    }
}

fn piece(data: &Value) -> &str {
    data["delta"].as_str().unwrap_or_default()
}

fn texts(parts: &Value) -> Vec<String> {
    let parts = parts.as_array().into_iter().flatten();
    parts.filter_map(|part| part["text"].as_str().map(str::to_owned)).collect()
}

fn usage(wire: &Value) -> Usage {
    let count = |value: &Value| value.as_u64().unwrap_or_default();
    Usage {
        input_tokens: count(&wire["input_tokens"]),
        output_tokens: count(&wire["output_tokens"]),
        cached_tokens: count(&wire["input_tokens_details"]["cached_tokens"]),
    }
}

fn reported(data: &Value) -> Failure {
    failure::from_stream(data).unwrap_or_else(|| Failure {
        kind: FailureKind::Server,
        message: "The model server reported an error.".to_owned(),
        hint: String::new(),
        retry_after_ms: None,
    })
}

#[cfg(test)]
mod tests;

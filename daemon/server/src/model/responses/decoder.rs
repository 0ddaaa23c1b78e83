//! Decoder of Responses event streams.

use bytes::Bytes;
use cairn_core::{
    conversation::{AssistantMessage, Block, ToolArguments, ToolCall},
    ids::CallId,
    model::{Failure, ModelEvent, Reply, Stop, Usage},
};
use serde_json::{Value, json};

use super::super::{
    encoding::{self, CallIds, DecodeResult, Decoder, IdRule, parse_arguments, protocol},
    failure,
};

/// Decoder of one answer.
#[derive(Debug)]
pub struct ResponsesDecoder {
    ids: CallIds,
    /// Limit of the answer in tokens.
    limit: Option<u64>,
    items: Vec<OpenItem>,
}

/// Output item that has started.
#[derive(Debug)]
struct OpenItem {
    index: Option<u64>,
    wire_id: Option<String>,
    kind: ItemKind,
    /// Its end was received.
    ended: bool,
    /// The server reports it as incomplete.
    cut: bool,
}

impl OpenItem {
    fn new(index: Option<u64>, wire_id: Option<String>, kind: ItemKind) -> Self {
        Self { index, wire_id, kind, ended: false, cut: false }
    }

    fn is_call(&self) -> bool {
        matches!(self.kind, ItemKind::Call { .. })
    }
}

/// Content of an output item.
#[derive(Debug)]
enum ItemKind {
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
        id: CallId,
        name: String,
        arguments: String,
    },
    /// Item of a kind that this client did not ask for.
    Other,
}

impl ResponsesDecoder {
    pub fn new(id_prefix: impl Into<String>, conversation: Bytes) -> Self {
        let ids = CallIds::new(id_prefix, conversation, IdRule::RESPONSES);
        Self { ids, limit: None, items: Vec::new() }
    }

    /// Sets the limit of the answer in tokens.
    pub fn with_limit(mut self, tokens: Option<u32>) -> Self {
        self.limit = tokens.map(u64::from);
        self
    }

    /// Finds the item of an event by its index, else by its id: some servers change the id during
    /// the stream. An event with neither belongs to the newest item.
    fn find(&self, index: Option<u64>, id: Option<&str>) -> Option<usize> {
        let by_index = || self.items.iter().rposition(|open_item| open_item.index == index);
        let by_id = || self.items.iter().rposition(|open_item| open_item.wire_id.as_deref() == id);
        match (index, id) {
            (Some(_), _) => by_index().or_else(|| id.and_then(|_| by_id())),
            (None, Some(_)) => by_id(),
            (None, None) => self.items.len().checked_sub(1),
        }
    }

    fn item_at(&self, data: &Value) -> Option<usize> {
        self.find(data["output_index"].as_u64(), data["item_id"].as_str())
    }

    /// Returns the item of an event. Adds it if the server left out its start.
    fn item_or_new(&mut self, data: &Value, new_kind: fn() -> ItemKind) -> &mut OpenItem {
        let at = self.item_at(data).unwrap_or_else(|| {
            let wire_id = data["item_id"].as_str().map(str::to_owned);
            self.items.push(OpenItem::new(data["output_index"].as_u64(), wire_id, new_kind()));
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
        let kind = match item["type"].as_str() {
            Some("message") => new_message(),
            Some("reasoning") => new_reasoning(),
            Some("function_call") => {
                let id = self.ids.admit(item["call_id"].as_str())?;
                let name = encoding::tool_name(item["name"].as_str().unwrap_or_default());
                if !name.is_empty() {
                    out.push(ModelEvent::CallStarted { id: id.clone(), name: name.clone() });
                }
                ItemKind::Call { id, name, arguments: String::new() }
            }
            Some(_) | None => ItemKind::Other,
        };
        self.items.push(OpenItem::new(index, wire_id.map(str::to_owned), kind));
        Ok(self.items.len() - 1)
    }

    /// Reads the finished item, which replaces the streamed content. Passes on text that was not
    /// streamed.
    fn done(&mut self, data: &Value, out: &mut Vec<ModelEvent>) -> Result<(), Failure> {
        let item = &data["item"];
        let (index, id) = (data["output_index"].as_u64(), item["id"].as_str());
        let known = if index.is_none() && id.is_none() {
            // Without index and id it ends the newest item, if that has the same kind.
            self.find(None, None).filter(|&at| self.items[at].kind.is_a(&item["type"]))
        } else {
            self.find(index, id)
        };
        let at = match known {
            Some(at) => at,
            None => self.added(data, out)?,
        };
        self.items[at].ended = true;
        self.items[at].cut = matches!(item["status"].as_str(), Some("incomplete" | "in_progress"));
        match &mut self.items[at].kind {
            ItemKind::Message { text, refused } => {
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
            ItemKind::Reasoning { id, streamed, summary, sealed } => {
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
            ItemKind::Call { id, name, arguments } => {
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
            ItemKind::Other => {}
        }
        Ok(())
    }

    fn text(
        &mut self,
        data: &Value,
        refusal: bool,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), Failure> {
        let ItemKind::Message { text, refused } = &mut self.item_or_new(data, new_message).kind
        else {
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
        let ItemKind::Reasoning { streamed, .. } = &mut self.item_or_new(data, new_reasoning).kind
        else {
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
        let Some(at) = self.item_at(data) else {
            return Err(protocol("arguments for a call that did not begin"));
        };
        self.items[at].ended |= data["type"] == "response.function_call_arguments.done";
        let ItemKind::Call { arguments, .. } = &mut self.items[at].kind else {
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
            // The server streamed nothing and sends the whole answer with the last event.
            for item in response["output"].as_array().into_iter().flatten() {
                let place = self.items.len();
                self.done(&json!({ "item": item, "output_index": place }), out)?;
            }
        }
        // Some servers report the end of an item only in the last event.
        for at in 0..self.items.len() {
            let open_item = &self.items[at];
            let (index, wire_id) = (open_item.index, open_item.wire_id.clone());
            if open_item.ended || !open_item.is_call() || wire_id.is_none() {
                continue;
            }
            let same = |item: &&Value| item["id"].as_str() == wire_id.as_deref();
            let whole = response["output"].as_array().into_iter().flatten().find(same);
            if let Some(item) = whole {
                self.done(&json!({ "item": item, "output_index": index }), out)?;
            }
        }
        if self.items.iter().any(|open_item| open_item.is_call() && !open_item.ended) {
            return Err(protocol("a tool call that never ended"));
        }
        let cut = self.items.iter().any(|open_item| open_item.is_call() && open_item.cut);
        let items = std::mem::take(&mut self.items);
        let refused = items
            .iter()
            .any(|open_item| matches!(open_item.kind, ItemKind::Message { refused: true, .. }));
        let blocks = items.into_iter().filter_map(|open_item| open_item.kind.finish()).collect();
        let message = AssistantMessage { blocks };
        let usage = usage(&response["usage"]);
        let reason = response["incomplete_details"]["reason"].as_str();
        // The status in the answer takes precedence over the name of the event.
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

    /// True for an answer that the server cut at the limit but reports as complete.
    fn was_cut(&self, message: &AssistantMessage, usage: Usage) -> bool {
        let mut calls = message.tool_calls().peekable();
        let unfinished = calls.peek().is_none()
            || calls.any(|call| matches!(call.arguments, ToolArguments::Invalid { .. }));
        unfinished && self.limit.is_some_and(|limit| usage.output_tokens >= limit)
    }
}

impl Decoder for ResponsesDecoder {
    fn decode(&mut self, name: &str, data: &Value, out: &mut Vec<ModelEvent>) -> DecodeResult {
        let kind = match data["type"].as_str() {
            _ if name == "error" || !data["error"].is_null() => "error",
            Some(kind) => kind,
            None => name,
        };
        match kind {
            "error" => return Err(failure::reported(data)),
            "response.failed" => return Err(failure::reported(&data["response"])),
            "response.output_item.added" => {
                self.added(data, out)?;
            }
            "response.output_item.done" => self.done(data, out)?,
            "response.output_text.delta" => self.text(data, false, out)?,
            "response.refusal.delta" => self.text(data, true, out)?,
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.thought(data, piece(data), out)?;
            }
            // Each part is a paragraph.
            "response.reasoning_summary_part.added" => self.thought(data, "", out)?,
            "response.function_call_arguments.delta" | "response.function_call_arguments.done" => {
                self.arguments(data)?;
            }
            "response.completed" | "response.incomplete" => {
                let reply = self.reply(kind, &data["response"], out)?;
                out.push(ModelEvent::Finished(reply));
            }
            // Starts and ends of parts, and events of later versions.
            _ => {}
        }
        Ok(())
    }

    fn end_mark(&mut self, _out: &mut Vec<ModelEvent>) -> Option<DecodeResult> {
        Some(Ok(()))
    }
}

impl ItemKind {
    fn is_a(&self, kind: &Value) -> bool {
        match self {
            ItemKind::Message { .. } => kind == "message",
            ItemKind::Reasoning { .. } => kind == "reasoning",
            ItemKind::Call { .. } => kind == "function_call",
            ItemKind::Other => false,
        }
    }

    /// Block for the conversation; `None` if the item is empty.
    fn finish(self) -> Option<Block> {
        match self {
            ItemKind::Message { text, .. } => (!text.is_empty()).then_some(Block::Text(text)),
            ItemKind::Reasoning { id, summary, sealed, .. } if !sealed.is_empty() => {
                Some(Block::Reasoning { id, summary, sealed })
            }
            ItemKind::Reasoning { streamed, .. } => (!streamed.is_empty())
                .then_some(Block::Thinking { text: streamed, signature: None }),
            ItemKind::Call { id, name, arguments } => {
                let arguments = parse_arguments(&arguments);
                Some(Block::ToolCall(ToolCall { id, name, arguments }))
            }
            ItemKind::Other => None,
        }
    }
}

fn new_message() -> ItemKind {
    ItemKind::Message { text: String::new(), refused: false }
}

fn new_reasoning() -> ItemKind {
    ItemKind::Reasoning {
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

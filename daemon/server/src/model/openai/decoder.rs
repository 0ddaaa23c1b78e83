//! Decoder of Chat Completions event streams.

use bytes::Bytes;
use cairn_core::{
    conversation::{AssistantMessage, Block, ToolCall},
    ids::CallId,
    model::{Failure, FailureKind, ModelEvent, Reply, Stop, Usage},
};
use serde_json::{Map, Value};

use super::super::{
    encoding::{
        self, CallIds, DecodeResult, Decoder, IdRule, parse_arguments, protocol, stream_cut,
    },
    failure,
};
use super::tags::{Part, Splitter};

/// Decoder of one answer.
#[derive(Debug)]
pub struct ChatDecoder {
    ids: CallIds,
    any_chunk: bool,
    reasoning: String,
    /// Thinking between tags in the text. It is not returned.
    tagged: String,
    text: String,
    splitter: Splitter,
    /// Origin of the server.
    server: String,
    /// Name of the member that holds the reasoning.
    reasoning_name: &'static str,
    unknown: Unknown,
    calls: Vec<OpenCall>,
    finish: Option<String>,
    refused: bool,
    usage: Usage,
}

/// Tool call that has started.
#[derive(Debug)]
struct OpenCall {
    /// Unique in the conversation.
    id: CallId,
    /// Id that the server sent; it assigns pieces to calls.
    wire_id: Option<String>,
    index: Option<u64>,
    name: String,
    arguments: String,
}

/// Entry of `delta.tool_calls`.
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
            reasoning: String::new(),
            tagged: String::new(),
            text: String::new(),
            splitter: Splitter::default(),
            server: String::new(),
            reasoning_name: "",
            unknown: Unknown::default(),
            calls: Vec::new(),
            finish: None,
            refused: false,
            usage: Usage::default(),
        }
    }

    /// Sets the origin of the server.
    #[must_use]
    pub fn of_server(self, origin: &str) -> Self {
        Self { server: origin.to_owned(), ..self }
    }

    fn delta(&mut self, delta: &Value, out: &mut Vec<ModelEvent>) -> Result<(), Failure> {
        let text = |name: &str| delta[name].as_str().filter(|text| !text.is_empty());
        let reasoning = REASONING.iter().find_map(|name| Some((*name, text(name)?)));
        if let Some((name, piece)) = reasoning {
            self.reasoning_name = name;
            self.reasoning.push_str(piece);
            out.push(ModelEvent::Thinking(piece.to_owned()));
        }
        self.unknown.take(delta, &DELTA, None)?;
        if let Some(piece) = text("content") {
            let parts = self.splitter.push(piece);
            self.take_parts(parts, out);
        }
        if let Some(piece) = text("refusal") {
            self.refused = true;
            self.text.push_str(piece);
            out.push(ModelEvent::Text(piece.to_owned()));
        }
        for wire in delta["tool_calls"].as_array().into_iter().flatten() {
            let id = self.call_piece(&Piece::read(wire), out)?;
            self.unknown.take(wire, &CALL, Some(&id))?;
        }
        Ok(())
    }

    fn take_parts(&mut self, parts: Vec<Part>, out: &mut Vec<ModelEvent>) {
        for part in parts {
            out.push(match part {
                Part::Text(piece) => {
                    self.text.push_str(&piece);
                    ModelEvent::Text(piece)
                }
                Part::Thinking(piece) => {
                    self.tagged.push_str(&piece);
                    ModelEvent::Thinking(piece)
                }
                Part::TextWasThinking => {
                    self.tagged.push_str(&std::mem::take(&mut self.text));
                    ModelEvent::TextWasThinking
                }
            });
        }
    }

    /// Last events of an answer.
    fn finish(&mut self, out: &mut Vec<ModelEvent>) {
        let parts = self.splitter.end();
        self.take_parts(parts, out);
        let reply = self.reply();
        out.push(ModelEvent::Finished(reply));
    }

    /// Returns the id of the call that the piece belongs to.
    fn call_piece(
        &mut self,
        piece: &Piece<'_>,
        out: &mut Vec<ModelEvent>,
    ) -> Result<CallId, Failure> {
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
                Ok(call.id.clone())
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
                let id = call.id.clone();
                self.calls.push(call);
                Ok(id)
            }
        }
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
        if !self.tagged.is_empty() {
            let text = std::mem::take(&mut self.tagged);
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
        let Unknown { message, calls, .. } = std::mem::take(&mut self.unknown);
        if !(self.reasoning_name.is_empty() && message.is_empty() && calls.is_empty()) {
            blocks.push(Block::Returned {
                server: self.server.clone(),
                thinking: self.reasoning_name.to_owned(),
                message: message.into(),
                calls: calls.into(),
            });
        }
        let stop = match self.finish.as_deref() {
            Some("length" | "max_tokens") => Stop::MaxTokens,
            Some("content_filter" | "sensitive") => Stop::Refusal,
            // Sent by Zhipu and Mistral.
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

/// Members that hold reasoning, by server.
const REASONING: [&str; 2] = ["reasoning_content", "reasoning"];
/// Known members of a delta.
const DELTA: [&str; 7] =
    ["role", "content", "tool_calls", "refusal", "function_call", REASONING[0], REASONING[1]];
/// Known members of a call.
const CALL: [&str; 4] = ["id", "index", "type", "function"];
/// Most unknown members of a message or of a call, and most bytes of all.
const MOST_UNKNOWN: usize = 64;
const MOST_UNKNOWN_BYTES: usize = 1024 * 1024;

/// Members that Cairn does not know and sends back.
#[derive(Debug, Default)]
struct Unknown {
    message: Map<String, Value>,
    /// Members of each call, by its id.
    calls: Map<String, Value>,
    bytes: usize,
}

impl Unknown {
    /// Takes the members of a piece of the message, or of the call. Pieces of a text or of a list are
    /// joined.
    fn take(
        &mut self,
        piece: &Value,
        known: &[&str],
        call: Option<&CallId>,
    ) -> Result<(), Failure> {
        let members = piece.as_object().into_iter().flatten();
        let news: Vec<_> = members
            .filter(|(name, value)| !known.contains(&name.as_str()) && !value.is_null())
            .collect();
        if news.is_empty() {
            return Ok(());
        }
        let all = match call {
            None => &mut self.message,
            Some(id) => {
                let own = self.calls.entry(id.to_string()).or_insert_with(|| Map::new().into());
                let Value::Object(own) = own else { return Ok(()) };
                own
            }
        };
        for (name, value) in news {
            self.bytes += name.len() + value.to_string().len();
            match (all.get_mut(name), value) {
                (Some(Value::String(old)), Value::String(new)) => old.push_str(new),
                (Some(Value::Array(old)), Value::Array(new)) => old.extend(new.iter().cloned()),
                (Some(Value::Object(old)), Value::Object(new)) => old.extend(new.clone()),
                _ => {
                    all.insert(name.clone(), value.clone());
                }
            }
        }
        if all.len() > MOST_UNKNOWN || self.bytes > MOST_UNKNOWN_BYTES {
            return Err(protocol(format!(
                "it has more to be sent back than {MOST_UNKNOWN} members or {MOST_UNKNOWN_BYTES} bytes"
            )));
        }
        Ok(())
    }
}

/// True for finish reasons that servers are known to send with tool calls.
fn asks_to_run(finish: &str) -> bool {
    const REASONS: [&str; 7] =
        ["stop", "tool_calls", "tool_call", "function_call", "eos", "eos_token", "end_turn"];
    REASONS.iter().any(|reason| finish.eq_ignore_ascii_case(reason))
}

impl Decoder for ChatDecoder {
    fn decode(&mut self, name: &str, data: &Value, out: &mut Vec<ModelEvent>) -> DecodeResult {
        let is_error = !data["error"].is_null() || data["object"] == "error" || name == "error";
        if is_error && let Some(failure) = failure::from_stream(data) {
            return Err(failure);
        }
        self.any_chunk = true;
        self.read_usage(&data["usage"]);
        // One choice, because `n` is one. The chunk with the usage has none.
        let choice = &data["choices"][0];
        let calls = choice["delta"]["tool_calls"].as_array();
        if self.finish.is_some() && calls.is_some_and(|calls| !calls.is_empty()) {
            return Err(protocol("a tool call after the finish reason"));
        }
        self.delta(&choice["delta"], out)?;
        match choice["finish_reason"].as_str() {
            // DashScope sends "null".
            None | Some("" | "null") => {}
            // Sent by DeepSeek, Zhipu, Mistral and OpenRouter.
            Some("error" | "insufficient_system_resource" | "network_error") => {
                let message = "The model server ended the answer with an error.";
                return Err(Failure::new(FailureKind::Server, message));
            }
            // Of several reasons, one with which calls do not run takes precedence.
            Some(finish) if self.finish.as_deref().is_none_or(asks_to_run) => {
                self.finish = Some(finish.to_ascii_lowercase());
            }
            Some(_) => {}
        }
        Ok(())
    }

    fn end_mark(&mut self, out: &mut Vec<ModelEvent>) -> Option<DecodeResult> {
        if !self.any_chunk {
            return Some(Err(protocol("the stream ended before it began")));
        }
        if self.finish.is_none() && !self.calls.is_empty() {
            return Some(Err(protocol("tool calls without a finish reason")));
        }
        self.finish(out);
        Some(Ok(()))
    }

    fn cut_off(&mut self, out: &mut Vec<ModelEvent>) {
        match self.finish {
            Some(_) => self.finish(out),
            None => out.push(ModelEvent::Failed(stream_cut("the stream ended early"))),
        }
    }

    fn is_complete(&self) -> bool {
        self.finish.is_some()
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

    /// True if the piece starts another call although its index matches this one. Some servers give
    /// all parallel calls the index zero, or send no index.
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

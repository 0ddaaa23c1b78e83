//! Decoder of Messages event streams.

use std::collections::BTreeMap;

use bytes::Bytes;
use cairn_core::{
    conversation::{AssistantMessage, Block, ToolCall},
    ids::CallId,
    model::{Failure, ModelEvent, Reply, Stop, Usage},
};
use serde_json::{Map, Value};

use super::super::{
    encoding::{
        self, CallIds, DecodeResult, Decoder, IdRule, parse_arguments, protocol, stream_cut,
    },
    failure,
};

/// Decoder of one answer.
#[derive(Debug)]
pub struct MessagesDecoder {
    ids: CallIds,
    started: bool,
    blocks: BTreeMap<u64, OpenBlock>,
    /// Block that an event without an index belongs to.
    newest: u64,
    stop: Option<String>,
    usage: WireUsage,
}

/// Content block that has started.
#[derive(Debug)]
struct OpenBlock {
    kind: BlockKind,
    closed: bool,
}

#[derive(Debug)]
enum BlockKind {
    Text(String),
    Thinking {
        text: String,
        signature: String,
    },
    Redacted(String),
    Call {
        id: CallId,
        name: String,
        input: Option<Value>,
        json: String,
    },
    /// Block of a kind that this client did not ask for.
    Other,
}

/// Token counts. They are cumulative, so each field keeps its newest value.
#[derive(Debug, Default)]
struct WireUsage {
    fresh: u64,
    cache_written: u64,
    cache_read: u64,
    output: u64,
}

impl MessagesDecoder {
    pub fn new(id_prefix: impl Into<String>, conversation: Bytes) -> Self {
        Self {
            ids: CallIds::new(id_prefix, conversation, IdRule::MESSAGES),
            started: false,
            blocks: BTreeMap::new(),
            newest: 0,
            stop: None,
            usage: WireUsage::default(),
        }
    }

    fn event(&mut self, name: &str, data: &Value) -> Result<Option<ModelEvent>, Failure> {
        let kind = match (name, data["type"].as_str()) {
            // Some servers send the error object without a wrapper; then `type` is the error's.
            ("error", _) => "error",
            (_, Some(kind)) => kind,
            (_, None) if !data["error"].is_null() => "error",
            (name, None) => name,
        };
        match kind {
            "error" => Err(failure::reported(data)),
            "message_start" => self.message_start(data),
            "content_block_start"
            | "content_block_delta"
            | "content_block_stop"
            | "message_delta"
            | "message_stop"
                if !self.started =>
            {
                Err(protocol(format!("{kind} before message_start")))
            }
            // The stop reason covers all blocks, so a block after it is a fault.
            "content_block_start" | "content_block_delta" | "content_block_stop"
                if self.stop.is_some() =>
            {
                Err(protocol(format!("{kind} after the stop reason")))
            }
            "content_block_start" => self.block_start(data),
            "content_block_delta" => self.block_delta(data),
            "content_block_stop" => {
                self.open_block(data, kind)?.closed = true;
                Ok(None)
            }
            "message_delta" => {
                if let Some(stop) = data["delta"]["stop_reason"].as_str()
                    && self.stop.replace(stop.to_owned()).is_some_and(|before| before != stop)
                {
                    return Err(protocol("two stop reasons"));
                }
                self.usage.update(&data["usage"]);
                Ok(None)
            }
            "message_stop" if self.blocks.values().any(OpenBlock::is_open_call) => {
                Err(protocol("a tool call that never ended"))
            }
            "message_stop" => match self.stop.take() {
                Some(stop) => Ok(Some(ModelEvent::Finished(self.reply(&stop)))),
                None => Err(stream_cut("the message ended without a stop reason")),
            },
            // `ping`, and events of later versions.
            _ => Ok(None),
        }
    }

    fn message_start(&mut self, data: &Value) -> Result<Option<ModelEvent>, Failure> {
        if std::mem::replace(&mut self.started, true) {
            return Err(protocol("a second message_start"));
        }
        self.usage.update(&data["message"]["usage"]);
        Ok(None)
    }

    fn block_start(&mut self, data: &Value) -> Result<Option<ModelEvent>, Failure> {
        let next = self.blocks.last_key_value().map_or(0, |(index, _)| index.saturating_add(1));
        let index = data["index"].as_u64().unwrap_or(next);
        if self.blocks.contains_key(&index) {
            return Err(protocol(format!("content block {index} starts twice")));
        }
        let block = &data["content_block"];
        let text = |name: &str| block[name].as_str().unwrap_or_default().to_owned();
        let (kind, event) = match block["type"].as_str() {
            Some("text") => {
                (BlockKind::Text(text("text")), nonempty_event(ModelEvent::Text, text("text")))
            }
            Some("thinking") => (
                BlockKind::Thinking { text: text("thinking"), signature: text("signature") },
                nonempty_event(ModelEvent::Thinking, text("thinking")),
            ),
            Some("redacted_thinking") => (BlockKind::Redacted(text("data")), None),
            Some("tool_use") => {
                let id = self.ids.admit(block["id"].as_str())?;
                let name = encoding::tool_name(&text("name"));
                let input = block["input"].as_object().filter(|input| !input.is_empty());
                let input = input.map(|input: &Map<_, _>| Value::Object(input.clone()));
                let event = ModelEvent::CallStarted { id: id.clone(), name: name.clone() };
                (BlockKind::Call { id, name, input, json: String::new() }, Some(event))
            }
            Some(_) | None => (BlockKind::Other, None),
        };
        self.blocks.insert(index, OpenBlock { kind, closed: false });
        self.newest = index;
        Ok(event)
    }

    fn block_delta(&mut self, data: &Value) -> Result<Option<ModelEvent>, Failure> {
        let delta = &data["delta"];
        let piece = |name: &str| delta[name].as_str().unwrap_or_default();
        let block = self.open_block(data, "content_block_delta")?;
        let event = match (delta["type"].as_str().unwrap_or_default(), &mut block.kind) {
            ("text_delta", BlockKind::Text(text)) => {
                text.push_str(piece("text"));
                nonempty_event(ModelEvent::Text, piece("text").to_owned())
            }
            ("thinking_delta", BlockKind::Thinking { text, .. }) => {
                text.push_str(piece("thinking"));
                nonempty_event(ModelEvent::Thinking, piece("thinking").to_owned())
            }
            ("signature_delta", BlockKind::Thinking { signature, .. }) => {
                signature.push_str(piece("signature"));
                None
            }
            ("input_json_delta", BlockKind::Call { json, .. }) => {
                json.push_str(piece("partial_json"));
                None
            }
            (_, BlockKind::Other) => None,
            (
                kind @ ("text_delta" | "thinking_delta" | "signature_delta" | "input_json_delta"),
                _,
            ) => {
                return Err(protocol(format!("{kind} for a block of another kind")));
            }
            // Citations, and deltas of later versions.
            _ => None,
        };
        Ok(event)
    }

    fn open_block(&mut self, data: &Value, what: &str) -> Result<&mut OpenBlock, Failure> {
        let index = data["index"].as_u64().unwrap_or(self.newest);
        match self.blocks.get_mut(&index) {
            Some(open) if !open.closed => Ok(open),
            Some(_) | None => {
                Err(protocol(format!("{what} for content block {index}, which is not open")))
            }
        }
    }

    fn reply(&mut self, stop: &str) -> Reply {
        let blocks = std::mem::take(&mut self.blocks).into_values().filter_map(OpenBlock::finish);
        let message = AssistantMessage { blocks: blocks.collect() };
        let has_calls = message.tool_calls().next().is_some();
        let stop = match stop {
            // The only reason with which calls run.
            "tool_use" if has_calls => Stop::ToolUse,
            "tool_use" | "end_turn" | "stop_sequence" => Stop::EndTurn,
            "max_tokens" => Stop::MaxTokens,
            "refusal" => Stop::Refusal,
            "pause_turn" => Stop::Pause,
            "model_context_window_exceeded" => Stop::ContextOverflow,
            other => Stop::Other(other.to_owned()),
        };
        Reply { message, stop, usage: self.usage.total() }
    }
}

impl Decoder for MessagesDecoder {
    fn decode(&mut self, name: &str, data: &Value, out: &mut Vec<ModelEvent>) -> DecodeResult {
        self.event(name, data).map(|event| out.extend(event))
    }
}

impl OpenBlock {
    fn is_open_call(&self) -> bool {
        !self.closed && matches!(self.kind, BlockKind::Call { .. })
    }

    /// Block for the conversation; `None` if it is empty.
    fn finish(self) -> Option<Block> {
        match self.kind {
            BlockKind::Text(text) => (!text.is_empty()).then_some(Block::Text(text)),
            BlockKind::Thinking { text, signature } => {
                let signature = (!signature.is_empty()).then_some(signature);
                (!text.is_empty() || signature.is_some())
                    .then_some(Block::Thinking { text, signature })
            }
            BlockKind::Redacted(data) => Some(Block::RedactedThinking(data)),
            BlockKind::Call { id, name, input, json } => {
                let arguments = match (json.trim(), input) {
                    ("", Some(input)) => parse_arguments(&input.to_string()),
                    (raw, _) => parse_arguments(raw),
                };
                Some(Block::ToolCall(ToolCall { id, name, arguments }))
            }
            BlockKind::Other => None,
        }
    }
}

impl WireUsage {
    fn update(&mut self, wire: &Value) {
        for (field, place) in [
            ("input_tokens", &mut self.fresh),
            ("cache_creation_input_tokens", &mut self.cache_written),
            ("cache_read_input_tokens", &mut self.cache_read),
            ("output_tokens", &mut self.output),
        ] {
            if let Some(count) = wire[field].as_u64() {
                *place = count;
            }
        }
    }

    fn total(&self) -> Usage {
        Usage {
            input_tokens: self
                .fresh
                .saturating_add(self.cache_written)
                .saturating_add(self.cache_read),
            output_tokens: self.output,
            cached_tokens: self.cache_read,
        }
    }
}

/// Event for a piece of text, unless it is empty.
fn nonempty_event(event: fn(String) -> ModelEvent, text: String) -> Option<ModelEvent> {
    (!text.is_empty()).then(|| event(text))
}

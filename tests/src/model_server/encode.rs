//! A scripted reply as the event stream of each format.

use cairn_core::model::{Stop, Usage};
use serde_json::{Value, json};

use super::Wire;

/// Answer of the model, independent of the wire format.
#[derive(Debug, Clone)]
pub struct Reply {
    pub thinking: String,
    pub text: String,
    pub calls: Vec<ReplyCall>,
    pub stop: Stop,
    pub usage: Usage,
}

#[derive(Debug, Clone)]
pub struct ReplyCall {
    pub id: String,
    pub name: String,
    /// As text, so that it can be wrong.
    pub arguments: String,
}

/// Small enough that most texts and arguments arrive in several events.
const PIECE_CHARS: usize = 7;

impl Reply {
    pub fn text(text: &str) -> Self {
        Self {
            thinking: String::new(),
            text: text.to_owned(),
            calls: Vec::new(),
            stop: Stop::EndTurn,
            usage: Usage { input_tokens: 10, output_tokens: 5, cached_tokens: 2 },
        }
    }

    /// Adds a call, and makes the reply stop for it.
    pub fn call(self, id: &str, name: &str, arguments: Value) -> Self {
        self.call_raw(id, name, &arguments.to_string())
    }

    pub fn call_raw(mut self, id: &str, name: &str, arguments: &str) -> Self {
        self.calls.push(ReplyCall {
            id: id.to_owned(),
            name: name.to_owned(),
            arguments: arguments.to_owned(),
        });
        self.stop = Stop::ToolUse;
        self
    }

    pub fn thinking(mut self, thinking: &str) -> Self {
        self.thinking = thinking.to_owned();
        self
    }

    pub fn stop(mut self, stop: Stop) -> Self {
        self.stop = stop;
        self
    }

    pub fn usage(mut self, usage: Usage) -> Self {
        self.usage = usage;
        self
    }

    pub fn encode(&self, wire: Wire) -> Vec<u8> {
        match wire {
            Wire::Anthropic => self.anthropic(),
            Wire::OpenAi => self.openai(),
            Wire::Responses => self.responses(),
        }
    }

    fn anthropic(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut event = |data: Value| {
            let name = data["type"].as_str().unwrap_or_default();
            out.extend_from_slice(format!("event: {name}\ndata: {data}\n\n").as_bytes());
        };
        let usage = self.usage;
        event(json!({"type": "message_start", "message": {
            "id": "msg_1", "type": "message", "role": "assistant", "content": [], "model": "scripted",
            "stop_reason": null, "stop_sequence": null,
            "usage": {
                "input_tokens": usage.input_tokens.saturating_sub(usage.cached_tokens),
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": usage.cached_tokens,
                "output_tokens": 1,
            },
        }}));
        event(json!({"type": "ping"}));
        let mut index = 0;
        let mut block = |start: Value, deltas: Vec<Value>| {
            event(json!({"type": "content_block_start", "index": index, "content_block": start}));
            for delta in deltas {
                event(json!({"type": "content_block_delta", "index": index, "delta": delta}));
            }
            event(json!({"type": "content_block_stop", "index": index}));
            index += 1;
        };
        if !self.thinking.is_empty() {
            let deltas = pieces(&self.thinking)
                .map(|piece| json!({"type": "thinking_delta", "thinking": piece}))
                .chain([json!({"type": "signature_delta", "signature": "scripted"})]);
            block(json!({"type": "thinking", "thinking": "", "signature": ""}), deltas.collect());
        }
        if !self.text.is_empty() {
            let deltas =
                pieces(&self.text).map(|piece| json!({"type": "text_delta", "text": piece}));
            block(json!({"type": "text", "text": ""}), deltas.collect());
        }
        for call in &self.calls {
            let deltas = pieces(&call.arguments)
                .map(|piece| json!({"type": "input_json_delta", "partial_json": piece}));
            block(
                json!({"type": "tool_use", "id": call.id, "name": call.name, "input": {}}),
                deltas.collect(),
            );
        }
        let stop = match &self.stop {
            Stop::EndTurn => "end_turn",
            Stop::ToolUse => "tool_use",
            Stop::MaxTokens => "max_tokens",
            Stop::Refusal => "refusal",
            Stop::ContextOverflow => "model_context_window_exceeded",
            Stop::Pause => "pause_turn",
            Stop::Other(word) => word,
        };
        event(json!({
            "type": "message_delta",
            "delta": {"stop_reason": stop, "stop_sequence": null},
            "usage": {"output_tokens": usage.output_tokens},
        }));
        event(json!({"type": "message_stop"}));
        out
    }

    fn openai(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut chunk = |choices: Value, usage: Value| {
            let data = json!({
                "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1,
                "model": "scripted", "choices": choices, "usage": usage,
            });
            out.extend_from_slice(format!("data: {data}\n\n").as_bytes());
        };
        let mut delta = |delta: Value, finish: Option<&str>| {
            chunk(json!([{"index": 0, "delta": delta, "finish_reason": finish}]), Value::Null);
        };
        delta(json!({"role": "assistant", "content": null}), None);
        for piece in pieces(&self.thinking) {
            delta(json!({"reasoning_content": piece}), None);
        }
        for piece in pieces(&self.text) {
            delta(json!({"content": piece}), None);
        }
        for (index, call) in self.calls.iter().enumerate() {
            let start = json!({
                "index": index, "id": call.id, "type": "function",
                "function": {"name": call.name, "arguments": ""},
            });
            delta(json!({"tool_calls": [start]}), None);
            for piece in pieces(&call.arguments) {
                let piece = json!({"index": index, "function": {"arguments": piece}});
                delta(json!({"tool_calls": [piece]}), None);
            }
        }
        let finish = match &self.stop {
            Stop::EndTurn => "stop",
            Stop::ToolUse => "tool_calls",
            Stop::MaxTokens => "length",
            Stop::Refusal => "content_filter",
            // The format has no word for these.
            Stop::ContextOverflow => "model_context_window_exceeded",
            Stop::Pause => "pause",
            Stop::Other(word) => word,
        };
        delta(json!({}), Some(finish));
        chunk(
            json!([]),
            json!({
                "prompt_tokens": self.usage.input_tokens,
                "completion_tokens": self.usage.output_tokens,
                "total_tokens": self.usage.input_tokens + self.usage.output_tokens,
                "prompt_tokens_details": {"cached_tokens": self.usage.cached_tokens},
            }),
        );
        out.extend_from_slice(b"data: [DONE]\n\n");
        out
    }

    /// The numbers of events and items are left out where some servers leave them out.
    fn responses(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut event = |kind: &str, mut data: Value| {
            data["type"] = format!("response.{kind}").into();
            out.extend_from_slice(format!("event: response.{kind}\ndata: {data}\n\n").as_bytes());
        };
        event("created", json!({"response": {"id": "resp_1", "status": "in_progress"}}));
        let mut output = Vec::new();
        if !self.thinking.is_empty() {
            let mut item = json!({"type": "reasoning", "id": "rs_1", "summary": []});
            event("output_item.added", json!({"output_index": 0, "item": item}));
            for piece in pieces(&self.thinking) {
                let data = json!({"item_id": "rs_1", "output_index": 0, "delta": piece});
                event("reasoning_summary_text.delta", data);
            }
            item["summary"] = json!([{"type": "summary_text", "text": self.thinking}]);
            item["encrypted_content"] = "scripted".into();
            event("output_item.done", json!({"output_index": 0, "item": item}));
            output.push(item);
        }
        if !self.text.is_empty() {
            let mut item =
                json!({"type": "message", "id": "msg_1", "role": "assistant", "content": []});
            let at = output.len();
            event("output_item.added", json!({"output_index": at, "item": item}));
            for piece in pieces(&self.text) {
                let data = json!({"item_id": "msg_1", "output_index": at, "delta": piece});
                event("output_text.delta", data);
            }
            item["content"] = json!([{"type": "output_text", "text": self.text}]);
            event("output_item.done", json!({"output_index": at, "item": item}));
            output.push(item);
        }
        for call in &self.calls {
            let wire_id = format!("fc_{}", call.id);
            let mut item = json!({
                "type": "function_call", "id": wire_id, "call_id": call.id, "name": call.name,
                "arguments": "",
            });
            let at = output.len();
            event("output_item.added", json!({"output_index": at, "item": item}));
            for piece in pieces(&call.arguments) {
                let data = json!({"item_id": wire_id, "output_index": at, "delta": piece});
                event("function_call_arguments.delta", data);
            }
            item["arguments"] = call.arguments.clone().into();
            event("output_item.done", json!({"output_index": at, "item": item}));
            output.push(item);
        }
        let reason = match &self.stop {
            Stop::EndTurn | Stop::ToolUse => None,
            Stop::MaxTokens => Some("max_output_tokens"),
            Stop::Refusal => Some("content_filter"),
            // The format has no word for these.
            Stop::ContextOverflow => Some("model_context_window_exceeded"),
            Stop::Pause => Some("pause"),
            Stop::Other(word) => Some(word.as_str()),
        };
        let kind = if reason.is_none() { "completed" } else { "incomplete" };
        let details = reason.map(|reason| json!({"reason": reason}));
        event(
            kind,
            json!({"response": {
                "id": "resp_1", "status": kind, "output": output, "incomplete_details": details,
                "usage": {
                    "input_tokens": self.usage.input_tokens,
                    "input_tokens_details": {"cached_tokens": self.usage.cached_tokens},
                    "output_tokens": self.usage.output_tokens,
                },
            }}),
        );
        out
    }
}

fn pieces(text: &str) -> impl Iterator<Item = String> {
    let chars: Vec<char> = text.chars().collect();
    // A text of megabytes comes in as many pieces as one of some kilobytes.
    chars
        .chunks(PIECE_CHARS.max(chars.len() / 1_000))
        .map(String::from_iter)
        .collect::<Vec<_>>()
        .into_iter()
}

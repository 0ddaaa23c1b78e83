//! Rules of the real APIs, checked on every request. No server for tests checks them.

use std::collections::HashSet;

use serde_json::Value;

use super::Recorded;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    Anthropic,
    OpenAi,
    Responses,
}

impl Wire {
    pub fn of(path: &str) -> Option<Self> {
        match path {
            "/v1/messages" => Some(Self::Anthropic),
            "/v1/chat/completions" => Some(Self::OpenAi),
            "/v1/responses" => Some(Self::Responses),
            _ => None,
        }
    }

    /// Name of the conversation in the format.
    pub fn list(self) -> &'static str {
        match self {
            Self::Anthropic | Self::OpenAi => "messages",
            Self::Responses => "input",
        }
    }
}

pub(super) fn check(request: &Recorded) -> Vec<String> {
    let Some(wire) = Wire::of(&request.path) else {
        return match (&*request.path, request.body.is_empty()) {
            ("/v1/models", true) => Vec::new(),
            ("/v1/models", false) => vec!["a request for models has a body".to_owned()],
            (other, _) => vec![format!("no such path: {other}")],
        };
    };
    let mut faults = match serde_json::from_slice(&request.body) {
        Ok(body) => violations(wire, &body),
        Err(error) => vec![format!("the body is not JSON: {error}")],
    };
    if request.header("content-type") != Some("application/json") {
        faults.push("content-type is not application/json".to_owned());
    }
    if wire == Wire::Anthropic && request.header("anthropic-version").is_none() {
        faults.push("no anthropic-version".to_owned());
    }
    faults
}

/// Breaches of the order that strict chat templates demand. They raise an exception for them, which
/// the server answers with 400 or 500, for this request and every later one of the session.
pub(super) fn alternation(request: &Recorded) -> Vec<String> {
    let Some(wire) = Wire::of(&request.path) else { return Vec::new() };
    let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    let mut faults = Vec::new();
    let mut last = "";
    for (index, item) in body[wire.list()].as_array().into_iter().flatten().enumerate() {
        let role = match (item["role"].as_str(), item["type"].as_str()) {
            (Some("system"), _) | (None, Some("reasoning")) => continue,
            (Some("user"), _) if holds_results(item) => "tool",
            (Some("assistant"), _) | (None, Some("function_call")) => "assistant",
            (Some("tool"), _) | (None, Some("function_call_output")) => "tool",
            (Some(_), _) => "user",
            (None, _) => "",
        };
        // A message and its calls are items of their own in one of the formats.
        let one_message = role == "assistant" && wire == Wire::Responses;
        let legal = match (last, role) {
            ("", "user") | ("user", "assistant") | ("assistant", "user" | "tool") => true,
            ("tool", "tool" | "assistant") => true,
            ("assistant", "assistant") => one_message,
            _ => false,
        };
        if !legal {
            faults.push(format!("{}[{index}]: {role:?} after {last:?}", wire.list()));
        }
        last = role;
    }
    faults
}

fn holds_results(item: &Value) -> bool {
    let mut blocks = item["content"].as_array().into_iter().flatten();
    blocks.any(|block| block["type"] == "tool_result")
}

/// Every rule that a body breaks.
pub fn violations(wire: Wire, body: &Value) -> Vec<String> {
    let mut rules = Rules::default();
    rules.top_level(wire, body);
    let list = wire.list();
    let messages = body[list].as_array().map(Vec::as_slice).unwrap_or_default();
    rules.require(!messages.is_empty(), || format!("{list}: empty"));
    match wire {
        Wire::Anthropic => rules.anthropic(messages),
        Wire::OpenAi => rules.openai(messages),
        Wire::Responses => rules.responses(messages),
    }
    rules.faults
}

#[derive(Default)]
struct Rules {
    faults: Vec<String>,
    ids: HashSet<String>,
}

impl Rules {
    fn require(&mut self, holds: bool, fault: impl FnOnce() -> String) {
        if !holds {
            self.faults.push(fault());
        }
    }

    fn top_level(&mut self, wire: Wire, body: &Value) {
        const ANTHROPIC: &[&str] = &[
            "model",
            "max_tokens",
            "stream",
            "cache_control",
            "thinking",
            "output_config",
            "system",
            "tools",
            "tool_choice",
            "messages",
        ];
        const OPENAI: &[&str] = &[
            "model",
            "max_tokens",
            "max_completion_tokens",
            "stream",
            "stream_options",
            "tools",
            "tool_choice",
            "messages",
        ];
        const RESPONSES: &[&str] = &[
            "model",
            "max_output_tokens",
            "stream",
            "store",
            "include",
            "reasoning",
            "instructions",
            "tools",
            "tool_choice",
            "input",
        ];
        let known = match wire {
            Wire::Anthropic => ANTHROPIC,
            Wire::OpenAi => OPENAI,
            Wire::Responses => RESPONSES,
        };
        for name in body.as_object().into_iter().flatten().map(|(name, _)| name) {
            self.require(known.contains(&name.as_str()), || format!("{name}: not known"));
        }
        self.require(body["model"].as_str().is_some_and(|name| !name.is_empty()), || {
            "model: missing".to_owned()
        });
        self.require(body["stream"] == true, || "stream: not true".to_owned());
        let limits = ["max_tokens", "max_completion_tokens", "max_output_tokens"];
        let given: Vec<&Value> =
            limits.iter().map(|name| &body[*name]).filter(|limit| !limit.is_null()).collect();
        let good = given.iter().all(|limit| limit.as_u64().is_some_and(|limit| limit > 0));
        let fits = match (wire, given.len()) {
            (_, 1) | (Wire::OpenAi | Wire::Responses, 0) => good,
            (Wire::Anthropic | Wire::OpenAi | Wire::Responses, _) => false,
        };
        self.require(fits, || "max_tokens: missing, zero or twice".to_owned());
        for effort in [&body["output_config"]["effort"], &body["reasoning"]["effort"]] {
            let words = ["low", "medium", "high", "xhigh", "max"];
            let known = effort.as_str().is_none_or(|word| words.contains(&word));
            self.require(known, || format!("effort: {effort}"));
        }
        let thinking = &body["thinking"];
        self.require(thinking.is_null() || thinking["type"] == "adaptive", || {
            format!("thinking: {thinking}")
        });
        if wire == Wire::Responses {
            self.require(body["store"] == false, || "store: not false".to_owned());
            let system = &body["instructions"];
            self.require(system.is_null() || !blank(system), || "instructions: blank".to_owned());
        }
        let mut names = HashSet::new();
        for (index, tool) in body["tools"].as_array().into_iter().flatten().enumerate() {
            let (name, schema) = match wire {
                Wire::Anthropic => (&tool["name"], &tool["input_schema"]),
                Wire::OpenAi => (&tool["function"]["name"], &tool["function"]["parameters"]),
                Wire::Responses => (&tool["name"], &tool["parameters"]),
            };
            self.token(name, 64, || format!("tools[{index}]: name"));
            self.require(names.insert(name.to_string()), || format!("tools[{index}]: named twice"));
            let needs_type = wire != Wire::Anthropic;
            self.require(!needs_type || tool["type"] == "function", || {
                format!("tools[{index}]: type")
            });
            // Strict is the default here, and makes every property a required one.
            self.require(wire != Wire::Responses || tool["strict"] == false, || {
                format!("tools[{index}]: strict")
            });
            self.require(schema["type"] == "object", || {
                format!("tools[{index}]: no object schema")
            });
        }
    }

    fn anthropic(&mut self, messages: &[Value]) {
        self.require(messages.first().is_none_or(|first| first["role"] == "user"), || {
            "messages[0]: not of the user".to_owned()
        });
        let mut awaited: Vec<String> = Vec::new();
        // Neighbours of the user are legal: the API joins them. Those of the assistant are a lost
        // message, and one at the end would be a prefill, which newer models refuse.
        for (index, pair) in messages.windows(2).enumerate() {
            let twice = pair.iter().all(|message| message["role"] == "assistant");
            self.require(!twice, || format!("messages[{}]: the assistant twice", index + 1));
        }
        self.require(messages.last().is_none_or(|last| last["role"] == "user"), || {
            "the last message is not of the user".to_owned()
        });
        for (index, message) in messages.iter().enumerate() {
            let at = format!("messages[{index}]");
            let blocks = message["content"].as_array().map(Vec::as_slice).unwrap_or_default();
            self.require(!blocks.is_empty(), || format!("{at}: no content"));
            match message["role"].as_str() {
                Some("user") => self.anthropic_user(&at, blocks, &mut awaited),
                Some("assistant") => {
                    self.require(awaited.is_empty(), || {
                        format!("{at}: before results of {awaited:?}")
                    });
                    awaited = self.anthropic_assistant(&at, blocks);
                }
                role => self.faults.push(format!("{at}: role {role:?}")),
            }
        }
        self.require(awaited.is_empty(), || format!("no results of {awaited:?}"));
    }

    fn anthropic_user(&mut self, at: &str, blocks: &[Value], awaited: &mut Vec<String>) {
        let mut text_began = false;
        for block in blocks {
            match block["type"].as_str() {
                Some("text") => {
                    text_began = true;
                    self.visible(&block["text"], at);
                }
                Some("tool_result") => {
                    self.require(!text_began, || format!("{at}: text before a tool_result"));
                    let id = block["tool_use_id"].as_str().unwrap_or_default();
                    self.answers(id, awaited, at);
                    let content = &block["content"];
                    self.require(content.is_string() || content.is_array(), || {
                        format!("{at}: content of {id:?}")
                    });
                }
                Some("image") => {
                    let source = &block["source"];
                    let whole = source["type"] == "base64" && source["media_type"].is_string();
                    self.require(whole && source["data"].is_string(), || format!("{at}: image"));
                }
                kind => self.faults.push(format!("{at}: block {kind:?} of the user")),
            }
        }
        self.require(awaited.is_empty(), || format!("{at}: no results of {awaited:?}"));
        awaited.clear();
    }

    fn anthropic_assistant(&mut self, at: &str, blocks: &[Value]) -> Vec<String> {
        let mut calls = Vec::new();
        for block in blocks {
            match block["type"].as_str() {
                Some("text") => self.visible(&block["text"], at),
                Some("thinking") => {
                    let signed = block["signature"].as_str().is_some_and(|text| !text.is_empty());
                    self.require(signed, || format!("{at}: thinking without its signature"));
                }
                Some("redacted_thinking") => {}
                Some("tool_use") => {
                    let id = block["id"].as_str().unwrap_or_default();
                    self.token(&block["id"], usize::MAX, || format!("{at}: tool_use id"));
                    self.token(&block["name"], 128, || format!("{at}: tool_use name"));
                    self.require(block["input"].is_object(), || format!("{at}: input of {id:?}"));
                    self.unique(id, at);
                    calls.push(id.to_owned());
                }
                kind => self.faults.push(format!("{at}: block {kind:?} of the assistant")),
            }
        }
        let ends_thinking = blocks
            .last()
            .is_some_and(|last| last["type"] == "thinking" || last["type"] == "redacted_thinking");
        self.require(!ends_thinking, || format!("{at}: ends with thinking"));
        calls
    }

    fn openai(&mut self, messages: &[Value]) {
        let first = messages.iter().find(|message| message["role"] != "system");
        self.require(first.is_none_or(|first| first["role"] == "user"), || {
            "the first message is not of the user".to_owned()
        });
        let last = messages.last().map_or(&Value::Null, |last| &last["role"]);
        self.require(last == "user" || last == "tool", || {
            "the last message is not of the user or a tool".to_owned()
        });
        let mut awaited: Vec<String> = Vec::new();
        for (index, message) in messages.iter().enumerate() {
            let at = format!("messages[{index}]");
            let role = message["role"].as_str().unwrap_or_default();
            if role == "tool" {
                let id = message["tool_call_id"].as_str().unwrap_or_default();
                self.answers(id, &mut awaited, &at);
                self.require(message["content"].is_string(), || format!("{at}: content"));
                continue;
            }
            self.require(awaited.is_empty(), || format!("{at}: before results of {awaited:?}"));
            awaited.clear();
            match role {
                "system" => {
                    self.require(index == 0, || format!("{at}: system is not first"));
                    self.visible(&message["content"], &at);
                }
                "user" => match message["content"].as_array() {
                    Some(parts) => self.openai_parts(&at, parts),
                    None => self.visible(&message["content"], &at),
                },
                "assistant" => awaited = self.openai_assistant(&at, message),
                role => self.faults.push(format!("{at}: role {role:?}")),
            }
        }
        self.require(awaited.is_empty(), || format!("no results of {awaited:?}"));
    }

    fn openai_parts(&mut self, at: &str, parts: &[Value]) {
        for part in parts {
            match part["type"].as_str() {
                Some("text") => self.visible(&part["text"], at),
                Some("image_url") => self.image_address(&part["image_url"]["url"], at),
                kind => self.faults.push(format!("{at}: part {kind:?} of the user")),
            }
        }
    }

    fn image_address(&mut self, address: &Value, at: &str) {
        let address = address.as_str().unwrap_or_default();
        let whole = address.starts_with("data:image/") && address.contains(";base64,");
        self.require(whole, || format!("{at}: address of an image"));
    }

    fn openai_assistant(&mut self, at: &str, message: &Value) -> Vec<String> {
        let calls = message["tool_calls"].as_array().map(Vec::as_slice).unwrap_or_default();
        let has_list = !message["tool_calls"].is_null();
        self.require(!has_list || !calls.is_empty(), || format!("{at}: empty tool_calls"));
        if calls.is_empty() || !message["content"].is_null() {
            self.visible(&message["content"], at);
        }
        let mut ids = Vec::new();
        for call in calls {
            let id = call["id"].as_str().unwrap_or_default();
            self.require(!id.is_empty(), || format!("{at}: a call without an id"));
            self.require(call["type"] == "function", || format!("{at}: type of {id:?}"));
            self.token(&call["function"]["name"], 64, || format!("{at}: name of {id:?}"));
            self.arguments(&call["function"]["arguments"], id, at);
            self.unique(id, at);
            ids.push(id.to_owned());
        }
        ids
    }

    fn responses(&mut self, items: &[Value]) {
        let first = items.first().is_none_or(|first| first["role"] == "user");
        self.require(first, || "the first item is not of the user".to_owned());
        let last = items
            .last()
            .is_none_or(|last| last["role"] == "user" || last["type"] == "function_call_output");
        self.require(last, || "the last item is not of the user or a tool".to_owned());
        let mut awaited: Vec<String> = Vec::new();
        let mut answering = false;
        for (index, item) in items.iter().enumerate() {
            let at = format!("input[{index}]");
            let kind = item["type"].as_str().unwrap_or_default();
            let id = item["call_id"].as_str().unwrap_or_default();
            // The calls of one answer stand together, and so do their results.
            if kind == "function_call_output" {
                answering = true;
                self.answers(id, &mut awaited, &at);
                self.require(item["output"].is_string(), || format!("{at}: output of {id:?}"));
                continue;
            }
            let next_answer = answering || item["role"] == "user";
            self.require(!next_answer || awaited.is_empty(), || {
                format!("{at}: before results of {awaited:?}")
            });
            if next_answer {
                awaited.clear();
            }
            answering = false;
            match kind {
                "message" => {
                    let (role, part) = match item["role"].as_str() {
                        Some("assistant") => ("assistant", "output_text"),
                        _ => ("user", "input_text"),
                    };
                    self.require(item["role"] == role, || format!("{at}: role"));
                    let parts = item["content"].as_array().map(Vec::as_slice).unwrap_or_default();
                    self.require(!parts.is_empty(), || format!("{at}: no content"));
                    for it in parts {
                        if role == "user" && it["type"] == "input_image" {
                            self.image_address(&it["image_url"], &at);
                            continue;
                        }
                        self.require(it["type"] == part, || format!("{at}: type of a part"));
                        self.visible(&it["text"], &at);
                    }
                }
                "reasoning" => {
                    let sealed = &item["encrypted_content"];
                    self.require(!blank(sealed), || format!("{at}: reasoning that is not sealed"));
                    self.require(item["summary"].is_array(), || format!("{at}: summary"));
                    let led_to = items.get(index + 1).is_some_and(|next| {
                        next["role"] == "assistant"
                            || next["type"] == "function_call"
                            || next["type"] == "reasoning"
                    });
                    self.require(led_to, || format!("{at}: reasoning that led to nothing"));
                }
                "function_call" => {
                    self.require(!id.is_empty() && id.len() <= 64, || format!("{at}: call_id"));
                    self.token(&item["name"], 64, || format!("{at}: name of {id:?}"));
                    self.arguments(&item["arguments"], id, &at);
                    self.unique(id, &at);
                    awaited.push(id.to_owned());
                }
                kind => self.faults.push(format!("{at}: type {kind:?}")),
            }
        }
        self.require(awaited.is_empty(), || format!("no results of {awaited:?}"));
    }

    /// A result, of a call that waits for one.
    fn answers(&mut self, id: &str, awaited: &mut Vec<String>, at: &str) {
        match awaited.iter().position(|awaited| awaited == id) {
            Some(found) => drop(awaited.remove(found)),
            None => self.faults.push(format!("{at}: result of {id:?}, not awaited")),
        }
    }

    fn arguments(&mut self, text: &Value, id: &str, at: &str) {
        let parsed = serde_json::from_str::<Value>(text.as_str().unwrap_or_default());
        self.require(parsed.is_ok_and(|value| value.is_object()), || {
            format!("{at}: arguments of {id:?}")
        });
    }

    fn unique(&mut self, id: &str, at: &str) {
        let new = self.ids.insert(id.to_owned());
        self.require(new, || format!("{at}: id {id:?} was used before"));
    }

    fn visible(&mut self, text: &Value, at: &str) {
        self.require(!blank(text), || format!("{at}: blank text"));
    }

    fn token(&mut self, text: &Value, limit: usize, what: impl FnOnce() -> String) {
        let good = text.as_str().is_some_and(|text| {
            !text.is_empty()
                && text.len() <= limit
                && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
        });
        self.require(good, || format!("{}: {text} is not allowed", what()));
    }
}

fn blank(text: &Value) -> bool {
    text.as_str().is_none_or(|text| text.trim().is_empty())
}

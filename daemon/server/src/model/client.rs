//! Client of a model server, in one of three formats.

use std::sync::Arc;

use bytes::Bytes;
use cairn_core::{
    conversation::Item,
    model::{ModelEvent, ToolSpec},
};
use cairn_protocol::FormChange;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use secrecy::SecretString;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{
    ModelRequest, Provider,
    anthropic::{self, MessagesDecoder},
    encoding::{self, Decoding, Turns, Writers},
    http::{BaseUrl, Endpoint, Patience, Vendor, body_around, call_id_prefix},
    manners::{self, KnownServer, ServedModel},
    openai::{self, ChatDecoder},
    responses::{self, ResponsesDecoder},
};

/// Model on a server.
#[derive(Debug, Clone)]
pub struct ServerConfig {
    /// With or without `/v1` at its end.
    pub base_url: BaseUrl,
    pub model: String,
    pub key: Option<SecretString>,
    pub patience: Patience,
    /// The model must call a tool. For tests with models that are too small to decide well.
    pub must_call: bool,
}

impl ServerConfig {
    pub fn new(base_url: BaseUrl, model: impl Into<String>, key: Option<SecretString>) -> Self {
        let (model, patience) = (model.into(), Patience::default());
        Self { base_url, model, key, patience, must_call: false }
    }
}

/// API of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Anthropic's Messages.
    Messages,
    /// OpenAI's Chat Completions.
    Chat,
    /// OpenAI's Responses.
    Responses,
}

impl Format {
    /// True for the vendor's own servers. Others support a part of its formats.
    pub(super) fn is_official(self, base: &BaseUrl) -> bool {
        match self {
            Self::Messages => base.origin() == anthropic::OFFICIAL_BASE_URL,
            Self::Chat | Self::Responses => openai::is_official(base),
        }
    }

    /// Endpoint of a method below the base URL.
    pub(super) fn endpoint(self, config: ServerConfig, method: &str) -> Endpoint {
        let ServerConfig { base_url, key, patience, .. } = config;
        let (vendor, has_version) = match self {
            Self::Messages => (Vendor::Anthropic, base_url.path().rsplit('/').next() == Some("v1")),
            Self::Chat | Self::Responses => (Vendor::OpenAi, !base_url.path().is_empty()),
        };
        let path = if has_version { method.to_owned() } else { format!("v1/{method}") };
        Endpoint::new(&base_url, &path, vendor, key, patience)
    }
}

/// Client of a server.
#[derive(Debug)]
pub struct Client {
    format: Format,
    model: ServedModel,
    must_call: bool,
    turns: Turns,
    endpoint: Arc<Endpoint>,
    /// Tools of the last request, and their encoding: a session sends the same each time.
    tools: Mutex<(Arc<[ToolSpec]>, Arc<str>)>,
}

impl Client {
    pub fn new(format: Format, config: ServerConfig, known: KnownServer) -> Self {
        let method = match format {
            Format::Messages => "messages",
            Format::Chat => "chat/completions",
            Format::Responses => "responses",
        };
        let is_official = format.is_official(&config.base_url);
        // DeepSeek accepts neighbours, and may refuse an inserted answer without reasoning.
        let is_deepseek = config.model.to_ascii_lowercase().contains("deepseek");
        let is_free = is_official || (is_deepseek && format == Format::Chat);
        let turns = Turns::of(is_free, config.base_url.is_loopback(), &config.model);
        let (name, origin) = (config.model.clone(), config.base_url.origin());
        Self {
            format,
            model: ServedModel { name, is_official, origin, known },
            must_call: config.must_call,
            turns,
            endpoint: Arc::new(format.endpoint(config, method)),
            tools: Mutex::new((Arc::default(), "[]".into())),
        }
    }

    fn turns(&self) -> Turns {
        match self.format {
            Format::Chat if self.model.known.knows(FormChange::StrictTurns) => Turns::Strict,
            _ => self.turns,
        }
    }

    pub(super) fn body(&self, request: &ModelRequest) -> Vec<Bytes> {
        let model = &self.model;
        let (mut head, list, tool): (Value, &str, fn(&ToolSpec) -> Value) = match self.format {
            Format::Messages => (anthropic::head(model, request), "messages", anthropic::tool),
            Format::Chat => (openai::head(model, request), "messages", openai::tool),
            Format::Responses => (responses::head(model, request), "input", responses::tool),
        };
        if self.must_call && !request.tools.is_empty() {
            head["tool_choice"] = match self.format {
                Format::Messages => json!({ "type": "any" }),
                Format::Chat | Format::Responses => "required".into(),
            };
        }
        let system = match self.format {
            Format::Chat if !request.system.is_empty() => openai::system(&request.system),
            _ => Bytes::new(),
        };
        let tools = self.encoded(&request.tools, tool);
        body_around(&head, &tools, list, [system, request.messages.clone()])
    }

    fn encoded(&self, tools: &Arc<[ToolSpec]>, tool: fn(&ToolSpec) -> Value) -> Arc<str> {
        let mut last = self.tools.lock();
        if !Arc::ptr_eq(&last.0, tools) {
            let values: Vec<Value> = tools.iter().map(tool).collect();
            // Strings and JSON values: encoding them cannot fail.
            let encoded = serde_json::to_string(&values).unwrap_or_default();
            *last = (Arc::clone(tools), encoded.into());
        }
        Arc::clone(&last.1)
    }

    /// Wire values of an item in one of OpenAI's formats.
    fn items(&self, item: &Item, write: Writers) -> Vec<Value> {
        let turns = self.turns();
        match item {
            Item::User(message) => {
                let text = encoding::joined(Some(&message.wire_text()), &message.notes);
                let text = text.as_deref().unwrap_or("(empty message)");
                vec![(write.user)(text, &encoding::images(Some(message), &message.notes))]
            }
            Item::Assistant(message) if self.format == Format::Chat => {
                openai::assistant(&self.model, message).into_iter().collect()
            }
            Item::Assistant(message) => responses::assistant(message),
            Item::ToolResults { results, notes } => {
                let (texts, after) = turns.result_texts(results, notes);
                let told = results.iter().zip(&texts).map(|(it, text)| (write.result)(it, text));
                let mut all: Vec<Value> = told.collect();
                // After all results, because nothing may separate them.
                if let Some(text) = after {
                    all.extend(turns.before_images().map(write.says));
                    all.push((write.user)(&text, &encoding::images(None, notes)));
                }
                all
            }
        }
    }
}

impl Provider for Client {
    fn encode(&self, previous: Option<&Item>, item: &Item, out: &mut Vec<u8>) {
        let (says, items): (fn(&str) -> Value, _) = match self.format {
            Format::Messages => (anthropic::says, anthropic::items(item)),
            Format::Chat => (openai::WRITERS.says, self.items(item, openai::WRITERS)),
            Format::Responses => (responses::WRITERS.says, self.items(item, responses::WRITERS)),
        };
        let before = self.turns().between(previous, item).map(says);
        before.into_iter().chain(items).for_each(|value| encoding::append(out, &value));
    }

    fn revision(&self) -> usize {
        if self.format == Format::Chat { self.model.known.revision() } else { 0 }
    }

    fn answer(
        &self,
        request: ModelRequest,
        events: mpsc::Sender<ModelEvent>,
    ) -> BoxFuture<'static, ()> {
        let (body, format) = (self.body(&request), self.format);
        let ServedModel { name, origin, known, .. } = &self.model;
        let (endpoint, options) = (Arc::clone(&self.endpoint), known.options(name));
        let adapts = known.learns(move |failure| match format {
            Format::Chat => manners::lesson(failure),
            Format::Messages | Format::Responses => manners::options_lesson(options, failure),
        });
        let (prefix, ModelRequest { messages, max_tokens, .. }) = (call_id_prefix(), request);
        let decoder = match format {
            Format::Messages => Decoding::new(MessagesDecoder::new(prefix, messages)),
            Format::Chat => Decoding::new(ChatDecoder::new(prefix, messages).of_server(origin)),
            Format::Responses => {
                Decoding::new(ResponsesDecoder::new(prefix, messages).with_limit(max_tokens))
            }
        };
        Box::pin(endpoint.exchange(body, decoder, adapts, events))
    }
}

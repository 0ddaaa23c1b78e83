//! Fixtures for the tests of the formats: a conversation with every kind of block, and a decoder of
//! events written as JSON.

use bytes::Bytes;
use cairn_core::{
    conversation::{
        AssistantMessage, Block, Item, Note, NoteKind, ToolArguments, ToolCall, ToolResult,
        UserMessage,
    },
    model::ModelEvent,
};
use serde_json::{Value, json};

use super::{
    ModelRequest, Provider,
    client::{Client, Format, ServerConfig},
    encoding::{Decoder, Decoding},
    http::BaseUrl,
    manners::KnownServer,
    sse::SseEvent,
};

pub(super) fn client(format: Format, base: &str, model: &str, known: KnownServer) -> Client {
    Client::new(format, ServerConfig::new(BaseUrl::parse(base).unwrap(), model, None), known)
}

pub(super) fn conversation() -> Vec<Item> {
    vec![
        Item::User(UserMessage {
            text: "Fix \"it\"".into(),
            notes: vec![note(NoteKind::Reminder, "plan"), note(NoteKind::Steer, "quick")],
            ..UserMessage::default()
        }),
        Item::Assistant(AssistantMessage {
            blocks: vec![
                Block::Thinking { text: "hm".into(), signature: Some("sig".into()) },
                Block::Thinking { text: "unsigned".into(), signature: None },
                Block::RedactedThinking("opaque".into()),
                Block::Reasoning {
                    id: "rs".into(),
                    summary: vec!["why".into()],
                    sealed: "sealed".into(),
                },
                Block::Text("Looking.".into()),
                Block::Text("  ".into()),
                call("a:1", "read_file", ToolArguments::Object(json!({"path": "a.rs", "n": 1}))),
                call(
                    "b",
                    "odd name!",
                    ToolArguments::Invalid { raw: "{\"x".into(), error: "cut".into() },
                ),
            ],
        }),
        Item::ToolResults {
            results: vec![result("a:1", "fn a() {}", false), result("b", "bad arguments", true)],
            notes: vec![note(NoteKind::Notice, "changed"), note(NoteKind::Reminder, "go on")],
        },
        Item::Assistant(AssistantMessage {
            blocks: vec![Block::Thinking { text: "nothing".into(), signature: Some("s".into()) }],
        }),
        Item::User(UserMessage { text: " ".into(), ..UserMessage::default() }),
    ]
}

/// Encodes the items and checks that each is independent of the bytes before it.
pub(super) fn encoded(provider: &impl Provider, items: &[Item]) -> Vec<u8> {
    let mut all = Vec::new();
    let mut parts = Vec::new();
    let mut previous = None;
    for item in items {
        let before = all.clone();
        provider.encode(previous, item, &mut all);
        assert!(all.starts_with(&before), "history was rewritten");
        let mut alone = Vec::new();
        provider.encode(previous, item, &mut alone);
        parts.push(alone);
        previous = Some(item);
    }
    parts.retain(|part| !part.is_empty());
    let joined: Vec<u8> = parts.join(&b','.to_owned());
    let plain: Vec<u8> = all.iter().copied().filter(|&byte| byte != b'\n').collect();
    assert_eq!(plain, joined, "an item depends on more than the one before");
    all
}

pub(super) fn request(messages: Vec<u8>) -> ModelRequest {
    let tool = cairn_core::model::ToolSpec {
        name: "read_file".into(),
        description: "Reads.".into(),
        schema: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
        parallel: true,
    };
    ModelRequest {
        system: "Be brief.".into(),
        tools: [tool].into(),
        messages: messages.into(),
        session: "s".into(),
        max_tokens: Some(100),
    }
}

/// Events of a text with one JSON value a line; the type is the event's name.
pub(super) fn decode(decoder: impl Decoder, events: &[Value]) -> String {
    let mut decoder = Decoding::new(decoder);
    let mut out = Vec::new();
    for data in events {
        let name = data["type"].as_str().unwrap_or_default().to_owned();
        let data = data.as_str().map_or_else(|| data.to_string(), str::to_owned);
        out.extend(decoder.push(&SseEvent { name, data }));
    }
    out.extend(decoder.end());
    assert_eq!(decoder.end(), [], "an end after the end");
    let is_end =
        |event: &&ModelEvent| matches!(event, ModelEvent::Finished(_) | ModelEvent::Failed(_));
    assert_eq!(out.iter().filter(is_end).count(), 1, "{out:?}");
    assert!(out.last().as_ref().is_some_and(is_end), "{out:?}");
    out.iter().map(shown).collect::<Vec<_>>().join("\n")
}

pub(super) fn no_history() -> Bytes {
    Bytes::new()
}

fn shown(event: &ModelEvent) -> String {
    match event {
        ModelEvent::Text(text) => format!("text {text:?}"),
        ModelEvent::Thinking(text) => format!("thinking {text:?}"),
        ModelEvent::TextWasThinking => "the text was thinking".to_owned(),
        ModelEvent::CallStarted { id, name } => format!("call {id} {name}"),
        ModelEvent::Finished(reply) => {
            let blocks: Vec<String> = reply.message.blocks.iter().map(shown_block).collect();
            let usage = reply.usage;
            format!(
                "{:?} {}/{}/{} {}",
                reply.stop,
                usage.input_tokens,
                usage.cached_tokens,
                usage.output_tokens,
                blocks.join(" ")
            )
        }
        ModelEvent::Failed(failure) => format!("{:?}: {}", failure.kind, failure.message),
    }
}

fn shown_block(block: &Block) -> String {
    match block {
        Block::Text(text) => format!("{text:?}"),
        Block::Thinking { text, signature } => format!("thinking({text:?}, {signature:?})"),
        Block::RedactedThinking(data) => format!("redacted({data})"),
        Block::Returned { thinking, message, calls, .. } => {
            format!("returned({thinking} {message} {calls})")
        }
        Block::Reasoning { id, summary, sealed } => {
            format!("reasoning({id}, {summary:?}, {sealed})")
        }
        Block::ToolCall(ToolCall { id, name, arguments }) => match arguments {
            ToolArguments::Object(object) => format!("{id}={name}({object})"),
            ToolArguments::Invalid { raw, error } => {
                format!("{id}={name}(invalid {raw:?}: {error})")
            }
        },
    }
}

fn note(kind: NoteKind, text: &str) -> Note {
    Note::new(kind, text)
}

fn call(id: &str, name: &str, arguments: ToolArguments) -> Block {
    Block::ToolCall(ToolCall { id: id.into(), name: name.into(), arguments })
}

fn result(id: &str, content: &str, is_error: bool) -> ToolResult {
    ToolResult { call_id: id.into(), content: content.into(), is_error }
}

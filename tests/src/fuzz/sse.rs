//! Fuzz target of answers of model servers: bytes → events → input of the turn.

use std::collections::BTreeSet;

use cairn::model::{
    anthropic::MessagesDecoder,
    encoding::Decoding,
    openai::ChatDecoder,
    responses::ResponsesDecoder,
    sse::{SseError, SseEvent, SseReader},
};
use cairn_core::{
    conversation::Block,
    model::{ModelEvent, Reply, Stop, Usage},
};
use serde_json::Value;

use super::bytes::{Bytes, pieces};

/// Small, so that small inputs reach it.
const LIMIT: usize = 2048;
const PREFIX: &str = "call_0190c0ffee00";
const CONVERSATION: &str =
    r#"{"role":"assistant","tool_calls":[{"id":"call_0"},{"id":"toolu_1"}]}"#;

#[derive(Debug, Clone, Copy)]
enum Format {
    Messages,
    Chat,
    Responses,
}

pub(super) fn run(input: &[u8]) {
    let mut choices = Bytes::new(input);
    let format = choices.one_of(&[Format::Messages, Format::Chat, Format::Responses]);
    let limit = choices.one_of(&[None, Some(7)]);
    let seed = u32::from(choices.byte());
    let bytes = choices.rest();

    let whole = events([bytes]);
    assert_eq!(events(pieces(seed, bytes)), whole, "the pieces must not matter");
    assert_eq!(events(bytes.chunks(1)), whole, "the pieces must not matter");
    let (events, _) = whole;
    let size: usize = events.iter().map(|event| event.name.len() + event.data.len() + 1).sum();
    assert!(size <= bytes.len(), "events are larger than what came");

    let (said, used) = decode(decoder(format, limit), &events);
    check_end(&said);
    let kept: usize = said.iter().map(size_of).sum();
    assert!(kept <= 16 * bytes.len() + 4096, "{kept} bytes of {}", bytes.len());
    let Some(ModelEvent::Finished(reply)) = said.last() else { return };
    check_reply(&said, reply);
    assert!(
        events[..used].iter().any(|event| ends(format, event)),
        "an answer without an end: {reply:?}"
    );
    // Cut before its end, it is none.
    let end = events.iter().position(|event| ends(format, event)).unwrap_or(used);
    let (cut, _) = decode(decoder(format, limit), &events[..end]);
    assert!(matches!(cut.last(), Some(ModelEvent::Failed(_))), "taken for complete: {cut:?}");
}

fn events<'b>(pieces: impl IntoIterator<Item = &'b [u8]>) -> (Vec<SseEvent>, Result<(), SseError>) {
    let mut reader = SseReader::with_limit(LIMIT);
    let mut events = Vec::new();
    for piece in pieces {
        if let Err(error) = reader.push(piece, &mut events) {
            return (events, Err(error));
        }
    }
    (events, Ok(()))
}

fn decoder(format: Format, limit: Option<u32>) -> Decoding {
    match format {
        Format::Messages => Decoding::new(MessagesDecoder::new(PREFIX, CONVERSATION.into())),
        Format::Chat => Decoding::new(ChatDecoder::new(PREFIX, CONVERSATION.into())),
        Format::Responses => {
            Decoding::new(ResponsesDecoder::new(PREFIX, CONVERSATION.into()).with_limit(limit))
        }
    }
}

/// Result of an answer that ends after these events, and the number of events used.
fn decode(mut decoder: Decoding, events: &[SseEvent]) -> (Vec<ModelEvent>, usize) {
    let mut said = Vec::new();
    for (at, event) in events.iter().enumerate() {
        said.extend(decoder.push(event));
        if said.last().is_some_and(is_end) {
            assert_eq!(decoder.end(), Vec::new(), "an end after the end");
            assert_eq!(decoder.push(event), Vec::new(), "something after the end");
            return (said, at + 1);
        }
    }
    said.extend(decoder.end());
    (said, events.len())
}

fn is_end(event: &ModelEvent) -> bool {
    matches!(event, ModelEvent::Finished(_) | ModelEvent::Failed(_))
}

fn check_end(said: &[ModelEvent]) {
    let ends = said.iter().filter(|event| is_end(event)).count();
    assert!(ends == 1 && said.last().is_some_and(is_end), "one end, and it is the last: {said:?}");
}

/// The marks of a complete answer, read as a stranger would who only knows the format.
fn ends(format: Format, event: &SseEvent) -> bool {
    let data: Value = serde_json::from_str(&event.data).unwrap_or_default();
    let kind = data["type"].as_str().unwrap_or(&event.name);
    match format {
        Format::Messages => kind == "message_stop",
        Format::Chat => {
            event.data.trim() == "[DONE]"
                || data["choices"][0]["finish_reason"].as_str().is_some_and(|it| !it.is_empty())
        }
        Format::Responses => matches!(kind, "response.completed" | "response.incomplete"),
    }
}

fn check_reply(said: &[ModelEvent], reply: &Reply) {
    let calls: Vec<_> = reply.message.tool_calls().collect();
    let ids: BTreeSet<&str> = calls.iter().map(|call| &*call.id).collect();
    assert_eq!(ids.len(), calls.len(), "two calls with one id: {reply:?}");
    for id in &ids {
        assert!(!id.is_empty(), "a call without an id");
        assert!(!["call_0", "toolu_1"].contains(id), "the id {id} is of an earlier call");
    }
    assert!(reply.stop != Stop::ToolUse || !calls.is_empty(), "no call to run: {reply:?}");
    assert!(reply.stop != Stop::EndTurn || calls.is_empty(), "calls that nobody runs: {reply:?}");
    for event in said {
        if let ModelEvent::CallStarted { id, name } = event {
            let same = |call: &&_| {
                let call: &cairn_core::conversation::ToolCall = call;
                call.id == *id && call.name == *name
            };
            assert!(calls.iter().any(same), "the call {id} began and is gone");
        }
    }
    let shown: usize = said
        .iter()
        .map(|event| if let ModelEvent::Text(text) = event { text.len() } else { 0 })
        .sum();
    let kept: usize = reply
        .message
        .blocks
        .iter()
        .map(|block| if let Block::Text(text) = block { text.len() } else { 0 })
        .sum();
    assert_eq!(shown, kept, "what is shown is what is kept");
    // As a turn counts.
    let mut total = Usage::default();
    total += reply.usage;
    total += reply.usage;
}

fn size_of(event: &ModelEvent) -> usize {
    match event {
        ModelEvent::Text(text) | ModelEvent::Thinking(text) => text.len(),
        ModelEvent::TextWasThinking => 0,
        ModelEvent::CallStarted { id, name } => id.len() + name.len(),
        ModelEvent::Finished(reply) => format!("{:?}", reply.message).len() / 2,
        ModelEvent::Failed(failure) => failure.message.len(),
    }
}

//! Recorded streams of real servers, and of servers with faults, in `tests/wire`.

use std::{collections::BTreeMap, path::Path};

use bytes::Bytes;
use cairn::model::{
    anthropic::MessagesDecoder,
    encoding::{Decoder, Decoding},
    openai::ChatDecoder,
    responses::ResponsesDecoder,
    sse::{SseEvent, SseReader},
};
use cairn_core::{
    conversation::{Block, ToolArguments},
    model::ModelEvent,
};
use expect_test::expect;

fn recordings() -> BTreeMap<String, Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("wire");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let all: BTreeMap<_, _> = files
        .map(|path| {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (name, std::fs::read(path).unwrap())
        })
        .collect();
    assert!(all.len() > 15, "recordings are missing");
    all
}

fn events(bytes: &[u8]) -> Vec<SseEvent> {
    let mut out = Vec::new();
    SseReader::default().push(bytes, &mut out).unwrap();
    out
}

fn decode(name: &str, events: &[SseEvent]) -> Vec<ModelEvent> {
    fn all(decoder: impl Decoder, events: &[SseEvent]) -> Vec<ModelEvent> {
        let mut decoder = Decoding::new(decoder);
        let mut out: Vec<ModelEvent> =
            events.iter().flat_map(|event| decoder.push(event)).collect();
        out.extend(decoder.end());
        out
    }
    if name.contains("-anthropic-") {
        all(MessagesDecoder::new("made", Bytes::new()), events)
    } else if name.contains("-responses-") {
        let limit = if name.ends_with("-length-truncated") { Some(8) } else { None };
        all(ResponsesDecoder::new("made", Bytes::new()).with_limit(limit), events)
    } else {
        all(ChatDecoder::new("made", Bytes::new()), events)
    }
}

fn shown(events: &[ModelEvent]) -> String {
    let (mut streamed, mut end) = (String::new(), String::new());
    for event in events {
        match event {
            ModelEvent::Text(text) | ModelEvent::Thinking(text) => streamed.push_str(text),
            ModelEvent::TextWasThinking => streamed.push_str("<all that was thinking>"),
            ModelEvent::CallStarted { name, .. } => streamed.push_str(&format!("<{name}>")),
            ModelEvent::Failed(failure) => end = format!("{:?}", failure.kind),
            ModelEvent::Finished(reply) => {
                let blocks: Vec<String> = reply.message.blocks.iter().map(block).collect();
                let usage = reply.usage;
                let counts = [usage.input_tokens, usage.cached_tokens, usage.output_tokens];
                end = format!("{:?} {counts:?} {}", reply.stop, blocks.join(" "));
            }
        }
    }
    format!("{streamed:?} => {end}")
}

fn block(block: &Block) -> String {
    match block {
        Block::Text(text) => format!("text[{}]", text.len()),
        Block::Thinking { text, signature } => format!("thinking[{}] {signature:?}", text.len()),
        Block::RedactedThinking(_) => "redacted".to_owned(),
        Block::Returned { thinking, message, calls, .. } => {
            format!("returned({thinking} {message} {calls})")
        }
        Block::Reasoning { id, summary, sealed } => {
            format!("reasoning[{}] {summary:?} {}", id.len(), sealed.len())
        }
        Block::ToolCall(call) => match &call.arguments {
            ToolArguments::Object(object) => format!("{}{object}", call.name),
            ToolArguments::Invalid { raw, .. } => format!("{}(invalid {raw:?})", call.name),
        },
    }
}

#[test]
fn each_recording_decodes_to_its_expected_events() {
    let table: Vec<String> = recordings()
        .iter()
        .map(|(name, bytes)| format!("{name}: {}", shown(&decode(name, &events(bytes)))))
        .collect();
    expect![[r#"
        aimock-anthropic-parallel-tools: "Let me look.<read_file><bash>" => ToolUse [0, 0, 0] text[12] read_file{"path":"a.rs"} bash{"command":"ls"}
        aimock-anthropic-thinking-signature: "Let me reason about it.Answer." => EndTurn [0, 0, 0] thinking[23] Some("aimock-placeholder-signature") text[7]
        aimock-openai-reasoning_content: "Let me reason about it.Answer." => EndTurn [2, 0, 2] thinking[23] None text[7] returned(reasoning_content {} {})
        handmade-openai-deepseek-reasoning_content: "Both files at once.I look.<read_file><read_file>" => ToolUse [80, 0, 40] thinking[19] None text[7] read_file{"path":"a"} read_file{"path":"b"} returned(reasoning_content {} {})
        handmade-openai-gemini-thought_signature: "I look.<read_file><read_file>" => ToolUse [70, 0, 30] text[7] read_file{"path":"a"} read_file{"path":"b"} returned( {"extra_content":{"google":{"thought_signature":"c2lnbmVkIHRleHQ="}}} {"function-call-1":{"extra_content":{"google":{"thought_signature":"c2lnbmVkIGNhbGw="}}}})
        handmade-openai-kimi-reasoning_content: "The file first.I look.<read_file>" => ToolUse [90, 0, 24] thinking[15] None text[7] read_file{"path":"a.rs"} returned(reasoning_content {} {})
        handmade-responses-reasoning-parallel: "Two files — both at once.I look.<read_file><read_file>" => ToolUse [90, 64, 41] reasoning[4] ["Two files — both at once."] 16 text[7] read_file{"path":"a"} read_file{"path":"b"}
        litellm-anthropic-parallel-tools: "Let me look.<read_file><bash>" => ToolUse [11, 4, 22] text[12] read_file{"path":"a.rs"} bash{"command":"ls"}
        litellm-openai-from-llamacpp-messages-toolcall: "<read_file>" => ToolUse [73, 0, 20] read_file{"path":"src/main.jsx"}
        llamacpp-anthropic-comment-pings: "" => EndTurn [531, 0, 1] 
        llamacpp-anthropic-midstream-error: "<read_file>" => Server
        llamacpp-anthropic-text: "Hello! I'm here to help with any creative writing project" => MaxTokens [20, 19, 12] text[57]
        llamacpp-anthropic-thinking: "\n\nThe user is a user of the AI" => MaxTokens [24, 1, 10] thinking[30] None
        llamacpp-anthropic-tooluse: "<read_file>" => ToolUse [73, 72, 20] read_file{"path":"src/main.jsx"}
        llamacpp-openai-midstream-error: "<read_file>" => Server
        llamacpp-openai-text: "Hello! I'm here to help with any creative writing project. What can I do for you?" => EndTurn [20, 0, 21] text[81]
        llamacpp-openai-toolcall: "<read_file>" => ToolUse [73, 0, 20] read_file{"path":"src/main.jsx"}
        llamacpp-openai-toolcall-length-truncated: "<read_file>" => MaxTokens [73, 72, 9] read_file(invalid "{\n  \"path\":")
        llamacpp-responses-midstream-error: "" => Server
        llamacpp-responses-text: "\nWhat's your name?\n\nYou can't know.\n\nYou can't know.\n\nYou can" => EndTurn [58, 25, 24] text[61]
        llamacpp-responses-toolcall: "<read_file>" => ToolUse [72, 0, 19] read_file{"path":"src/main.rs"}
        llamacpp-responses-toolcall-length-truncated: "<read_file>" => MaxTokens [72, 71, 8] read_file(invalid "{\n  \"path")
        llmock-anthropic-bad-tool-args: "<read_file>" => ToolUse [11, 0, 2] read_file(invalid "{\"path\": \"")
        llmock-anthropic-truncate: "<read_file>" => StreamCut
        llmock-openai-bad-tool-args: "<read_file>" => ToolUse [11, 0, 2] read_file(invalid "{\"path\": \"")
        llmock-openai-malformed: "<read_file>" => Protocol
        llmock-openai-toolcall: "<read_file>" => ToolUse [11, 0, 5] read_file{"path":"mock-path"}"#]].assert_eq(&table.join("\n"));
}

#[test]
fn a_recording_split_at_any_byte_decodes_the_same() {
    for (name, bytes) in recordings() {
        let whole = events(&bytes);
        let (mut reader, mut before) = (SseReader::default(), Vec::new());
        for at in 0..bytes.len() {
            let mut split = before.clone();
            reader.clone().push(&bytes[at..], &mut split).unwrap();
            // Decoders see events only: equal events decode equally.
            assert!(split == whole, "{name} split at byte {at}");
            reader.push(&bytes[at..=at], &mut before).unwrap();
        }
        assert_eq!(decode(&name, &before), decode(&name, &whole), "{name} byte by byte");
    }
}

#[test]
fn a_recording_cut_at_any_byte_is_never_finished() {
    for (name, bytes) in recordings() {
        let (mut reader, mut events) = (SseReader::default(), Vec::new());
        for cut in 0..bytes.len() {
            let known = events.len();
            reader.push(&bytes[cut..=cut], &mut events).unwrap();
            // The outcome changes only where another event is complete.
            if cut > 0 && events.len() == known {
                continue;
            }
            let said_its_end = events.iter().any(|event: &SseEvent| {
                event.data.contains("\"message_stop\"")
                    || event.data.contains("\"finish_reason\":\"")
                    || event.data.contains("\"response.completed\"")
                    || event.data == "[DONE]"
            });
            let outcome = decode(&name, &events);
            let is_end =
                |e: &&ModelEvent| matches!(e, ModelEvent::Finished(_) | ModelEvent::Failed(_));
            assert_eq!(outcome.iter().filter(is_end).count(), 1, "{name} cut after {cut}");
            let finished = matches!(outcome.last(), Some(ModelEvent::Finished(_)));
            assert!(!finished || said_its_end, "{name} cut after byte {cut} counts as finished");
        }
    }
}

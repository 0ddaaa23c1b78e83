//! All providers against the scripted server, over real sockets.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use cairn::model::{
    ModelRequest, Provider,
    choose::Keys,
    client::{Client, Format, ServerConfig},
    http::{BaseUrl, Patience},
    manners::KnownServer,
};
use cairn_core::{
    conversation::{
        AssistantMessage, Block, Item, Note, NoteKind, ToolArguments, ToolCall, ToolResult,
        UserMessage,
    },
    model::{Advice, Failure, FailureKind, ModelEvent, Stop, ToolSpec, Usage},
};
use cairn_tests::model_server::{ModelServer, Reply, Response, Wire, assert_append_only};
use expect_test::{Expect, expect};
use serde_json::json;
use tokio::sync::mpsc;

use crate::fixtures::ALL;

const KEY: &str = "key-of-the-tests";

fn provider(wire: Wire, base_url: &str, idle: Duration) -> Arc<dyn Provider> {
    let base = BaseUrl::parse(base_url).unwrap();
    let patience = Patience { idle, ..Patience::default() };
    let mut keys = Keys::default();
    keys.set("anthropic", Some(base_url), Some(KEY.into())).unwrap();
    let key = keys.anthropic.into_values().next();
    let format = match wire {
        Wire::Anthropic => Format::Messages,
        Wire::OpenAi => Format::Chat,
        Wire::Responses => Format::Responses,
    };
    let config = ServerConfig { patience, ..ServerConfig::new(base, "m", key) };
    Arc::new(Client::new(format, config, KnownServer::default()))
}

async fn ask(provider: &dyn Provider, messages: &[u8]) -> Vec<ModelEvent> {
    let tool = ToolSpec {
        name: "read_file".into(),
        description: "Reads a file.".into(),
        schema: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
        parallel: true,
    };
    let request = ModelRequest {
        system: "Be brief.".into(),
        tools: [tool].into(),
        messages: Bytes::copy_from_slice(messages),
        session: "s".into(),
        max_tokens: Some(100),
    };
    // A full channel must not lose events.
    let (sender, mut receiver) = mpsc::channel(1);
    let read = async {
        let mut events = Vec::new();
        while let Some(event) = receiver.recv().await {
            events.push(event);
        }
        events
    };
    let ((), events) = tokio::join!(provider.answer(request, sender), read);
    let is_end =
        |event: &&ModelEvent| matches!(event, ModelEvent::Finished(_) | ModelEvent::Failed(_));
    assert_eq!(events.iter().filter(is_end).count(), 1, "{events:?}");
    events
}

/// Asks with one short user message and expects a failure.
async fn fail(provider: &dyn Provider) -> Failure {
    match ask(provider, &encode(provider, &[user("Hello")])).await.pop() {
        Some(ModelEvent::Failed(failure)) => failure,
        other => panic!("expected a failure, got {other:?}"),
    }
}

fn encode(provider: &dyn Provider, items: &[Item]) -> Vec<u8> {
    let mut out = Vec::new();
    for item in items {
        provider.encode(None, item, &mut out);
    }
    out
}

fn user(text: &str) -> Item {
    Item::User(UserMessage { text: text.into(), ..UserMessage::default() })
}

const PATIENT: Duration = Duration::from_secs(30);

#[tokio::test]
async fn a_turn_with_parallel_tool_calls() {
    for wire in ALL {
        let usage = Usage { input_tokens: 20, output_tokens: 9, cached_tokens: 15 };
        let server = ModelServer::start([
            Response::reply(
                Reply::text("I look at both — ünïcode.")
                    .thinking("which?")
                    .call("c1", "read_file", json!({"path": "a.rs"}))
                    .call_raw("c2", "read_file", "{\"path\": ")
                    .usage(usage),
            )
            .chunks_of(5),
            Response::reply(Reply::text("Done.")),
        ])
        .await;
        let provider = provider(wire, &server.base_url(), PATIENT);
        let mut messages = encode(&*provider, &[user("Compare a and b")]);
        let mut events = ask(&*provider, &messages).await;
        let Some(ModelEvent::Finished(reply)) = events.pop() else { panic!("{events:?}") };
        assert_eq!((&reply.stop, reply.usage), (&Stop::ToolUse, usage));
        let (thought, sealed) = ("which?".to_owned(), "scripted".to_owned());
        let expected = match wire {
            Wire::Anthropic => Block::Thinking { text: thought, signature: Some(sealed) },
            Wire::OpenAi => Block::Thinking { text: thought, signature: None },
            Wire::Responses => {
                Block::Reasoning { id: "rs_1".into(), summary: vec![thought], sealed }
            }
        };
        let AssistantMessage { blocks } = &reply.message;
        assert_eq!(blocks[0], expected);
        assert_eq!(blocks[1], Block::Text("I look at both — ünïcode.".into()));
        let calls: Vec<&ToolCall> = reply.message.tool_calls().collect();
        assert_eq!(calls[0].arguments, ToolArguments::Object(json!({"path": "a.rs"})));
        assert!(matches!(calls[1].arguments, ToolArguments::Invalid { .. }));
        let streamed: String = events
            .iter()
            .filter_map(|event| match event {
                ModelEvent::Text(text) => Some(text.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(streamed, "I look at both — ünïcode.");

        let results = ["c1", "c2"].map(|id| ToolResult {
            call_id: id.into(),
            content: "content".into(),
            is_error: id == "c2",
        });
        let notes = vec![Note::new(NoteKind::Reminder, "Keep the plan current.")];
        provider.encode(None, &Item::Assistant(reply.message), &mut messages);
        provider.encode(None, &Item::ToolResults { results: results.into(), notes }, &mut messages);
        let events = ask(&*provider, &messages).await;
        assert!(matches!(events.last(), Some(ModelEvent::Finished(_))), "{events:?}");

        let requests = server.finish();
        assert_append_only(&requests);
        let (name, value) = match wire {
            Wire::Anthropic => ("x-api-key", KEY.to_owned()),
            Wire::OpenAi | Wire::Responses => ("authorization", format!("Bearer {KEY}")),
        };
        assert_eq!(requests[0].header(name), Some(value.as_str()));
    }
}

#[tokio::test]
async fn errors_of_the_server_become_failures_without_the_key() {
    let check = async |response: fn() -> Response, expect: Expect| {
        let mut shown = Vec::new();
        for wire in ALL {
            let server = ModelServer::start([response()]).await;
            let failure = fail(&*provider(wire, &server.base_url(), PATIENT)).await;
            server.finish();
            assert!(!format!("{failure:?}").contains(KEY), "the key is in {failure:?}");
            let Failure { kind, message, said: _, advice: _, retry_after_ms } = failure;
            // The path of the address differs by format.
            let message = message.split(" (http://").next().unwrap();
            shown.push(format!("{kind:?} {retry_after_ms:?}: {message}"));
        }
        assert!(shown.iter().all(|other| *other == shown[0]), "the formats differ: {shown:#?}");
        expect.assert_eq(&shown[0]);
    };
    check(
        || Response::error(429, "rate_limit_error", "slow down").header("retry-after", "3"),
        expect!["RateLimited Some(3000): The model server answered 429: slow down"],
    )
    .await;
    check(
        || Response::error(401, "authentication_error", &format!("no such key: {KEY}")),
        expect!["Auth None: The model server answered 401: no such key: [redacted]"],
    )
    .await;
    check(
        || Response::error(529, "overloaded_error", "busy"),
        expect!["Server None: The model server answered 529: busy"],
    )
    .await;
    check(
        || {
            Response::error(
                400,
                "invalid_request_error",
                "prompt is too long: 9 tokens > 8 maximum",
            )
        },
        expect!["ContextOverflow None: The model server answered 400: prompt is too long: 9 tokens > 8 maximum"],
    )
    .await;
    check(
        || Response::raw(404, "text/plain", "404 page not found"),
        expect!["Rejected None: The model server answered 404: 404 page not found"],
    )
    .await;
    check(
        || Response::raw(307, "text/plain", "").header("location", "http://127.0.0.1:1/"),
        expect!["Rejected None: The model server answered 307: (no explanation)"],
    )
    .await;
    check(|| Response::raw(200, "text/html; charset=utf-8", "<html>login</html>"), expect!["Protocol None: The model's answer is not in its format: expected text/event-stream, got text/html of 18 bytes"]).await;
    check(|| Response::raw(200, "text/event-stream", ""), expect!["Protocol None: The model's answer is not in its format: the answer has no event (text/event-stream, 0 bytes)."]).await;
    check(|| Response::raw(200, "text/event-stream", ": comments only\n\n"), expect!["Protocol None: The model's answer is not in its format: the answer has no event (text/event-stream, 17 bytes)."]).await;
    check(
        || {
            Response::raw(
                200,
                "application/json",
                r#"{"error":{"type":"server_error","message":"boom"}}"#,
            )
        },
        expect!["Server None: The model server reported an error: boom"],
    )
    .await;
    check(
        || Response::raw(200, "text/event-stream", b"data: \xff\xfe\n\n".to_vec()),
        expect!["StreamCut None: The model's answer is not in its format: a line is not UTF-8."],
    )
    .await;
    check(|| Response::raw(200, "text/event-stream", format!("event: error\ndata: {{\"error\":{{\"type\":\"overloaded_error\",\"message\":\"busy\\n{KEY}\"}}}}\n\n")), expect!["Server None: The model server reported an error: busy [redacted]"]).await;
}

/// A call with complete arguments, in as few bytes as the format allows.
const SHORT_ANTHROPIC: &str = r#"data: {"type":"message_start"}

data: {"type":"content_block_start","content_block":{"type":"tool_use","id":"c","name":"f"}}

data: {"type":"content_block_stop"}

data: {"type":"message_delta","delta":{"stop_reason":"tool_use"}}

data: {"type":"message_stop"}

"#;
const SHORT_OPENAI: &str = r#"data: {"choices":[{"delta":{"tool_calls":[{"id":"c","function":{"name":"f"}}]}}]}

data: {"choices":[{"delta":{},"finish_reason":"tool_calls"}]}

"#;

const SHORT_RESPONSES: &str = r#"data: {"type":"response.output_item.done","item":{"type":"function_call","call_id":"c","name":"f"}}

data: {"type":"response.completed"}

"#;

#[tokio::test]
async fn a_connection_cut_at_any_byte_is_never_a_finished_answer() {
    let streams = [SHORT_ANTHROPIC, SHORT_OPENAI, SHORT_RESPONSES];
    for (wire, stream) in ALL.into_iter().zip(streams) {
        let server = ModelServer::start([]).await;
        let provider = provider(wire, &server.base_url(), PATIENT);
        let messages = encode(&*provider, &[user("Hello")]);
        for cut in 0..=stream.len() {
            server.push(Response::raw(200, "text/event-stream", stream).cut_after(cut));
            match ask(&*provider, &messages).await.last() {
                // All bytes came, only the polite end of the connection is missing.
                Some(ModelEvent::Finished(_)) => assert_eq!(cut, stream.len(), "cut at {cut}"),
                Some(ModelEvent::Failed(failure)) => {
                    assert_ne!(cut, stream.len(), "{failure:?}");
                    assert_eq!(failure.kind, FailureKind::StreamCut, "cut at {cut}: {failure:?}");
                }
                other => panic!("{other:?}"),
            }
        }
        server.finish();
    }
}

#[tokio::test]
async fn a_silent_server_is_a_timeout() {
    let brief = Duration::from_millis(50);
    for wire in ALL {
        let server =
            ModelServer::start([Response::raw(200, "text/event-stream", "").silent()]).await;
        let failure = fail(&*provider(wire, &server.base_url(), brief)).await;
        assert_eq!(failure.kind, FailureKind::Timeout, "{failure:?}");
        server.finish();

        // In the middle of an answer as well.
        let (held, _gate) = Response::reply(Reply::text("long answer")).held_at(200);
        let server = ModelServer::start([held]).await;
        let failure = fail(&*provider(wire, &server.base_url(), brief)).await;
        assert_eq!(failure.kind, FailureKind::Timeout, "{failure:?}");
        server.finish();
    }
}

#[tokio::test]
async fn a_connection_left_open_after_the_answer_does_not_delay_it() {
    let reply = Reply::text("Hi");
    let stream = String::from_utf8(reply.encode(Wire::OpenAi)).unwrap();
    let finish = stream.find("\"finish_reason\":\"").unwrap();
    let after = finish + stream[finish..].find("\n\n").unwrap() + 2;
    let (held, _gate) = Response::reply(reply).held_at(after);
    let server = ModelServer::start([held]).await;
    let provider = provider(Wire::OpenAi, &server.base_url(), Duration::from_secs(1));
    let events = ask(&*provider, &encode(&*provider, &[user("Hello")])).await;
    assert!(matches!(events.last(), Some(ModelEvent::Finished(_))), "{events:?}");
    server.finish();
}

#[tokio::test]
async fn events_come_while_the_answer_streams_and_a_dropped_answer_ends_the_request() {
    for wire in ALL {
        let reply = Reply::text("streaming");
        let stream = String::from_utf8(reply.encode(wire)).unwrap();
        let first = stream.find("streami").unwrap();
        let after = first + stream[first..].find("\n\n").unwrap() + 2;
        let (held, mut gate) = Response::reply(reply).held_at(after);
        let server = ModelServer::start([held]).await;
        let provider = provider(wire, &server.base_url(), PATIENT);
        let request = ModelRequest {
            system: "".into(),
            tools: Arc::new([]),
            messages: encode(&*provider, &[user("Hello")]).into(),
            session: "s".into(),
            max_tokens: Some(1),
        };
        let (sender, mut receiver) = mpsc::channel(8);
        let answer = tokio::spawn(provider.answer(request, sender));
        gate.reached().await;
        assert_eq!(receiver.recv().await, Some(ModelEvent::Text("streami".into())));
        answer.abort();
        assert!(answer.await.unwrap_err().is_cancelled());
        assert_eq!(receiver.recv().await, None);
        server.finish();
    }
}

#[tokio::test]
async fn a_closed_port_is_a_connection_failure() {
    // A port that was free a moment ago.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let failure = fail(&*provider(Wire::OpenAi, &url, PATIENT)).await;
    assert_eq!(failure.kind, FailureKind::Connect);
    assert_eq!(failure.advice, Some(Advice::StartLocalServer));
}

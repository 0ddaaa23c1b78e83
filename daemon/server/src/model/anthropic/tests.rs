use bytes::Bytes;
use cairn_core::model::{Failure, FailureKind, ModelEvent};
use expect_test::{Expect, expect};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{
    super::{
        client::{Client, Format, ServerConfig},
        encoding::Decoding,
        http::BaseUrl,
        manners::KnownServer,
        sse::SseEvent,
        testing,
    },
    *,
};

fn provider(must_call: bool) -> Client {
    let base = BaseUrl::parse(OFFICIAL_BASE_URL).unwrap();
    let config = ServerConfig { must_call, ..ServerConfig::new(base, "claude-x", None) };
    Client::new(Format::Messages, config, KnownServer::default())
}

#[test]
fn a_request_has_the_form_of_the_messages_api() {
    let provider = provider(false);
    let messages = testing::encoded(&provider, &testing::conversation());
    let body = provider.body(&testing::request(messages)).concat();
    let body: Value = serde_json::from_slice(&body).unwrap();
    expect![[r#"
        {
          "model": "claude-x",
          "max_tokens": 100,
          "stream": true,
          "cache_control": {
            "type": "ephemeral"
          },
          "system": [
            {
              "type": "text",
              "text": "Be brief.",
              "cache_control": {
                "type": "ephemeral"
              }
            }
          ],
          "tools": [
            {
              "name": "read_file",
              "description": "Reads.",
              "input_schema": {
                "type": "object",
                "properties": {
                  "path": {
                    "type": "string"
                  }
                }
              }
            }
          ],
          "messages": [
            {
              "role": "user",
              "content": [
                {
                  "type": "text",
                  "text": "Fix \"it\""
                },
                {
                  "type": "text",
                  "text": "[cairn] reminder:\nplan\n[cairn] end of the reminder"
                },
                {
                  "type": "text",
                  "text": "quick"
                }
              ]
            },
            {
              "role": "assistant",
              "content": [
                {
                  "type": "thinking",
                  "thinking": "hm",
                  "signature": "sig"
                },
                {
                  "type": "redacted_thinking",
                  "data": "opaque"
                },
                {
                  "type": "text",
                  "text": "Looking."
                },
                {
                  "type": "tool_use",
                  "id": "call_2b2c40a6706d9e5f320d553628313833",
                  "name": "read_file",
                  "input": {
                    "path": "a.rs",
                    "n": 1
                  }
                },
                {
                  "type": "tool_use",
                  "id": "b",
                  "name": "odd_name_",
                  "input": {
                    "invalid_json": "{\"x"
                  }
                }
              ]
            },
            {
              "role": "user",
              "content": [
                {
                  "type": "tool_result",
                  "tool_use_id": "call_2b2c40a6706d9e5f320d553628313833",
                  "content": "fn a() {}"
                },
                {
                  "type": "tool_result",
                  "tool_use_id": "b",
                  "content": "bad arguments",
                  "is_error": true
                },
                {
                  "type": "text",
                  "text": "[cairn] notice:\nchanged\n[cairn] end of the notice"
                },
                {
                  "type": "text",
                  "text": "[cairn] reminder:\ngo on\n[cairn] end of the reminder"
                }
              ]
            },
            {
              "role": "user",
              "content": [
                {
                  "type": "text",
                  "text": "(empty message)"
                }
              ]
            }
          ]
        }"#]]
    .assert_eq(&serde_json::to_string_pretty(&body).unwrap());
}

#[test]
fn options_of_the_family_are_sent_until_a_server_refuses_them() {
    let members = |model: &str, known: KnownServer| {
        let provider = testing::client(Format::Messages, OFFICIAL_BASE_URL, model, known);
        let request = ModelRequest { max_tokens: None, ..testing::request(Vec::new()) };
        let body: Value = serde_json::from_slice(&provider.body(&request).concat()).unwrap();
        json!([body["max_tokens"], body["thinking"], body["output_config"]]).to_string()
    };
    let plain = "[16384,null,null]";
    let refusing = KnownServer::default();
    refusing.learn(cairn_protocol::FormChange::NoModelOptions);
    assert_eq!(members("claude-opus-5-5", refusing), plain);
    assert_eq!(members("claude-haiku-4-5", KnownServer::default()), plain);
    expect![[r#"[32000,{"type":"adaptive","display":"summarized"},{"effort":"high"}]"#]]
        .assert_eq(&members("claude-opus-5-5", KnownServer::default()));
}

#[test]
fn the_body_contains_the_encoded_conversation_unchanged() {
    let provider = provider(true);
    let messages = testing::encoded(&provider, &testing::conversation());
    let body = provider.body(&testing::request(messages.clone())).concat();
    assert!(body.windows(messages.len()).any(|window| window == messages));
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(body["tool_choice"], json!({"type": "any"}));
}

fn check(events: &[Value], expect: Expect) {
    let decoder = MessagesDecoder::new("made", testing::no_history());
    expect.assert_eq(&testing::decode(decoder, events));
}

fn start() -> Value {
    json!({"type": "message_start", "message": {"usage": {"input_tokens": 5, "cache_read_input_tokens": 3, "output_tokens": 1}}})
}

fn block(index: u64, block: Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn delta(index: u64, delta: Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn stop_block(index: u64) -> Value {
    json!({"type": "content_block_stop", "index": index})
}

fn stop(reason: &str) -> [Value; 2] {
    [
        json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 9}}),
        json!({"type": "message_stop"}),
    ]
}

fn tool(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "f", "input": {}})
}

fn arguments(piece: &str) -> Value {
    json!({"type": "input_json_delta", "partial_json": piece})
}

fn message(middle: Vec<Value>, reason: &str) -> Vec<Value> {
    [vec![start()], middle, stop(reason).to_vec()].concat()
}

#[test]
fn a_complete_stream_becomes_one_message() {
    check(
        &message(
            vec![
                json!({"type": "ping"}),
                block(0, json!({"type": "thinking", "thinking": ""})),
                delta(0, json!({"type": "thinking_delta", "thinking": "hm"})),
                delta(0, json!({"type": "signature_delta", "signature": "sig"})),
                stop_block(0),
                block(1, json!({"type": "redacted_thinking", "data": "zz"})),
                stop_block(1),
                block(2, json!({"type": "text", "text": "A"})),
                delta(2, json!({"type": "text_delta", "text": "b"})),
                delta(2, json!({"type": "citations_delta", "citation": {}})),
                stop_block(2),
                block(3, json!({"type": "server_tool_use", "id": "s", "name": "n"})),
                delta(3, arguments("{}")),
                stop_block(3),
                json!({"type": "invented_later"}),
            ],
            "end_turn",
        ),
        expect![[r#"
            thinking "hm"
            text "A"
            text "b"
            EndTurn 8/3/9 thinking("hm", Some("sig")) redacted(zz) "Ab""#]],
    );
    // Parallel calls, interleaved; no text means no arguments.
    check(
        &message(
            vec![
                block(0, tool("a")),
                block(1, tool("b")),
                delta(0, arguments("{\"x\":")),
                delta(1, arguments("")),
                delta(0, arguments("1}")),
                stop_block(0),
                stop_block(1),
            ],
            "tool_use",
        ),
        expect![[r#"
            call a f
            call b f
            ToolUse 8/3/9 a=f({"x":1}) b=f({})"#]],
    );
    check(
        &message(
            vec![
                block(0, json!({"type": "tool_use", "name": "f", "input": {"x": 1}})),
                stop_block(0),
            ],
            "tool_use",
        ),
        expect![[r#"
            call made_1 f
            ToolUse 8/3/9 made_1=f({"x":1})"#]],
    );
    check(&message(vec![], "end_turn"), expect!["EndTurn 8/3/9 "]);
}

#[test]
fn each_stop_reason_becomes_a_stop() {
    let half_a_call = || vec![block(0, tool("a")), delta(0, arguments("{\"x\":")), stop_block(0)];
    check(
        &message(half_a_call(), "max_tokens"),
        expect![[r#"
        call a f
        MaxTokens 8/3/9 a=f(invalid "{\"x\":": EOF while parsing a value at line 1 column 5)"#]],
    );
    check(
        &message(half_a_call(), "tool_use"),
        expect![[r#"
        call a f
        ToolUse 8/3/9 a=f(invalid "{\"x\":": EOF while parsing a value at line 1 column 5)"#]],
    );
    check(&message(vec![], "refusal"), expect!["Refusal 8/3/9 "]);
    check(&message(vec![], "pause_turn"), expect!["Pause 8/3/9 "]);
    check(&message(vec![], "model_context_window_exceeded"), expect!["ContextOverflow 8/3/9 "]);
    check(
        &message(half_a_call(), "invented"),
        expect![[r#"
        call a f
        Other("invented") 8/3/9 a=f(invalid "{\"x\":": EOF while parsing a value at line 1 column 5)"#]],
    );
}

#[test]
fn a_faulty_stream_is_a_failure() {
    let text = || block(0, json!({"type": "text", "text": ""}));
    // A complete-looking call in a stream that ends early must not run.
    check(
        &[start(), block(0, tool("a")), stop_block(0)],
        expect![[r#"
        call a f
        StreamCut: The connection broke in the middle of the answer (the stream ended early)."#]],
    );
    check(
        &[start(), stop("tool_use")[0].clone()],
        expect![
            "StreamCut: The connection broke in the middle of the answer (the stream ended early)."
        ],
    );
    check(
        &[start(), stop("tool_use")[1].clone()],
        expect![
            "StreamCut: The connection broke in the middle of the answer (the message ended without a stop reason)."
        ],
    );
    check(
        &[text()],
        expect![
            "Protocol: The model's answer is not in its format: content_block_start before message_start."
        ],
    );
    check(
        &[start(), start()],
        expect!["Protocol: The model's answer is not in its format: a second message_start."],
    );
    check(
        &[start(), delta(7, json!({"type": "text_delta", "text": "x"}))],
        expect![
            "Protocol: The model's answer is not in its format: content_block_delta for content block 7, which is not open."
        ],
    );
    check(
        &[start(), text(), stop_block(0), delta(0, json!({"type": "text_delta", "text": "x"}))],
        expect![
            "Protocol: The model's answer is not in its format: content_block_delta for content block 0, which is not open."
        ],
    );
    check(
        &[start(), text(), text()],
        expect!["Protocol: The model's answer is not in its format: content block 0 starts twice."],
    );
    check(
        &[start(), text(), delta(0, arguments("{}"))],
        expect![
            "Protocol: The model's answer is not in its format: input_json_delta for a block of another kind."
        ],
    );
    check(
        &message(vec![block(0, tool("a")), block(1, tool("a"))], "tool_use"),
        expect![[r#"
        call a f
        Protocol: The model's answer is not in its format: two tool calls have the same id "a"."#]],
    );
    check(
        &[start(), json!("{\"type\":")],
        expect![
            "Protocol: The model's answer is not in its format: an event is not JSON (EOF while parsing a value at line 1 column 8)."
        ],
    );
    check(
        &[
            start(),
            text(),
            json!({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}),
        ],
        expect!["Server: The model server reported an error: busy"],
    );
    check(
        &[start(), json!({"error": {"message": "odd"}})],
        expect!["Server: The model server reported an error: odd"],
    );
}

#[test]
fn an_error_without_its_wrapper_is_decoded() {
    let mut decoder = Decoding::new(MessagesDecoder::new("made", testing::no_history()));
    let data = json!({"code": 500, "message": "no", "type": "server_error"}).to_string();
    let events = decoder.push(&SseEvent { name: "error".into(), data });
    assert!(matches!(&events[..], [ModelEvent::Failed(Failure { kind: FailureKind::Server, .. })]));
    assert_eq!(decoder.end(), []);
}

#[test]
fn an_id_of_an_earlier_answer_is_replaced() {
    let history = Bytes::from_static(b"{\"id\":\"a\"}");
    let blocks = vec![block(0, tool("a")), stop_block(0), block(1, tool("aa")), stop_block(1)];
    let events = message(blocks, "tool_use");
    expect![[r#"
        call made_1 f
        call aa f
        ToolUse 8/3/9 made_1=f({}) aa=f({})"#]]
    .assert_eq(&testing::decode(MessagesDecoder::new("made", history), &events));
}

fn any_event() -> impl Strategy<Value = Value> {
    let deltas = prop::sample::select(vec![
        json!({"type": "text_delta", "text": "x"}),
        json!({"type": "thinking_delta", "thinking": 1}),
        json!({"type": "signature_delta"}),
        arguments("{\"x\""),
        arguments(":1}"),
        json!(null),
    ]);
    let blocks = prop::sample::select(vec![
        json!({"type": "text", "text": "t"}),
        json!({"type": "thinking"}),
        json!({"type": "redacted_thinking"}),
        json!({"type": "tool_use", "name": "f"}),
        tool("a"),
        json!([]),
    ]);
    prop_oneof![
        3 => Just(start()),
        3 => (0..3_u64, blocks).prop_map(|(index, kind)| block(index, kind)),
        3 => (0..3_u64, deltas).prop_map(|(index, kind)| delta(index, kind)),
        2 => (0..3_u64).prop_map(stop_block),
        1 => Just(stop("tool_use")[0].clone()),
        1 => Just(stop("tool_use")[1].clone()),
        1 => prop::sample::select(vec![json!(null), json!([]), json!("{"), json!({"type": 7})]),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_stream_has_exactly_one_end(tail in prop::collection::vec(any_event(), 0..12)) {
        let events = [vec![start()], tail].concat();
        // `decode` asserts one end, and nothing after it.
        let shown = testing::decode(MessagesDecoder::new("made", testing::no_history()), &events);
        if shown.lines().last().is_some_and(|line| line.starts_with("ToolUse")) {
            prop_assert!(events.contains(&stop("tool_use")[1]));
        }
    }
}

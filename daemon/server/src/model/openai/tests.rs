use cairn_core::{
    conversation::{Item, Note, NoteKind},
    model::ModelEvent,
};
use expect_test::{Expect, expect};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{
    super::{
        Provider,
        client::{Client, Format},
        encoding::Decoding,
        manners::KnownServer,
        sse::SseEvent,
        testing,
    },
    *,
};

fn provider(base: &str, model: &str, known: KnownServer) -> Client {
    testing::client(Format::Chat, base, model, known)
}

fn body(provider: &Client) -> Value {
    let messages = testing::encoded(provider, &testing::conversation());
    serde_json::from_slice(&provider.body(&testing::request(messages)).concat()).unwrap()
}

#[test]
fn a_request_has_the_form_of_chat_completions() {
    let body = body(&provider(OFFICIAL_BASE_URL, "gpt-x", KnownServer::default()));
    expect![[r#"
        {
          "model": "gpt-x",
          "stream": true,
          "stream_options": {
            "include_usage": true
          },
          "prompt_cache_key": "s",
          "max_completion_tokens": 100,
          "tools": [
            {
              "type": "function",
              "function": {
                "name": "read_file",
                "description": "Reads.",
                "parameters": {
                  "type": "object",
                  "properties": {
                    "path": {
                      "type": "string"
                    }
                  }
                }
              }
            }
          ],
          "messages": [
            {
              "role": "system",
              "content": "Be brief."
            },
            {
              "role": "user",
              "content": "Fix \"it\"\n\n[cairn] reminder:\nplan\n[cairn] end of the reminder\n\nquick"
            },
            {
              "role": "assistant",
              "content": "Looking.\n  ",
              "tool_calls": [
                {
                  "id": "a:1",
                  "type": "function",
                  "function": {
                    "name": "read_file",
                    "arguments": "{\"path\":\"a.rs\",\"n\":1}"
                  }
                },
                {
                  "id": "b",
                  "type": "function",
                  "function": {
                    "name": "odd_name_",
                    "arguments": "{\"invalid_json\":\"{\\\"x\"}"
                  }
                }
              ]
            },
            {
              "role": "tool",
              "tool_call_id": "a:1",
              "content": "fn a() {}"
            },
            {
              "role": "tool",
              "tool_call_id": "b",
              "content": "[cairn] this call failed\nbad arguments"
            },
            {
              "role": "user",
              "content": "[cairn] notice:\nchanged\n[cairn] end of the notice\n\n[cairn] reminder:\ngo on\n[cairn] end of the reminder"
            },
            {
              "role": "user",
              "content": "(empty message)"
            }
          ]
        }"#]]
    .assert_eq(&serde_json::to_string_pretty(&body).unwrap());
}

#[test]
fn requests_to_other_servers_use_max_tokens() {
    let request = |provider: &Client| {
        let body = body(provider);
        let has = |name: &str| body.get(name).is_some();
        ["max_tokens", "max_completion_tokens", "stream_options"].map(has)
    };
    let other = provider("http://localhost:1", "m", KnownServer::default());
    assert_eq!(request(&other), [true, false, true]);
    let known = KnownServer::default();
    let taught = provider("http://localhost:1", "m", known.clone());
    known.learn(FormChange::OtherLimitName);
    known.learn(FormChange::NoStreamOptions);
    assert_eq!(request(&taught), [false, true, false]);
    assert_eq!(request(&other), [true, false, true], "another server");
}

#[test]
fn a_server_with_alternating_roles_gets_notes_in_the_last_result() {
    let notes = vec![Note::new(NoteKind::Reminder, "Keep the list true.")];
    let results = ["a", "b"].map(|id| ToolResult {
        call_id: id.into(),
        content: "one\n".into(),
        is_error: id == "b",
    });
    let item = Item::ToolResults { results: results.into(), notes };
    let encoded = |base: &str| {
        let mut out = Vec::new();
        provider(base, "m", KnownServer::default()).encode(None, &item, &mut out);
        String::from_utf8(out).unwrap().replace("},{", "},\n{")
    };
    expect![[r#"
        {"role":"tool","tool_call_id":"a","content":"one\n"},
        {"role":"tool","tool_call_id":"b","content":"[cairn] this call failed\none\n\n[cairn] reminder:\nKeep the list true.\n[cairn] end of the reminder"}"#]].assert_eq(&encoded("http://localhost:1"));
    expect![[r#"
        {"role":"tool","tool_call_id":"a","content":"one\n"},
        {"role":"tool","tool_call_id":"b","content":"[cairn] this call failed\none\n"},
        {"role":"user","content":"[cairn] reminder:\nKeep the list true.\n[cairn] end of the reminder"}"#]].assert_eq(&encoded("https://models.example"));
}

/// Encodes an answer with unknown members for the server at `to`.
fn sent_back(to: &str, lessons: &[FormChange]) -> String {
    let decoder = ChatDecoder::new("made", testing::no_history()).of_server("http://localhost:1");
    let mut decoder = Decoding::new(decoder);
    let call = json!({"id": "a", "index": 0, "extra_content": {"google": {"thought_signature": "s"}},
        "function": {"name": "ls", "arguments": "{}"}});
    let second = json!({"id": "b", "index": 1, "function": {"name": "ls", "arguments": "{}"}});
    let events = [
        delta(
            json!({"role": "assistant", "reasoning_content": "Let", "mood": "hap", "none": null}),
        ),
        delta(json!({"reasoning_content": " us", "mood": "py", "details": [{"n": 1}]})),
        delta(json!({"content": "Now.", "details": [{"n": 2}], "tool_calls": [call, second]})),
        finish("tool_calls"),
        done(),
    ];
    let mut last = None;
    for event in events {
        let data = event.as_str().map_or_else(|| event.to_string(), str::to_owned);
        last = decoder.push(&SseEvent { name: String::new(), data }).pop();
    }
    let Some(ModelEvent::Finished(reply)) = last else { panic!("{last:?}") };
    let known = KnownServer::default();
    lessons.iter().for_each(|lesson| known.learn(*lesson));
    let provider = provider(to, "m", known);
    let mut out = Vec::new();
    provider.encode(None, &Item::Assistant(reply.message), &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn unknown_members_go_back_to_the_server_that_sent_them() {
    expect![[r#"{"role":"assistant","content":"Now.","reasoning_content":"Let us","mood":"happy","details":[{"n":1},{"n":2}],"tool_calls":[{"id":"a","type":"function","function":{"name":"ls","arguments":"{}"},"extra_content":{"google":{"thought_signature":"s"}}},{"id":"b","type":"function","function":{"name":"ls","arguments":"{}"}}]}"#]].assert_eq(&sent_back("http://localhost:1/v1", &[]));
    expect![[r#"{"role":"assistant","content":"Now.","tool_calls":[{"id":"a","type":"function","function":{"name":"ls","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"ls","arguments":"{}"}}]}"#]].assert_eq(&sent_back("http://localhost:2", &[]));
}

#[test]
fn lessons_of_a_server_change_what_goes_back() {
    let own = "http://localhost:1";
    expect![[r#"{"role":"assistant","content":"Now.","mood":"happy","details":[{"n":1},{"n":2}],"tool_calls":[{"id":"a","type":"function","function":{"name":"ls","arguments":"{}"},"extra_content":{"google":{"thought_signature":"s"}}},{"id":"b","type":"function","function":{"name":"ls","arguments":"{}"}}]}"#]].assert_eq(&sent_back(own, &[FormChange::NeverReasoning]));
    expect![[r#"{"role":"assistant","content":"Now.","reasoning_content":"Let us","tool_calls":[{"id":"a","type":"function","function":{"name":"ls","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"ls","arguments":"{}"}}]}"#]].assert_eq(&sent_back(own, &[FormChange::NoUnknownMembers]));
    expect![[r#"{"role":"assistant","content":"Now.","reasoning_content":"","tool_calls":[{"id":"a","type":"function","function":{"name":"ls","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"ls","arguments":"{}"}}]}"#]].assert_eq(&sent_back("http://localhost:2", &[FormChange::AlwaysReasoning]));
    expect![[r#"{"role":"assistant","content":"Now.","tool_calls":[{"id":"a","type":"function","function":{"name":"ls","arguments":"{}"},"extra_content":{"google":{"thought_signature":"skip_thought_signature_validator"}}},{"id":"b","type":"function","function":{"name":"ls","arguments":"{}"},"extra_content":{"google":{"thought_signature":"skip_thought_signature_validator"}}}]}"#]].assert_eq(&sent_back("http://localhost:2", &[FormChange::SignedCalls]));
}

#[test]
fn what_goes_back_is_bounded() {
    let mut many = Map::new();
    many.extend((0..65).map(|number| (format!("m{number}"), json!(1))));
    for delta_of in [json!({ "big": "x".repeat(1 << 20) }), Value::from(many)] {
        let decoder = ChatDecoder::new("made", testing::no_history());
        let text = testing::decode(decoder, &[delta(delta_of)]);
        assert!(text.contains("more to be sent back than 64 members or 1048576 bytes"), "{text}");
    }
}

fn check(events: &[Value], expect: Expect) {
    let decoder = ChatDecoder::new("made", testing::no_history());
    expect.assert_eq(&testing::decode(decoder, events));
}

fn delta(delta: Value) -> Value {
    json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}], "usage": null})
}

fn finish(reason: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

fn usage() -> Value {
    json!({"choices": [], "usage": {"prompt_tokens": 8, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 3}}})
}

fn done() -> Value {
    json!("[DONE]")
}

fn calls(pieces: Value) -> Value {
    delta(json!({ "tool_calls": pieces }))
}

fn piece(index: Option<u64>, id: Option<&str>, name: Option<&str>, arguments: &str) -> Value {
    json!({"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
}

#[test]
fn a_complete_stream_becomes_one_message() {
    check(
        &[
            delta(json!({"role": "assistant", "content": null})),
            delta(json!({"reasoning_content": "h"})),
            delta(json!({"reasoning": "m"})),
            delta(json!({"content": "A"})),
            delta(json!({"content": "b", "obfuscation": "xx"})),
            finish("stop"),
            usage(),
            done(),
        ],
        expect![[r#"
            thinking "h"
            thinking "m"
            text "A"
            text "b"
            EndTurn 8/3/4 thinking("hm", None) "Ab" returned(reasoning {"obfuscation":"xx"} {})"#]],
    );
    // Two calls, interleaved by index.
    check(
        &[
            calls(json!([piece(Some(0), Some("a"), Some("f"), "")])),
            calls(json!([piece(Some(1), Some("b"), Some("g"), "")])),
            calls(json!([
                piece(Some(0), None, None, "{\"x\":"),
                piece(Some(1), Some(""), None, "{}")
            ])),
            calls(json!([piece(Some(0), Some("a"), None, "1}")])),
            finish("tool_calls"),
            done(),
        ],
        expect![[r#"
            call a f
            call b g
            ToolUse 0/0/0 a=f({"x":1}) b=g({})"#]],
    );
    check(
        &[delta(json!({"content": "A"})), finish("stop")],
        expect![[r#"
        text "A"
        EndTurn 0/0/0 "A""#]],
    );
    check(
        &[delta(json!({"content": "A"})), done()],
        expect![[r#"
        text "A"
        EndTurn 0/0/0 "A""#]],
    );
    check(
        &[delta(json!({"refusal": "No."})), finish("stop"), done()],
        expect![[r#"
        text "No."
        Refusal 0/0/0 "No.""#]],
    );
    check(&[finish("tool_calls"), done()], expect!["EndTurn 0/0/0 "]);
}

#[test]
fn deviations_of_servers_in_calls_are_tolerated() {
    // All parallel calls have index zero.
    check(
        &[
            calls(json!([piece(Some(0), Some("a"), Some("f"), "{\"x\":1}")])),
            calls(json!([piece(Some(0), Some("b"), Some("f"), "{\"x\":2}")])),
            finish("stop"),
            done(),
        ],
        expect![[r#"
            call a f
            call b f
            ToolUse 0/0/0 a=f({"x":1}) b=f({"x":2})"#]],
    );
    // Neither ids nor indexes, whole calls.
    check(
        &[
            calls(json!([
                piece(None, None, Some("f"), "{\"x\":1}"),
                piece(None, None, Some("g"), "{}")
            ])),
            finish("tool_calls"),
            done(),
        ],
        expect![[r#"
            call made_1 f
            call made_2 g
            ToolUse 0/0/0 made_1=f({"x":1}) made_2=g({})"#]],
    );
    // Index zero and no ids.
    check(
        &[
            calls(json!([piece(Some(0), None, Some("f"), "{\"x\":1}")])),
            calls(json!([piece(Some(0), None, Some("f"), "{\"x\":1}")])),
            finish("stop"),
            done(),
        ],
        expect![[r#"
            call made_1 f
            call made_2 f
            ToolUse 0/0/0 made_1=f({"x":1}) made_2=f({"x":1})"#]],
    );
    // No index, pieces told apart by id or by standing after their call.
    check(
        &[
            calls(json!([piece(None, Some("a"), Some("f"), "{\"x\":")])),
            calls(json!([piece(None, Some("a"), None, "1")])),
            calls(json!([piece(None, None, None, "}")])),
            finish("stop"),
            done(),
        ],
        expect![[r#"
            call a f
            ToolUse 0/0/0 a=f({"x":1})"#]],
    );
    // The name in every piece; the id late; arguments as an object.
    check(
        &[
            calls(json!([piece(Some(0), None, Some("f"), "{\"x\":")])),
            calls(json!([piece(Some(0), Some("a"), Some("f"), "1}")])),
            finish("stop"),
            done(),
        ],
        expect![[r#"
            call made_1 f
            ToolUse 0/0/0 made_1=f({"x":1})"#]],
    );
    check(
        &[
            calls(json!([{"id": "a", "function": {"name": "f", "arguments": {"x": 1}}}])),
            finish("tool_calls"),
            done(),
        ],
        expect![[r#"
            call a f
            ToolUse 0/0/0 a=f({"x":1})"#]],
    );
    // The name is lost.
    check(
        &[calls(json!([piece(Some(0), Some("a"), None, "{}")])), finish("tool_calls"), done()],
        expect!["ToolUse 0/0/0 a=({})"],
    );
    check(
        &[
            calls(json!([piece(Some(0), Some("a"), Some("f"), "{\"x")])),
            finish("tool_calls"),
            done(),
        ],
        expect![[r#"
            call a f
            ToolUse 0/0/0 a=f(invalid "{\"x": EOF while parsing a string at line 1 column 3)"#]],
    );
    check(
        &[
            calls(json!([piece(Some(0), Some("a"), Some("f"), "[1]")])),
            finish("tool_calls"),
            done(),
        ],
        expect![[r#"
            call a f
            ToolUse 0/0/0 a=f(invalid "[1]": the arguments are not a JSON object)"#]],
    );
}

#[test]
fn each_finish_reason_becomes_a_stop() {
    check(
        &[calls(json!([piece(Some(0), Some("a"), Some("f"), "{\"x")])), finish("length"), done()],
        expect![[r#"
            call a f
            MaxTokens 0/0/0 a=f(invalid "{\"x": EOF while parsing a string at line 1 column 3)"#]],
    );
    check(&[finish("content_filter"), done()], expect!["Refusal 0/0/0 "]);
    check(&[finish("invented"), done()], expect![[r#"Other("invented") 0/0/0 "#]]);
    check(&[finish(""), finish("stop")], expect!["EndTurn 0/0/0 "]);
}

#[test]
fn a_faulty_stream_is_a_failure() {
    check(
        &[],
        expect![
            "StreamCut: The connection broke in the middle of the answer (the stream ended early)."
        ],
    );
    check(
        &[done()],
        expect![
            "Protocol: The model's answer is not in its format: the stream ended before it began."
        ],
    );
    check(
        &[calls(json!([piece(Some(0), Some("a"), Some("f"), "{}")]))],
        expect![[r#"
        call a f
        StreamCut: The connection broke in the middle of the answer (the stream ended early)."#]],
    );
    check(
        &[json!("{\"choices\":")],
        expect![
            "Protocol: The model's answer is not in its format: an event is not JSON (EOF while parsing a value at line 1 column 11)."
        ],
    );
    check(
        &[
            delta(json!({"content": "A"})),
            json!({"error": {"code": 500, "message": "no", "type": "server_error"}}),
        ],
        expect![[r#"
            text "A"
            Server: The model server reported an error: no"#]],
    );
    check(
        &[json!({"object": "error", "message": "no", "code": 400})],
        expect!["Rejected: The model server reported an error: no"],
    );
    check(&[finish("error")], expect!["Server: The model server ended the answer with an error."]);
    check(
        &[calls(json!([
            piece(Some(0), Some("a"), Some("f"), "{}"),
            piece(Some(1), Some("a"), Some("f"), "{}")
        ]))],
        expect![[r#"
            call a f
            Protocol: The model's answer is not in its format: two tool calls have the same id "a"."#]],
    );
}

fn any_event() -> impl Strategy<Value = Value> {
    let call = (
        prop::option::of(0..2_u64),
        prop::option::of(prop::sample::select(vec!["a", "b", ""])),
        prop::option::of(prop::sample::select(vec!["f", "g"])),
        prop::sample::select(vec!["", "{}", "{\"x\":", "1}"]),
    );
    let call = call.prop_map(|(index, id, name, arguments)| piece(index, id, name, arguments));
    prop_oneof![
        6 => prop::collection::vec(call, 0..3).prop_map(|pieces| calls(pieces.into())),
        2 => Just(delta(json!({"content": "x", "reasoning": "y"}))),
        1 => prop::sample::select(vec!["stop", "tool_calls", "length", ""]).prop_map(finish),
        1 => Just(done()),
        1 => Just(usage()),
        1 => prop::sample::select(vec![json!(null), json!([]), json!("{"), json!({"choices": 7})]),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_stream_has_exactly_one_end(events in prop::collection::vec(any_event(), 0..12)) {
        // `decode` asserts one end, and nothing after it.
        let shown = testing::decode(ChatDecoder::new("made", testing::no_history()), &events);
        if shown.lines().last().is_some_and(|line| line.starts_with("ToolUse")) {
            let says_its_end = |event: &Value| {
                *event == done() || event["choices"][0]["finish_reason"].is_string()
            };
            prop_assert!(events.iter().any(says_its_end));
        }
    }
}

use expect_test::{Expect, expect};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{
    super::{
        client::{Client, Format},
        manners::KnownServer,
        openai::OFFICIAL_BASE_URL,
        testing,
    },
    *,
};

fn provider(base: &str, model: &str) -> Client {
    testing::client(Format::Responses, base, model, KnownServer::default())
}

fn body(provider: &Client) -> Value {
    let messages = testing::encoded(provider, &testing::conversation());
    serde_json::from_slice(&provider.body(&testing::request(messages)).concat()).unwrap()
}

#[test]
fn the_effort_depends_on_the_family_and_the_cache_key_on_the_server() {
    let members = |base: &str, model: &str| {
        let body = body(&provider(base, model));
        json!([body["reasoning"], body["prompt_cache_key"]]).to_string()
    };
    let own = "http://localhost:1";
    assert_eq!(members(OFFICIAL_BASE_URL, "gpt-5.4-mini"), r#"[{"effort":"medium"},"s"]"#);
    assert_eq!(members(OFFICIAL_BASE_URL, "gpt-5.2-pro"), r#"[null,"s"]"#);
    assert_eq!(members(own, "gpt-5.4-mini"), r#"[{"effort":"medium"},null]"#);
    assert_eq!(members(own, "qwen3-coder"), "[null,null]");
}

#[test]
fn a_request_has_the_form_of_the_responses_api() {
    let body = body(&provider(OFFICIAL_BASE_URL, "gpt-x"));
    expect![[r#"
        {
          "model": "gpt-x",
          "stream": true,
          "store": false,
          "include": [
            "reasoning.encrypted_content"
          ],
          "prompt_cache_key": "s",
          "max_output_tokens": 100,
          "instructions": "Be brief.",
          "tools": [
            {
              "type": "function",
              "name": "read_file",
              "description": "Reads.",
              "parameters": {
                "type": "object",
                "properties": {
                  "path": {
                    "type": "string"
                  }
                }
              },
              "strict": false
            }
          ],
          "input": [
            {
              "type": "message",
              "role": "user",
              "content": [
                {
                  "type": "input_text",
                  "text": "Fix \"it\"\n\n[cairn] reminder:\nplan\n[cairn] end of the reminder\n\nquick"
                }
              ]
            },
            {
              "type": "reasoning",
              "id": "rs",
              "summary": [
                {
                  "type": "summary_text",
                  "text": "why"
                }
              ],
              "encrypted_content": "sealed"
            },
            {
              "type": "message",
              "role": "assistant",
              "content": [
                {
                  "type": "output_text",
                  "text": "Looking."
                }
              ]
            },
            {
              "type": "function_call",
              "call_id": "a:1",
              "name": "read_file",
              "arguments": "{\"path\":\"a.rs\",\"n\":1}"
            },
            {
              "type": "function_call",
              "call_id": "b",
              "name": "odd_name_",
              "arguments": "{\"invalid_json\":\"{\\\"x\"}"
            },
            {
              "type": "function_call_output",
              "call_id": "a:1",
              "output": "fn a() {}"
            },
            {
              "type": "function_call_output",
              "call_id": "b",
              "output": "[cairn] this call failed\nbad arguments"
            },
            {
              "type": "message",
              "role": "user",
              "content": [
                {
                  "type": "input_text",
                  "text": "[cairn] notice:\nchanged\n[cairn] end of the notice\n\n[cairn] reminder:\ngo on\n[cairn] end of the reminder"
                }
              ]
            },
            {
              "type": "message",
              "role": "user",
              "content": [
                {
                  "type": "input_text",
                  "text": "(empty message)"
                }
              ]
            }
          ]
        }"#]]
    .assert_eq(&serde_json::to_string_pretty(&body).unwrap());
}

#[test]
fn encrypted_reasoning_is_requested_from_reasoning_models() {
    let asked = |base, model| !body(&provider(base, model))["include"].is_null();
    for model in ["gpt-5.5", "o4-mini", "codex-mini-latest"] {
        assert!(asked(OFFICIAL_BASE_URL, model), "{model}");
    }
    for model in ["gpt-4o", "gpt-4.1-mini", "gpt-5-chat-latest", "chatgpt-4o-latest"] {
        assert!(!asked(OFFICIAL_BASE_URL, model), "{model}");
    }
    assert!(asked("http://localhost:1", "gpt-4-all"));
}

#[test]
fn reasoning_without_output_is_not_sent_back() {
    let reasoning = || Block::Reasoning { id: "r".into(), summary: vec![], sealed: "s".into() };
    let kinds = |blocks| -> Vec<String> {
        let items = assistant(&AssistantMessage { blocks });
        items.iter().map(|item| item["type"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(kinds(vec![reasoning()]), [""; 0]);
    assert_eq!(kinds(vec![reasoning(), Block::Text(" ".into())]), [""; 0]);
    let said = Block::Text("a".into());
    assert_eq!(kinds(vec![reasoning(), said, reasoning()]), ["reasoning", "message"]);
}

fn check(events: &[Value], expect: Expect) {
    let decoder = ResponsesDecoder::new("made", testing::no_history()).with_limit(Some(100));
    expect.assert_eq(&testing::decode(decoder, events));
}

fn event(kind: &str, mut rest: Value) -> Value {
    rest["type"] = format!("response.{kind}").into();
    rest
}

fn added(index: u64, item: Value) -> Value {
    event("output_item.added", json!({"output_index": index, "item": item}))
}

fn done(index: u64, item: Value) -> Value {
    event("output_item.done", json!({"output_index": index, "item": item}))
}

fn message(text: &str) -> Value {
    let content =
        if text.is_empty() { json!([]) } else { json!([{"type": "output_text", "text": text}]) };
    json!({"type": "message", "id": "msg", "role": "assistant", "content": content})
}

fn call(id: &str, arguments: &str) -> Value {
    json!({"type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": "f", "arguments": arguments})
}

fn reasoning(summary: &[&str], sealed: Option<&str>) -> Value {
    let summary: Vec<Value> =
        summary.iter().map(|text| json!({"type": "summary_text", "text": text})).collect();
    json!({"type": "reasoning", "id": "rs", "summary": summary, "encrypted_content": sealed})
}

fn said(index: u64, delta: &str) -> Value {
    event("output_text.delta", json!({"output_index": index, "content_index": 0, "delta": delta}))
}

fn argued(id: &str, delta: &str) -> Value {
    event("function_call_arguments.delta", json!({"item_id": format!("fc_{id}"), "delta": delta}))
}

fn completed() -> Value {
    let usage = json!({"input_tokens": 8, "input_tokens_details": {"cached_tokens": 3}, "output_tokens": 4});
    event("completed", json!({"response": {"status": "completed", "usage": usage, "error": null}}))
}

fn incomplete(reason: &str) -> Value {
    event("incomplete", json!({"response": {"incomplete_details": {"reason": reason}}}))
}

#[test]
fn a_complete_stream_becomes_one_message() {
    // As the documentation has it: numbers, parts and all.
    check(
        &[
            event("created", json!({"response": {"status": "in_progress"}, "sequence_number": 0})),
            event("in_progress", json!({"response": {"status": "in_progress"}})),
            added(0, reasoning(&[], Some("early"))),
            event("reasoning_summary_part.added", json!({"output_index": 0, "summary_index": 0})),
            event("reasoning_summary_text.delta", json!({"output_index": 0, "delta": "Hm"})),
            event("reasoning_summary_text.done", json!({"output_index": 0, "text": "Hm"})),
            event("reasoning_summary_part.added", json!({"output_index": 0, "summary_index": 1})),
            event("reasoning_summary_text.delta", json!({"output_index": 0, "delta": "so"})),
            done(0, reasoning(&["Hm", "so"], Some("sealed"))),
            added(1, message("")),
            event(
                "content_part.added",
                json!({"output_index": 1, "part": {"type": "output_text", "text": ""}}),
            ),
            said(1, "A"),
            said(1, "b"),
            event("output_text.done", json!({"output_index": 1, "text": "Ab"})),
            done(1, message("Ab")),
            added(2, call("a", "")),
            argued("a", "{\"x\":"),
            argued("a", "1}"),
            event(
                "function_call_arguments.done",
                json!({"output_index": 2, "arguments": "{\"x\":1}"}),
            ),
            done(2, call("a", "{\"x\":1}")),
            completed(),
        ],
        expect![[r#"
            thinking "Hm"
            thinking "\n\n"
            thinking "so"
            text "A"
            text "b"
            call a f
            ToolUse 8/3/4 reasoning(rs, ["Hm", "so"], sealed) "Ab" a=f({"x":1})"#]],
    );
    // Parallel calls, interleaved.
    check(
        &[
            added(0, call("a", "")),
            added(1, call("b", "")),
            argued("b", "{}"),
            argued("a", "{\"x\":1}"),
            done(1, call("b", "")),
            done(0, call("a", "")),
            completed(),
        ],
        expect![[r#"
            call a f
            call b f
            ToolUse 8/3/4 a=f({"x":1}) b=f({})"#]],
    );
    // Nothing streamed.
    check(
        &[done(0, message("Hi")), done(1, call("a", "")), completed()],
        expect![[r#"
        text "Hi"
        call a f
        ToolUse 8/3/4 "Hi" a=f({})"#]],
    );
    let mut whole = completed();
    whole["response"]["output"] = json!([reasoning(&["Hm"], None), message("Hi"), call("a", "{}")]);
    check(
        &[whole],
        expect![[r#"
        thinking "Hm"
        text "Hi"
        call a f
        ToolUse 8/3/4 thinking("Hm", None) "Hi" a=f({})"#]],
    );
    check(&[completed()], expect!["EndTurn 8/3/4 "]);
    let refusal = json!({"type": "message", "content": [{"type": "refusal", "refusal": "No."}]});
    check(
        &[
            added(0, json!({"type": "message"})),
            event("refusal.delta", json!({"output_index": 0, "delta": "N"})),
            done(0, refusal),
            completed(),
        ],
        expect![[r#"
            text "N"
            text "o."
            Refusal 8/3/4 "No.""#]],
    );
}

#[test]
fn fields_that_servers_leave_out_are_optional() {
    // Neither numbers nor indexes.
    check(
        &[
            event("output_item.added", json!({"item": message("")})),
            event("output_text.delta", json!({"item_id": "msg", "delta": "A"})),
            event("output_item.done", json!({"item": message("A")})),
            event("output_item.added", json!({"item": call("a", "")})),
            argued("a", "{}"),
            event("output_item.done", json!({"item": call("a", "{}")})),
            completed(),
            json!("[DONE]"),
        ],
        expect![[r#"
            text "A"
            call a f
            ToolUse 8/3/4 "A" a=f({})"#]],
    );
    // Nor ids, nor beginnings.
    check(
        &[
            event("reasoning_text.delta", json!({"output_index": 0, "delta": "Hm"})),
            event("output_text.delta", json!({"output_index": 1, "delta": "A"})),
            event(
                "output_item.done",
                json!({"item": {"type": "function_call", "name": "f", "arguments": "{}"}}),
            ),
            completed(),
        ],
        expect![[r#"
            thinking "Hm"
            text "A"
            call made_1 f
            ToolUse 8/3/4 thinking("Hm", None) "A" made_1=f({})"#]],
    );
    // The id of an item changes on the way.
    check(
        &[
            added(0, json!({"type": "message", "id": "one"})),
            event("output_text.delta", json!({"output_index": 0, "item_id": "two", "delta": "A"})),
            done(0, json!({"type": "message", "id": "three", "content": [{"text": "Ab"}]})),
            completed(),
        ],
        expect![[r#"
            text "A"
            text "b"
            EndTurn 8/3/4 "Ab""#]],
    );
    // The name comes late, and a kind of item that is not ours.
    check(
        &[
            added(0, json!({"type": "web_search_call", "id": "ws"})),
            done(0, json!({"type": "web_search_call", "id": "ws"})),
            added(1, json!({"type": "function_call", "id": "fc", "call_id": "a"})),
            done(1, json!({"type": "function_call", "id": "fc", "name": "f", "arguments": ""})),
            completed(),
        ],
        expect![[r#"
            call a f
            ToolUse 8/3/4 a=f({})"#]],
    );
    // Cut at the limit, and called complete.
    let at_limit = || {
        event(
            "completed",
            json!({"response": {"usage": {"input_tokens": 1, "output_tokens": 100}}}),
        )
    };
    check(
        &[done(0, call("a", "{\"x")), at_limit()],
        expect![[r#"
        call a f
        MaxTokens 1/0/100 a=f(invalid "{\"x": EOF while parsing a string at line 1 column 3)"#]],
    );
    check(
        &[done(0, message("And so")), at_limit()],
        expect![[r#"
        text "And so"
        MaxTokens 1/0/100 "And so""#]],
    );
    check(
        &[done(0, call("a", "{}")), at_limit()],
        expect![[r#"
        call a f
        ToolUse 1/0/100 a=f({})"#]],
    );
}

#[test]
fn each_end_of_an_answer_becomes_a_stop() {
    let call = || done(0, call("a", "{\"x"));
    check(
        &[call(), completed()],
        expect![[r#"
        call a f
        ToolUse 8/3/4 a=f(invalid "{\"x": EOF while parsing a string at line 1 column 3)"#]],
    );
    check(
        &[call(), incomplete("max_output_tokens")],
        expect![[r#"
        call a f
        MaxTokens 0/0/0 a=f(invalid "{\"x": EOF while parsing a string at line 1 column 3)"#]],
    );
    check(
        &[call(), incomplete("content_filter")],
        expect![[r#"
        call a f
        Refusal 0/0/0 a=f(invalid "{\"x": EOF while parsing a string at line 1 column 3)"#]],
    );
    check(
        &[call(), incomplete("invented")],
        expect![[r#"
        call a f
        Other("invented") 0/0/0 a=f(invalid "{\"x": EOF while parsing a string at line 1 column 3)"#]],
    );
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
        &[added(0, call("a", "")), argued("a", "{}"), done(0, call("a", "{}"))],
        expect![[r#"
            call a f
            StreamCut: The connection broke in the middle of the answer (the stream ended early)."#]],
    );
    check(
        &[json!("{\"type\":")],
        expect![
            "Protocol: The model's answer is not in its format: an event is not JSON (EOF while parsing a value at line 1 column 8)."
        ],
    );
    check(
        &[json!("[DONE]")],
        expect![
            "StreamCut: The connection broke in the middle of the answer (the stream ended early)."
        ],
    );
    check(
        &[said(0, "A"), json!({"type": "error", "code": "rate_limit_exceeded", "message": "slow"})],
        expect![[r#"
            text "A"
            RateLimited: The model server reported an error: slow"#]],
    );
    check(
        &[json!({"error": {"code": 500, "message": "no", "type": "server_error"}})],
        expect!["Server: The model server reported an error: no"],
    );
    let failed =
        |error: Value| event("failed", json!({"response": {"status": "failed", "error": error}}));
    check(
        &[failed(json!({"code": "server_error", "message": "no"}))],
        expect!["Server: The model server reported an error: no"],
    );
    check(
        &[failed(json!({"code": "context_length_exceeded", "message": "big"}))],
        expect!["ContextOverflow: The model server reported an error: big"],
    );
    check(
        &[failed(json!({"code": "invalid_prompt", "message": "bad"}))],
        expect!["Rejected: The model server reported an error: bad"],
    );
    check(&[failed(Value::Null)], expect!["Server: The model server reported an error."]);
    check(
        &[added(0, call("a", "")), added(1, call("a", ""))],
        expect![[r#"
        call a f
        Protocol: The model's answer is not in its format: an item of the output begins twice."#]],
    );
    check(
        &[added(0, call("a", "")), added(0, message(""))],
        expect![[r#"
        call a f
        Protocol: The model's answer is not in its format: an item of the output begins twice."#]],
    );
    check(
        &[argued("a", "{}")],
        expect![
            "Protocol: The model's answer is not in its format: arguments for a call that did not begin."
        ],
    );
    check(
        &[added(0, call("a", "")), said(0, "A")],
        expect![[r#"
        call a f
        Protocol: The model's answer is not in its format: text for an item of another kind."#]],
    );
}

fn any_event() -> impl Strategy<Value = Value> {
    let place = || prop::option::of(0..2_u64);
    let item = prop::sample::select(vec![
        message("x"),
        call("a", "{}"),
        call("b", ""),
        reasoning(&["y"], Some("z")),
        json!({"type": "new_call", "id": "n"}),
        Value::Null,
    ]);
    let of_item = (prop::sample::select(vec!["added", "done"]), place(), item).prop_map(
        |(kind, index, item)| {
            event(&format!("output_item.{kind}"), json!({"output_index": index, "item": item}))
        },
    );
    let kinds = vec![
        "output_text.delta",
        "refusal.delta",
        "reasoning_summary_text.delta",
        "function_call_arguments.delta",
    ];
    let delta = (prop::sample::select(kinds), place())
        .prop_map(|(kind, index)| event(kind, json!({"output_index": index, "delta": "{"})));
    prop_oneof![
        4 => of_item,
        4 => delta,
        1 => Just(completed()),
        1 => Just(incomplete("max_output_tokens")),
        1 => prop::sample::select(vec![json!(null), json!([]), json!("{"), json!("[DONE]"), event("new", json!({}))]),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_stream_has_exactly_one_end(events in prop::collection::vec(any_event(), 0..12)) {
        // `decode` asserts one end, and nothing after it.
        let shown = testing::decode(
            ResponsesDecoder::new("made", testing::no_history()), &events);
        if shown.lines().last().is_some_and(|line| line.starts_with("ToolUse")) {
            prop_assert!(events.iter().any(|event| event["type"] == "response.completed"));
        }
    }
}

//! The rule checker of the model server: each rule has a body that breaks it.

use cairn_tests::model_server::{Wire, violations};
use expect_test::{Expect, expect};
use serde_json::{Value, json};

fn check(wire: Wire, messages: Value, expect: Expect) {
    let body = match wire {
        Wire::Anthropic | Wire::OpenAi => {
            json!({"model": "m", "max_tokens": 1, "stream": true, "messages": messages})
        }
        Wire::Responses => json!({"model": "m", "store": false, "stream": true, "input": messages}),
    };
    expect.assert_eq(&violations(wire, &body).join("\n"));
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": [{"type": "text", "text": text}]})
}

fn uses(ids: &[&str]) -> Value {
    let blocks: Vec<Value> = ids
        .iter()
        .map(|id| json!({"type": "tool_use", "id": id, "name": "f", "input": {}}))
        .collect();
    json!({"role": "assistant", "content": blocks})
}

fn result(id: &str) -> Value {
    json!({"type": "tool_result", "tool_use_id": id, "content": "x"})
}

fn blocks(role: &str, blocks: Value) -> Value {
    json!({"role": role, "content": blocks})
}

#[test]
fn messages_rules_report_each_violation() {
    let check = |messages, expect| check(Wire::Anthropic, messages, expect);
    let text = || json!({"type": "text", "text": "t"});
    check(
        json!([
            user("a"),
            uses(&["1", "2"]),
            blocks("user", json!([result("2"), result("1"), text()]))
        ]),
        expect![""],
    );
    check(json!([]), expect!["messages: empty"]);
    check(
        json!([uses(&["1"]), blocks("user", json!([result("1")]))]),
        expect!["messages[0]: not of the user"],
    );
    check(
        json!([user("a"), uses(&["1"]), blocks("user", json!([text(), result("1")]))]),
        expect!["messages[2]: text before a tool_result"],
    );
    check(
        json!([user("a"), uses(&["1", "2"]), blocks("user", json!([result("1")]))]),
        expect![[r#"messages[2]: no results of ["2"]"#]],
    );
    check(
        json!([user("a"), uses(&["1"]), blocks("user", json!([result("1"), result("1")]))]),
        expect![[r#"messages[2]: result of "1", not awaited"#]],
    );
    check(
        json!([user("a"), blocks("user", json!([result("9")]))]),
        expect![[r#"messages[1]: result of "9", not awaited"#]],
    );
    check(
        json!([user("a"), uses(&["1"]), user("b"), blocks("user", json!([result("1")]))]),
        expect![[r#"
        messages[2]: no results of ["1"]
        messages[3]: result of "1", not awaited"#]],
    );
    check(
        json!([user("a"), uses(&["1"])]),
        expect![[r#"
        the last message is not of the user
        no results of ["1"]"#]],
    );
    check(
        json!([
            user("a"),
            uses(&["1"]),
            blocks("user", json!([result("1")])),
            uses(&["1"]),
            blocks("user", json!([result("1")]))
        ]),
        expect![[r#"messages[3]: id "1" was used before"#]],
    );
    check(json!([user(" ")]), expect!["messages[0]: blank text"]);
    check(
        json!([user("a"), blocks("assistant", json!([]))]),
        expect![[r#"
        the last message is not of the user
        messages[1]: no content"#]],
    );
    check(
        json!([user("a"), blocks("assistant", json!([{"type": "thinking", "thinking": "x"}]))]),
        expect![[r#"
            the last message is not of the user
            messages[1]: thinking without its signature
            messages[1]: ends with thinking"#]],
    );
    check(
        json!([
            user("a"),
            blocks(
                "assistant",
                json!([{"type": "tool_use", "id": "a:b", "name": "", "input": "{}"}])
            ),
            blocks("user", json!([result("a:b")]))
        ]),
        expect![[r#"
        messages[1]: tool_use id: "a:b" is not allowed
        messages[1]: tool_use name: "" is not allowed
        messages[1]: input of "a:b""#]],
    );
    check(
        json!([user("a"), blocks("system", json!([text()]))]),
        expect![[r#"
            the last message is not of the user
            messages[1]: role Some("system")"#]],
    );
}

#[test]
fn chat_completions_rules_report_each_violation() {
    let check = |messages, expect| check(Wire::OpenAi, messages, expect);
    let say = |role: &str, text: &str| json!({"role": role, "content": text});
    let call = |id: &str| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let calls = |calls: Value| json!({"role": "assistant", "content": null, "tool_calls": calls});
    let result = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": ""});
    check(
        json!([
            say("system", "s"),
            say("user", "a"),
            calls(json!([call("1"), call("2")])),
            result("2"),
            result("1"),
            say("user", "n")
        ]),
        expect![""],
    );
    check(
        json!([say("system", "s"), say("assistant", "a")]),
        expect![[r#"
            the first message is not of the user
            the last message is not of the user or a tool"#]],
    );
    check(
        json!([say("user", "a"), say("system", "s")]),
        expect![[r#"
            the last message is not of the user or a tool
            messages[1]: system is not first"#]],
    );
    check(
        json!([
            say("user", "a"),
            calls(json!([call("1"), call("2")])),
            result("1"),
            say("user", "n"),
            result("2")
        ]),
        expect![[r#"
        messages[3]: before results of ["2"]
        messages[4]: result of "2", not awaited"#]],
    );
    check(
        json!([say("user", "a"), calls(json!([call("1")]))]),
        expect![[r#"
            the last message is not of the user or a tool
            no results of ["1"]"#]],
    );
    check(
        json!([say("user", "a"), calls(json!([]))]),
        expect![[r#"
            the last message is not of the user or a tool
            messages[1]: empty tool_calls
            messages[1]: blank text"#]],
    );
    check(
        json!([say("user", "a"), say("assistant", "")]),
        expect![[r#"
        the last message is not of the user or a tool
        messages[1]: blank text"#]],
    );
    let broken =
        json!({"id": "1", "type": "function", "function": {"name": "f g", "arguments": "{"}});
    check(
        json!([say("user", "a"), calls(json!([broken])), result("1")]),
        expect![[r#"
        messages[1]: name of "1": "f g" is not allowed
        messages[1]: arguments of "1""#]],
    );
}

#[test]
fn responses_rules_report_each_violation() {
    let check = |items, expect| check(Wire::Responses, items, expect);
    let say = |role: &str, kind: &str, text: &str| json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]});
    let user = |text| say("user", "input_text", text);
    let said = |text| say("assistant", "output_text", text);
    let call =
        |id: &str| json!({"type": "function_call", "call_id": id, "name": "f", "arguments": "{}"});
    let output = |id: &str| json!({"type": "function_call_output", "call_id": id, "output": ""});
    let sealed =
        || json!({"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "x"});
    check(
        json!([
            user("a"),
            sealed(),
            said("b"),
            call("1"),
            sealed(),
            call("2"),
            output("2"),
            output("1"),
            user("n"),
            sealed(),
            call("3"),
            output("3"),
            call("4"),
            output("4")
        ]),
        expect![""],
    );
    check(
        json!([said("a")]),
        expect![[r#"
        the first item is not of the user
        the last item is not of the user or a tool"#]],
    );
    check(json!([user("a"), user(" ")]), expect!["input[1]: blank text"]);
    check(
        json!([user("a"), call("1")]),
        expect![[r#"
        the last item is not of the user or a tool
        no results of ["1"]"#]],
    );
    check(
        json!([user("a"), call("1"), user("n"), output("1")]),
        expect![[r#"
        input[2]: before results of ["1"]
        input[3]: result of "1", not awaited"#]],
    );
    check(
        json!([user("a"), call("1"), call("2"), output("1"), call("3"), output("3")]),
        expect![[r#"input[4]: before results of ["2"]"#]],
    );
    check(json!([user("a"), output("1")]), expect![[r#"input[1]: result of "1", not awaited"#]]);
    check(
        json!([user("a"), call("1"), output("1"), output("1")]),
        expect![[r#"input[3]: result of "1", not awaited"#]],
    );
    check(
        json!([user("a"), call("1"), output("1"), call("1"), output("1")]),
        expect![[r#"input[3]: id "1" was used before"#]],
    );
    check(
        json!([user("a"), sealed(), user("b")]),
        expect!["input[1]: reasoning that led to nothing"],
    );
    check(
        json!([user("a"), {"type": "reasoning", "id": "r", "summary": []}, call("1"), output("1")]),
        expect!["input[1]: reasoning that is not sealed"],
    );
    check(
        json!([user("a"), say("assistant", "input_text", "b"), user("c")]),
        expect!["input[1]: type of a part"],
    );
    check(json!([user("a"), {"type": "new"}, user("c")]), expect![[r#"input[1]: type "new""#]]);
    let broken = json!({"type": "function_call", "call_id": "", "name": "", "arguments": "{"});
    check(
        json!([user("a"), broken, output("")]),
        expect![[r#"
        input[1]: call_id
        input[1]: name of "": "" is not allowed
        input[1]: arguments of """#]],
    );
    let body = json!({"model": "m", "stream": true, "max_output_tokens": 0, "messages": [],
        "instructions": "", "input": [user("a")],
        "tools": [{"name": "a", "parameters": {"type": "object"}}, {"name": "a"}]});
    expect![[r#"
        messages: not known
        max_tokens: missing, zero or twice
        store: not false
        instructions: blank
        tools[0]: type
        tools[0]: strict
        tools[1]: named twice
        tools[1]: type
        tools[1]: strict
        tools[1]: no object schema"#]]
    .assert_eq(&violations(Wire::Responses, &body).join("\n"));
}

#[test]
fn a_conversation_must_end_with_a_message_to_answer() {
    let said = |role: &str| json!({"role": role, "content": [{"type": "text", "text": "a"}]});
    check(
        Wire::Anthropic,
        json!([said("user"), said("assistant")]),
        expect!["the last message is not of the user"],
    );
    check(
        Wire::Anthropic,
        json!([said("user"), said("assistant"), said("assistant"), said("user"), said("user")]),
        expect!["messages[2]: the assistant twice"],
    );
    let said = |role: &str| json!({"role": role, "content": "a"});
    check(
        Wire::OpenAi,
        json!([said("user"), said("assistant")]),
        expect!["the last message is not of the user or a tool"],
    );
}

#[test]
fn rules_of_top_level_fields_report_each_violation() {
    let body = json!({"temperature": 0, "stream": false, "max_tokens": 0, "messages": [user("a")],
        "tools": [{"name": "a b", "input_schema": {}}]});
    expect![[r#"
        temperature: not known
        model: missing
        stream: not true
        max_tokens: missing, zero or twice
        tools[0]: name: "a b" is not allowed
        tools[0]: no object schema"#]]
    .assert_eq(&violations(Wire::Anthropic, &body).join("\n"));
}

#[test]
fn options_of_a_model_have_the_values_of_the_vendors() {
    let with = |member: &str, value: Value| {
        let mut body =
            json!({"model": "m", "max_tokens": 1, "stream": true, "messages": [user("a")]});
        body[member] = value;
        violations(Wire::Anthropic, &body).join("\n")
    };
    assert_eq!(with("thinking", json!({"type": "adaptive", "display": "summarized"})), "");
    assert_eq!(with("output_config", json!({"effort": "high"})), "");
    expect![[r#"thinking: {"type":"enabled","budget_tokens":9}"#]]
        .assert_eq(&with("thinking", json!({"type": "enabled", "budget_tokens": 9})));
    expect![[r#"effort: "enormous""#]]
        .assert_eq(&with("output_config", json!({"effort": "enormous"})));
    expect!["effort: not known"].assert_eq(&with("effort", json!("high")));
}

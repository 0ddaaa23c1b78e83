//! Scripts right and wrong, and sessions that play them.

use bytes::Bytes;
use expect_test::{Expect, expect};
use tokio::time::Instant;

use super::{super::testing, *};

fn request(session: &str, messages: Vec<u8>) -> ModelRequest {
    ModelRequest { session: session.into(), ..testing::request(messages) }
}

async fn answer(provider: &ReplayProvider, request: ModelRequest) -> Vec<ModelEvent> {
    let (sender, mut receiver) = mpsc::channel(1);
    let work = provider.answer(request, sender);
    let read = async {
        let mut events = Vec::new();
        while let Some(event) = receiver.recv().await {
            events.push(event);
        }
        events
    };
    tokio::join!(work, read).1
}

fn provider(script: &str) -> ReplayProvider {
    ReplayProvider::new(Arc::new(Script::parse(script, "test.json").unwrap()))
}

fn failure(events: &[ModelEvent]) -> &Failure {
    match events.last() {
        Some(ModelEvent::Failed(failure)) => failure,
        other => panic!("expected a failure, got {other:?}"),
    }
}

fn reply(events: &[ModelEvent]) -> &Reply {
    match events.last() {
        Some(ModelEvent::Finished(reply)) => reply,
        other => panic!("expected a reply, got {other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn steps_stream_in_pieces_and_end_politely() {
    let provider = provider(
        r#"{"cairnReplay": 1, "steps": [
            {"thinking": "ab", "text": "äöü", "chunkChars": 2, "delayMs": 10,
             "calls": [{"name": "f", "arguments": {"x": 1}}, {"name": "g"}]}]}"#,
    );
    let begun = Instant::now();
    let events = answer(&provider, request("s", Vec::new())).await;
    assert_eq!(begun.elapsed(), Duration::from_millis(30));
    assert_eq!(
        events[..5],
        [
            ModelEvent::Thinking("ab".into()),
            ModelEvent::Text("äö".into()),
            ModelEvent::Text("ü".into()),
            ModelEvent::CallStarted { id: "replay_0_0".into(), name: "f".into() },
            ModelEvent::CallStarted { id: "replay_0_1".into(), name: "g".into() },
        ]
    );
    assert_eq!(reply(&events).stop, Stop::ToolUse);
    assert_eq!(reply(&events).message.tool_calls().count(), 2);
    let events = answer(&provider, request("s", Vec::new())).await;
    assert_eq!(reply(&events).message.text(), ENDED);
    // Another session begins at the start.
    let events = answer(&provider, request("t", Vec::new())).await;
    assert_eq!(reply(&events).message.text(), "äöü");
}

#[tokio::test]
async fn a_failing_step_is_followed_by_the_next() {
    let provider = provider(
        r#"{"cairnReplay": 1, "steps": [
            {"text": "so far", "fail": {"kind": "rateLimited", "message": "slow", "retryAfterMs": 5}},
            {"text": "again", "stop": "maxTokens"}]}"#,
    );
    let events = answer(&provider, request("s", Vec::new())).await;
    assert_eq!(events[0], ModelEvent::Text("so far".into()));
    assert_eq!(failure(&events).kind, FailureKind::RateLimited);
    assert_eq!(failure(&events).retry_after_ms, Some(5));
    let events = answer(&provider, request("s", Vec::new())).await;
    assert_eq!(reply(&events).stop, Stop::MaxTokens);
}

#[tokio::test]
async fn expectations_are_checked_against_the_conversation() {
    let script = |expect: &str| {
        // The conversation has one answer: the next is the second step.
        format!(r#"{{"cairnReplay": 1, "steps": [{{}}, {{"expect": {expect}, "text": "ok"}}]}}"#)
    };
    let mut messages = Vec::new();
    let scripted = provider(&script("{}"));
    for item in testing::conversation().into_iter().take(3) {
        scripted.encode(None, &item, &mut messages);
    }
    let check = async |expect: &str, outcome: Expect| {
        let provider = provider(&script(expect));
        let events = answer(&provider, request("s", messages.clone())).await;
        outcome.assert_eq(match events.last() {
            Some(ModelEvent::Finished(_)) => "met",
            _ => &failure(&events).message,
        });
    };
    check(r#"{"contains": ["Fix \"it\"", "Be brief.", "\"path\":\"a.rs\""]}"#, expect!["met"])
        .await;
    check(
        r#"{"lastContains": ["fn a() {}", "\"kind\":\"Reminder\",\"text\":\"go on\"", "bad arguments"]}"#,
        expect!["met"],
    )
    .await;
    check(r#"{"contains": ["absent"], "lastContains": ["Fix"]}"#, expect![[r#"test.json: steps[1]: the request does not meet the expectation: no "absent" in it; no "Fix" in its newest item, which is {"ToolResults":{"results":[{"call_id":"a:1","content":"fn a() {}","is_error":false},{"call_id":"b","content":"bad arguments","is_error":true}],"notes":[{"kind":"Notice","text":"changed"},{"kind":"Reminder","text":"go on"}]}}"#]]).await;
}

#[test]
fn encoding_is_one_line_per_item() {
    let provider = provider(r#"{"cairnReplay": 1, "steps": []}"#);
    let text = testing::encoded(&provider, &testing::conversation());
    expect![[r#"
        {"User":{"text":"Fix \"it\"","notes":[{"kind":"Reminder","text":"plan"},{"kind":"Steer","text":"quick"}]}},
        {"Assistant":{"blocks":[{"Thinking":{"text":"hm","signature":"sig"}},{"Thinking":{"text":"unsigned","signature":null}},{"RedactedThinking":"opaque"},{"Reasoning":{"id":"rs","summary":["why"],"sealed":"sealed"}},{"Text":"Looking."},{"Text":"  "},{"ToolCall":{"id":"a:1","name":"read_file","arguments":{"Object":{"path":"a.rs","n":1}}}},{"ToolCall":{"id":"b","name":"odd name!","arguments":{"Invalid":{"raw":"{\"x","error":"cut"}}}}]}},
        {"ToolResults":{"results":[{"call_id":"a:1","content":"fn a() {}","is_error":false},{"call_id":"b","content":"bad arguments","is_error":true}],"notes":[{"kind":"Notice","text":"changed"},{"kind":"Reminder","text":"go on"}]}},
        {"Assistant":{"blocks":[{"Thinking":{"text":"nothing","signature":"s"}}]}},
        {"User":{"text":" ","notes":[]}}"#]].assert_eq(std::str::from_utf8(&text).unwrap());
}

#[tokio::test]
async fn ids_in_a_resumed_session_stay_unique() {
    let provider =
        provider(r#"{"cairnReplay": 1, "steps": [{"calls": [{"name": "f"}, {"name": "f"}]}]}"#);
    let taken = Bytes::from_static(br#"{"call":"replay_0_0"}"#).to_vec();
    let events = answer(&provider, request("s", taken)).await;
    let ids: Vec<&str> = reply(&events).message.tool_calls().map(|call| &*call.id).collect();
    assert!(ids[0].starts_with("call_") && ids[1] == "replay_0_1", "{ids:?}");
}

#[tokio::test]
async fn a_restored_session_continues_at_its_step() {
    let provider = provider(
        r#"{"cairnReplay": 1, "steps": [{"text": "one"}, {"text": "two"}, {"text": "three"}]}"#,
    );
    let mut said = Vec::new();
    let message = AssistantMessage { blocks: vec![Block::Text("one".into())] };
    provider.encode(None, &Item::Assistant(message), &mut said);
    let events = answer(&provider, request("s", said.clone())).await;
    assert_eq!(reply(&events).message.text(), "two");
    let events = answer(&provider, request("s", said)).await;
    assert_eq!(reply(&events).message.text(), "three");
}

#[tokio::test]
async fn a_subagent_plays_its_own_steps() {
    let said = |text: &str| {
        Item::User(cairn_core::conversation::UserMessage {
            text: text.into(),
            ..Default::default()
        })
    };
    let provider = provider(
        r#"{"cairnReplay": 1, "steps": [{"text": "mine"}], "subagents": [
            {"prompt": "look \"here\"", "steps": [{"text": "first"}, {"expect": {"contains": ["absent"]}}]}
        ]}"#,
    );
    let mut prompt = Vec::new();
    provider.encode(None, &said("Please look \"here\"."), &mut prompt);
    assert_eq!(
        reply(&answer(&provider, request("c", prompt.clone())).await).message.text(),
        "first"
    );
    let failed = answer(&provider, request("c", prompt)).await;
    let told = &failure(&failed).message;
    assert!(told.contains("subagents[0].steps[1]: the request"), "{told}");
    let mut other = Vec::new();
    provider.encode(None, &said("Something else"), &mut other);
    assert_eq!(reply(&answer(&provider, request("s", other)).await).message.text(), "mine");
}

#[test]
fn a_script_that_an_earlier_version_exported_can_be_read() {
    let script = |name: &str| {
        let text = format!(
            r#"{{"cairnReplay": 1, "steps": [], "{name}": [{{"prompt": "a", "steps": []}}]}}"#
        );
        Script::parse(&text, "test.json").unwrap()
    };
    assert_eq!(script("subagents").subagents.len(), 1);
    assert_eq!(script("children"), script("subagents"));
}

#[test]
fn a_fault_of_a_script_is_named_with_its_place() {
    let check = |text: &str, expect: Expect| {
        let error = Script::parse(text, "test.json").unwrap_err();
        expect.assert_eq(&error.fault);
    };
    let step = |step: &str, expect: Expect| {
        check(&format!(r#"{{"cairnReplay": 1, "steps": [{{}}, {step}]}}"#), expect);
    };
    check("{", expect!["EOF while parsing an object at line 1 column 1"]);
    check(
        "[]",
        expect!["invalid length 0, expected struct Script with 4 elements at line 1 column 2"],
    );
    check("{}", expect!["missing field `cairnReplay` at line 1 column 2"]);
    check(r#"{"cairnReplay": 1}"#, expect!["missing field `steps` at line 1 column 18"]);
    check(r#"{"cairnReplay": 2, "steps": []}"#, expect!["`cairnReplay` must be 1"]);
    check(
        r#"{"cairnReplay": 1, "steps": [], "extra": 0}"#,
        expect![
            "unknown field `extra`, expected one of `cairnReplay`, `name`, `steps`, `children`, `subagents` at line 1 column 39"
        ],
    );
    check(
        r#"{"cairnReplay": 1, "steps": [], "origin": "a"}"#,
        expect![
            "unknown field `origin`, expected one of `cairnReplay`, `name`, `steps`, `children`, `subagents` at line 1 column 40"
        ],
    );
    check(
        r#"{"cairnReplay": 1, "steps": [], "subagents": [{"prompt": ""}]}"#,
        expect!["the `prompt` of a subagent is empty"],
    );
    step(
        "7",
        expect!["invalid type: integer `7`, expected struct ScriptedStep at line 1 column 34"],
    );
    step(
        r#"{"txt": "a"}"#,
        expect![
            "unknown field `txt`, expected one of `expect`, `thinking`, `text`, `calls`, `delayMs`, `chunkChars`, `fail`, `stop` at line 1 column 39"
        ],
    );
    step(
        r#"{"delayMs": -1}"#,
        expect!["invalid value: integer `-1`, expected u64 at line 1 column 47"],
    );
    step(r#"{"delayMs": 90000}"#, expect!["`delayMs` is at most 60000"]);
    step(r#"{"calls": [{"arguments": {}}]}"#, expect!["missing field `name` at line 1 column 61"]);
    step(
        r#"{"calls": [{"name": "f", "arguments": []}]}"#,
        expect!["invalid type: sequence, expected a map at line 1 column 71"],
    );
    step(
        r#"{"expect": {"has": []}}"#,
        expect!["unknown field `has`, expected `contains` or `lastContains` at line 1 column 50"],
    );
    step(
        r#"{"fail": {"kind": "odd"}}"#,
        expect![
            "unknown variant `odd`, expected one of `connect`, `timeout`, `rateLimited`, `server`, `streamCut`, `protocol`, `auth`, `rejected`, `contextOverflow`, `unusable` at line 1 column 56"
        ],
    );
    step(
        r#"{"fail": {"kind": "server"}, "calls": [{"name": "f"}]}"#,
        expect!["a step that fails has no calls"],
    );
}

#[tokio::test]
async fn a_valid_script_file_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("script.json");
    let provider = ReplayProvider::file(&path);
    let events = answer(&provider, request("s", Vec::new())).await;
    assert!(failure(&events).message.contains("cannot be read"), "{events:?}");
    std::fs::write(&path, r#"{"cairnReplay": 1, "steps": [{"text": 1}]}"#).unwrap();
    let events = answer(&provider, request("s", Vec::new())).await;
    let message = &failure(&events).message;
    assert!(message.contains("script.json") && message.contains("at line 1"), "{message}");
    std::fs::write(&path, r#"{"cairnReplay": 1, "steps": [{"text": "now"}]}"#).unwrap();
    let events = answer(&provider, request("s", Vec::new())).await;
    assert_eq!(reply(&events).message.text(), "now");
}

#[test]
fn the_demo_is_a_valid_script() {
    let demo = Script::parse(DEMO, "demo").unwrap();
    let tools: Vec<&str> =
        demo.steps.iter().flat_map(|step| &step.calls).map(|call| call.name.as_str()).collect();
    assert_eq!(tools, ["TodoWrite", "write_file", "TodoWrite", "edit_file", "TodoWrite"]);
    let last = demo.steps.last().unwrap();
    assert!(last.calls.is_empty() && last.text.contains("Set an API key"));
    // The edit fits what was written.
    let arguments = |name: &str, field: &str| {
        let call = demo.steps.iter().flat_map(|step| &step.calls).find(|call| call.name == name);
        call.unwrap().arguments[field].as_str().unwrap().to_owned()
    };
    let written = arguments("write_file", "content");
    assert_eq!(written.matches(&arguments("edit_file", "old_text")).count(), 1);
}

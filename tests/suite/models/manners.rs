//! Servers that demand something of the form of requests, and say so by a refusal.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use cairn_protocol::EndReason;
use cairn_tests::model_server::{Reply, Response, Wire};
use serde_json::{Value, json};

use crate::fixtures::*;

/// Server that refuses with this text what its rule forbids, and counts the refusals.
fn demand(
    test: &TestDaemon,
    replies: impl IntoIterator<Item = Response>,
    rule: impl Fn(&Value) -> bool + Send + 'static,
    refusal: &'static str,
) -> Arc<Mutex<usize>> {
    let refused = Arc::new(Mutex::new(0));
    let (count, mut replies) = (Arc::clone(&refused), replies.into_iter().collect::<VecDeque<_>>());
    test.model.otherwise(move |request| {
        if rule(&request.json()) {
            return replies.pop_front().expect("an answer for each request");
        }
        *count.lock().unwrap() += 1;
        Response::error(400, "invalid_request_error", refusal)
    });
    refused
}

fn messages(body: &Value) -> impl Iterator<Item = &Value> {
    body["messages"].as_array().into_iter().flatten()
}

fn reads(id: &str) -> Reply {
    Reply::text("I look.").thinking("Which one?").call(id, "read_file", json!({ "path": "a" }))
}

fn rounds() -> Vec<Response> {
    [reads("c1"), reads("c2"), say("Read.")].map(Response::reply).into()
}

fn every_call_has_its_reasoning(body: &Value) -> bool {
    messages(body)
        .filter(|message| !message["tool_calls"].is_null())
        .all(|message| message["reasoning_content"].is_string())
}

#[tokio::test]
async fn a_server_that_sent_reasoning_gets_it_back() {
    let test = TestDaemon::open(Wire::OpenAi, &[("a", "x\n")]).await;
    let refusal = "reasoning_content is missing in assistant tool call message";
    let refused = demand(&test, rounds(), every_call_has_its_reasoning, refusal);
    let end = test.editor.run("Do it").await;
    assert_eq!((end.reason, *refused.lock().unwrap()), (EndReason::Completed, 0));
    let last = test.model.requests().pop().unwrap().json();
    let thoughts: Vec<_> =
        messages(&last).filter_map(|it| it["reasoning_content"].as_str()).collect();
    assert_eq!(thoughts, ["Which one?", "Which one?"]);
    test.finish().await;
}

/// The session began with another model, so no reasoning is known.
#[tokio::test]
async fn reasoning_that_is_not_known_is_empty_after_one_refusal() {
    let test = TestDaemon::open(Wire::Anthropic, &[("a", "x\n")]).await;
    let end = test.play([reads("c1"), say("Read.")]).await;
    let settings =
        json!({ "settings": { "cairn": { "model": test.model.settings(Wire::OpenAi) } } });
    test.editor.client.notify("workspace/didChangeConfiguration", settings);
    let refusal = "Missing `reasoning_content` field in the assistant message at message index 2";
    let refused = demand(&test, rounds(), every_call_has_its_reasoning, refusal);
    let after = test.editor.run_in(&end.session_id, "Again").await;
    assert_eq!((after.reason, *refused.lock().unwrap()), (EndReason::Completed, 1));
    test.finish().await;
}

/// The next task knows the lesson too.
#[tokio::test]
async fn a_server_is_asked_in_the_refused_form_once() {
    type Rule = fn(&Value) -> bool;
    let rules: [(Rule, &str); 3] = [
        (
            |body| messages(body).all(|message| message["reasoning_content"].is_null()),
            "Extra inputs are not permitted: messages.2.reasoning_content",
        ),
        (
            |body| body["stream_options"].is_null(),
            "Unrecognized request argument supplied: stream_options",
        ),
        (
            |body| body["max_tokens"].is_null(),
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        ),
    ];
    for (rule, refusal) in rules {
        let test = TestDaemon::open(Wire::OpenAi, &[("a", "x\n")]).await;
        let mut model = test.model.settings(Wire::OpenAi);
        model["maxTokens"] = 1_000.into();
        let settings = json!({ "settings": { "cairn": { "model": model } } });
        test.editor.client.notify("workspace/didChangeConfiguration", settings);
        let replies = rounds().into_iter().chain(rounds());
        let refused = demand(&test, replies, rule, refusal);
        for task in ["Do it", "Do it again"] {
            let end = test.editor.run(task).await;
            assert_eq!(end.reason, EndReason::Completed, "{refusal}: {}", end.summary);
        }
        assert_eq!(*refused.lock().unwrap(), 1, "{refusal}");
        test.finish().await;
    }
}

/// A gateway may serve a model under its name and refuse the vendor's options.
#[tokio::test]
async fn options_of_a_model_are_left_out_after_one_refusal() {
    let anthropic = (Wire::Anthropic, "claude-opus-5-5", ["thinking", "output_config"]);
    let responses = (Wire::Responses, "gpt-5.5", ["reasoning", "reasoning"]);
    for (wire, name, members) in [anthropic, responses] {
        let test = TestDaemon::open(wire, &[("a", "x\n")]).await;
        let mut model = test.model.settings(wire);
        model["name"] = name.into();
        let settings = json!({ "settings": { "cairn": { "model": model } } });
        test.editor.client.notify("workspace/didChangeConfiguration", settings);
        let refusal = "effort: Extra inputs are not permitted";
        let replies = rounds().into_iter().chain(rounds());
        let rule = move |body: &Value| members.iter().all(|member| body[member].is_null());
        let refused = demand(&test, replies, rule, refusal);
        for task in ["Do it", "Do it again"] {
            let end = test.editor.run(task).await;
            assert_eq!(end.reason, EndReason::Completed, "{name}: {}", end.summary);
        }
        let first = test.model.requests()[0].json();
        assert!(members.iter().all(|member| !first[member].is_null()), "{name}");
        assert_eq!(*refused.lock().unwrap(), 1, "{name}");
        test.finish().await;
    }
}

/// Both requests are on the way before the first refusal comes.
#[tokio::test]
async fn tasks_beside_each_other_learn_the_same_lesson() {
    let test = TestDaemon::open(Wire::OpenAi, &[]).await;
    let (first, gate) =
        Response::error(400, "e", "Unrecognized request argument: stream_options").held_at(1);
    test.model.push(first);
    test.model.push(Response::error(400, "e", "Unrecognized request argument: stream_options"));
    test.script([say("Done."), say("Done.")]);
    let one = test.editor.run_task("One").await;
    test.model.wait_for_requests(1).await;
    let two = test.editor.run_task("Two").await;
    test.model.wait_for_requests(2).await;
    // The second one is not held back, so it ends first.
    let two = test.editor.turn_end(&two.turn_id).await;
    gate.open();
    for end in [two, test.editor.turn_end(&one.turn_id).await] {
        assert_eq!(end.reason, EndReason::Completed, "{}", end.summary);
    }
    assert_eq!(test.finish().await.len(), 4);
}

/// A server that always refuses is not asked again and again.
#[tokio::test]
async fn a_lesson_that_does_not_help_ends_the_turn() {
    let test = TestDaemon::open(Wire::OpenAi, &[("a", "x\n")]).await;
    let refusal = "Extra inputs are not permitted: messages.2.reasoning_content";
    let refused = demand(&test, [], |_| false, refusal);
    let end = test.editor.run("Do it").await;
    assert_eq!(end.reason, EndReason::Failed);
    assert!(end.summary.contains("Extra inputs are not permitted"), "{}", end.summary);
    assert_eq!(*refused.lock().unwrap(), 2);
    test.finish().await;
}

/// One answer of a server as an event stream.
fn stream(deltas: &[Value]) -> Response {
    let mut body = String::new();
    for (at, delta) in deltas.iter().enumerate() {
        let finish = (at + 1 == deltas.len()).then_some("stop");
        let chunk = json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] });
        body.push_str(&format!("data: {chunk}\n\n"));
    }
    Response::raw(200, "text/event-stream", body + "data: [DONE]\n\n")
}

/// Fields without end, thinking that never closes: the turn ends with a reason, and the session goes on.
#[tokio::test]
async fn what_a_server_makes_too_large_ends_the_turn_plainly() {
    let mut many = serde_json::Map::new();
    many.extend((0..1_000).map(|number| (format!("member{number}"), json!("x"))));
    let large = json!({ "content": "", "blob": "x".repeat(10 << 20) });
    let pieces = json!({ "content": "", "blob": "x".repeat(2 << 20) });
    let unclosed = json!({ "content": format!("<think>{}", "why? ".repeat(100_000)) });
    let endless = json!({ "content": format!("<think>{}", "why? ".repeat(1_000_000)) });
    let rows = [
        (large, "larger than 8388608 bytes"),
        (pieces, "to be sent back"),
        (many.into(), "to be sent back"),
        (unclosed, "answered with nothing"),
        (endless, "larger than"),
    ];
    for (delta, says) in rows {
        let test = TestDaemon::open(Wire::OpenAi, &[("a", "x\n")]).await;
        let answer = delta.clone();
        test.model.otherwise(move |_| stream(std::slice::from_ref(&answer)));
        let end = test.editor.run("Do it").await;
        assert_eq!(end.reason, EndReason::Failed, "{says}");
        assert!(end.summary.contains(says), "{}", end.summary);
        assert!(end.summary.len() < 1_000, "{}", end.summary.len());
        let after = test.play_on(&end.session_id, [say("Back again.")]).await;
        assert_eq!(after.reason, EndReason::Completed);
        test.finish().await;
    }
}

/// An answer that quotes a file with calls in it.
#[tokio::test]
async fn a_quoted_call_is_text() {
    let test = TestDaemon::open(Wire::OpenAi, &[("a", "x\n")]).await;
    let quote =
        "The file says:\n\n```xml\n<tool_call>\n{\"name\": \"delete_file\"}\n</tool_call>\n```\n";
    let end = test.play([say(quote)]).await;
    assert_eq!((end.reason, end.summary.trim()), (EndReason::Completed, quote.trim()));
    assert_eq!(test.finish().await.len(), 1);
}

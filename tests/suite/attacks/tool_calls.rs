//! Tool calls that must not run, because the answer did not end for them or had ended before; calls
//! with overlong ids, names and arguments.
//!
//! After each the session goes on, for only then it is seen that its history is legal.

use cairn_core::model::Stop;
use cairn_protocol::{EndReason, Notice};
use cairn_tests::model_server::{Recorded, Reply, Response, Wire};
use serde_json::{Value, json};

use super::AttackTest;
use crate::fixtures::{ALL, call, newest, say};

const SSE: &str = "text/event-stream";

fn change() -> Value {
    json!({ "path": "a", "old_text": "x", "new_text": "y" })
}

fn write() -> Reply {
    Reply::text("I change it.").call("c1", "edit_file", change())
}

fn stream(wire: Wire, reply: &Reply) -> String {
    String::from_utf8(reply.encode(wire)).unwrap()
}

fn events(stream: &str) -> Vec<String> {
    stream.split_inclusive("\n\n").map(str::to_owned).collect()
}

fn position(events: &[String], text: &str) -> usize {
    events.iter().position(|event| event.contains(text)).unwrap()
}

/// The events, with some of them moved behind the one that holds `anchor`.
fn moved_behind(stream: &str, moved: impl Fn(&str) -> bool, anchor: &str) -> String {
    let (moved, mut rest): (Vec<String>, Vec<String>) =
        events(stream).into_iter().partition(|event| moved(event));
    assert!(!moved.is_empty(), "{stream}");
    let at = position(&rest, anchor) + 1;
    rest.splice(at..at, moved);
    rest.concat()
}

/// Sends this answer to every request of a turn. No call may run, and the session must go on.
async fn nothing_runs(wire: Wire, name: &str, body: String) {
    let test = AttackTest::with(wire, &[("a", b"x\n")], json!({}), |_| {}).await;
    test.model.otherwise(move |_| Response::raw(200, SSE, body.clone()));
    let end = test.editor.run("Do it").await;
    assert_ne!(end.reason, EndReason::Completed, "{wire:?}, {name}: {}", end.summary);
    test.model.otherwise(|_| Response::reply(say("Back again.")));
    let after = test.editor.run_in(&end.session_id, "Go on").await;
    assert_eq!(after.reason, EndReason::Completed, "{wire:?}, {name}: {}", after.summary);
    assert_eq!(test.read("a"), b"x\n", "{wire:?}, {name}: {}", end.summary);
    assert!(test.editor.edits().is_empty(), "{wire:?}, {name}: {}", end.summary);
    super::ran(1);
    test.finish();
}

#[tokio::test]
async fn a_message_that_does_not_stop_for_its_call_runs_nothing() {
    for (name, stop) in [
        ("end_turn", Stop::EndTurn),
        ("stop_sequence", Stop::Other("stop_sequence".into())),
        ("pause_turn", Stop::Pause),
        ("max_tokens", Stop::MaxTokens),
        ("refusal", Stop::Refusal),
        ("model_context_window_exceeded", Stop::ContextOverflow),
        ("a later reason", Stop::Other("whim".into())),
    ] {
        let body = stream(Wire::Anthropic, &write().stop(stop));
        nothing_runs(Wire::Anthropic, name, body).await;
    }
    let whole = stream(Wire::Anthropic, &write());
    let none = whole.replace("\"stop_reason\":\"tool_use\"", "\"stop_reason\":null");
    assert_ne!(none, whole);
    nothing_runs(Wire::Anthropic, "no reason", none).await;
    // The block of the call is never closed, so what is there of it may not be all.
    let mut open = events(&whole);
    let last = open.iter().rposition(|event| event.contains("content_block_stop")).unwrap();
    open.remove(last);
    nothing_runs(Wire::Anthropic, "an open block", open.concat()).await;
    // The second word contradicts the first.
    let end = events(&whole);
    let delta = position(&end, "message_delta");
    let other = end[delta].replace("tool_use", "end_turn");
    for twice in [[&other, &end[delta]], [&end[delta], &other]] {
        let mut body = end.clone();
        body.splice(delta..=delta, twice.map(String::clone));
        nothing_runs(Wire::Anthropic, "two reasons", body.concat()).await;
    }
}

#[tokio::test]
async fn a_block_after_the_stop_reason_runs_nothing() {
    for stop in [Stop::EndTurn, Stop::ToolUse] {
        let whole = stream(Wire::Anthropic, &write().stop(stop));
        let late = |event: &str| event.contains("\"index\":1");
        let after_delta = moved_behind(&whole, late, "message_delta");
        nothing_runs(Wire::Anthropic, "after message_delta", after_delta).await;
        let tail = |event: &str| late(event) && !event.contains("content_block_start");
        let begun_before = moved_behind(&whole, tail, "message_delta");
        nothing_runs(Wire::Anthropic, "begun before message_delta", begun_before).await;
    }
}

/// Events after the end are ignored; those before it count.
#[tokio::test]
async fn a_call_after_the_end_of_an_answer_runs_nothing() {
    for (wire, end) in [
        (Wire::Anthropic, "message_stop"),
        (Wire::OpenAi, "[DONE]"),
        (Wire::Responses, "response.completed"),
    ] {
        let whole = stream(wire, &write().stop(Stop::EndTurn));
        let late = |event: &str| match wire {
            Wire::Anthropic => event.contains("\"index\":1"),
            Wire::OpenAi => event.contains("\"tool_calls\":["),
            Wire::Responses => {
                event.contains("\"output_index\":1") && !event.contains("response.completed")
            }
        };
        let body = moved_behind(&whole, late, end);
        // The part of the answer that the end event repeats.
        let body = match wire {
            Wire::Responses => {
                let mut events = events(&body);
                let at = position(&events, "response.completed");
                let data = json!({ "type": "response.completed", "response": { "output": [] } });
                events[at] = format!("event: response.completed\ndata: {data}\n\n");
                events.concat()
            }
            Wire::Anthropic | Wire::OpenAi => body,
        };
        let test = AttackTest::with(wire, &[("a", b"x\n")], json!({}), |_| {}).await;
        test.model.push(Response::raw(200, SSE, body));
        let end = test.editor.run("Do it").await;
        assert_eq!((end.reason, end.summary.as_str()), (EndReason::Completed, "I change it."));
        test.model.push(Response::reply(say("Back again.")));
        test.editor.run_in(&end.session_id, "Go on").await;
        assert_eq!(test.read("a"), b"x\n", "{wire:?}");
        assert!(test.editor.edits().is_empty(), "{wire:?}");
        super::ran(1);
        test.finish();
    }
}

#[tokio::test]
async fn a_chat_completion_that_does_not_stop_for_its_call_runs_nothing() {
    let whole = stream(Wire::OpenAi, &write());
    let with = |reason: &str| {
        let body = whole.replace("\"finish_reason\":\"tool_calls\"", reason);
        assert_ne!(body, whole);
        body
    };
    for reason in [
        "length",
        "content_filter",
        "sensitive",
        "model_length",
        "model_context_window_exceeded",
        "insufficient_system_resource",
        "error",
        "whim",
    ] {
        let body = with(&format!("\"finish_reason\":\"{reason}\""));
        nothing_runs(Wire::OpenAi, reason, body).await;
    }
    nothing_runs(Wire::OpenAi, "no reason", with("\"finish_reason\":null")).await;
    let cut_then_stop = {
        let mut events = events(&whole);
        let at = position(&events, "\"finish_reason\":\"tool_calls\"");
        let length = events[at].replace("tool_calls", "length");
        events.insert(at, length);
        events.concat()
    };
    nothing_runs(Wire::OpenAi, "two reasons", cut_then_stop).await;
    for reason in ["stop", "tool_calls"] {
        let late = |event: &str| event.contains("\"tool_calls\":[");
        let told = format!("\"finish_reason\":\"{reason}\"");
        let body = whole.replace("\"finish_reason\":\"tool_calls\"", &told);
        let body = moved_behind(&body, late, &format!("\"finish_reason\":\"{reason}\""));
        nothing_runs(Wire::OpenAi, "a call after the reason", body).await;
    }
}

/// Ollama, vLLM with a named tool, Gemini and at times OpenAI itself say `stop` for calls.
#[tokio::test]
async fn a_chat_completion_that_says_stop_for_whole_calls_runs_them() {
    for reason in ["stop", "tool_calls", "function_call", "tool_call", "STOP"] {
        let body = stream(Wire::OpenAi, &write());
        let body = body.replace(
            "\"finish_reason\":\"tool_calls\"",
            &format!("\"finish_reason\":\"{reason}\""),
        );
        let test = AttackTest::with(Wire::OpenAi, &[("a", b"x\n")], json!({}), |_| {}).await;
        test.model.push(Response::raw(200, SSE, body));
        test.model.push(Response::reply(say("Done.")));
        let end = test.editor.run("Do it").await;
        assert_eq!(end.reason, EndReason::Completed, "{reason}: {}", end.summary);
        assert_eq!(test.read("a"), b"y\n", "{reason}");
        super::ran(1);
        test.finish();
    }
}

#[tokio::test]
async fn a_response_that_is_not_complete_runs_nothing() {
    for stop in [Stop::MaxTokens, Stop::Refusal, Stop::ContextOverflow, Stop::Other("whim".into())]
    {
        let name = format!("incomplete: {stop:?}");
        nothing_runs(Wire::Responses, &name, stream(Wire::Responses, &write().stop(stop))).await;
    }
    let whole = stream(Wire::Responses, &write());
    let with = |old: &str, new: &str| {
        let body = whole.replace(old, new);
        assert_ne!(body, whole, "{old}");
        body
    };
    let status = "\"status\":\"completed\"";
    for new in ["\"status\":\"incomplete\"", "\"status\":\"cancelled\""] {
        nothing_runs(Wire::Responses, new, with(status, new)).await;
    }
    let details = "\"incomplete_details\":null";
    let cut = "\"incomplete_details\":{\"reason\":\"max_output_tokens\"}";
    nothing_runs(Wire::Responses, "completed and cut", with(details, cut)).await;
    let kind = "\"type\":\"function_call\"";
    let open = "\"type\":\"function_call\",\"status\":\"incomplete\"";
    nothing_runs(Wire::Responses, "a call that is not complete", with(kind, open)).await;
    // The end of the call never came, in no event.
    let mut events = events(&whole);
    let done = events
        .iter()
        .rposition(|it| it.contains("output_item.done") && it.contains("function_call"));
    events.remove(done.unwrap());
    let at = position(&events, "event: response.completed");
    let data = json!({ "type": "response.completed", "response": { "status": "completed" } });
    events[at] = format!("event: response.completed\ndata: {data}\n\n");
    nothing_runs(Wire::Responses, "a call without its end", events.concat()).await;
}

/// Checks what must hold of every request after calls without measure.
fn assert_bounded(requests: &[Recorded], what: &str) {
    for request in requests {
        assert!(request.body.len() < 200_000, "{what}: {} bytes", request.body.len());
        for item in request.items() {
            let calls = item["tool_calls"].as_array().into_iter().flatten();
            let blocks = item["content"].as_array().into_iter().flatten();
            for part in calls.chain(blocks).chain([&item]) {
                for (key, most) in [("tool_use_id", 64), ("call_id", 64), ("tool_call_id", 40)] {
                    let id = part[key].as_str().unwrap_or_default();
                    assert!(id.len() <= most, "{what}: {key} of {} bytes", id.len());
                }
            }
        }
    }
}

#[tokio::test]
async fn an_overlong_call_id_is_replaced() {
    let long = "i".repeat(1_000_000);
    for wire in ALL {
        for (name, ids) in [
            ("1 MB", [long.clone(), format!("{long}2")]),
            ("65 bytes", ["j".repeat(65), "k".repeat(65)]),
            ("the same in other letters", ["a.b".to_owned(), "a:b".to_owned()]),
            ("a line break", ["a\nb".to_owned(), "a\u{202e}b".to_owned()]),
            ("not ASCII", ["é".to_owned(), "è".to_owned()]),
            (
                "functions.read_file:0",
                ["functions.read_file:0".into(), "functions.read_file:1".into()],
            ),
        ] {
            let test = AttackTest::with(wire, &[("a", b"x\n")], json!({}), |_| {}).await;
            // Twice the same ids: some servers count anew in each answer.
            for _ in 0..2 {
                let mut reply = Reply::text("");
                for id in &ids {
                    reply = reply.call(id, "read_file", json!({ "path": "a" }));
                }
                test.model.push(Response::reply(reply));
            }
            test.model.push(Response::reply(say("Done.")));
            let end = test.editor.run("Do it").await;
            assert_eq!(end.reason, EndReason::Completed, "{wire:?}, {name}: {}", end.summary);
            assert_bounded(&test.model.requests(), &format!("{wire:?}, {name}"));
            let tools: Vec<String> = test
                .editor
                .notices()
                .iter()
                .filter_map(|notice| match notice {
                    Notice::Tool(tool) => Some(tool.call_id.clone()),
                    _ => None,
                })
                .collect();
            assert!(tools.iter().all(|id| id.len() <= 64 && id.is_ascii()), "{wire:?}, {name}");
            super::ran(1);
            test.finish();
        }
    }
}

#[tokio::test]
async fn overlong_names_and_arguments_are_truncated() {
    let name = format!("read_file{}", "n".repeat(1_000_000));
    let path = "p".repeat(3_000_000);
    for wire in ALL {
        for (what, reply) in [
            ("a name", call("c1", &name, json!({ "path": "a" }))),
            ("arguments", call("c1", "read_file", json!({ "path": path }))),
            ("no JSON", Reply::text("").call_raw("c1", "read_file", &path)),
        ] {
            let test = AttackTest::with(wire, &[("a", b"x\n")], json!({}), |_| {}).await;
            test.model.push(Response::reply(reply).chunks_of(64 * 1024));
            test.model.push(Response::reply(say("Done.")));
            let end = test.editor.run("Do it").await;
            assert_eq!(end.reason, EndReason::Completed, "{wire:?}, {what}: {}", end.summary);
            let requests = test.model.requests();
            assert_bounded(&requests, &format!("{wire:?}, {what}"));
            let told = newest(requests.last().unwrap());
            assert!(told.len() < 2_000, "{wire:?}, {what}: {} bytes", told.len());
            for notice in test.editor.notices() {
                let size = serde_json::to_string(&notice).unwrap().len();
                assert!(size < 50_000, "{wire:?}, {what}: a notice of {size} bytes");
            }
            super::ran(1);
            test.finish();
        }
    }
}

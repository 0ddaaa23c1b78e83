//! Faults of a model and its connection, with their results, in every wire format. After each fault the
//! session continues, so that the model server checks whether its history is legal.
//!
//! Cancels in other parts of a turn (a wait, a question, a command, an edit) are in `turns`. Decoders
//! cut at every byte are in `models`.

use std::{panic::AssertUnwindSafe, time::Duration};

use cairn_core::model::Stop;
use cairn_protocol::{Connection, EndReason, Notice, ToolState};
use cairn_tests::{
    editor_double::Approval,
    lsp_client::DEADLINE,
    model_server::{Reply, Response, Wire, assert_append_only},
};
use futures_util::{FutureExt, future::join_all};
use serde_json::{Value, json};
use tokio::{io::AsyncReadExt, net::TcpListener, time};

use crate::{agent::turns::retrying, fixtures::*};

const SSE: &str = "text/event-stream";

/// A line of the table.
struct Fault {
    name: &'static str,
    /// The responses, as many as there may be requests.
    script: Vec<Response>,
    /// Waits that the user is shown.
    waits: usize,
    end: EndReason,
    /// In the words the turn ends with.
    says: &'static str,
}

/// Events that must not happen in any of them.
fn write() -> Reply {
    let change = json!({ "path": "a", "old_text": "x", "new_text": "y" });
    Reply::text("I change it.").call("c1", "edit_file", change)
}

fn status(status: u16) -> Response {
    Response::error(status, "api_error", "not now").header("retry-after-ms", "0")
}

/// The answer without the field that says that it is complete.
fn cut(wire: Wire) -> Response {
    let stream = String::from_utf8(write().encode(wire)).unwrap();
    let end = match wire {
        Wire::Anthropic => "\"stop_reason\":\"",
        Wire::OpenAi => "\"finish_reason\":\"",
        Wire::Responses => "event: response.completed",
    };
    let at = stream.rfind(end).unwrap();
    Response::reply(write()).cut_after(at)
}

/// A good beginning, and then this.
fn rubbish(wire: Wire, rubbish: &[u8]) -> Response {
    let stream = write().encode(wire);
    let events: Vec<usize> = stream
        .windows(2)
        .enumerate()
        .filter(|(_, it)| it == b"\n\n")
        .map(|(at, _)| at + 2)
        .collect();
    let mut body = stream[..events[events.len() / 2]].to_vec();
    body.extend_from_slice(rubbish);
    Response::raw(200, SSE, body)
}

fn table(wire: Wire) -> Vec<Fault> {
    let written = "Now.\n<tool_call>\n{\"name\": \"bash\"}\n</tool_call>";
    use EndReason::{Completed, Failed, Limit};
    let good = || Response::reply(say("Done."));
    let cut_call = || {
        let cut = Reply::text("I write.").call_raw("c1", "edit_file", "{\"path\": \"a\", \"ol");
        Response::reply(cut.stop(Stop::MaxTokens))
    };
    let html = || Response::raw(200, "text/html", "<html>Sign in</html>");
    let again = |id: &str| Response::reply(call(id, "read_file", json!({ "path": "a" })));
    let overloaded = "data: {\"error\":{\"type\":\"overloaded_error\",\"message\":\"busy\"}}\n\n";
    let row = |name, script, waits, end, says| Fault { name, script, waits, end, says };
    vec![
        row(
            "429, four times",
            vec![status(429), status(429), status(429), status(429), good()],
            4,
            Completed,
            "Done.",
        ),
        row("500, five times", (0..5).map(|_| status(500)).collect(), 4, Failed, "500"),
        row("529, five times", (0..5).map(|_| status(529)).collect(), 4, Failed, "529"),
        row("408", vec![status(408), good()], 1, Completed, "Done."),
        row(
            "a wait that only the user can want",
            vec![Response::error(429, "rate_limit_error", "slow").header("retry-after", "121")],
            0,
            Failed,
            "wait 121 s",
        ),
        row(
            "a server that says that it is over",
            vec![status(500).header("x-should-retry", "false")],
            0,
            Failed,
            "500",
        ),
        row("400", vec![status(400)], 0, Failed, "400"),
        row("401", vec![status(401)], 0, Failed, "API key"),
        row("403", vec![status(403)], 0, Failed, "API key"),
        row("404", vec![status(404)], 0, Failed, "cairn.model.name"),
        row("a redirect", vec![status(307)], 0, Failed, "Redirects are not followed"),
        row("a cut", vec![cut(wire), good()], 1, Completed, "Done."),
        row("four cuts", (0..4).map(|_| cut(wire)).collect(), 3, Failed, "broke in the middle"),
        row(
            "bytes that are no text",
            vec![rubbish(wire, b"data: \xff\xfe\n\n"), good()],
            1,
            Completed,
            "Done.",
        ),
        row(
            "an event that is no JSON",
            vec![rubbish(wire, b"data: {\"typ\n\n"), good()],
            1,
            Completed,
            "Done.",
        ),
        row(
            "an event of a later version",
            vec![rubbish(wire, b"event: new\ndata: {\"type\":\"new\"}\n\n"), good()],
            1,
            Completed,
            "Done.",
        ),
        row(
            "an error in the stream",
            vec![rubbish(wire, overloaded.as_bytes()), good()],
            1,
            Completed,
            "Done.",
        ),
        row("HTML, twice", vec![html(), html()], 1, Failed, "text/html of 20 bytes"),
        row(
            "nothing, twice",
            vec![Response::raw(200, SSE, ""), Response::raw(200, SSE, "")],
            1,
            Failed,
            "0 bytes",
        ),
        row(
            "arguments that are no JSON",
            vec![Response::reply(Reply::text("").call_raw("c1", "edit_file", "{\"path\"")), good()],
            0,
            Completed,
            "Done.",
        ),
        row(
            "arguments of another type",
            vec![Response::reply(call("c1", "edit_file", json!({ "path": 7 }))), good()],
            0,
            Completed,
            "Done.",
        ),
        row(
            "a tool that is not there",
            vec![Response::reply(call("c1", "fly", json!({}))), good()],
            0,
            Completed,
            "Done.",
        ),
        row(
            "a refusal with a call",
            vec![Response::reply(write().stop(Stop::Refusal))],
            0,
            Failed,
            "refused",
        ),
        row(
            "an end that nobody knows",
            vec![Response::reply(Reply { stop: Stop::Other("whim".into()), ..say("So.") })],
            0,
            Failed,
            "whim",
        ),
        row(
            "a call cut at the limit, twice",
            vec![cut_call(), cut_call(), good()],
            0,
            Completed,
            "Done.",
        ),
        row(
            "a call cut at the limit, thrice",
            vec![cut_call(), cut_call(), cut_call()],
            0,
            Limit,
            "maxTokens",
        ),
        row(
            "an answer cut at the limit",
            vec![Response::reply(say("And so").stop(Stop::MaxTokens))],
            0,
            Limit,
            "maxTokens",
        ),
        row("an empty answer", vec![Response::reply(say("")), good()], 1, Completed, "Done."),
        row(
            "two empty answers",
            vec![Response::reply(say("")), Response::reply(say(" "))],
            1,
            Failed,
            "answered with nothing",
        ),
        row(
            "a call in text, twice",
            [written, written].map(|text| Response::reply(say(text))).into(),
            0,
            Failed,
            "twice in a row, so nothing was run",
        ),
        row(
            "the same call again and again",
            ["c1", "c2", "c3", "c4", "c5", "c6"].map(again).into(),
            0,
            Failed,
            "kept making the same call",
        ),
    ]
}

/// Code of the problem that a fault ends the turn with.
fn code(name: &str) -> Option<&'static str> {
    Some(match name {
        "500, five times" | "529, five times" => "model_server_error",
        "a wait that only the user can want" => "model_busy",
        "a server that says that it is over" | "400" => "model_rejected",
        "401" | "403" => "key_rejected",
        "404" => "model_not_found",
        "a redirect" => "model_redirected",
        "HTML, twice" => "model_address",
        "nothing, twice" => "answer_invalid",
        "four cuts" => "answer_cut",
        "a refusal with a call" => "model_refused",
        "an end that nobody knows" => "unknown_stop",
        "a call cut at the limit, thrice" | "an answer cut at the limit" => "output_limit",
        "a call in text, twice" => "call_in_text",
        "two empty answers" => "empty_answer",
        "the same call again and again" => "repeated_call",
        _ => return None,
    })
}

/// Problem of the newest end of a turn, as a client reads it.
fn problem(notices: &[Notice]) -> Option<Value> {
    let phase = notices.iter().rev().find_map(|notice| match notice {
        Notice::Turn(turn) => Some(serde_json::to_value(&turn.phase).unwrap()),
        _ => None,
    });
    phase?.get("problem").cloned()
}

async fn meet(wire: Wire, fault: Fault) {
    let test = TestDaemon::open(wire, &[("a", "x\n")]).await;
    let rounds = fault.script.len();
    for response in fault.script {
        test.model.push(response);
    }
    let end = test.editor.run("Do it").await;
    assert_eq!(end.reason, fault.end, "{}", end.summary);
    assert!(end.summary.contains(fault.says), "{}", end.summary);
    let notices = test.editor.notices();
    let problem = problem(&notices);
    let told = problem.as_ref().map(|problem| problem["code"].as_str().unwrap());
    assert_eq!(told, code(fault.name), "{problem:?}");
    // The same state may be told again when something else of the daemon is news.
    let mut states: Vec<Option<(u32, String)>> =
        notices.iter().filter(|notice| matches!(notice, Notice::Status(_))).map(retrying).collect();
    states.dedup();
    assert_eq!(states.into_iter().flatten().count(), fault.waits);
    assert_eq!(test.model.count(), rounds);
    let after = test.play_on(&end.session_id, [say("Back again.")]).await;
    assert_eq!(after.reason, EndReason::Completed);
    assert_eq!(test.disk("a"), "x\n");
    assert!(test.editor.edits().is_empty() && test.editor.asked().is_empty());
    assert_append_only(&test.finish().await);
}

/// All lines at once, for most of the time they wait.
async fn meet_all(wire: Wire) {
    let met = table(wire).into_iter().map(|fault| async move {
        let name = fault.name;
        AssertUnwindSafe(meet(wire, fault)).catch_unwind().await.err().map(|_| name)
    });
    let failed: Vec<_> = join_all(met).await.into_iter().flatten().collect();
    assert!(failed.is_empty(), "{wire:?}: {failed:?}");
}

#[tokio::test]
async fn each_fault_over_messages_leaves_a_legal_history() {
    meet_all(Wire::Anthropic).await;
}

#[tokio::test]
async fn each_fault_over_chat_completions_leaves_a_legal_history() {
    meet_all(Wire::OpenAi).await;
}

#[tokio::test]
async fn each_fault_over_responses_leaves_a_legal_history() {
    meet_all(Wire::Responses).await;
}

#[tokio::test]
async fn a_repeated_call_warns_the_model_before_the_turn_ends() {
    for wire in ALL {
        let test = TestDaemon::open(wire, &[("a", "x\n")]).await;
        let read = |id| call(id, "read_file", json!({ "path": "a" }));
        let end = test.play(["c1", "c2", "c3"].map(read).into_iter().chain([say("Read.")])).await;
        assert_eq!(end.reason, EndReason::Completed);
        let warned: Vec<bool> = test
            .finish()
            .await
            .iter()
            .map(|request| newest(request).contains("three times in a row"))
            .collect();
        assert_eq!(warned, [false, false, false, true]);
    }
}

/// However the conversation is made to fit, what did not fit is not sent again.
#[tokio::test]
async fn a_refused_overlong_conversation_is_not_sent_again_unchanged() {
    let refused: fn() -> Response = || {
        Response::error(400, "invalid_request_error", "prompt is too long: 9 tokens > 8 maximum")
    };
    let stopped: fn() -> Response = || Response::reply(say("So.").stop(Stop::ContextOverflow));
    for wire in ALL {
        for overflow in [refused, stopped] {
            let test = TestDaemon::open(wire, &[("a", "x\n")]).await;
            test.model.push(Response::reply(call("c1", "read_file", json!({ "path": "a" }))));
            test.model.push(overflow());
            test.model.push(overflow());
            test.model.push(overflow());
            let end = test.editor.run("Do it").await;
            assert_ne!(end.reason, EndReason::Completed, "{}", end.summary);
            let bodies: Vec<Vec<u8>> =
                test.model.requests().into_iter().map(|request| request.body).collect();
            for (at, body) in bodies.iter().enumerate() {
                assert!(!bodies[..at].contains(body), "request {} came before", at + 1);
            }
            test.model.unscript();
            test.finish().await;
        }
    }
}

/// A server that sends nothing, and one that stops sending, time out after five minutes, not before.
#[tokio::test]
async fn a_silent_model_server_times_out_after_five_minutes() {
    for wire in ALL {
        let test = TestDaemon::open(wire, &[]).await;
        let stream = say("A long answer.").encode(wire);
        let (held, mut gate) =
            Response::reply(say("A long answer.")).held_at(stream.len() - stream.len() / 3);
        test.model.push(held);
        let turn = test.editor.run_task("Tell me").await;
        gate.reached().await;
        let begun = |notice: &Notice| match notice {
            Notice::Message(message) if message.delta.contains("A long") => Some(()),
            _ => None,
        };
        test.editor.wait_for("words", begun).await;
        pass(Duration::from_secs(299)).await;
        let state = test.editor.request::<cairn_protocol::State>(Default::default()).await.unwrap();
        assert_eq!(state.status.connection, Connection::Streaming);
        test.model.push(Response::reply(say("Never.")).silent());
        pass(Duration::from_secs(2)).await;
        let (attempt, reason) = test.editor.wait_for("a retry", retrying).await;
        assert_eq!((attempt, reason.contains("did not answer in time")), (2, true), "{reason}");
        test.model.wait_for_hang_ups(1).await;
        test.model.wait_for_requests(2).await;
        // The request is there, and so is the wait for its answer.
        test.editor.request::<cairn_protocol::State>(Default::default()).await.unwrap();
        test.script([say("At last.")]);
        pass(Duration::from_secs(301)).await;
        assert_eq!(test.editor.turn_end(&turn.turn_id).await.summary, "At last.");
        test.finish().await;
    }
}

/// Lets time pass for everything that waits now.
async fn pass(duration: Duration) {
    time::pause();
    time::advance(duration).await;
    time::resume();
}

/// One call with whole arguments, in few bytes: each is one cut.
fn short(wire: Wire) -> String {
    let arguments = json!({ "path": "a", "old_text": "x", "new_text": "y" }).to_string();
    let events = match wire {
        Wire::Anthropic => vec![
            json!({"type": "message_start"}),
            json!({"type": "content_block_start",
                "content_block": {"type": "tool_use", "id": "c", "name": "edit_file"}}),
            json!({"type": "content_block_delta",
                "delta": {"type": "input_json_delta", "partial_json": arguments}}),
            json!({"type": "content_block_stop"}),
            json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}),
            json!({"type": "message_stop"}),
        ],
        Wire::OpenAi => {
            let function = json!({"name": "edit_file", "arguments": arguments});
            let calls = json!([{"id": "c", "function": function}]);
            vec![
                json!({"choices": [{"delta": {"tool_calls": calls}}]}),
                json!({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}),
            ]
        }
        Wire::Responses => vec![
            json!({"type": "response.output_item.done", "item":
                {"type": "function_call", "call_id": "c", "name": "edit_file", "arguments": arguments}}),
            json!({"type": "response.completed"}),
        ],
    };
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}

/// Cancelled while it waits to ask again, to save the wait.
async fn cut_everywhere(wire: Wire) {
    const TURNS_OF_A_SESSION: usize = 40;
    let test = TestDaemon::open(wire, &[("a", "x\n")]).await;
    let stream = short(wire);
    let mut session: Option<String> = None;
    for cut in 0..stream.len() {
        test.model.push(Response::raw(200, SSE, stream.as_str()).cut_after(cut));
        let turn = match &session {
            Some(id) if cut % TURNS_OF_A_SESSION != 0 => test.go_on(id).await,
            _ => test.editor.run_task("Do it").await,
        };
        session = Some(turn.session_id.clone());
        test.editor.wait_for("a retry", retrying).await;
        test.cancel(&turn).await;
    }
    test.play_on(&session.unwrap(), [say("Back again.")]).await;
    assert_eq!(test.model.count(), stream.len() + 1);
    assert_eq!(test.disk("a"), "x\n");
    assert!(test.editor.edits().is_empty(), "something ran");
    test.finish().await;
}

#[tokio::test]
async fn a_messages_stream_cut_at_any_byte_leaves_a_legal_history() {
    cut_everywhere(Wire::Anthropic).await;
}

#[tokio::test]
async fn a_chat_completions_stream_cut_at_any_byte_leaves_a_legal_history() {
    cut_everywhere(Wire::OpenAi).await;
}

#[tokio::test]
async fn a_responses_stream_cut_at_any_byte_leaves_a_legal_history() {
    cut_everywhere(Wire::Responses).await;
}

fn model(base_url: &str) -> Value {
    let model = json!({ "provider": "openai", "baseUrl": base_url, "name": "scripted" });
    json!({ "settings": { "cairn": { "model": model } } })
}

#[tokio::test]
async fn cancel_while_connecting_ends_the_turn() {
    let test = TestDaemon::open(Wire::OpenAi, &[]).await;
    // It takes the connection and never says who it is.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    test.editor.client.notify("workspace/didChangeConfiguration", model(&url));
    let turn = test.editor.run_task("Tell me").await;
    let (mut stream, _) = listener.accept().await.unwrap();
    stream.read_u8().await.unwrap();
    test.cancel(&turn).await;
    let mut rest = Vec::new();
    // Closed one way or another.
    let closed = time::timeout(DEADLINE, stream.read_to_end(&mut rest)).await;
    let _ = closed.expect("the connection is closed");
    test.editor.client.notify("workspace/didChangeConfiguration", model(&test.model.base_url()));
    test.play_on(&turn.session_id, [say("Back again.")]).await;
    test.finish().await;
}

#[tokio::test]
async fn cancel_at_each_part_of_an_answer_ends_the_turn() {
    for wire in ALL {
        let test = TestDaemon::open(wire, &[("a", "x\n")]).await;
        let stream = String::from_utf8(write().encode(wire)).unwrap();
        let find = |text| stream.find(text).unwrap();
        let places = [
            ("before the answer", None),
            ("before its first byte", Some(0)),
            ("in the text", Some(find("e it."))),
            ("at the call", Some(find("edit_file"))),
            ("in the arguments", Some(find("ld_te"))),
            ("before the end", Some(stream.len() - 4)),
        ];
        let mut session: Option<String> = None;
        for (done, (place, at)) in places.into_iter().enumerate() {
            let response = Response::reply(write());
            let (response, gate) = match at {
                None => (response.silent(), None),
                Some(at) => {
                    let (response, gate) = response.held_at(at);
                    (response, Some(gate))
                }
            };
            test.model.push(response);
            let turn = match &session {
                None => test.editor.run_task("Do it").await,
                Some(id) => test.go_on(id).await,
            };
            session = Some(turn.session_id.clone());
            test.model.wait_for_requests(done + 1).await;
            if let Some(mut gate) = gate {
                gate.reached().await;
            }
            test.cancel(&turn).await;
            test.model.wait_for_hang_ups(done + 1).await;
            assert_eq!(test.disk("a"), "x\n", "{place}");
        }
        test.play_on(&session.unwrap(), [say("Back again.")]).await;
        assert!(test.editor.edits().is_empty());
        assert_append_only(&test.finish().await);
    }
}

#[tokio::test]
async fn the_status_distinguishes_streaming_from_working() {
    let test = TestDaemon::open(Wire::Responses, &[]).await;
    let (held, mut gate) = Response::reply(bash("c1", "true")).held_at(0);
    test.model.push(held);
    test.editor.will_answer(Approval::Silence);
    let turn = test.editor.run_task("Run it").await;
    gate.reached().await;
    let connection = async || {
        test.editor
            .request::<cairn_protocol::State>(Default::default())
            .await
            .unwrap()
            .status
            .connection
    };
    assert_eq!(connection().await, Connection::Streaming);
    gate.open();
    test.tool("c1", ToolState::AwaitingApproval).await;
    assert_eq!(connection().await, Connection::Working);
    test.cancel(&turn).await;
    assert_eq!(connection().await, Connection::Idle);
    test.finish().await;
}

#[tokio::test]
async fn a_rejected_key_is_named_by_code_provider_and_action() {
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    test.model.push(status(401));
    let end = test.editor.run("Do it").await;
    assert!(end.summary.starts_with("Anthropic rejected the API key: "), "{}", end.summary);
    let mut told = problem(&test.editor.notices()).unwrap();
    let reason = told["args"]["reason"].take();
    assert!(reason.as_str().unwrap().contains("401"), "{reason}");
    let expected = json!({
        "code": "key_rejected", "template": "{name} rejected the API key: {reason}.",
        "args": { "provider": "anthropic", "name": "Anthropic", "reason": null },
        "action": "set_api_key",
    });
    assert_eq!(told, expected);
    let again = test.play_on(&end.session_id, [say("Now it works.")]).await;
    assert_eq!(again.reason, EndReason::Completed);
    test.finish().await;
}

//! Context window: requests grow by appending, and compaction keeps the texts of the user, the plan and
//! the decisions.

use cairn_core::model::Usage;
use cairn_protocol::{
    Compact, ContextUse, Decide, DecideParams, Decision, EndReason, MessageRole, Notice, Position,
    Range, Scope, SessionParams, State, Steer, SteerParams, TranscriptEntry, UsageNotification,
};
use cairn_tests::model_server::{Recorded, Reply, Response, Wire, assert_append_only};
use serde_json::{Value, json};

use crate::fixtures::*;

fn read(id: &str, path: &str) -> Reply {
    call(id, "read_file", json!({ "path": path }))
}

/// The server counted so many tokens.
fn counted(reply: Reply, tokens: u64) -> Reply {
    reply.usage(Usage { input_tokens: tokens, output_tokens: 10, cached_tokens: 0 })
}

fn window(tokens: u64) -> Value {
    json!({ "model.contextTokens": tokens, "plan.initialReminder": false })
}

/// Parts of a request before the messages: model, system prompt, tools.
fn head(request: &Recorded) -> &[u8] {
    let messages = request.message_bytes().len();
    &request.body[..request.body.len() - 2 - messages]
}

/// Number of requests that did not repeat the one before.
fn breaks(requests: &[Recorded]) -> usize {
    let pairs = requests.windows(2);
    pairs.filter(|pair| !pair[1].message_bytes().starts_with(pair[0].message_bytes())).count()
}

fn wants_summary(request: &Recorded) -> bool {
    newest(request).contains("is going to be compacted")
}

/// The one message that everything before was compacted to.
fn digest(request: &Recorded) -> String {
    let body = request.json();
    let messages = body["messages"].as_array().unwrap();
    let first = messages.iter().find(|message| message["role"] == "user").unwrap();
    match &first["content"] {
        Value::String(text) => text.clone(),
        blocks => blocks[0]["text"].as_str().unwrap().to_owned(),
    }
}

fn told(test: &TestDaemon, role: MessageRole) -> Vec<String> {
    let notices = test.editor.notices().into_iter();
    notices
        .filter_map(|notice| match notice {
            Notice::Message(message) if message.role == role => message.text,
            _ => None,
        })
        .collect()
}

fn usage(test: &TestDaemon) -> UsageNotification {
    let newest = test.editor.notices().into_iter().rev().find_map(|notice| match notice {
        Notice::Usage(usage) => Some(usage),
        _ => None,
    });
    newest.unwrap()
}

async fn compact(test: &TestDaemon, session_id: &str) -> Result<String, Value> {
    let params = SessionParams { session_id: session_id.into() };
    test.editor.request::<Compact>(params).await.map(|result| result.turn_id)
}

#[tokio::test]
async fn each_request_of_thirty_rounds_repeats_the_bytes_of_the_previous_one() {
    for wire in BOTH {
        let nag = json!({ "plan": { "reminder": { "policy": "every-round", "rounds": 2 } } });
        let test = TestDaemon::with(wire, &[("a", "one\ntwo\n"), ("b", "x\n")], nag).await;
        let uri = test.open_file("a");
        test.script([
            plan("p1", &[('>', "First"), (' ', "Second")]),
            edit("e1", "a", "one", "1"),
            Reply::text("Both.")
                .thinking("Hm.")
                .call("r1", "read_file", json!({ "path": "a" }))
                .call("r2", "nonsense", json!({})),
        ]);
        for round in 3..28 {
            test.script([read(&format!("r{round}"), ["a", "b"][round % 2])]);
        }
        let (held, mut gate) = Response::reply(read("last", "b")).held_at(0);
        test.model.push(held);
        test.script([plan("p2", &[('x', "First"), ('x', "Second")]), say("Done.")]);
        let turn = test.editor.run_task("Do it").await;
        gate.reached().await;
        // A steer, and a file that is another one by now: both come with the next round.
        let steer = SteerParams {
            session_id: turn.session_id.clone(),
            expected_turn_id: turn.turn_id.clone(),
            text: "Hurry".into(),
            attachments: Vec::new(),
        };
        test.editor.request::<Steer>(steer).await.unwrap();
        let start = Position { line: 0, character: 0 };
        test.editor.type_in(&uri, Range { start, end: start }, "typed\n");
        gate.open();
        assert_eq!(test.editor.turn_end(&turn.turn_id).await.reason, EndReason::Completed);
        test.play_on(&turn.session_id, [say("Still done.")]).await;
        let requests = test.finish().await;
        assert_eq!(requests.len(), 32);
        assert_append_only(&requests);
        for request in &requests {
            assert!(head(request) == head(&requests[0]), "the head changed");
        }
        let last = String::from_utf8_lossy(&requests[31].body).into_owned();
        for part in ["Hurry", "Not as you last saw them", "[cairn] reminder:"] {
            assert!(last.contains(part), "{part}");
        }
    }
}

#[tokio::test]
async fn a_small_window_compacts_the_conversation_in_large_steps_only() {
    for wire in BOTH {
        let lines: String = (0..60).map(|line| format!("line {line} of the file\n")).collect();
        let files = [("a", lines.as_str()), ("b", lines.as_str())];
        let test = TestDaemon::with(wire, &files, window(16_000)).await;
        let mut rounds = Vec::new();
        for round in 0..30 {
            // The server counts nothing: all is estimated.
            let path = ["a", "b"][round % 2];
            rounds.push(read(&format!("r{round}"), path).usage(Usage::default()));
        }
        test.script(rounds);
        test.script([say("Done.").usage(Usage::default())]);
        let end = test.editor.run("Do it").await;
        assert_eq!(end.reason, EndReason::Completed, "{}", end.summary);
        let shortened = told(&test, MessageRole::Notice);
        let requests = test.finish().await;
        assert_eq!(requests.len(), 31);
        assert_eq!(breaks(&requests), shortened.len(), "{shortened:?}");
        // Each needs a fifth of the room to gain, and 30 rounds said less than six fifths.
        assert!((1..=3).contains(&shortened.len()), "{shortened:?}");
        assert!(shortened[0].starts_with("Old tool results left out"), "{shortened:?}");
        let last = requests.last().unwrap();
        assert!(result(last, "r0").starts_with("[cairn] output of 60 lines left out"));
        assert!(result(last, "r29").contains("line 59 of the file"));
    }
}

#[tokio::test]
async fn a_compacted_request_keeps_user_texts_plan_and_decisions_verbatim() {
    for wire in BOTH {
        let files = [("a", "one\n"), ("b", "two\n")];
        let test = TestDaemon::with(wire, &files, window(20_000)).await;
        test.open_file("a");
        test.open_file("b");
        let end = test
            .play([
                plan("p1", &[('>', "First"), (' ', "Second")]),
                edit("e1", "a", "one", "ONE"),
                edit("e2", "b", "two", "TWO"),
                say("Both proposed."),
            ])
            .await;
        let hunk = test.hunks("b").await.remove(0);
        let scope = Scope::Hunk { uri: test.uri("b"), hunk_id: hunk.id };
        let feedback = Some("Not so loud".to_owned());
        let reject = DecideParams { decision: Decision::Reject, scope, rev: None, feedback };
        test.editor.request::<Decide>(reject).await.unwrap();
        // The next round has the rejection in it, and the server says that the window is full.
        let end = test
            .play_on(
                &end.session_id,
                [
                    counted(read("r1", "a"), 18_000),
                    counted(say("Summary: a is loud now."), 18_100).call("x", "bash", json!({})),
                    counted(read("r2", "b"), 500),
                    say("Done."),
                ],
            )
            .await;
        assert_eq!(end.reason, EndReason::Completed, "{}", end.summary);
        assert_eq!(test.editor.asked().len(), 0, "a call beside the summary is not run");
        let notice = told(&test, MessageRole::Notice);
        assert_eq!(notice.len(), 1, "{notice:?}");
        assert!(notice[0].starts_with("Conversation compacted: 18k → "), "{notice:?}");
        assert!(!told(&test, MessageRole::Assistant).iter().any(|text| text.contains("Summary")));
        assert!(usage(&test).context.used < 1_000);
        let requests = test.finish().await;
        let [.., wish, after, _] = requests.as_slice() else { panic!("three at least") };
        assert!(wants_summary(wish));
        assert_append_only(&requests[..requests.len() - 2]);
        let digest = digest(after);
        for kept in [
            "[cairn] message:\nDo it\n[cairn] message:\nGo on\n",
            "First",
            "[ ] #2 Second",
            "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-one\n+ONE\n",
            "The user rejected this change of yours in b",
            "-two\n+TWO\n",
            "The user's reason: Not so loud",
            "Summary: a is loud now.",
        ] {
            assert!(digest.contains(kept), "{kept:?} in\n{digest}");
        }
        assert!(!digest.contains("is going to be compacted"));
    }
}

fn too_long() -> Response {
    let body = json!({ "error": {
        "code": 400,
        "type": "exceed_context_size_error",
        "message": "request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it",
    } });
    Response::raw(400, "application/json", body.to_string())
}

#[tokio::test]
async fn a_request_refused_for_its_length_is_compacted_once() {
    for wire in BOTH {
        let test = TestDaemon::with(wire, &[("a", "one\n")], window(100_000)).await;
        test.script([read("r1", "a")]);
        test.model.push(too_long());
        test.script([say("Summary."), say("Done.")]);
        let end = test.editor.run("Do it").await;
        assert_eq!((end.reason, end.summary.as_str()), (EndReason::Completed, "Done."));
        // The next turn knows what the server takes.
        test.play_on(&end.session_id, [say("Done.")]).await;
        assert_eq!(usage(&test).context.window, 8_192);
        let requests = test.finish().await;
        assert!(wants_summary(&requests[2]) && digest(&requests[3]).contains("Summary."));
    }
}

#[tokio::test]
async fn a_request_too_long_after_compaction_ends_the_turn() {
    let test = TestDaemon::with(Wire::OpenAi, &[("a", "one\n")], window(100_000)).await;
    test.script([read("r1", "a")]);
    for _ in 0..3 {
        test.model.push(too_long());
    }
    let end = test.editor.run("Do it").await;
    assert_eq!(end.reason, EndReason::Failed);
    assert!(end.summary.contains("even after it was compacted"), "{}", end.summary);
    let requests = test.finish().await;
    assert_eq!(requests.len(), 4);
    // Without a summary the newest steps are kept.
    assert!(digest(&requests[3]).contains("You called read_file {\"path\":\"a\"}"));
}

#[tokio::test]
async fn a_failed_summary_is_replaced_by_the_newest_steps() {
    let test = TestDaemon::with(Wire::Anthropic, &[("a", "one\n")], window(20_000)).await;
    test.script([counted(read("r1", "a"), 19_000)]);
    test.model.push(Response::error(400, "invalid_request_error", "no"));
    test.script([say("Done.")]);
    let end = test.editor.run("Do it").await;
    assert_eq!(end.reason, EndReason::Completed, "{}", end.summary);
    assert!(told(&test, MessageRole::Notice)[0].contains("without a summary of the model"));
    test.finish().await;
}

#[tokio::test]
async fn compaction_on_request_works_between_turns_and_within_one() {
    let test = TestDaemon::open(Wire::Anthropic, &[("a", "one\n")]).await;
    let error = compact(&test, "none").await.unwrap_err();
    assert_eq!(error["data"]["kind"], "unknownSession");
    let end = test.play([read("r1", "a"), say("Read.")]).await;
    test.script([say("Summary one.")]);
    let turn = compact(&test, &end.session_id).await.unwrap();
    let compacted = test.editor.turn_end(&turn).await;
    assert_eq!(compacted.reason, EndReason::Completed);
    assert!(compacted.summary.starts_with("Conversation compacted"), "{}", compacted.summary);
    let error = compact(&test, &end.session_id).await.unwrap_err();
    assert_eq!(error["data"]["kind"], "invalidParams", "there is nothing more: {error}");
    // In a turn: after the round that runs.
    let (held, mut gate) = Response::reply(read("r2", "a")).held_at(0);
    test.model.push(held);
    test.script([say("Summary two."), say("Done.")]);
    let turn = test.go_on(&end.session_id).await;
    gate.reached().await;
    assert_eq!(compact(&test, &end.session_id).await.unwrap(), turn.turn_id);
    gate.open();
    assert_eq!(test.editor.turn_end(&turn.turn_id).await.summary, "Done.");
    let requests = test.finish().await;
    let digest = digest(requests.last().unwrap());
    assert!(digest.contains("Summary two.") && !digest.contains("Summary one."), "{digest}");
    let words = "[cairn] message:\nDo it\n[cairn] message:\nGo on\n";
    assert!(digest.contains(words), "{digest}");
}

#[tokio::test]
async fn cancel_during_compaction_ends_it() {
    let test = TestDaemon::open(Wire::OpenAi, &[]).await;
    let end = test.play([say("Done.")]).await;
    let (held, mut gate) = Response::reply(say("Summary.")).held_at(0);
    test.model.push(held);
    let turn_id = compact(&test, &end.session_id).await.unwrap();
    gate.reached().await;
    let turn = cairn_protocol::RunTaskResult { session_id: end.session_id.clone(), turn_id };
    test.cancel(&turn).await;
    drop(gate);
    test.play_on(&end.session_id, [say("As it was.")]).await;
    let requests = test.finish().await;
    assert!(requests[2].message_bytes().starts_with(requests[0].message_bytes()));
}

#[tokio::test]
async fn a_restart_sends_the_same_request_bytes() {
    for wire in BOTH {
        let test = TestDaemon::with(wire, &[("a", "one\n")], window(20_000)).await;
        let end = test
            .play([counted(read("r1", "a"), 19_000), say("Summary."), say("Shall I go on?")])
            .await;
        let before = usage(&test);
        let test = test.restart().await;
        let state = test.editor.request::<State>(Default::default()).await.unwrap();
        let session = &state.sessions[0];
        let after = session.usage.clone().unwrap();
        assert_eq!((after.context, after.session), (before.context, before.session));
        let is_told = |entry: &TranscriptEntry| {
            matches!(entry, TranscriptEntry::Message(message)
                if message.role == MessageRole::Notice
                    && message.text.as_deref().is_some_and(|text| text.starts_with("Conversation compacted: 19k → ")))
        };
        assert_eq!(session.transcript.iter().filter(|entry| is_told(entry)).count(), 1);
        test.play_on(&end.session_id, [say("Done.")]).await;
        let requests = test.finish().await;
        let [.., earlier, later] = requests.as_slice() else { panic!("two at least") };
        assert!(later.message_bytes().starts_with(earlier.message_bytes()));
        assert!(digest(later).contains("Summary."));
    }
}

#[tokio::test]
async fn usage_notifications_give_context_use_and_cost() {
    let mut settings = window(50_000);
    settings["model.price"] = json!({ "input": 3, "cachedInput": 0.3, "output": 15 });
    let test = TestDaemon::with(Wire::Anthropic, &[], settings).await;
    let usage_of = Usage { input_tokens: 10_000, output_tokens: 1_000, cached_tokens: 9_000 };
    test.play([say("Done.").usage(usage_of)]).await;
    let told = usage(&test);
    assert_eq!(told.context, ContextUse { used: 11_000, window: 50_000 });
    assert_eq!(told.cost_micros, Some(3_000 + 2_700 + 15_000));
    test.finish().await;
    // Without a price there is no cost.
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    test.play([say("Done.")]).await;
    assert_eq!(usage(&test).cost_micros, None);
    test.finish().await;
}

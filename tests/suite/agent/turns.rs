//! The agent loop over all wire formats: notifications, requests to the model, and the end of a turn
//! for each behaviour of the model.

use std::fs;

use cairn_protocol::{
    Connection, EndReason, ItemStatus, MessageRole, Notice, RetryReason, RunTaskResult, Steer,
    SteerParams, ToolState,
};
use cairn_tests::{
    editor_double::{ApplyFault, Approval},
    model_server::{Reply, Response, Wire, assert_append_only},
};
use expect_test::{Expect, expect};
use serde_json::json;

use crate::fixtures::*;

#[tokio::test]
async fn a_task_runs_from_plan_to_report() {
    for wire in ALL {
        let files = [("a.txt", "one\n"), ("b.txt", "two\n")];
        let nag = json!({ "plan": { "reminder": { "policy": "every-round", "rounds": 1 } } });
        let test = TestDaemon::with(wire, &files, nag).await;
        let items = |a, b, c| [(a, "Read"), (b, "Change"), (c, "Report")];
        let both = Reply::text("I look.")
            .thinking("Both?")
            .call("c2", "read_file", json!({ "path": "a.txt" }))
            .call("c3", "read_file", json!({ "path": "b.txt" }));
        test.editor.will_answer(allow());
        let end = test
            .play([
                plan("c1", &items('>', ' ', ' ')),
                both,
                edit("c4", "a.txt", "one", "1"),
                bash("c5", "cat a.txt"),
                plan("c6", &items('x', 'x', 'x')),
                say("Changed a.txt."),
            ])
            .await;
        assert_eq!((end.reason, end.open_items), (EndReason::Completed, 0));
        let notices = test.editor.notices();
        assert_deltas_are_the_text(&notices);
        expect![[r#"
            started: Do it
            User: Do it
            Reminder: …
            c1: Update the plan: Queued Done
            usage: round 1
            plan: expanded 0/3
            Thinking: Both?
            c2: Read a.txt: Queued Running Done
            c3: Read b.txt: Queued Running Done
            usage: round 2
            Assistant: I look.
            c4: Edit a.txt: Queued Running Done
            usage: round 3
            Reminder: …
            c5: Run cat a.txt: Queued AwaitingApproval Running Done
            usage: round 4
            Reminder: …
            c6: Update the plan: Queued Done
            usage: round 5
            Reminder: …
            plan: expanded 3/3
            usage: round 5
            Assistant: Changed a.txt.
            plan: collapsed 3/3
            ended: Completed, 0 open: Changed a.txt."#]]
        .assert_eq(&story(&notices, &end.turn_id));
        assert_eq!(test.disk("a.txt"), "1\n");

        let requests = test.finish().await;
        assert_append_only(&requests);
        assert_eq!(result(&requests[5], "c2"), "1\tone");
        assert_eq!(result(&requests[5], "c3"), "1\ttwo");
        assert!(result(&requests[5], "c5").starts_with("1\n[cairn] exit code 0"));
        // A round after the plan was updated, and once nothing is open, there is no nagging.
        let nagged: Vec<bool> = requests
            .iter()
            .map(|request| newest(request).contains("has not been updated"))
            .collect();
        assert_eq!(nagged, [false, false, false, true, true, false]);
        // The validator of the server has seen that it stands after the results.
        assert!(newest(&requests[0]).contains("[cairn] reminder:"));
        assert!(result(&requests[5], "c6").contains("[cairn] reminder:"), "nothing was verified");
    }
}

#[tokio::test]
async fn a_session_takes_further_turns_and_can_end_with_a_question() {
    for wire in ALL {
        let test = TestDaemon::open(wire, &[]).await;
        let first = test.play([say("Which colour?")]).await;
        assert_eq!(first.reason, EndReason::NeedsInput);
        assert_eq!(first.summary, "Which colour?");
        let second = test.play_on(&first.session_id, [say("Blue it is.")]).await;
        assert_eq!(second.reason, EndReason::Completed);
        assert_eq!(second.session_id, first.session_id);
        assert_ne!(second.turn_id, first.turn_id);
        let other = test.play([say("Hello.")]).await;
        assert_ne!(other.session_id, first.session_id);
        let requests = test.finish().await;
        assert_append_only(&requests[..2]);
        assert_eq!(newest(&requests[1]), "Go on");
        assert_eq!(
            serde_json::Value::from(requests[2].items()).to_string().matches("colour").count(),
            0
        );
    }
}

#[tokio::test]
async fn steering_text_follows_the_tool_results() {
    for wire in ALL {
        let test = TestDaemon::open(wire, &[]).await;
        test.script([bash("c1", "true"), say("In French then.")]);
        test.editor.will_answer(Approval::Silence);
        let turn = test.editor.run_task("Write it").await;
        let asked = test.tool("c1", ToolState::AwaitingApproval).await;
        assert_eq!(asked.detail.as_deref(), Some("true"));
        let steer = |turn_id: &str| SteerParams {
            session_id: turn.session_id.clone(),
            expected_turn_id: turn_id.to_owned(),
            text: "In French, please".into(),
            attachments: Vec::new(),
        };
        assert!(test.editor.request::<Steer>(steer(&turn.turn_id)).await.unwrap().queued);
        let wrong = test.editor.request::<Steer>(steer("another")).await.unwrap_err();
        assert_eq!(wrong["data"]["kind"], "turnMismatch");
        let approval_id = test.editor.asked()[0].approval_id.clone();
        let said = answered(&test, &approval_id, "deny").await;
        assert!(said);
        assert_eq!(test.editor.turn_end(&turn.turn_id).await.reason, EndReason::Completed);
        let requests = test.finish().await;
        assert_append_only(&requests);
        assert!(newest(&requests[1]).contains("In French, please"), "{}", newest(&requests[1]));
        assert!(result(&requests[1], "c1").contains("declined"));
    }
}

/// `agent/answer`; whether it counted.
async fn answered(test: &TestDaemon, approval_id: &str, decision: &str) -> bool {
    let params = json!({ "approvalId": approval_id, "decision": decision });
    test.editor.client.request("agent/answer", params).await.unwrap()["accepted"] == true
}

#[tokio::test]
async fn steering_text_during_the_last_answer_is_not_lost() {
    let test = TestDaemon::open(Wire::OpenAi, &[]).await;
    let (held, mut gate) = Response::reply(say("Done.")).held_at(0);
    test.model.push(held);
    test.script([say("And that too.")]);
    let turn = test.editor.run_task("Do this").await;
    gate.reached().await;
    let steer = SteerParams {
        session_id: turn.session_id,
        expected_turn_id: turn.turn_id.clone(),
        text: "And that".into(),
        attachments: Vec::new(),
    };
    test.editor.request::<Steer>(steer).await.unwrap();
    gate.open();
    assert_eq!(test.editor.turn_end(&turn.turn_id).await.summary, "And that too.");
    let requests = test.finish().await;
    assert_append_only(&requests);
    assert_eq!(newest(&requests[1]), "And that");
}

#[tokio::test]
async fn the_round_limit_ends_a_turn_that_can_be_continued() {
    for wire in ALL {
        let files = [("a", "x\n")];
        let limits = json!({ "limits": { "rounds": 2 } });
        let test = TestDaemon::with(wire, &files, limits).await;
        let read = |id| call(id, "read_file", json!({ "path": "a" }));
        let end = test.play([plan("c1", &[('>', "Read")]), read("c2")]).await;
        assert_eq!((end.reason, end.open_items), (EndReason::Limit, 1));
        assert!(end.summary.contains("cairn.limits.rounds"), "{}", end.summary);
        let end = test.play_on(&end.session_id, [say("Read it.")]).await;
        assert_eq!(end.reason, EndReason::Completed);
        let requests = test.finish().await;
        assert_append_only(&requests);
        assert!(newest(&requests[2]).contains("[>] #1 Read"), "{}", newest(&requests[2]));
    }
}

/// Plays a wrong answer of the model; what the model is told of it, and what is shown.
async fn mistake(reply: Reply, told: Expect) {
    let mut seen = Vec::new();
    for wire in ALL {
        let test = TestDaemon::open(wire, &[("a", "x\n")]).await;
        let end = test.play([reply.clone(), say("Sorry.")]).await;
        assert_eq!(end.reason, EndReason::Completed);
        let states = story(&test.editor.notices(), &end.turn_id);
        let requests = test.finish().await;
        let line = states.lines().find(|line| line.starts_with("c1: ")).unwrap();
        seen.push(format!("{line}\n{}", result(&requests[1], "c1")));
    }
    assert!(seen.iter().all(|other| *other == seen[0]), "the formats differ: {seen:#?}");
    told.assert_eq(&seen[0]);
}

#[tokio::test]
async fn faulty_calls_are_reported_to_the_model() {
    mistake(call("c1", "fly", json!({})), expect![[r#"
        c1: fly was not run: Queued Failed
        There is no tool named fly. The tools are: read_file, glob, grep, edit_file, write_file, delete_file, move_file, bash, process_output, process_input, process_stop, task, ask_user, TodoWrite."#]]).await;
    mistake(Reply::text("").call_raw("c1", "read_file", "a"), expect![[r#"
        c1: read_file was not run: Queued Failed
        The arguments of read_file are not a JSON object (expected value at line 1 column 1). Nothing was run. Send the call again with valid JSON."#]]).await;
    mistake(
        call("c1", "read_file", json!({ "paht": "a" })),
        expect![[r#"
        c1: read_file: Queued Failed
        read_file: `path` is missing (string expected).
        [cairn] Ignored, because read_file does not know it: `paht`. Its arguments are: path, offset, limit."#]],
    )
    .await;
    mistake(
        call("c1", "delete_file", json!({ "path": "../a" })),
        expect![[r#"
        c1: delete_file: Queued Failed
        `../a` is outside the workspace. Only files below the workspace folder can be used; a command can read others."#]],
    )
    .await;
    mistake(
        plan("c1", &[('>', "a"), ('>', "b"), (' ', "")]),
        expect![[r#"
        c1: TodoWrite was not run: Queued Failed
        The list was not changed, because of:
        - #3.content: is empty
        - #2.status: only one item may be in progress, and #1 already is
        Correct this and send the whole list again."#]],
    )
    .await;
}

pub(crate) fn retrying(notice: &Notice) -> Option<(u32, String)> {
    match notice {
        Notice::Status(status) => match &status.connection {
            Connection::Retrying { attempt, reason, .. } => Some((*attempt, reason.english())),
            Connection::Idle | Connection::Streaming | Connection::Working => None,
        },
        _ => None,
    }
}

#[tokio::test]
async fn a_request_to_a_busy_server_is_retried() {
    for wire in ALL {
        let test = TestDaemon::open(wire, &[]).await;
        let busy = Response::error(429, "rate_limit_error", "slow down").header("retry-after", "0");
        test.model.push(busy);
        let end = test.play([say("Hello.")]).await;
        assert_eq!(end.reason, EndReason::Completed);
        let mut reasons: Vec<_> = test.editor.notices().iter().filter_map(retrying).collect();
        // A status repeats the reason if something else changed in it, for example the sandbox.
        reasons.dedup();
        let said = Some("slow down".to_owned());
        let reason = RetryReason::TooManyRequests { status: Some(429), said }.english();
        assert_eq!(reasons, [(2, reason)]);
        let requests = test.finish().await;
        assert_eq!(requests[0].body, requests[1].body);
    }
}

#[tokio::test]
async fn an_invalid_key_is_not_retried() {
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    test.model.push(Response::error(401, "authentication_error", "invalid x-api-key"));
    let end = test.editor.run("Do it").await;
    assert_eq!(end.reason, EndReason::Failed);
    assert!(end.summary.contains("invalid x-api-key"), "{}", end.summary);
    // The user mends it and goes on in the same session.
    let end = test.play_on(&end.session_id, [say("Hello.")]).await;
    assert_eq!(end.reason, EndReason::Completed);
    assert_append_only(&test.finish().await);
}

#[tokio::test]
async fn calls_of_a_truncated_answer_do_not_run() {
    for wire in ALL {
        let test = TestDaemon::open(wire, &[("a", "x\n")]).await;
        let reply = Reply::text("I change it.").call(
            "c1",
            "edit_file",
            json!({ "path": "a", "old_text": "x", "new_text": "y" }),
        );
        let stream = String::from_utf8(reply.encode(wire)).unwrap();
        // Complete arguments, but the end is missing.
        let says_its_end = ["\"stop_reason\":\"", "\"finish_reason\":\"", "response.completed"];
        let cut = says_its_end.iter().find_map(|end| stream.rfind(end));
        test.model.push(Response::reply(reply).cut_after(cut.unwrap()));
        let end = test.play([say("I leave it.")]).await;
        assert_eq!(end.reason, EndReason::Completed);
        assert_eq!(test.disk("a"), "x\n");
        let notices = test.editor.notices();
        let story = story(&notices, &end.turn_id);
        assert!(story.contains("Assistant: I change it. (cut)"), "{story}");
        assert!(story.contains("c1: edit_file: Queued Cancelled"), "{story}");
        let requests = test.finish().await;
        assert_eq!(requests[0].body, requests[1].body);
    }
}

#[tokio::test]
async fn a_call_repeated_after_a_truncated_answer_is_a_new_call() {
    let test = TestDaemon::open(Wire::OpenAi, &[("a", "x\n")]).await;
    let reply = || call("c1", "read_file", json!({ "path": "a" }));
    let stream = String::from_utf8(reply().encode(Wire::OpenAi)).unwrap();
    let cut = stream.rfind("\"finish_reason\":\"").unwrap();
    test.model.push(Response::reply(reply()).cut_after(cut));
    let end = test.play([reply(), say("Read.")]).await;
    let story = story(&test.editor.notices(), &end.turn_id);
    assert!(story.contains("c1: Read a: Queued Cancelled Queued Running Done"), "{story}");
    test.finish().await;
}

#[tokio::test]
async fn reasoning_between_texts_does_not_repeat_them() {
    // Only one of the formats can say it.
    let event = |data: serde_json::Value| {
        format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap())
    };
    let block = |index: u32, start, delta| {
        [
            event(json!({ "type": "content_block_start", "index": index, "content_block": start })),
            event(json!({ "type": "content_block_delta", "index": index, "delta": delta })),
            event(json!({ "type": "content_block_stop", "index": index })),
        ]
        .concat()
    };
    let text = json!({ "type": "text", "text": "" });
    let words = |text: &str| json!({ "type": "text_delta", "text": text });
    let thought = json!({ "type": "thinking", "thinking": "", "signature": "s" });
    let stream = [
        event(json!({ "type": "message_start", "message": { "usage": {} } })),
        block(0, text.clone(), words("First.")),
        block(1, thought, json!({ "type": "thinking_delta", "thinking": "Hm." })),
        block(2, text, words("Second.")),
        event(
            json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" }, "usage": {} }),
        ),
        event(json!({ "type": "message_stop" })),
    ]
    .concat();
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    test.model.push(Response::raw(200, "text/event-stream", stream));
    let end = test.editor.run("Do it").await;
    assert_eq!(end.reason, EndReason::Completed);
    assert_deltas_are_the_text(&test.editor.notices());
    test.finish().await;
}

/// Goes on after a cancel, to see that the history is legal: the server checks it.
async fn goes_on(test: TestDaemon, turn: &RunTaskResult) {
    let end = test.play_on(&turn.session_id, [say("Back again.")]).await;
    assert_eq!(end.reason, EndReason::Completed);
    assert_append_only(&test.finish().await);
}

#[tokio::test]
async fn cancel_while_the_model_answers_ends_the_turn() {
    for wire in ALL {
        let test = TestDaemon::open(wire, &[]).await;
        let reply = say("I will tell you everything.");
        let stream = String::from_utf8(reply.encode(wire)).unwrap();
        let (held, mut gate) = Response::reply(reply).held_at(stream.rfind("tell yo").unwrap());
        test.model.push(held);
        let turn = test.editor.run_task("Tell me").await;
        gate.reached().await;
        let words = |notice: &Notice| match notice {
            Notice::Message(it) if it.role == MessageRole::Assistant => Some(()),
            _ => None,
        };
        test.editor.wait_for("words", words).await;
        test.cancel(&turn).await;
        goes_on(test, &turn).await;
    }
}

#[tokio::test]
async fn cancel_before_the_model_answers_ends_the_turn() {
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    test.model.push(Response::reply(say("never")).silent());
    let turn = test.editor.run_task("Tell me").await;
    test.model.wait_for_requests(1).await;
    test.cancel(&turn).await;
    // Again, and late: nothing to end.
    test.editor
        .client
        .request("agent/cancel", json!({ "sessionId": turn.session_id, "turnId": turn.turn_id }))
        .await
        .unwrap();
    goes_on(test, &turn).await;
}

#[tokio::test]
async fn cancel_during_a_retry_delay_ends_the_turn() {
    let test = TestDaemon::open(Wire::OpenAi, &[]).await;
    let busy = Response::error(503, "overloaded_error", "busy").header("retry-after", "60");
    test.model.push(busy);
    let turn = test.editor.run_task("Tell me").await;
    test.editor.wait_for("a retry", retrying).await;
    test.cancel(&turn).await;
    goes_on(test, &turn).await;
}

#[tokio::test]
async fn cancel_withdraws_an_open_approval() {
    for wire in ALL {
        let test = TestDaemon::open(wire, &[]).await;
        let both = bash("c1", "touch never").call("c2", "bash", json!({ "command": "touch not" }));
        test.script([plan("c0", &[('>', "Wait"), (' ', "Rest")]), both]);
        test.editor.will_answer(Approval::Silence);
        let turn = test.editor.run_task("Run it").await;
        test.tool("c1", ToolState::AwaitingApproval).await;
        test.cancel(&turn).await;
        let approval_id = test.editor.asked()[0].approval_id.clone();
        assert!(!answered(&test, &approval_id, "allowOnce").await, "the question was withdrawn");
        let notices = test.editor.notices();
        let story = story(&notices, &turn.turn_id);
        assert!(story.contains("AwaitingApproval Cancelled"), "{story}");
        // The step in progress was begun.
        let shown = notices.iter().rev().find_map(|notice| match notice {
            Notice::Plan(plan) => Some(plan.items.iter().map(|item| item.status).collect()),
            _ => None,
        });
        let shown: Vec<_> = shown.unwrap();
        assert_eq!(shown, [ItemStatus::InProgress, ItemStatus::Pending]);
        assert!(!test.path("never").exists() && !test.path("not").exists());
        goes_on(test, &turn).await;
    }
}

#[tokio::test]
async fn cancel_while_a_command_runs_kills_the_process_group() {
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    let marker = marker();
    test.script([bash("c1", &format!("sleep {marker} & sleep {marker}"))]);
    test.editor.will_answer(allow());
    let turn = test.editor.run_task("Run it").await;
    until_running(&marker).await;
    test.cancel(&turn).await;
    until_gone(&marker).await;
    goes_on(test, &turn).await;
}

#[tokio::test]
async fn cancel_kills_a_command_that_ignores_signals() {
    let test = TestDaemon::open(Wire::OpenAi, &[]).await;
    let marker = marker();
    test.script([bash(
        "c1",
        &format!("trap '' TERM; echo x > up; while :; do sleep {marker}; done"),
    )]);
    test.editor.will_answer(allow());
    let turn = test.editor.run_task("Run it").await;
    until_running(&marker).await;
    test.cancel(&turn).await;
    until_gone(&marker).await;
    goes_on(test, &turn).await;
}

#[tokio::test]
async fn cancel_while_an_edit_is_in_flight_ends_the_turn() {
    for wire in ALL {
        let test = TestDaemon::open(wire, &[("a", "x\n")]).await;
        test.editor.will_fail(ApplyFault::Silence);
        test.script([edit("c1", "a", "x", "y")]);
        let turn = test.editor.run_task("Change it").await;
        test.edits(1).await;
        test.cancel(&turn).await;
        assert_eq!(fs::read_to_string(test.path("a")).unwrap(), "x\n");
        goes_on(test, &turn).await;
    }
}

#[tokio::test]
async fn a_model_that_repeats_a_call_ends_the_turn() {
    let test = TestDaemon::open(Wire::OpenAi, &[("a", "x\n")]).await;
    let read = |id| call(id, "read_file", json!({ "path": "a" }));
    let end = test.play(["c1", "c2", "c3", "c4", "c5", "c6"].map(read)).await;
    assert_eq!(end.reason, EndReason::Failed);
    let end = test.play_on(&end.session_id, [say("Sorry.")]).await;
    assert_eq!(end.reason, EndReason::Completed);
    assert_append_only(&test.finish().await);
}

//! Chat templates that require alternating roles: after any end of a turn, the next request alternates
//! the roles and only appends to the previous one.

use cairn_core::model::Stop;
use cairn_protocol::{EndReason, RunTaskResult, Steer, SteerParams};
use cairn_tests::model_server::{Reply, Response, Wire, assert_append_only};
use serde_json::json;

use crate::fixtures::*;

async fn open(wire: Wire) -> TestDaemon {
    let test = TestDaemon::open(wire, &[("a", "x\n")]).await;
    test.model.demand_alternation();
    test
}

fn refused() -> Response {
    Response::error(400, "invalid_request_error", "no")
}

fn read(id: &str) -> Reply {
    call(id, "read_file", json!({ "path": "a" }))
}

/// The next two turns are answered, and everything that was sent is still the same.
async fn goes_on(test: TestDaemon, session_id: &str) {
    for _ in 0..2 {
        let end = test.play_on(session_id, [say("Back again.")]).await;
        assert_eq!(end.reason, EndReason::Completed, "{}", end.summary);
    }
    assert_append_only(&test.finish().await);
}

#[tokio::test]
async fn roles_alternate_after_failed_turns() {
    for wire in ALL {
        let test = open(wire).await;
        test.model.push(refused());
        let end = test.editor.run("Do it").await;
        assert_eq!(end.reason, EndReason::Failed);
        // Once more in the same session.
        test.model.push(refused());
        test.editor.run_in(&end.session_id, "Again").await;
        goes_on(test, &end.session_id).await;
    }
}

#[tokio::test]
async fn roles_alternate_after_a_turn_that_failed_after_tool_results() {
    for wire in ALL {
        let test = open(wire).await;
        test.script([read("c1")]);
        test.model.push(refused());
        let end = test.editor.run("Do it").await;
        assert_eq!(end.reason, EndReason::Failed);
        goes_on(test, &end.session_id).await;
    }
}

#[tokio::test]
async fn roles_alternate_after_a_cancel_before_the_answer() {
    for wire in ALL {
        let test = open(wire).await;
        let (held, mut gate) = Response::reply(say("Never.")).held_at(0);
        test.model.push(held);
        let turn = test.editor.run_task("Do it").await;
        gate.reached().await;
        test.cancel(&turn).await;
        goes_on(test, &turn.session_id).await;
    }
}

#[tokio::test]
async fn roles_alternate_after_truncated_tool_calls() {
    for wire in ALL {
        let test = open(wire).await;
        let cut = || Reply::text("").call_raw("c1", "edit_file", "{\"pa").stop(Stop::MaxTokens);
        let end = test.play([cut(), cut(), cut()]).await;
        assert_eq!(end.reason, EndReason::Limit);
        goes_on(test, &end.session_id).await;
    }
}

#[tokio::test]
async fn roles_alternate_after_a_refusal_and_a_reasoning_only_answer() {
    for wire in ALL {
        let test = open(wire).await;
        let end = test.play([say("No.").stop(Stop::Refusal)]).await;
        assert_eq!(end.reason, EndReason::Failed);
        let thought = || Reply::text("").thinking("Hm.");
        let end = test.play_on(&end.session_id, [thought(), thought()]).await;
        assert_eq!(end.reason, EndReason::Failed);
        goes_on(test, &end.session_id).await;
    }
}

/// Reminders, warnings and steering words come with the results of tools.
#[tokio::test]
async fn roles_alternate_with_steering_text_after_tool_results() {
    for wire in ALL {
        let test = open(wire).await;
        let (held, mut gate) = Response::reply(read("c1")).held_at(0);
        test.model.push(held);
        let turn = test.editor.run_task("Do it").await;
        gate.reached().await;
        let RunTaskResult { session_id, turn_id } = turn.clone();
        let text = "Look at b too.".to_owned();
        let params =
            SteerParams { session_id, expected_turn_id: turn_id, text, attachments: Vec::new() };
        test.editor.request::<Steer>(params).await.unwrap();
        // The third of the same calls is warned of.
        test.script([read("c2"), read("c3"), say("Done.")]);
        gate.open();
        let end = test.editor.turn_end(&turn.turn_id).await;
        assert_eq!(end.reason, EndReason::Completed, "{}", end.summary);
        let last = test.model.requests().last().unwrap().json().to_string();
        assert!(last.contains("Look at b too.") && last.contains("three times in a row"));
        goes_on(test, &turn.session_id).await;
    }
}

#[tokio::test]
async fn roles_alternate_after_compaction() {
    for wire in ALL {
        let test = open(wire).await;
        test.script([read("c1")]);
        let long = "prompt is too long: 9 tokens > 8 maximum";
        test.model.push(Response::error(400, "invalid_request_error", long));
        test.script([say("A summary."), say("Done.")]);
        let end = test.editor.run("Do it").await;
        assert_eq!(end.reason, EndReason::Completed, "{}", end.summary);
        let again = test.play_on(&end.session_id, [say("Back again.")]).await;
        assert_eq!(again.reason, EndReason::Completed, "{}", again.summary);
        test.finish().await;
    }
}

//! Mode `ask`: the agent waits after each edit until the user has decided all its hunks.

use cairn_protocol::{
    Decide, DecideParams, Decision, EndReason, Hunk, RunTaskResult, Scope, ToolState,
};
use cairn_tests::model_server::{Reply, Wire, assert_append_only};
use serde_json::json;

use crate::fixtures::*;

/// A turn that waits with two hunks of one edit undecided.
async fn waiting(after: Option<Reply>) -> (TestDaemon, RunTaskResult, Vec<Hunk>) {
    let test = TestDaemon::with(
        Wire::Anthropic,
        &[("a", "x\ny\nx\n")],
        json!({ "review": { "mode": "ask" } }),
    )
    .await;
    test.open_file("a");
    let edit = call(
        "c1",
        "edit_file",
        json!({"path": "a", "old_text": "x", "new_text": "X", "replace_all": true}),
    );
    test.script([edit].into_iter().chain(after));
    let turn = test.editor.run_task("Change it").await;
    test.tool("c1", ToolState::Running).await;
    let hunks = loop {
        let hunks = test.hunks("a").await;
        if hunks.len() == 2 {
            break hunks;
        }
    };
    (test, turn, hunks)
}

async fn decide(test: &TestDaemon, decision: Decision, hunk: &Hunk) {
    let scope = Scope::Hunk { uri: test.uri("a"), hunk_id: hunk.id.clone() };
    let result = test
        .editor
        .request::<Decide>(DecideParams { decision, scope, rev: None, feedback: None })
        .await
        .unwrap();
    assert_eq!(result.applied, 1);
}

fn is_over(test: &TestDaemon) -> bool {
    test.editor.notices().iter().any(|notice| {
        matches!(notice, cairn_protocol::Notice::Tool(tool) if tool.call_id == "c1" && tool.state == ToolState::Done)
    })
}

#[tokio::test]
async fn ask_mode_continues_when_the_last_hunk_is_decided() {
    let (test, turn, hunks) = waiting(Some(say("Done."))).await;
    decide(&test, Decision::Accept, &hunks[0]).await;
    // One is still open, and the state that says so was made after the decision.
    let review = test.review("a").await.unwrap();
    assert_eq!((review.hunks.len(), review.waiting), (1, true));
    assert!(!is_over(&test), "it went on too early");
    decide(&test, Decision::Reject, &hunks[1]).await;
    assert_eq!(test.editor.turn_end(&turn.turn_id).await.reason, EndReason::Completed);
    assert_eq!(test.text("a"), "X\ny\nx\n");
    let requests = test.finish().await;
    assert!(newest(&requests[1]).contains("rejected this change"), "{}", newest(&requests[1]));
    assert_append_only(&requests);
}

#[tokio::test]
async fn cancelling_ask_mode_leaves_undecided_hunks_pending() {
    let (test, turn, _) = waiting(None).await;
    test.cancel(&turn).await;
    assert_eq!(test.text("a"), "X\ny\nX\n");
    let review = test.review("a").await.unwrap();
    assert_eq!((review.hunks.len(), review.waiting), (2, false));
    test.finish().await;
}

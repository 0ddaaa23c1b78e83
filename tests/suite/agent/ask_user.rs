//! Questions of the agent: the answer reaches the model, a client that cannot ask is named, and the end of
//! the turn withdraws the question.

use cairn_protocol::{Cancel, EndReason, Notice, RunTask, RunTaskParams, ToolState, TurnParams};
use cairn_tests::model_server::Wire;
use serde_json::{Value, json};

use crate::fixtures::*;

fn ask(options: Value) -> cairn_tests::model_server::Reply {
    call("c1", "ask_user", json!({ "question": "Which colour?", "options": options }))
}

#[tokio::test]
async fn the_users_answer_is_the_result_of_the_call() {
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    let window = test.second_window_with_all().await;
    test.script([ask(json!(["Blue", "Red"])), say("Blue it is.")]);
    let end = window.run("Paint it").await;
    assert_eq!(end.reason, EndReason::Completed);
    let asked = window.questions();
    assert_eq!(asked.len(), 1);
    assert_eq!((asked[0].text.as_str(), asked[0].call_id.as_str()), ("Which colour?", "c1"));
    window.finish();
    let requests = test.finish().await;
    let told = result(&requests[1], "c1");
    assert_eq!(told, "[cairn] answer of the user:\nBlue\n[cairn] end of the answer of the user");
}

#[tokio::test]
async fn the_model_is_told_that_a_client_cannot_ask() {
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    let end = test.play([ask(json!([])), say("I took blue.")]).await;
    assert_eq!(end.reason, EndReason::Completed);
    let requests = test.finish().await;
    assert!(result(&requests[1], "c1").starts_with("[cairn] Nobody is there to answer."));
}

#[tokio::test]
async fn the_end_of_the_turn_withdraws_a_question() {
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    let window = test.second_window_with_all().await;
    test.script([ask(json!([]))]);
    let params = RunTaskParams { text: "Paint it".into(), ..RunTaskParams::default() };
    let started = window.request::<RunTask>(params).await.unwrap();
    while window.questions().is_empty() {
        window.request::<cairn_protocol::State>(Default::default()).await.unwrap();
    }
    let (session_id, turn_id) = (started.session_id.clone(), started.turn_id.clone());
    window.request::<Cancel>(TurnParams { session_id, turn_id }).await.unwrap();
    assert_eq!(window.turn_end(&started.turn_id).await.reason, EndReason::Cancelled);
    let over = window.notices().into_iter().rev().find_map(|notice| match notice {
        Notice::Tool(tool) if tool.call_id == "c1" => Some(tool.state),
        _ => None,
    });
    assert_eq!(over, Some(ToolState::Cancelled));
    window.finish();
    test.finish().await;
}

//! The plan from one turn to the next: the rows of the table in docs/plan.md, a test each.

use cairn_protocol::{
    EndReason, ForkSession, ForkSessionParams, Notice, OpenSessionResult, Panel, PlanNotification,
    RestoreCheckpoint, RestoreCheckpointParams, State,
};
use cairn_tests::model_server::{Response, Wire};

use crate::fixtures::*;

fn shown(plan: Option<&PlanNotification>) -> String {
    let Some(plan) = plan else { return "none".to_owned() };
    let items = plan.items.iter().map(|item| {
        let mark = mark(item.status);
        format!("[{mark}] {}", item.content)
    });
    format!("{:?}: {}", plan.panel, items.collect::<Vec<_>>().join(", "))
}

/// Plan of a session as a client sees it now.
async fn now(test: &TestDaemon, session_id: &str) -> String {
    let state = test.editor.request::<State>(Default::default()).await.unwrap();
    let session = state.sessions.iter().find(|session| session.session_id == session_id);
    shown(session.expect("the session").plan.as_ref())
}

async fn begun() -> (TestDaemon, String) {
    let test = TestDaemon::open(Wire::Anthropic, &[("a", "x\n")]).await;
    let end = test
        .play([plan("p1", &[('x', "Read"), ('>', "Write"), (' ', "Send")]), say("So far.")])
        .await;
    assert_eq!(end.open_items, 2);
    (test, end.session_id)
}

const OPEN: &str = "Collapsed: [x] Read, [>] Write, [ ] Send";

#[tokio::test]
async fn the_next_task_begins_with_the_last_list_until_the_model_sends_another() {
    let (test, session) = begun().await;
    assert_eq!(now(&test, &session).await, OPEN);
    // A task without a todo call leaves the list as it is.
    test.play_on(&session, [say("Hello.")]).await;
    assert_eq!(now(&test, &session).await, OPEN);
    test.play_on(&session, [plan("p2", &[('x', "Other")]), say("Done.")]).await;
    assert_eq!(now(&test, &session).await, "Collapsed: [x] Other");
    // The open items that the new list leaves out are named to the model.
    let requests = test.finish().await;
    let told = result(requests.last().unwrap(), "p2");
    assert!(told.contains("No longer on the list") && told.contains("- Write\n- Send"), "{told}");
}

#[tokio::test]
async fn continuing_keeps_the_list_and_its_open_items() {
    let (test, session) = begun().await;
    test.script([plan("p2", &[('x', "Read"), ('x', "Write"), ('>', "Send")]), say("More.")]);
    let end = test.editor.run_in(&session, "Continue").await;
    assert_eq!(end.open_items, 1);
    assert_eq!(now(&test, &session).await, "Collapsed: [x] Read, [x] Write, [>] Send");
    test.finish().await;
}

#[tokio::test]
async fn a_stop_in_the_middle_leaves_the_item_as_begun() {
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    test.script([plan("p1", &[('>', "Read"), (' ', "Write")])]);
    test.model.push(Response::reply(say("Slowly.")).silent());
    let turn = test.editor.run_task("Do it").await;
    let expanded = |notice: &Notice| match notice {
        Notice::Plan(plan) => (plan.panel == Panel::Expanded).then_some(()),
        _ => None,
    };
    test.editor.wait_for("a plan", expanded).await;
    test.cancel(&turn).await;
    assert_eq!(now(&test, &turn.session_id).await, "Collapsed: [>] Read, [ ] Write");
}

#[tokio::test]
async fn editing_and_resending_brings_back_the_list_from_before_the_message() {
    let (test, session) = begun().await;
    let second = test.play_on(&session, [plan("p2", &[('x', "Other")]), say("Done.")]).await;
    let params = RestoreCheckpointParams { turn_id: second.turn_id.clone(), overwrite: false };
    test.editor.request::<RestoreCheckpoint>(params).await.unwrap();
    assert_eq!(now(&test, &session).await, OPEN);
    test.play_on(&session, [plan("p3", &[('>', "Third")]), say("Begun.")]).await;
    assert_eq!(now(&test, &session).await, "Collapsed: [>] Third");
    test.finish().await;
}

#[tokio::test]
async fn a_fork_has_a_copy_of_the_list() {
    let (test, session) = begun().await;
    let params = ForkSessionParams { session_id: session.clone(), at_turn: None };
    let forked = test.editor.request::<ForkSession>(params).await.unwrap();
    let OpenSessionResult::Opened { session: copy } = forked else { panic!("{forked:?}") };
    let copy = copy.session_id.clone();
    test.play_on(&copy, [plan("p2", &[('x', "Other")]), say("Done.")]).await;
    assert_eq!(now(&test, &copy).await, "Collapsed: [x] Other");
    assert_eq!(now(&test, &session).await, OPEN);
    test.finish().await;
}

#[tokio::test]
async fn a_restart_shows_the_list_collapsed() {
    let (test, session) = begun().await;
    let test = test.restart().await;
    assert_eq!(now(&test, &session).await, OPEN);
    test.finish().await;
}

#[tokio::test]
async fn a_completed_list_stays_until_the_next_one() {
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    let end = test.play([plan("p1", &[('x', "Read"), ('x', "Write")]), say("Done.")]).await;
    assert_eq!((end.reason, end.open_items), (EndReason::Completed, 0));
    test.play_on(&end.session_id, [say("Hello.")]).await;
    assert_eq!(now(&test, &end.session_id).await, "Collapsed: [x] Read, [x] Write");
    test.play_on(&end.session_id, [plan("p2", &[]), say("Empty.")]).await;
    assert_eq!(now(&test, &end.session_id).await, "Hidden: ");
    test.finish().await;
}

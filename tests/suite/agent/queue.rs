//! Follow-ups: they run in order after a completed turn, can be changed before they start, and survive
//! a restart.

use cairn_protocol::{
    Empty, EndReason, ErrorData, ErrorKind, FollowUp, FollowUpParams, Notice, QueueAdd,
    QueueAddParams, QueueDrop, QueueNotification, QueueSend, RunTaskResult, State, TurnPhase,
};
use cairn_tests::model_server::{Gate, Response, Wire};

use crate::fixtures::*;

async fn add(test: &TestDaemon, session_id: &str, text: &str) -> Option<RunTaskResult> {
    let (session_id, text) = (session_id.to_owned(), text.to_owned());
    let params = QueueAddParams { session_id, text, mode: None, attachments: Vec::new() };
    test.editor.request::<QueueAdd>(params).await.unwrap().started
}

/// State for a client that connects now.
async fn queue(test: &TestDaemon, session_id: &str) -> Option<QueueNotification> {
    let state = test.editor.request::<State>(Empty {}).await.unwrap();
    let session = state.sessions.into_iter().find(|session| session.session_id == session_id);
    session.and_then(|session| session.queue)
}

fn texts(queue: &Option<QueueNotification>) -> Vec<&str> {
    let items = queue.iter().flat_map(|queue| &queue.items);
    items.map(|FollowUp { text, .. }| text.as_str()).collect()
}

/// A turn whose model does not answer before the gate opens.
async fn held(test: &TestDaemon) -> (RunTaskResult, Gate) {
    let (response, mut gate) = Response::reply(say("Done.")).held_at(0);
    test.model.push(response);
    let turn = test.editor.run_task("Do it").await;
    gate.reached().await;
    (turn, gate)
}

/// Waits for the turn that begins with these words.
async fn begun(test: &TestDaemon, words: &str) -> String {
    test.editor
        .wait_for(words, |notice| match notice {
            Notice::Turn(turn) => match &turn.phase {
                TurnPhase::Started { text, .. } if text == words => Some(turn.turn_id.clone()),
                TurnPhase::Started { .. } | TurnPhase::Ended { .. } => None,
            },
            _ => None,
        })
        .await
}

#[tokio::test]
async fn follow_ups_run_in_order_after_a_completed_turn() {
    for wire in BOTH {
        let test = TestDaemon::open(wire, &[]).await;
        let (turn, gate) = held(&test).await;
        for text in ["Second", "Third", "Never"] {
            assert_eq!(add(&test, &turn.session_id, text).await, None);
        }
        let waiting = queue(&test, &turn.session_id).await;
        assert_eq!(texts(&waiting), ["Second", "Third", "Never"]);
        let [_, _, never] = &waiting.unwrap().items[..] else { panic!("three wait") };
        let (session_id, id) = (turn.session_id.clone(), never.id.clone());
        let params = FollowUpParams { session_id, id };
        test.editor.request::<QueueDrop>(params.clone()).await.unwrap();
        let refused = test.editor.request::<QueueDrop>(params).await.unwrap_err();
        let data: ErrorData = serde_json::from_value(refused["data"].clone()).unwrap();
        assert_eq!(data.kind, ErrorKind::TurnMismatch);
        test.script([say("Two."), say("Three.")]);
        gate.open();
        for words in ["Second", "Third"] {
            let turn_id = begun(&test, words).await;
            assert_eq!(test.editor.turn_end(&turn_id).await.reason, EndReason::Completed);
        }
        assert_eq!(queue(&test, &turn.session_id).await, None);
        let requests = test.finish().await;
        assert_eq!(requests.len(), 3);
        assert!(newest(&requests[2]).contains("Third"));
    }
}

#[tokio::test]
async fn follow_ups_wait_after_a_turn_that_did_not_complete() {
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    let (turn, gate) = held(&test).await;
    add(&test, &turn.session_id, "Second").await;
    add(&test, &turn.session_id, "Third").await;
    test.cancel(&turn).await;
    drop(gate);
    let waiting = queue(&test, &turn.session_id).await.unwrap();
    assert!(waiting.held);
    // One more joins them: it does not overtake.
    assert_eq!(add(&test, &turn.session_id, "Fourth").await, None);
    // The one the user sends begins, and with its good end the others go on.
    test.script([say("Three."), say("Two."), say("Four.")]);
    let params =
        FollowUpParams { session_id: turn.session_id.clone(), id: waiting.items[1].id.clone() };
    test.editor.request::<QueueSend>(params).await.unwrap();
    for words in ["Third", "Second", "Fourth"] {
        let turn_id = begun(&test, words).await;
        test.editor.turn_end(&turn_id).await;
    }
    assert_eq!(queue(&test, &turn.session_id).await, None);
    test.finish().await;
}

/// The queue goes on after a task of the user, so nothing says that it waits for a start.
#[tokio::test]
async fn a_held_queue_is_not_held_while_a_task_runs() {
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    let (turn, gate) = held(&test).await;
    add(&test, &turn.session_id, "Second").await;
    test.cancel(&turn).await;
    drop(gate);
    assert!(queue(&test, &turn.session_id).await.unwrap().held);
    let before = test.editor.notices().len();
    test.script([say("One."), say("Two.")]);
    test.editor.run_in(&turn.session_id, "First").await;
    let later = test.editor.notices().split_off(before);
    let told = later.iter().find_map(|notice| match notice {
        Notice::Queue(queue) => Some(queue.held),
        _ => None,
    });
    assert_eq!(told, Some(false));
    let turn_id = begun(&test, "Second").await;
    assert_eq!(test.editor.turn_end(&turn_id).await.summary, "Two.");
    test.finish().await;
}

#[tokio::test]
async fn a_follow_up_can_be_sent_to_the_running_turn() {
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    let (turn, gate) = held(&test).await;
    add(&test, &turn.session_id, "In blue, please").await;
    let id = queue(&test, &turn.session_id).await.unwrap().items.remove(0).id;
    let params = FollowUpParams { session_id: turn.session_id.clone(), id };
    test.editor.request::<QueueSend>(params).await.unwrap();
    assert_eq!(queue(&test, &turn.session_id).await, None);
    test.script([say("Blue it is.")]);
    gate.open();
    assert_eq!(test.editor.turn_end(&turn.turn_id).await.summary, "Blue it is.");
    let requests = test.finish().await;
    assert!(newest(&requests[1]).contains("In blue, please"));
}

#[tokio::test]
async fn a_follow_up_starts_at_once_when_idle() {
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    let end = test.play([say("Done.")]).await;
    test.script([say("Again.")]);
    let started = add(&test, &end.session_id, "Again").await.unwrap();
    assert_eq!(test.editor.turn_end(&started.turn_id).await.summary, "Again.");
    test.finish().await;
}

#[tokio::test]
async fn follow_ups_survive_a_restart_and_start_once() {
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    let (turn, gate) = held(&test).await;
    add(&test, &turn.session_id, "Second").await;
    add(&test, &turn.session_id, "Third").await;
    let (second, mut in_second) = Response::reply(say("Never heard.")).held_at(0);
    test.model.push(second);
    gate.open();
    in_second.reached().await;
    // Killed in the middle of the second: it is a turn that was interrupted, and does not wait.
    let test = test.restart().await;
    let waiting = queue(&test, &turn.session_id).await;
    assert_eq!(texts(&waiting), ["Third"]);
    assert!(waiting.unwrap().held);
    drop(in_second);
    test.script([say("Went on."), say("Three.")]);
    let started = test.go_on(&turn.session_id).await;
    test.editor.turn_end(&started.turn_id).await;
    let third = begun(&test, "Third").await;
    test.editor.turn_end(&third).await;
    test.finish().await;
}

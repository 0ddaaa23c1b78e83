//! Words for a running task: unread, then read, in the conversation and after a restart.

use cairn_protocol::{
    MessageNotification, MessageRole, Notice, RunTaskResult, SessionSnapshot, Steer, SteerParams,
    TranscriptEntry, TurnPhase,
};
use cairn_tests::model_server::{Response, Wire};

use super::session_list::open;
use crate::fixtures::*;

pub(super) async fn steer(test: &TestDaemon, turn: &RunTaskResult, text: &str) {
    let params = SteerParams {
        session_id: turn.session_id.clone(),
        expected_turn_id: turn.turn_id.clone(),
        text: text.to_owned(),
        attachments: Vec::new(),
    };
    test.editor.request::<Steer>(params).await.unwrap();
}

fn in_short(message: &MessageNotification) -> String {
    let text = message.text.as_deref().unwrap_or("…");
    let mark = match (message.unread, message.ended_at) {
        (true, None) => " (unread)",
        (true, Some(_)) => " (unread, but ended)",
        (false, _) => "",
    };
    format!("{:?}: {text}{mark}", message.role)
}

/// Messages of the user and of the model, as they were published.
fn published(test: &TestDaemon) -> Vec<String> {
    let said = |notice| match notice {
        Notice::Message(it) if it.role != MessageRole::Reminder && it.text.is_some() => {
            Some(in_short(&it))
        }
        _ => None,
    };
    test.editor.notices().into_iter().filter_map(said).collect()
}

fn shown(session: &SessionSnapshot) -> Vec<String> {
    let said = |entry: &TranscriptEntry| match entry {
        TranscriptEntry::Message(it) if it.role == MessageRole::Reminder => None,
        TranscriptEntry::Message(it) => Some(in_short(it)),
        TranscriptEntry::Turn(turn) => Some(match turn.phase {
            TurnPhase::Started { .. } => "started".to_owned(),
            TurnPhase::Ended { .. } => "ended".to_owned(),
        }),
        TranscriptEntry::Tool(_) => None,
    };
    session.transcript.iter().filter_map(said).collect()
}

#[tokio::test]
async fn words_for_a_running_task_stand_where_they_were_read() {
    let test = TestDaemon::open(Wire::OpenAi, &[]).await;
    let (held, mut gate) = Response::reply(say("Done.")).held_at(0);
    test.model.push(held);
    test.script([say("And that too.")]);
    let turn = test.editor.run_task("Do this").await;
    gate.reached().await;
    steer(&test, &turn, "And that").await;
    steer(&test, &turn, "But quick").await;
    let session = open(&test.editor, &turn.session_id).await;
    assert_eq!(shown(&session), ["started", "User: And that (unread)", "User: But quick (unread)"]);
    gate.open();
    test.editor.turn_end(&turn.turn_id).await;
    assert_eq!(
        published(&test)[1..],
        [
            "User: And that (unread)",
            "User: But quick (unread)",
            "Assistant: Done.",
            "User: And that",
            "User: But quick",
            "Assistant: And that too.",
        ]
    );
    let read = ["started", "Assistant: Done.", "User: And that", "User: But quick"];
    let read = [&read[..], &["Assistant: And that too.", "ended"]].concat();
    assert_eq!(shown(&open(&test.editor, &turn.session_id).await), read);
    let test = test.restart().await;
    assert_eq!(shown(&open(&test.editor, &turn.session_id).await), read);
    test.finish().await;
}

#[tokio::test]
async fn words_that_a_task_did_not_read_stay_in_sight_and_go_with_the_next_message() {
    let test = TestDaemon::open(Wire::OpenAi, &[]).await;
    let (held, mut gate) = Response::reply(say("Never said.")).held_at(0);
    test.model.push(held);
    let turn = test.editor.run_task("Do this").await;
    gate.reached().await;
    steer(&test, &turn, "And that").await;
    test.cancel(&turn).await;
    drop(gate);
    let unread = ["started", "User: And that (unread)", "ended"];
    assert_eq!(shown(&open(&test.editor, &turn.session_id).await), unread);
    let test = test.restart().await;
    assert_eq!(shown(&open(&test.editor, &turn.session_id).await), unread);
    test.play_on(&turn.session_id, [say("Both done.")]).await;
    let requests = test.finish().await;
    let told = newest(requests.last().unwrap());
    assert!(told.contains("The user had also said: And that"), "{told}");
}

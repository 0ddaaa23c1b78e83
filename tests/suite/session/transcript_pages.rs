//! Pages of a stored transcript, and the transcript of a session that runs.

use cairn_protocol::{
    ErrorKind, MessageRole, Notice, OpenSession, OpenSessionParams, OpenSessionResult,
    TranscriptEntry,
};
use cairn_tests::model_server::{Response, Wire};

use super::session_list::{journal, open, place, told, try_ask, turn};
use crate::fixtures::*;

#[tokio::test]
async fn an_old_transcript_has_pages() {
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    let lines = (0..1_300).flat_map(|number| turn(number, &format!("Task {number}")));
    journal(&place(&test), "s-long", lines);
    let newest = open(&test.editor, "s-long").await;
    let (mut earlier, mut all) = (newest.earlier, newest.transcript);
    assert_eq!(all.len(), 1_000);
    while let Some(before) = earlier {
        let params = OpenSessionParams {
            session_id: "s-long".into(),
            before: Some(before),
            ..Default::default()
        };
        match try_ask::<OpenSession>(&test.editor, params).await.unwrap() {
            OpenSessionResult::Earlier { mut transcript, earlier: next } => {
                transcript.append(&mut all);
                (all, earlier) = (transcript, next);
            }
            OpenSessionResult::Opened { .. } => panic!("a session and no page"),
        }
    }
    let expected = (0..1_300)
        .flat_map(|number| [format!("started: Task {number}"), "ended: Completed".into()]);
    assert_eq!(told(&all), expected.collect::<Vec<_>>());
    let refuses = |params: OpenSessionParams| async {
        let params = OpenSessionParams { session_id: "s-long".into(), ..params };
        let refused = try_ask::<OpenSession>(&test.editor, params).await.unwrap_err();
        assert_eq!(refused.0, ErrorKind::InvalidParams);
    };
    refuses(OpenSessionParams { before: Some("x".into()), ..Default::default() }).await;
    refuses(OpenSessionParams { before_turn: Some("t-x".into()), ..Default::default() }).await;
    refuses(OpenSessionParams { before_call: Some("t-1".into()), ..Default::default() }).await;
    test.finish().await;
}

/// A client that keeps only the newest entries has no number for the oldest of them.
#[tokio::test]
async fn a_page_ends_before_a_turn_or_a_call() {
    let test = TestDaemon::open(Wire::Anthropic, &[("a", "one\n")]).await;
    let first = test.play([edit("c1", "a", "one", "1"), edit("c2", "a", "1", "2"), say("Done.")]);
    let first = first.await;
    let second = test.play_on(&first.session_id, [say("More.")]).await;
    let page = |params: OpenSessionParams| async {
        let params = OpenSessionParams { session_id: first.session_id.clone(), ..params };
        match try_ask::<OpenSession>(&test.editor, params).await.unwrap() {
            OpenSessionResult::Earlier { transcript, earlier } => {
                assert_eq!(earlier, None);
                told(&transcript)
            }
            OpenSessionResult::Opened { .. } => panic!("a session and no page"),
        }
    };
    let before_call = Some("c2".into());
    let told = page(OpenSessionParams { before_call, ..Default::default() }).await;
    assert_eq!(told, ["started: Do it", "Edit a"]);
    let before_turn = Some(second.turn_id.clone());
    let told = page(OpenSessionParams { before_turn, ..Default::default() }).await;
    assert_eq!(told, ["started: Do it", "Edit a", "Edit a", "Done.", "ended: Completed"]);
    test.finish().await;
}

/// The words so far are in no journal yet, and what follows is only appended to them.
#[tokio::test]
async fn a_session_that_is_opened_while_it_runs_has_the_words_so_far() {
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    let words = "One two three four five six seven eight nine ten.";
    let reply = say(words);
    let stream = String::from_utf8(reply.encode(Wire::Anthropic)).unwrap();
    let (response, mut gate) = Response::reply(reply).held_at(stream.rfind("text_delta").unwrap());
    test.model.push(response);
    let turn = test.editor.run_task("Count").await;
    gate.reached().await;
    let first = |notice: &Notice| match notice {
        Notice::Message(message) if message.role == MessageRole::Assistant => {
            Some((message.item_id.clone(), message.delta.clone()))
        }
        _ => None,
    };
    let (item, heard) = test.editor.wait_for("the first words", first).await;
    let opened = open(&test.editor, &turn.session_id).await;
    let Some(TranscriptEntry::Message(last)) = opened.transcript.last() else {
        panic!("no message: {:?}", opened.transcript)
    };
    assert_eq!((&last.item_id, last.text.as_ref()), (&item, None));
    assert!(last.delta.starts_with(&heard) && words.starts_with(&last.delta), "{}", last.delta);
    gate.open();
    test.editor.turn_end(&turn.turn_id).await;
    let opened = open(&test.editor, &turn.session_id).await;
    assert_eq!(told(&opened.transcript), ["started: Count", words, "ended: Completed"]);
    test.finish().await;
}

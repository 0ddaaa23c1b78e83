//! Ends that leave work: what the model is asked, and what clients are told.

use cairn_protocol::{EndReason, Notice, State, TranscriptEntry, TurnPhase};
use cairn_tests::model_server::Wire;
use serde_json::json;

use crate::fixtures::*;

/// Returns true if the newest end of a turn has unchecked edits.
fn has_unchecked_edits<'a>(phases: impl DoubleEndedIterator<Item = &'a TurnPhase>) -> bool {
    let ended = phases.rev().find_map(|phase| match phase {
        TurnPhase::Ended { unchecked_edits, .. } => Some(*unchecked_edits),
        TurnPhase::Started { .. } => None,
    });
    ended.unwrap()
}

fn told(test: &TestDaemon) -> bool {
    let notices = test.editor.notices();
    has_unchecked_edits(notices.iter().filter_map(|notice| match notice {
        Notice::Turn(turn) => Some(&turn.phase),
        _ => None,
    }))
}

#[tokio::test]
async fn an_end_with_work_left_gets_one_reminder_and_says_what_is_left() {
    for wire in ALL {
        let settings = json!({ "plan.endReminder": true });
        let test = TestDaemon::with(wire, &[("a.rs", "one\n")], settings).await;
        test.editor.will_answer(allow());
        let items = [('x', "Read"), ('>', "Mend"), (' ', "Test")];
        let end = test
            .play([
                plan("p", &items),
                edit("c1", "a.rs", "one", "1"),
                say("All done!"),
                say("Mended, not tested."),
            ])
            .await;
        assert_eq!((end.reason, end.open_items), (EndReason::Completed, 2));
        assert_eq!(end.summary, "Mended, not tested.");
        assert!(told(&test));
        // The model that goes on and runs the tests ends without a reminder.
        let end = test
            .play_on(
                &end.session_id,
                [
                    edit("c2", "a.rs", "1", "2"),
                    bash("c3", "make test || true"),
                    plan("p2", &[('x', "Read"), ('x', "Mend"), ('x', "Test")]),
                    say("Tested."),
                ],
            )
            .await;
        assert_eq!((end.open_items, end.summary.as_str()), (0, "Tested."));
        assert!(!told(&test));
        let requests = test.finish().await;
        let reminders: Vec<_> =
            requests.iter().map(newest).filter(|it| it.contains("would end the turn")).collect();
        let [reminder] = reminders.as_slice() else { panic!("{reminders:#?}") };
        for part in ["[cairn] reminder:", "[>] #2 Mend", "[ ] #3 Test", "checked your last edit"] {
            assert!(reminder.contains(part), "{part}: {reminder}");
        }
    }
}

#[tokio::test]
async fn an_end_with_unchecked_edits_says_so_after_a_restart() {
    let test = TestDaemon::open(Wire::Anthropic, &[("a.rs", "one\n")]).await;
    test.play([edit("c1", "a.rs", "one", "1"), say("Done.")]).await;
    let test = test.restart().await;
    let state = test.editor.request::<State>(Default::default()).await.unwrap();
    let [session] = state.sessions.as_slice() else { panic!("{state:#?}") };
    assert!(has_unchecked_edits(session.news.turn.iter().map(|turn| &turn.phase)));
    let shown = session.transcript.iter().filter_map(|entry| match entry {
        TranscriptEntry::Turn(turn) => Some(&turn.phase),
        _ => None,
    });
    assert!(has_unchecked_edits(shown));
    test.finish().await;
}

#[tokio::test]
async fn an_unchecked_edit_of_a_subagent_is_one_of_its_parent() {
    let settings = json!({ "plan.endReminder": true });
    let test = TestDaemon::with(Wire::Anthropic, &[("a.rs", "one\n")], settings).await;
    let task = call("k1", "task", json!({ "description": "Mend", "prompt": "Mend a.rs." }));
    let end = test
        .play([
            task,
            edit("c1", "a.rs", "one", "1"),
            say("Mended."),
            say("Mended, not tested."),
            say("All done!"),
            say("Nothing here can be tested."),
        ])
        .await;
    assert_eq!(end.summary, "Nothing here can be tested.");
    assert!(told(&test));
    let requests = test.finish().await;
    let report = result(&requests[4], "k1");
    assert!(
        report.contains("[cairn] No command has checked its last edit with success."),
        "{report}"
    );
}

#[tokio::test]
async fn a_plan_for_approval_gets_no_reminder_and_leaves_nothing() {
    let settings = json!({ "plan.endReminder": true, "review": { "mode": "plan" } });
    let test = TestDaemon::with(Wire::Anthropic, &[], settings).await;
    let end = test.play([plan("p", &[(' ', "Mend"), (' ', "Test")]), say("Shown.")]).await;
    assert_eq!((end.reason, end.open_items), (EndReason::Completed, 0));
    test.finish().await;
}

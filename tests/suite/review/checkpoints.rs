//! Checkpoints: restore the state before a turn, without loss of later text of the user.

use cairn_protocol::{
    Checkpoints, Decide, DecideParams, Decision, Panel, RestoreCheckpoint, RestoreCheckpointParams,
    RestoreCheckpointResult, Scope, State, TranscriptEntry, UiArgument, UndoDecision,
};
use cairn_tests::{editor_double::range, model_server::Wire};
use serde_json::json;

use crate::fixtures::*;

const TEXT: &str = "one\ntwo\nthree\n";

async fn back(test: &TestDaemon, turn_id: &str, overwrite: bool) -> RestoreCheckpointResult {
    let params = RestoreCheckpointParams { turn_id: turn_id.into(), overwrite };
    test.editor.request::<RestoreCheckpoint>(params).await.unwrap()
}

async fn accept_all(test: &TestDaemon) {
    let (decision, scope) = (Decision::Accept, Scope::All);
    let params = DecideParams { decision, scope, rev: None, feedback: None };
    test.editor.request::<Decide>(params).await.unwrap();
}

/// Two turns: the first edits a file, the second edits it again, makes one and deletes one.
async fn two_turns() -> (TestDaemon, [String; 2]) {
    let test = TestDaemon::open(Wire::Anthropic, &[("a", TEXT), ("old", "was\n")]).await;
    let plan_one = plan("p1", &[('x', "First"), ('>', "Second")]);
    let first = test.play([plan_one, edit("c1", "a", "two", "2"), say("Done.")]).await;
    let new = json!({ "path": "new/file", "content": "is\n" });
    let second = test
        .play_on(
            &first.session_id,
            [
                plan("p2", &[('x', "First"), ('x', "Second")]),
                edit("c2", "a", "three", "3"),
                call("c3", "write_file", new),
                call("c4", "delete_file", json!({ "path": "old" })),
                say("Done."),
            ],
        )
        .await;
    (test, [first.turn_id, second.turn_id])
}

#[tokio::test]
async fn a_checkpoint_restores_files_review_and_plan() {
    let (test, [first, second]) = two_turns().await;
    let list = test.editor.request::<Checkpoints>(Default::default()).await.unwrap().checkpoints;
    let turns: Vec<&str> = list.iter().map(|it| it.turn_id.as_str()).collect();
    assert_eq!(turns, [&second, &first]);
    assert_eq!(list[0].files, ["a", "new/file", "old"]);

    let result = back(&test, &second, false).await;
    assert_eq!(result.restored, ["a", "new/file", "old"], "{result:?}");
    assert_eq!(test.disk("a"), TEXT.replace("two", "2"));
    assert_eq!(test.disk("old"), "was\n");
    assert!(!test.path("new").exists(), "the folder was made for the file");
    let hunks = test.hunks("a").await;
    assert_eq!((hunks.len(), hunks[0].new_text.as_str()), (1, "2"), "as pending as it was");
    let state = test.editor.request::<State>(Default::default()).await.unwrap();
    let plan = state.sessions[0].plan.clone().unwrap();
    assert_eq!((plan.completed, plan.total, plan.panel), (1, 2, Panel::Collapsed));

    let result = back(&test, &first, false).await;
    assert_eq!(result.restored, ["a"], "{result:?}");
    assert_eq!(test.disk("a"), TEXT);
    assert!(test.hunks("a").await.is_empty());
    let list = test.editor.request::<Checkpoints>(Default::default()).await.unwrap().checkpoints;
    assert!(list.is_empty());

    // That, too, can be undone.
    assert!(test.editor.request::<UndoDecision>(Default::default()).await.unwrap().undone);
    assert_eq!(test.disk("a"), TEXT.replace("two", "2"));
    assert_eq!(test.hunks("a").await.len(), 1);

    let session = state.sessions[0].session_id.clone();
    test.play_on(&session, [say("I see.")]).await;
    let requests = test.finish().await;
    let told = newest(requests.last().unwrap());
    assert!(told.contains("The user went back to how everything was before"), "{told}");
}

/// Notices about restored checkpoints, oldest first, with names for the turns.
async fn notices(test: &TestDaemon, turns: &[String; 2]) -> Vec<String> {
    let state = test.editor.request::<State>(Default::default()).await.unwrap();
    let told = state.sessions[0].transcript.iter().filter_map(|entry| match entry {
        TranscriptEntry::Message(message) => message.notice.clone().zip(message.at),
        TranscriptEntry::Turn(_) | TranscriptEntry::Tool(_) => None,
    });
    let name = |turn: String| turns.iter().position(|known| *known == turn).unwrap() + 1;
    told.map(|(notice, at)| {
        assert!(at > 1_700_000_000_000, "{at}");
        let text = |name: &str| match &notice.args[name] {
            UiArgument::Text(text) => text.clone(),
            other => panic!("{other:?}"),
        };
        match (notice.code.as_str(), notice.args.get("files")) {
            ("turns_restored", Some(UiArgument::Number(files))) => {
                format!("-{} {files}", name(text("turn")))
            }
            ("turns_redone", None) => format!("+{}", name(text("turn"))),
            other => panic!("{other:?}"),
        }
    })
    .collect()
}

#[tokio::test]
async fn a_conversation_tells_which_turns_a_checkpoint_took_back() {
    let (test, turns) = two_turns().await;
    back(&test, &turns[1], false).await;
    assert!(test.editor.request::<UndoDecision>(Default::default()).await.unwrap().undone);
    back(&test, &turns[0], false).await;
    let test = test.restart().await;
    assert_eq!(notices(&test, &turns).await, ["-2 3", "+2", "-1 1"]);
    assert!(test.editor.request::<UndoDecision>(Default::default()).await.unwrap().undone);
    let test = test.restart().await;
    assert_eq!(notices(&test, &turns).await, ["-2 3", "+2", "-1 1", "+1"]);
    test.finish().await;
}

#[tokio::test]
async fn a_checkpoint_restores_accepted_edits_also_after_a_restart() {
    let (test, [first, _]) = two_turns().await;
    accept_all(&test).await;
    let test = test.restart().await;
    let result = back(&test, &first, false).await;
    assert_eq!(result.restored, ["a", "new/file", "old"], "{result:?}");
    assert_eq!((test.disk("a").as_str(), test.disk("old").as_str()), (TEXT, "was\n"));
    // Who made the folder is not known over a restart: it stays.
    assert!(!test.path("new/file").exists());
    let test = test.restart().await;
    let list = test.editor.request::<Checkpoints>(Default::default()).await.unwrap().checkpoints;
    assert!(list.is_empty(), "{list:?}");
    test.finish().await;
}

#[tokio::test]
async fn restoring_a_checkpoint_over_later_text_of_the_user_needs_overwrite() {
    let (test, [first, _]) = two_turns().await;
    let uri = test.open_file("a");
    test.editor.type_in(&uri, range((0, 0), (0, 0)), "mine\n");
    let result = back(&test, &first, false).await;
    let shown: Vec<_> =
        result.conflicts.iter().map(|it| (it.path.as_str(), it.text.as_deref())).collect();
    assert_eq!(shown, [("a", Some(TEXT))]);
    assert!(result.restored.is_empty(), "all or nothing: {result:?}");
    assert!(!test.path("old").exists());
    assert!(test.text("a").starts_with("mine\n"));
    // Another edit of the agent does not make it forget.
    let session = test.editor.request::<State>(Default::default()).await.unwrap().sessions;
    let session = session[0].session_id.clone();
    test.play_on(&session, [edit("c9", "a", "one", "1"), say("Done.")]).await;
    assert_eq!(back(&test, &first, false).await.conflicts.len(), 1);
    let result = back(&test, &first, true).await;
    assert_eq!(result.restored.len(), 3, "{result:?}");
    assert_eq!(test.text("a"), TEXT);
    assert!(test.editor.request::<UndoDecision>(Default::default()).await.unwrap().undone);
    assert!(test.text("a").starts_with("mine\n"), "{}", test.text("a"));
    test.finish().await;
}

#[tokio::test]
async fn a_restore_is_refused_during_a_turn_and_for_an_unknown_turn() {
    let (test, _) = two_turns().await;
    let unknown = json!({ "turnId": "none" });
    let error = test.editor.client.request("agent/checkpoints/restore", unknown).await.unwrap_err();
    assert!(error["message"].as_str().unwrap().contains("checkpoint no longer exists"), "{error}");
    test.finish().await;
}

#[tokio::test]
async fn a_restart_restores_the_newest_session_after_an_older_one_was_restored_last() {
    // Both are written to by that, each by a thread of its own: in either order.
    for _ in 0..3 {
        let test = TestDaemon::open(Wire::Anthropic, &[("a", TEXT)]).await;
        let items = [('x', "First"), ('>', "Second")];
        let one = test.play([plan("p1", &items), edit("c1", "a", "two", "2"), say("One.")]).await;
        let two = test.play([plan("p2", &items), edit("c2", "a", "three", "3"), say("Two.")]).await;
        back(&test, &one.turn_id, false).await;
        assert_eq!(test.disk("a"), TEXT);
        assert!(test.editor.request::<UndoDecision>(Default::default()).await.unwrap().undone);
        let test = test.restart().await;
        let state = test.editor.request::<State>(Default::default()).await.unwrap();
        let ids: Vec<&str> = state.sessions.iter().map(|it| it.session_id.as_str()).collect();
        assert_eq!(ids, [two.session_id]);
        test.finish().await;
    }
}

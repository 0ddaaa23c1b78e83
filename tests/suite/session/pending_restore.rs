//! Restoration of proposed edits after a restart: pending edits stay pending, and none counts as accepted.

use std::fs;

use cairn_protocol::{
    Decide, DecideParams, DecideResult, Decision, Hunk, Scope, State, UndoDecision, WholeFile,
};
use cairn_tests::{
    editor_double::{EditorDouble, range},
    lsp_client::Daemon,
    model_server::Wire,
};
use serde_json::{Value, json};

use crate::fixtures::*;

const TEXT: &str = "one\ntwo\nthree\nfour\nfive\nsix\n";

async fn decide(test: &TestDaemon, decision: Decision, scope: Scope) -> DecideResult {
    test.editor
        .request::<Decide>(DecideParams { decision, scope, rev: None, feedback: None })
        .await
        .unwrap()
}

async fn undo(test: &TestDaemon) -> bool {
    test.editor.request::<UndoDecision>(Default::default()).await.unwrap().undone
}

/// Two proposals in one file.
async fn proposed() -> TestDaemon {
    let test = TestDaemon::open(Wire::Anthropic, &[("a", TEXT)]).await;
    test.play([edit("c1", "a", "two", "2"), edit("c2", "a", "five", "5"), say("Done.")]).await;
    assert_eq!(test.hunks("a").await.len(), 2);
    test
}

fn texts(hunks: &[Hunk]) -> Vec<(&str, &str, bool)> {
    hunks.iter().map(|it| (it.old_text.as_str(), it.new_text.as_str(), it.outdated)).collect()
}

#[tokio::test]
async fn pending_hunks_are_restored_and_can_be_decided() {
    let test = proposed().await;
    let before = test.hunks("a").await;
    let test = test.restart().await;
    assert_eq!(test.hunks("a").await, before);
    let (uri, hunk_id) = (test.uri("a"), before[0].id.clone());
    assert_eq!(decide(&test, Decision::Accept, Scope::Hunk { uri, hunk_id }).await.applied, 1);
    let test = test.restart().await;
    assert_eq!(texts(&test.hunks("a").await), [("five", "5", false)]);
    assert_eq!(decide(&test, Decision::Reject, Scope::All).await.applied, 1);
    assert_eq!(test.disk("a"), TEXT.replace("two", "2"));
    let test = test.restart().await;
    assert!(test.hunks("a").await.is_empty());
    // The rejection, then the accept; both of processes that are gone.
    assert!(undo(&test).await);
    assert_eq!(texts(&test.hunks("a").await), [("five", "5", false)]);
    assert!(undo(&test).await);
    assert_eq!(texts(&test.hunks("a").await), [("two", "2", false), ("five", "5", false)]);
    assert!(!undo(&test).await);
    assert_eq!(decide(&test, Decision::Reject, Scope::All).await.applied, 2);
    assert_eq!(test.disk("a"), TEXT);
    test.finish().await;
}

#[tokio::test]
async fn the_step_and_the_call_of_an_edit_are_known_after_a_restart_and_another_session() {
    let test = TestDaemon::open(Wire::Anthropic, &[("a", TEXT)]).await;
    let first = test
        .play([
            plan("p1", &[('>', "Change two"), (' ', "Change five")]),
            edit("c1", "a", "two", "2"),
            plan("p2", &[('x', "Change two"), ('>', "Change five")]),
            edit("c2", "a", "five", "5"),
            say("Done."),
        ])
        .await;
    let test = test.restart().await;
    let second = test
        .play([
            plan("p1", &[('>', "Tell"), (' ', "Read")]),
            edit("c1", "a", "one", "1"),
            say("Done."),
        ])
        .await;
    assert_ne!(first.session_id, second.session_id);
    let hunks = test.hunks("a").await;
    let steps: Vec<_> = hunks
        .iter()
        .map(|hunk| {
            (hunk.session_id.as_str(), hunk.plan_item_text.as_deref(), hunk.call_id.as_deref())
        })
        .collect();
    assert_eq!(
        steps,
        [
            (second.session_id.as_str(), Some("Tell"), Some("c1")),
            (first.session_id.as_str(), Some("Change two"), Some("c1")),
            (first.session_id.as_str(), Some("Change five"), Some("c2")),
        ]
    );
    // Without a plan there is no step.
    test.play([edit("c1", "a", "six", "6"), say("Done.")]).await;
    let last = test.hunks("a").await.pop().unwrap();
    assert_eq!((last.plan_item, last.plan_item_text), (None, None));
    let scope = Scope::PlanItem {
        session_id: first.session_id,
        plan_item: hunks[1].plan_item.clone().unwrap(),
    };
    assert_eq!(decide(&test, Decision::Reject, scope).await.applied, 1);
    assert_eq!(test.disk("a"), "1\ntwo\nthree\nfour\n5\n6\n");
    test.finish().await;
}

#[tokio::test]
async fn decisions_made_before_a_file_is_opened_hold() {
    let test = proposed().await.restart().await;
    let hunk_id = test.hunks("a").await[0].id.clone();
    let scope = Scope::Hunk { uri: test.uri("a"), hunk_id };
    assert_eq!(decide(&test, Decision::Accept, scope).await.applied, 1);
    test.open_file("a");
    assert_eq!(texts(&test.hunks("a").await), [("five", "5", false)]);
    test.finish().await;
}

#[tokio::test]
async fn changes_by_others_while_the_daemon_was_down_are_not_the_agents() {
    let test = proposed().await;
    let path = test.path("a");
    let meanwhile = TEXT.replace("two", "2").replace("five", "5").replace("three", "drei");
    let test = test.restart_after(|| std::fs::write(path, &meanwhile).unwrap()).await;
    assert_eq!(texts(&test.hunks("a").await), [("two", "2", false), ("five", "5", false)]);
    decide(&test, Decision::Reject, Scope::All).await;
    assert_eq!(test.disk("a"), TEXT.replace("three", "drei"));
    test.finish().await;
}

#[tokio::test]
async fn edits_missing_from_the_text_are_outdated() {
    let test = proposed().await;
    let path = test.path("a");
    // One of them was taken out by another program.
    let meanwhile = TEXT.replace("five", "5");
    let test = test.restart_after(|| std::fs::write(path, &meanwhile).unwrap()).await;
    assert_eq!(texts(&test.hunks("a").await), [("five", "5", false), ("two", "2", true)]);
    // It is there after one more restart, too.
    let test = test.restart().await;
    assert_eq!(texts(&test.hunks("a").await), [("five", "5", false), ("two", "2", true)]);
    let outdated = test.hunks("a").await[1].id.clone();
    let scope = Scope::Hunk { uri: test.uri("a"), hunk_id: outdated };
    assert_eq!(decide(&test, Decision::Accept, scope).await.applied, 1);
    assert_eq!(test.disk("a"), TEXT.replace("two", "2").replace("five", "5"));
    assert_eq!(texts(&test.hunks("a").await), [("five", "5", false)]);
    test.finish().await;
}

#[tokio::test]
async fn an_outdated_proposal_can_be_forgotten_also_without_a_place_in_the_text() {
    let test = proposed().await;
    let path = test.path("a");
    let test = test.restart_after(|| std::fs::write(path, "other\n").unwrap()).await;
    assert_eq!(texts(&test.hunks("a").await), [("two", "2", true), ("five", "5", true)]);
    let accepted = decide(&test, Decision::Accept, Scope::All).await;
    assert_eq!((accepted.applied, accepted.failed.len()), (0, 2), "{accepted:?}");
    assert!(accepted.failed[0].english().contains("no longer exist"), "{accepted:?}");
    assert_eq!(test.hunks("a").await.len(), 2);
    assert_eq!(decide(&test, Decision::Reject, Scope::All).await.applied, 2);
    assert!(test.hunks("a").await.is_empty());
    assert_eq!(test.disk("a"), "other\n");
    test.finish().await;
}

#[tokio::test]
async fn unsaved_text_restored_by_the_editor_keeps_its_hunks() {
    let test = TestDaemon::open(Wire::Anthropic, &[("a", TEXT)]).await;
    let uri = test.open_file("a");
    test.editor.type_in(&uri, range((5, 3), (5, 3)), "!");
    test.play([edit("c1", "a", "two", "2"), say("Done.")]).await;
    let (unsaved, before) = (test.text("a"), test.hunks("a").await);
    assert_eq!(test.disk("a"), TEXT, "it is the user's to save");
    let test = test.restart().await;
    assert_eq!(texts(&test.hunks("a").await), [("two", "2", true)], "on disk nothing of it is");
    test.editor.open_unsaved(&test.path("a"), &unsaved);
    let after = test.hunks("a").await;
    assert_eq!(texts(&after), [("two", "2", false)]);
    assert_eq!((&after[0].id, after[0].range), (&before[0].id, before[0].range));
    decide(&test, Decision::Reject, Scope::All).await;
    assert_eq!(test.text("a"), TEXT.replace("six", "six!"));
    test.finish().await;
}

#[tokio::test]
async fn created_and_deleted_files_are_restored_as_pending() {
    let test = TestDaemon::open(Wire::Anthropic, &[("old", "was\n")]).await;
    let write = serde_json::json!({ "path": "new", "content": "is\n" });
    let delete = serde_json::json!({ "path": "old" });
    test.play([call("c1", "write_file", write), call("c2", "delete_file", delete), say("Done.")])
        .await;
    let test = test.restart().await;
    assert_eq!(texts(&test.hunks("new").await), [("", "is", false)]);
    assert_eq!(test.hunks("old").await[0].whole_file, Some(WholeFile::Deleted));
    assert_eq!(decide(&test, Decision::Reject, Scope::All).await.applied, 2);
    assert!(!test.path("new").exists());
    assert_eq!(test.disk("old"), "was\n");
    test.finish().await;
}

/// After a kill at any moment, the next daemon knows every change of the agent: to reject them all
/// gives the old text, byte for byte.
#[tokio::test]
async fn after_a_kill_no_edit_counts_as_accepted() {
    const FILES: [&str; 3] = ["a", "b", "c"];
    let edits = |round: usize| {
        let file = FILES[round % FILES.len()];
        let (old, new) = (format!("line {round}\n"), format!("agent {round}\nagent, too\n"));
        json!({ "calls": [{ "name": "edit_file", "arguments":
            { "path": file, "old_text": old, "new_text": new } }] })
    };
    let steps: Vec<Value> = (0..12).map(edits).chain([json!({ "text": "Done." })]).collect();
    let script = json!({ "cairnReplay": 1, "name": "edits", "steps": steps }).to_string();
    let text: String = (0..12).map(|line| format!("line {line}\n")).collect();
    for seen in 0..=12 {
        let (folder, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let path = |name: &str| folder.path().join(name);
        for name in FILES {
            fs::write(path(name), &text).unwrap();
        }
        fs::write(path("script.json"), &script).unwrap();
        let settings =
            json!({ "model": { "provider": "replay", "replayFile": path("script.json") } });
        let connect = async || {
            let daemon = Daemon::spawn(|command| {
                command.env("CAIRN_STATE_DIR", state.path());
            });
            let client = daemon.client.clone();
            (daemon, EditorDouble::connect(client, folder.path(), settings.clone()).await)
        };
        let (mut daemon, editor) = connect().await;
        let turn = editor.run_task("Edit them").await;
        while editor.edits().len() < seen {
            editor.request::<State>(Default::default()).await.unwrap();
        }
        if seen == 12 {
            editor.turn_end(&turn.turn_id).await;
        }
        daemon.kill().await;
        editor.client.closed().await;
        // It may have died in the middle of a word.
        std::mem::forget(editor);

        let (_daemon, editor) = connect().await;
        let state = editor.request::<State>(Default::default()).await.unwrap();
        let pending: usize = state.reviews.iter().map(|review| review.hunks.len()).sum();
        assert!(seen < 12 || pending == 12, "{pending} after the last edit");
        let (decision, scope) = (Decision::Reject, Scope::All);
        let params = DecideParams { decision, scope, rev: None, feedback: None };
        let result = editor.request::<Decide>(params).await.unwrap();
        assert_eq!((result.stale, result.failed), (0, Vec::new()), "after {seen} edits");
        for name in FILES {
            assert_eq!(fs::read_to_string(path(name)).unwrap(), text, "{name} after {seen} edits");
        }
    }
}

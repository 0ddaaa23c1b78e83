//! Creation, deletion and moves of files by the agent and by others. The user decides every operation of
//! the agent, and the model learns of the changes by others.

use std::{fs, os::unix::fs::PermissionsExt};

use cairn_protocol::{
    ApproveParams, Decide, DecideParams, DecideResult, Decision, EndReason, ReviewNotification,
    Scope, ToolState, UndoDecision, WholeFile,
};
use cairn_tests::{
    editor_double::range,
    model_server::{Reply, Wire, assert_append_only},
};
use serde_json::json;

use crate::fixtures::*;

async fn test(files: &[(&str, &str)]) -> TestDaemon {
    TestDaemon::open(Wire::Anthropic, files).await
}

fn delete(id: &str, path: &str) -> Reply {
    call(id, "delete_file", json!({ "path": path }))
}

fn relocate(id: &str, from: &str, to: &str) -> Reply {
    call(id, "move_file", json!({ "from": from, "to": to }))
}

fn write(id: &str, path: &str, content: &str) -> Reply {
    call(id, "write_file", json!({ "path": path, "content": content }))
}

/// Plays these answers to the end; the session.
async fn play(test: &TestDaemon, replies: impl IntoIterator<Item = Reply>) -> String {
    let end = test.play(replies.into_iter().chain([say("Done.")])).await;
    assert_eq!(end.reason, EndReason::Completed, "{}", end.summary);
    end.session_id
}

async fn decide(test: &TestDaemon, decision: Decision, scope: Scope) -> DecideResult {
    test.editor
        .request::<Decide>(DecideParams { decision, scope, rev: None, feedback: None })
        .await
        .unwrap()
}

async fn decided(test: &TestDaemon, decision: Decision, name: &str, count: u32) {
    let result = decide(test, decision, Scope::File { uri: test.uri(name) }).await;
    assert_eq!(result, DecideResult { applied: count, ..DecideResult::default() });
}

async fn undo(test: &TestDaemon) {
    let result = test.editor.request::<UndoDecision>(Default::default()).await.unwrap();
    assert!(result.undone, "{result:?}");
}

/// Notification of a file, as one line.
fn shown(review: Option<ReviewNotification>) -> String {
    let Some(review) = review else { return "nothing".to_owned() };
    let mut out = format!("{:?} {}", review.kind, review.path);
    if let Some(from) = &review.from {
        out += &format!(" from {from}");
    }
    for hunk in &review.hunks {
        out += &match hunk.whole_file {
            Some(WholeFile::Deleted) => format!(" [deleted -{:?}]", hunk.old_text),
            Some(WholeFile::Moved) => " [moved]".to_owned(),
            None => format!(" [-{:?} +{:?}]", hunk.old_text, hunk.new_text),
        };
    }
    out
}

async fn review(test: &TestDaemon, name: &str) -> String {
    shown(test.review(name).await)
}

/// Waits for what a reading of the disk brings.
async fn until(test: &TestDaemon, name: &str, expected: &str) {
    let settled = async { while review(test, name).await != expected {} };
    let limit = std::time::Duration::from_secs(10);
    if tokio::time::timeout(limit, settled).await.is_err() {
        panic!("{expected} was expected, but it is {}", review(test, name).await);
    }
}

/// Text sent to the model with the user's next message, after all earlier text.
async fn told(test: TestDaemon, session_id: &str) -> String {
    test.play_on(session_id, [say("I see.")]).await;
    let requests = test.finish().await;
    assert_append_only(&requests);
    newest(requests.last().unwrap())
}

#[tokio::test]
async fn a_deletion_is_a_proposal() {
    for open in [true, false] {
        let test = test(&[("src/a", "one\ntwo\n")]).await;
        if open {
            test.open_file("src/a");
        }
        let session = play(&test, [delete("c1", "src/a")]).await;
        let pending = "Deleted src/a [deleted -\"one\\ntwo\"]";
        assert!(!test.path("src/a").exists());
        assert_eq!(review(&test, "src/a").await, pending);

        decided(&test, Decision::Accept, "src/a", 1).await;
        assert_eq!(review(&test, "src/a").await, "nothing");
        assert!(!test.path("src/a").exists());
        undo(&test).await;
        assert_eq!(review(&test, "src/a").await, pending);

        decided(&test, Decision::Reject, "src/a", 1).await;
        assert_eq!(test.disk("src/a"), "one\ntwo\n");
        assert_eq!(review(&test, "src/a").await, "nothing");
        undo(&test).await;
        assert!(!test.path("src/a").exists());
        assert_eq!(review(&test, "src/a").await, pending);
        let told = told(test, &session).await;
        let rejected = told.find("rejected that you deleted src/a").expect(&told);
        assert!(told.find("took back a rejection").expect(&told) > rejected);
        assert!(!told.contains("Not as you last saw"), "{told}");
    }
}

#[tokio::test]
async fn a_deletion_that_is_rejected_keeps_what_the_user_wrote() {
    let test = test(&[("a", "one\ntwo\n")]).await;
    let uri = test.open_file("a");
    play(&test, [edit("c1", "a", "one", "1")]).await;
    test.editor.type_in(&uri, range((0, 1), (0, 1)), "\nmine");
    play(&test, [delete("c2", "a")]).await;
    assert_eq!(review(&test, "a").await, "Deleted a [deleted -\"one\\nmine\\ntwo\"]");
    decided(&test, Decision::Reject, "a", 1).await;
    assert_eq!(test.disk("a"), "one\nmine\ntwo\n");
    assert_eq!(review(&test, "a").await, "nothing");
    test.finish().await;
}

#[tokio::test]
async fn deleting_a_file_that_the_agent_created_leaves_no_proposal() {
    let test = test(&[]).await;
    play(&test, [write("c1", "new", "one\n"), delete("c2", "new")]).await;
    assert!(!test.path("new").exists());
    assert_eq!(review(&test, "new").await, "nothing");
    test.finish().await;
}

#[tokio::test]
async fn a_file_deleted_and_written_again_is_an_edited_file() {
    let test = test(&[("a", "one\ntwo\n"), ("b", "old\n")]).await;
    play(&test, [delete("c1", "a"), write("c2", "a", "one\n2\n")]).await;
    assert_eq!(review(&test, "a").await, "Edited a [-\"two\" +\"2\"]");
    decided(&test, Decision::Reject, "a", 1).await;
    assert_eq!(test.disk("a"), "one\ntwo\n");
    // One file in the place of another.
    play(&test, [delete("c3", "b"), relocate("c4", "a", "b")]).await;
    assert_eq!(review(&test, "a").await, "Deleted a [deleted -\"one\\ntwo\"]");
    assert_eq!(review(&test, "b").await, "Edited b [-\"old\" +\"one\\ntwo\"]");
    decided(&test, Decision::Reject, "b", 1).await;
    decided(&test, Decision::Reject, "a", 1).await;
    assert_eq!((test.disk("a"), test.disk("b")), ("one\ntwo\n".into(), "old\n".into()));
    test.finish().await;
}

#[tokio::test]
async fn a_move_is_accepted_or_rejected_as_a_whole() {
    for open in [true, false] {
        let test = test(&[("a", "one\ntwo\n")]).await;
        if open {
            test.open_file("a");
        }
        let steps = [
            edit("c1", "a", "one", "1"),
            relocate("c2", "a", "new/b"),
            edit("c3", "new/b", "two", "2"),
        ];
        let session = play(&test, steps).await;
        let pending = "Moved new/b from a [moved] [-\"one\" +\"1\"] [-\"two\" +\"2\"]";
        assert_eq!(review(&test, "new/b").await, pending);
        assert_eq!(review(&test, "a").await, "nothing");
        assert!(!test.path("a").exists());
        assert!(!test.editor.is_open(&test.uri("a")));

        decided(&test, Decision::Reject, "new/b", 3).await;
        assert_eq!(test.disk("a"), "one\ntwo\n");
        // The folder was made for the file.
        assert!(!test.path("new").exists());
        assert_eq!(review(&test, "new/b").await, "nothing");
        undo(&test).await;
        assert_eq!(review(&test, "new/b").await, pending);
        assert_eq!(test.disk("new/b"), "1\n2\n");
        assert!(!test.path("a").exists());

        // The move alone, then the rest where the file is.
        let hunk = test.hunks("new/b").await.remove(0);
        let scope = Scope::Hunk { uri: test.uri("new/b"), hunk_id: hunk.id };
        assert_eq!(decide(&test, Decision::Reject, scope).await.applied, 1);
        assert_eq!(review(&test, "a").await, "Edited a [-\"one\" +\"1\"] [-\"two\" +\"2\"]");
        undo(&test).await;
        assert_eq!(review(&test, "new/b").await, pending);
        decided(&test, Decision::Accept, "new/b", 3).await;
        assert_eq!(review(&test, "new/b").await, "nothing");
        undo(&test).await;
        assert_eq!(review(&test, "new/b").await, pending);
        let told = told(test, &session).await;
        assert!(told.contains("rejected that you moved a to new/b: it is a again"), "{told}");
        assert!(!told.contains("Not as you last saw"), "{told}");
    }
}

#[tokio::test]
async fn a_file_moved_there_and_back_has_no_pending_move() {
    let test = test(&[("a", "one\n")]).await;
    play(&test, [relocate("c1", "a", "b"), relocate("c2", "b", "c")]).await;
    assert_eq!(review(&test, "c").await, "Moved c from a [moved]");
    play(&test, [relocate("c3", "c", "a")]).await;
    for name in ["a", "b", "c"] {
        assert_eq!(review(&test, name).await, "nothing");
    }
    // A file that the agent created is created where it is.
    play(&test, [write("c4", "x", "new\n"), relocate("c5", "x", "y")]).await;
    assert_eq!(review(&test, "y").await, "Created y [-\"\" +\"new\"]");
    decided(&test, Decision::Reject, "y", 1).await;
    assert!(!test.path("x").exists() && !test.path("y").exists());
    test.finish().await;
}

#[tokio::test]
async fn a_move_keeps_unsaved_text_of_the_user_unsaved() {
    let test = test(&[("a", "one\n")]).await;
    let uri = test.open_file("a");
    test.editor.type_in(&uri, range((0, 0), (0, 3)), "mine");
    play(&test, [relocate("c1", "a", "b")]).await;
    assert_eq!(review(&test, "b").await, "Moved b from a [moved]");
    assert_eq!((test.text("b"), test.disk("b")), ("mine\n".into(), "one\n".into()));
    assert!(test.editor.is_dirty(&test.uri("b")));
    decided(&test, Decision::Reject, "b", 1).await;
    assert_eq!((test.text("a"), test.disk("a")), ("mine\n".into(), "one\n".into()));
    test.finish().await;
}

#[tokio::test]
async fn every_mode_treats_deletions_and_moves_as_edits() {
    let test = test(&[("a", "one\n"), ("b", "one\n"), (".env", "KEY=1\n")]).await;
    let run = async |mode: &str, replies: Vec<Reply>| {
        test.script(replies);
        let params = json!({ "text": "Do it", "mode": mode });
        let started = test.editor.client.request("agent/runTask", params).await.unwrap();
        started["turnId"].as_str().unwrap().to_owned()
    };
    let turn = run("plan", vec![delete("c1", "a"), relocate("c2", "a", "x"), say("A plan.")]).await;
    test.editor.turn_end(&turn).await;
    assert!(test.editor.edits().is_empty());

    let turn = run("auto", vec![delete("c3", "a"), relocate("c4", "b", "c"), say("Done.")]).await;
    test.editor.turn_end(&turn).await;
    for name in ["a", "b", "c"] {
        assert_eq!(review(&test, name).await, "nothing");
    }
    assert!(!test.path("a").exists() && test.path("c").exists());
    // Done without a question, and still the user's to take back.
    undo(&test).await;
    assert_eq!(review(&test, "c").await, "Moved c from b [moved]");
    decided(&test, Decision::Reject, "c", 1).await;
    undo(&test).await;
    undo(&test).await;
    decided(&test, Decision::Reject, "c", 1).await;
    decided(&test, Decision::Reject, "a", 1).await;
    assert!(test.path("a").exists() && test.path("b").exists() && !test.path("c").exists());

    let turn = run("ask", vec![delete("c5", "a"), relocate("c6", "b", "d"), say("Done.")]).await;
    until(&test, "a", "Deleted a [deleted -\"one\"]").await;
    decided(&test, Decision::Reject, "a", 1).await;
    until(&test, "d", "Moved d from b [moved]").await;
    decided(&test, Decision::Accept, "d", 1).await;
    test.editor.turn_end(&turn).await;
    assert!(test.path("a").exists() && test.path("d").exists());

    test.editor.will_answer(allow());
    test.editor.will_answer(allow());
    let turn =
        run("auto", vec![relocate("c7", "a", ".envrc"), delete("c8", ".env"), say("Done.")]).await;
    test.editor.turn_end(&turn).await;
    let asked: Vec<_> = test.editor.asked().iter().map(ApproveParams::subject).collect();
    assert_eq!(asked, ["Move a to .envrc", "Delete .env"]);
    test.finish().await;
}

#[tokio::test]
async fn rejecting_a_created_file_removes_the_folders_created_for_it() {
    let test = test(&[("keep/x", "")]).await;
    play(&test, [write("c1", "keep/new/deep/a", "a\n"), write("c2", "keep/new/b", "b\n")]).await;
    decided(&test, Decision::Reject, "keep/new/deep/a", 1).await;
    assert!(test.path("keep/new/b").exists() && !test.path("keep/new/deep").exists());
    decided(&test, Decision::Reject, "keep/new/b", 1).await;
    assert!(!test.path("keep/new").exists() && test.path("keep/x").exists());
    undo(&test).await;
    undo(&test).await;
    assert_eq!(test.disk("keep/new/deep/a"), "a\n");
    // What somebody else put there stays.
    fs::write(test.path("keep/new/deep/theirs"), "").unwrap();
    decided(&test, Decision::Reject, "keep/new/deep/a", 1).await;
    assert!(test.path("keep/new/deep/theirs").exists());
    test.finish().await;
}

#[tokio::test]
async fn a_deletion_or_move_that_fails_changes_nothing() {
    for (bytes, words) in [
        (&b"caf\xe9\n"[..], "cannot be used as text"),
        (&b"\xff\xfea\0\n"[..], "UTF-16"),
        (&b"a\0b"[..], "cannot be used as text"),
    ] {
        for open in [true, false] {
            let test = test(&[("a", "x")]).await;
            if open {
                // An editor shows it all the same, in an encoding that it guessed.
                test.open_file("a");
            }
            fs::write(test.path("a"), bytes).unwrap();
            // What an editor shows as text it can change and save, but nobody else could restore it.
            let calls = match open {
                true => vec![delete("c3", "a")],
                false => vec![
                    edit("c1", "a", "a", "b"),
                    write("c2", "a", "b"),
                    delete("c3", "a"),
                    relocate("c4", "a", "b"),
                ],
            };
            let ids: &[&str] = if open { &["c3"] } else { &["c1", "c2", "c3", "c4"] };
            play(&test, calls).await;
            assert_eq!(test.editor.edits(), [], "{bytes:?}, open: {open}");
            assert_eq!(fs::read(test.path("a")).unwrap(), bytes);
            let requests = test.finish().await;
            for id in ids {
                let told = result(requests.last().unwrap(), id);
                assert!(told.contains(words), "{told}");
            }
        }
    }

    let test = test(&[("a", "one\n")]).await;
    fs::set_permissions(test.path("a"), fs::Permissions::from_mode(0o444)).unwrap();
    play(&test, [edit("c1", "a", "one", "1"), delete("c2", "a"), relocate("c3", "a", "b")]).await;
    assert_eq!(test.disk("a"), "one\n");
    let requests = test.finish().await;
    for id in ["c1", "c2", "c3"] {
        assert_eq!(
            result(requests.last().unwrap(), id),
            "The editor did not change `a`: the file is read-only. Nothing was changed."
        );
    }
}

#[tokio::test]
async fn a_symbolic_link_and_its_target_have_one_review() {
    for open in ["link", "real/a", ""] {
        let test = test(&[("real/a", "one\ntwo\n")]).await;
        std::os::unix::fs::symlink("real/a", test.path("link")).unwrap();
        let name = if open == "link" { "link" } else { "real/a" };
        if !open.is_empty() {
            test.open_file(open);
        }
        play(&test, [edit("c1", "link", "one", "1"), edit("c2", "real/a", "two", "2")]).await;
        assert_eq!(review(&test, name).await, "Edited real/a [-\"one\" +\"1\"] [-\"two\" +\"2\"]");
        assert_eq!(test.disk("real/a"), "1\n2\n");
        assert!(test.path("link").is_symlink());
        if open == "link" {
            // The tab goes; a decision by its name is still one about the file.
            test.editor.close(&test.uri("link"));
        }
        decided(&test, Decision::Reject, name, 2).await;
        assert_eq!(test.disk("real/a"), "one\ntwo\n");
        test.finish().await;
    }
}

/// Two edits pending in an open file, in a folder.
async fn pending() -> (TestDaemon, String) {
    let test = test(&[("src/a", "one\ntwo\nthree\n")]).await;
    test.open_file("src/a");
    let session =
        play(&test, [edit("c1", "src/a", "one", "1"), edit("c2", "src/a", "three", "3")]).await;
    (test, session)
}

#[tokio::test]
async fn the_review_follows_a_rename_by_the_user() {
    let hunks = "[-\"one\" +\"1\"] [-\"three\" +\"3\"]";
    for (from, to, name, open) in [
        ("src/a", "src/b", "src/b", true),
        ("src/a", "src/b", "src/b", false),
        ("src", "lib", "lib/a", true),
        ("src", "lib", "lib/a", false),
    ] {
        let (test, session) = pending().await;
        if !open {
            test.editor.close(&test.uri("src/a"));
        }
        test.editor.rename(&test.path(from), &test.path(to));
        assert_eq!(review(&test, name).await, format!("Edited {name} {hunks}"));
        assert_eq!(review(&test, "src/a").await, "nothing");
        decided(&test, Decision::Reject, name, 2).await;
        if open {
            assert_eq!(test.text(name), "one\ntwo\nthree\n");
        }
        undo(&test).await;
        assert_eq!(review(&test, name).await, format!("Edited {name} {hunks}"));
        let told = told(test, &session).await;
        assert!(told.contains(&format!("- src/a: it is {name} now")), "{told}");
    }
}

#[tokio::test]
async fn the_review_of_a_file_goes_and_returns_with_the_file() {
    for what in ["src/a", "src"] {
        let (test, session) = pending().await;
        test.editor.delete(&test.path(what));
        until(&test, "src/a", "nothing").await;
        let all = decide(&test, Decision::Reject, Scope::All).await;
        assert_eq!(all, DecideResult::default(), "there is nothing to decide");
        assert!(!test.path("src/a").exists(), "it was recreated silently");
        let end = test.play_on(&session, [edit("c3", "src/a", "two", "2"), say("Done.")]).await;
        assert_eq!(end.reason, EndReason::Completed);
        assert!(!test.path("src/a").exists());
        let requests = test.finish().await;
        let told = newest(&requests[requests.len() - 2]);
        assert!(told.contains("- src/a: it is gone"), "{told}");
        let failed = result(requests.last().unwrap(), "c3");
        assert!(failed.contains("`src/a` does not exist"), "{failed}");
    }
    // Whoever brings the file back brings back what was undecided in it.
    let (test, _) = pending().await;
    let text = test.disk("src/a");
    test.editor.delete(&test.path("src/a"));
    until(&test, "src/a", "nothing").await;
    test.editor.changed_on_disk(&test.path("src/a"), &text);
    until(&test, "src/a", "Edited src/a [-\"one\" +\"1\"] [-\"three\" +\"3\"]").await;
    test.finish().await;
}

#[tokio::test]
async fn a_deletion_that_the_user_undoes_in_the_editor_is_not_accepted() {
    let test = test(&[("a", "one\n")]).await;
    play(&test, [edit("c1", "a", "one", "1"), delete("c2", "a")]).await;
    assert_eq!(review(&test, "a").await, "Deleted a [deleted -\"one\"]");
    test.editor.changed_on_disk(&test.path("a"), "1\n");
    until(&test, "a", "Edited a [-\"one\" +\"1\"]").await;
    test.finish().await;
}

#[tokio::test]
async fn a_file_changed_by_others_is_reconciled_by_its_text() {
    type Step = fn(&TestDaemon);
    let cases: [(&str, Step, &str, usize); 5] = [
        (
            "reverted",
            |test| {
                fs::write(test.path("src/a"), "one\ntwo\nthree\n").unwrap();
                test.editor.revert(&test.uri("src/a"));
            },
            "nothing",
            1,
        ),
        (
            "changed on disk while open",
            |test| test.editor.changed_on_disk(&test.path("src/a"), "1\ntwo and more\n3\n"),
            "Edited src/a [-\"one\" +\"1\"] [-\"three\" +\"3\"]",
            1,
        ),
        (
            "changed on disk while closed",
            |test| {
                test.editor.close(&test.uri("src/a"));
                test.editor.changed_on_disk(&test.path("src/a"), "one\ntwo\n3\n");
            },
            "Edited src/a [-\"three\" +\"3\"]",
            1,
        ),
        (
            "formatted on save",
            |test| {
                let uri = test.uri("src/a");
                test.editor.type_in(&uri, range((1, 0), (1, 0)), "  ");
                test.editor.save(&uri);
            },
            "Edited src/a [-\"one\" +\"1\"] [-\"three\" +\"3\"]",
            1,
        ),
        (
            "closed with unsaved text",
            |test| {
                let uri = test.uri("src/a");
                test.editor.type_in(&uri, range((0, 0), (2, 0)), "");
                test.editor.close(&uri);
            },
            "Edited src/a [-\"one\" +\"1\"] [-\"three\" +\"3\"]",
            0,
        ),
    ];
    for (what, step, expected, times) in cases {
        let (test, session) = pending().await;
        step(&test);
        until(&test, "src/a", expected).await;
        let told = told(test, &session).await;
        assert_eq!(told.matches("- src/a\n").count(), times, "{what}: {told}");
    }
}

#[tokio::test]
async fn the_next_request_names_files_that_others_changed() {
    let test = test(&[("a", "a\n"), ("b", "b\n"), ("c", "c\n")]).await;
    let uri = test.open_file("a");
    let read = |id: &str, path: &str| call(id, "read_file", json!({ "path": path }));
    let session = play(&test, [read("c1", "a"), read("c2", "b"), edit("c3", "b", "b", "B")]).await;
    // Its own edit, and what it has never seen, is no news.
    test.editor.changed_on_disk(&test.path("c"), "else\n");
    // What is back as it was is none either.
    test.editor.type_in(&uri, range((0, 0), (0, 1)), "x");
    test.editor.type_in(&uri, range((0, 0), (0, 1)), "a");
    test.play_on(&session, [say("Yes.")]).await;
    test.editor.type_in(&uri, range((0, 0), (0, 1)), "x");
    decided(&test, Decision::Accept, "b", 1).await;
    test.play_on(&session, [read("c4", "c"), say("Yes.")]).await;
    test.play_on(&session, [say("Yes.")]).await;
    // In the middle of a turn: the call's own result comes with it.
    let typed = test.uri("a");
    test.script([bash("c5", "true")]);
    test.editor.will_answer(cairn_tests::editor_double::Approval::Silence);
    let turn = test.go_on(&session).await;
    test.tool("c5", ToolState::AwaitingApproval).await;
    test.editor.type_in(&typed, range((0, 0), (0, 1)), "y");
    test.script([say("Done.")]);
    let asked = test.editor.asked().pop().unwrap();
    let deny = json!({ "approvalId": asked.approval_id, "decision": "deny" });
    test.editor.client.request("agent/answer", deny).await.unwrap();
    test.editor.turn_end(&turn.turn_id).await;
    let requests = test.finish().await;
    assert_append_only(&requests);
    let news: Vec<String> = requests
        .iter()
        .enumerate()
        .filter(|(_, request)| newest(request).contains("Not as you last saw"))
        .map(|(at, request)| {
            let listed = newest(request);
            let files: Vec<&str> = listed.lines().filter(|it| it.starts_with("- ")).collect();
            format!("{at}: {}", files.join(" "))
        })
        .collect();
    assert_eq!(news, ["5: - a", "9: - a"]);
}

#[tokio::test]
async fn a_file_that_is_created_again_has_the_permissions_of_the_deleted_one() {
    let names = ["rejected", "rewritten", "undone", "restarted"];
    let files = names.map(|name| (name, "echo 1\n"));
    let test = test(&files).await;
    let mode = |name: &str, test: &TestDaemon| {
        fs::metadata(test.path(name)).unwrap().permissions().mode() & 0o777
    };
    for (name, mode) in names.iter().zip([0o755, 0o700, 0o600, 0o755]) {
        fs::set_permissions(test.path(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    // Documents that the agent need not read from the disk.
    test.open_file("rejected");
    play(&test, names.iter().map(|name| delete(name, name))).await;

    decided(&test, Decision::Reject, "rejected", 1).await;
    assert_eq!(mode("rejected", &test), 0o755);
    play(&test, [write("w", "rewritten", "echo 2\n")]).await;
    assert_eq!(mode("rewritten", &test), 0o700);
    decided(&test, Decision::Accept, "undone", 1).await;
    play(&test, [write("u", "undone", "echo 3\n")]).await;
    assert_eq!(mode("undone", &test), 0o600);

    let test = test.restart().await;
    decided(&test, Decision::Reject, "restarted", 1).await;
    assert_eq!(mode("restarted", &test), 0o755);
    test.finish().await;
}

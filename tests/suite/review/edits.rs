//! Edits of files that the user has open, has unsaved or types in: no text is lost, and the review shows
//! the difference between baseline and current text.

use std::fs;

use cairn_protocol::{
    ApprovalDecision, Decide, DecideParams, Decision, EndReason, FileKind, RefusedEdit, Scope,
    ToolState, UndoDecision,
};
use cairn_tests::{
    editor_double::{ApplyFault, Approval, TurnEnd, range},
    model_server::{Recorded, Reply, Response, Wire, assert_append_only},
};
use serde_json::json;

use crate::fixtures::*;

async fn test(files: &[(&str, &str)]) -> TestDaemon {
    TestDaemon::open(Wire::Anthropic, files).await
}

/// Plays one answer that edits; how the turn ended, and what the model was told of call `c1`.
async fn told(test: TestDaemon, reply: Reply) -> String {
    let end = test.play([reply, say("Done.")]).await;
    assert_eq!(end.reason, EndReason::Completed);
    result(test.finish().await.last().unwrap(), "c1")
}

async fn play(test: &TestDaemon, reply: Reply) -> TurnEnd {
    let end = test.play([reply, say("Done.")]).await;
    assert_eq!(end.reason, EndReason::Completed, "{}", end.summary);
    end
}

/// The pending hunks as a diff without context.
async fn diff(test: &TestDaemon, name: &str) -> String {
    let mut out = String::new();
    for hunk in test.hunks(name).await {
        let (start, end) = (hunk.range.start.line, hunk.range.end.line);
        out += &format!("{start}-{end}:");
        for (mark, count, text) in
            [('-', hunk.removed_lines, &hunk.old_text), ('+', hunk.added_lines, &hunk.new_text)]
        {
            let lines: Vec<&str> = if count == 0 { vec![] } else { text.split('\n').collect() };
            assert_eq!(lines.len(), count as usize, "{hunk:?}");
            for line in lines {
                out += &format!(" {mark}{}", line.escape_debug());
            }
        }
        out += if hunk.mixed { " mixed\n" } else { "\n" };
    }
    // The ranges are of the text that the user sees.
    out
}

/// Other systems write `é` as two characters; models write one.
#[tokio::test]
async fn a_file_with_decomposed_accents_gets_no_twin() {
    let test = test(&[("cafe\u{301}.md", "hello\n")]).await;
    let composed = "caf\u{e9}.md";
    let looking = Reply::text("")
        .call("c1", "read_file", json!({ "path": composed }))
        .call("c2", "glob", json!({ "pattern": "*caf\u{e9}*" }))
        .call("c3", "grep", json!({ "pattern": "hello", "glob": composed }));
    let writing = call("c4", "write_file", json!({ "path": composed, "content": "new\n" }));
    test.play([looking, writing, say("Done.")]).await;
    assert_eq!(fs::read_to_string(test.path("cafe\u{301}.md")).unwrap(), "new\n");
    let names: Vec<_> =
        fs::read_dir(test.path("")).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(names, ["cafe\u{301}.md"]);
    let requests = test.finish().await;
    let last = requests.last().unwrap();
    assert_eq!(result(last, "c1"), "1\thello");
    for call in ["c2", "c3", "c4"] {
        assert!(result(last, call).contains("cafe\u{301}.md"), "{}", result(last, call));
    }
}

#[tokio::test]
async fn an_open_clean_file_changes_in_the_buffer_and_is_saved_at_the_end() {
    let test = test(&[("a", "one\ntwo\nthree\n")]).await;
    let uri = test.open_file("a");
    play(&test, edit("c1", "a", "two", "2")).await;
    assert_eq!(test.text("a"), "one\n2\nthree\n");
    assert_eq!(diff(&test, "a").await, "1-2: -two +2\n");
    let review = test.review("a").await.unwrap();
    assert_eq!((review.path.as_str(), review.kind), ("a", FileKind::Edited));
    assert_eq!(review.version, Some(test.editor.version(&uri)));
    // The save is asked for when the turn ends; the answer to a request comes after it.
    test.hunks("a").await;
    assert!(!test.editor.is_dirty(&uri));
    assert_eq!(test.disk("a"), "one\n2\nthree\n");
    test.finish().await;
}

#[tokio::test]
async fn unsaved_text_is_read_and_edited_and_stays_unsaved() {
    let test = test(&[("a", "one\ntwo\n")]).await;
    let uri = test.open_file("a");
    test.editor.type_in(&uri, range((0, 0), (0, 3)), "mine");
    test.editor.will_answer(allow());
    let end = test
        .play([
            call("c1", "read_file", json!({ "path": "a" })),
            edit("c2", "a", "two", "2"),
            bash("c3", "cat a"),
            say("Done."),
        ])
        .await;
    assert_eq!(end.reason, EndReason::Completed);
    assert_eq!(test.text("a"), "mine\n2\n");
    assert_eq!(diff(&test, "a").await, "1-2: -two +2\n");
    assert!(test.editor.is_dirty(&uri));
    assert_eq!(test.disk("a"), "one\ntwo\n");
    let requests = test.finish().await;
    let read = result(&requests[1], "c1");
    assert!(read.starts_with("1\tmine\n2\ttwo") && read.contains("unsaved"), "{read}");
    let ran = result(&requests[3], "c3");
    assert!(
        ran.starts_with("[cairn] Unsaved in the editor, so the command saw older text: a\none\n"),
        "{ran}"
    );
}

#[tokio::test]
async fn a_closed_file_is_changed_without_a_tab() {
    let test = test(&[("src/a", "one\n")]).await;
    play(&test, edit("c1", "src/a", "one", "1")).await;
    assert_eq!(test.disk("src/a"), "1\n");
    assert_eq!(diff(&test, "src/a").await, "0-1: -one +1\n");
    test.finish().await;
}

#[tokio::test]
async fn a_new_file_is_a_proposal() {
    let test = test(&[]).await;
    let new = json!({ "path": "src/new", "content": "one\ntwo\n" });
    play(&test, call("c1", "write_file", new)).await;
    assert_eq!(test.disk("src/new"), "one\ntwo\n");
    assert_eq!(test.review("src/new").await.unwrap().kind, FileKind::Created);
    assert_eq!(diff(&test, "src/new").await, "0-2: +one +two\n");
    test.finish().await;
}

#[tokio::test]
async fn two_edits_in_one_answer_both_land() {
    let test = test(&[("a", "one\ntwo\nthree\nfour\n")]).await;
    test.open_file("a");
    let more = json!({ "path": "a", "old_text": "four", "new_text": "4\n5" });
    play(&test, edit("c1", "a", "one\n", "").call("c2", "edit_file", more)).await;
    assert_eq!(test.text("a"), "two\nthree\n4\n5\n");
    assert_eq!(diff(&test, "a").await, "0-0: -one\n2-4: -four +4 +5\n");
    // One edit, one undo step.
    assert_eq!(test.editor.edits().len(), 2);
    test.finish().await;
}

#[tokio::test]
async fn line_endings_and_byte_order_marks_are_kept() {
    for (before, after) in [
        ("one\r\ntwo\r\nthree\r\n", "one\r\n2\r\nmore\r\nthree\r\n"),
        ("\u{feff}one\ntwo\nthree", "\u{feff}one\n2\nmore\nthree"),
        ("😀one\ntwo\nthree\n", "😀one\n2\nmore\nthree\n"),
    ] {
        for open in [true, false] {
            let test = test(&[("a", before)]).await;
            if open {
                test.open_file("a");
            }
            play(&test, edit("c1", "a", "two\n", "2\nmore\n")).await;
            assert_eq!(test.text("a"), after.trim_start_matches('\u{feff}'));
            test.hunks("a").await;
            assert_eq!(test.disk("a"), after);
            test.finish().await;
        }
    }
}

/// The model has read the file; then the user types; then the edit comes.
async fn typed_between(typed: &str) -> (String, Recorded) {
    let test = test(&[("a", "one\ntwo\n")]).await;
    let uri = test.open_file("a");
    test.script([call("c1", "read_file", json!({ "path": "a" }))]);
    let (held, mut gate) = Response::reply(edit("c2", "a", "two", "2")).held_at(0);
    test.model.push(held);
    test.script([say("Done.")]);
    let turn = test.editor.run_task("Change it").await;
    gate.reached().await;
    test.editor.type_in(&uri, range((0, 0), (1, 3)), typed);
    // Heard before the model goes on.
    test.hunks("a").await;
    gate.open();
    let end = test.editor.turn_end(&turn.turn_id).await;
    assert_eq!(end.reason, EndReason::Completed);
    let text = test.text("a");
    (text, test.finish().await.remove(2))
}

#[tokio::test]
async fn text_typed_between_read_and_edit_is_kept() {
    let (text, request) = typed_between("zero\none\ntwo").await;
    assert_eq!(text, "zero\none\n2\n");
    assert_eq!(result(&request, "c2"), "Edited a (+1 −1).\n1\tzero\n2\tone\n3\t2");
    let (text, request) = typed_between("one\nthree").await;
    assert_eq!(text, "one\nthree\n");
    let told = result(&request, "c2");
    assert!(told.contains("`old_text` is not in the file"), "{told}");
}

#[tokio::test]
async fn text_typed_while_an_edit_is_in_flight_is_kept() {
    let test = test(&[("a", "one\ntwo\n")]).await;
    test.open_file("a");
    test.editor.will_fail(ApplyFault::Type("zero\n"));
    play(&test, edit("c1", "a", "two", "2")).await;
    assert_eq!(test.text("a"), "zero\none\n2\n");
    assert_eq!(diff(&test, "a").await, "2-3: -two +2\n");
    // What the user typed is theirs to save.
    assert!(test.editor.is_dirty(&test.uri("a")));
    assert_eq!(test.disk("a"), "one\ntwo\n");
    assert_eq!(test.editor.edits().len(), 2);
    test.finish().await;
}

/// Each of the first six attempts meets a newer text.
#[tokio::test]
async fn an_edit_lands_in_the_first_pause_of_a_user_who_types_steadily() {
    let test = test(&[("a", "one\ntwo\n")]).await;
    test.open_file("a");
    for _ in 0..6 {
        test.editor.will_fail(ApplyFault::Type("x"));
    }
    play(&test, edit("c1", "a", "two", "2")).await;
    assert_eq!(test.text("a"), "xxxxxxone\n2\n");
    assert_eq!(diff(&test, "a").await, "1-2: -two +2\n");
    test.finish().await;
}

#[tokio::test]
async fn a_refusal_of_the_editor_is_reported_to_the_model() {
    for (reason, words) in [
        (RefusedEdit::ReadOnly, "the file is read-only"),
        (RefusedEdit::Notebook, "it is open as a notebook with unsaved cells: save it first"),
        (RefusedEdit::Failed, "scripted"),
    ] {
        let test = test(&[("a", "one\n")]).await;
        test.open_file("a");
        test.editor.will_fail(ApplyFault::Refuse(reason));
        assert_eq!(
            told(test, edit("c1", "a", "one", "1")).await,
            format!("The editor did not change `a`: {words}. Nothing was changed.")
        );
    }
}

/// An editor leaves an open document to the daemon that its own save would change elsewhere.
#[tokio::test]
async fn an_edit_on_disk_of_an_open_document_is_shown_to_an_editor_that_missed_it() {
    let test = test(&[("a", "one\ntwo\n")]).await;
    test.open_file("a");
    test.editor.will_fail(ApplyFault::Refuse(RefusedEdit::Closed));
    let path = test.path("a");
    let modified = || fs::metadata(&path).unwrap().modified().unwrap();
    let missing = async {
        while test.disk("a") != "1\ntwo\n" {
            tokio::task::yield_now().await;
        }
        let first = modified();
        while modified() == first {
            tokio::task::yield_now().await;
        }
        test.editor.changed_on_disk(&path, "1\ntwo\n");
    };
    let (end, ()) = tokio::join!(test.play([edit("c1", "a", "one", "1"), say("Done.")]), missing);
    assert_eq!(end.reason, EndReason::Completed);
    assert_eq!(diff(&test, "a").await, "0-1: -one +1\n");
    assert!(!test.editor.is_dirty(&test.uri("a")));
    test.finish().await;
}

#[tokio::test]
async fn an_edit_in_the_text_counts_as_applied_even_if_the_editor_reports_a_failure() {
    let test = test(&[("a", "one\n")]).await;
    test.open_file("a");
    test.editor.will_fail(ApplyFault::DoneButFailed);
    assert_eq!(
        test.play([edit("c1", "a", "one", "1"), say("Done.")]).await.reason,
        EndReason::Completed
    );
    assert_eq!(diff(&test, "a").await, "0-1: -one +1\n");
    let requests = test.finish().await;
    assert!(!result(&requests[1], "c1").contains("not change"), "{}", result(&requests[1], "c1"));
}

#[tokio::test]
async fn an_edit_applied_after_its_timeout_is_still_the_agents() {
    let test = test(&[("a", "one\n")]).await;
    test.open_file("a");
    test.editor.will_fail(ApplyFault::FailedButDone);
    assert_eq!(
        test.play([edit("c1", "a", "one", "1"), say("Done.")]).await.reason,
        EndReason::Completed
    );
    assert_eq!(test.text("a"), "1\n");
    // Taken for the user's, it would be accepted without a word.
    assert_eq!(diff(&test, "a").await, "0-1: -one +1\n");
    test.finish().await;
}

#[tokio::test]
async fn a_change_of_a_closed_file_by_a_command_is_detected() {
    let test = test(&[("a", "one\ntwo\nthree\n")]).await;
    let uri = test.open_file("a");
    let end = play(&test, edit("c1", "a", "one", "1")).await;
    test.editor.close(&uri);
    assert_eq!(diff(&test, "a").await, "0-1: -one +1\n");
    test.editor.will_answer(allow());
    let back = bash("c2", "printf 'one\\ntwo\\nthree\\n' > a");
    test.play_on(&end.session_id, [back, say("Done.")]).await;
    let settled = async { while !test.hunks("a").await.is_empty() {} };
    let limit = std::time::Duration::from_secs(10);
    tokio::time::timeout(limit, settled).await.expect("the hunk of a text that is gone is gone");
    test.finish().await;
}

#[tokio::test]
async fn an_edit_missing_from_the_text_counts_as_failed_even_if_the_editor_reports_success() {
    let test = test(&[("a", "one\n")]).await;
    test.open_file("a");
    test.editor.will_fail(ApplyFault::Lie);
    test.script([edit("c1", "a", "one", "1"), say("Done.")]);
    let turn = test.editor.run_task("Change it").await;
    test.edits(1).await;
    // The time in which the text must show it, without waiting.
    tokio::time::pause();
    tokio::time::advance(std::time::Duration::from_secs(6)).await;
    tokio::time::resume();
    test.editor.turn_end(&turn.turn_id).await;
    assert_eq!(test.text("a"), "one\n");
    assert!(test.review("a").await.is_none());
    let told = result(&test.finish().await[1], "c1");
    assert!(told.contains("the text does not show it"), "{told}");

    // Of a file that is not open the disk is asked, at once.
    let test = self::test(&[("a", "one\n")]).await;
    test.editor.will_fail(ApplyFault::Lie);
    let told = self::told(test, edit("c1", "a", "one", "1")).await;
    assert!(told.contains("the text does not show it"), "{told}");
}

#[tokio::test]
async fn a_protected_file_needs_an_approval_before_its_text_changes() {
    let test = test(&[(".env", "KEY=1\n")]).await;
    let uri = test.open_file(".env");
    test.script([edit("c1", ".env", "1", "2"), edit("c2", ".env", "1", "3"), say("Done.")]);
    test.editor.will_answer(Approval::Silence);
    let turn = test.editor.run_task("Change it").await;
    test.tool("c1", ToolState::AwaitingApproval).await;
    assert_eq!(test.text(".env"), "KEY=1\n");
    assert!(test.editor.edits().is_empty());
    let asked = test.editor.asked().remove(0);
    assert_eq!(
        (asked.title.english(), asked.subject()),
        ("Change a protected file".to_owned(), "Change .env".to_owned())
    );
    let deny = json!({ "approvalId": asked.approval_id, "decision": "deny", "feedback": "Never." });
    test.editor.will_answer(answer(ApprovalDecision::AllowOnce, None));
    test.editor.client.request("agent/answer", deny).await.unwrap();
    assert_eq!(test.editor.turn_end(&turn.turn_id).await.reason, EndReason::Completed);
    assert_eq!(test.editor.text(&uri), "KEY=3\n");
    assert_eq!(test.editor.edits().len(), 1);
    let requests = test.finish().await;
    assert!(result(&requests[1], "c1").contains("They said: Never."));
}

#[tokio::test]
async fn an_edit_outside_the_workspace_is_refused() {
    let outside = tempfile::tempdir().unwrap();
    let target = outside.path().join("a");
    fs::write(&target, "one\n").unwrap();
    let target = target.to_str().unwrap();
    let test = self::test(&[("in", "x")]).await;
    std::os::unix::fs::symlink(target, test.path("link")).unwrap();
    let end = test
        .play([
            edit("c1", target, "one", "1"),
            edit("c2", "link", "one", "1"),
            edit("c3", "../in", "x", "1"),
            say("Done."),
        ])
        .await;
    assert_eq!(end.reason, EndReason::Completed);
    assert!(test.editor.edits().is_empty());
    let requests = test.finish().await;
    for id in ["c1", "c2", "c3"] {
        let told = result(&requests[3], id);
        assert!(told.contains("outside the workspace"), "{told}");
    }
    assert_eq!(fs::read_to_string(target).unwrap(), "one\n");
}

#[tokio::test]
async fn plan_mode_changes_no_file_and_auto_mode_accepts_edits() {
    let test = test(&[("a", "one\ntwo\nthree\n")]).await;
    test.open_file("a");
    let run = async |mode: &str, replies: [Reply; 2]| {
        test.script(replies);
        let params = json!({ "text": "Do it", "mode": mode });
        let started = test.editor.client.request("agent/runTask", params).await.unwrap();
        let end = test.editor.turn_end(started["turnId"].as_str().unwrap()).await;
        assert_eq!(end.reason, EndReason::Completed);
    };
    run("plan", [edit("c1", "a", "one", "1"), say("That is my plan.")]).await;
    assert_eq!(test.text("a"), "one\ntwo\nthree\n");
    run("review", [edit("c2", "a", "one", "1"), say("Done.")]).await;
    test.editor.will_accept_edits();
    run("auto", [edit("c3", "a", "three", "3"), say("Done.")]).await;
    assert_eq!(test.text("a"), "1\ntwo\n3\n");
    // What the user has not decided yet stays his to decide.
    assert_eq!(diff(&test, "a").await, "0-1: -one +1\n");
    test.finish().await;
}

/// The model learns the mode from a word and not from a refusal, once, and over a restart.
#[tokio::test]
async fn the_model_is_notified_when_plan_mode_begins_and_ends() {
    let mut test = test(&[("a", "one\n")]).await;
    let mut session_id: Option<String> = None;
    for (mode, expected) in [
        ("review", None),
        ("plan", Some("no file may be changed")),
        ("plan", None),
        ("restart", None),
        ("plan", None),
        ("auto", Some("you may edit files")),
        ("review", None),
    ] {
        if mode == "restart" {
            test = test.restart().await;
            // Answered when what was left is taken up.
            assert!(test.hunks("a").await.is_empty());
            continue;
        }
        test.script([say("I see.")]);
        let mut params = json!({ "text": "Do it", "mode": mode });
        if let Some(id) = &session_id {
            params["sessionId"] = id.as_str().into();
        }
        let started = test.editor.client.request("agent/runTask", params).await.unwrap();
        test.editor.turn_end(started["turnId"].as_str().unwrap()).await;
        session_id = started["sessionId"].as_str().map(str::to_owned);
        let requests = test.model.requests();
        let told = newest(requests.last().unwrap());
        match expected {
            Some(words) => assert!(told.contains(words), "{mode}: {told}"),
            None => assert!(!told.contains("[cairn] notice:"), "{mode}: {told}"),
        }
    }
    assert_append_only(&test.finish().await);
}

/// To some editors every text ends with a line break. What comes is the agent's all the same, at
/// once, and can be taken back.
#[tokio::test]
async fn a_final_newline_added_by_an_editor_is_accepted() {
    let test = test(&[("a", "one\ntwo\nthree")]).await;
    let uri = test.open_file("a");
    test.editor.will_fail(ApplyFault::EndLine);
    let end = play(&test, edit("c1", "a", "three", "3")).await;
    assert_eq!(end.reason, EndReason::Completed);
    assert_eq!(test.text("a"), "one\ntwo\n3\n");
    assert_eq!(diff(&test, "a").await, "2-3: -three +3\n");
    let reject = DecideParams {
        decision: Decision::Reject,
        scope: Scope::File { uri },
        rev: None,
        feedback: None,
    };
    test.editor.will_fail(ApplyFault::EndLine);
    let decided = test.editor.request::<Decide>(reject).await.unwrap();
    assert_eq!((decided.applied, decided.failed), (1, vec![]));
    assert_eq!(test.text("a"), "one\ntwo\nthree\n");
    assert_eq!(diff(&test, "a").await, "");
    // What was decided can be taken back as ever.
    let taken_back = test.editor.request::<UndoDecision>(Default::default()).await.unwrap();
    assert!(taken_back.undone, "{taken_back:?}");
    assert_eq!(diff(&test, "a").await, "2-3: -three +3\n");
    let told = result(test.finish().await.last().unwrap(), "c1");
    assert!(told.starts_with("Edited a"), "{told}");
}

/// An editor reports the undo of an edit in several pieces as several changes of one notification.
#[tokio::test]
async fn redo_of_an_edit_in_several_changes_leaves_it_pending() {
    let test = test(&[("a", "one\ntwo\nthree\nfour\n")]).await;
    let uri = test.open_file("a");
    let second = json!({ "path": "a", "old_text": "three", "new_text": "f(three)" });
    play(&test, edit("c1", "a", "two", "f(two)").call("c2", "edit_file", second)).await;
    let pending = "1-2: -two +f(two)\n2-3: -three +f(three)\n";
    assert_eq!(diff(&test, "a").await, pending);
    let undo = |line: u32, end: u32| {
        let pieces = [(range((line, 0), (line, 2)), ""), (range((line, end), (line, end + 1)), "")];
        test.editor.change_at_once(&uri, &pieces);
    };
    let redo = |line: u32, end: u32| {
        let pieces = [(range((line, 0), (line, 0)), "f("), (range((line, end), (line, end)), ")")];
        test.editor.change_at_once(&uri, &pieces);
    };
    undo(2, 7);
    assert_eq!(diff(&test, "a").await, "1-2: -two +f(two)\n");
    undo(1, 5);
    assert_eq!(diff(&test, "a").await, "");
    redo(1, 3);
    assert_eq!(diff(&test, "a").await, "1-2: -two +f(two)\n");
    redo(2, 5);
    assert_eq!(diff(&test, "a").await, pending);
    test.finish().await;
}

#[tokio::test]
async fn a_changed_word_is_named_within_its_line_and_lines_that_do_not_pair_up_are_not() {
    let test = test(&[("a", "// 😀\nsay(\"😀\", max_length)\nsame\nold\n")]).await;
    test.open_file("a");
    let (first, second) = (("max_length", "limit"), ("old\n", "new\nand more\n"));
    let call = |id: &str, (old, new)| edit(id, "a", old, new);
    let end = test.play([call("c1", first), call("c2", second), say("Done.")]).await;
    assert_eq!(end.reason, EndReason::Completed, "{}", end.summary);
    let shown: Vec<_> = test.hunks("a").await.into_iter().map(|hunk| hunk.inline).collect();
    let [Some(words), None] = &shown[..] else { panic!("{shown:?}") };
    let [word] = &words[..] else { panic!("{words:?}") };
    assert_eq!((word.range, word.removed.as_str()), (range((1, 10), (1, 15)), "max_length"));
}

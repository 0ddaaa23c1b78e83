//! State folders of earlier versions with proposed edits: sessions and reviews of every format can be
//! opened and continued.

use std::fs;

use cairn_protocol::{
    ApprovalDecision, Checkpoints, Compact, Decide, DecideParams, Decision, EndReason,
    ExportFormat, ExportSession, ExportSessionParams, ExportSessionResult, FileKind, ForkSession,
    ForkSessionParams, Hunk, ListRules, ListSessions, ListSessionsParams, OpenSession,
    OpenSessionParams, OpenSessionResult, PlanHistory, QueueAdd, QueueAddParams, RestoreCheckpoint,
    RestoreCheckpointParams, ReviewMode, RunTask, RunTaskParams, Scope, SessionParams,
    SessionSnapshot, State, StateResult, SubagentPhase, ToolState, TranscriptEntry, TurnPhase,
    UndoDecision,
};
use cairn_tests::{
    editor_double::{ApplyFault, EditorDouble},
    model_server::Wire,
};
use serde_json::json;

use super::state_folder;
use crate::fixtures::*;

const SCENE: &str = "edits";

const TEXT: &str = "one\ntwo\nthree\nfour\nfive\nsix\n";
const FIRST_TASK: &str = "First: change everything";
const LAST_TASK: &str = "Last: never ends";

/// The session that made the pending edits, and its first turn.
async fn first_session(editor: &EditorDouble) -> SessionSnapshot {
    let list = editor.request::<ListSessions>(ListSessionsParams::default()).await.unwrap();
    let first = list.sessions.iter().rev().find(|it| it.task == FIRST_TASK).unwrap();
    let params = OpenSessionParams { session_id: first.session_id.clone(), ..Default::default() };
    match editor.request::<OpenSession>(params).await.unwrap() {
        OpenSessionResult::Opened { session } => *session,
        OpenSessionResult::Earlier { .. } => panic!("the session was asked for"),
    }
}

async fn state(test: &TestDaemon) -> StateResult {
    test.editor.request::<State>(Default::default()).await.unwrap()
}

async fn decide(test: &TestDaemon, decision: Decision, scope: Scope) -> u32 {
    let params = DecideParams { decision, scope, rev: None, feedback: None };
    test.editor.request::<Decide>(params).await.unwrap().applied
}

async fn undo(test: &TestDaemon) -> bool {
    test.editor.request::<UndoDecision>(Default::default()).await.unwrap().undone
}

fn texts(hunks: &[Hunk]) -> Vec<(&str, &str, bool)> {
    hunks.iter().map(|it| (it.old_text.as_str(), it.new_text.as_str(), it.outdated)).collect()
}

/// Writes a new folder of the corpus: `CAIRN_RECORD_STATE=<name>`.
#[tokio::test]
#[ignore = "writes files of this repository"]
async fn record_a_state_folder() {
    let name = std::env::var("CAIRN_RECORD_STATE").expect("the name of the new folder");
    let target = state_folder::recorded(SCENE).join(name);
    let files = ["a", "b", "old", "from", "out", "held"].map(|name| (name, TEXT));
    let test = TestDaemon::open(Wire::Anthropic, &files).await;
    test.editor.will_answer(answer(ApprovalDecision::AllowAlways, None));
    test.editor.will_answer(answer(ApprovalDecision::Deny, Some("Not this one.")));
    test.script([
        plan("p1", &[('>', "First"), (' ', "Second")]),
        edit("e1", "a", "two", "2"),
        edit("e2", "a", "four", "4"),
        edit("e3", "a", "six", "6"),
        call("w1", "write_file", json!({ "path": "new", "content": "is\n" })),
        call("d1", "delete_file", json!({ "path": "old" })),
        call("m1", "move_file", json!({ "from": "from", "to": "to" })),
        edit("e4", "out", "two", "2"),
        bash("b1", "mkdir -p made"),
        bash("b2", "touch never"),
        call("r1", "read_file", json!({ "path": "not there" })),
        call("k1", "task", json!({ "description": "Change b", "prompt": "Change b." })),
        edit("c1", "b", "two", "2"),
        say("Changed."),
        plan("p2", &[('x', "First"), ('>', "Second")]),
        say("Shall I go on?"),
    ]);
    let params = RunTaskParams { text: FIRST_TASK.into(), ..RunTaskParams::default() };
    let first = test.editor.request::<RunTask>(params).await.unwrap();
    let end = test.editor.turn_end(&first.turn_id).await;
    assert_eq!(end.reason, EndReason::NeedsInput, "{}", end.summary);
    let of_a = test.hunks("a").await;
    let hunk = |at: usize| Scope::Hunk { uri: test.uri("a"), hunk_id: of_a[at].id.clone() };
    assert_eq!(decide(&test, Decision::Accept, hunk(0)).await, 1);
    assert_eq!(decide(&test, Decision::Reject, hunk(2)).await, 1);
    test.script([say("Summary.")]);
    let params = SessionParams { session_id: first.session_id.clone() };
    let compacting = test.editor.request::<Compact>(params).await.unwrap();
    test.editor.turn_end(&compacting.turn_id).await;
    let params = ForkSessionParams { session_id: first.session_id.clone(), at_turn: None };
    test.editor.request::<ForkSession>(params).await.unwrap();
    // One of the edits is not in the file any more when the next daemon looks.
    let out = test.path("out");
    let test = test.restart_after(|| fs::write(out, TEXT.replace("two", "zwei")).unwrap()).await;
    test.editor.will_fail(ApplyFault::Silence);
    test.script([plan("p3", &[('>', "Third")]), edit("h1", "held", "two", "2")]);
    let params = RunTaskParams {
        text: LAST_TASK.into(),
        mode: Some(ReviewMode::Auto),
        ..RunTaskParams::default()
    };
    let last = test.editor.request::<RunTask>(params).await.unwrap();
    test.edits(1).await;
    let params = QueueAddParams {
        session_id: last.session_id,
        text: "Then this".into(),
        mode: None,
        attachments: Vec::new(),
    };
    test.editor.request::<QueueAdd>(params).await.unwrap();
    let (folder, found) = (test.folder().to_owned(), test.state().to_owned());
    let test = test.restart_after(|| state_folder::keep(&folder, &found, &target)).await;
    test.finish().await;
}

async fn each_format() -> Vec<TestDaemon> {
    let mut desks = Vec::new();
    for path in state_folder::of(SCENE) {
        let (folder, state) = state_folder::lay_out(&path);
        desks.push(TestDaemon::on(folder, state, json!({})).await);
    }
    desks
}

#[tokio::test]
async fn the_newest_session_of_every_format_is_restored() {
    for test in each_format().await {
        let mut sessions = state(&test).await.sessions;
        assert_eq!(sessions.len(), 1);
        let last = sessions.remove(0);
        assert_eq!((last.task.as_deref(), &last.read_only), (Some(LAST_TASK), &None));
        let TurnPhase::Ended { reason, open_items, .. } = last.news.turn.clone().unwrap().phase
        else {
            panic!("no turn runs: {:?}", last.news.turn)
        };
        assert_eq!((reason, open_items), (EndReason::Interrupted, 1));
        let queue = last.queue.clone().unwrap();
        assert_eq!((queue.items[0].text.as_str(), queue.held), ("Then this", true));
        assert_eq!(last.plan.clone().unwrap().items[0].content, "Third");
        let usage = last.usage.clone().unwrap();
        assert!(usage.session.output_tokens > 0, "{usage:?}");
        // It goes on, and the model hears that the call was cut off.
        let end = test.play_on(&last.session_id, [say("Shall I go on?")]).await;
        assert_eq!(end.reason, EndReason::NeedsInput);
        let requests = test.finish().await;
        assert!(
            result(&requests[0], "h1").contains("Cairn ended"),
            "{}",
            result(&requests[0], "h1")
        );
    }
}

#[tokio::test]
async fn an_older_session_of_every_format_opens_forks_and_exports() {
    for test in each_format().await {
        let list = test.editor.request::<ListSessions>(Default::default()).await.unwrap().sessions;
        let tasks: Vec<&str> = list.iter().map(|it| it.task.as_str()).collect();
        assert_eq!(tasks, [LAST_TASK, FIRST_TASK, FIRST_TASK]);
        let first = first_session(&test.editor).await;
        assert_eq!(first.read_only, None);
        let tools: Vec<(&str, ToolState)> = first
            .transcript
            .iter()
            .filter_map(|entry| match entry {
                TranscriptEntry::Tool(tool) => Some((tool.call_id.as_str(), tool.state)),
                TranscriptEntry::Turn(_) | TranscriptEntry::Message(_) => None,
            })
            .collect();
        let done = |id| (id, ToolState::Done);
        assert_eq!(
            tools,
            [
                done("p1"),
                done("e1"),
                done("e2"),
                done("e3"),
                done("w1"),
                done("d1"),
                done("m1"),
                done("e4"),
                done("b1"),
                ("b2", ToolState::Declined),
                ("r1", ToolState::Failed),
                done("c1"),
                done("k1"),
                done("p2"),
            ]
        );
        let [subagent] = &first.subagents[..] else {
            panic!("one subagent: {:?}", first.subagents)
        };
        assert_eq!(subagent.title, "Change b");
        assert_eq!(subagent.phase, SubagentPhase::Ended { reason: EndReason::Completed });
        let plan = first.plan.clone().unwrap();
        assert_eq!((plan.total, plan.completed, plan.items[0].files.len()), (2, 1, 6));
        let params = SessionParams { session_id: first.session_id.clone() };
        let history = test.editor.request::<PlanHistory>(params).await.unwrap().turns;
        assert_eq!(history[0].task, FIRST_TASK);
        for (format, words) in
            [(ExportFormat::Markdown, "Shall I go on?"), (ExportFormat::Replay, "Shall I go on?")]
        {
            let params = ExportSessionParams { session_id: first.session_id.clone(), format };
            match test.editor.request::<ExportSession>(params).await.unwrap() {
                ExportSessionResult::Text { text } => assert!(text.contains(words), "{text}"),
                ExportSessionResult::File { .. } => {}
            }
        }
        let params = ForkSessionParams { session_id: first.session_id.clone(), at_turn: None };
        let forked = test.editor.request::<ForkSession>(params).await.unwrap();
        assert!(matches!(forked, OpenSessionResult::Opened { .. }));
        // The summary stands for what it was made of.
        test.play_on(&first.session_id, [say("Done.")]).await;
        let requests = test.finish().await;
        let sent = String::from_utf8_lossy(&requests[0].body).into_owned();
        assert!(sent.contains("Summary."), "{sent}");
    }
}

#[tokio::test]
async fn pending_edits_of_every_format_can_be_decided_undone_and_restored() {
    for test in each_format().await {
        let reviews = state(&test).await.reviews;
        let seen: Vec<_> = reviews
            .iter()
            .map(|it| (it.path.as_str(), it.kind, it.from.as_deref(), texts(&it.hunks)))
            .collect();
        let whole = TEXT.trim_end();
        assert_eq!(
            seen,
            [
                ("a", FileKind::Edited, None, vec![("four", "4", false)]),
                ("b", FileKind::Edited, None, vec![("two", "2", false)]),
                ("new", FileKind::Created, None, vec![("", "is", false)]),
                ("old", FileKind::Deleted, None, vec![(whole, "", false)]),
                ("out", FileKind::Edited, None, vec![("two", "2", true)]),
                ("to", FileKind::Moved, Some("from"), vec![("", "", false)]),
            ]
        );
        assert!(reviews[1].hunks[0].subagent.is_some());
        let rules = test.editor.request::<ListRules>(Default::default()).await.unwrap().rules;
        assert_eq!((rules[0].command.as_str(), rules[0].here), ("mkdir -p made", true));
        // The rejection, then the accept.
        assert!(undo(&test).await);
        assert!(undo(&test).await);
        let all = [("two", "2", false), ("four", "4", false), ("six", "6", false)];
        assert_eq!(texts(&test.hunks("a").await), all);
        assert!(!undo(&test).await);
        let checkpoints =
            test.editor.request::<Checkpoints>(Default::default()).await.unwrap().checkpoints;
        let tasks: Vec<&str> = checkpoints.iter().map(|it| it.task.as_str()).collect();
        assert_eq!(tasks, [LAST_TASK, FIRST_TASK]);
        let mut files = checkpoints[1].files.clone();
        files.sort();
        assert_eq!(files, ["a", "b", "from", "new", "old", "out", "to"]);
        let params =
            RestoreCheckpointParams { turn_id: checkpoints[1].turn_id.clone(), overwrite: true };
        let back = test.editor.request::<RestoreCheckpoint>(params).await.unwrap();
        assert_eq!(back.failed, []);
        for name in ["a", "b", "old", "from", "out", "held"] {
            assert_eq!(test.disk(name), TEXT, "{name}");
        }
        assert!(!test.path("new").exists() && !test.path("to").exists());
        // What no longer stood in the text stays to be looked at.
        let left = state(&test).await.reviews;
        assert_eq!(left.iter().map(|it| it.path.as_str()).collect::<Vec<_>>(), ["out"]);
        test.finish().await;
    }
}

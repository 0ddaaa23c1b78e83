//! State folders of earlier versions with all that a session can hold: each session is shown, exported and
//! continued as it was when its folder was recorded. `shown.txt` and `told.txt` beside a folder say how.

use std::{fs, path::Path};

use cairn_core::model::Stop;
use cairn_protocol::{
    ApprovalDecision, Attachment, AttachmentKind, Checkpoints, DeleteSession, EndReason,
    ExportFormat, ForkSession, ForkSessionParams, PlanHistory, ProcessStop, ProcessStopParams,
    QueueAdd, QueueAddParams, RenameSession, RenameSessionParams, RestoreCheckpoint,
    RestoreCheckpointParams, RestoreSession, RunTask, RunTaskParams, RunTaskResult, SessionParams,
    ToolOutput, ToolOutputParams, TurnAttachments, TurnParams, TurnPhase,
};
use cairn_tests::model_server::{Response, Wire};
use expect_test::expect_file;
use serde_json::{Value, json};

use super::{
    session_list::{all, export, open},
    state_folder::{self, PLACEHOLDER},
    steering::steer,
};
use crate::fixtures::{attached::*, *};

const SCENE: &str = "sessions";
const FULL: &str = "Look at everything";
const DELETED: &str = "Deleted soon";

async fn start(test: &TestDaemon, text: &str, attachments: Vec<Attachment>) -> RunTaskResult {
    let params = RunTaskParams { text: text.into(), attachments, ..RunTaskParams::default() };
    test.editor.request::<RunTask>(params).await.unwrap()
}

/// Writes a new folder of the corpus: `CAIRN_RECORD_STATE=<n>`.
#[tokio::test]
#[ignore = "writes files of this repository"]
async fn record_a_folder_of_sessions() {
    let name = std::env::var("CAIRN_RECORD_STATE").expect("the name of the new folder");
    let target = state_folder::recorded(SCENE).join(name);
    let files = [("a", "one\ntwo\nthree\n"), ("b", "one\ntwo\n"), ("src/c.rs", "fn main() {}\n")];
    let test = TestDaemon::open(Wire::Anthropic, &files).await;
    let full = full_session(&test).await;
    sessions_that_ended_early(&test).await;
    deleted_session(&test).await;
    undone_session(&test).await;
    let params = ForkSessionParams { session_id: full, at_turn: None };
    test.editor.request::<ForkSession>(params).await.unwrap();
    let (folder, found) = (test.folder().to_owned(), test.state().to_owned());
    let test = test.restart_after(|| state_folder::keep(&folder, &found, &target)).await;
    test.finish().await;
}

/// A session with every kind of attachment, call, answer and word, named by the user.
async fn full_session(test: &TestDaemon) -> String {
    let folder = Attachment { uri: Some(test.uri("src")), ..attachment(AttachmentKind::Folder) };
    let attachments = vec![
        file(&test.uri("a")),
        folder,
        selection(&test.uri("src/c.rs"), 1, 1, "fn main"),
        pasted("Traceback\nhere\n"),
        image(PIXEL),
    ];
    test.editor.will_answer(answer(ApprovalDecision::AllowSession, None));
    test.editor.will_answer(answer(ApprovalDecision::AllowOnce, Some("This once.")));
    test.editor.will_answer(answer(ApprovalDecision::Deny, Some("Not this one.")));
    test.editor.will_answer(allow());
    test.script([
        plan("p1", &[('>', "First"), (' ', "Second"), (' ', "Third")]).thinking("A plan first."),
        say("I look around.").call("r1", "read_file", json!({ "path": "a" })),
        call("r2", "read_file", json!({ "path": "a", "offset": 2, "limit": 1 })),
        call("g1", "grep", json!({ "pattern": "two" })),
        call("l1", "glob", json!({ "pattern": "**/*" })),
        edit("e0", "a", "nowhere", "2"),
        edit("e1", "a", "two", "2"),
        call("w1", "write_file", json!({ "path": "b", "content": "other\n" })),
        call("w2", "write_file", json!({ "path": "new", "content": "is\n" })),
        bash("b1", "mkdir -p made"),
        bash("b2", "touch made/x && exit 3"),
        bash("b3", "touch never"),
        call("b4", "bash", json!({ "command": "read -r x; echo $x", "background": true })),
        call(
            "o1",
            "process_output",
            json!({ "id": 1, "since": 0, "wait_for": "output", "timeout_ms": 1 }),
        ),
        call("i1", "process_input", json!({ "id": 9, "text": "x" })),
        call("q1", "ask_user", json!({ "question": "Which color?", "options": ["Blue"] })),
        call("x1", "no_such_tool", json!({})),
        say("").call_raw("x2", "read_file", "{\"path\":"),
        call("k1", "task", json!({ "description": "Read b", "prompt": "Read b." })),
        call("c1", "read_file", json!({ "path": "b" })),
        say("It says other."),
        plan("p2", &[('x', "First"), ('>', "Second"), (' ', "Third")]),
        say("One is done."),
    ]);
    let turn = start(test, FULL, attachments).await;
    test.editor.turn_end(&turn.turn_id).await;
    let session_id = turn.session_id;
    let params = ProcessStopParams { session_id: session_id.clone(), id: 1 };
    test.editor.request::<ProcessStop>(params).await.unwrap();
    let (held, mut gate) = Response::reply(say("Now the rest.")).held_at(0);
    test.model.push(held);
    let (last, mut last_gate) = Response::reply(say("And nothing more.")).held_at(0);
    test.model.push(last);
    let turn = test.go_on(&session_id).await;
    gate.reached().await;
    steer(test, &turn, "Read while it runs").await;
    gate.open();
    last_gate.reached().await;
    steer(test, &turn, "Never read").await;
    test.cancel(&turn).await;
    drop(last_gate);
    let params = RenameSessionParams { session_id: session_id.clone(), name: "All of it".into() };
    test.editor.request::<RenameSession>(params).await.unwrap();
    let params = QueueAddParams {
        session_id: session_id.clone(),
        text: "Then this".into(),
        mode: None,
        attachments: vec![pasted("Queued")],
    };
    // Nothing runs: the follow-up starts at once.
    test.script([say("This, too.")]);
    test.editor.request::<QueueAdd>(params).await.unwrap();
    test.editor
        .wait_for("the end of the follow-up", |notice| match notice {
            cairn_protocol::Notice::Turn(it) => match &it.phase {
                TurnPhase::Ended { summary, .. } if summary == "This, too." => Some(()),
                _ => None,
            },
            _ => None,
        })
        .await;
    session_id
}

/// Sessions that ended for each other reason.
async fn sessions_that_ended_early(test: &TestDaemon) {
    test.model.push(Response::error(401, "authentication_error", "invalid x-api-key"));
    let turn = start(test, "Refused by the provider", Vec::new()).await;
    assert_eq!(test.editor.turn_end(&turn.turn_id).await.reason, EndReason::Failed);
    test.script([say("Half of").stop(Stop::Refusal)]);
    let turn = start(test, "Refused by the model", Vec::new()).await;
    test.editor.turn_end(&turn.turn_id).await;
    test.script([plan("p1", &[('>', "Ask")]), say("Which one do you mean?")]);
    let turn = start(test, "Ends with a question", Vec::new()).await;
    assert_eq!(test.editor.turn_end(&turn.turn_id).await.reason, EndReason::NeedsInput);
}

async fn deleted_session(test: &TestDaemon) {
    test.script([say("Done.")]);
    let turn = start(test, DELETED, Vec::new()).await;
    test.editor.turn_end(&turn.turn_id).await;
    let params = SessionParams { session_id: turn.session_id };
    test.editor.request::<DeleteSession>(params).await.unwrap();
}

/// A session whose edit was taken back by its checkpoint.
async fn undone_session(test: &TestDaemon) {
    test.script([edit("u1", "src/c.rs", "main", "start"), say("Changed.")]);
    let turn = start(test, "Undone", Vec::new()).await;
    test.editor.turn_end(&turn.turn_id).await;
    let params = RestoreCheckpointParams { turn_id: turn.turn_id, overwrite: false };
    test.editor.request::<RestoreCheckpoint>(params).await.unwrap();
    test.editor.request::<Checkpoints>(Default::default()).await.unwrap();
}

/// One line of JSON without what differs between two runs: paths, revisions and times of files.
fn line(test: &TestDaemon, value: &impl serde::Serialize) -> String {
    fn without(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.retain(|name, value| {
                    without(value);
                    !["rev", "updatedMs"].contains(&name.as_str()) && !value.is_null()
                });
            }
            Value::Array(items) => items.iter_mut().for_each(without),
            _ => {}
        }
    }
    let mut value = serde_json::to_value(value).unwrap();
    without(&mut value);
    without_folder(test, format!("{value}\n"))
}

fn without_folder(test: &TestDaemon, text: String) -> String {
    let folder = fs::canonicalize(test.folder()).unwrap().display().to_string();
    text.replace(&folder, PLACEHOLDER)
}

/// All that a client can ask about a session.
async fn shown(test: &TestDaemon, session_id: &str) -> String {
    let mut session = open(&test.editor, session_id).await;
    let transcript = std::mem::take(&mut session.transcript);
    let mut text = line(test, &session);
    for entry in &transcript {
        text += &line(test, entry);
    }
    for entry in &transcript {
        let session_id = session_id.to_owned();
        let entry = serde_json::to_value(entry).unwrap();
        if let Some(call_id) = entry["callId"].as_str() {
            let params = ToolOutputParams { session_id, call_id: call_id.to_owned() };
            let output = test.editor.request::<ToolOutput>(params).await.unwrap();
            text += &format!("output of {call_id}: {}", line(test, &output));
        } else if entry["phase"]["attachments"].is_array() {
            let turn_id = entry["turnId"].as_str().unwrap().to_owned();
            let params = TurnParams { session_id, turn_id };
            let attached = test.editor.request::<TurnAttachments>(params).await.unwrap();
            text += &format!("attachments: {}", line(test, &attached));
        }
    }
    let params = SessionParams { session_id: session_id.to_owned() };
    let history = test.editor.request::<PlanHistory>(params).await.unwrap();
    text += &format!("plans: {}", line(test, &history));
    for format in [ExportFormat::Markdown, ExportFormat::Replay] {
        text += &without_folder(test, export(&test.editor, session_id, format).await);
    }
    text
}

async fn each_format(mut check: impl AsyncFnMut(&Path, TestDaemon)) {
    for path in state_folder::of(SCENE) {
        let (folder, state) = state_folder::lay_out(&path);
        check(&path, TestDaemon::on(folder, state, json!({})).await).await;
    }
}

#[tokio::test]
async fn every_session_of_every_format_is_shown_as_before() {
    each_format(async |path, test| {
        let mut text = String::new();
        for session in all(&test.editor).await {
            text += &format!("\n# {}\n{}", session.task, line(&test, &session));
            text += &shown(&test, &session.session_id).await;
        }
        expect_file![path.join("shown.txt")].assert_eq(&text);
        test.finish().await;
    })
    .await;
}

#[tokio::test]
async fn the_model_is_told_the_session_of_every_format_as_before() {
    each_format(async |path, test| {
        let sessions = all(&test.editor).await;
        let full = sessions.iter().rfind(|it| it.task == FULL).unwrap();
        open(&test.editor, &full.session_id).await;
        test.play_on(&full.session_id, [say("Yes.")]).await;
        let sent: String =
            test.model.requests()[0].items().iter().map(|item| line(&test, item)).collect();
        expect_file![path.join("told.txt")].assert_eq(&sent);
        test.finish().await;
    })
    .await;
}

#[tokio::test]
async fn a_deleted_session_of_every_format_can_be_restored() {
    each_format(async |_, test| {
        let trash = state_folder::trashed(test.state());
        let [session_id] = &trash[..] else { panic!("one deleted session: {trash:?}") };
        let params = SessionParams { session_id: session_id.clone() };
        test.editor.request::<RestoreSession>(params).await.unwrap();
        let back = all(&test.editor).await;
        assert_eq!(back.iter().filter(|it| it.task == DELETED).count(), 1);
        test.finish().await;
    })
    .await;
}

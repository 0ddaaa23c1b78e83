//! Sessions after restarts: conversation, plan and edits are restored, and no command runs twice.

use std::{fs, os::unix::fs::PermissionsExt, time::Duration};

use cairn_protocol::{
    BannerKind, EndReason, ItemStatus, MessageRole, Notice, Panel, PlanHistory, SessionParams,
    SessionSnapshot, State, ToolOutput, ToolOutputParams, ToolState, TranscriptEntry, TurnPhase,
};
use cairn_tests::{
    editor_double::Approval,
    model_server::{Response, Wire},
};

use crate::fixtures::*;

async fn sessions(test: &TestDaemon) -> Vec<SessionSnapshot> {
    test.editor.request::<State>(Default::default()).await.unwrap().sessions
}

async fn only_session(test: &TestDaemon) -> SessionSnapshot {
    let mut sessions = sessions(test).await;
    assert_eq!(sessions.len(), 1, "{sessions:#?}");
    sessions.remove(0)
}

/// One line for each entry.
fn told(snapshot: &SessionSnapshot) -> Vec<String> {
    let line = |entry: &TranscriptEntry| match entry {
        TranscriptEntry::Turn(turn) => match &turn.phase {
            TurnPhase::Started { text, .. } => format!("started: {text}"),
            TurnPhase::Ended { reason, .. } => format!("ended: {reason:?}"),
        },
        TranscriptEntry::Message(message) => {
            let text = message.text.clone().unwrap_or_default();
            let text = if message.role == MessageRole::Reminder { "…".into() } else { text };
            format!("{:?}: {text}", message.role)
        }
        TranscriptEntry::Tool(tool) => format!("{}: {:?}", tool.title.english(), tool.state),
    };
    snapshot.transcript.iter().map(line).collect()
}

#[tokio::test]
async fn a_session_is_restored_after_a_restart_and_continues() {
    for wire in BOTH {
        let test = TestDaemon::open(wire, &[("a", "one\n")]).await;
        test.editor.will_answer(allow());
        let end = test
            .play([
                plan("c1", &[('>', "First"), (' ', "Second")]),
                edit("c2", "a", "one", "1"),
                bash("c3", "true"),
                say("Shall I go on?"),
            ])
            .await;
        assert_eq!(end.reason, EndReason::NeedsInput);
        let before = only_session(&test).await;
        let test = test.restart().await;
        let after = only_session(&test).await;
        assert_eq!(after.session_id, end.session_id);
        assert_eq!(after.task.as_deref(), Some("Do it"));
        assert_eq!(after.news.turn.clone().unwrap().phase, before.news.turn.clone().unwrap().phase);
        let (was, is) = (before.plan.unwrap(), after.plan.clone().unwrap());
        assert_eq!(is.panel, Panel::Collapsed);
        assert_eq!((is.items.len(), is.completed), (2, 0));
        let first = &is.items[0];
        assert_eq!((&first.id, first.status), (&was.items[0].id, ItemStatus::InProgress));
        assert_eq!((first.files.len(), first.commands.len(), first.calls), (1, 1, 2));
        assert_eq!(first.commands[0].state, ToolState::Done);
        assert_eq!(
            told(&after),
            [
                "started: Do it",
                "Reminder: …",
                "Update the plan: Done",
                "Edit a: Done",
                "Run true: Done",
                "Assistant: Shall I go on?",
                "ended: NeedsInput",
            ]
        );
        let history = SessionParams { session_id: end.session_id.clone() };
        let history = test.editor.request::<PlanHistory>(history).await.unwrap().turns;
        assert_eq!((history.len(), history[0].task.as_str()), (1, "Do it"));
        assert_eq!(history[0].plan, was, "exactly as it stood at the end of the turn");
        // The model sees everything again, byte for byte, and the rest behind it.
        test.play_on(&end.session_id, [say("Done.")]).await;
        let requests = test.finish().await;
        let [.., earlier, later] = requests.as_slice() else { panic!("two requests at least") };
        let messages = |body: &serde_json::Value| body["messages"].as_array().unwrap().clone();
        let (earlier, later) = (messages(&earlier.json()), messages(&later.json()));
        assert_eq!(later.len(), earlier.len() + 2);
        let unmarked = |mut message: serde_json::Value| {
            // A cache mark stands at the newest message only.
            for block in message["content"].as_array_mut().into_iter().flatten() {
                block.as_object_mut().unwrap().remove("cache_control");
            }
            message
        };
        for (a, b) in earlier.into_iter().zip(later) {
            assert_eq!(unmarked(a), unmarked(b));
        }
    }
}

#[tokio::test]
async fn the_result_of_a_call_is_returned_whole_also_after_a_restart() {
    async fn output(test: &TestDaemon, session_id: &str, call_id: &str) -> Option<String> {
        let (session_id, call_id) = (session_id.to_owned(), call_id.to_owned());
        let params = ToolOutputParams { session_id, call_id };
        test.editor.request::<ToolOutput>(params).await.unwrap().text
    }
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    test.editor.will_answer(allow());
    let end = test.play([bash("c1", "seq 1 2000"), say("Done.")]).await;
    let whole = output(&test, &end.session_id, "c1").await.expect("the call is over");
    assert!(whole.contains("\n1\n2\n") || whole.starts_with("1\n2\n"), "{whole}");
    assert!(whole.contains("\n1234\n") && whole.contains("\n2000"), "{whole}");
    assert_eq!(output(&test, &end.session_id, "c2").await, None, "no such call");
    assert_eq!(output(&test, "unknown", "c1").await, None, "no such session");
    let test = test.restart().await;
    assert_eq!(output(&test, &end.session_id, "c1").await, Some(whole));
}

#[tokio::test]
async fn a_turn_cut_by_a_crash_is_interrupted_and_can_be_continued() {
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    test.script([plan("c1", &[('>', "First"), (' ', "Second")])]);
    let (held, mut gate) = Response::reply(say("Never heard.")).held_at(0);
    test.model.push(held);
    let turn = test.editor.run_task("Do it").await;
    gate.reached().await;
    let test = test.restart().await;
    let session = only_session(&test).await;
    // The conversation shows where it broke off.
    let last = session.transcript.last().unwrap();
    assert!(
        matches!(last, TranscriptEntry::Turn(turn) if matches!(turn.phase, TurnPhase::Ended { reason: EndReason::Interrupted, .. })),
        "{last:?}"
    );
    let Some(TurnPhase::Ended { reason, open_items, .. }) =
        session.news.turn.map(|turn| turn.phase)
    else {
        panic!("the turn is over")
    };
    assert_eq!((reason, open_items), (EndReason::Interrupted, 2));
    let plan = session.plan.unwrap();
    assert_eq!(plan.panel, Panel::Collapsed);
    assert_eq!(plan.items[0].status, ItemStatus::InProgress, "it was begun");
    drop(gate);
    test.play_on(&turn.session_id, [say("Done.")]).await;
    let requests = test.finish().await;
    let told = newest(requests.last().unwrap());
    assert!(told.contains("ended before its work was done"), "{told}");
    assert!(told.contains("[>] #1 First"), "{told}");
}

/// The editor was closed, or the daemon was killed: then the journal ends with what streamed.
#[tokio::test]
async fn the_words_of_an_answer_that_was_cut_are_kept_with_the_reason() {
    for (killed, code) in [(false, "editor_closed"), (true, "interrupted")] {
        let test = TestDaemon::open(Wire::Anthropic, &[]).await;
        let words = "One two three four five six seven eight nine ten.";
        let reply = say(words);
        let stream = String::from_utf8(reply.encode(Wire::Anthropic)).unwrap();
        let at = stream.rfind("text_delta").unwrap();
        let (response, mut gate) = Response::reply(reply).held_at(at);
        test.model.push(response);
        let turn = test.editor.run_task("Count").await;
        gate.reached().await;
        let journal = journals(test.state()).remove(0);
        let read = || std::fs::read_to_string(&journal).unwrap();
        wait_until(Duration::from_secs(10), || read().contains("{\"streamed\":")).await;
        let cut = || {
            let text = read();
            let at = text.rfind("{\"streamed\":").unwrap();
            let end = at + text[at..].find('\n').unwrap() + 1;
            std::fs::write(&journal, &text[..end]).unwrap();
        };
        let mut test = test
            .restart_after(|| {
                if killed {
                    cut()
                }
            })
            .await;
        drop(gate);
        for _ in 0..2 {
            let session = only_session(&test).await;
            let mut told = told(&session);
            told.retain(|line| !line.starts_with("Reminder"));
            let [started, said, ended] = told.as_slice() else { panic!("{told:?}") };
            assert_eq!(
                (started.as_str(), ended.as_str()),
                ("started: Count", "ended: Interrupted")
            );
            let said = said.strip_prefix("Assistant: ").unwrap();
            assert!(!said.is_empty() && words.starts_with(said), "{said}");
            let Some(TurnPhase::Ended { problem, .. }) = session.news.turn.map(|turn| turn.phase)
            else {
                panic!("the turn is over")
            };
            assert_eq!(serde_json::to_value(problem).unwrap()["code"], code);
            test = test.restart().await;
        }
        test.play_on(&turn.session_id, [say("Done.")]).await;
        let requests = test.finish().await;
        let conversation = requests.last().unwrap().json()["messages"].to_string();
        assert!(conversation.contains("One two"), "the model knows its words: {conversation}");
    }
}

#[tokio::test]
async fn an_approval_open_at_shutdown_stays_unanswered() {
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    test.editor.will_answer(Approval::Silence);
    test.script([bash("c1", "echo x >> out")]);
    let turn = test.editor.run_task("Do it").await;
    wait_until(Duration::from_secs(10), || !test.editor.asked().is_empty()).await;
    let test = test.restart().await;
    let session = only_session(&test).await;
    let Some(TurnPhase::Ended { reason, .. }) = session.news.turn.map(|turn| turn.phase) else {
        panic!("the turn is over")
    };
    assert_eq!(reason, EndReason::Interrupted);
    // No later request was prepared from an answer that nobody gave.
    test.play_on(&turn.session_id, [say("I see.")]).await;
    let requests = test.finish().await;
    assert_eq!(requests.len(), 2);
    let told = result(requests.last().unwrap(), "c1");
    assert!(told.starts_with("Not run"), "{told}");
}

#[tokio::test]
async fn a_command_cut_by_a_crash_is_not_repeated() {
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    let sleep = marker();
    test.editor.will_answer(allow());
    test.script([bash("c1", &format!("echo x >> out; sleep {sleep}"))]);
    let turn = test.editor.run_task("Do it").await;
    // The shell that has it all in its command line runs before it has written.
    let written = || fs::read_to_string(test.path("out")).is_ok_and(|text| text == "x\n");
    wait_until(Duration::from_secs(10), written).await;
    let test = test.restart().await;
    until_gone(&sleep).await;
    assert_eq!(only_session(&test).await.session_id, turn.session_id);
    test.play_on(&turn.session_id, [say("I see.")]).await;
    assert_eq!(test.disk("out"), "x\n");
    let requests = test.finish().await;
    let told = result(requests.last().unwrap(), "c1");
    assert!(told.starts_with("May have run"), "{told}");
}

#[tokio::test]
async fn only_the_newest_session_is_restored_and_its_file_is_private() {
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    test.play([say("One.")]).await;
    let second = test.play([say("Two.")]).await;
    test.play_on(&second.session_id, [say("Three.")]).await;
    let test = test.restart().await;
    assert_eq!(only_session(&test).await.session_id, second.session_id);
    let journals = journals(test.state());
    assert_eq!(journals.len(), 2);
    for journal in journals {
        assert_eq!(fs::metadata(&journal).unwrap().permissions().mode() & 0o777, 0o600);
        let folder = fs::metadata(journal.parent().unwrap()).unwrap();
        assert_eq!(folder.permissions().mode() & 0o777, 0o700);
    }
    test.finish().await;
}

#[tokio::test]
async fn a_session_that_cannot_be_written_runs_no_effects_and_reports_it() {
    let test = TestDaemon::open(Wire::Anthropic, &[("a", "one\n")]).await;
    // A file where the folder should be.
    fs::write(test.state().join("workspaces"), "").unwrap();
    let end = test.play([edit("c1", "a", "one", "1"), say("I could not.")]).await;
    assert_eq!(end.reason, EndReason::Completed);
    assert_eq!(test.disk("a"), "one\n");
    let is_told = |notice: &Notice| match notice {
        Notice::Status(status) => {
            status.banners.iter().any(|banner| banner.kind == BannerKind::Storage)
        }
        _ => false,
    };
    assert!(test.editor.notices().iter().any(is_told));
    let requests = test.finish().await;
    let told = result(&requests[1], "c1");
    assert!(told.starts_with("Nothing was done"), "{told}");
}

#[tokio::test]
async fn a_damaged_journal_is_not_changed() {
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    test.play([say("One.")]).await;
    let path = journals(test.state()).remove(0);
    let mut bytes = Vec::new();
    // Only now is its last record written.
    let damage = || {
        bytes = fs::read(&path).unwrap();
        bytes[20] ^= 1;
        fs::write(&path, &bytes).unwrap();
    };
    let test = test.restart_after(damage).await;
    assert!(sessions(&test).await.is_empty());
    assert!(fs::read(&path).unwrap() == bytes, "it was changed");
    test.play([say("Two.")]).await;
    test.finish().await;
}

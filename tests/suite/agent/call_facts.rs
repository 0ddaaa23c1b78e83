//! Facts about calls and turns for the user: kind, target, numbers and times, live and after a restart;
//! output of a command while it runs.

use cairn_protocol::{
    Cancel, EndReason, MessageRole, Notice, OpenSession, OpenSessionParams, OpenSessionResult,
    ToolKind, ToolNotification, ToolState, TranscriptEntry, TurnParams, TurnPhase, TurnSpent,
};
use cairn_tests::model_server::{Reply, Wire};
use expect_test::expect;
use serde_json::json;

use crate::fixtures::*;

/// Facts of a call in one line, without times.
fn facts(test: &TestDaemon, tool: &ToolNotification) -> String {
    let root = format!("{}/", test.uri("x").trim_end_matches("/x"));
    let target = tool.target.as_ref().map(|target| {
        let name = target.uri.replace(&root, "");
        let lines = target.range.as_ref().map(|range| (range.start.line, range.end.line));
        format!(" {name} {lines:?}")
    });
    let stats = serde_json::to_value(tool.stats).unwrap();
    let target = target.unwrap_or_default();
    let completed: Vec<&str> = tool.completed.iter().map(|item| item.content.as_str()).collect();
    let completed = completed.join(", ");
    let facts = format!("{}: {:?}{target} {stats} {completed}", tool.call_id, tool.tool_kind);
    facts.trim_end().to_owned()
}

fn spent(notices: &[Notice]) -> TurnSpent {
    let ended = notices.iter().rev().find_map(|notice| match notice {
        Notice::Turn(turn) => match &turn.phase {
            TurnPhase::Ended { spent, .. } => Some(spent.expect("the turn began in this process")),
            TurnPhase::Started { .. } => None,
        },
        _ => None,
    });
    ended.expect("the turn ended")
}

#[tokio::test]
async fn calls_tell_kind_target_numbers_and_times_also_after_a_restart() {
    let test = TestDaemon::open(Wire::Anthropic, &[("a.txt", "one\ntwo\nthree\n")]).await;
    test.editor.will_answer(allow());
    let looking = Reply::text("")
        .call("c1", "read_file", json!({ "path": "a.txt", "offset": 2, "limit": 1 }))
        .call("c2", "grep", json!({ "pattern": "t" }))
        .call("c3", "glob", json!({ "pattern": "*.txt" }));
    let end = test
        .play([
            looking,
            edit("c4", "a.txt", "one", "1"),
            call("c5", "write_file", json!({ "path": "b.txt", "content": "x\ny\n" })),
            call("c6", "write_file", json!({ "path": "b.txt", "content": "x\n" })),
            bash("c7", "exit 3"),
            plan("c8", &[('x', "Look"), (' ', "Tell")]),
            plan("c9", &[('x', "Look"), ('x', "Tell")]),
            say("Done."),
        ])
        .await;
    let over = |id: &str| {
        let found = test.editor.notices().into_iter().rev().find_map(|notice| match notice {
            Notice::Tool(tool) if tool.call_id == id => Some(tool),
            _ => None,
        });
        found.unwrap()
    };
    let calls: Vec<_> = (1..=9).map(|number| over(&format!("c{number}"))).collect();
    let told: Vec<_> = calls.iter().map(|tool| facts(&test, tool)).collect();
    expect![[r#"
        c1: Some(Read) a.txt Some((1, 2)) {"lines":1}
        c2: Some(Search) {"matches":2}
        c3: Some(Search) {"matches":1}
        c4: Some(Edit) a.txt None {"added":1,"removed":1}
        c5: Some(Create) b.txt None {"added":2,"removed":0}
        c6: Some(Edit) b.txt None {"added":0,"removed":1}
        c7: Some(Run) {"exitCode":3}
        c8: Some(Plan) null Look
        c9: Some(Plan) null Tell"#]]
    .assert_eq(&told.join("\n"));
    for tool in &calls[..7] {
        assert!(tool.started_at.unwrap() <= tool.ended_at.unwrap(), "{tool:?}");
    }
    // The kind is known before the call runs.
    let queued = test.editor.notices().into_iter().find_map(|notice| match notice {
        Notice::Tool(tool) if tool.call_id == "c1" => Some(tool),
        _ => None,
    });
    let queued = queued.unwrap();
    assert_eq!(queued.state, ToolState::Queued);
    assert_eq!((queued.tool_kind, queued.started_at), (Some(ToolKind::Read), None));

    let took = spent(&test.editor.notices());
    assert!(took.usage.input_tokens > 0);
    let test = test.restart().await;
    let params = OpenSessionParams { session_id: end.session_id.clone(), ..Default::default() };
    let opened = test.editor.request::<OpenSession>(params).await.unwrap();
    let OpenSessionResult::Opened { session } = opened else { panic!("asked for the newest page") };
    let mut again: Vec<_> = session
        .transcript
        .iter()
        .filter_map(|entry| match entry {
            TranscriptEntry::Tool(tool) => Some(facts(&test, tool)),
            TranscriptEntry::Turn(_) | TranscriptEntry::Message(_) => None,
        })
        .collect();
    // Calls that ran at the same time are stored in the order of their ends.
    again.sort();
    assert_eq!(again, told);
    let Some(TranscriptEntry::Turn(turn)) = session.transcript.last() else {
        panic!("the end of the turn is last")
    };
    assert!(
        matches!(turn.phase, TurnPhase::Ended { reason: EndReason::Completed, spent, .. } if spent == Some(took)),
        "{turn:?}"
    );
    test.finish().await;
}

#[tokio::test]
async fn messages_tell_when_they_began_and_ended() {
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    test.play([Reply::text("Both.").thinking("Which one?")]).await;
    let notices = test.editor.notices();
    for role in [MessageRole::User, MessageRole::Thinking, MessageRole::Assistant] {
        let of_role = notices.iter().filter_map(|notice| match notice {
            Notice::Message(message) if message.role == role => Some(message),
            _ => None,
        });
        let times: Vec<_> = of_role.map(|message| (message.at, message.ended_at)).collect();
        let (began, ended) = *times.last().unwrap();
        assert!(began.unwrap() <= ended.unwrap(), "{role:?}: {times:?}");
        assert!(times.iter().all(|(at, _)| *at == began), "{role:?}: {times:?}");
    }
    test.finish().await;
}

#[tokio::test]
async fn the_output_of_a_running_command_reaches_only_a_client_that_asked_for_it() {
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    let pieces = |notices: &[Notice]| -> Vec<(String, u32, String)> {
        let of_output = notices.iter().filter_map(|notice| match notice {
            Notice::Output(piece) => Some((piece.call_id.clone(), piece.seq, piece.text.clone())),
            _ => None,
        });
        of_output.collect()
    };
    let window = test.second_window_with_all().await;
    // The command ends only after the test has seen its first line.
    let command = "echo first; while [ ! -e go ]; do sleep 0.01; done; echo last";
    test.script([bash("c1", command), say("Done.")]);
    window.will_answer(allow());
    let running = window.run("Run it");
    let seeing = async {
        let seen = window.wait_for("output", |notice| match notice {
            Notice::Output(piece) => Some(piece.clone()),
            _ => None,
        });
        let piece = seen.await;
        assert_eq!((piece.call_id.as_str(), piece.seq, piece.text.as_str()), ("c1", 0, "first\n"));
        std::fs::write(test.path("go"), "").unwrap();
    };
    let (end, ()) = tokio::join!(running, seeing);
    assert_eq!(end.reason, EndReason::Completed);
    window.finish();

    test.editor.will_answer(allow());
    test.play([bash("c2", "echo first; sleep 0.3; echo last"), say("Done.")]).await;
    assert_eq!(pieces(&test.editor.notices()), []);
    test.finish().await;
}

#[tokio::test]
async fn the_model_learns_what_a_stopped_command_had_printed() {
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    let window = test.second_window_with_all().await;
    let marker = marker();
    test.script([bash("c1", &format!("echo shown; sleep {marker}"))]);
    window.will_answer(allow());
    let turn = window.run_task("Run it").await;
    let seen = window.wait_for("output", |notice| match notice {
        Notice::Output(piece) => Some(piece.text.clone()),
        _ => None,
    });
    assert_eq!(seen.await, "shown\n");
    let (session_id, turn_id) = (turn.session_id.clone(), turn.turn_id);
    let stop = TurnParams { session_id, turn_id };
    window.request::<Cancel>(stop).await.unwrap();
    until_gone(&marker).await;
    test.script([say("Back again.")]);
    window.run_in(&turn.session_id, "Go on").await;
    window.finish();
    let requests = test.finish().await;
    assert_eq!(
        result(requests.last().unwrap(), "c1"),
        "Cancelled by the user; it may have had effects before it was stopped. It had printed:\nshown\n"
    );
}

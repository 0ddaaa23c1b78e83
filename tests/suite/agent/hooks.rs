//! Hooks of the user at each event: their input, the meaning of their exit, and their output in the
//! conversation.

use cairn_protocol::{ApprovalDecision, EndReason, MessageRole, Notice, ToolState};
use cairn_tests::model_server::Wire;
use serde_json::{Value, json};

use crate::fixtures::*;

async fn test(files: &[(&str, &str)], hooks: Value) -> TestDaemon {
    TestDaemon::with(Wire::Anthropic, files, json!({ "hooks": hooks })).await
}

/// Messages of the daemon to the user.
fn told(test: &TestDaemon) -> Vec<String> {
    let notices = test.editor.notices().into_iter();
    let texts = notices.filter_map(|notice| match notice {
        Notice::Message(message) if message.role == MessageRole::Notice => message.text,
        _ => None,
    });
    texts.collect()
}

/// Newest state of a call, as shown.
fn state(test: &TestDaemon, call_id: &str) -> Option<ToolState> {
    let notices = test.editor.notices().into_iter().rev();
    let mut states = notices.filter_map(|notice| match notice {
        Notice::Tool(tool) if tool.call_id == call_id => Some(tool.state),
        _ => None,
    });
    states.next()
}

async fn until_told(test: &TestDaemon, words: &str) {
    let says = |notice: &Notice| match notice {
        Notice::Message(message) if message.role == MessageRole::Notice => {
            message.text.as_deref().filter(|text| *text == words).map(drop)
        }
        _ => None,
    };
    test.editor.wait_for(words, says).await
}

#[tokio::test]
async fn a_before_tool_hook_reads_the_call_and_can_refuse_it() {
    let hooks = json!({"beforeTool": [{
        "command": "cat > read.json; echo 'Not this one.'; exit 2",
        "tools": ["edit_file"],
    }]});
    let test = test(&[("a", "one\n")], hooks).await;
    let read = call("c0", "read_file", json!({"path": "a"}));
    let end = test.play([read, edit("c1", "a", "one", "1"), say("I could not.")]).await;
    assert_eq!(end.reason, EndReason::Completed);
    assert_eq!(test.disk("a"), "one\n");
    let read: Value = serde_json::from_str(&test.disk("read.json")).unwrap();
    assert_eq!((&read["event"], &read["callId"]), (&json!("beforeTool"), &json!("c1")));
    assert_eq!(read["tool"]["name"], "edit_file");
    assert_eq!(read["tool"]["arguments"]["path"], "a");
    assert_eq!(state(&test, "c1"), Some(ToolState::Declined));
    assert_eq!(told(&test), ["The hook beforeTool exited with 2:\nNot this one."]);
    let requests = test.finish().await;
    let told = result(&requests[2], "c1");
    assert!(
        told.starts_with("[cairn] A hook of the user refused this call; nothing was changed."),
        "{told}"
    );
    assert!(told.contains("Not this one."), "{told}");
}

#[tokio::test]
async fn a_hook_can_require_an_approval_but_never_grant_one() {
    let ask = r#"echo '{"decision":"ask"}'"#;
    let hooks = json!({"beforeTool": [
        {"command": ask, "tools": ["write_file"]},
        {"command": r#"echo '{"decision":"allow"}'"#, "tools": ["bash"]},
    ]});
    let test = test(&[], hooks).await;
    test.editor.will_answer(answer(ApprovalDecision::Deny, None));
    test.editor.will_answer(answer(ApprovalDecision::Deny, None));
    let write = call("c1", "write_file", json!({"path": "new", "content": "x"}));
    test.play([write, bash("c2", "touch made"), say("Neither.")]).await;
    for id in ["c1", "c2"] {
        assert_eq!(state(&test, id), Some(ToolState::Declined));
    }
    assert!(!test.path("new").exists() && !test.path("made").exists());
    test.finish().await;
}

#[tokio::test]
async fn an_after_tool_hook_reads_the_result_and_can_add_to_it() {
    let hooks = json!({"afterTool": [
        r#"cat > "after-$(date +%N).json"; echo '{"message":"Mind the style."}'"#,
    ]});
    let test = test(&[("a", "one\n")], hooks).await;
    test.play([call("c1", "read_file", json!({"path": "a"})), say("Read.")]).await;
    let files = std::fs::read_dir(test.folder()).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let name = names.into_iter().find(|name| name.starts_with("after-")).unwrap();
    let read: Value = serde_json::from_str(&test.disk(&name)).unwrap();
    assert_eq!(read["result"], json!({"content": "1\tone", "isError": false}));
    let requests = test.finish().await;
    assert_eq!(
        result(&requests[1], "c1"),
        "1\tone\n[cairn] words of a hook:\nMind the style.\n[cairn] end of the words of a hook"
    );
}

#[tokio::test]
async fn a_before_model_hook_can_end_the_turn() {
    let hooks = json!({"beforeModel": [
        "cat > asked.json; test -f enough && { echo 'Enough for today.'; exit 1; }; touch enough",
    ]});
    let test = test(&[("a", "one\n")], hooks).await;
    let end = test.play([call("c1", "read_file", json!({"path": "a"}))]).await;
    assert_eq!(end.reason, EndReason::Failed);
    assert!(end.summary.contains("Enough for today."), "{}", end.summary);
    let asked: Value = serde_json::from_str(&test.disk("asked.json")).unwrap();
    assert_eq!(asked["event"], "beforeModel");
    // The second request was never made.
    assert_eq!(test.finish().await.len(), 1);
}

#[tokio::test]
async fn a_turn_end_hook_reads_the_result_and_its_output_is_shown() {
    let hooks = json!({"turnEnd": ["cat > end.json; echo seen"]});
    let test = test(&[], hooks).await;
    let end = test.play([say("All is well.")]).await;
    assert_eq!(end.reason, EndReason::Completed);
    until_told(&test, "The hook turnEnd passed:\nseen").await;
    let read: Value = serde_json::from_str(&test.disk("end.json")).unwrap();
    assert_eq!((&read["reason"], &read["summary"]), (&json!("completed"), &json!("All is well.")));
    test.finish().await;
}

#[tokio::test]
async fn hooks_of_todo_items_cannot_refuse() {
    let command = |name: &str| format!(r#"cat >> {name}; echo "{name}"; exit 1"#);
    let hooks =
        json!({"taskCreated": [command("created")], "taskCompleted": [command("completed")]});
    let test = test(&[], hooks).await;
    test.play([
        plan("c1", &[('>', "Look"), (' ', "Say")]),
        plan("c2", &[('x', "Look"), ('>', "Say")]),
        plan("c3", &[('x', "Look"), ('x', "Say")]),
        say("Both are done."),
    ])
    .await;
    let count = || told(&test).len();
    wait_until(std::time::Duration::from_secs(10), || count() == 4).await;
    let tasks = |name: &str| -> Vec<String> {
        let lines = test.disk(name);
        let read = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        read.map(|read| format!("{} {}", read["task"]["subject"], read["task"]["status"])).collect()
    };
    assert_eq!(
        (tasks("created"), tasks("completed")),
        (
            vec![r#""Look" "in_progress""#.to_owned(), r#""Say" "pending""#.to_owned()],
            vec![r#""Look" "completed""#.to_owned(), r#""Say" "completed""#.to_owned()],
        )
    );
    // They could not refuse: the list stands.
    let end = test.finish().await;
    assert_eq!(end.len(), 4);
}

#[tokio::test]
async fn a_hook_that_times_out_refuses_and_its_processes_are_killed() {
    let marker = marker();
    let hooks = json!({"beforeTool": [{"command": format!("sleep {marker} & sleep {marker}"), "seconds": 1}]});
    let test = test(&[("a", "one\n")], hooks).await;
    test.play([call("c1", "read_file", json!({"path": "a"})), say("No.")]).await;
    assert_eq!(told(&test), ["The hook beforeTool did not end in time."]);
    assert_eq!(processes(&marker), 0);
    test.finish().await;
}

//! Processes of a session as the client sees them, and what the agent is told of their end.

use cairn_protocol::{
    InputTaken, Notice, ProcessEnd, ProcessInfo, ProcessInput, ProcessInputParams, ProcessOutput,
    ProcessOutputParams, ProcessOutputResult, ProcessPhase, ProcessStop, ProcessStopParams,
    ProcessStopper, State,
};
use cairn_tests::model_server::{Reply, Wire};
use serde_json::json;

use crate::fixtures::*;

fn background(id: &str, command: &str) -> Reply {
    call(id, "bash", json!({ "command": command, "background": true }))
}

/// Waits until the client is told of the first process in this state.
async fn process(test: &TestDaemon, what: &str, is: impl Fn(&ProcessInfo) -> bool) -> ProcessInfo {
    let pick = |notice: &Notice| match notice {
        Notice::Processes(all) => all.processes.first().filter(|it| is(it)).cloned(),
        _ => None,
    };
    // It may have come before the end of the turn, for which the test waited.
    match test.editor.notices().iter().find_map(&pick) {
        Some(process) => process,
        None => test.editor.wait_for(what, pick).await,
    }
}

/// Reads on until the output ends with a text.
async fn read_until(test: &TestDaemon, session: &str, mut since: u64, end: &str) -> u64 {
    let mut text = String::new();
    while !text.ends_with(end) {
        let params = ProcessOutputParams { session_id: session.to_owned(), id: 1, since };
        let more = test.editor.request::<ProcessOutput>(params).await.unwrap();
        assert_eq!(more.ended, None, "it ended after {text:?}");
        text.push_str(&more.text);
        since = more.end;
    }
    since
}

#[tokio::test]
async fn a_process_of_a_subagent_ends_with_it() {
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    test.editor.will_answer(allow());
    let marker = marker();
    let task = json!({ "description": "Serve", "prompt": "Start the server." });
    test.play([
        call("t1", "task", task),
        background("c1", &format!("exec sleep {marker}")),
        say("It runs."),
        say("Done."),
    ])
    .await;
    let ended = process(&test, "the end of the process", |it| {
        matches!(it.phase, ProcessPhase::Ended { .. })
    })
    .await;
    let ProcessPhase::Ended { end, .. } = ended.phase else { unreachable!() };
    assert_eq!(end, ProcessEnd::Stopped { by: ProcessStopper::Turn });
    until_gone(&marker).await;
}

#[tokio::test]
async fn the_user_watches_types_into_and_stops_a_process_and_the_agent_is_told() {
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    test.editor.will_answer(allow());
    let marker = marker();
    let command = format!("echo ready; read -r line; echo got $line; exec sleep {marker}");
    let end = test
        .play([
            plan("p1", &[('>', "Serve"), (' ', "Test")]),
            background("c1", &command),
            say("It runs."),
        ])
        .await;
    let session = end.session_id.clone();
    let running = process(&test, "the first output", |it| it.tail == "ready").await;
    assert_eq!((running.id, &running.command, running.written), (1, &command, 6));
    assert_eq!((running.input, running.terminal), (true, false));
    assert_eq!(running.phase, ProcessPhase::Running { stopping: false });
    let state = test.editor.request::<State>(Default::default()).await.unwrap();
    let plan = state.sessions[0].plan.as_ref().unwrap();
    assert_eq!(running.plan_item.as_ref(), Some(&plan.items[0].id), "the item in progress");
    assert_eq!(state.sessions[0].processes, [running]);

    let since = read_until(&test, &session, 0, "ready\n").await;
    let text = "words\n".to_owned();
    let params = ProcessInputParams { session_id: session.clone(), id: 1, text };
    let taken = test.editor.request::<ProcessInput>(params).await.unwrap().taken;
    assert_eq!(taken, InputTaken::All);
    let since = read_until(&test, &session, since, "got words\n").await;

    until_running(&marker).await;
    let params = ProcessStopParams { session_id: session.clone(), id: 1 };
    test.editor.request::<ProcessStop>(params).await.unwrap();
    let params = ProcessOutputParams { session_id: session.clone(), id: 1, since };
    let last = test.editor.request::<ProcessOutput>(params).await.unwrap();
    let stopped = ProcessEnd::Stopped { by: ProcessStopper::User };
    let (text, end, ended) = (String::new(), since, Some(stopped));
    assert_eq!(last, ProcessOutputResult { text, missed: 0, end, ended });
    until_gone(&marker).await;
    let ended =
        process(&test, "its end", |it| matches!(it.phase, ProcessPhase::Ended { .. })).await;
    let ProcessPhase::Ended { end, at } = ended.phase else { panic!("{ended:?}") };
    assert_eq!(end, stopped);
    assert!(at >= ended.started_at);

    test.play_on(&session, [say("I see.")]).await;
    test.play_on(&session, [say("Yes.")]).await;
    let requests = test.finish().await;
    let told = |at: usize| newest(&requests[at]).contains("Process 1 was stopped by the user.");
    assert_eq!([told(3), told(4)], [true, false], "{}", newest(&requests[3]));
}

#[tokio::test]
async fn a_process_that_is_not_there_and_input_that_is_too_long_are_refused() {
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    test.editor.will_answer(allow());
    let end = test.play([background("c1", "read -r line; echo $line"), say("It runs.")]).await;
    let session = end.session_id;
    let params = ProcessStopParams { session_id: session.clone(), id: 2 };
    let error = test.editor.request::<ProcessStop>(params).await.unwrap_err();
    assert_eq!(error["data"]["code"], "process_unknown");
    let text = "x".repeat(16 * 1024 + 1);
    let params = ProcessInputParams { session_id: session.clone(), id: 1, text };
    let error = test.editor.request::<ProcessInput>(params).await.unwrap_err();
    assert_eq!(error["data"]["args"], json!({ "limit": 16 * 1024 }));
    // The agent reads the end itself, and is not told again.
    let read = json!({ "id": 1, "since": 0, "wait_for": "exit" });
    let params =
        ProcessInputParams { session_id: session.clone(), id: 1, text: "bye\n".to_owned() };
    test.editor.request::<ProcessInput>(params).await.unwrap();
    test.play_on(&session, [call("c2", "process_output", read), say("It ended.")]).await;
    test.play_on(&session, [say("Yes.")]).await;
    let requests = test.finish().await;
    let output = result(&requests[3], "c2");
    assert!(output.starts_with("bye\n") && output.contains("exit code 0"), "{output}");
    let told = |at: usize| newest(&requests[at]).contains("Process 1 ended");
    assert!(!told(3) && !told(4), "{}", newest(&requests[4]));
}

//! Processes of a session with the real binary and, where the machine has one, a real sandbox.

use std::{fs, path::PathBuf, time::Duration};

use cairn_tests::lsp_client::LspClient;
use serde_json::{Value, json};
use tokio::process::Command;

use super::lifecycle::BusyDaemon;
use crate::fixtures;

/// Answers every question with yes.
fn allow_all(client: &LspClient) {
    client.answer_with(Box::new(|client, id, method, _| match method {
        "agent/save" => client.respond(id, json!({ "failed": [] })),
        _ => client.respond(id, json!({ "decision": "allowOnce" })),
    }));
}

async fn at_work(sandbox: &'static str, steps: Value) -> (BusyDaemon, Value) {
    let configure = |command: &mut Command| {
        command.env("CAIRN_SANDBOX", sandbox);
    };
    let work = BusyDaemon::begin_in(configure, steps, None).await;
    allow_all(&work.daemon.client);
    let turn = work.task().await;
    (work, turn)
}

fn background(command: &str) -> Value {
    json!({ "calls": [{ "name": "bash", "arguments": { "command": command, "background": true } }] })
}

/// Path on this machine of the log that a result names by its path in the sandbox.
fn log_in(result: &str, daemon: u32) -> PathBuf {
    let (_, rest) = result.split_once("the whole output: ").expect("the result names the log");
    let shown = PathBuf::from(rest.lines().next().expect("a path"));
    if shown.exists() {
        return shown;
    }
    let name = shown.file_name().expect("a name").to_owned();
    let folders = fs::read_dir(std::env::temp_dir()).expect("the temporary folder");
    let found = folders.flatten().map(|it| it.path().join("tmp").join(&name));
    found.into_iter().find(|path| path.exists()).unwrap_or_else(|| panic!("{daemon}: no {shown:?}"))
}

async fn results(work: &BusyDaemon, turn: &Value) -> Vec<String> {
    let end = work.end(turn).await;
    assert_eq!(end["reason"], "completed", "{end}");
    let state = work.daemon.client.request("agent/state", json!({})).await.unwrap();
    let tools = state["sessions"][0]["tools"].as_array().expect("tools").clone();
    let mut texts = Vec::new();
    for tool in tools {
        let of = json!({ "sessionId": turn["sessionId"], "callId": tool["callId"] });
        let output = work.daemon.client.request("agent/tool/output", of).await.unwrap();
        texts.push(output["text"].as_str().unwrap_or_default().to_owned());
    }
    texts
}

#[tokio::test]
async fn a_killed_daemon_leaves_none_of_three_background_processes_and_readable_logs() {
    for sandbox in ["none", "namespaces"] {
        let markers = [fixtures::marker(), fixtures::marker(), fixtures::marker()];
        let steps = markers.iter().map(|marker| {
            background(&format!("echo log of {marker}; setsid sleep {marker} & sleep {marker}"))
        });
        let steps: Vec<Value> = steps.chain([json!({ "text": "They run." })]).collect();
        let (mut work, turn) = at_work(sandbox, json!(steps)).await;
        let results = results(&work, &turn).await;
        for marker in &markers {
            fixtures::until_running(marker).await;
        }
        let logs: Vec<_> = results.iter().map(|it| log_in(it, work.daemon.id())).collect();
        assert_eq!(logs.len(), 3, "{results:?}");
        work.daemon.kill().await;
        for marker in &markers {
            fixtures::until_gone(marker).await;
        }
        for (log, marker) in logs.iter().zip(&markers) {
            let text = fs::read_to_string(log).unwrap_or_else(|error| panic!("{log:?}: {error}"));
            assert_eq!(text, format!("log of {marker}\n"), "{sandbox}");
            fs::remove_file(log).expect("it can be removed");
        }
    }
}

#[tokio::test]
async fn a_process_outlives_its_turn_and_ends_with_the_daemon() {
    let marker = fixtures::marker();
    let steps = json!([background(&format!("sleep {marker}")), { "text": "It runs." }]);
    let (mut work, turn) = at_work("none", steps).await;
    results(&work, &turn).await;
    fixtures::until_running(&marker).await;
    work.daemon.client.close();
    work.daemon.ends_within(Duration::from_secs(2)).await;
    fixtures::until_gone(&marker).await;
}

#[tokio::test]
async fn a_process_in_the_sandbox_has_a_terminal_on_request() {
    let command = "test -t 0 && test -t 1 && test -t 2 && echo a terminal; stty size; trap 'echo caught' INT; read -r line; echo got $line; read -r line";
    let steps = json!([
        { "calls": [{ "name": "bash", "arguments": { "command": command, "terminal": true } }] },
        { "calls": [{ "name": "process_input", "arguments": { "id": 1, "text": "words\n" } }] },
        { "calls": [{ "name": "process_output", "arguments": { "id": 1, "since": 0, "wait_for": "got words", "timeout_ms": 20000 } }] },
        { "calls": [{ "name": "process_input", "arguments": { "id": 1, "text": "\u{3}" } }] },
        { "calls": [{ "name": "process_output", "arguments": { "id": 1, "since": 0, "wait_for": "caught", "timeout_ms": 20000 } }] },
        { "calls": [{ "name": "process_stop", "arguments": { "id": 1 } }] },
        { "text": "It was a terminal." },
    ]);
    let (work, turn) = at_work("namespaces", steps).await;
    let results = results(&work, &turn).await;
    if results[0].contains("a terminal is available only in the sandbox") {
        assert!(std::env::var_os("CAIRN_NEEDS_SANDBOX").is_none(), "no sandbox works");
        return;
    }
    assert!(results[0].starts_with("a terminal\n30 120\n"), "{}", results[0]);
    assert!(results[2].contains("\nwords\ngot words\n"), "{}", results[2]);
    assert!(results[4].contains("caught"), "{}", results[4]);
    assert!(results[5].contains("process 1 "), "{}", results[5]);
}

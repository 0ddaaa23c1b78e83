//! Lifecycle of the real binary: it answers or ends within two seconds, writes only protocol messages
//! to its output, and reports the kind of end in its exit code.

use std::{
    process::{ExitStatus, Stdio},
    time::Duration,
};

use cairn_protocol::PROTOCOL_VERSION;
use cairn_tests::{
    editor_double,
    lsp_client::{Daemon, LspClient, ends_within, frame, start},
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    process::Command,
    time::timeout,
};

use crate::fixtures;

/// Time that an editor waits before it kills the daemon.
pub(super) const LIMIT: Duration = Duration::from_secs(2);

pub(super) fn hello(process_id: Option<u32>) -> Value {
    json!({
        "processId": process_id,
        "capabilities": { "experimental": { "cairn": { "protocolVersion": PROTOCOL_VERSION } } },
    })
}

/// Stage of the session when it is ended.
#[derive(Debug, Clone, Copy)]
enum Fixture {
    NothingSaid,
    Initialized,
    ShutDown,
}

impl Fixture {
    async fn play(self) -> Daemon {
        let daemon = Daemon::spawn(|_| {});
        match self {
            Fixture::NothingSaid => {}
            Fixture::Initialized => {
                daemon.client.initialize(hello(None)).await;
            }
            Fixture::ShutDown => {
                daemon.client.initialize(hello(None)).await;
                daemon.client.request("shutdown", Value::Null).await.unwrap();
            }
        }
        daemon
    }
}

/// Ends a session in a scene; input stays open unless `end` closes it.
async fn check(fixture: Fixture, end: impl FnOnce(&LspClient), code: i32) {
    let mut daemon = fixture.play().await;
    end(&daemon.client);
    let status = daemon.ends_within(LIMIT).await;
    assert_eq!(status.code(), Some(code), "{fixture:?}");
}

fn exit(client: &LspClient) {
    client.notify("exit", Value::Null);
}

#[tokio::test]
async fn exit_ends_the_daemon_with_the_input_open() {
    check(Fixture::ShutDown, exit, 0).await;
    check(Fixture::Initialized, exit, 1).await;
    check(Fixture::NothingSaid, exit, 1).await;
}

#[tokio::test]
async fn messages_after_exit_do_not_keep_the_daemon_alive() {
    let more = |client: &LspClient| {
        exit(client);
        client.ask("shutdown", Value::Null);
        exit(client);
    };
    check(Fixture::ShutDown, more, 0).await;
}

#[tokio::test]
async fn the_end_of_the_input_ends_the_daemon() {
    check(Fixture::ShutDown, LspClient::close, 0).await;
    check(Fixture::Initialized, LspClient::close, 1).await;
    check(Fixture::NothingSaid, LspClient::close, 1).await;
    let half_a_frame = |client: &LspClient| {
        client.send_raw("Content-Length: 100\r\n\r\n{\"jsonrpc\"");
        client.close();
    };
    check(Fixture::Initialized, half_a_frame, 1).await;
}

#[tokio::test]
async fn unreadable_input_ends_the_daemon_with_an_error() {
    for bytes in [
        "x".repeat(9 * 1024),
        "X-Pad: x\r\n".repeat(1024),
        "Content-Length: x\r\n\r\n{}".to_owned(),
        "Content-Length: 99999999999\r\n\r\n".to_owned(),
        "Content-Length: 18446744073709551615\r\n\r\n".to_owned(),
    ] {
        let mut daemon = Fixture::Initialized.play().await;
        daemon.client.send_raw(bytes);
        let error = daemon.client.reply(&Value::Null).await.unwrap_err();
        assert_eq!(error["code"], -32700);
        assert_eq!(daemon.ends_within(LIMIT).await.code(), Some(2));
    }
}

#[tokio::test]
async fn bad_messages_do_not_end_the_daemon() {
    let mut daemon = Fixture::Initialized.play().await;
    for bytes in [frame("{"), frame("[]"), frame("{\"a\": 1}")] {
        daemon.client.send_raw(bytes);
        daemon.client.reply(&Value::Null).await.unwrap_err();
    }
    let text = frame(
        b"{\"jsonrpc\":\"2.0\",\"id\":\"u\",\"method\":\"unknown\",\"params\":{\"a\":\"\xff\"}}",
    );
    daemon.client.send_raw(text);
    assert_eq!(daemon.client.reply(&json!("u")).await.unwrap_err()["code"], -32601);
    daemon.client.request("shutdown", json!({})).await.unwrap();
    exit(&daemon.client);
    assert_eq!(daemon.ends_within(LIMIT).await.code(), Some(0));
    // Nothing but what it says of itself once it is initialized.
    let unread = daemon.client.unread();
    assert!(unread.iter().all(|message| message["method"] == "agent/status"), "{unread:?}");
}

/// A process that lives until it is killed.
fn some_process() -> tokio::process::Child {
    #[allow(clippy::disallowed_methods, reason = "a test is not the daemon")]
    let mut command = Command::new("sleep");
    command.arg("600").kill_on_drop(true).stdin(Stdio::null()).spawn().expect("sleep starts")
}

#[tokio::test]
async fn a_dead_editor_is_noticed_while_its_pipes_are_open() {
    let mut editor = some_process();
    let mut daemon = Daemon::spawn(|_| {});
    daemon.client.initialize(hello(editor.id())).await;
    assert!(daemon.is_running());
    // Waits for it too: a zombie would still be there to see.
    editor.kill().await.unwrap();
    assert_eq!(daemon.ends_within(LIMIT).await.code(), Some(1));
}

#[tokio::test]
async fn an_editor_process_that_is_not_visible_is_not_watched() {
    let mut gone = some_process();
    let id = gone.id();
    gone.kill().await.unwrap();
    let mut daemon = Daemon::spawn(|_| {});
    daemon.client.initialize(hello(id)).await;
    // Longer than it takes to look twice: there is no event to wait for.
    let looked = timeout(Duration::from_millis(1200), daemon.client.closed()).await;
    assert!(looked.is_err(), "it ended");
    assert!(daemon.is_running());
    daemon.client.request("shutdown", Value::Null).await.unwrap();
    exit(&daemon.client);
    assert_eq!(daemon.ends_within(LIMIT).await.code(), Some(0));
}

fn unknown() -> Vec<u8> {
    frame(r#"{"jsonrpc":"2.0","id":1,"method":"unknown"}"#)
}

#[tokio::test]
async fn a_closed_output_ends_the_daemon() {
    let mut daemon = start(|_| {});
    drop(daemon.stdout.take());
    let mut input = daemon.stdin.take().unwrap();
    // It notices when it writes.
    input.write_all(&unknown()).await.unwrap();
    assert_eq!(ends_within(&mut daemon, LIMIT).await.code(), Some(1));
}

#[tokio::test]
async fn the_daemon_ends_even_if_its_output_is_not_read() {
    let mut daemon = start(|_| {});
    let mut input = daemon.stdin.take().unwrap();
    // Far more replies than a pipe holds.
    input.write_all(&unknown().repeat(3000)).await.unwrap();
    input.write_all(&frame(r#"{"jsonrpc":"2.0","method":"exit"}"#)).await.unwrap();
    assert_eq!(ends_within(&mut daemon, LIMIT).await.code(), Some(1));
}

#[tokio::test]
async fn pending_output_is_written_before_the_daemon_ends() {
    let mut daemon = Daemon::spawn(|_| {});
    let asked: Vec<_> = (0..500).map(|_| daemon.client.ask("unknown", json!({}))).collect();
    exit(&daemon.client);
    assert_eq!(daemon.ends_within(LIMIT).await.code(), Some(1));
    for id in asked {
        assert_eq!(daemon.client.reply(&id).await.unwrap_err()["code"], -32002);
    }
}

/// A daemon at work in a folder, its answers from a script.
pub(super) struct BusyDaemon {
    pub(super) daemon: Daemon,
    folder: tempfile::TempDir,
}

impl BusyDaemon {
    async fn begin(steps: Value, process_id: Option<u32>) -> Self {
        Self::begin_in(|_| {}, steps, process_id).await
    }

    pub(super) async fn begin_in(
        configure: impl FnOnce(&mut Command),
        steps: Value,
        process_id: Option<u32>,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("script.json");
        std::fs::write(&script, json!({ "cairnReplay": 1, "steps": steps }).to_string()).unwrap();
        let daemon = Daemon::spawn(configure);
        let mut params = hello(process_id);
        params["workspaceFolders"] =
            json!([{ "uri": editor_double::uri(folder.path()), "name": "work" }]);
        params["initializationOptions"]["settings"]["model"] =
            json!({ "provider": "replay", "replayFile": script });
        daemon.client.initialize(params).await;
        Self { daemon, folder }
    }

    pub(super) async fn task(&self) -> Value {
        let params = json!({ "text": "Do it" });
        self.daemon.client.request("agent/runTask", params).await.unwrap()
    }

    pub(super) async fn end(&self, turn: &Value) -> Value {
        let ended = |params: &Value| {
            params["turnId"] == turn["turnId"] && params["phase"]["kind"] == "ended"
        };
        self.daemon.client.notification("agent/turn", ended).await["phase"].take()
    }

    /// Runs a command that only ends when it is made to; returns when it runs.
    async fn sleeping(process_id: Option<u32>) -> (Self, Value, String) {
        Self::sleeping_in(|_| {}, process_id).await
    }

    async fn sleeping_in(
        configure: impl FnOnce(&mut Command),
        process_id: Option<u32>,
    ) -> (Self, Value, String) {
        let marker = fixtures::marker();
        // One of them leaves the group and does not listen.
        let command =
            format!("trap '' TERM; setsid sleep {marker} & sleep {marker}; sleep {marker}");
        let steps = json!([
            { "calls": [{ "name": "bash", "arguments": { "command": command } }] },
            { "text": "It is over." },
        ]);
        let work = Self::begin_in(configure, steps, process_id).await;
        let turn = work.task().await;
        let asked = work.daemon.client.server_request("agent/approve").await;
        assert_eq!(asked["params"]["command"], command);
        work.daemon.client.answer_with(Box::new(|client, id, method, _| {
            assert_eq!(method, "agent/save");
            client.respond(id, json!({ "failed": [] }));
        }));
        work.daemon.client.respond(&asked["id"], json!({ "decision": "allowOnce" }));
        fixtures::until_running(&marker).await;
        (work, turn, marker)
    }

    /// Waits for the end of the daemon and of its command; returns the exit status.
    async fn ends(mut self, marker: &str) -> ExitStatus {
        let status = self.daemon.ends_within(LIMIT).await;
        fixtures::until_gone(marker).await;
        status
    }
}

#[tokio::test]
async fn a_tool_sees_the_newest_of_many_changes() {
    let steps = json!([
        { "calls": [{ "name": "read_file", "arguments": { "path": "a.txt" } }] },
        { "expect": { "lastContains": ["1\\tkey 5000 of 5000, typed fast"] }, "text": "Read." },
    ]);
    let work = BusyDaemon::begin(steps, None).await;
    let uri = editor_double::uri(&work.folder.path().join("a.txt"));
    let item = json!({ "uri": uri, "languageId": "plaintext", "version": 0, "text": "key 0" });
    let client = &work.daemon.client;
    client.notify("textDocument/didOpen", json!({ "textDocument": item }));
    for version in 1..=5000 {
        // Each replaces the number that the one before has typed.
        let typed = (version - 1).to_string().len();
        let position = |character| json!({ "line": 0, "character": character });
        let range = json!({ "start": position(4), "end": position(4 + typed) });
        client.notify(
            "textDocument/didChange",
            json!({
                "textDocument": { "uri": uri, "version": version },
                "contentChanges": [{ "range": range, "text": version.to_string() }],
            }),
        );
    }
    let end = json!({ "line": 0, "character": 8 });
    let last = json!({ "range": { "start": end, "end": end }, "text": " of 5000, typed fast" });
    client.notify(
        "textDocument/didChange",
        json!({ "textDocument": { "uri": uri, "version": 5001 }, "contentChanges": [last] }),
    );
    let turn = work.task().await;
    let end = work.end(&turn).await;
    assert_eq!(end["reason"], "completed", "{end}");
}

#[tokio::test]
async fn a_cancel_is_answered_at_once_while_a_command_runs() {
    let (work, turn, marker) = BusyDaemon::sleeping(None).await;
    work.daemon.client.request("agent/cancel", turn.clone()).await.unwrap();
    // The command does not listen to TERM, and has 1.5 s from then to KILL.
    assert!(fixtures::processes(&marker) > 0, "the answer waited for the end of the command");
    assert_eq!(work.end(&turn).await["reason"], "cancelled");
    fixtures::until_gone(&marker).await;
}

#[tokio::test]
async fn the_end_of_the_input_kills_a_running_command() {
    let (work, _, marker) = BusyDaemon::sleeping(None).await;
    work.daemon.client.close();
    assert_eq!(work.ends(&marker).await.code(), Some(1));
}

#[tokio::test]
async fn the_end_of_the_editor_kills_a_running_command() {
    let mut editor = some_process();
    let (work, _, marker) = BusyDaemon::sleeping(editor.id()).await;
    editor.kill().await.unwrap();
    assert_eq!(work.ends(&marker).await.code(), Some(1));
}

#[tokio::test]
async fn a_signal_to_the_daemon_kills_a_running_command_and_its_reason_is_kept() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let state = tempfile::tempdir().unwrap();
        let configure = |command: &mut Command| {
            command.env("CAIRN_STATE_DIR", state.path());
        };
        let (work, _, marker) = BusyDaemon::sleeping_in(configure, None).await;
        let pid = i32::try_from(work.daemon.id()).ok().and_then(Pid::from_raw).unwrap();
        kill_process(pid, signal).unwrap();
        assert_eq!(work.ends(&marker).await.code(), Some(1), "{signal:?}");
        let journal = std::fs::read_to_string(fixtures::journals(state.path()).remove(0)).unwrap();
        assert!(journal.contains("Interrupted: Cairn ended while the agent worked."), "{journal}");
    }
}

/// The log of a daemon has no reader once its editor was killed.
#[tokio::test]
async fn the_reason_is_kept_when_the_editor_is_killed_with_its_log() {
    let state = tempfile::tempdir().unwrap();
    let (log, end_of_log) = std::io::pipe().unwrap();
    let configure = |command: &mut Command| {
        command.env("CAIRN_STATE_DIR", state.path()).stderr(end_of_log);
    };
    let (work, _, marker) = BusyDaemon::sleeping_in(configure, None).await;
    drop(log);
    work.daemon.client.close();
    assert_eq!(work.ends(&marker).await.code(), Some(1));
    let journal = std::fs::read_to_string(fixtures::journals(state.path()).remove(0)).unwrap();
    assert!(journal.contains("Interrupted: the window was closed"), "{journal}");
}

/// Some editors kill right after `exit`, or without it.
#[tokio::test]
async fn a_killed_daemon_leaves_no_command_running() {
    for (sandbox, exits) in [("none", true), ("none", false), ("namespaces", true)] {
        let configure = |command: &mut Command| {
            command.env("CAIRN_SANDBOX", sandbox);
        };
        let (mut work, _, marker) = BusyDaemon::sleeping_in(configure, None).await;
        if exits {
            work.daemon.client.notify("exit", json!(null));
        }
        work.daemon.kill().await;
        assert_eq!(work.ends(&marker).await.code(), None, "it was killed");
    }
}

#[tokio::test]
async fn a_bad_message_does_not_disturb_a_turn() {
    let steps = json!([
        { "calls": [{ "name": "bash", "arguments": { "command": "true" } }] },
        { "text": "All is well." },
    ]);
    let work = BusyDaemon::begin(steps, None).await;
    let turn = work.task().await;
    let client = &work.daemon.client;
    let asked = client.server_request("agent/approve").await;
    for bytes in [frame("{"), frame("[]"), frame("{\"a\": 1}")] {
        client.send_raw(bytes);
        client.reply(&Value::Null).await.unwrap_err();
    }
    // An answer to nothing, and an answer of the wrong form.
    client.respond(&json!(987), json!({}));
    client.answer_with(Box::new(|client, id, _, _| client.respond(id, json!("what?"))));
    client.respond(&asked["id"], json!({ "decision": "allowOnce" }));
    let end = work.end(&turn).await;
    assert_eq!((&end["reason"], &end["summary"]), (&json!("completed"), &json!("All is well.")));
}

#[tokio::test]
async fn no_log_contains_an_api_key() {
    const KEY: &str = "key-of-the-tests";
    let mut child = start(|command| {
        command.env("CAIRN_LOG", "trace").stderr(Stdio::piped());
    });
    let mut log = child.stderr.take().unwrap();
    let client = LspClient::over(child.stdout.take().unwrap(), child.stdin.take().unwrap());
    let reading = tokio::spawn(async move {
        let mut text = String::new();
        log.read_to_string(&mut text).await.unwrap();
        text
    });
    client.initialize(hello(None)).await;
    for provider in ["anthropic", "openai", "another"] {
        client.notify("agent/credentials", json!({ "provider": provider, "key": KEY }));
    }
    // Not of the method's form: an error may quote what it was given.
    client.notify("agent/credentials", json!({ "provider": 1, "key": KEY }));
    client.notify("agent/credentials", json!({ "provider": "openai", "key": [KEY] }));
    client.request("agent/models", json!({})).await.unwrap();
    client.request("shutdown", Value::Null).await.unwrap();
    exit(&client);
    ends_within(&mut child, LIMIT).await;
    let log = reading.await.unwrap();
    assert!(log.contains("unknown provider"), "{log}");
    assert!(!log.contains(KEY), "{log}");
}

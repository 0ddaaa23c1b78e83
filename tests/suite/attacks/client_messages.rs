//! Client messages that are malformed, early, late or too many.

use std::time::{Duration, Instant};

use cairn_protocol::PROTOCOL_VERSION;
use cairn_tests::lsp_client::frame;
use serde_json::{Value, json};

use super::AttackTest;
use crate::fixtures::{self, bash};

const LIMIT: Duration = Duration::from_secs(2);

fn hello() -> Value {
    let cairn = json!({ "cairn": { "protocolVersion": PROTOCOL_VERSION } });
    json!({ "processId": null, "capabilities": { "experimental": cairn } })
}

/// Sent one after the other in one session, which goes on after all of them.
#[tokio::test]
async fn malformed_messages_do_not_end_the_session() {
    let deep = format!("{}{}", "[".repeat(20_000), "]".repeat(20_000));
    let nested = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"agent/runTask\",\"params\":{}1{}}}",
        "{\"a\":".repeat(20_000),
        "}".repeat(20_000)
    );
    let table: &[(&str, Vec<u8>)] = &[
        ("malformed JSON", frame("{")),
        ("no object", frame("1")),
        ("a batch", frame(r#"[{"jsonrpc":"2.0","id":1,"method":"a"}]"#)),
        ("deep nesting", frame(&deep)),
        ("deep nesting in params", frame(&nested)),
        ("a fractional id", frame(r#"{"jsonrpc":"2.0","id":1.5,"method":"a"}"#)),
        ("an object for an id", frame(r#"{"jsonrpc":"2.0","id":{},"method":"a"}"#)),
        ("no jsonrpc", frame(r#"{"method":"a"}"#)),
        ("a number for a method", frame(r#"{"jsonrpc":"2.0","method":7}"#)),
        ("bytes that are no text", frame(b"\xff\xfe\xfd")),
    ];
    let mut daemon = super::daemon(|_| {});
    daemon.client.initialize(hello()).await;
    for (what, bytes) in table {
        daemon.client.send_raw(bytes.clone());
        let error = daemon.client.reply(&Value::Null).await.unwrap_err();
        assert!([-32700, -32600].contains(&error["code"].as_i64().unwrap()), "{what}: {error}");
        let next = daemon.client.request("unknown", json!({})).await.unwrap_err();
        assert_eq!(next["code"], -32601, "after {what}");
    }
    super::ran(table.len());

    // Header names ignore case.
    let small = r#"{"jsonrpc":"2.0","id":"small","method":"unknown"}"#;
    daemon.client.send_raw(format!("content-length:{}\r\n\r\n{small}", small.len()));
    assert_eq!(daemon.client.reply(&json!("small")).await.unwrap_err()["code"], -32601);
    daemon.client.request("shutdown", Value::Null).await.unwrap();
    daemon.client.notify("exit", Value::Null);
    assert_eq!(daemon.ends_within(LIMIT).await.code(), Some(0));
}

/// Starts a daemon for each row, as an editor does after such an exit.
#[tokio::test]
async fn bytes_without_a_header_are_answered_and_end_the_session() {
    let table: &[(&str, &[u8])] = &[
        ("no length", b"Content-Type: x\r\n\r\n{}"),
        ("a length that is no number", b"Content-Length: abc\r\n\r\n{}"),
        ("a negative length", b"Content-Length: -5\r\n\r\n{}"),
        ("too short a length", b"Content-Length: 5\r\n\r\n{\"a\": 1}\r\n"),
        ("a stray line", b"hello there\r\n"),
    ];
    for (what, bytes) in table {
        let mut daemon = super::daemon(|_| {});
        daemon.client.initialize(hello()).await;
        daemon.client.send_raw(bytes.to_vec());
        let error = daemon.client.reply(&Value::Null).await.unwrap_err();
        assert_eq!(error["code"], -32700, "{what}");
        assert_eq!(daemon.ends_within(LIMIT).await.code(), Some(2), "{what}");
    }
    super::ran(table.len());
}

#[tokio::test]
async fn a_request_before_initialize_or_after_shutdown_is_refused() {
    let mut daemon = super::daemon(|_| {});
    let methods = ["agent/state", "agent/runTask", "agent/rules/list", "shutdown"];
    for method in methods {
        let error = daemon.client.request(method, json!({ "text": "x" })).await.unwrap_err();
        assert_eq!(error["code"], -32002, "{method}: {error}");
    }
    daemon.client.initialize(hello()).await;
    daemon.client.request("shutdown", Value::Null).await.unwrap();
    for method in methods {
        let error = daemon.client.request(method, json!({ "text": "x" })).await.unwrap_err();
        assert_eq!(error["code"], -32600, "{method}: {error}");
    }
    super::ran(2 * methods.len());
    daemon.client.notify("exit", Value::Null);
    assert_eq!(daemon.ends_within(LIMIT).await.code(), Some(0));
}

#[tokio::test]
async fn long_keys_delay_neither_the_log_nor_the_end() {
    let long = |length: usize, number: usize| format!("{number:04}{}", "k".repeat(length - 4));
    let table = [
        ("a key of a megabyte", vec![long(1024 * 1024, 1)]),
        ("the longest keys", (0..64).map(|number| long(8 * 1024, number)).collect()),
        ("many keys", (0..1_000).map(|number| long(100, number)).collect()),
    ];
    for (what, keys) in &table {
        let mut daemon = super::daemon(|_| {});
        daemon.client.initialize(hello()).await;
        for key in keys {
            daemon.client.notify("agent/credentials", json!({ "provider": "openai", "key": key }));
        }
        let state = daemon.client.request("agent/state", json!({})).await;
        let state = state.unwrap_or_else(|error| panic!("{what}: {error}"));
        let banners = state["status"]["banners"].as_array().unwrap();
        let told = banners.iter().any(|banner| banner["code"] == "key_too_long");
        assert_eq!(told, *what == "a key of a megabyte", "{what}: {banners:?}");
        daemon.client.close();
        assert_eq!(daemon.ends_within(LIMIT).await.code(), Some(1), "{what}");
    }
    super::ran(table.len());
}

#[tokio::test]
async fn a_cancel_is_answered_at_once_behind_many_requests() {
    let test = AttackTest::open(&[], json!({})).await;
    let marker = fixtures::marker();
    test.editor.will_always_answer(fixtures::allow());
    let command = format!("sleep {marker}; true");
    test.model.push(cairn_tests::model_server::Response::reply(bash("c1", &command)));
    let turn = test.editor.run_task("Do it").await;
    fixtures::until_running(&marker).await;
    // These requests read the disk.
    let asked: Vec<_> =
        (0..100).map(|_| test.editor.client.ask("agent/sessions/list", json!({}))).collect();
    let began = Instant::now();
    let params = json!({ "sessionId": turn.session_id, "turnId": turn.turn_id });
    test.editor.client.request("agent/cancel", params).await.unwrap();
    let answered = began.elapsed();
    // Far more than it takes, also where all tests run at once; far less than they would take.
    assert!(answered < Duration::from_secs(1), "{answered:?}");
    for id in asked {
        test.editor.client.reply(&id).await.unwrap();
    }
    fixtures::until_gone(&marker).await;
    test.editor.turn_end(&turn.turn_id).await;
    super::ran(1);
    test.finish();
}

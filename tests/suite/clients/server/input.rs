//! Malformed, unusual and valid input.

use super::*;

#[tokio::test]
async fn bad_messages_do_not_end_the_session() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let bad: &[(&str, Vec<u8>, i64)] = &[
        ("malformed JSON", frame("{"), -32700),
        ("no object", frame("1"), -32600),
        ("a batch", frame(r#"[{"jsonrpc":"2.0","id":1,"method":"a"}]"#), -32600),
        ("deep nesting", frame(&deep), -32700),
        ("a fractional id", frame(r#"{"jsonrpc":"2.0","id":1.5,"method":"a"}"#), -32600),
        ("a u64 id", frame(r#"{"jsonrpc":"2.0","id":18446744073709551615,"method":"a"}"#), -32600),
        ("an array id", frame(r#"{"jsonrpc":"2.0","id":[],"method":"a"}"#), -32600),
        ("no jsonrpc", frame(r#"{"method":"a"}"#), -32600),
        (
            "too large a body",
            [b"Content-Length: 67108865\r\n\r\n", &[b' '; 67_108_865][..]].concat(),
            -32700,
        ),
    ];
    for (what, bytes, code) in bad {
        let ServerFixture { client, hub: _hub, serving: _serving } = open().await;
        client.send_raw(bytes.clone());
        let next = client.ask("unknown", json!({}));
        let error = client.reply(&Value::Null).await.unwrap_err();
        assert_eq!(error["code"], *code, "{what}: {error}");
        assert_eq!(client.reply(&next).await.unwrap_err()["code"], -32601, "after {what}");
        assert_eq!(client.unread(), Vec::<Value>::new(), "one answer to {what}");
    }
}

#[tokio::test]
async fn bytes_without_a_header_are_answered_and_end_the_session() {
    let bad: [(&str, &[u8]); 8] = [
        ("no length", b"Content-Type: x\r\n\r\n{}"),
        ("an invalid length", b"Content-Length: abc\r\n\r\n{}"),
        ("a negative length", b"Content-Length: -5\r\n\r\n{}"),
        ("a length too short", b"Content-Length: 5\r\n\r\n{\"a\": 1}\r\n"),
        // The body takes in the next header, and what follows is none.
        (
            "a length too long",
            b"Content-Length: 20\r\n\r\n{\"a\": 1}Content-Length: 8\r\n\r\n{\"a\": 1}",
        ),
        ("an absurd length", b"Content-Length: 99999999999\r\n\r\n{}"),
        ("a stray line", b"hello there\r\n"),
        ("a binary line", b"\x00\xff\xfe\r\n\r\n\n"),
    ];
    for (what, bytes) in bad {
        let ServerFixture { client, hub: _hub, serving } = open().await;
        client.send_raw(bytes.to_vec());
        assert_eq!(client.reply(&Value::Null).await.unwrap_err()["code"], -32700, "{what}");
        assert_eq!(exit(serving).await.ended, SessionEnd::UnreadableInput, "{what}");
    }
}

#[tokio::test]
async fn unusual_but_valid_messages_are_understood() {
    let ask = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"unknown"}}"#);
    let plain = ask("\"x\"");
    let odd: &[(&str, Vec<u8>)] = &[
        ("lower case", format!("content-length:{}\r\n\r\n{plain}", plain.len()).into()),
        ("line feeds only", format!("Content-Length: {}\n\n{plain}", plain.len()).into()),
        ("a content type", format!("Content-Type: text/x\r\nContent-Length: {}\r\n\r\n{plain}", plain.len()).into()),
        ("blank lines before", [b"\r\n\r\n", &frame(&plain)[..]].concat()),
        ("a lone surrogate", frame(r#"{"jsonrpc":"2.0","id":"x","method":"unknown","params":{"a":"\ud800"}}"#)),
        ("invalid UTF-8", frame(b"{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"unknown\",\"params\":{\"a\":\"\xe9\"}}")),
        ("params null", frame(r#"{"jsonrpc":"2.0","id":"x","method":"unknown","params":null}"#)),
    ];
    for (what, bytes) in odd {
        let ServerFixture { client, hub: _hub, serving: _serving } = open().await;
        client.send_raw(bytes.clone());
        assert_eq!(client.reply(&json!("x")).await.unwrap_err()["code"], -32601, "{what}");
    }
}

#[tokio::test]
async fn a_request_id_in_use_is_refused() {
    let ServerFixture { client, mut hub, serving: _serving } = open().await;
    let ask = json!({ "jsonrpc": "2.0", "id": 900, "method": "agent/state" });
    client.send(&ask);
    let first = hub.request().await;
    assert_eq!(first.method, "agent/state");
    client.send(&ask);
    assert_eq!(client.reply(&json!(900)).await.unwrap_err()["code"], -32600);
    let refusal = RequestError::from(RequestProblem::NoFolder);
    first.responder.send(Err(refusal));
    let error = client.reply(&json!(900)).await.unwrap_err();
    expect![[r#"{"code":-32002,"message":"No folder is open. The agent works inside a folder.","data":{"kind":"notReady","code":"no_folder","template":"No folder is open. The agent works inside a folder.","action":"open_folder"}}"#]]
    .assert_eq(&error.to_string());
    // Free again.
    client.send(&ask);
    drop(hub.request().await);
    assert_eq!(client.reply(&json!(900)).await.unwrap_err()["code"], -32803);
}

#[tokio::test]
async fn settings_files_and_keys_reach_the_hub() {
    let ServerFixture { client, mut hub, serving: _serving } = open().await;
    for settings in [
        json!({ "cairn": { "a": 1 } }),
        json!({ "a": 1 }),
        json!({ "cairn": null }),
        Value::Null,
        json!({ "model": {} }),
    ] {
        client.notify("workspace/didChangeConfiguration", json!({ "settings": settings }));
    }
    let changes = json!([{ "uri": "file:///w/a%20b", "type": 2 }]);
    client.notify("workspace/didChangeWatchedFiles", json!({ "changes": changes }));
    let document = json!({ "uri": "file:///w/a%20b" });
    client.notify("textDocument/didSave", json!({ "textDocument": document }));
    client.notify("textDocument/didClose", json!({ "textDocument": document }));
    client.notify("agent/credentials", json!({ "provider": "openai", "key": "k-1" }));
    let mut seen = String::new();
    for _ in 0..6 {
        seen += &format!("{:?}\n", hub.next().await);
    }
    expect![[r#"
        Settings(Object {"a": Number(1)})
        Settings(Object {"model": Object {}})
        WatchedFiles(["file:///w/a%20b"])
        DidSave { uri: "file:///w/a%20b" }
        DidClose { uri: "file:///w/a%20b" }
        Credentials(CredentialsParams { provider: "openai", key: "[redacted]", origin: None })
    "#]]
    .assert_eq(&seen);
}

/// Only a notification whose method begins with `$/` may be ignored.
#[tokio::test]
async fn a_request_in_the_dollar_namespace_is_answered() {
    let ServerFixture { client, hub: _hub, serving: _serving } = open().await;
    for method in ["$/unknown", "$/setTrace", "$/cancelRequest", "$/"] {
        let error = client.request(method, json!({ "id": 1 })).await.unwrap_err();
        assert_eq!((&error["code"], &error["data"]), (&json!(-32601), &json!(method)), "{error}");
        client.notify(method, json!({ "id": 1 }));
    }
    let error = client.request("unknown", json!({})).await.unwrap_err();
    assert_eq!(error["code"], -32601);
    assert_eq!(client.unread(), Vec::<Value>::new(), "a notification is not answered");
    client.request("shutdown", Value::Null).await.unwrap();
    let error = client.request("$/unknown", json!({})).await.unwrap_err();
    assert_eq!(error["code"], -32600, "after shutdown: {error}");
}

#[tokio::test]
async fn a_request_in_the_dollar_namespace_before_initialize_is_refused() {
    let ServerFixture { client, hub: _hub, serving: _serving } = knock().await;
    let error = client.request("$/unknown", json!({})).await.unwrap_err();
    assert_eq!(error["code"], -32002, "{error}");
}

//! The handshake, requests before and after it, and the end of a session.

use super::*;

#[tokio::test]
async fn initialize_exchanges_capabilities_and_settings() {
    let mut server = knock().await;
    let result = server
        .client
        .initialize(json!({
            "processId": null,
            "workspaceFolders": [
                { "uri": "file:///w/one%20two", "name": "one" },
                { "uri": "untitled:x", "name": "elsewhere" },
            ],
            "rootUri": "file:///ignored",
            "initializationOptions": { "settings": { "plan.reminder": { "rounds": 3 } } },
            "capabilities": { "experimental": { "cairn": { "protocolVersion": PROTOCOL_VERSION } } },
        }))
        .await;
    expect![[r#"
        {
          "capabilities": {
            "positionEncoding": "utf-16",
            "textDocumentSync": {
              "openClose": true,
              "change": 2,
              "save": true
            },
            "workspace": {
              "workspaceFolders": {
                "supported": true
              },
              "fileOperations": {
                "didCreate": {
                  "filters": [
                    {
                      "scheme": "file",
                      "pattern": {
                        "glob": "**/*"
                      }
                    }
                  ]
                },
                "didRename": {
                  "filters": [
                    {
                      "scheme": "file",
                      "pattern": {
                        "glob": "**/*"
                      }
                    }
                  ]
                },
                "didDelete": {
                  "filters": [
                    {
                      "scheme": "file",
                      "pattern": {
                        "glob": "**/*"
                      }
                    }
                  ]
                }
              }
            },
            "experimental": {
              "cairn": {
                "protocolVersion": 2,
                "protocolMinor": 0
              }
            }
          },
          "serverInfo": {
            "name": "cairn",
            "version": "0.1.0"
          }
        }"#]]
    .assert_eq(&serde_json::to_string_pretty(&result).unwrap());
    let ClientEvent::Initialized(hello) = server.hub.next().await else { panic!("not first") };
    let [folder] = &hello.folders[..] else { panic!("{:?}", hello.folders) };
    assert_eq!(folder.path, PathBuf::from("/w/one two"));
    assert_eq!(hello.settings, json!({ "plan.reminder": { "rounds": 3 } }));
    assert!(hello.speaks_agent);
    assert!(hello.trusted, "who does not know of trust means all");
}

#[tokio::test]
async fn only_an_explicit_true_trusts_the_workspace() {
    for (said, trusted) in [
        (json!({}), true),
        (json!({ "trusted": null }), true),
        (json!({ "trusted": true }), true),
        (json!({ "trusted": false }), false),
        (json!({ "trusted": "yes" }), false),
        (json!({ "trusted": 1 }), false),
    ] {
        let mut server = knock().await;
        let params = json!({ "capabilities": {}, "initializationOptions": said });
        server.client.initialize(params).await;
        server.client.notify("agent/trust", json!({ "trusted": !trusted }));
        let ClientEvent::Initialized(hello) = server.hub.next().await else { panic!("not first") };
        assert_eq!(hello.trusted, trusted, "{said}");
        assert_eq!(format!("{:?}", server.hub.next().await), format!("Trust({})", !trusted));
    }
}

#[tokio::test]
async fn another_major_protocol_version_is_refused_with_a_reason() {
    for version in [json!(1), json!("2"), Value::Null] {
        let server = knock().await;
        let cairn = json!({ "cairn": { "protocolVersion": version } });
        let params = json!({ "capabilities": { "experimental": cairn } });
        let error = server.client.request("initialize", params).await.unwrap_err();
        let message = error["message"].as_str().unwrap();
        let versions = format!("version 2 of the protocol, the editor version {version}.");
        assert!(message.contains(&versions), "{message}");
        assert_eq!(error["data"]["retry"], false);
        // The gate stays shut, and another try is possible.
        assert_eq!(
            server.client.request("agent/state", json!({})).await.unwrap_err()["code"],
            -32002
        );
        server.client.initialize(hello()).await;
    }
}

/// A client of a later minor version may know more than the daemon: what the daemon does not know, it
/// passes over.
#[tokio::test]
async fn a_later_minor_version_and_unknown_fields_are_accepted() {
    let mut server = knock().await;
    let cairn = json!({
        "protocolVersion": PROTOCOL_VERSION,
        "protocolMinor": 99,
        "capabilities": { "later": true },
    });
    let params = json!({ "capabilities": { "experimental": { "cairn": cairn } } });
    let result = server.client.initialize(params).await;
    assert_eq!(
        result["capabilities"]["experimental"]["cairn"],
        json!({ "protocolVersion": PROTOCOL_VERSION, "protocolMinor": PROTOCOL_MINOR }),
    );
    let ClientEvent::Initialized(hello) = server.hub.next().await else { panic!("not first") };
    assert!(hello.speaks_agent);
    server.client.notify("agent/trust", json!({ "trusted": false, "later": { "more": 1 } }));
    assert_eq!(format!("{:?}", server.hub.next().await), "Trust(false)");
}

#[tokio::test]
async fn the_daemon_sends_nothing_before_the_handshake() {
    let mut server = knock().await;
    server.hub.editor.notify(status(1));
    let refused = server.hub.editor.apply(edit("file:///w/a", "", None, &[]), workspace()).await;
    assert_eq!(refused.reason, Some(RefusedEdit::Failed));
    assert_eq!(server.hub.editor.approve(approve()).await.decision, ApprovalDecision::Deny);
    server.client.initialize(hello()).await;
    assert!(matches!(server.hub.next().await, ClientEvent::Initialized(_)));
    server.hub.editor.notify(status(2));
    let heard = server.client.notification("agent/status", |_| true).await;
    assert_eq!(heard["rev"], 2);
}

#[tokio::test]
async fn requests_are_accepted_only_between_initialize_and_shutdown() {
    async fn check(client: &LspClient, method: &str, params: Value, expect: Expect) {
        let seen = match client.request(method, params).await {
            Ok(result) => format!("ok {result}"),
            Err(error) => error.to_string(),
        };
        expect.assert_eq(&seen);
    }
    let ServerFixture { client, mut hub, serving } = knock().await;
    let not_ready = || {
        expect![[
            r#"{"code":-32002,"message":"The Cairn daemon is still starting. Try again.","data":{"kind":"notReady","code":"not_initialized","template":"The Cairn daemon is still starting. Try again."}}"#
        ]]
    };
    check(&client, "agent/state", json!({}), not_ready()).await;
    check(&client, "shutdown", Value::Null, not_ready()).await;
    check(&client, "unknown", json!({}), not_ready()).await;
    client.notify("textDocument/didChange", change(1));
    client.initialize(hello()).await;
    check(
        &client,
        "initialize",
        hello(),
        expect![[r#"{"code":-32600,"message":"Invalid request"}"#]],
    )
    .await;
    check(
        &client,
        "unknown",
        json!({}),
        expect![[r#"{"code":-32601,"message":"Method not found","data":"unknown"}"#]],
    )
    .await;
    check(
        &client,
        "textDocument/hover",
        json!({ "textDocument": { "uri": "file:///a" }, "position": { "line": 0, "character": 0 } }),
        expect![[r#"{"code":-32601,"message":"Method not found","data":"textDocument/hover"}"#]],
    )
    .await;
    check(
        &client,
        "agent/runTask",
        json!({ "text": 1 }),
        expect![[r#"{"code":-32602,"message":"The Cairn daemon did not understand agent/runTask: invalid type: integer `1`, expected a string","data":{"kind":"invalidParams","code":"invalid_params","template":"The Cairn daemon did not understand {method}: {reason}","args":{"method":"agent/runTask","reason":"invalid type: integer `1`, expected a string"}}}"#]],
    )
    .await;
    check(
        &client,
        "agent/runTask",
        json!(["text"]),
        expect![[r#"{"code":-32602,"message":"The Cairn daemon did not understand agent/runTask: params must be one object","data":{"kind":"invalidParams","code":"invalid_params","template":"The Cairn daemon did not understand {method}: {reason}","args":{"method":"agent/runTask","reason":"params must be one object"}}}"#]],
    )
    .await;
    client.notify("textDocument/didChange", json!({ "nonsense": true }));
    client.notify("unknown", json!({}));
    check(&client, "shutdown", Value::Null, expect!["ok null"]).await;
    let over = || {
        expect![[
            r#"{"code":-32600,"message":"The Cairn daemon has stopped. Restart it.","data":{"kind":"notReady","code":"already_shut_down","template":"The Cairn daemon has stopped. Restart it.","action":"restart"}}"#
        ]]
    };
    check(&client, "agent/state", json!({}), over()).await;
    check(&client, "shutdown", Value::Null, over()).await;
    client.notify("textDocument/didChange", change(2));
    client.notify("exit", Value::Null);
    assert_eq!(
        exit(serving).await,
        SessionExit { ended: SessionEnd::ExitRequested, after_shutdown: true }
    );
    client.closed().await;
    // Neither what came too early, too late, nor garbled reached the hub.
    assert!(matches!(hub.next().await, ClientEvent::Initialized(_)));
    assert!(hub.events.recv().await.is_none());
}

#[tokio::test]
async fn the_exit_code_follows_the_end_of_the_session() {
    async fn check(leave: impl AsyncFnOnce(&mut ServerFixture), expect: (SessionEnd, bool, u8)) {
        let mut server = open().await;
        leave(&mut server).await;
        let exit = exit(server.serving).await;
        assert_eq!((exit.ended, exit.after_shutdown, exit.code()), expect);
    }
    let shutdown = async |server: &mut ServerFixture| {
        server.client.request("shutdown", Value::Null).await.unwrap();
    };
    check(
        async |server| server.client.notify("exit", Value::Null),
        (SessionEnd::ExitRequested, false, 1),
    )
    .await;
    check(async |server| server.client.close(), (SessionEnd::InputClosed, false, 1)).await;
    check(
        async |server| {
            shutdown(server).await;
            server.client.close();
        },
        (SessionEnd::InputClosed, true, 0),
    )
    .await;
    check(async |server| server.hub.events.close(), (SessionEnd::HubStopped, false, 2)).await;
    check(
        async |server| server.client.send_raw("Content-Length: 18446744073709551615\r\n\r\n"),
        (SessionEnd::UnreadableInput, false, 2),
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn exit_takes_at_most_two_seconds() {
    let (mut to_server, input) = duplex(PIPE);
    // The hub does not end, nobody reads the output, and the children do not die.
    let (output, _from_server) = duplex(16);
    let (events, _queue) = mpsc::unbounded_channel();
    let serving = lsp::serve(
        input,
        output,
        |_| (events, TaskTracker::new()),
        std::future::pending(),
        std::future::pending(),
    );
    to_server.write_all(&frame(r#"{"jsonrpc":"2.0","id":1,"method":"a"}"#)).await.unwrap();
    to_server.write_all(&frame(r#"{"jsonrpc":"2.0","method":"exit"}"#)).await.unwrap();
    let before = tokio::time::Instant::now();
    assert_eq!(serving.await.ended, SessionEnd::ExitRequested);
    assert!(before.elapsed() < Duration::from_secs(2), "{:?}", before.elapsed());
}

#[tokio::test]
async fn the_hub_ends_before_child_processes_are_killed() {
    let (mut to_server, input) = duplex(PIPE);
    let (output, _from_server) = duplex(PIPE);
    let (events, mut queue) = mpsc::unbounded_channel();
    let order = Arc::new(Mutex::new(Vec::new()));
    let hub = TaskTracker::new();
    let ended = Arc::clone(&order);
    hub.spawn(async move {
        while queue.recv().await.is_some() {}
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        ended.lock().unwrap().push("the hub");
    });
    hub.close();
    let farewell = async { order.lock().unwrap().push("its children") };
    let serving = lsp::serve(input, output, |_| (events, hub), std::future::pending(), farewell);
    to_server.write_all(&frame(r#"{"jsonrpc":"2.0","method":"exit"}"#)).await.unwrap();
    serving.await;
    assert_eq!(*order.lock().unwrap(), ["the hub", "its children"]);
}

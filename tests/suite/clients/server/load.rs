//! Order and load: messages keep their order, and every request gets an answer under load.

use super::*;

#[tokio::test]
async fn document_changes_keep_their_order() {
    let mut server = open().await;
    for version in 0..5000 {
        server.client.notify("textDocument/didChange", change(version));
    }
    for expected in 0..5000 {
        let ClientEvent::DidChange { uri, version, changes } = server.hub.next().await else {
            panic!("only changes were sent")
        };
        assert_eq!((uri.as_str(), version, changes.len()), ("file:///w/a", expected, 1));
    }
}

#[tokio::test]
async fn a_request_sees_exactly_the_text_sent_before_it() {
    let ServerFixture { client, mut hub, serving: _serving } = open().await;
    let answering = tokio::spawn(async move {
        let mut seen = 0;
        let mut late = Vec::new();
        for _ in 0..200 * 26 {
            match hub.next().await {
                ClientEvent::DidChange { version, .. } => seen = version,
                // Answered in the reverse order, to prove that answers find their requests.
                ClientEvent::Request(request) => late.push((request.responder, seen)),
                event => panic!("unexpected {event:?}"),
            }
        }
        for (reply, seen) in late.into_iter().rev() {
            reply.send(Ok(result(started(seen))));
        }
        hub
    });
    let mut asked = Vec::new();
    for round in 1..=200 {
        for step in 1..=25 {
            client.notify("textDocument/didChange", change(round * 100 + step));
        }
        asked.push((client.ask("agent/runTask", json!({ "text": "go" })), round * 100 + 25));
    }
    for (id, version) in asked {
        assert_eq!(client.reply(&id).await.unwrap()["turnId"], version.to_string());
    }
    answering.await.unwrap();
}

#[tokio::test]
async fn notifications_of_the_daemon_keep_their_order() {
    let ServerFixture { client, hub, serving: _serving } = open().await;
    let mut pending = Vec::new();
    for rev in 1..=500 {
        hub.editor.notify(status(rev));
        pending
            .push(hub.editor.approve(ApproveParams { approval_id: rev.to_string(), ..approve() }));
    }
    for rev in 1..=500 {
        let notice = client.take("a message", |_| true).await;
        assert_eq!(
            (&notice["method"], &notice["params"]["rev"]),
            (&json!("agent/status"), &json!(rev))
        );
        let question = client.take("a message", |_| true).await;
        assert_eq!(question["params"]["approvalId"], rev.to_string());
        client.respond(&question["id"], json!({ "decision": "allowOnce" }));
    }
    for approval in pending {
        assert_eq!(approval.await.decision, ApprovalDecision::AllowOnce);
    }
}

#[tokio::test]
async fn cancel_works_behind_many_queued_messages() {
    let ServerFixture { client, mut hub, serving: _serving } = open().await;
    let asked: Vec<_> =
        (0..4096).map(|_| client.ask("agent/runTask", json!({ "text": "go" }))).collect();
    let mut held = Vec::new();
    for _ in &asked {
        held.push(hub.request().await);
    }
    client.notify("$/cancelRequest", json!({ "id": asked[2048] }));
    assert_eq!(client.reply(&asked[2048]).await.unwrap_err()["code"], -32800);
    // The number 7 is not the string "7", and what is unknown is ignored.
    client.notify("$/cancelRequest", json!({ "id": asked[0].to_string() }));
    client.notify("$/cancelRequest", json!({ "id": 1.5 }));
    client.notify("$/cancelRequest", Value::Null);
    let cancel = client.ask("agent/cancel", json!({ "sessionId": "s1", "turnId": "t1" }));
    let request = hub.request().await;
    assert_eq!(request.method, "agent/cancel");
    request.responder.send(Ok(result(Empty {})));
    assert_eq!(client.reply(&cancel).await, Ok(json!({})));
    drop(held);
    let error = client.reply(&asked[0]).await.unwrap_err();
    assert_eq!(error["data"]["kind"], "internal", "a dropped reply is an answer too");
}

#[tokio::test]
async fn too_many_requests_are_refused_at_once() {
    let ServerFixture { client, mut hub, serving: _serving } = open().await;
    let asked: Vec<_> = (0..8192).map(|_| client.ask("agent/state", json!({}))).collect();
    let refused = client.request("agent/state", json!({})).await.unwrap_err();
    assert_eq!(
        (&refused["code"], &refused["data"]["kind"]),
        (&json!(-32001), &json!("overloaded"))
    );
    for _ in &asked {
        drop(hub.request().await);
    }
    for id in &asked {
        assert_eq!(client.reply(id).await.unwrap_err()["code"], -32803);
    }
    let next = client.ask("agent/state", json!({}));
    drop(hub.request().await);
    assert_eq!(client.reply(&next).await.unwrap_err()["code"], -32803);
    client.request("shutdown", Value::Null).await.unwrap();
}

#[tokio::test]
async fn input_is_read_while_the_client_does_not_read_its_output() {
    let (mut to_server, input) = duplex(PIPE);
    let (output, from_server) = duplex(64);
    let (mut hub, _serving) = serve(input, output).await;
    let message = |id: u32, method: &str, params: Value| {
        frame(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string())
    };
    to_server.write_all(&message(0, "initialize", hello())).await.unwrap();
    for id in 1..=1000 {
        to_server.write_all(&message(id, "unknown", json!({}))).await.unwrap();
        to_server.write_all(&message(10_000 + id, "agent/state", json!({}))).await.unwrap();
    }
    for rev in 1..=1000 {
        drop(hub.request().await);
        hub.editor.notify(status(rev));
    }
    // Now it reads.
    let client = LspClient::over(from_server, to_server);
    client.reply(&json!(0)).await.unwrap();
    for id in 1..=1000 {
        assert_eq!(client.reply(&json!(id)).await.unwrap_err()["code"], -32601);
        assert_eq!(client.reply(&json!(10_000 + id)).await.unwrap_err()["code"], -32803);
    }
    for rev in 1..=1000 {
        assert_eq!(client.notification("agent/status", |_| true).await["rev"], rev);
    }
    assert_eq!(client.unread(), Vec::<Value>::new());
}

#[tokio::test]
async fn a_large_document_is_transferred() {
    let mut server = open().await;
    let text = "line of text\n".repeat(300_000);
    let item = json!({ "uri": "file:///big", "languageId": "x", "version": 1, "text": text });
    server.client.notify("textDocument/didOpen", json!({ "textDocument": item }));
    let ClientEvent::DidOpen { text: heard, .. } = server.hub.next().await else {
        panic!("opened")
    };
    assert_eq!(heard.len(), text.len());
}

//! Requests and notifications of the daemon to an editor.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_late_answer_is_ignored() {
    let ServerFixture { client, hub, serving: _serving } = open().await;
    let applying = tokio::spawn(hub.editor.apply(edit("file:///w/a", "", None, &[]), workspace()));
    let saving = tokio::spawn(hub.editor.save(SaveParams { uris: vec!["file:///w/a".into()] }));
    let apply = client.server_request("agent/applyEdit").await;
    let save = client.server_request("agent/save").await;
    let result = applying.await.unwrap();
    assert_eq!(
        (result.applied, result.reason, result.message),
        (false, None, None),
        "it may still come"
    );
    assert_eq!(saving.await.unwrap().failed[0].reason, "the editor did not answer in time");

    client.respond(&apply["id"], json!({ "applied": true, "wasDirty": false }));
    client.respond(&apply["id"], json!({ "applied": true, "wasDirty": false }));
    client.respond_error(&save["id"], -1, "too late");
    client.respond(&json!(4711), json!({}));
    client.respond(&json!("4711"), json!({}));

    // Someone who stops asking is no harm either.
    drop(tokio::time::timeout(Duration::from_secs(60), hub.editor.approve(approve())).await);
    let question = client.server_request("agent/approve").await;
    client.respond(&question["id"], json!({ "decision": "deny" }));

    let asking = tokio::spawn(hub.editor.approve(approve()));
    let question = client.server_request("agent/approve").await;
    client.respond(&question["id"], json!({ "decision": "allowSession" }));
    assert_eq!(asking.await.unwrap().decision, ApprovalDecision::AllowSession);
}

#[tokio::test]
async fn an_invalid_answer_is_a_failure_with_a_reason() {
    let ServerFixture { client, hub, serving } = open().await;
    let asking = tokio::spawn(hub.editor.approve(approve()));
    let question = client.server_request("agent/approve").await;
    client.respond(&question["id"], json!({ "decision": "perhaps" }));
    let answer = asking.await.unwrap();
    assert_eq!(answer.decision, ApprovalDecision::Deny);
    expect!["the editor's answer is not understood: unknown variant `perhaps`, expected one of `allowOnce`, `allowSession`, `allowAlways`, `allowPattern`, `deny`"]
        .assert_eq(&answer.feedback.unwrap());

    let asking = tokio::spawn(hub.editor.approve(approve()));
    let question = client.server_request("agent/approve").await;
    client.respond_error(&question["id"], -32601, "what is that?");
    let answer = asking.await.unwrap();
    assert_eq!(answer.feedback.as_deref(), Some("the editor refused: what is that?"));

    let asking = tokio::spawn(hub.editor.approve(approve()));
    client.server_request("agent/approve").await;
    client.close();
    exit(serving).await;
    let answer = asking.await.unwrap();
    assert_eq!(answer.decision, ApprovalDecision::Deny);
    assert_eq!(answer.feedback.as_deref(), Some("the editor is gone"));
}

async fn open_plain(capabilities: Value) -> ServerFixture {
    let mut server = knock().await;
    server.client.initialize(json!({ "capabilities": capabilities })).await;
    let ClientEvent::Initialized(hello) = server.hub.next().await else { panic!("not first") };
    assert!(!hello.speaks_agent);
    server
}

#[tokio::test]
async fn a_standard_client_gets_edits_within_its_capabilities() {
    async fn check(support: Value, expect: &Expect) {
        let capabilities = json!({ "workspace": { "workspaceEdit": support } });
        let ServerFixture { client, hub, serving: _serving } = open_plain(capabilities).await;
        let edits = [TextEdit { range: range((0, 1), (0, 2)), new_text: "x".into() }];
        let applying =
            tokio::spawn(hub.editor.apply(edit("file:///w/a", "", Some(3), &edits), workspace()));
        let request = client.server_request("workspace/applyEdit").await;
        expect.assert_eq(&request["params"]["edit"].to_string());
        client.respond(&request["id"], json!({ "applied": true }));
        let result = applying.await.unwrap();
        assert!(result.applied && result.was_dirty, "{result:?}");
    }
    check(
        json!({}),
        &expect![[
            r#"{"changes":{"file:///w/a":[{"range":{"start":{"line":0,"character":1},"end":{"line":0,"character":2}},"newText":"x"}]}}"#
        ]],
    )
    .await;
    let versioned = expect![[
        r#"{"documentChanges":[{"textDocument":{"uri":"file:///w/a","version":3},"edits":[{"range":{"start":{"line":0,"character":1},"end":{"line":0,"character":2}},"newText":"x"}]}]}"#
    ]];
    check(json!({ "documentChanges": true }), &versioned).await;
    // Neovim does not say so, but operations on files come in no other form.
    check(json!({ "resourceOperations": ["create"] }), &versioned).await;
}

#[tokio::test]
async fn closed_files_are_changed_on_disk_for_a_standard_client() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/a");
    let uri = editor_double::uri(&path);
    let ServerFixture { client, hub, serving: _serving } = open_plain(json!({})).await;
    let apply = async |change| {
        let params =
            ApplyEditParams { uri: uri.clone(), label: "Cairn".into(), encoding: None, change };
        let result = hub.editor.apply(params, workspace()).await;
        (result.applied, result.reason)
    };
    const ON_DISK: (bool, Option<RefusedEdit>) = (true, Some(RefusedEdit::Closed));
    const STALE: (bool, Option<RefusedEdit>) = (false, Some(RefusedEdit::Stale));
    let create = || FileChange::Create { text: "one\n".into() };
    assert_eq!(apply(create()).await, ON_DISK);
    assert_eq!(apply(create()).await, STALE);
    let edits = [TextEdit { range: range((0, 0), (0, 3)), new_text: "1".into() }];
    let edit = |text| edit(&uri, text, None, &edits).change;
    assert_eq!(apply(edit("another\n")).await, STALE);
    assert_eq!(fs::read_to_string(&path).unwrap(), "one\n");
    assert_eq!(apply(edit("one\n")).await, ON_DISK);
    assert_eq!(fs::read_to_string(&path).unwrap(), "1\n");
    let delete = |text| FileChange::Delete {
        expected_hash: editor_double::hash(text),
        empty_folders: Vec::new(),
    };
    assert_eq!(apply(delete("one\n")).await, (false, Some(RefusedEdit::Failed)));
    assert_eq!(apply(delete("1\n")).await, ON_DISK);
    assert!(!path.exists());

    // What it has open it alone can save.
    let saved = hub.editor.save(SaveParams { uris: vec![uri.clone()] }).await;
    assert_eq!(saved.failed[0].reason, "this editor cannot be asked to save");
    assert_eq!(client.unread(), Vec::<Value>::new());
}

#[tokio::test]
async fn a_standard_client_gets_questions_and_notices_as_messages() {
    let ServerFixture { client, hub, serving: _serving } = open_plain(json!({})).await;
    let cases = [
        (json!({ "title": "Allow once" }), ApprovalDecision::AllowOnce),
        (json!({ "title": "Allow for this session" }), ApprovalDecision::AllowSession),
        (json!({ "title": "Deny" }), ApprovalDecision::Deny),
        (json!({ "title": "allow once" }), ApprovalDecision::Deny),
        (Value::Null, ApprovalDecision::Deny),
    ];
    for (answer, decision) in cases {
        let asking = tokio::spawn(hub.editor.approve(approve()));
        let question = client.server_request("window/showMessageRequest").await;
        expect![[r#"{"type":2,"message":"Run a command: A hook in your settings asks for your approval.\n(in /w)\nnpm test","actions":[{"title":"Deny"},{"title":"Allow once"},{"title":"Allow for this session"}]}"#]]
            .assert_eq(&question["params"].to_string());
        client.respond(&question["id"], answer);
        assert_eq!(asking.await.unwrap().decision, decision);
    }
    let rules = vec!["npm test".to_owned(), "npm run 'a b'".to_owned()];
    let asking = tokio::spawn(hub.editor.approve(ApproveParams { rules, ..approve() }));
    let question = client.server_request("window/showMessageRequest").await;
    expect![[r#"{"type":2,"message":"Run a command: A hook in your settings asks for your approval.\n(in /w)\nnpm test\nAlways would allow here, word for word:\n  npm test\n  npm run 'a b'","actions":[{"title":"Deny"},{"title":"Allow once"},{"title":"Allow for this session"},{"title":"Always allow in this folder"}]}"#]]
        .assert_eq(&question["params"].to_string());
    client.respond(&question["id"], json!({ "title": "Always allow in this folder" }));
    assert_eq!(asking.await.unwrap().decision, ApprovalDecision::AllowAlways);
    let (rules, rules_folder) = (vec!["npm test".to_owned()], Some("/w/\u{202e}a".to_owned()));
    let asking =
        tokio::spawn(hub.editor.approve(ApproveParams { rules, rules_folder, ..approve() }));
    let question = client.server_request("window/showMessageRequest").await;
    let shown = question["params"]["message"].as_str().unwrap();
    assert!(shown.ends_with("Always would allow in /w/\\u{202e}a, word for word:\n  npm test"));
    client.respond(&question["id"], Value::Null);
    assert_eq!(asking.await.unwrap().decision, ApprovalDecision::Deny);
    // Lines of the command's own push nothing out of sight, and what is not shown is not allowed.
    for command in ["touch a\n".repeat(3), "\n".repeat(40) + "rm b", "x".repeat(5_000)] {
        let asked = ApproveParams { command: command.clone(), ..approve() };
        let asking = tokio::spawn(hub.editor.approve(asked));
        let question = client.server_request("window/showMessageRequest").await;
        let shown = question["params"]["message"].as_str().unwrap();
        assert!(
            shown.starts_with(
                "Run a command: A hook in your settings asks for your approval.\n(in /w)\n"
            ),
            "{shown}"
        );
        let answers = question["params"]["actions"].as_array().unwrap().len();
        assert_eq!(answers, if command.starts_with('t') { 3 } else { 1 }, "{shown}");
        let counted = command.contains('\n');
        assert_eq!(shown.contains("lines]"), counted, "{shown}");
        assert!(shown.len() < 1_500);
        client.respond(&question["id"], json!({ "title": "Deny" }));
        assert_eq!(asking.await.unwrap().decision, ApprovalDecision::Deny);
    }
    hub.editor.notify(status(1));
    hub.editor.notify(Notice::Message(MessageNotification {
        session_id: "s1".into(),
        turn_id: "t1".into(),
        rev: 1,
        item_id: "i1".into(),
        role: MessageRole::Assistant,
        delta: String::new(),
        text: Some("All done.".into()),
        incomplete: false,
        notice: None,
        at: None,
        ended_at: None,
        unread: false,
        attachments: Vec::new(),
    }));
    // The status was dropped: the message is the first thing heard.
    let message = client.take("a message", |_| true).await;
    expect![[r#"{"jsonrpc":"2.0","method":"window/logMessage","params":{"type":3,"message":"All done."}}"#]]
        .assert_eq(&message.to_string());
}

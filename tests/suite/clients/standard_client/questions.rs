//! Questions to the user of a standard client, and each way they end.

use cairn::{environment::Environment, hub, lsp};
use cairn_tests::{editor_double, lsp_client::LspClient};
use serde_json::{Value, json};

use super::{StandardClient, literals, titles};

const QUESTION: &str = "window/showMessageRequest";

/// A turn that has asked for `touch 1`, and says "Then not." if the call's result holds these words;
/// with the id of the question.
async fn asked(told: &str) -> (StandardClient, Value) {
    let call = json!({ "name": "bash", "arguments": { "command": "touch 1" } });
    let steps = json!([
        { "calls": [call] },
        { "expect": { "lastContains": ["The user declined", told] }, "text": "Then not." },
    ]);
    let (plain, _) = StandardClient::open(json!({}), steps).await;
    plain.command("cairn.runTask", json!(["Do it"])).await.unwrap();
    let question = plain.client.server_request(QUESTION).await;
    assert_eq!(question["params"]["actions"][0]["title"], "Deny", "{question}");
    (plain, question["id"].clone())
}

impl StandardClient {
    async fn goes_on(&self) {
        self.shown("Then not.").await;
        assert!(!self.folder.path().join("1").exists(), "nothing ran");
    }
}

#[tokio::test]
async fn any_answer_to_a_dismissed_question_declines_and_the_turn_continues() {
    for answer in [
        json!({ "result": null }),
        json!({ "result": null, "error": null }),
        json!({ "result": {} }),
        json!({ "result": { "title": "" } }),
        json!({ "result": [] }),
        json!({ "error": { "code": -32603, "message": "Internal error" } }),
        json!({ "error": { "code": -32800, "message": "cancelled" } }),
        json!({ "error": "quit" }),
        json!({ "error": 7 }),
        json!({}),
        json!({ "error": null }),
    ] {
        let (plain, id) = asked("").await;
        let mut message = json!({ "jsonrpc": "2.0", "id": id });
        let members = answer.as_object().unwrap().clone();
        message.as_object_mut().unwrap().extend(members);
        plain.client.send(&message);
        plain.goes_on().await;
    }
}

/// vim-lsp presets nothing, and takes only the first answer.
#[tokio::test]
async fn vim_lsp_can_allow_a_call() {
    let (to_daemon, input) = tokio::io::duplex(64 * 1024);
    let (output, from_daemon) = tokio::io::duplex(64 * 1024);
    let folder = tempfile::tempdir().unwrap();
    let call = json!({ "name": "bash", "arguments": { "command": "touch 1" } });
    let script = folder.path().join("script.json");
    let steps = json!([{ "calls": [call] }, { "text": "Then not." }]);
    std::fs::write(&script, json!({ "cairnReplay": 1, "steps": steps }).to_string()).unwrap();
    let environment = Environment::default();
    let start = |editor| hub::spawn(editor, environment);
    tokio::spawn(lsp::serve(input, output, start, std::future::pending(), async {}));
    let client = LspClient::over(from_daemon, to_daemon);
    client
        .initialize(json!({
            "clientInfo": { "name": "vim-lsp" },
            "capabilities": {},
            "rootUri": editor_double::uri(folder.path()),
            "initializationOptions": { "settings": {
                "model": { "provider": "replay", "replayFile": script },
            } },
        }))
        .await;
    let params = json!({ "command": "cairn.runTask", "arguments": ["Do it"] });
    client.request("workspace/executeCommand", params).await.unwrap();
    let question = client.server_request(QUESTION).await;
    let answers = json!([{ "title": "Allow once" }, { "title": "Deny" }]);
    assert_eq!(question["params"]["actions"], answers);
}

/// Helix before 25.07 answers `window/showMessageRequest` with MethodNotFound (helix-term,
/// `application.rs`, `handle_language_server_message`).
async fn asked_where_questions_are_unknown(command: &str, then: Value) -> StandardClient {
    let call = json!({ "name": "bash", "arguments": { "command": command } });
    let (plain, _) = StandardClient::open(literals(), json!([{ "calls": [call] }, then])).await;
    plain.command("cairn.runTask", json!(["Do it"])).await.unwrap();
    let question = plain.client.server_request(QUESTION).await;
    plain.client.respond_error(&question["id"], -32601, "Method not found");
    let shown = plain.shown("Run a command: ").await;
    assert!(shown.contains(". Answer with a code action. (in /"), "{shown}");
    plain
}

#[tokio::test]
async fn a_client_without_message_requests_answers_by_code_action() {
    let then = json!({ "text": "Then so." });
    let plain = asked_where_questions_are_unknown("touch 1", then).await;
    // Not where the editor looks by itself.
    let automatic = plain.actions("a.txt", (2, 2), json!({ "triggerKind": 2 })).await;
    assert_eq!(titles(&automatic), "");
    let offered = plain.actions("a.txt", (2, 2), json!({})).await;
    let expected = "Deny: Run a command: touch 1 [quickfix]\n\
        Allow once: Run a command: touch 1 [quickfix]\n\
        Allow for this session: Run a command: touch 1 [quickfix]\n";
    assert_eq!(titles(&offered), expected);
    // No answer without the id of the question.
    for wrong in [json!([]), json!([{ "decision": "allowOnce" }]), json!(["allowOnce"])] {
        let error = plain.command("cairn.answer", wrong).await.unwrap_err();
        assert_eq!(error["code"], -32602, "{error}");
    }
    let other = json!([{ "approvalId": "another", "decision": "allowOnce" }]);
    let answered = plain.command("cairn.answer", other).await.unwrap();
    assert_eq!(answered, json!({ "accepted": false }));
    assert_eq!(plain.follow(&offered[1]["command"]).await, json!({ "accepted": true }));
    plain.shown("Then so.").await;
    assert!(plain.folder.path().join("1").exists());
    // It is over, and so are its answers.
    assert_eq!(titles(&plain.actions("a.txt", (2, 2), json!({})).await), "");
    assert_eq!(plain.follow(&offered[0]["command"]).await, json!({ "accepted": false }));
}

#[tokio::test]
async fn a_question_too_long_for_an_action_title_can_only_be_denied() {
    let declined = json!({ "lastContains": ["The user declined"] });
    let then = json!({ "expect": declined, "text": "Then not." });
    for command in ["touch 1\ntouch 2".to_owned(), format!("touch 1 {}", "a".repeat(100))] {
        let plain = asked_where_questions_are_unknown(&command, then.clone()).await;
        let offered = plain.actions("a.txt", (0, 0), json!({})).await;
        assert_eq!(offered.len(), 1, "{offered:?}");
        assert!(titles(&offered).starts_with("Deny: Run a command: touch 1"));
        plain.follow(&offered[0]["command"]).await;
        plain.goes_on().await;
    }
}

/// eglot and lsp-mode send no answer when the user presses `C-g`.
#[tokio::test]
async fn an_unanswered_question_can_be_answered_by_code_action() {
    let (plain, id) = asked("").await;
    let offered = plain.actions("a.txt", (0, 0), json!({})).await;
    assert_eq!(offered[0]["title"], "Deny: Run a command: touch 1");
    plain.follow(&offered[0]).await;
    plain.goes_on().await;
    // A yes that comes late is none.
    plain.client.respond(&id, json!({ "title": "Allow once" }));
    assert_eq!(plain.actions("a.txt", (0, 0), json!({})).await.len(), 0);
    assert!(!plain.folder.path().join("1").exists());
}

#[tokio::test]
async fn deny_closes_a_question_that_the_editor_never_answers() {
    let (plain, id) = asked("They said: Use make instead").await;
    let declined = plain.command("cairn.deny", json!(["Use make instead"])).await.unwrap();
    assert_eq!(declined, json!({ "declined": 1 }));
    plain.goes_on().await;
    // A yes that comes late is none.
    plain.client.respond(&id, json!({ "title": "Allow once" }));
    let declined = plain.command("cairn.deny", json!([])).await.unwrap();
    assert_eq!(declined, json!({ "declined": 0 }));
    assert!(!plain.folder.path().join("1").exists());
}

#[tokio::test]
async fn cairn_reply_declines_the_open_question() {
    let (plain, _) = asked("They said: No, only look").await;
    plain.command("cairn.reply", json!(["No, only look"])).await.unwrap();
    plain.goes_on().await;
}

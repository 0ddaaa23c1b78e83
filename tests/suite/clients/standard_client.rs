//! Review with standard LSP only: code lenses, code actions, commands, diagnostics and messages, for
//! clients with different capabilities. `neovim` tests a real one.
//!
//! The clock is paused, so that a slow machine is no slow editor.

use std::{
    collections::HashMap,
    fs,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
};

use cairn::{environment::Environment, hub, lsp};
use cairn_core::text::{Position, Text};
use cairn_tests::{
    editor_double,
    lsp_client::{LspClient, binary},
};
use expect_test::{Expect, expect};
use serde_json::{Value, json};
use tokio::io::duplex;

mod questions;
mod selection;
mod settings;
mod units;

const BEFORE: &str = "one\ntwo\nthree\nfour\nfive\n";
const AFTER: &str = "1\ntwo\nthree\n5\n";

/// An editor that applies edits and tells what changed, and nothing more.
struct StandardClient {
    client: LspClient,
    documents: Arc<Mutex<HashMap<String, (i32, Text)>>>,
    refreshed: Arc<AtomicU32>,
    folder: tempfile::TempDir,
}

fn proposals() -> Value {
    let read = |path: &str| json!({ "name": "read_file", "arguments": { "path": path } });
    let edit = |path: &str, old: &str, new: &str| {
        json!({
            "name": "edit_file",
            "arguments": { "path": path, "old_text": old, "new_text": new },
        })
    };
    json!([
        { "calls": [read("a.txt"), read("b.txt")] },
        { "calls": [edit("a.txt", "one\n", "1\n"), edit("a.txt", "four\nfive\n", "5\n")] },
        { "calls": [edit("b.txt", "dos", "2\n\n")] },
        { "text": "Shall I go on?" },
        { "text": "Then I stop." },
    ])
}

impl StandardClient {
    /// In a folder with `a.txt`, open, and `b.txt`, which is not.
    async fn open(capabilities: Value, steps: Value) -> (Self, Value) {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.txt"), BEFORE).unwrap();
        fs::write(folder.path().join("b.txt"), "uno\ndos").unwrap();
        let script = folder.path().join("script.json");
        fs::write(&script, json!({ "cairnReplay": 1, "steps": steps }).to_string()).unwrap();
        let (to_daemon, input) = duplex(64 * 1024);
        let (output, from_daemon) = duplex(64 * 1024);
        let environment = Environment { program: Some(binary()), ..Environment::default() };
        let start = |editor| hub::spawn(editor, environment);
        tokio::spawn(lsp::serve(input, output, start, std::future::pending(), async {}));
        let client = LspClient::over(from_daemon, to_daemon);
        let (documents, refreshed) = Default::default();
        let plain = Self { client, documents, refreshed, folder };
        let hello = plain
            .client
            .initialize(json!({
                "capabilities": capabilities,
                "rootUri": editor_double::uri(plain.folder.path()),
                "initializationOptions": { "settings": {
                    "model": { "provider": "replay", "replayFile": script },
                } },
            }))
            .await;
        plain.open_file("a.txt");
        (plain, hello)
    }

    /// The same with two hunks pending in `a.txt` and one in `b.txt`.
    async fn proposed(capabilities: Value) -> Self {
        let (plain, _) = Self::open(capabilities, proposals()).await;
        plain.answer_edits();
        let turn = plain.command("cairn.runTask", json!(["Do it"])).await.unwrap();
        assert!(turn["sessionId"].is_string() && turn["turnId"].is_string(), "{turn}");
        assert_eq!(plain.shown("Shall").await, "Shall I go on?");
        assert_eq!(plain.text("a.txt"), AFTER);
        plain
    }

    fn answer_edits(&self) {
        let documents = Arc::clone(&self.documents);
        let refreshed = Arc::clone(&self.refreshed);
        self.client.answer_with(Box::new(move |client, id, method, params| match method {
            "workspace/applyEdit" => {
                let changes = params["edit"]["changes"].as_object().unwrap();
                let (uri, edits) = changes.iter().next().unwrap();
                let mut documents = documents.lock().unwrap();
                let (version, text) = documents.get_mut(uri).expect("only what is open");
                for edit in edits.as_array().unwrap().iter().rev() {
                    let at = |end: &str| text.char_of(position(&edit["range"][end]));
                    let range = at("start")..at("end");
                    text.replace(range, edit["newText"].as_str().unwrap());
                }
                *version += 1;
                client.respond(id, json!({ "applied": true }));
                let document = json!({ "uri": uri, "version": *version });
                let changes = json!([{ "text": text.to_string() }]);
                let params = json!({ "textDocument": document, "contentChanges": changes });
                client.notify("textDocument/didChange", params);
            }
            "workspace/codeLens/refresh" => {
                assert_eq!(*params, Value::Null);
                refreshed.fetch_add(1, Ordering::Relaxed);
                client.respond(id, Value::Null);
            }
            _ => panic!("{method}"),
        }));
    }

    /// The user's own edit.
    fn change(&self, name: &str, edit: impl FnOnce(&mut Text)) {
        let uri = self.uri(name);
        let mut documents = self.documents.lock().unwrap();
        let (version, text) = documents.get_mut(&uri).unwrap();
        edit(text);
        *version += 1;
        let document = json!({ "uri": uri, "version": *version });
        let changes = json!([{ "text": text.to_string() }]);
        let params = json!({ "textDocument": document, "contentChanges": changes });
        self.client.notify("textDocument/didChange", params);
    }

    fn uri(&self, name: &str) -> String {
        editor_double::uri(&self.folder.path().join(name))
    }

    fn disk(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).unwrap()
    }

    fn text(&self, name: &str) -> String {
        self.documents.lock().unwrap()[&self.uri(name)].1.to_string()
    }

    fn open_file(&self, name: &str) {
        let (uri, text) = (self.uri(name), self.disk(name));
        self.documents.lock().unwrap().insert(uri.clone(), (1, Text::new(&text)));
        let item = json!({ "uri": uri, "languageId": "text", "version": 1, "text": text });
        self.client.notify("textDocument/didOpen", json!({ "textDocument": item }));
    }

    async fn command(&self, command: &str, arguments: Value) -> Result<Value, Value> {
        let params = json!({ "command": command, "arguments": arguments });
        self.client.request("workspace/executeCommand", params).await
    }

    /// Does what a lens or an action says.
    async fn follow(&self, command: &Value) -> Value {
        self.client.request("workspace/executeCommand", command.clone()).await.unwrap()
    }

    async fn lenses(&self, name: &str) -> Vec<Value> {
        let params = json!({ "textDocument": { "uri": self.uri(name) } });
        let lenses = self.client.request("textDocument/codeLens", params).await.unwrap();
        lenses.as_array().unwrap().clone()
    }

    async fn actions(&self, name: &str, lines: (u32, u32), context: Value) -> Vec<Value> {
        let params = json!({
            "textDocument": { "uri": self.uri(name) },
            "range": editor_double::range((lines.0, 0), (lines.1, 0)),
            "context": context,
        });
        let actions = self.client.request("textDocument/codeAction", params).await.unwrap();
        actions.as_array().unwrap().clone()
    }

    /// The next message for the user that begins so.
    async fn shown(&self, begin: &str) -> String {
        let fits = |params: &Value| params["message"].as_str().unwrap().starts_with(begin);
        let params = self.client.notification("window/showMessage", fits).await;
        params["message"].as_str().unwrap().to_owned()
    }

    /// The next diagnostics of a file that are so many.
    async fn markers(&self, name: &str, count: usize) -> Value {
        let uri = self.uri(name);
        let fits = |params: &Value| {
            params["uri"] == *uri && params["diagnostics"].as_array().unwrap().len() == count
        };
        self.client.notification("textDocument/publishDiagnostics", fits).await
    }

    fn heard(&self, method: &str) -> usize {
        self.client.unread().iter().filter(|message| message["method"] == method).count()
    }
}

fn position(position: &Value) -> Position {
    let number = |key: &str| u32::try_from(position[key].as_u64().unwrap()).unwrap();
    Position { line: number("line"), character: number("character") }
}

fn titles(offers: &[Value]) -> String {
    let line = |offer: &Value| {
        let title = offer.get("title").unwrap_or(&offer["command"]["title"]);
        let kind = offer["kind"].as_str().map(|kind| format!(" [{kind}]")).unwrap_or_default();
        let line = offer["range"]["start"]["line"].as_u64().map(|line| format!("{line} "));
        format!("{}{}{kind}\n", line.unwrap_or_default(), title.as_str().unwrap())
    };
    offers.iter().map(line).collect()
}

fn literals() -> Value {
    let kinds = json!({ "codeActionKind": { "valueSet": ["quickfix", "refactor"] } });
    json!({ "textDocument": { "codeAction": { "codeActionLiteralSupport": kinds } } })
}

#[tokio::test(start_paused = true)]
async fn server_capabilities_follow_the_client_capabilities() {
    async fn check(capabilities: Value, expect: Expect) {
        let (_plain, hello) = StandardClient::open(capabilities, json!([])).await;
        let promised = |key: &str| hello["capabilities"][key].clone();
        let providers = json!([
            promised("codeLensProvider"),
            promised("codeActionProvider"),
            promised("executeCommandProvider")["commands"].as_array().map(Vec::len),
        ]);
        expect.assert_eq(&providers.to_string());
    }
    check(json!({}), expect![[r#"[{"resolveProvider":false},true,13]"#]]).await;
    check(
        literals(),
        expect![[r#"[{"resolveProvider":false},{"codeActionKinds":["quickfix","refactor"]},13]"#]],
    )
    .await;
    // It has its own.
    let ours = json!({ "experimental": { "cairn": { "protocolVersion": 2 } } });
    check(ours.clone(), expect!["[null,null,null]"]).await;
    let (plain, _) = StandardClient::open(ours, json!([])).await;
    for method in ["textDocument/codeLens", "textDocument/codeAction", "workspace/executeCommand"] {
        let error = plain.client.request(method, json!({})).await.unwrap_err();
        assert!([-32601, -32602].contains(&error["code"].as_i64().unwrap()), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn each_hunk_has_code_lenses() {
    let plain = StandardClient::proposed(json!({})).await;
    let lenses = plain.lenses("a.txt").await;
    expect![[r#"
        0 Accept
        0 Reject
        0 Accept file (2)
        0 Reject file (2)
        3 Accept
        3 Reject
    "#]]
    .assert_eq(&titles(&lenses));
    assert_eq!(plain.lenses("none.txt").await, Vec::<Value>::new());

    let done = json!({ "applied": 1, "stale": 0, "failed": [] });
    assert_eq!(plain.follow(&lenses[0]["command"]).await, done);
    assert_eq!(plain.follow(&lenses[5]["command"]).await, done);
    assert_eq!(plain.text("a.txt"), "1\ntwo\nthree\nfour\nfive\n");
    assert_eq!(plain.lenses("a.txt").await, Vec::<Value>::new());

    // It is on disk, with no end of line at the end, and can be reviewed without a document.
    assert_eq!(plain.disk("b.txt"), "uno\n2\n\n");
    let lenses = plain.lenses("b.txt").await;
    assert_eq!(plain.follow(&lenses[3]["command"]).await, done);
    assert_eq!(plain.disk("b.txt"), "uno\ndos");
    // All went as the user wanted: there is nothing to say.
    assert_eq!(plain.heard("window/showMessage"), 1, "only that this is a replay");
    assert_eq!(plain.heard("textDocument/publishDiagnostics"), 0);
}

#[tokio::test(start_paused = true)]
async fn moved_and_deleted_files_have_lenses_and_actions() {
    let call = |name: &str, arguments: Value| json!({ "name": name, "arguments": arguments });
    let steps = json!([
        { "calls": [
            call("move_file", json!({ "from": "b.txt", "to": "c.txt" })),
            call("delete_file", json!({ "path": "d.txt" })),
            call("edit_file", json!({ "path": "c.txt", "old_text": "uno", "new_text": "1" })),
        ] },
        { "text": "Done." },
    ]);
    let (plain, _) = StandardClient::open(literals(), steps).await;
    fs::write(plain.folder.path().join("d.txt"), "x\n").unwrap();
    plain.answer_edits();
    plain.command("cairn.runTask", json!(["Do it"])).await.unwrap();
    assert_eq!(plain.shown("Done").await, "Done.");
    let lenses = plain.lenses("c.txt").await;
    expect![[r#"
        0 Accept move
        0 Reject move
        0 Accept file (2)
        0 Reject file (2)
        0 Accept
        0 Reject
    "#]]
    .assert_eq(&titles(&lenses));
    assert_eq!(plain.lenses("d.txt").await, Vec::<Value>::new());
    let fixes = async |name| {
        let only = json!({ "only": ["quickfix"] });
        titles(&plain.actions(name, (0, 0), only).await)
    };
    expect![[r#"
        Accept the move from b.txt [quickfix]
        Reject the move from b.txt [quickfix]
        Accept the change at line 1 (+1 −1) [quickfix]
        Reject the change at line 1 (+1 −1) [quickfix]
    "#]]
    .assert_eq(&fixes("c.txt").await);
    expect![[r#"
        Accept the deletion of d.txt [quickfix]
        Reject the deletion of d.txt [quickfix]
    "#]]
    .assert_eq(&fixes("d.txt").await);
    let done = json!({ "applied": 1, "stale": 0, "failed": [] });
    assert_eq!(plain.follow(&lenses[1]["command"]).await, done);
    assert_eq!(plain.disk("b.txt"), "1\ndos");
}

#[tokio::test(start_paused = true)]
async fn code_actions_match_the_requested_range_and_kind() {
    let plain = StandardClient::proposed(literals()).await;
    let check = async |lines, context: Value, expect: Expect| {
        expect.assert_eq(&titles(&plain.actions("a.txt", lines, context).await));
    };
    check(
        (0, 0),
        json!({ "diagnostics": [] }),
        expect![[r#"
            Accept the change at line 1 (+1 −1) [quickfix]
            Reject the change at line 1 (+1 −1) [quickfix]
            Accept every change in a.txt (2) [refactor]
            Reject every change in a.txt (2) [refactor]
            Accept every change in all files (3) [refactor]
            Reject every change in all files (3) [refactor]
        "#]],
    )
    .await;
    check(
        (0, 4),
        json!({ "only": ["quickfix"] }),
        expect![[r#"
            Accept the change at line 1 (+1 −1) [quickfix]
            Reject the change at line 1 (+1 −1) [quickfix]
            Accept the change at line 4 (+1 −2) [quickfix]
            Reject the change at line 4 (+1 −2) [quickfix]
        "#]],
    )
    .await;
    check((1, 2), json!({ "only": ["quickfix"] }), expect![""]).await;
    check((0, 4), json!({ "only": ["source.fixAll", "quick"] }), expect![""]).await;
    check(
        (1, 2),
        json!({ "only": ["refactor"] }),
        expect![[r#"
            Accept every change in a.txt (2) [refactor]
            Reject every change in a.txt (2) [refactor]
            Accept every change in all files (3) [refactor]
            Reject every change in all files (3) [refactor]
            Run the selected text as a task [refactor]
        "#]],
    )
    .await;
    // Nothing shines where nothing is.
    check((1, 2), json!({ "triggerKind": 2 }), expect![""]).await;
    assert_eq!(plain.actions("none.txt", (9, 9), json!({})).await, Vec::<Value>::new());

    let all = plain.actions("a.txt", (1, 1), json!({})).await;
    let result = plain.follow(&all[3]["command"]).await;
    assert_eq!(result, json!({ "applied": 3, "stale": 0, "failed": [] }));
    assert_eq!((plain.text("a.txt").as_str(), plain.disk("b.txt").as_str()), (BEFORE, "uno\ndos"));
}

#[tokio::test(start_paused = true)]
async fn code_actions_are_commands_for_clients_without_action_literals() {
    let plain = StandardClient::proposed(json!({})).await;
    let actions = plain.actions("a.txt", (3, 3), json!({ "diagnostics": [] })).await;
    assert_eq!(actions.len(), 6);
    assert_eq!(actions[1]["command"], "cairn.rejectHunk");
    plain.follow(&actions[1]).await;
    assert_eq!(plain.text("a.txt"), "1\ntwo\nthree\nfour\nfive\n");
}

#[tokio::test(start_paused = true)]
async fn diagnostics_show_the_replaced_lines() {
    let plain =
        StandardClient::proposed(json!({ "textDocument": { "publishDiagnostics": {} } })).await;
    let markers = plain.markers("a.txt", 2).await;
    assert!(markers["version"].is_i64(), "{markers}");
    expect![[r#"[{"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":1}},"severity":3,"source":"cairn","message":"Proposed: +1 −1 lines. Before:\none"},{"range":{"start":{"line":3,"character":0},"end":{"line":3,"character":1}},"severity":3,"source":"cairn","message":"Proposed: +1 −2 lines. Before:\nfour\nfive"}]"#]]
    .assert_eq(&markers["diagnostics"].to_string());
    // Of a file that is not open too.
    let elsewhere = plain.markers("b.txt", 1).await;
    assert_eq!(elsewhere.get("version"), None);
    plain.command("cairn.acceptFile", json!([{ "uri": plain.uri("a.txt") }])).await.unwrap();
    plain.markers("a.txt", 0).await;
    plain.command("cairn.rejectAll", json!([])).await.unwrap();
    plain.markers("b.txt", 0).await;
}

#[tokio::test(start_paused = true)]
async fn lenses_are_refreshed_when_the_hunks_change() {
    let capabilities = json!({ "workspace": { "codeLens": { "refreshSupport": true } } });
    let plain = StandardClient::proposed(capabilities).await;
    let refreshed = || plain.refreshed.load(Ordering::Relaxed);
    assert_eq!(refreshed(), 3);
    // What is typed elsewhere moves them, and the editor knows.
    plain.change("a.txt", |text| text.replace(0..0, "zero\n"));
    let lenses = plain.lenses("a.txt").await;
    plain.follow(&lenses[0]["command"]).await;
    plain.follow(&lenses[5]["command"]).await;
    // What is said later comes later.
    plain.command("cairn.acceptFile", json!([{ "uri": plain.uri("a.txt") }])).await.unwrap();
    plain.shown("Cairn: Nothing is pending there").await;
    assert_eq!((refreshed(), lenses[5]["range"]["start"]["line"].as_u64()), (5, Some(4)));
    assert_eq!(plain.text("a.txt"), "zero\n1\ntwo\nthree\nfour\nfive\n");
}

#[tokio::test(start_paused = true)]
async fn a_stale_decision_is_reported() {
    let plain = StandardClient::proposed(json!({})).await;
    let lenses = plain.lenses("a.txt").await;
    plain.follow(&lenses[0]["command"]).await;
    let late = plain.follow(&lenses[1]["command"]).await;
    assert_eq!(late, json!({ "applied": 0, "stale": 1, "failed": [] }));
    expect![
        "Cairn: 1 change had changed or gone since you looked; nothing was done to them. Look again"
    ]
    .assert_eq(&plain.shown("Cairn:").await);
    plain.command("cairn.acceptAll", json!(null)).await.unwrap();
    plain.command("cairn.acceptAll", json!([[]])).await.unwrap();
    expect!["Cairn: Nothing is pending there"].assert_eq(&plain.shown("Cairn:").await);
    for _ in 0..2 {
        let undone = plain.command("cairn.undoDecision", json!([])).await.unwrap();
        assert_eq!(undone, json!({ "undone": true }));
    }
    plain.command("cairn.undoDecision", json!([])).await.unwrap();
    expect!["Cairn: There is no decision to undo."].assert_eq(&plain.shown("Cairn:").await);
    assert_eq!(plain.lenses("a.txt").await.len(), 6);
}

/// Some editors send no change before they have the answer.
#[tokio::test(start_paused = true)]
async fn the_answer_to_a_command_does_not_wait_for_the_edit() {
    let plain = StandardClient::proposed(json!({})).await;
    let (asked, mut edits) = tokio::sync::mpsc::unbounded_channel();
    plain.client.answer_with(Box::new(move |_, id, method, _| {
        assert_eq!(method, "workspace/applyEdit");
        asked.send(id.clone()).unwrap();
    }));
    let answer = plain.command("cairn.rejectFile", json!([{ "uri": plain.uri("a.txt") }])).await;
    assert_eq!(answer.unwrap(), Value::Null);
    let edit = edits.recv().await.unwrap();
    plain.client.respond(&edit, json!({ "applied": false, "failureReason": "the disk is full" }));
    assert_eq!(plain.shown("Cairn:").await, "Cairn: a.txt: the disk is full");
}

#[tokio::test(start_paused = true)]
async fn rejecting_a_created_file_deletes_it_only_if_the_disk_has_the_reviewed_text() {
    let create = json!({ "path": "new.txt", "content": "new\n" });
    let edit = json!({ "path": "new.txt", "old_text": "new", "new_text": "newer" });
    let steps = json!([
        { "calls": [{ "name": "write_file", "arguments": create }] },
        { "text": "Here it is." },
        { "calls": [{ "name": "edit_file", "arguments": edit }] },
        { "text": "Better now." },
    ]);
    let (plain, _) = StandardClient::open(json!({}), steps).await;
    plain.answer_edits();
    plain.command("cairn.runTask", json!(["Do it"])).await.unwrap();
    plain.shown("Here it is.").await;
    plain.open_file("new.txt");
    plain.command("cairn.reply", json!(["Better!"])).await.unwrap();
    plain.shown("Better now.").await;
    assert_eq!(
        (plain.text("new.txt").as_str(), plain.disk("new.txt").as_str()),
        ("newer\n", "new\n")
    );
    plain.command("cairn.rejectAll", json!([])).await.unwrap();
    expect!["Cairn: new.txt: the file on disk is not the text that you reviewed: save it, then decide again"].assert_eq(&plain.shown("Cairn:").await);
    fs::write(plain.folder.path().join("new.txt"), "newer\n").unwrap();
    plain.command("cairn.rejectAll", json!([])).await.unwrap();
    assert!(!plain.folder.path().join("new.txt").exists());
}

#[tokio::test(start_paused = true)]
async fn wrong_arguments_of_commands_are_named() {
    let (plain, _) = StandardClient::open(json!({}), json!([])).await;
    let check = async |command: &str, arguments: Value, expect: Expect| {
        let error = plain.command(command, arguments).await.unwrap_err();
        assert_eq!(
            (&error["code"], &error["data"]["kind"]),
            (&json!(-32602), &json!("invalidParams"))
        );
        expect.assert_eq(error["message"].as_str().unwrap());
    };
    let uri = plain.uri("a.txt");
    check(
        "cairn.acceptHunk",
        json!([]),
        expect!["The Cairn daemon did not understand the arguments of cairn.acceptHunk: the argument is missing. Expected: {uri, hunkId, rev?}"],
    )
    .await;
    check(
        "cairn.acceptHunk",
        json!([{ "uri": uri }]),
        expect!["The Cairn daemon did not understand the arguments of cairn.acceptHunk: missing field `hunkId`. Expected: {uri, hunkId, rev?}"],
    )
    .await;
    check(
        "cairn.rejectHunk",
        json!([{ "uri": "untitled:x", "hunkId": "1" }]),
        expect![[r#"The Cairn daemon did not understand the arguments of cairn.rejectHunk: `uri` is "untitled:x", which is no file. Expected: {uri}"#]],
    )
    .await;
    check(
        "cairn.rejectFile",
        json!([{ "uri": uri, "rev": "1" }]),
        expect![[r#"The Cairn daemon did not understand the arguments of cairn.rejectFile: invalid type: string "1", expected u32. Expected: {uri, rev?}"#]],
    )
    .await;
    check(
        "cairn.acceptAll",
        json!([1, 2]),
        expect!["The Cairn daemon did not understand the arguments of cairn.acceptAll: 2 arguments are too many. Expected: {rev?}"],
    )
    .await;
    check(
        "cairn.runTask",
        json!([{ "task": "x" }]),
        expect!["The Cairn daemon did not understand the arguments of cairn.runTask: missing field `text`. Expected: the text, or {text, sessionId?}"],
    )
    .await;
    check("cairn.runTask", json!([7]), expect!["The Cairn daemon did not understand the arguments of cairn.runTask: invalid type: integer `7`, expected struct RunTaskParams. Expected: the text, or {text, sessionId?}"]).await;
    check(
        "cairn.runTask",
        json!([" "]),
        expect!["The task is empty. Enter what the agent should do."],
    )
    .await;
    check(
        "cairn.cancel",
        json!([{ "turnId": "t" }]),
        expect![
            "The Cairn daemon did not understand the arguments of cairn.cancel: missing field `sessionId`. Expected: {sessionId, turnId}, or nothing"
        ],
    )
    .await;
    check("cairn.publish", json!([]), expect!["The Cairn daemon has no command cairn.publish."])
        .await;
}

#[tokio::test(start_paused = true)]
async fn cairn_reply_without_ids_continues_the_newest_session() {
    let (plain, _) = StandardClient::open(json!({}), proposals()).await;
    let error = plain.command("cairn.reply", json!(["No"])).await.unwrap_err();
    assert_eq!(error["data"]["kind"], "unknownSession");
    plain.answer_edits();
    let turn = plain.command("cairn.runTask", json!([{ "text": "Do it" }])).await.unwrap();
    plain.shown("Shall I go on?").await;
    let next = plain.command("cairn.reply", json!(["No"])).await.unwrap();
    assert_eq!(next["sessionId"], turn["sessionId"]);
    assert_ne!(next["turnId"], turn["turnId"]);
    plain.shown("Then I stop.").await;
}

#[tokio::test]
async fn cairn_cancel_without_ids_stops_the_running_turn() {
    let slow = json!([{ "text": "This takes long.", "delayMs": 60_000 }]);
    let (plain, _) = StandardClient::open(json!({}), slow).await;
    plain.command("cairn.runTask", json!(["Do it"])).await.unwrap();
    // Words for a turn that runs reach that turn.
    let turn = plain.command("cairn.reply", json!(["Faster"])).await.unwrap();
    assert_eq!(plain.command("cairn.cancel", json!([])).await.unwrap(), json!({}));
    plain.shown("Stopped.").await;
    assert_eq!(plain.command("cairn.cancel", json!([turn])).await.unwrap(), json!({}));
}

#[tokio::test(start_paused = true)]
async fn notices_to_the_user_are_shown_once() {
    let steps = json!([
        { "fail": { "kind": "rateLimited", "message": "Busy", "retryAfterMs": 1 } },
        { "text": "It is done." },
        { "fail": { "kind": "auth", "message": "No such key" } },
    ]);
    let (plain, _) = StandardClient::open(json!({}), steps).await;
    plain.command("cairn.runTask", json!(["Do it"])).await.unwrap();
    plain.shown("It is done.").await;
    plain.command("cairn.reply", json!(["More"])).await.unwrap();
    plain.shown("replay rejected the API key: No such key.").await;
    let settings = json!({ "settings": { "cairn": { "colour": "blue" } } });
    plain.client.notify("workspace/didChangeConfiguration", settings);
    plain.shown("There is no setting cairn.colour").await;
    let said: String = plain
        .client
        .unread()
        .iter()
        .map(|message| format!("{} {}\n", message["method"], message["params"]))
        .collect();
    expect![[r#"
        "window/showMessage" {"type":3,"message":"Answers come from a script. To use a model, set an API key, or the address of a local server in the settings."}
        "window/logMessage" {"type":2,"message":"the model server limits the number of requests: asking again in 1 s"}
        "window/logMessage" {"type":3,"message":"It is done."}
    "#]].assert_eq(&said);
}

//! Edits that a standard client applies late, as eglot does after a confirmation and vim-lsp when idle;
//! outdated edits after a restart.

use std::{
    fs,
    sync::{Arc, Mutex},
    time::Duration,
};

use cairn::{environment::Environment, hub, lsp};
use cairn_core::text::{Position, Text};
use cairn_tests::{
    editor_double,
    lsp_client::{LspClient, binary},
    model_server::{ModelServer, Response, Wire},
};
use serde_json::{Value, json};
use tokio::io::duplex;

use crate::fixtures::{edit, result, say, wait_until};

const BEFORE: &str = "one\ntwo\nthree\n";

/// An editor with one open document that applies edits when its user wants it to.
struct Lazy {
    client: LspClient,
    document: Arc<Mutex<(i32, Text)>>,
    /// Requests for edits that nobody has answered or applied.
    waiting: Arc<Mutex<Vec<(Value, Value)>>>,
    uri: String,
}

impl Lazy {
    /// `answers`: says at once that edits are applied.
    async fn open(
        folder: &std::path::Path,
        state: &std::path::Path,
        model: Value,
        answers: bool,
    ) -> Self {
        let (to_daemon, input) = duplex(64 * 1024);
        let (output, from_daemon) = duplex(64 * 1024);
        let state_dir = Some(state.to_owned());
        let environment =
            Environment { program: Some(binary()), state_dir, ..Environment::default() };
        let start = |editor| hub::spawn(editor, environment);
        tokio::spawn(lsp::serve(input, output, start, std::future::pending(), async {}));
        let client = LspClient::over(from_daemon, to_daemon);
        let waiting = Arc::new(Mutex::new(Vec::new()));
        let asked = Arc::clone(&waiting);
        client.answer_with(Box::new(move |client, id, method, params| {
            assert_eq!(method, "workspace/applyEdit");
            asked.lock().unwrap().push((id.clone(), params.clone()));
            if answers {
                client.respond(id, json!({ "applied": true }));
            }
        }));
        let kinds = json!({ "codeActionKind": { "valueSet": ["quickfix", "refactor"] } });
        client
            .initialize(json!({
                "capabilities": { "textDocument": {
                    "publishDiagnostics": {},
                    "codeAction": { "codeActionLiteralSupport": kinds },
                } },
                "rootUri": editor_double::uri(folder),
                "initializationOptions": { "settings": { "model": model, "plan.endReminder": false } },
            }))
            .await;
        let path = folder.join("a");
        let (uri, text) = (editor_double::uri(&path), fs::read_to_string(&path).unwrap());
        let item = json!({ "uri": uri, "languageId": "text", "version": 1, "text": text });
        client.notify("textDocument/didOpen", json!({ "textDocument": item }));
        let document = Arc::new(Mutex::new((1, Text::new(&text))));
        Self { client, document, waiting, uri }
    }

    fn change(&self, edit: impl FnOnce(&mut Text)) {
        let mut document = self.document.lock().unwrap();
        document.0 += 1;
        edit(&mut document.1);
        let named = json!({ "uri": self.uri, "version": document.0 });
        let changes = json!([{ "text": document.1.to_string() }]);
        let params = json!({ "textDocument": named, "contentChanges": changes });
        self.client.notify("textDocument/didChange", params);
    }

    /// The user confirms the oldest edit, at the lines it names.
    fn confirm(&self) {
        let (_, params) = self.waiting.lock().unwrap().remove(0);
        let changes = params["edit"]["changes"].as_object().unwrap().clone();
        self.change(|text| {
            for edit in changes[&self.uri].as_array().unwrap().iter().rev() {
                let at = |end: &str| text.char_of(position(&edit["range"][end]));
                let range = at("start")..at("end");
                text.replace(range, edit["newText"].as_str().unwrap());
            }
        });
    }

    async fn until_asked(&self) {
        let asked = || !self.waiting.lock().unwrap().is_empty();
        wait_until(Duration::from_secs(10), asked).await;
    }

    async fn run(&self, command: &str, text: &str) {
        let params = json!({ "command": command, "arguments": [text] });
        self.client.request("workspace/executeCommand", params).await.unwrap();
    }

    async fn shown(&self, begin: &str) {
        let fits = |params: &Value| params["message"].as_str().unwrap().starts_with(begin);
        self.client.notification("window/showMessage", fits).await;
    }

    async fn lenses(&self) -> Vec<String> {
        let params = json!({ "textDocument": { "uri": self.uri } });
        let lenses = self.client.request("textDocument/codeLens", params).await.unwrap();
        let title = |lens: &Value| lens["command"]["title"].as_str().unwrap().to_owned();
        lenses.as_array().unwrap().iter().map(title).collect()
    }

    async fn actions(&self) -> Vec<String> {
        let params = json!({
            "textDocument": { "uri": self.uri },
            "range": editor_double::range((0, 0), (9, 0)),
            "context": { "diagnostics": [], "only": ["quickfix"] },
        });
        let actions = self.client.request("textDocument/codeAction", params).await.unwrap();
        let title = |action: &Value| action["title"].as_str().unwrap().to_owned();
        actions.as_array().unwrap().iter().map(title).collect()
    }

    async fn reject_all(&self) {
        let params = json!({ "command": "cairn.rejectAll", "arguments": [] });
        let done = self.client.request("workspace/executeCommand", params);
        let apply = async {
            self.until_asked().await;
            self.confirm();
        };
        let (done, ()) = tokio::join!(done, apply);
        done.unwrap();
    }

    fn text(&self) -> String {
        self.document.lock().unwrap().1.to_string()
    }
}

fn position(position: &Value) -> Position {
    let number = |key: &str| u32::try_from(position[key].as_u64().unwrap()).unwrap();
    Position { line: number("line"), character: number("character") }
}

/// The edit comes when the time-out has passed; the user may have typed meanwhile.
async fn late(answers: bool, types: bool) {
    let (folder, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(folder.path().join("a"), BEFORE).unwrap();
    let model = ModelServer::start([]).await;
    for reply in [edit("c1", "a", "two", "2"), say("It waits."), say("I see.")] {
        model.push(Response::reply(reply));
    }
    let settings = model.settings(Wire::Anthropic);
    let lazy = Lazy::open(folder.path(), state.path(), settings, answers).await;
    lazy.run("cairn.runTask", "Do it").await;
    lazy.until_asked().await;
    // Answered and heard, before the time goes on.
    lazy.lenses().await;
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(11)).await;
    tokio::time::resume();
    lazy.shown("It waits.").await;
    assert_eq!(lazy.lenses().await, [""; 0], "nothing of it is in the text");
    if types {
        lazy.change(|text| text.replace(text.len_chars()..text.len_chars(), "mine\n"));
    }
    lazy.confirm();
    assert_eq!(lazy.lenses().await, ["Accept", "Reject", "Accept file (1)", "Reject file (1)"]);
    lazy.run("cairn.reply", "Go on").await;
    lazy.shown("I see.").await;
    lazy.reject_all().await;
    assert_eq!(lazy.text(), if types { format!("{BEFORE}mine\n") } else { BEFORE.to_owned() });
    let requests = model.finish();
    let told = result(&requests[1], "c1");
    assert!(told.contains("not yet applied") && told.contains("may still come"), "{told}");
    assert!(!told.contains("Nothing was changed"), "{told}");
    let last = String::from_utf8(requests[2].body.clone()).unwrap();
    assert!(last.contains("Your change of a, of which you were told"), "{last}");
    // Nobody but the agent and, perhaps, the user changed the file.
    assert_eq!(last.contains("the user or another program changed"), types, "{last}");
}

#[tokio::test]
async fn a_rejection_confirmed_after_its_time_out_is_reported_with_its_patch() {
    let (folder, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(folder.path().join("a"), BEFORE).unwrap();
    let model = ModelServer::start([]).await;
    for reply in [edit("c1", "a", "two", "2"), say("Done."), say("I see.")] {
        model.push(Response::reply(reply));
    }
    let settings = model.settings(Wire::Anthropic);
    let lazy = Lazy::open(folder.path(), state.path(), settings, false).await;
    lazy.run("cairn.runTask", "Do it").await;
    lazy.until_asked().await;
    lazy.confirm();
    lazy.shown("Done.").await;
    let params = json!({ "command": "cairn.rejectAll", "arguments": [] });
    let rejecting = lazy.client.request("workspace/executeCommand", params);
    let give_up = async {
        lazy.until_asked().await;
        lazy.lenses().await;
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(11)).await;
        tokio::time::resume();
    };
    let (rejected, ()) = tokio::join!(rejecting, give_up);
    rejected.unwrap();
    lazy.shown("Cairn: a: not applied yet, but this may still happen").await;
    lazy.confirm();
    assert_eq!(lazy.text(), BEFORE);
    assert_eq!(lazy.lenses().await, [""; 0]);
    lazy.run("cairn.reply", "Go on").await;
    lazy.shown("I see.").await;
    let requests = model.finish();
    let last = String::from_utf8(requests[2].body.clone()).unwrap();
    assert!(last.contains("this change of yours in a; it is no longer in the file"), "{last}");
    assert!(last.contains(r"-two\n+2\n"), "{last}");
}

#[tokio::test]
async fn an_edit_confirmed_after_its_time_out_is_a_proposal() {
    late(false, false).await;
}

#[tokio::test]
async fn an_edit_applied_long_after_the_editor_confirmed_it_is_a_proposal() {
    late(true, false).await;
}

#[tokio::test]
async fn a_late_edit_next_to_typed_text_is_a_proposal() {
    late(false, true).await;
}

#[tokio::test]
async fn an_outdated_edit_is_marked_and_offers_only_possible_actions() {
    let (folder, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = folder.path().join("a");
    fs::write(&path, BEFORE).unwrap();
    let model = ModelServer::start([]).await;
    for reply in [edit("c1", "a", "one", "1"), edit("c2", "a", "three", "3"), say("Done.")] {
        model.push(Response::reply(reply));
    }
    let settings = model.settings(Wire::Anthropic);
    let lazy = Lazy::open(folder.path(), state.path(), settings.clone(), true).await;
    let client = lazy.client.clone();
    let lazy = Arc::new(lazy);
    let applying = Arc::clone(&lazy);
    let applies = tokio::spawn(async move {
        for _ in 0..2 {
            applying.until_asked().await;
            applying.confirm();
        }
    });
    lazy.run("cairn.runTask", "Do it").await;
    lazy.shown("Done.").await;
    applies.await.unwrap();
    assert_eq!(lazy.text(), "1\ntwo\n3\n");
    client.close();
    client.closed().await;

    // Unsaved, and lost: on the disk is the text before. One of the lines is another one now.
    fs::write(&path, "one\ntwo\nelse\n").unwrap();
    let lazy = loop {
        let lazy = Lazy::open(folder.path(), state.path(), settings.clone(), true).await;
        let lenses = lazy.lenses().await;
        if !lenses.is_empty() {
            break lazy;
        }
        lazy.client.close();
        lazy.client.closed().await;
    };
    assert_eq!(
        lazy.lenses().await,
        [
            "Outdated: make again",
            "Outdated: forget",
            "Accept file (0, and 2 outdated)",
            "Reject file (0, and 2 outdated)",
            "Outdated: forget",
        ]
    );
    assert_eq!(
        lazy.actions().await,
        [
            "Make the outdated edit at line 1 (+1 −1) again",
            "Forget the outdated edit at line 1 (+1 −1)",
            "Forget the outdated edit at line 3 (+1 −1)",
        ]
    );
    let fits = |params: &Value| params["diagnostics"].as_array().unwrap().len() == 2;
    let markers = lazy.client.notification("textDocument/publishDiagnostics", fits).await;
    assert_eq!(
        markers["diagnostics"][0]["message"],
        "Outdated, not in the text: +1 −1 lines\nProposed was:\n1\nIn place of:\none"
    );
}

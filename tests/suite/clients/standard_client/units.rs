//! Edits and positions of clients that count columns in different units, correctly and wrongly.

use std::sync::Arc;

use cairn_core::text::{Text, Units};
use serde_json::{Value, json};

use super::{StandardClient, position};

/// An emoji stands before the edit, and in the last line.
const TEXT: &str = "😀 one two\n語 three\nlast 😀 one";

fn steps(old: &str, new: &str) -> Value {
    let edit = json!({ "path": "b.txt", "old_text": old, "new_text": new });
    json!([
        { "calls": [{ "name": "read_file", "arguments": { "path": "b.txt" } }] },
        { "calls": [{ "name": "edit_file", "arguments": edit }] },
        { "text": "Done." },
        { "text": "Done again." },
    ])
}

impl StandardClient {
    /// With `b.txt` open, in an editor that offers these encodings and counts as it likes.
    async fn counting(offers: Value, counts: Units, text: &str, steps: Value) -> Self {
        let encodings = match offers {
            Value::Null => json!({}),
            offers => json!({ "positionEncodings": offers }),
        };
        let (plain, hello) = Self::open(json!({ "general": encodings }), steps).await;
        let agreed = &hello["capabilities"]["positionEncoding"];
        assert_eq!(agreed, offers_first(&encodings), "{encodings}");
        std::fs::write(plain.folder.path().join("b.txt"), text).unwrap();
        plain.open_file("b.txt");
        plain.apply_counting(counts, |_| {});
        plain
    }

    /// Applies edits with columns in these units, and does something to the text besides.
    fn apply_counting(&self, units: Units, also: impl Fn(&mut Text) + Send + Sync + 'static) {
        let documents = Arc::clone(&self.documents);
        self.client.answer_with(Box::new(move |client, id, method, params| {
            assert_eq!(method, "workspace/applyEdit");
            let changes = params["edit"]["changes"].as_object().unwrap();
            let (uri, edits) = changes.iter().next().unwrap();
            let mut documents = documents.lock().unwrap();
            let (version, text) = documents.get_mut(uri).unwrap();
            for edit in edits.as_array().unwrap().iter().rev() {
                let at = |end: &str| text.char_of_in(position(&edit["range"][end]), units);
                let range = at("start")..at("end");
                text.replace(range, edit["newText"].as_str().unwrap());
            }
            also(text);
            *version += 1;
            client.respond(id, json!({ "applied": true }));
            let document = json!({ "uri": uri, "version": *version });
            let changes = json!([{ "text": text.to_string() }]);
            let params = json!({ "textDocument": document, "contentChanges": changes });
            client.notify("textDocument/didChange", params);
        }));
    }
}

fn offers_first(encodings: &Value) -> &str {
    let offers = encodings["positionEncodings"].as_array();
    let known = ["utf-8", "utf-16", "utf-32"];
    let first =
        offers.and_then(|offers| offers.iter().find(|offer| known.iter().any(|it| *offer == it)));
    first.and_then(Value::as_str).unwrap_or("utf-16")
}

#[tokio::test(start_paused = true)]
async fn edits_apply_in_every_negotiated_position_encoding() {
    for (offers, units) in [
        (json!(["utf-8", "utf-16"]), Units::Utf8),
        (json!(["utf-32"]), Units::Utf32),
        (json!(["utf-7", "utf-16", "utf-8"]), Units::Utf16),
        (json!([]), Units::Utf16),
        (Value::Null, Units::Utf16),
    ] {
        let plain =
            StandardClient::counting(offers, units, TEXT, steps("last 😀 one", "last 😀 1")).await;
        plain.command("cairn.runTask", json!(["Do it"])).await.unwrap();
        plain.shown("Done.").await;
        assert_eq!(plain.text("b.txt"), TEXT.replace("last 😀 one", "last 😀 1"), "{units:?}");
        plain.command("cairn.rejectAll", json!([])).await.unwrap();
        assert_eq!(plain.text("b.txt"), TEXT, "{units:?}");
    }
}

/// Positions that come from the editor count as agreed, and so do those of markers.
#[tokio::test(start_paused = true)]
async fn changes_and_diagnostics_use_the_negotiated_position_encoding() {
    for (encoding, units) in
        [("utf-8", Units::Utf8), ("utf-16", Units::Utf16), ("utf-32", Units::Utf32)]
    {
        let capabilities = json!({
            "general": { "positionEncodings": [encoding] },
            "textDocument": { "publishDiagnostics": {} },
        });
        let (plain, _) = StandardClient::open(capabilities, steps("三 三", "三 四 😀")).await;
        std::fs::write(plain.folder.path().join("b.txt"), "😀 x\n").unwrap();
        plain.open_file("b.txt");
        plain.apply_counting(units, |_| {});
        // The user replaces the x.
        let (start, end) = (units.len("😀 "), units.len("😀 x"));
        plain.documents.lock().unwrap().get_mut(&plain.uri("b.txt")).unwrap().1 =
            Text::new("😀 三 三\n");
        plain.client.notify(
            "textDocument/didChange",
            json!({
                "textDocument": { "uri": plain.uri("b.txt"), "version": 1 },
                "contentChanges": [{
                    "range": {
                        "start": { "line": 0, "character": start },
                        "end": { "line": 0, "character": end },
                    },
                    "text": "三 三",
                }],
            }),
        );
        plain.command("cairn.runTask", json!(["Do it"])).await.unwrap();
        plain.shown("Done.").await;
        assert_eq!(plain.text("b.txt"), "😀 三 四 😀\n", "{encoding}");
        let markers = plain.markers("b.txt", 1).await;
        let end = &markers["diagnostics"][0]["range"]["end"];
        assert_eq!(*end, json!({ "line": 0, "character": units.len("😀 三 四 😀") }), "{encoding}");
    }
}

/// As lsp-mode 8, vim-lsp and yegappan/lsp count code points, and others bytes.
#[tokio::test(start_paused = true)]
async fn an_emoji_does_not_shift_edits_of_a_client_that_counts_columns_wrongly() {
    for units in [Units::Utf8, Units::Utf32] {
        for (old, new) in [
            ("one two", "1 two"),
            ("three", "3"),
            ("😀 one two\n語 three\n", ""),
            ("語 three\n", "語 three\n四\n"),
            ("語", "語 drei"),
        ] {
            let plain = StandardClient::counting(Value::Null, units, TEXT, steps(old, new)).await;
            plain.command("cairn.runTask", json!(["Do it"])).await.unwrap();
            plain.shown("Done.").await;
            assert_eq!(plain.text("b.txt"), TEXT.replacen(old, new, 1), "{units:?} {old}");
            plain.command("cairn.rejectAll", json!([])).await.unwrap();
            assert_eq!(plain.text("b.txt"), TEXT, "{units:?} {old}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_misapplied_edit_is_the_agents_and_the_model_is_told() {
    let mut script = steps("one\n", "1\n");
    script[2]["expect"] =
        json!({ "lastContains": ["is not the one you asked for", "is taken for your edit"] });
    let plain =
        StandardClient::counting(Value::Null, Units::Utf16, "zero\n-\n-\none\ntwo\n", script).await;
    // An editor that formats what it inserts, where the user typed elsewhere.
    plain.apply_counting(Units::Utf16, |text| {
        *text = Text::new(&text.to_string().replace("1\n", "1;\n").replace("zero", "null"));
    });
    plain.command("cairn.runTask", json!(["Do it"])).await.unwrap();
    plain.shown("Done.").await;
    assert_eq!(plain.text("b.txt"), "null\n-\n-\n1;\ntwo\n");
    let lenses = plain.lenses("b.txt").await;
    assert_eq!(lenses.len(), 4, "{lenses:?}");
    assert_eq!(lenses[0]["range"]["start"]["line"], 3);
    plain.apply_counting(Units::Utf16, |_| {});
    plain.command("cairn.rejectAll", json!([])).await.unwrap();
    assert_eq!(plain.text("b.txt"), "null\n-\n-\none\ntwo\n");
}

/// The text has nothing of the edit: all changes are the user's, and there is nothing to reject.
#[tokio::test(start_paused = true)]
async fn text_typed_at_a_lost_edit_is_the_users() {
    let mut script = steps("one\n", "1\n");
    script[2]["expect"] = json!({ "lastContains": ["is not yet applied"] });
    let plain =
        StandardClient::counting(Value::Null, Units::Utf16, "zero\none\ntwo\n", script).await;
    plain.apply_counting(Units::Utf16, |text| *text = Text::new("zero\none!\ntwo\n"));
    plain.command("cairn.runTask", json!(["Do it"])).await.unwrap();
    plain.shown("Done.").await;
    assert_eq!(plain.lenses("b.txt").await, Vec::<Value>::new());
    assert_eq!(plain.text("b.txt"), "zero\none!\ntwo\n");
}

/// lsp-mode tells of each edit in a notification of its own.
#[tokio::test(start_paused = true)]
async fn an_edit_that_arrives_in_several_changes_is_the_agents() {
    let edit = json!({ "path": "b.txt", "content": "1\nb\n3\nd\n" });
    let steps = json!([
        { "calls": [{ "name": "read_file", "arguments": { "path": "b.txt" } }] },
        { "calls": [{ "name": "write_file", "arguments": edit }] },
        { "text": "Done." },
    ]);
    let plain = StandardClient::counting(Value::Null, Units::Utf16, "a\nb\nc\nd\n", steps).await;
    plain.client.answer_with(Box::new(|client, id, _, params| {
        let changes = params["edit"]["changes"].as_object().unwrap();
        let (uri, edits) = changes.iter().next().unwrap();
        for (version, edit) in edits.as_array().unwrap().iter().rev().enumerate() {
            let document = json!({ "uri": uri, "version": version + 2 });
            let changes = json!([{ "range": edit["range"], "text": edit["newText"] }]);
            let params = json!({ "textDocument": document, "contentChanges": changes });
            client.notify("textDocument/didChange", params);
        }
        client.respond(id, json!({ "applied": true }));
    }));
    plain.command("cairn.runTask", json!(["Do it"])).await.unwrap();
    plain.shown("Done.").await;
    assert_eq!(plain.lenses("b.txt").await.len(), 6);
}

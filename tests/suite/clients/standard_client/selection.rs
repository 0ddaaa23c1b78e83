//! Tasks from a selection, for editors whose commands take no arguments (Helix before 25.07).

use cairn_tests::editor_double;
use serde_json::{Value, json};

use super::{StandardClient, literals, titles};

const RUN: &str = "Run the selected text as a task";

impl StandardClient {
    async fn offered(&self, range: &Value, context: Value) -> Vec<Value> {
        let document = json!({ "uri": self.uri("a.txt") });
        let params = json!({ "textDocument": document, "range": range, "context": context });
        let actions = self.client.request("textDocument/codeAction", params).await.unwrap();
        actions.as_array().unwrap().clone()
    }
}

#[tokio::test(start_paused = true)]
async fn the_selected_text_runs_as_a_task() {
    let capabilities = |mut literals: Value| {
        literals["general"] = json!({ "positionEncodings": ["utf-8"] });
        literals
    };
    let steps = json!([{ "expect": { "contains": ["三 ways to add 😀"] }, "text": "Added." }]);
    let (plain, _) = StandardClient::open(capabilities(literals()), steps).await;
    plain.change("a.txt", |text| {
        *text = cairn_core::text::Text::new("// TODO 三 ways to add 😀 here\n");
    });
    let end = "// TODO 三 ways to add 😀".len() as u32;
    let selected = editor_double::range((0, 8), (0, end));
    let selected = serde_json::to_value(selected).unwrap();
    let offered = plain.offered(&selected, json!({ "diagnostics": [] })).await;
    assert_eq!(titles(&offered), format!("{RUN} [refactor]\n"));
    let turn = plain.follow(&offered[0]["command"]).await;
    assert!(turn["turnId"].is_string(), "{turn}");
    plain.shown("Added.").await;
}

#[tokio::test(start_paused = true)]
async fn an_empty_selection_offers_no_task() {
    let (plain, _) = StandardClient::open(literals(), json!([])).await;
    for (range, offered) in [
        (((0, 0), (0, 0)), false),
        (((0, 1), (0, 2)), false),
        // One emoji in UTF-8, and the line ending in Helix.
        (((0, 0), (0, 4)), false),
        (((0, 3), (1, 0)), false),
        (((0, 0), (0, 5)), true),
        (((0, 0), (1, 0)), true),
        (((0, 2), (1, 2)), true),
        (((0, 2), (2, 0)), true),
    ] {
        let (start, end) = range;
        let value = serde_json::to_value(editor_double::range(start, end)).unwrap();
        let titles = titles(&plain.offered(&value, json!({})).await);
        assert_eq!(titles.contains(RUN), offered, "{range:?}");
        assert!(plain.offered(&value, json!({ "triggerKind": 2 })).await.is_empty(), "{range:?}");
        assert!(plain.offered(&value, json!({ "only": ["quickfix"] })).await.is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn a_selection_in_a_document_that_is_not_open_is_refused() {
    let (plain, _) = StandardClient::open(json!({}), json!([])).await;
    let range = editor_double::range((0, 0), (1, 0));
    let argument = json!({ "uri": plain.uri("b.txt"), "range": range });
    let error = plain.command("cairn.runSelection", json!([argument])).await.unwrap_err();
    assert_eq!(
        error["message"],
        "The document of the selection is not open. Open it and select the text again."
    );
    let error = plain.command("cairn.runSelection", json!([])).await.unwrap_err();
    assert_eq!(error["data"]["kind"], "invalidParams");
}

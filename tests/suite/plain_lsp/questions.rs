//! Questions to the user of an editor that only speaks LSP, and the ways they end.

use serde_json::{Value, json};

use super::Plain;

const QUESTION: &str = "window/showMessageRequest";

/// A turn that has asked for `touch 1`, and says "Then not." if the call's result holds these words;
/// with the id of the question.
async fn asked(told: &str) -> (Plain, Value) {
    let call = json!({ "name": "bash", "arguments": { "command": "touch 1" } });
    let steps = json!([
        { "calls": [call] },
        { "expect": { "lastContains": ["The user declined", told] }, "text": "Then not." },
    ]);
    let (plain, _) = Plain::open(json!({}), steps).await;
    plain.command("cairn.runTask", json!(["Do it"])).await.unwrap();
    let question = plain.client.server_request(QUESTION).await;
    assert_eq!(question["params"]["actions"][0]["title"], "Deny", "{question}");
    (plain, question["id"].clone())
}

impl Plain {
    async fn goes_on(&self) {
        self.shown("Then not.").await;
        assert!(!self.folder.path().join("1").exists(), "nothing ran");
    }
}

#[tokio::test]
async fn any_answer_to_a_dismissed_question_declines_and_the_turn_goes_on() {
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
async fn a_reply_declines_the_question_that_is_open() {
    let (plain, _) = asked("They said: No, only look").await;
    plain.command("cairn.reply", json!(["No, only look"])).await.unwrap();
    plain.goes_on().await;
}

//! Reasoning of a model: returned to it unchanged, also after a restart, and never sent to another
//! provider.

use cairn_core::model::Stop;
use cairn_protocol::EndReason;
use cairn_tests::model_server::{Recorded, Reply, Wire, assert_append_only};
use serde_json::{Value, json};

use crate::fixtures::*;

fn thinks(id: &str) -> Reply {
    Reply::text("I look.").thinking("Which one?").call(id, "read_file", json!({ "path": "a" }))
}

/// The thoughts that a request brings back.
fn thoughts(request: &Recorded) -> Vec<Value> {
    let mut found = Vec::new();
    for item in request.items() {
        if item["type"] == "reasoning" || !item["reasoning_content"].is_null() {
            found.push(item.clone());
        }
        let blocks = item["content"].as_array().into_iter().flatten();
        found.extend(blocks.filter(|block| block["type"] == "thinking").cloned());
    }
    found
}

#[tokio::test]
async fn reasoning_is_sent_back_after_a_restart() {
    let signed = json!({ "type": "thinking", "thinking": "Which one?", "signature": "scripted" });
    let sealed = json!({
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{ "type": "summary_text", "text": "Which one?" }],
        "encrypted_content": "scripted",
    });
    for (wire, thought) in [(Wire::Anthropic, signed), (Wire::Responses, sealed)] {
        let test = TestDaemon::open(wire, &[("a", "x\n")]).await;
        let end = test.play([thinks("c1"), say("Read.")]).await;
        let test = test.restart().await;
        let after = test.play_on(&end.session_id, [thinks("c2"), say("Again.")]).await;
        assert_eq!(after.reason, EndReason::Completed);
        let requests = test.finish().await;
        assert_append_only(&requests);
        let brought: Vec<_> = requests.iter().map(thoughts).collect();
        let times = |count| vec![thought.clone(); count];
        assert_eq!(brought, [times(0), times(1), times(1), times(2)], "{wire:?}");
    }
}

#[tokio::test]
async fn reasoning_is_not_sent_to_another_provider() {
    for first in ALL {
        for second in ALL.into_iter().filter(|second| *second != first) {
            let test = TestDaemon::open(first, &[("a", "x\n")]).await;
            let end = test.play([thinks("c1"), say("Read.")]).await;
            let model = test.model.settings(second);
            let settings = json!({ "settings": { "cairn": { "model": model } } });
            test.editor.client.notify("workspace/didChangeConfiguration", settings);
            let end = test.play_on(&end.session_id, [thinks("c2"), say("Again.")]).await;
            assert_eq!(end.reason, EndReason::Completed);
            // The checker of the server has read the rest of the history.
            let requests = test.finish().await;
            assert_eq!(thoughts(&requests[2]), [Value::Null; 0], "{first:?} to {second:?}");
        }
    }
}

#[tokio::test]
async fn reasoning_without_text_is_no_answer() {
    for wire in ALL {
        let test = TestDaemon::open(wire, &[]).await;
        let end = test.play([Reply::text("").thinking("Hm."), say("Yes.")]).await;
        assert_eq!((end.reason, end.summary.as_str()), (EndReason::Completed, "Yes."));
        let cut = Reply::text("").thinking("Hm.").stop(Stop::MaxTokens);
        let end = test.play_on(&end.session_id, [cut]).await;
        assert_eq!(end.reason, EndReason::Limit);
        test.play_on(&end.session_id, [say("Back again.")]).await;
        test.finish().await;
    }
}

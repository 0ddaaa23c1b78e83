//! Servers that drop a part of a request because their window is small, with an error or without.

use cairn_core::model::{Stop, Usage};
use cairn_protocol::{EndReason, MessageRole, Notice};
use cairn_tests::model_server::{Reply, Response, Wire};
use serde_json::{Value, json};

use crate::fixtures::*;

/// Counts of the server: tokens of the request and of the answer.
fn counting(reply: Reply, input_tokens: u64, output_tokens: u64) -> Reply {
    reply.usage(Usage { input_tokens, output_tokens, cached_tokens: 0 })
}

fn reads(id: &str) -> Reply {
    Reply::text("I look.").call(id, "read_file", json!({ "path": "a" }))
}

/// A workspace with a file of some 9,000 tokens.
async fn open(wire: Wire) -> TestDaemon {
    let text: String =
        (0..600).map(|line| format!("line {line} of a file that is long\n")).collect();
    TestDaemon::open(wire, &[("a", &text)]).await
}

/// Code of the newest end of a turn.
fn code(test: &TestDaemon) -> Value {
    let mut ends = test.editor.notices().into_iter().filter_map(|notice| match notice {
        Notice::Turn(turn) => serde_json::to_value(turn).ok(),
        _ => None,
    });
    ends.next_back().unwrap()["phase"]["problem"]["code"].clone()
}

/// Both ways in which a request is cut, and an answer that fills the window.
#[tokio::test]
async fn a_window_without_room_ends_the_turn_at_once() {
    let cut = |input| vec![counting(reads("c1"), 3_700, 20), counting(say("What?"), input, 20)];
    let full = counting(say("I begin").stop(Stop::MaxTokens), 3_700, 396);
    for wire in ALL {
        for replies in [cut(4_096), cut(2_050), vec![full.clone()]] {
            let test = open(wire).await;
            let requests = replies.len();
            let end = test.play(replies).await;
            assert_eq!((end.reason, code(&test)), (EndReason::Failed, json!("window_too_small")));
            for words in ["4096 tokens", "OLLAMA_CONTEXT_LENGTH"] {
                assert!(end.summary.contains(words), "{}", end.summary);
            }
            assert_eq!(test.finish().await.len(), requests, "no request twice");
        }
    }
}

#[tokio::test]
async fn a_refusal_that_names_a_window_without_room_ends_the_turn_at_once() {
    let test = open(Wire::OpenAi).await;
    let refusal = "the request exceeds the available context size (4096 tokens), try increasing it";
    test.model.push(Response::error(400, "exceed_context_size_error", refusal));
    let end = test.editor.run("Do it").await;
    assert_eq!(code(&test), "window_too_small", "{}", end.summary);
    // With a larger window the same session goes on.
    test.script([say("Done.")]);
    let end = test.editor.run_in(&end.session_id, "Again").await;
    assert_eq!(end.reason, EndReason::Completed);
    assert_eq!(test.finish().await.len(), 2);
}

#[tokio::test]
async fn a_window_with_room_is_learned_and_the_session_goes_on() {
    let test = open(Wire::OpenAi).await;
    let end = test
        .play([
            counting(reads("c1"), 4_000, 20),
            // Of some 13,000.
            counting(
                Reply::text("Who am I?").call(
                    "c2",
                    "write_file",
                    json!({ "path": "b", "content": "x" }),
                ),
                8_192,
                20,
            ),
            say("The user wants to know what is in the file a. It has 600 lines."),
            counting(say("It has 600 lines."), 5_000, 20),
        ])
        .await;
    assert_eq!(end.reason, EndReason::Completed, "{}", end.summary);
    assert!(!test.path("b").exists(), "a call of the cut answer ran");
    assert_eq!(test.finish().await.len(), 4);
}

#[tokio::test]
async fn a_server_that_counts_too_few_tokens_is_named_once() {
    let test = open(Wire::OpenAi).await;
    let end = test.play([counting(reads("c1"), 3_700, 20), counting(say("Yes."), 3_500, 20)]).await;
    test.script([counting(reads("c2"), 3_600, 20), counting(say("Yes."), 3_500, 20)]);
    let after = test.editor.run_in(&end.session_id, "Again").await;
    assert_eq!((end.reason, after.reason), (EndReason::Completed, EndReason::Completed));
    let told = test.editor.notices().into_iter().filter(|notice| match notice {
        Notice::Message(message) => {
            message.role == MessageRole::Notice
                && serde_json::to_value(message).unwrap()["notice"]["code"] == "request_likely_cut"
        }
        _ => false,
    });
    assert_eq!(told.count(), 1);
    test.finish().await;
}

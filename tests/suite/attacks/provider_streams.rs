//! Split, cut or wrong streams of a model server: the result equals that of a whole stream, or no
//! call runs.

use cairn_protocol::{EndReason, Notice};
use cairn_tests::model_server::{Reply, Response, Wire};
use serde_json::json;

use super::AttackTest;
use crate::fixtures::{ALL, say};

const SSE: &str = "text/event-stream";

/// Answer with characters that are easily split, and one effect.
fn write() -> Reply {
    let change = json!({ "path": "a", "old_text": "x", "new_text": "yé😀" });
    Reply::text("I change it, é😀.").call("c1", "edit_file", change)
}

fn stream(wire: Wire) -> String {
    String::from_utf8(write().encode(wire)).unwrap()
}

/// The events of a stream, each with the empty line that ends it.
fn events(wire: Wire) -> Vec<String> {
    let stream = stream(wire);
    stream.split_inclusive("\n\n").map(str::to_owned).collect()
}

/// Position of the event that completes the answer.
fn end_of(wire: Wire) -> usize {
    let end = match wire {
        Wire::Anthropic => "event: message_delta",
        Wire::OpenAi => "\"finish_reason\":\"",
        Wire::Responses => "event: response.completed",
    };
    stream(wire).rfind(end).unwrap()
}

#[tokio::test]
async fn chunks_and_line_ends_of_a_stream_do_not_matter() {
    for wire in ALL {
        for (name, response) in [
            ("each byte by itself", Response::raw(200, SSE, stream(wire)).chunks_of(1)),
            ("three bytes", Response::raw(200, SSE, stream(wire)).chunks_of(3)),
            ("CRLF", Response::raw(200, SSE, stream(wire).replace('\n', "\r\n")).chunks_of(1)),
            ("no blank after the colon", {
                Response::raw(200, SSE, stream(wire).replace("\ndata: ", "\ndata:"))
            }),
        ] {
            let test = AttackTest::with(wire, &[("a", b"x\n")], json!({}), |_| {}).await;
            test.model.push(response);
            test.model.push(Response::reply(say("Done.")));
            let end = test.editor.run("Do it").await;
            assert_eq!(end.reason, EndReason::Completed, "{wire:?}, {name}: {}", end.summary);
            assert_eq!(test.read("a"), "yé😀\n".as_bytes(), "{wire:?}, {name}");
            super::ran(1);
            test.finish();
        }
    }
}

/// The request is repeated, and only the text of the wrong answer remains.
#[tokio::test]
async fn a_malformed_stream_runs_no_call() {
    for wire in ALL {
        let whole = stream(wire);
        let late = "data: {\"error\":{\"type\":\"overloaded_error\",\"message\":\"busy\"}}\n\n";
        let mut table = vec![
            ("cut before its end", Response::raw(200, SSE, &whole[..end_of(wire)])),
            ("an error after the call", {
                Response::raw(200, SSE, format!("{}{late}", &whole[..events_before_end(wire)]))
            }),
            ("no text", {
                let bytes = [&whole.as_bytes()[..events_before_end(wire)], b"data: \xff\n\n"];
                Response::raw(200, SSE, bytes.concat())
            }),
        ];
        if wire == Wire::Anthropic {
            let mut headless = events(wire);
            headless.remove(0);
            table.push(("begins in the middle", Response::raw(200, SSE, headless.concat())));
            let nowhere = whole.replacen("\"index\":1", "\"index\":7", 3).replacen(
                "\"index\":7,\"content_block\"",
                "\"index\":1,\"content_block\"",
                1,
            );
            assert_ne!(nowhere, whole);
            table.push(("a piece of a block that is not there", Response::raw(200, SSE, nowhere)));
        }
        for (name, response) in table {
            let test = AttackTest::with(wire, &[("a", b"x\n")], json!({}), |_| {}).await;
            test.model.push(response);
            test.model.push(Response::reply(say("Done.")));
            let end = test.editor.run("Do it").await;
            let faulty = format!("{wire:?}, {name}: {}", end.summary);
            assert_eq!(
                (end.reason, end.summary.as_str()),
                (EndReason::Completed, "Done."),
                "{faulty}"
            );
            assert_eq!(test.model.requests().len(), 2, "{faulty}");
            assert_eq!(test.read("a"), b"x\n", "{faulty}");
            assert!(test.editor.edits().is_empty(), "{faulty}");
            if name != "begins in the middle" {
                let kept = |notice: &Notice| match notice {
                    Notice::Message(message) => {
                        message.incomplete && message.text.as_deref() == Some("I change it, é😀.")
                    }
                    _ => false,
                };
                assert!(test.editor.notices().iter().any(kept), "{faulty}");
            }
            super::ran(1);
            test.finish();
        }
    }
}

/// Start of the last event.
fn events_before_end(wire: Wire) -> usize {
    let end = end_of(wire);
    stream(wire)[..end].rfind("\n\n").unwrap() + 2
}

#[tokio::test]
async fn calls_with_the_same_id_do_not_run() {
    for wire in ALL {
        let test = AttackTest::with(wire, &[("a", b"x\n")], json!({}), |_| {}).await;
        let change = json!({ "path": "a", "old_text": "x", "new_text": "y" });
        // As often as it is asked again.
        for _ in 0..4 {
            let twice = write().call("c1", "edit_file", change.clone());
            test.model.push(Response::reply(twice));
        }
        let end = test.editor.run("Do it").await;
        assert_eq!(end.reason, EndReason::Failed, "{wire:?}: {}", end.summary);
        let says = if wire == Wire::Responses { "begins twice" } else { "the same id" };
        assert!(end.summary.contains(says), "{wire:?}: {}", end.summary);
        assert_eq!(test.read("a"), b"x\n", "{wire:?}");
        super::ran(1);
        test.finish();
    }
}

//! Errors of servers that mean "the request is too long": the conversation is compacted and the turn
//! continues. Other errors that mention tokens compact nothing.
//!
//! `daemon/server/src/model/failure/overflow.rs` names the source of each text.

use cairn_protocol::EndReason;
use cairn_tests::model_server::{Response, Wire};
use serde_json::json;

use crate::fixtures::*;

fn refusal(status: u16, body: &str) -> Response {
    Response::raw(status, "application/json", body).header("retry-after-ms", "0")
}

#[tokio::test]
async fn a_refusal_of_an_overlong_request_compacts_the_conversation() {
    for (server, wire, status, body) in [
        (
            "Gemini",
            Wire::OpenAi,
            400,
            r#"[{"error":{"code":400,"message":"The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]"#,
        ),
        (
            "xAI",
            Wire::OpenAi,
            400,
            r#"{"code":"invalid-argument","error":"This model's maximum prompt length is 131072 but the request contains 136973 tokens."}"#,
        ),
        (
            "Cohere",
            Wire::OpenAi,
            400,
            r#"{"message":"too many tokens: total number of tokens in the prompt cannot exceed 128000 - received 163540."}"#,
        ),
        (
            "Together",
            Wire::OpenAi,
            422,
            r#"{"error":{"message":"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 32769. Given: 40000 `inputs` tokens and 512 `max_new_tokens`","type":"invalid_request_error","param":null,"code":null}}"#,
        ),
        (
            "vLLM",
            Wire::OpenAi,
            400,
            r#"{"error":{"message":"The decoder prompt (length 21536) is longer than the maximum model length of 20480. Make sure that `max_model_len` is no smaller than the number of text tokens.","type":"BadRequestError","code":400}}"#,
        ),
        (
            "SGLang",
            Wire::OpenAi,
            400,
            r#"{"object":"error","message":"The input (61709 tokens) is longer than the model's context length (40960 tokens).","type":"BadRequestError","param":null,"code":400}"#,
        ),
        (
            "DashScope",
            Wire::OpenAi,
            400,
            r#"{"error":{"code":"invalid_parameter_error","message":"<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 98304]","param":null,"type":"invalid_request_error"}}"#,
        ),
        (
            "Zhipu over Messages",
            Wire::Anthropic,
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","code":"1261","message":"Prompt exceeds max length"}}"#,
        ),
        (
            "Moonshot over Responses",
            Wire::Responses,
            400,
            r#"{"error":{"message":"Invalid request: Your request exceeded model token limit: 262144 (requested: 269030)","type":"invalid_request_error"}}"#,
        ),
    ] {
        let test = TestDaemon::open(wire, &[("a", "x\n")]).await;
        test.script([call("c1", "read_file", json!({ "path": "a" }))]);
        test.model.push(refusal(status, body));
        test.script([say("A summary."), say("Done.")]);
        let end = test.editor.run("Do it").await;
        assert_eq!(end.reason, EndReason::Completed, "{server}: {}", end.summary);
        let requests = test.finish().await;
        assert_eq!(requests.len(), 4, "{server}");
        assert!(newest(&requests[2]).contains("summary"), "{server}");
    }
}

/// The error of a stream that had begun with 200.
#[tokio::test]
async fn an_overlong_error_inside_a_stream_compacts_the_conversation() {
    let body = "data: {\"error\":{\"message\":\"Trying to keep the first 14500 tokens when context the \
        overflows. However, the model is loaded with context length of only 8192 tokens, which is \
        not enough.\"}}\n\n";
    let test = TestDaemon::open(Wire::OpenAi, &[("a", "x\n")]).await;
    test.script([call("c1", "read_file", json!({ "path": "a" }))]);
    test.model.push(Response::raw(200, "text/event-stream", body));
    test.script([say("A summary."), say("Done.")]);
    let end = test.editor.run("Do it").await;
    assert_eq!(end.reason, EndReason::Completed, "{}", end.summary);
    assert_eq!(test.finish().await.len(), 4);
}

/// Asked again as it is, or not at all.
#[tokio::test]
async fn rate_limits_and_other_limits_do_not_compact_the_conversation() {
    for (name, status, body, again) in [
        (
            "tokens per minute",
            413,
            r#"{"error":{"message":"Request too large for model `m` in organization `o` service tier `on_demand` on tokens per minute (TPM): Limit 10000, Requested 15088, please reduce your message size and try again.","type":"tokens","code":"rate_limit_exceeded"}}"#,
            true,
        ),
        (
            "Bedrock throttles",
            400,
            r#"{"type":"error","error":{"type":"throttling_error","message":"Too many tokens, please wait before trying again."}}"#,
            true,
        ),
        (
            "credits",
            402,
            r#"{"error":{"code":402,"message":"This request requires more credits, or fewer max_tokens. You requested up to 65536 tokens, but can only afford 20000."}}"#,
            false,
        ),
        (
            "an answer too long",
            400,
            r#"{"error":{"message":"max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you provided 100000.","type":"invalid_request_error","param":"max_tokens","code":"invalid_value"}}"#,
            false,
        ),
        (
            "Groq's max_tokens",
            400,
            r#"{"error":{"message":"`max_tokens` must be less than or equal to `16384`, the maximum value for `max_tokens` is less than the `context_window` for this model","type":"invalid_request_error"}}"#,
            false,
        ),
    ] {
        let test = TestDaemon::open(Wire::OpenAi, &[("a", "x\n")]).await;
        test.script([call("c1", "read_file", json!({ "path": "a" }))]);
        test.model.push(refusal(status, body));
        if again {
            test.script([say("Done.")]);
        }
        let end = test.editor.run("Do it").await;
        let reason = if again { EndReason::Completed } else { EndReason::Failed };
        assert_eq!(end.reason, reason, "{name}: {}", end.summary);
        let requests = test.finish().await;
        assert_eq!(requests.len(), 2 + usize::from(again), "{name}");
        if again {
            assert_eq!(requests[1].body, requests[2].body, "{name}");
        }
    }
}

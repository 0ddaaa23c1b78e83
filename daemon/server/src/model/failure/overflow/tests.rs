use cairn_core::{
    context::stated_window,
    model::{Failure, FailureKind},
};
use reqwest::header::HeaderMap;

use super::super::from_status;

fn failure(status: u16, body: &str) -> Failure {
    from_status(status, &HeaderMap::new(), body, std::time::SystemTime::UNIX_EPOCH)
}

/// Server, status, body, stated window. The comment before each says where the text comes from:
/// a thread of GitHub in which a user shows it, or the server's own source.
#[test]
fn a_refusal_of_a_long_request_is_an_overflow() {
    for (server, status, body, window) in [
        // google-gemini/gemini-cli#6678, #4231; the endpoint that imitates OpenAI has the list.
        (
            "Gemini",
            400,
            r#"[{"error":{"code":400,"message":"The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).","errors":[{"domain":"global","reason":"badRequest"}],"status":"INVALID_ARGUMENT"}}]"#,
            Some(1_048_576),
        ),
        (
            "Gemini",
            400,
            r#"{"error":{"code":400,"message":"The input token count exceeds the maximum number of tokens allowed 1048576.","status":"INVALID_ARGUMENT"}}"#,
            None,
        ),
        // langgenius/dify#32221.
        (
            "Volcengine Ark",
            400,
            r#"{"error":{"code":"InvalidParameter","message":"Input length 203743 exceeds the maximum length 202752"}}"#,
            None,
        ),
        // ddalcu/mlx-serve#66.
        (
            "mlx-serve",
            400,
            r#"{"error":{"message":"Prompt exceeds maximum context length","type":"invalid_request_error"}}"#,
            None,
        ),
        // Without a known source: the words that such a server may choose.
        (
            "DeepInfra",
            400,
            r#"{"detail":{"error":"Requested input length 40961 exceeds maximum input length 40960"}}"#,
            None,
        ),
        (
            "MLX",
            400,
            r#"{"error":"Prompt too long: 9000 tokens, at most 8192 are possible"}"#,
            None,
        ),
        (
            "MLX",
            400,
            r#"{"error":"The prompt has 9000 tokens, which is longer than the limit of 8192"}"#,
            None,
        ),
        // cline/cline#3120.
        (
            "xAI",
            400,
            r#"{"code":"Client specified an invalid argument","error":"This model's maximum prompt length is 131072 but the request contains 136973 tokens."}"#,
            Some(131_072),
        ),
        // cohere-ai/sandbox-topically#4.
        (
            "Cohere",
            400,
            r#"{"message":"too many tokens: total number of tokens (prompt and prediction) cannot exceed 2048 - received 6354. Try using a shorter prompt or a smaller max_tokens value."}"#,
            Some(2_048),
        ),
        // stanford-crfm/helm#2079.
        (
            "Together",
            422,
            r#"{"error":{"message":"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048. Given: 2019 `inputs` tokens and 30 `max_new_tokens`","type":"invalid_request_error"}}"#,
            Some(2_048),
        ),
        // earendil-works/pi, packages/ai/test/overflow.test.ts.
        (
            "Together",
            400,
            r#"{"error":{"message":"The input (516368 tokens) is longer than the model's context length (262144 tokens).","type":"invalid_request_error"}}"#,
            Some(262_144),
        ),
        // vllm-project/vllm#20409.
        (
            "vLLM",
            400,
            r#"{"object":"error","message":"This model's maximum context length is 16384 tokens. However, you requested 19591 tokens (9591 in the messages, 10000 in the completion). Please reduce the length of the messages or completion. None","type":"BadRequestError","param":null,"code":400}"#,
            Some(16_384),
        ),
        // OpenBMB/MiniCPM-V#1048; langchain-ai/deepagents#468 shows it in a 500 of Xinference.
        (
            "vLLM",
            400,
            r#"{"error":{"message":"The decoder prompt (length 2136) is longer than the maximum model length of 2048. Make sure that `max_model_len` is no smaller than the number of text tokens.","type":"BadRequestError","param":null,"code":400}}"#,
            Some(2_048),
        ),
        (
            "Xinference",
            500,
            r#"{"detail":"[address=0.0.0.0:43769, pid=1065] The decoder prompt (length 66501) is longer than the maximum model length of 65536."}"#,
            Some(65_536),
        ),
        // vllm-project/vllm#12165.
        (
            "vLLM",
            400,
            r#"{"object":"error","message":"The prompt (total length 25938) is too long to fit into the model (context length 4096). Make sure that `max_model_len` is no smaller than the number of text tokens plus multimodal tokens.","type":"BadRequestError","code":400}"#,
            Some(4_096),
        ),
        // AIDotNet/OpenCowork#82.
        (
            "vLLM",
            400,
            r#"{"error":{"message":"This model's maximum context length is 262144 tokens. However, you requested 128000 output tokens and your prompt contains at least 134145 input tokens, for a total of at least 262145 tokens. (parameter=input_tokens, value=134145)","type":"BadRequestError","code":400}}"#,
            Some(262_144),
        ),
        // QwenLM/Qwen3#1321.
        (
            "SGLang",
            400,
            r#"{"object":"error","message":"The input (61709 tokens) is longer than the model's context length (40960 tokens).","type":"BadRequestError","param":null,"code":400}"#,
            Some(40_960),
        ),
        // sgl-project/sglang#4048.
        (
            "SGLang",
            400,
            r#"{"object":"error","message":"Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens).","type":"BadRequestError","code":400}"#,
            Some(59_862),
        ),
        // sgl-project/sglang, python/sglang/srt/managers/tokenizer_manager.py.
        (
            "SGLang",
            400,
            r#"{"object":"error","message":"Requested token count exceeds the model's maximum context length of 32768 tokens. You requested a total of 40000 tokens.","type":"BadRequestError","code":400}"#,
            Some(32_768),
        ),
        // ggml-org/llama.cpp, tools/server.
        (
            "llama.cpp",
            400,
            r#"{"error":{"code":400,"message":"request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":8192}}"#,
            Some(8_192),
        ),
        // ollama/ollama, runner; earendil-works/pi, packages/ai/src/utils/overflow.ts.
        (
            "Ollama",
            400,
            r#"{"error":{"message":"prompt too long; exceeded max context length by 10000 tokens","type":"invalid_request_error","param":null,"code":null}}"#,
            None,
        ),
        (
            "Ollama",
            400,
            r#"{"error":{"message":"the input length exceeds the context length","type":"invalid_request_error"}}"#,
            None,
        ),
        // lmstudio-ai/lmstudio-bug-tracker#546.
        (
            "LM Studio",
            400,
            r#"{"error":"Trying to keep the first 111490 tokens when context the overflows. However, the model is loaded with context length of only 32768 tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input."}"#,
            Some(32_768),
        ),
        (
            "LM Studio",
            400,
            r#"{"error":"The number of tokens to keep from the initial prompt is greater than the context length."}"#,
            None,
        ),
        // LOME-AI/HushBox, apps/api/src/services/openrouter/context-error.ts.
        (
            "OpenRouter",
            400,
            r#"{"error":{"message":"This endpoint's maximum context length is 131072 tokens. However, you requested about 140000 tokens (135000 of text input, 5000 in the output).","code":400}}"#,
            Some(131_072),
        ),
        // evalstate/fast-agent#621.
        (
            "DeepSeek",
            400,
            r#"{"error":{"message":"This model's maximum context length is 131072 tokens. However, you requested 131134 tokens (122942 in the messages, 8192 in the completion). Please reduce the length of the messages or completion.","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}"#,
            Some(131_072),
        ),
        // MoonshotAI/kimi-cli#2011.
        (
            "Moonshot",
            400,
            r#"{"error":{"message":"Invalid request: Your request exceeded model token limit: 262144 (requested: 269030)","type":"invalid_request_error"}}"#,
            Some(262_144),
        ),
        // mangowhoiscloud/geode#668, farion1231/cc-switch#6982.
        ("Zhipu", 400, r#"{"error":{"code":"1261","message":"Prompt exceeds max length"}}"#, None),
        // QwenLM/qwen-code#98, agentscope-ai/QwenPaw#6255.
        (
            "DashScope",
            400,
            r#"{"error":{"code":"invalid_parameter_error","message":"<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 983616]","param":null,"type":"invalid_request_error"}}"#,
            Some(983_616),
        ),
        // earendil-works/pi, packages/ai/src/utils/overflow.ts.
        ("Bedrock", 400, r#"{"message":"Input is too long for requested model."}"#, None),
        (
            "Mistral",
            400,
            r#"{"object":"error","message":"Prompt contains 40000 tokens, too large for model with 32768 maximum context length","type":"invalid_request_error","code":"3051"}"#,
            Some(32_768),
        ),
        (
            "Groq",
            400,
            r#"{"error":{"message":"Please reduce the length of the messages or completion.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
            None,
        ),
        (
            "Copilot",
            400,
            r#"{"error":{"message":"prompt token count of 200000 exceeds the limit of 128000","code":"model_max_prompt_tokens_exceeded"}}"#,
            Some(128_000),
        ),
        (
            "MiniMax",
            400,
            r#"{"error":{"message":"invalid params, context window exceeds limit","type":"bad_request_error"}}"#,
            None,
        ),
        // openai/openai-python threads; Azure has the same.
        (
            "OpenAI",
            400,
            r#"{"error":{"message":"Your input exceeds the context window of this model. Please adjust your input and try again.","type":"invalid_request_error","param":"input","code":"context_length_exceeded"}}"#,
            None,
        ),
        (
            "Azure",
            400,
            r#"{"error":{"message":"Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 509178 tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
            Some(272_000),
        ),
        // Public code around Volcengine Ark.
        (
            "Doubao",
            400,
            r#"{"error":{"code":"InvalidParameter","message":"Total tokens of image and text exceed max message tokens. Request id: 0217","param":"","type":"BadRequest"}}"#,
            None,
        ),
        // earendil-works/pi#102.
        (
            "Anthropic",
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 219898 tokens > 200000 maximum"}}"#,
            Some(200_000),
        ),
        (
            "Anthropic",
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again"}}"#,
            None,
        ),
        (
            "Anthropic",
            413,
            r#"{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#,
            None,
        ),
        ("a proxy", 413, "<html>Request Entity Too Large</html>", None),
    ] {
        let failure = failure(status, body);
        assert_eq!(failure.kind, FailureKind::ContextOverflow, "{server}: {body}");
        assert_eq!(stated_window(&failure.message), window, "{server}: {}", failure.message);
    }
}

#[test]
fn other_refusals_that_mention_tokens_are_no_overflow() {
    use FailureKind::{RateLimited, Rejected};
    for (server, status, body, kind) in [
        // cline/cline#4971.
        (
            "Groq",
            413,
            r#"{"error":{"message":"Request too large for model `m` in organization `o` service tier `on_demand` on tokens per minute (TPM): Limit 10000, Requested 15088, please reduce your message size and try again.","type":"tokens","code":"rate_limit_exceeded"}}"#,
            RateLimited,
        ),
        (
            "OpenAI",
            429,
            r#"{"error":{"message":"Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 35000.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}"#,
            RateLimited,
        ),
        (
            "Anthropic",
            429,
            r#"{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your organization's rate limit of 30,000 input tokens per minute"}}"#,
            RateLimited,
        ),
        (
            "Gemini",
            429,
            r#"[{"error":{"code":429,"message":"You exceeded your current quota. Quota exceeded for metric: generate_content_free_tier_input_token_count, limit: 250000","status":"RESOURCE_EXHAUSTED"}}]"#,
            RateLimited,
        ),
        (
            "Bedrock",
            429,
            r#"{"message":"Too many tokens, please wait before trying again."}"#,
            RateLimited,
        ),
        (
            "Bedrock",
            400,
            r#"{"message":"Too many tokens, please wait before trying again."}"#,
            RateLimited,
        ),
        // can1357/oh-my-pi#9569.
        (
            "OpenRouter",
            402,
            r#"{"error":{"code":402,"message":"This request requires more credits, or fewer max_tokens. You requested up to 65536 tokens, but can only afford 20000."}}"#,
            Rejected,
        ),
        (
            "DeepSeek",
            402,
            r#"{"error":{"message":"Insufficient Balance","type":"unknown_error","param":null,"code":"invalid_request_error"}}"#,
            Rejected,
        ),
        (
            "OpenAI",
            429,
            r#"{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}"#,
            Rejected,
        ),
        (
            "Anthropic",
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}"#,
            Rejected,
        ),
        (
            "OpenAI",
            400,
            r#"{"error":{"message":"max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you provided 100000.","type":"invalid_request_error","param":"max_tokens","code":"invalid_value"}}"#,
            Rejected,
        ),
        (
            "Anthropic",
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for claude-sonnet-4-5"}}"#,
            Rejected,
        ),
        (
            "DeepSeek",
            400,
            r#"{"error":{"message":"Invalid max_tokens value, the valid range of max_tokens is [1, 8192]","type":"invalid_request_error"}}"#,
            Rejected,
        ),
        (
            "DashScope",
            400,
            r#"{"error":{"code":"invalid_parameter_error","message":"<400> InternalError.Algo.InvalidParameter: Range of max_tokens should be [1, 8192]"}}"#,
            Rejected,
        ),
        // RooCodeInc/Roo-Code#5729.
        (
            "Groq",
            400,
            r#"{"error":{"message":"`max_tokens` must be less than or equal to `16384`, the maximum value for `max_tokens` is less than the `context_window` for this model","type":"invalid_request_error"}}"#,
            Rejected,
        ),
        // charmbracelet/crush#946.
        (
            "Bedrock",
            400,
            r#"{"message":"The maximum tokens you requested exceeds the model limit of 32768"}"#,
            Rejected,
        ),
        (
            "anyone",
            400,
            r#"{"error":{"message":"messages: at least one message is required"}}"#,
            Rejected,
        ),
    ] {
        assert_eq!(failure(status, body).kind, kind, "{server}: {body}");
    }
}

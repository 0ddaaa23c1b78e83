//! Recognition of a refusal because the request is too long for the model, by its tags and words.
//!
//! Servers share no code for it, so the words of each are listed. Limits of rates, of accounts and
//! of the answer's own length also name tokens; they are told apart first, because a shorter
//! conversation would not help.

/// Types and codes of such a refusal.
const TAGS: [&str; 6] = [
    "context_length_exceeded",
    "exceed_context_size_error",
    "model_context_window_exceeded",
    "model_max_prompt_tokens_exceeded",
    "request_too_large",
    // Zhipu.
    "1261",
];

/// Messages of such a refusal, in lower case. All parts of an entry must occur, in this order.
const WORDS: [&[&str]; 25] = [
    // Anthropic, and servers that copy its format.
    &["prompt is too long"],
    &["exceed context limit"],
    // OpenAI, Azure, DeepSeek, OpenRouter, vLLM, SGLang, Mistral.
    &["maximum context length"],
    // OpenAI's newer models, MiniMax.
    &["context window"],
    &["tokens exceed the configured limit"],
    // Gemini and Vertex.
    &["input token count", "exceeds the maximum"],
    &["input exceeds the maximum number of tokens"],
    // xAI.
    &["maximum prompt length is"],
    // Cohere.
    &["too many tokens:"],
    // Together, SGLang.
    &["longer than the model's context length"],
    // Together and Text Generation Inference.
    &["`inputs` tokens + `max_new_tokens` must be"],
    &["`inputs` must have less than"],
    // vLLM.
    &["longer than the maximum model length"],
    &["too long to fit into the model"],
    // SGLang.
    &["input length", "exceeds the maximum allowed length"],
    // llama.cpp.
    &["exceeds the available context size"],
    // Ollama.
    &["exceeded max context length"],
    &["input length exceeds the context length"],
    // LM Studio.
    &["greater than the context length"],
    &["loaded with", "context length of only"],
    // Moonshot.
    &["exceeded model token limit"],
    // Zhipu.
    &["prompt exceeds max length"],
    // DashScope.
    &["range of input length should be"],
    // Bedrock.
    &["input is too long for requested model"],
    // Volcengine Ark.
    &["exceed max message tokens"],
];
/// Groq, GitHub Copilot.
const MORE_WORDS: [&[&str]; 2] =
    [&["reduce the length of the messages"], &["prompt token count", "exceeds the limit of"]];

/// Names of the request's length, and words for too much of it: the messages of servers that are not
/// listed, as of DeepInfra and servers for MLX.
const LENGTHS: [&str; 8] = [
    "context length",
    "context size",
    "context limit",
    "input length",
    "prompt length",
    "input tokens",
    "prompt tokens",
    "prompt",
];
const TOO_MUCH: [&str; 5] = ["exceed", "too long", "longer than", "greater than", "larger than"];

/// Complaints about the length that was asked for the answer.
const ANSWER_WORDS: [&str; 8] = [
    "max_tokens is too large",
    "max_completion_tokens is too large",
    "max_tokens` must be",
    "max_tokens must be",
    "range of max_tokens",
    "number of output tokens",
    "maximum tokens you requested",
    "fewer max_tokens",
];
const ACCOUNT_WORDS: [&str; 4] = ["credits", "credit balance", "insufficient balance", "quota"];

const RATE_TAGS: [&str; 5] = [
    "rate_limit_error",
    "rate_limit_exceeded",
    "throttling_error",
    "throttlingexception",
    "too_many_requests",
];
const RATE_WORDS: [&str; 4] =
    ["tokens per min", "rate limit", "please wait before", "too many requests"];

/// True for a request that a shorter conversation makes acceptable.
pub(super) fn is_too_long(tags: &[String], message: &str, status: Option<u16>) -> bool {
    if tags.iter().any(|tag| TAGS.contains(&tag.as_str())) {
        return true;
    }
    // 500 comes from wrappers around vLLM that do not catch its exception.
    if !matches!(status, None | Some(400 | 413 | 422 | 500)) {
        return false;
    }
    let text = message.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|words| text.contains(words));
    // vLLM names both lengths where only their sum is too large.
    let of_the_answer = says(&ANSWER_WORDS) && !text.contains("maximum context length");
    if of_the_answer || says(&ACCOUNT_WORDS) {
        return false;
    }
    let is_listed = WORDS.iter().chain(&MORE_WORDS).any(|parts| in_order(&text, parts));
    let says_too_much = |length| TOO_MUCH.iter().any(|much| in_order(&text, &[length, much]));
    is_listed || LENGTHS.iter().any(|length| says_too_much(*length))
}

/// True for a limit of a rate, also where the status says something else.
pub(super) fn is_rate_limit(tags: &[String], message: &str, status: Option<u16>) -> bool {
    let tagged = tags.iter().any(|tag| RATE_TAGS.contains(&tag.to_lowercase().as_str()));
    let text = message.to_lowercase();
    tagged
        || matches!(status, None | Some(400 | 413))
            && RATE_WORDS.iter().any(|words| text.contains(words))
}

fn in_order(text: &str, parts: &[&str]) -> bool {
    let mut rest = text;
    parts.iter().all(|part| match rest.split_once(part) {
        Some((_, after)) => {
            rest = after;
            true
        }
        None => false,
    })
}

#[cfg(test)]
mod tests;

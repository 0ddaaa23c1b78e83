//! Recognition of a refusal because the request is too long for the model, by its tags and words.
//!
//! Servers share no code for it, so words of many are listed. Limits of rates, of accounts and
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

/// Names of the request's length, in lower case. A message that has one of them and one of
/// [`TOO_MUCH`] is such a refusal.
const LENGTHS: [&str; 8] = [
    "context length",
    "context size",
    "context limit",
    "input length",
    "prompt length",
    "input token",
    "prompt tokens",
    "prompt",
];
const TOO_MUCH: [&str; 5] = ["exceed", "too long", "longer than", "greater than", "larger than"];
/// Other messages of such a refusal.
const WORDS: [&str; 16] = [
    // OpenAI, Azure, DeepSeek, OpenRouter, vLLM, SGLang, Mistral.
    "maximum context length",
    // OpenAI's newer models, MiniMax.
    "context window",
    "tokens exceed the configured limit",
    // Gemini and Vertex.
    "input exceeds the maximum number of tokens",
    // xAI.
    "maximum prompt length is",
    // Cohere.
    "too many tokens:",
    // Together and Text Generation Inference.
    "`inputs` tokens + `max_new_tokens` must be",
    "`inputs` must have less than",
    // vLLM.
    "longer than the maximum model length",
    "too long to fit into the model",
    // LM Studio.
    "context length of only",
    // Moonshot.
    "exceeded model token limit",
    // DashScope.
    "range of input length should be",
    // Bedrock.
    "input is too long for requested model",
    // Volcengine Ark.
    "exceed max message tokens",
    // Groq, GitHub Copilot.
    "reduce the length of the messages",
];

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
    says(&WORDS) || says(&LENGTHS) && says(&TOO_MUCH)
}

/// True for a limit of a rate, also where the status says something else.
pub(super) fn is_rate_limit(tags: &[String], message: &str, status: Option<u16>) -> bool {
    let tagged = tags.iter().any(|tag| RATE_TAGS.contains(&tag.to_lowercase().as_str()));
    let text = message.to_lowercase();
    tagged
        || matches!(status, None | Some(400 | 413))
            && RATE_WORDS.iter().any(|words| text.contains(words))
}

#[cfg(test)]
mod tests;

//! Context window and token price of a model. Settings take precedence over the table of families.
//!
//! Pure. An unknown name has no price and the window of a small local model.

use cairn_core::context::{Price, Window};

use super::family;

/// Window in tokens for an unknown model, unless settings or server state another.
pub const UNKNOWN_TOKENS: u64 = 32_000;
/// Window in tokens of a replay, which no script reaches.
pub const SCRIPT_TOKENS: u64 = 1_000_000;
/// Tokens reserved for the answer when no limit is set.
const RESERVE: u64 = 16_000;

/// Settings for the model's window and price.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ContextSettings {
    pub tokens: Option<u64>,
    pub price: Option<Price>,
}

/// Window for a turn with this model. `is_ollama`: the server is taken for Ollama by its port.
/// `learned`: the server said so.
pub fn window(
    model: &str,
    is_ollama: bool,
    settings: &ContextSettings,
    max_tokens: Option<u32>,
    learned: Option<u64>,
) -> Window {
    let tokens = stated(model, is_ollama, settings).unwrap_or(UNKNOWN_TOKENS);
    // A limit that the server stated takes precedence.
    let tokens = learned.map_or(tokens, |learned| learned.min(tokens));
    let reserve = max_tokens.map_or(RESERVE.min(tokens / 8), u64::from);
    Window { tokens, reserve, head: 0 }
}

/// Window that a setting or the table states, in tokens.
///
/// Ollama uses a configured part of a model's window, 4,096 tokens by default, and drops the rest of a
/// request without an error.
pub fn stated(model: &str, is_ollama: bool, settings: &ContextSettings) -> Option<u64> {
    let is_ollama = is_ollama || family::is_local_build(model);
    settings
        .tokens
        .or_else(|| known(model).filter(|tokens| !is_ollama || *tokens <= UNKNOWN_TOKENS))
}

/// Window of a model that is in the table, in tokens.
pub fn known(model: &str) -> Option<u64> {
    family::find(model).map(|family| family.tokens)
}

/// Price of a model. `own_server`: not the vendor's server, so the table's prices do not apply.
pub fn price(model: &str, settings: &ContextSettings, own_server: bool) -> Option<Price> {
    let known = || {
        let (input, cached, output) = family::find(model).filter(|_| !own_server)?.dollars?;
        Price::per_million(input, cached, output)
    };
    settings.price.or_else(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_come_from_the_server_then_settings_then_the_table() {
        let own = ContextSettings { tokens: Some(50_000), price: None };
        let none = ContextSettings::default();
        let tokens =
            |model, settings, learned| window(model, false, settings, None, learned).tokens;
        assert_eq!(tokens("claude-sonnet-5-5", &none, None), 200_000);
        assert_eq!(tokens("claude-sonnet-5-5", &own, None), 50_000);
        // Without a tag, at the port of Ollama.
        let at_ollama = |settings| window("qwen3-coder", true, settings, None, None).tokens;
        assert_eq!((at_ollama(&none), at_ollama(&own)), (UNKNOWN_TOKENS, 50_000));
        assert_eq!(tokens("claude-sonnet-5-5", &own, Some(8_192)), 8_192);
        assert_eq!(tokens("claude-sonnet-5-5", &own, Some(80_192)), 50_000);
        assert_eq!(tokens("local", &none, None), UNKNOWN_TOKENS);
        assert_eq!(window("local", false, &none, None, None).reserve, 4_000);
        assert_eq!(window("gpt-5.5", false, &none, Some(9), None).reserve, 9);
    }

    #[test]
    fn the_window_of_a_model_is_found_for_any_server() {
        let none = ContextSettings::default();
        for (model, tokens) in [
            ("deepseek-chat", 131_072),
            ("deepseek/deepseek-chat", 131_072),
            ("deepseek-reasoner", 131_072),
            ("deepseek-v4-pro", 1_000_000),
            ("deepseek/deepseek-v4-flash:free", 1_000_000),
            ("deepseek-v4-flash-260425", 1_000_000),
            ("deepseek-ai/DeepSeek-V3.2", 131_072),
            ("accounts/fireworks/models/deepseek-r1-0528", 128_000),
            ("glm-4.5-air", 131_072),
            ("glm-4.6", 200_000),
            ("z-ai/glm-4.7", 200_000),
            ("zai.glm-4.7", 200_000),
            ("zai-org/GLM-4.6V", 128_000),
            ("glm-5", 200_000),
            ("glm-5.1", 200_000),
            ("GLM-5.2", 1_000_000),
            ("glm-4-plus", 128_000),
            ("kimi-k2-0711-preview", 131_072),
            ("kimi-k2-0905-preview", 262_144),
            ("moonshotai/kimi-k2", 131_072),
            ("moonshotai/Kimi-K2-Instruct-0905", 262_144),
            ("kimi-k2.5", 262_144),
            ("moonshot.kimi-k2-thinking", 262_144),
            ("kimi-k3", 1_048_576),
            ("moonshot-v1-8k", 8_192),
            ("moonshot-v1-auto", 131_072),
            ("qwen-plus-latest", 1_000_000),
            ("qwen-max", 32_768),
            ("qwen3-max-2026-01-23", 262_144),
            ("qwen3-coder-plus", 1_000_000),
            ("qwen/qwen3-coder", 262_144),
            ("Qwen/Qwen3-Coder-30B-A3B-Instruct", 262_144),
            ("qwen.qwen3-coder-480b-a35b-v1:0", 262_144),
            ("qwen3-coder:480b-cloud", 262_144),
            ("Qwen/Qwen3-32B", 131_072),
            ("qwen3.7-max", 1_000_000),
            ("qwen3.5-397b-a17b", 262_144),
            ("doubao-seed-1-6-250615", 256_000),
            ("doubao-seed-2-0-code-preview-260215", 256_000),
            ("doubao-1.5-pro-32k", 32_768),
            ("doubao-1-5-pro-256k-250115", 256_000),
            ("gemini-2.5-pro", 1_048_576),
            ("models/gemini-3-pro-preview", 1_048_576),
            ("google/gemini-3.8-flash", 1_048_576),
            ("o1", 200_000),
            ("o1-mini-2024-09-12", 128_000),
            ("o3", 200_000),
            ("openai/o3-pro", 200_000),
            ("o4-mini-2025-04-16", 200_000),
            ("openai/gpt-oss-120b", 131_072),
            ("x-ai/grok-4", 256_000),
            ("us.anthropic.claude-opus-4-5-20251101-v1:0", 200_000),
            ("anthropic/claude-sonnet-5-5", 200_000),
            // On a server of the user's own, which does not know the window.
            ("qwen3-coder:30b", UNKNOWN_TOKENS),
            ("qwen3:8b-q4_K_M", UNKNOWN_TOKENS),
            ("deepseek-r1:1.5b", UNKNOWN_TOKENS),
            ("gpt-oss:20b", UNKNOWN_TOKENS),
            ("gemma3n:e4b", UNKNOWN_TOKENS),
            ("hf.co/unsloth/Qwen3-Coder-30B-A3B-Instruct-GGUF:latest", UNKNOWN_TOKENS),
            ("my-model", UNKNOWN_TOKENS),
            ("o1js", UNKNOWN_TOKENS),
            ("", UNKNOWN_TOKENS),
        ] {
            assert_eq!(window(model, false, &none, None, None).tokens, tokens, "{model}");
        }
        let own = ContextSettings { tokens: Some(200_000), price: None };
        assert_eq!(window("qwen3-coder:30b", false, &own, None, None).tokens, 200_000);
    }

    #[test]
    fn prices_are_used_for_servers_of_the_vendors_only() {
        let none = ContextSettings::default();
        let sonnet = Price { input: 2_000, cached: 100, output: 10_000 };
        assert_eq!(price("claude-sonnet-5-5-20260901", &none, false), Some(sonnet));
        assert_eq!(price("claude-sonnet-5-5", &none, true), None);
        assert_eq!(price("local", &none, false), None);
        assert_eq!(price("gpt-5.5-pro", &none, false), None);
        let own = ContextSettings { tokens: None, price: Some(sonnet) };
        assert_eq!(price("local", &own, true), Some(sonnet));
    }
}

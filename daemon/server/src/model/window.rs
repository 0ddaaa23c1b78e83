//! Context windows and token prices by the names of models. Settings take precedence.
//!
//! Pure. An unknown name has no price and the window of a small local model.

use cairn_core::context::{Price, Window};

/// Date of the last comparison with published data: the price list of LiteLLM 1.106.2, and for the
/// windows of vendors other than Anthropic and OpenAI the catalogue models.dev and the vendors' error
/// messages.
pub const AS_OF: &str = "2026-10-21";

/// Window in tokens for an unknown model, unless settings or server state another.
pub const UNKNOWN_TOKENS: u64 = 32_000;
/// Window in tokens of a replay, which no script reaches.
pub const SCRIPT_TOKENS: u64 = 1_000_000;
/// Tokens reserved for the answer when no limit is set.
const RESERVE: u64 = 16_000;

struct Family {
    /// Prefix of the name. A hyphen at its end may be missing in the name. The first match counts.
    name: &'static str,
    /// Limit of a request with its answer, in tokens. Newer models accept more, but a longer request
    /// is slow, and some models charge two to five times as much for each token of it.
    tokens: u64,
    /// Dollars for a million tokens: input, cached input, output.
    dollars: Option<(f64, f64, f64)>,
}

const fn family(name: &'static str, tokens: u64, dollars: (f64, f64, f64)) -> Family {
    Family { name, tokens, dollars: Some(dollars) }
}

/// Family without a known price.
const fn size(name: &'static str, tokens: u64) -> Family {
    Family { name, tokens, dollars: None }
}

const FAMILIES: &[Family] = &[
    family("claude-haiku-5-5", 116_000, (0.1, 0.01, 0.5)),
    family("claude-haiku-4-5", 200_000, (1.0, 0.1, 5.0)),
    family("claude-sonnet-5-5", 200_000, (2.0, 0.1, 10.0)),
    family("claude-sonnet-5", 200_000, (2.0, 0.2, 10.0)),
    family("claude-sonnet-4", 200_000, (3.0, 0.3, 15.0)),
    family("claude-opus-5-5", 200_000, (4.0, 0.2, 20.0)),
    family("claude-opus-5", 200_000, (5.0, 0.5, 25.0)),
    family("claude-opus-4-", 200_000, (5.0, 0.5, 25.0)),
    Family { name: "claude-", tokens: 200_000, dollars: None },
    family("gpt-5.6-luna", 272_000, (0.2, 0.02, 1.2)),
    family("gpt-5.6-terra", 272_000, (2.0, 0.2, 12.0)),
    Family { name: "gpt-5.6-cyber", tokens: 272_000, dollars: None },
    family("gpt-5.6", 272_000, (4.0, 0.4, 20.0)),
    Family { name: "gpt-5.5-pro", tokens: 272_000, dollars: None },
    Family { name: "gpt-5.5-cyber", tokens: 272_000, dollars: None },
    family("gpt-5.5", 272_000, (5.0, 0.5, 30.0)),
    Family { name: "gpt-5.4-pro", tokens: 272_000, dollars: None },
    family("gpt-5.4-mini", 272_000, (0.75, 0.075, 4.5)),
    family("gpt-5.4-nano", 272_000, (0.2, 0.02, 1.25)),
    family("gpt-5.4", 272_000, (2.5, 0.25, 15.0)),
    family("gpt-5.1-codex-mini", 272_000, (0.25, 0.025, 2.0)),
    family("gpt-5-mini", 272_000, (0.25, 0.025, 2.0)),
    family("gpt-5-nano", 272_000, (0.05, 0.005, 0.4)),
    Family { name: "gpt-5", tokens: 272_000, dollars: None },
    family("gpt-4.1-mini", 272_000, (0.4, 0.1, 1.6)),
    family("gpt-4.1-nano", 272_000, (0.1, 0.025, 0.4)),
    family("gpt-4.1", 272_000, (2.0, 0.5, 8.0)),
    family("gpt-4o-mini", 128_000, (0.15, 0.075, 0.6)),
    family("gpt-4o", 128_000, (2.5, 1.25, 10.0)),
    size("gpt-oss", 131_072),
    size("o1-mini", 128_000),
    size("o1-preview", 128_000),
    size("o1-", 200_000),
    size("o3-", 200_000),
    size("o4-", 200_000),
    size("codex-mini", 200_000),
    size("gemini-2.5-flash-image", 32_768),
    size("gemini-", 1_048_576),
    size("deepseek-v4", 1_000_000),
    // With DeepSeek itself these names lead to V4 now; everywhere else they are V3.
    size("deepseek-chat", 131_072),
    size("deepseek-reasoner", 131_072),
    size("deepseek-v3", 131_072),
    size("deepseek-r1", 128_000),
    size("glm-5.2", 1_000_000),
    size("glm-5.3", 1_000_000),
    size("glm-5", 200_000),
    size("glm-4.7", 200_000),
    size("glm-4.6v", 128_000),
    size("glm-4.6", 200_000),
    size("glm-4.5v", 65_536),
    size("glm-4.5", 131_072),
    size("glm-4-long", 1_000_000),
    size("glm-4-", 128_000),
    size("kimi-k3", 1_048_576),
    size("kimi-k2.8", 1_048_576),
    size("kimi-k2.", 262_144),
    size("kimi-k2-0905", 262_144),
    size("kimi-k2-instruct-0905", 262_144),
    size("kimi-k2-thinking", 262_144),
    size("kimi-k2-turbo", 262_144),
    size("kimi-k2-", 131_072),
    size("kimi-for-coding", 262_144),
    size("kimi-latest", 131_072),
    size("moonshot-v1-8k", 8_192),
    size("moonshot-v1-32k", 32_768),
    size("moonshot-v1-", 131_072),
    size("qwen3.8", 1_000_000),
    size("qwen3.7", 1_000_000),
    size("qwen3.6-plus", 1_000_000),
    size("qwen3.6-flash", 1_000_000),
    size("qwen3.6", 262_144),
    size("qwen3.5-plus", 1_000_000),
    size("qwen3.5-flash", 1_000_000),
    size("qwen3.5", 262_144),
    size("qwen3-coder-plus", 1_000_000),
    size("qwen3-coder-flash", 1_000_000),
    size("qwen3-coder", 262_144),
    size("qwen3-max", 262_144),
    size("qwen3-next", 262_144),
    size("qwen3-235b-a22b-instruct-2507", 262_144),
    size("qwen3-235b-a22b-thinking-2507", 262_144),
    size("qwen3-30b-a3b-instruct-2507", 262_144),
    size("qwen3-30b-a3b-thinking-2507", 262_144),
    size("qwen3-", 131_072),
    size("qwen2.5-", 32_768),
    size("qwen-plus", 1_000_000),
    size("qwen-flash", 1_000_000),
    size("qwen-turbo", 1_000_000),
    size("qwen-long", 1_000_000),
    size("qwen-coder-plus", 131_072),
    size("qwen-max", 32_768),
    size("qwq-", 131_072),
    size("doubao-seed", 256_000),
    size("doubao-1-5-pro-256k", 256_000),
    size("doubao-1.5-pro-256k", 256_000),
    size("doubao-1-5-thinking", 131_072),
    size("doubao-1.5-thinking", 131_072),
    size("doubao-", 32_768),
    size("grok-4.5", 500_000),
    size("grok-4", 256_000),
    size("grok-code-fast", 256_000),
    size("grok-3", 131_072),
];

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
    let is_ollama = is_ollama || Name::read(model).is_local_build;
    settings
        .tokens
        .or_else(|| known(model).filter(|tokens| !is_ollama || *tokens <= UNKNOWN_TOKENS))
}

/// Window of a model that is in the table, in tokens.
pub fn known(model: &str) -> Option<u64> {
    find(model).map(|family| family.tokens)
}

/// Price of a model. `own_server`: not the vendor's server, so the table's prices do not apply.
pub fn price(model: &str, settings: &ContextSettings, own_server: bool) -> Option<Price> {
    let known = || {
        let (input, cached, output) = find(model).filter(|_| !own_server)?.dollars?;
        Price::per_million(input, cached, output)
    };
    settings.price.or_else(known)
}

fn find(model: &str) -> Option<&'static Family> {
    let name = Name::read(model);
    let begins = |family: &&Family| {
        let begin = family.name;
        name.bare.starts_with(begin) || begin.strip_suffix('-') == Some(&name.bare)
    };
    FAMILIES.iter().find(begins)
}

/// A model's name without who serves it and in which variant: `deepseek/deepseek-chat`,
/// `models/gemini-2.5-pro`, `us.anthropic.claude-opus-4-5-20251101-v1:0`, `qwen3-coder:30b`.
struct Name {
    bare: String,
    /// The build of a model for a server of the user's own, as Ollama writes it.
    is_local_build: bool,
}

impl Name {
    fn read(model: &str) -> Self {
        const BEFORE_A_DOT: [&str; 14] = [
            "us",
            "eu",
            "apac",
            "jp",
            "au",
            "global",
            "us-gov",
            "anthropic",
            "openai",
            "google",
            "qwen",
            "zai",
            "moonshotai",
            "moonshot",
        ];
        let model = model.trim().to_ascii_lowercase();
        let name = model.rsplit('/').next().unwrap_or_default();
        let (mut bare, tag) = name.split_once(':').unwrap_or((name, ""));
        while let Some((vendor, rest)) = bare.split_once('.')
            && BEFORE_A_DOT.contains(&vendor)
        {
            bare = rest;
        }
        Self { bare: bare.to_owned(), is_local_build: is_local_build(tag) }
    }
}

/// `30b`, `1.7b-q8_0`, `e4b`, `latest`; not `free`, `thinking` or `0` of hosted models, and not what
/// runs in Ollama's cloud.
fn is_local_build(tag: &str) -> bool {
    let size = tag.strip_prefix('e').unwrap_or(tag);
    let digits = size.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | 'x'));
    let has_size = digits.len() < size.len() && digits.starts_with(['b', 'm']);
    !tag.ends_with("cloud") && (tag == "latest" || has_size)
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
            // On a server of the user's own, which was not told of the window.
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

    #[test]
    fn no_entry_of_the_table_hides_another() {
        for (at, family) in FAMILIES.iter().enumerate() {
            let hidden = FAMILIES[..at].iter().find(|other| family.name.starts_with(other.name));
            assert!(hidden.is_none(), "{} is never reached", family.name);
        }
    }
}

//! Facts about models by the names of their families: context windows, prices, options of requests.
//!
//! Pure.

/// Row of the table.
pub(super) struct Family {
    /// Prefix of the name. A hyphen at its end may be missing in the name. The first match counts.
    name: &'static str,
    /// Limit of a request with its answer, in tokens. Newer models accept more, but a longer request
    /// is slow, and some models charge two to five times as much for each token of it.
    pub(super) tokens: u64,
    /// Dollars for a million tokens: input, cached input, output.
    pub(super) dollars: Option<(f64, f64, f64)>,
    options: Options,
}

/// Members of a request that depend on the model. Models of other families refuse them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Options {
    /// Limit of an answer with its thinking in tokens, for a format that requires a limit.
    pub(super) answer: Option<u32>,
    /// The model itself decides how much it thinks.
    pub(super) adaptive_thinking: bool,
    /// Word of the vendor for how much work an answer is worth.
    pub(super) effort: Option<&'static str>,
}

/// Options of an unknown model: it gets the defaults of its server.
pub(super) const PLAIN: Options = Options { answer: None, adaptive_thinking: false, effort: None };
/// Claude since 4.6. Without the member it does not think, and thinking takes a part of the answer's limit.
const CLAUDE: Options =
    Options { answer: Some(32_000), adaptive_thinking: true, effort: Some("high") };
/// GPT since 5. From 5.1 on most of them do not reason unless a request names an effort.
const GPT: Options = Options { effort: Some("medium"), ..PLAIN };

const fn family(name: &'static str, tokens: u64, dollars: (f64, f64, f64)) -> Family {
    Family { name, tokens, dollars: Some(dollars), options: PLAIN }
}

/// Family without a known price.
const fn size(name: &'static str, tokens: u64) -> Family {
    Family { name, tokens, dollars: None, options: PLAIN }
}

impl Family {
    const fn with(self, options: Options) -> Self {
        Self { options, ..self }
    }
}

/// Compared on 2026-10-21 with the price list of LiteLLM 1.106.2, and for the windows of vendors other
/// than Anthropic and OpenAI with the catalogue models.dev and the vendors' error messages.
const FAMILIES: &[Family] = &[
    family("claude-fable-5-1", 200_000, (10.0, 0.25, 50.0)).with(CLAUDE),
    family("claude-fable-5", 200_000, (10.0, 1.0, 50.0)).with(CLAUDE),
    family("claude-mythos-5-1", 200_000, (10.0, 0.25, 50.0)).with(CLAUDE),
    family("claude-mythos-5", 200_000, (10.0, 1.0, 50.0)).with(CLAUDE),
    family("claude-haiku-5-5", 116_000, (0.1, 0.01, 0.5)).with(CLAUDE),
    family("claude-haiku-4-5", 200_000, (1.0, 0.1, 5.0)),
    family("claude-sonnet-5-5", 200_000, (2.0, 0.1, 10.0)).with(CLAUDE),
    family("claude-sonnet-5", 200_000, (2.0, 0.2, 10.0)).with(CLAUDE),
    family("claude-sonnet-4-6", 200_000, (3.0, 0.3, 15.0)).with(CLAUDE),
    family("claude-sonnet-4", 200_000, (3.0, 0.3, 15.0)),
    family("claude-opus-5-5", 200_000, (4.0, 0.2, 20.0)).with(CLAUDE),
    family("claude-opus-5", 200_000, (5.0, 0.5, 25.0)).with(CLAUDE),
    family("claude-opus-4-6", 200_000, (5.0, 0.5, 25.0)).with(CLAUDE),
    family("claude-opus-4-7", 200_000, (5.0, 0.5, 25.0)).with(CLAUDE),
    family("claude-opus-4-8", 200_000, (5.0, 0.5, 25.0)).with(CLAUDE),
    family("claude-opus-4-", 200_000, (5.0, 0.5, 25.0)),
    size("claude-", 200_000),
    family("gpt-6.1-sol", 272_000, (2.0, 0.1, 10.0)).with(GPT),
    family("gpt-6-astra", 272_000, (10.0, 1.0, 50.0)).with(GPT),
    family("gpt-6-sol", 272_000, (2.0, 0.2, 10.0)).with(GPT),
    family("gpt-6-luna", 272_000, (0.1, 0.01, 0.5)).with(GPT),
    family("gpt-5.6-luna", 272_000, (0.2, 0.02, 1.2)).with(GPT),
    family("gpt-5.6-terra", 272_000, (2.0, 0.2, 12.0)).with(GPT),
    size("gpt-5.6-cyber", 272_000),
    family("gpt-5.6", 272_000, (4.0, 0.4, 20.0)).with(GPT),
    size("gpt-5.5-pro", 272_000),
    size("gpt-5.5-cyber", 272_000),
    family("gpt-5.5", 272_000, (5.0, 0.5, 30.0)).with(GPT),
    size("gpt-5.4-pro", 272_000),
    family("gpt-5.4-mini", 272_000, (0.75, 0.075, 4.5)).with(GPT),
    family("gpt-5.4-nano", 272_000, (0.2, 0.02, 1.25)).with(GPT),
    family("gpt-5.4", 272_000, (2.5, 0.25, 15.0)).with(GPT),
    family("gpt-5.3-codex", 272_000, (1.75, 0.175, 14.0)).with(GPT),
    family("gpt-5.1-codex-mini", 272_000, (0.25, 0.025, 2.0)).with(GPT),
    size("gpt-5-pro", 272_000),
    size("gpt-5.2-pro", 272_000),
    family("gpt-5-mini", 272_000, (0.25, 0.025, 2.0)).with(GPT),
    family("gpt-5-nano", 272_000, (0.05, 0.005, 0.4)).with(GPT),
    size("gpt-5", 272_000).with(GPT),
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

/// Row of a model; `None` for an unknown one.
pub(super) fn find(model: &str) -> Option<&'static Family> {
    let name = Name::read(model);
    let begins = |family: &&Family| {
        let begin = family.name;
        name.bare.starts_with(begin) || begin.strip_suffix('-') == Some(&name.bare)
    };
    FAMILIES.iter().find(begins)
}

/// Options of requests to a model.
pub(super) fn options(model: &str) -> Options {
    // The chat variants have a fixed effort.
    find(model).filter(|_| !model.contains("-chat")).map_or(PLAIN, |family| family.options)
}

/// True for the build of a model for a server of the user's own, as Ollama writes it.
pub(super) fn is_local_build(model: &str) -> bool {
    Name::read(model).is_local_build
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
        Self { bare: bare.to_owned(), is_local_build: is_size(tag) }
    }
}

/// `30b`, `1.7b-q8_0`, `e4b`, `latest`; not `free`, `thinking` or `0` of hosted models, and not what
/// runs in Ollama's cloud.
fn is_size(tag: &str) -> bool {
    let size = tag.strip_prefix('e').unwrap_or(tag);
    let digits = size.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | 'x'));
    let has_size = digits.len() < size.len() && digits.starts_with(['b', 'm']);
    !tag.ends_with("cloud") && (tag == "latest" || has_size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_entry_of_the_table_hides_another() {
        for (at, family) in FAMILIES.iter().enumerate() {
            let hidden = FAMILIES[..at].iter().find(|other| family.name.starts_with(other.name));
            assert!(hidden.is_none(), "{} is never reached", family.name);
        }
    }

    #[test]
    fn options_are_sent_to_families_that_take_them() {
        for (model, expected) in [
            ("claude-sonnet-5-5", CLAUDE),
            ("claude-opus-4-8-20260601", CLAUDE),
            ("anthropic/claude-opus-5", CLAUDE),
            ("claude-haiku-4-5", PLAIN),
            ("claude-opus-4-5-20251101", PLAIN),
            ("gpt-5.4-mini", GPT),
            ("gpt-5.3-codex", GPT),
            ("gpt-5.2-pro", PLAIN),
            ("gpt-5.1-chat-latest", PLAIN),
            ("gpt-4.1", PLAIN),
            ("o3", PLAIN),
            ("qwen3-coder", PLAIN),
            ("local", PLAIN),
        ] {
            assert_eq!(options(model), expected, "{model}");
        }
    }
}

//! Facts about models by the names of their families: context windows, prices, options of requests.
//!
//! Pure.

use std::sync::LazyLock;

/// Row of `families.txt`, which explains it.
pub(super) struct Family {
    name: &'static str,
    /// Limit of a request with its answer, in tokens.
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

static FAMILIES: LazyLock<Vec<Family>> =
    LazyLock::new(|| include_str!("families.txt").lines().filter_map(Family::read).collect());

impl Family {
    /// Row of a line. `None` for a comment and an empty line.
    fn read(line: &'static str) -> Option<Self> {
        let mut words = line.split_whitespace().peekable();
        let (name, tokens) = (words.next().filter(|it| *it != "#")?, words.next()?.parse().ok()?);
        let mut price =
            || words.next_if(|word| word.starts_with(|it: char| it.is_ascii_digit()))?.parse().ok();
        let dollars = price().zip(price()).zip(price());
        let options = match words.next() {
            Some("anthropic") => CLAUDE,
            Some("openai") => GPT,
            _ => PLAIN,
        };
        Some(Self {
            name,
            tokens,
            dollars: dollars.map(|((input, cached), output)| (input, cached, output)),
            options,
        })
    }
}

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
    fn each_line_is_read() {
        let rows = include_str!("families.txt")
            .lines()
            .filter(|it| !it.is_empty() && !it.starts_with('#'));
        let text = |row: &Family| {
            let vendor = match row.options {
                CLAUDE => " anthropic",
                GPT => " openai",
                _ => "",
            };
            let dollars =
                row.dollars.map(|(input, cached, output)| format!(" {input} {cached} {output}"));
            format!("{} {}{}{vendor}", row.name, row.tokens, dollars.unwrap_or_default())
        };
        let read: Vec<String> = FAMILIES.iter().map(text).collect();
        assert_eq!(read, rows.collect::<Vec<_>>());
    }

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

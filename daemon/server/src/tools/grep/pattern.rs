//! Compiled regular expression with a bounded cost: of memory, and of each step of a search.

use std::ops::Range;

use regex_automata::{
    Input,
    meta::{self, Cache, Regex},
    nfa::thompson::{self, Compiler},
    util::syntax,
};

/// Longest pattern in bytes.
pub(super) const MAX_PATTERN_BYTES: usize = 2_000;
/// Memory of one automaton. A compiled pattern has two, one for each direction.
const MAX_AUTOMATON_BYTES: usize = 1024 * 1024;
/// Memory for the states that a search builds while it runs, for each direction.
const CACHE_BYTES: usize = 512 * 1024;
/// Automaton states times bytes of text that are searched without a look at the clock: about 50 ms
/// for the slowest of the engines.
const STEPS_AT_ONCE: usize = 4_000_000;
const MIN_WINDOW: usize = 256;
const MAX_WINDOW: usize = 64 * 1024;

pub(in crate::tools) struct Pattern {
    regex: Regex,
    cache: Cache,
    window: usize,
}

impl Pattern {
    /// Compiles a pattern for single lines. The error is for the model.
    pub(in crate::tools) fn compile(pattern: &str, ignore_case: bool) -> Result<Self, String> {
        if pattern.len() > MAX_PATTERN_BYTES {
            return Err(too_long(pattern));
        }
        let syntax = syntax::Config::new()
            .case_insensitive(ignore_case)
            .multi_line(true)
            .crlf(true)
            .utf8(false);
        // Built only to know its size before anything is built from it.
        let states = Compiler::new()
            .syntax(syntax)
            .configure(
                thompson::Config::new().utf8(false).nfa_size_limit(Some(MAX_AUTOMATON_BYTES)),
            )
            .build(pattern)
            .map_err(|error| refusal(error.size_limit().is_some(), &error_text(&error)))?
            .states()
            .len();
        let config = meta::Config::new()
            .utf8_empty(false)
            .nfa_size_limit(Some(MAX_AUTOMATON_BYTES))
            .onepass_size_limit(Some(MAX_AUTOMATON_BYTES / 4))
            .hybrid_cache_capacity(CACHE_BYTES);
        let regex = meta::Builder::new().syntax(syntax).configure(config).build(pattern).map_err(
            |error| {
                let syntax = error.syntax_error().map(ToString::to_string);
                refusal(error.size_limit().is_some(), &syntax.unwrap_or_else(|| error.to_string()))
            },
        )?;
        let window = (STEPS_AT_ONCE / states.max(1)).clamp(MIN_WINDOW, MAX_WINDOW);
        Ok(Self { cache: regex.create_cache(), regex, window })
    }

    /// Most bytes that one call of [`Self::is_match`] may get.
    pub(super) fn window(&self) -> usize {
        self.window
    }

    /// Searches the end of a text, in bounded time: all of it unless the pattern is large.
    pub(in crate::tools) fn is_in(&mut self, text: &[u8]) -> bool {
        let start = text.len().saturating_sub(self.window * 4);
        self.is_match(text, start..text.len())
    }

    /// Searches a part of a text. The text around it decides anchors and word boundaries.
    pub(super) fn is_match(&mut self, text: &[u8], part: Range<usize>) -> bool {
        let input = Input::new(text).span(part).earliest(true);
        self.regex.search_half_with(&mut self.cache, &input).is_some()
    }
}

pub(super) fn too_long(pattern: &str) -> String {
    format!(
        "The pattern has {} bytes; it may have at most {MAX_PATTERN_BYTES}. Search for a shorter \
         part of it.",
        pattern.len()
    )
}

fn refusal(too_large: bool, error: &str) -> String {
    match too_large {
        true => "The pattern is too large when compiled: its repetitions multiply. Search for a \
                 simpler one."
            .to_owned(),
        false => format!(
            "The pattern is not a regular expression for single lines: {error}. Escape characters \
             that are meant literally with `\\`."
        ),
    }
}

/// Error of the parser, with the place of the fault.
fn error_text(error: &thompson::BuildError) -> String {
    use std::error::Error;
    error.source().map_or_else(|| error.to_string(), ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_searched_part_shrinks_as_the_pattern_grows() {
        let window = |pattern: &str| Pattern::compile(pattern, false).expect("a pattern").window();
        assert_eq!(window("needle"), MAX_WINDOW);
        assert!(window(&"(a|b)?".repeat(300)) < MAX_WINDOW);
        assert!(window(r"\w{20}") >= MIN_WINDOW);
    }

    #[test]
    fn patterns_beyond_a_limit_are_refused() {
        for (pattern, expected) in [
            ("a".repeat(MAX_PATTERN_BYTES + 1), "may have at most 2000"),
            (r"\w{1000}".to_owned(), "too large when compiled"),
            (r"((x{100}){100}){100}".to_owned(), "too large when compiled"),
            ("(".repeat(300), "not a regular expression"),
            ("a(".to_owned(), "unclosed group"),
        ] {
            let error = Pattern::compile(&pattern, true).err().unwrap_or_default();
            assert!(error.contains(expected), "{pattern:.20}: {error}");
        }
    }

    #[test]
    fn anchors_consider_text_around_the_searched_part() {
        let mut pattern = Pattern::compile("^b$|a\\b", false).expect("a pattern");
        let text = b"ab\r\nb\r\na";
        assert!(!pattern.is_match(text, 0..2));
        assert!(!pattern.is_match(text, 1..2));
        assert!(pattern.is_match(text, 4..6));
        assert!(pattern.is_match(text, 7..8));
    }
}

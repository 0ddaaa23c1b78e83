//! Calls that a model writes into its answer because the server's chat template does not turn them
//! into calls of the API. They are recognized, and never run.

/// Beginnings of such calls: those of Hermes and Qwen, Llama, Claude, DeepSeek, Kimi and Mistral.
const BEGINNINGS: [&str; 12] = [
    "<tool_call>",
    "<tool_calls>",
    "<tool_use>",
    "<function_call>",
    "<function_calls>",
    "<function=",
    "<invoke name=",
    "<|tool_call",
    "<|python_tag|>",
    "<｜tool▁call",
    "<｜DSML｜",
    "[TOOL_CALLS]",
];

/// True if the answer holds a call as text. One in a code fence or between backticks explains.
pub fn is_written(answer: &str) -> bool {
    unfenced(answer).any(|(line, rest)| begins_call(line, rest))
}

/// Lines outside of code fences, each with the text from its start.
pub(crate) fn unfenced(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut fence: Option<&str> = None;
    let mut at = 0;
    text.split_inclusive('\n').filter_map(move |line| {
        let rest = &text[at..];
        at += line.len();
        let trimmed = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| trimmed.starts_with(mark));
        match (fence, mark) {
            (Some(open), Some(mark)) if open == mark => fence = None,
            (None, Some(mark)) => fence = Some(mark),
            (None, None) => return Some((line, rest)),
            (Some(_), _) => {}
        }
        None
    })
}

fn begins_call(line: &str, rest: &str) -> bool {
    line.match_indices(['<', '[']).any(|(at, _)| {
        let here = &rest[at..];
        let Some(beginning) = BEGINNINGS.iter().find(|it| here.starts_with(**it)) else {
            return false;
        };
        let quoted = line[..at].matches('`').count() % 2 == 1;
        !quoted && (at == 0 || line[..at].trim().is_empty() || holds_call(&here[beginning.len()..]))
    })
}

/// True for the inside of a call. A sentence about the mark does not look like one.
fn holds_call(inside: &str) -> bool {
    inside.trim_start().starts_with(['{', '[', '<', '"']) || inside.starts_with(is_name)
}

fn is_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_each_template_are_recognized() {
        for call in [
            "I will change it now.\n<tool_call>\n{\"name\": \"edit_file\"}\n</tool_call>",
            "Now: <tool_call>{\"name\": \"edit_file\"}</tool_call>",
            "<tool_call>edit_file\n<arg_key>path</arg_key>",
            "<function=edit_file><parameter=path>a</parameter></function>",
            "So: <function=edit_file>\n<parameter=path>",
            "<function_calls><invoke name=\"edit_file\">",
            "Text.\n  <invoke name=\"edit_file\">",
            "[TOOL_CALLS][{\"name\": \"edit_file\"}]",
            "<|tool_calls_section_begin|><|tool_call_begin|>functions.edit_file:0",
            "<｜tool▁calls▁begin｜>",
            "```\ncode\n```\n<tool_call>\n{",
        ] {
            assert!(is_written(call), "{call}");
        }
    }

    #[test]
    fn text_about_calls_is_not_one() {
        for text in [
            "",
            "Done.",
            "The template wraps calls in `<tool_call>` and `</tool_call>`.",
            "It looks like this:\n```xml\n<tool_call>\n{\"name\": \"x\"}\n</tool_call>\n```\nDone.",
            "~~~\n<invoke name=\"x\">\n```\n<tool_call>\n~~~",
            "The <tool_call> mark is missing.",
            "a < b and c[0] = 1",
            "</tool_call>",
        ] {
            assert!(!is_written(text), "{text}");
        }
    }
}

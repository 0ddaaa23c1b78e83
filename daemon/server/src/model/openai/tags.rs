//! Thinking that a server leaves in the text, between tags such as `<think>` and `</think>`.
//!
//! Pure, and independent of how the stream is cut. A tag is one at the start of a line; in a code
//! fence or between backticks it is text. Some templates write the first tag themselves, so the end
//! of thinking may come without a start.

/// First and last tag of thinking, by model: DeepSeek, Qwen and most others; Gemini; Mistral.
const TAGS: [(&str, &str); 4] = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("[THINK]", "[/THINK]"),
];

/// Piece of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    Text(String),
    Thinking(String),
    /// All text so far was thinking.
    TextWasThinking,
}

/// Separates the text of one answer.
#[derive(Debug, Default)]
pub(super) struct Splitter {
    /// Last tag of the thinking that is open.
    open: Option<&'static str>,
    /// Any thinking was separated.
    thought: bool,
    /// White space after the last tag belongs to neither side.
    skips_space: bool,
    /// Possible start of a tag, at the end of what came so far.
    held: String,
    line: Line,
}

/// Facts about the line of text that is being written.
#[derive(Debug, Default)]
struct Line {
    /// Its first characters after white space, at most three.
    head: String,
    /// Backticks so far are an odd number.
    in_code: bool,
    /// First three characters of the fence that is open.
    fence: Option<String>,
}

impl Line {
    fn is_prose(&self) -> bool {
        self.fence.is_none() && !self.in_code
    }

    fn push(&mut self, character: char) {
        if character == '\n' {
            let head = std::mem::take(&mut self.head);
            self.in_code = false;
            match &self.fence {
                Some(open) if *open == head => self.fence = None,
                None if head == "```" || head == "~~~" => self.fence = Some(head),
                Some(_) | None => {}
            }
            return;
        }
        if self.head.len() < 3 && !(self.head.is_empty() && character.is_whitespace()) {
            self.head.push(character);
        }
        self.in_code ^= character == '`';
    }
}

/// Reading at a place of the text.
enum Here {
    Tag {
        length: usize,
        opens: Option<&'static str>,
    },
    /// More text decides.
    Unknown,
    Nothing,
}

impl Splitter {
    pub(super) fn push(&mut self, piece: &str) -> Vec<Part> {
        let text = std::mem::take(&mut self.held) + piece;
        let mut parts = Vec::new();
        let mut at = 0;
        let mut from = 0;
        while let Some(character) = text[at..].chars().next() {
            match self.here(&text[at..], character) {
                Here::Unknown => {
                    self.add(&mut parts, &text[from..at]);
                    text[at..].clone_into(&mut self.held);
                    return parts;
                }
                Here::Tag { length, opens } => {
                    self.add(&mut parts, &text[from..at]);
                    self.switch(&mut parts, opens);
                    at += length;
                    from = at;
                }
                Here::Nothing => {
                    if self.skips_space && character.is_whitespace() {
                        from = at + character.len_utf8();
                    } else {
                        self.skips_space = false;
                        self.line.push(character);
                    }
                    at += character.len_utf8();
                }
            }
        }
        self.add(&mut parts, &text[from..]);
        parts
    }

    /// Returns the text held back, at the end of the answer.
    pub(super) fn end(&mut self) -> Vec<Part> {
        let mut parts = Vec::new();
        let held = std::mem::take(&mut self.held);
        self.add(&mut parts, &held);
        parts
    }

    fn here(&self, text: &str, character: char) -> Here {
        if !matches!(character, '<' | '[') {
            return Here::Nothing;
        }
        let candidates: Vec<(&'static str, Option<&'static str>)> = match self.open {
            Some(last) => vec![(last, None)],
            None if !self.line.is_prose() => return Here::Nothing,
            None => {
                let starts = TAGS.iter().filter(|_| self.line.head.is_empty());
                let starts = starts.map(|(first, last)| (*first, Some(*last)));
                // A first tag that the template wrote.
                let ends = TAGS.iter().filter(|_| !self.thought).map(|(_, last)| (*last, None));
                starts.chain(ends).collect()
            }
        };
        let mut unknown = false;
        for (tag, opens) in candidates {
            if text.starts_with(tag) {
                return Here::Tag { length: tag.len(), opens };
            }
            unknown |= tag.starts_with(text);
        }
        if unknown { Here::Unknown } else { Here::Nothing }
    }

    fn switch(&mut self, parts: &mut Vec<Part>, opens: Option<&'static str>) {
        if self.open.is_none() && opens.is_none() {
            parts.push(Part::TextWasThinking);
        }
        self.open = opens;
        self.thought = true;
        self.skips_space = true;
        self.line = Line::default();
    }

    fn add(&self, parts: &mut Vec<Part>, text: &str) {
        if !text.is_empty() {
            let part = if self.open.is_some() { Part::Thinking } else { Part::Text };
            parts.push(part(text.to_owned()));
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    use super::*;

    fn split(pieces: &[&str]) -> String {
        let mut splitter = Splitter::default();
        let mut parts: Vec<Part> = pieces.iter().flat_map(|piece| splitter.push(piece)).collect();
        parts.extend(splitter.end());
        let (mut text, mut thinking) = (String::new(), String::new());
        for part in parts {
            match part {
                Part::Text(piece) => text.push_str(&piece),
                Part::Thinking(piece) => thinking.push_str(&piece),
                Part::TextWasThinking => thinking.push_str(&std::mem::take(&mut text)),
            }
        }
        format!("{thinking:?} {text:?}")
    }

    fn check(text: &str, expect: Expect) {
        let whole = split(&[text]);
        expect.assert_eq(&whole);
        for (at, _) in text.char_indices() {
            let (first, second) = text.split_at(at);
            assert_eq!(split(&[first, second]), whole, "cut at {at}");
        }
        let pieces: Vec<String> = text.chars().map(String::from).collect();
        let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
        assert_eq!(split(&pieces), whole);
    }

    #[test]
    fn thinking_is_separated_wherever_the_stream_is_cut() {
        check("<think>shall I?</think>Done.", expect![[r#""shall I?" "Done.""#]]);
        check(
            "\n <think>\nshall I?\n</think>\n\nDone.\n",
            expect![[r#""shall I?\n" "\n Done.\n""#]],
        );
        check("[THINK]a[/THINK]b", expect![[r#""a" "b""#]]);
        check("<thinking>a</think>b</thinking>c", expect![[r#""a</think>b" "c""#]]);
        check(
            "One.\n<think>a</think>Two.\n<think>b</think>Three.",
            expect![[r#""ab" "One.\nTwo.\nThree.""#]],
        );
    }

    #[test]
    fn a_missing_tag_is_understood() {
        check("shall I?\n</think>\n\nDone.", expect![[r#""shall I?\n" "Done.""#]]);
        check("<think>shall I?", expect![[r#""shall I?" """#]]);
        check("<think>", expect![[r#""" """#]]);
        check("<think>a\n```\n</think>b", expect![[r#""a\n```\n" "b""#]]);
        check("<think>a</think>b</think>c", expect![[r#""a" "b</think>c""#]]);
    }

    #[test]
    fn a_tag_in_code_or_in_a_sentence_is_text() {
        check("```\n<think>a</think>\n```\nb", expect![[r#""" "```\n<think>a</think>\n```\nb""#]]);
        check("Use `</think>` and `<think>`.", expect![[r#""" "Use `</think>` and `<think>`.""#]]);
        check(
            "The <think> tag; a < b, c[THIN",
            expect![[r#""" "The <think> tag; a < b, c[THIN""#]],
        );
    }

    proptest! {
        #[test]
        fn no_character_is_lost_outside_of_tags(text in "[a<>/`\n ]{0,40}") {
            prop_assert_eq!(split(&[&text]), format!("{:?} {:?}", "", text));
        }
    }
}

//! Sanitizer of foreign text for display: nothing in the result can move the cursor, reverse the
//! reading direction or hide. The extension has the same in `text/display.ts`; both are tested with
//! `tests/tables/visible.json`.
//!
//! For display only: text that is executed or written must never pass through here.

use std::fmt::Write;

/// Ranges of control characters other than tab and line feed, and of characters that Unicode's
/// `Default_Ignorable_Code_Point` names.
const UNSEEN: [(u32, u32); 20] = [
    (0x00, 0x08),
    (0x0b, 0x1f),
    (0x7f, 0x9f),
    (0xad, 0xad),
    (0x34f, 0x34f),
    (0x61c, 0x61c),
    (0x115f, 0x1160),
    (0x17b4, 0x17b5),
    (0x180b, 0x180f),
    (0x200b, 0x200f),
    (0x2028, 0x202e),
    (0x2060, 0x206f),
    (0x3164, 0x3164),
    (0xfe00, 0xfe0f),
    (0xfeff, 0xfeff),
    (0xffa0, 0xffa0),
    (0xfff0, 0xfffb),
    (0x1bca0, 0x1bca3),
    (0x1d173, 0x1d17a),
    (0xe0000, 0xe0fff),
];

/// Ranges of characters that look like a space, but are letters to a shell.
const BLANK: [(u32, u32); 7] = [
    (0xa0, 0xa0),
    (0x1680, 0x1680),
    (0x2000, 0x200a),
    (0x202f, 0x202f),
    (0x205f, 0x205f),
    (0x2800, 0x2800),
    (0x3000, 0x3000),
];

/// Maximum number of characters shown of another program's message.
const FOREIGN_WORDS: usize = 500;

/// Shows each invisible character by its number.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut chars, mut before) = (text.chars().peekable(), None);
    while let Some(c) = chars.next() {
        if c == '\r' && chars.peek() == Some(&'\n') {
            continue;
        }
        // The variation selector of an emoji has no meaning alone or twice.
        let styles = ('\u{fe0e}'..='\u{fe0f}').contains(&c)
            && before.is_some_and(|c: char| !c.is_ascii() && !is_in(&UNSEEN, c));
        if is_in(&UNSEEN, c) && !styles {
            escape(c, &mut out);
        } else {
            out.push(c);
        }
        before = Some(c);
    }
    out
}

/// Shows text that is going to be executed: also marks tabs, blanks other than the space, and
/// spaces at line ends.
pub fn exact(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    let mut out = String::with_capacity(text.len());
    for (index, line) in text.split('\n').enumerate() {
        if index > 0 {
            out.push('\n');
        }
        let end = line.trim_end_matches(' ').len();
        for (at, c) in line.char_indices() {
            if at >= end || c == '\t' || is_in(&BLANK, c) || is_in(&UNSEEN, c) {
                escape(c, &mut out);
            } else {
                out.push(c);
            }
        }
    }
    out
}

/// One line, cut to so many characters.
pub fn one_line(text: &str, limit: usize) -> String {
    let shown = visible(text);
    let lines = shown.trim().split('\n').map(str::trim).filter(|line| !line.is_empty());
    let line = lines.collect::<Vec<_>>().join(" ⏎ ").replace('\t', " ");
    match line.char_indices().nth(limit) {
        None => line,
        Some(_) => line.chars().take(limit.saturating_sub(1)).chain(['…']).collect(),
    }
}

/// A control other than tab and line feed, or a character that is not drawn.
pub fn is_unseen(c: char) -> bool {
    is_in(&UNSEEN, c)
}

/// A character that looks like a space and is none.
pub fn is_blank(c: char) -> bool {
    is_in(&BLANK, c)
}

/// The start of a text in at most so many bytes, and an ellipsis where more follows.
pub fn excerpt(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    format!("{}…", &text[..text.floor_char_boundary(bytes)])
}

/// Returns another program's text for a message: one printable line of bounded length.
pub fn foreign_words(text: &str) -> String {
    one_line(&excerpt(text, 4 * FOREIGN_WORDS), FOREIGN_WORDS)
}

fn is_in(ranges: &[(u32, u32)], c: char) -> bool {
    let code = u32::from(c);
    ranges.iter().any(|&(first, last)| (first..=last).contains(&code))
}

fn escape(c: char, out: &mut String) {
    let code = u32::from(c);
    let written =
        if code < 0x100 { write!(out, "\\x{code:02x}") } else { write!(out, "\\u{{{code:04x}}}") };
    // Writing to a string cannot fail.
    debug_assert!(written.is_ok());
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn text_of_other_sources_becomes_one_short_line() {
        assert_eq!(foreign_words("no\u{1b}[2J\nreally\u{202e}"), "no\\x1b[2J ⏎ really\\u{202e}");
        let long = foreign_words(&"é\n".repeat(5_000_000));
        assert!(long.chars().count() <= 500 && long.ends_with('…'), "{long}");
        assert_eq!((excerpt("aé", 3), excerpt("aé", 2)), ("aé".into(), "a…".into()));
    }

    #[test]
    fn each_case_of_the_shared_table_is_sanitized_as_listed() {
        let table: Value =
            serde_json::from_str(include_str!("../../../tests/tables/visible.json")).unwrap();
        for case in table["cases"].as_array().unwrap() {
            let text = |key: &str| case[key].as_str().unwrap();
            assert_eq!(visible(text("given")), text("visible"), "{}", case["name"]);
            assert_eq!(exact(text("given")), text("exact"), "{}", case["name"]);
        }
        let ranges = |name: &str| -> Vec<(u32, u32)> {
            serde_json::from_value(table[name].clone()).unwrap()
        };
        assert_eq!(ranges("unseen"), UNSEEN);
        assert_eq!(ranges("blank"), BLANK);
        for c in char::MIN..=char::MAX {
            let shown = is_in(&UNSEEN, c);
            assert_eq!(visible(&c.to_string()) != c.to_string(), shown, "{:x}", u32::from(c));
        }
    }

    #[test]
    fn one_line_output_never_has_a_line_break() {
        for (given, limit, expected) in [
            (" a\tb \n\n  c\u{202e} ", 20, r"a b ⏎ c\u{202e}"),
            ("abcdef", 6, "abcdef"),
            ("abcdefg", 6, "abcde…"),
            ("", 6, ""),
        ] {
            assert_eq!(one_line(given, limit), expected);
        }
    }
}

//! Changed words of lines that pair up, so that an editor can show a small change inside its line.
//!
//! The cost is bounded: a replacement of many or of long lines has no changed words.

use std::ops::Range;

use imara_diff::{Algorithm, Diff, InternedInput};
use unicode_normalization::char::is_combining_mark;

use crate::text::{Text, Units};

/// Most lines of a replacement, and most characters of a line.
const MAX_LINES: usize = 40;
const MAX_LINE: usize = 400;

/// Longest removed text, in characters, and most changes of a line that one can still read.
const MAX_REMOVED: usize = 60;
const MAX_CHANGES: usize = 6;

/// A text in the place of another one, within a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WordChange {
    /// Line, counted from the first of the replacement.
    pub line: usize,
    /// UTF-16 columns of the new text; empty where text was only removed.
    pub columns: Range<usize>,
    pub removed: String,
}

/// Numbers of characters, without those of the indentation.
#[derive(Default)]
struct Likeness {
    equal: usize,
    all: usize,
}

impl Likeness {
    /// True if at least this share of both texts is equal, in percent.
    fn reaches(&self, percent: usize) -> bool {
        200 * self.equal >= percent * self.all
    }
}

/// Returns the changed words of a replacement, in order; `None` if its lines do not pair up, or are
/// too different to be shown in one.
#[must_use]
pub fn changed_words(old: &str, new: &str) -> Option<Vec<WordChange>> {
    if old.len().max(new.len()) > 4 * MAX_LINES * MAX_LINE {
        return None;
    }
    let (old, new) = (lines(old)?, lines(new)?);
    if old.len() != new.len() {
        return None;
    }
    let mut changes = Vec::new();
    let mut all = Likeness::default();
    for (line, (old, new)) in old.iter().zip(&new).enumerate() {
        if ending(old) != ending(new) {
            return None;
        }
        let (words, likeness) = of_line(line, old, new);
        let too_much = words.len() > MAX_CHANGES
            || words.iter().any(|word| word.removed.chars().count() > MAX_REMOVED);
        if too_much || !likeness.reaches(30) {
            return None;
        }
        all.equal += likeness.equal;
        all.all += likeness.all;
        changes.extend(words);
    }
    (all.reaches(50) && !changes.is_empty()).then_some(changes)
}

/// Returns the lines with their endings; `None` if there are too many or too long ones.
fn lines(text: &str) -> Option<Vec<String>> {
    let text = Text::new(text);
    let lines = text.filled_lines();
    (lines > 0 && lines <= MAX_LINES).then_some(())?;
    let lines: Vec<String> = (0..lines).map(|line| text.lines_slice(line..line + 1)).collect();
    lines.iter().all(|line| line.chars().count() <= MAX_LINE).then_some(lines)
}

fn ending(line: &str) -> &str {
    &line[line.trim_end_matches(['\n', '\r']).len()..]
}

fn of_line(line: usize, old: &str, new: &str) -> (Vec<WordChange>, Likeness) {
    let (before, after) = (words(old), words(new));
    let mut input = InternedInput::default();
    input.update_before(before.iter().copied());
    input.update_after(after.iter().copied());
    let mut diff = Diff::compute(Algorithm::Myers, &input);
    diff.postprocess_no_heuristic(&input);

    let indent = |line: &str| line.chars().take_while(|c| c.is_whitespace()).count();
    let visible = |line: &str| line.chars().count() - indent(line);
    let mut likeness = Likeness { equal: 0, all: visible(old) + visible(new) };
    let mut seen = 0;
    for (index, word) in after.iter().enumerate() {
        let count = word.chars().count();
        if seen >= indent(new) && !diff.is_added(index as u32) {
            likeness.equal += count;
        }
        seen += count;
    }
    let column = |word: u32| Units::Utf16.len(&after[..word as usize].concat());
    let changes = diff
        .hunks()
        .map(|hunk| WordChange {
            line,
            columns: column(hunk.after.start)..column(hunk.after.end),
            removed: before[hunk.before.start as usize..hunk.before.end as usize].concat(),
        })
        .collect();
    (changes, likeness)
}

/// Returns the words of a line, its runs of blanks, and every other character alone, with the marks
/// that belong to it.
pub(super) fn words(line: &str) -> Vec<&str> {
    #[derive(PartialEq, Clone, Copy)]
    enum Kind {
        Word,
        Blank,
        Other,
    }
    let kind = |c: char| match c {
        _ if c.is_alphanumeric() || c == '_' => Kind::Word,
        '\n' | '\r' => Kind::Other,
        _ if c.is_whitespace() => Kind::Blank,
        _ => Kind::Other,
    };
    let mut starts = Vec::new();
    let mut last = None;
    for (at, c) in line.char_indices() {
        let joined = match last {
            None => false,
            Some(JOINER) => true,
            Some(before) => is_attached(c) || (kind(c) != Kind::Other && kind(c) == kind(before)),
        };
        if !joined {
            starts.push(at);
        }
        // A mark does not end the word that it is in.
        if !joined || !is_attached(c) || c == JOINER {
            last = Some(c);
        }
    }
    let ends = starts.iter().skip(1).copied().chain([line.len()]);
    starts.iter().zip(ends).map(|(&start, end)| &line[start..end]).collect()
}

const JOINER: char = '\u{200d}';

/// True for a character that is drawn with the one before.
fn is_attached(c: char) -> bool {
    c == JOINER || is_combining_mark(c) || matches!(c, '\u{1f3fb}'..='\u{1f3ff}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn show(old: &str, new: &str) -> String {
        let Some(changes) = changed_words(old, new) else { return "none".into() };
        let show = |it: &WordChange| format!("{}:{:?} {:?}", it.line, it.columns, it.removed);
        changes.iter().map(show).collect::<Vec<_>>().join(" | ")
    }

    /// The replacement with each changed word given back.
    fn given_back(new: &str, changes: &[WordChange]) -> String {
        let mut lines: Vec<Vec<u16>> =
            lines(new).unwrap().iter().map(|line| line.encode_utf16().collect()).collect();
        for change in changes.iter().rev() {
            lines[change.line].splice(change.columns.clone(), change.removed.encode_utf16());
        }
        lines.iter().map(|line| String::from_utf16(line).unwrap()).collect()
    }

    #[test]
    fn a_changed_word_is_shown_in_its_line() {
        for (old, new, shown) in [
            ("  return null\n", "  return false\n", "0:9..14 \"null\""),
            ("cut(text, max_length)\n", "cut(text, limit)\n", "0:10..15 \"max_length\""),
            ("same = 1;\nx = first(1);\n", "same = 1;\nx = first(2);\n", "1:10..11 \"1\""),
            ("call(a, b)", "call(a)", "0:6..6 \", b\""),
            ("if ready:\n", "    if ready:\n", "0:0..4 \"\""),
            ("say(\"a 😀 b\", x)", "say(\"a 👍🏽 b\", x)", "0:7..11 \"😀\""),
            ("une idée claire", "une idee\u{301}e claire", "0:4..10 \"idée\""),
        ] {
            assert_eq!(show(old, new), shown, "{old:?}");
        }
    }

    #[test]
    fn lines_that_do_not_pair_up_or_are_too_different_have_none() {
        let long = format!("call({})", "x".repeat(MAX_REMOVED + 1));
        let many = "word\n".repeat(MAX_LINES + 1);
        let wide = format!("{} a\n", "x".repeat(MAX_LINE));
        for (old, new) in [
            ("a = 1\n", "a = 1\nb = 2\n"),
            ("", "a\n"),
            ("a\n", ""),
            ("call(a)\r\n", "call(b)\n"),
            ("call(a)", "call(b)\n"),
            ("let sum = 0;\n", "const cents = items.map(toCents);\n"),
            ("    first()\n", "    another\n"),
            ("a = b;\nfor (x of y) {\n", "a = c;\nreturn null\n"),
            (
                &long,
                &long
                    .replace("xxx", "y")
                    .replace("call", "call(call, call, call, call, call, call, call, call, call)"),
            ),
            (&many, &many.replace("word", "word ")),
            (&wide, &wide.replace(" a", " b")),
        ] {
            assert_eq!(show(old, new), "none", "{old:?} {new:?}");
        }
    }

    #[test]
    fn the_largest_replacement_is_compared_at_once() {
        let line = |end: &str| format!("{}{end}\n", "a b ".repeat(MAX_LINE / 4 - 1));
        let (old, new) = (line("1").repeat(MAX_LINES), line("2").repeat(MAX_LINES));
        let began = std::time::Instant::now();
        assert_eq!(changed_words(&old, &new).unwrap().len(), MAX_LINES);
        assert!(began.elapsed() < std::time::Duration::from_secs(2));
    }

    proptest! {
        #[test]
        fn giving_the_words_back_gives_the_former_text(
            lines in prop::collection::vec(("[ab_ (😀\u{301}\u{200d}]{0,12}", "[ab_ (😀\u{301}\u{200d}]{0,3}", 0..12_usize), 1..4),
            ending in prop_oneof![Just("\n"), Just("\r\n"), Just("")],
        ) {
            let text = |lines: Vec<String>| lines.join("\n") + ending;
            let old = text(lines.iter().map(|(line, ..)| line.clone()).collect());
            let new = text(lines.iter().map(|(line, word, at)| {
                let at = line.char_indices().map(|(at, _)| at).nth(*at).unwrap_or(line.len());
                format!("{}{word}{}", &line[..at], &line[at..])
            }).collect());
            if let Some(changes) = changed_words(&old, &new) {
                prop_assert_eq!(given_back(&new, &changes), old);
            }
        }

        #[test]
        fn any_two_texts_are_compared_without_harm(old in "(?s).{0,60}", new in "(?s).{0,60}") {
            if let Some(changes) = changed_words(&old, &new) {
                prop_assert_eq!(given_back(&new, &changes), old);
            }
        }
    }
}

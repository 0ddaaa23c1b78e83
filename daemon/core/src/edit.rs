//! Replacement of a passage of text, which a model gives as old and new text without a position.
//!
//! Line endings do not affect a match, because models write `\n` for any file. Text outside of the
//! change keeps its bytes and line endings. White space may differ if the passage fits in one place
//! only. Never guesses beyond that: a missing or ambiguous passage is an error that names the nearest
//! lines.

mod kept;
mod loose;
mod place;

use std::collections::HashMap;

use kept::to_lf;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occurrences<'a> {
    /// The old text must occur exactly once.
    One,
    All,
    /// Whole lines, by their place in a patch: the first ones below these lines, which the file has in this order, or
    /// the last ones. Nothing in place of the last lines is an addition to the file. Without such lines, or where the file
    /// does not have them, the old lines must occur exactly once.
    Below {
        lines: &'a [String],
        at_end: bool,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replaced {
    pub text: String,
    pub count: usize,
    /// True if the passage differed in white space.
    pub loose: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    #[error("`old_text` is empty. Give the exact text to replace.")]
    EmptyOld,
    #[error("`old_text` and `new_text` are the same; nothing would change.")]
    Same,
    #[error("`old_text` is not in the file. It must match exactly, whitespace included.{nearest}")]
    NotFound { nearest: String },
    #[error(
        "`old_text` is in the file {count} times (at lines {}). Add surrounding lines until it is \
         unique, or set `replace_all`.",
        listed(lines, *count)
    )]
    Ambiguous {
        count: usize,
        /// One-based numbers of the first few lines.
        lines: Vec<usize>,
    },
    #[error("`insert_line` is {line}, but the file has {lines} lines. 0 inserts at the start.")]
    NoLine { line: usize, lines: usize },
}

pub fn replace(
    text: &str,
    old: &str,
    new: &str,
    occurrences: Occurrences<'_>,
) -> Result<Replaced, EditError> {
    if let Occurrences::Below { at_end, .. } = occurrences {
        return place::with_last_break(text, |text| {
            if !(at_end && old.is_empty()) {
                let replaced = replace_found(text, old, new, occurrences);
                // Codex applies a hunk whose last line is a blank one that the file does not have, such as at its end.
                return match (&replaced, place::without_last_blank(old, new)) {
                    (Err(EditError::NotFound { .. }), Some((old, new))) => {
                        replace_found(text, old, new, occurrences)
                    }
                    _ => replaced,
                };
            }
            let text = insert(text, to_lf(text).split_inclusive('\n').count(), new)?;
            Ok(Replaced { text, count: 1, loose: false })
        });
    }
    replace_found(text, old, new, occurrences)
}

fn replace_found(
    text: &str,
    old: &str,
    new: &str,
    occurrences: Occurrences<'_>,
) -> Result<Replaced, EditError> {
    let old = to_lf(old);
    let new = of_model(new);
    if old.is_empty() {
        return Err(EditError::EmptyOld);
    }
    if old == new {
        return Err(EditError::Same);
    }
    let file = to_lf(text);
    let mut from = 0;
    let found: Vec<usize> = match occurrences {
        Occurrences::Below { lines, at_end } => match place::below(&file, lines) {
            Some(below) if at_end || !lines.is_empty() => {
                from = below;
                let mut places = place::of_lines(&file, from, &old);
                if at_end { places.last() } else { places.next() }.into_iter().collect()
            }
            Some(_) | None => the_one(&file, place::of_lines(&file, 0, &old))?,
        },
        Occurrences::One => the_one(&file, overlapping(&file, &old))?,
        Occurrences::All => file.match_indices(&*old).map(|(at, _)| at).collect(),
    };
    if let (Occurrences::One | Occurrences::Below { .. }, []) = (occurrences, found.as_slice())
        && let Some(place) = loose::find(&file[from..], &old, &new)
    {
        let range = from + place.range.start..from + place.range.end;
        let text = kept::replace(text, &file, &[(range, &place.new)]);
        return Ok(Replaced { text, count: 1, loose: true });
    }
    if found.is_empty() {
        return Err(EditError::NotFound { nearest: nearest(&file, &old) });
    }
    let edits: Vec<_> = found.iter().map(|&at| (at..at + old.len(), new.as_str())).collect();
    Ok(Replaced { text: kept::replace(text, &file, &edits), count: edits.len(), loose: false })
}

/// Returns the place of the only occurrence, or none.
fn the_one(file: &str, mut all: impl Iterator<Item = usize>) -> Result<Vec<usize>, EditError> {
    let starts: Vec<usize> = all.by_ref().take(MAX_LISTED).collect();
    if starts.len() > 1 {
        let lines = starts.iter().map(|&at| line_of(file, at)).collect();
        return Err(EditError::Ambiguous { count: starts.len() + all.count(), lines });
    }
    Ok(starts)
}

/// Inserts lines after a line, counted from 1; 0 is the start of the file.
pub fn insert(text: &str, line: usize, new: &str) -> Result<String, EditError> {
    let file = to_lf(text);
    let lines = file.split_inclusive('\n').count();
    if line > lines {
        return Err(EditError::NoLine { line, lines });
    }
    let at = file.split_inclusive('\n').take(line).map(str::len).sum();
    let (before, after) = file.split_at(at);
    let new = of_model(new);
    let open = !before.is_empty() && !before.ends_with('\n');
    let cut = !new.ends_with('\n') && !after.is_empty();
    let break_if = |wanted| if wanted { "\n" } else { "" };
    let new = [break_if(open), &new, break_if(cut)].concat();
    Ok(kept::replace(text, &file, &[(at..at, &new)]))
}

/// Returns `content` with the line endings of `old`, to replace it as a whole. Where `old` has only
/// `\n`, the endings of `content` are meant.
pub fn rewrite(old: &str, content: &str) -> String {
    if !old.contains('\r') {
        return content.to_owned();
    }
    let lf = to_lf(old);
    kept::replace(old, &lf, &[(0..lf.len(), &of_model(content))])
}

/// Returns the text with this line ending in place of each `\r\n`, `\n` and `\r`.
pub fn with_endings(text: &str, ending: &str) -> String {
    to_lf(text).replace('\n', ending)
}

const MAX_LISTED: usize = 10;
/// Limits of the search for similar lines.
const MAX_SEARCHED_LINES: usize = 20_000;
const MAX_COMPARED_CHARS: usize = 300;
const MAX_SHOWN_LINES: usize = 12;
/// Minimum similarity of lines that are worth showing.
const SIMILAR: f64 = 0.5;

/// Text of a model with `\n` for `\r\n`. A lone `\r` is meant.
fn of_model(text: &str) -> String {
    text.replace("\r\n", "\n")
}

/// Starts of `needle`, overlapping ones included: `aa` occurs twice in `aaa`, which is ambiguous.
fn overlapping<'a>(text: &'a str, needle: &'a str) -> impl Iterator<Item = usize> + 'a {
    let step = needle.chars().next().map_or(1, char::len_utf8);
    let mut from = 0;
    std::iter::from_fn(move || {
        let at = from + text[from..].find(needle)?;
        from = at + step;
        Some(at)
    })
}

fn line_of(text: &str, at: usize) -> usize {
    text[..at].bytes().filter(|&byte| byte == b'\n').count() + 1
}

/// Words about the lines most like the longest line of `old`, as many as `old` has around it.
fn nearest(text: &str, old: &str) -> String {
    find_nearest(text, old)
        .unwrap_or_else(|| " Nothing in the file resembles it; read the file again.".to_owned())
}

fn find_nearest(text: &str, old: &str) -> Option<String> {
    let wanted: Vec<&str> = old.lines().collect();
    let (anchor_at, anchor) = wanted
        .iter()
        .enumerate()
        .map(|(index, line)| (index, line.trim()))
        .max_by_key(|(index, line)| (line.len(), usize::MAX - index))?;
    if anchor.is_empty() {
        return None;
    }
    let anchor = pairs(anchor);
    let lines: Vec<&str> = text.lines().take(MAX_SEARCHED_LINES).collect();
    let mut best: Option<(usize, f64)> = None;
    for (index, line) in lines.iter().enumerate() {
        let score = similarity(&anchor, &pairs(line.trim()));
        if best.is_none_or(|(_, top)| score > top) {
            best = Some((index, score));
        }
    }
    let (index, _) = best.filter(|(_, score)| *score >= SIMILAR)?;
    let first = index.saturating_sub(anchor_at);
    let end = (first + wanted.len()).min(lines.len());
    let found = &lines[first..end];
    let squeeze = |lines: &[&str]| lines.concat().split_whitespace().collect::<String>();
    let is_whitespace = squeeze(found) == squeeze(&wanted);
    let difference = if is_whitespace { first_difference(first + 1, found, &wanted) } else { None };
    let what = if difference.is_some() { ", which differs in white space only" } else { "" };
    let mut out = format!(" The nearest place{what}:");
    for (number, line) in (first + 1..).zip(found).take(MAX_SHOWN_LINES) {
        let line: String = line.chars().take(MAX_COMPARED_CHARS).collect();
        out.push_str(&format!("\n{number}\t{line}"));
    }
    Some(out + &difference.unwrap_or_default())
}

fn first_difference(first_line: usize, file: &[&str], old: &[&str]) -> Option<String> {
    let at = file.iter().zip(old).position(|(file, old)| file != old)?;
    let (mut file, mut old) = (file[at].chars(), old[at].chars());
    let mut both = std::iter::from_fn(|| Some((file.next(), old.next())));
    let (file, old) = both.find(|(file, old)| file != old)?;
    let (line, file, old) = (first_line + at, named(file), named(old));
    Some(format!("\nIn line {line}, the file has {file} where `old_text` has {old}."))
}

/// Counts of the pairs of adjacent chars of a line: cheap to compare, and tolerant of small
/// differences.
type Pairs = HashMap<(char, char), usize>;

fn pairs(line: &str) -> Pairs {
    // With a line break at the end, so that a line of one char has a pair.
    let next = line.chars().skip(1).chain(['\n']);
    let mut pairs = Pairs::new();
    for pair in line.chars().zip(next).take(MAX_COMPARED_CHARS) {
        *pairs.entry(pair).or_default() += 1;
    }
    pairs
}

/// Dice's coefficient: 0 for nothing in common, 1 for the same pairs.
fn similarity(one: &Pairs, other: &Pairs) -> f64 {
    let in_both =
        |(pair, count): (&(char, char), &usize)| *count.min(other.get(pair).unwrap_or(&0));
    let shared: usize = one.iter().map(in_both).sum();
    let all: usize = one.values().chain(other.values()).sum();
    if all == 0 { 0.0 } else { 2.0 * shared as f64 / all as f64 }
}

fn named(char: Option<char>) -> String {
    match char {
        None => "the end of the line".to_owned(),
        Some(' ') => "a blank".to_owned(),
        Some('\t') => "a tab".to_owned(),
        Some(char) if char.is_whitespace() => format!("the character U+{:04X}", u32::from(char)),
        Some(char) => format!("`{char}`"),
    }
}

fn listed(lines: &[usize], count: usize) -> String {
    let mut out = lines.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    if count > lines.len() {
        out.push_str(", …");
    }
    out
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, old: &str, new: &str, expect: Expect) {
        let got = match replace(text, old, new, Occurrences::One) {
            Ok(Replaced { text, loose: false, .. }) => format!("{text:?}"),
            Ok(Replaced { text, .. }) => format!("{text:?}, but for white space"),
            Err(error) => error.to_string(),
        };
        expect.assert_eq(&got);
    }

    #[test]
    fn a_unique_passage_is_replaced() {
        check("a\nb\nc\n", "b", "B", expect![[r#""a\nB\nc\n""#]]);
        check("only", "only", "", expect![[r#""""#]]);
        check("x é y", "é", "😀", expect![[r#""x 😀 y""#]]);
    }

    #[test]
    fn lines_are_inserted_after_a_line() {
        let table = [
            ("a\nb\n", 0, "x", "x\na\nb\n"),
            ("a\nb\n", 1, "x\ny\n", "a\nx\ny\nb\n"),
            ("a\r\nb", 2, "x\ny", "a\r\nb\r\nx\r\ny"),
            ("", 0, "x", "x"),
        ];
        for (text, line, new, expected) in table {
            assert_eq!(insert(text, line, new).unwrap(), expected);
        }
        let error = insert("a\n", 2, "x").unwrap_err().to_string();
        assert_eq!(error, "`insert_line` is 2, but the file has 1 lines. 0 inserts at the start.");
    }

    #[test]
    fn a_passage_that_is_missing_or_ambiguous_is_an_error_with_the_reason() {
        check("a", "", "b", expect!["`old_text` is empty. Give the exact text to replace."]);
        check(
            "a",
            "a",
            "a",
            expect!["`old_text` and `new_text` are the same; nothing would change."],
        );
        check(
            "a\nb\na\n",
            "a",
            "c",
            expect![
                "`old_text` is in the file 2 times (at lines 1, 3). Add surrounding lines until it is unique, or set `replace_all`."
            ],
        );
        check(
            "aaa",
            "aa",
            "b",
            expect![
                "`old_text` is in the file 2 times (at lines 1, 1). Add surrounding lines until it is unique, or set `replace_all`."
            ],
        );
    }

    #[test]
    fn an_error_shows_the_nearest_lines() {
        let text = "fn one() {\n    start();\n    let total = compute(items);\n}\n";
        check(
            text,
            "let total = compute(item);",
            "x",
            expect![[r#"
                `old_text` is not in the file. It must match exactly, whitespace included. The nearest place:
                3	    let total = compute(items);"#]],
        );
        check(
            text,
            "start();\n  let total = compute(items);",
            "x",
            expect![[r#""fn one() {\n    x\n}\n", but for white space"#]],
        );
        let spaced = "x = 1\n\u{a0} y = \"a  b\"\nlast  \n";
        check(
            spaced,
            "  y = \"a  b\"",
            "z",
            expect![[r#"
            `old_text` is not in the file. It must match exactly, whitespace included. The nearest place, which differs in white space only:
            2	  y = "a  b"
            In line 2, the file has the character U+00A0 where `old_text` has a blank."#]],
        );
        check(
            spaced,
            "x = 1\n\u{a0} y = \"a b\"",
            "z",
            expect![[r#"
            `old_text` is not in the file. It must match exactly, whitespace included. The nearest place, which differs in white space only:
            1	x = 1
            2	  y = "a  b"
            In line 2, the file has a blank where `old_text` has `b`."#]],
        );
        check(
            text,
            "“quoted”",
            "x",
            expect![
                "`old_text` is not in the file. It must match exactly, whitespace included. Nothing in the file resembles it; read the file again."
            ],
        );
    }

    #[test]
    fn line_endings_are_ignored_in_the_search_and_kept_in_the_file() {
        check("a\r\nb\r\nc\r\n", "a\nb\n", "a\nx\nb\n", expect![[r#""a\r\nx\r\nb\r\nc\r\n""#]]);
        check("a\r\nb\r\n", "b\r\n", "c\r\n", expect![[r#""a\r\nc\r\n""#]]);
        check("a\nb\n", "a\r\nb", "a\r\nc", expect![[r#""a\nc\n""#]]);
        // Mixed: the quoted lines keep their own endings.
        check("a\r\nb\nc\r\nd\r\n", "a\nb\nc\n", "a\nB\nc\n", expect![[r#""a\r\nB\nc\r\nd\r\n""#]]);
        check("a\r\nb", "\nb", "", expect![[r#""a""#]]);
    }

    #[test]
    fn all_occurrences_are_replaced_on_request() {
        let got = replace("a.a.a", "a", "bb", Occurrences::All);
        assert_eq!(got, Ok(Replaced { text: "bb.bb.bb".into(), count: 3, loose: false }));
    }

    #[test]
    fn a_rewrite_keeps_the_line_endings_of_the_file() {
        assert_eq!(rewrite("a\r\nb\r\n", "x\ny\r\n"), "x\r\ny\r\n");
        assert_eq!(rewrite("a\nb\n", "x\r\n"), "x\r\n");
        assert_eq!(rewrite("", "x\n"), "x\n");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// With any line endings, the passage is replaced and the bytes around it stay.
        #[test]
        fn only_the_passage_changes(
            before in "([a-c é]{0,6}(\r\n|\n)){0,4}",
            after in "((\r\n|\n)[a-c é]{0,6}){0,4}",
            old in "Q[x-z\n]{0,8}",
            new in "[x-z\n]{0,8}",
        ) {
            let in_file = old.replace('\n', "\r\n");
            let text = format!("{before}{in_file}{after}");
            let got = replace(&text, &old, &new, Occurrences::One).expect("unique by its Q");
            prop_assert!(got.text.starts_with(&before));
            prop_assert!(got.text.ends_with(&after));
            let middle = &got.text[before.len()..got.text.len() - after.len()];
            prop_assert_eq!(to_lf(middle), new);
        }

        #[test]
        fn any_arguments_are_handled_without_a_panic(text in ".{0,60}", old in ".{0,6}", new in ".{0,6}") {
            let _ = replace(&text, &old, &new, Occurrences::One);
            let _ = replace(&text, &old, &new, Occurrences::All);
        }
    }
}

//! Parts of a replacement that are changes of their own: an edit beside another one, a block inserted above or
//! below changed lines, neighbouring lines that have nothing in common.
//!
//! Looks at the text and at the borders of the agent's edits. In doubt there is one part. The cost is
//! bounded: a replacement with many or long lines is divided only at these borders.

use std::{collections::HashSet, ops::Range, slice::from_ref};

use super::{
    Blocks,
    words::{percent_equal, words},
};

/// Most lines of a replacement, and most characters of a line.
pub(crate) const MAX_LINES: usize = 200;
const MAX_LINE: usize = 400;

/// Fewest visible characters of a line that can be recognised.
const MIN_VISIBLE: usize = 4;

/// Least share of a line and its successor that is equal, and the least distance of all other lines, in
/// percent.
const ALIKE: usize = 60;
const MARGIN: usize = 10;

/// Most neighbouring lines that are parts of their own, if each changed in other words.
const MAX_NEIGHBOURS: usize = 3;

/// First characters of a line that belongs to the line below it: a comment or an attribute.
const OPENS_A_LINE: [char; 8] = ['#', '/', '*', '@', '-', ';', '%', '<'];

/// Returns the parts of a replacement of lines, in order. The parts touch, and none is without new lines.
///
/// `cuts` are lines of both texts at which the agent began another edit. Each cut divides, unless a side has
/// no visible line or both sides rename the same words. What is left is divided by its text.
pub(crate) fn parts(old: &[String], new: &[String], cuts: &[(usize, usize)]) -> Blocks {
    let ends_lines = |lines: &[String]| lines.iter().all(|line| line.ends_with('\n'));
    let has_borders = !cuts.is_empty() && ends_lines(old) && ends_lines(new);
    let inner =
        cuts.iter().copied().filter(|&(a, b)| has_borders && a <= old.len() && b < new.len());
    let (mut a, mut b) = (0, 0);
    let mut segments: Blocks = Vec::new();
    for end in inner.chain([(old.len(), new.len())]) {
        let lines = (a..end.0.max(a), b..end.1.max(b));
        (a, b) = (lines.0.end, lines.1.end);
        match segments.last_mut() {
            Some(last) if !is_apart(old, new, last, &lines) => {
                (last.0.end, last.1.end) = (a, b);
            }
            _ => segments.push(lines),
        }
    }
    let shifted = |lines: Range<usize>, by: usize| lines.start + by..lines.end + by;
    let by_text = |(a, b): (Range<usize>, Range<usize>)| {
        let parts = parts_of_text(&old[a.clone()], &new[b.clone()]).into_iter();
        parts.map(move |(old, new)| (shifted(old, a.start), shifted(new, b.start)))
    };
    segments.into_iter().flat_map(by_text).collect()
}

/// Returns true if two neighbouring edits can be decided alone, and are not the same renaming.
fn is_apart(
    old: &[String],
    new: &[String],
    first: &(Range<usize>, Range<usize>),
    second: &(Range<usize>, Range<usize>),
) -> bool {
    let [first, second] = [first, second].map(|(a, b)| (&old[a.clone()], &new[b.clone()]));
    is_text(first.1) && is_text(second.1) && {
        let [first, second] = [first, second].map(|(old, new)| {
            let is_name = |word: &&str| word.contains(char::is_alphabetic);
            let [old, new]: [HashSet<&str>; 2] =
                [old, new].map(|lines| visible_words(lines).filter(is_name).collect());
            [&old - &new, &new - &old]
        });
        first != second || first.iter().any(HashSet::is_empty)
    }
}

/// Parts of a replacement that only its text shows: at most an insertion, the changed lines, and another
/// insertion; and changed lines of which each is the clear successor of an old one.
///
/// An insertion is a part if the line beside it is clearly the successor of an old one, and a blank line
/// separates them or the insertion, above, has nothing to do with it.
fn parts_of_text(old: &[String], new: &[String]) -> Blocks {
    let whole = vec![(0..old.len(), 0..new.len())];
    let is_plain = |line: &String| line.ends_with('\n') && line.len() <= 4 * MAX_LINE;
    if old.len().max(new.len()) > MAX_LINES || !old.iter().chain(new).all(is_plain) {
        return whole;
    }
    let (Some(first), Some(last)) = (old.first(), old.last()) else { return whole };
    let is_blank = |line: usize| new.get(line).is_some_and(|line| line.trim().is_empty());

    let below = successor(last, new)
        .map(|at| at + 1)
        .filter(|&end| is_blank(end) && is_text(&new[end..]))
        .unwrap_or(new.len());
    let above = successor(first, new)
        .filter(|&at| at > 0 && at < below && is_text(&new[..at]))
        .filter(|&at| is_blank(at - 1) || is_unrelated(&new[..at], old, &new[at..below]))
        .unwrap_or(0);
    if above >= below {
        return whole;
    }
    let end = old.len();
    let mut parts = vec![(0..0, 0..above)];
    let mut from = 0;
    for to in neighbours(old, &new[above..below]) {
        parts.push((from..to, above + from..above + to));
        from = to;
    }
    parts.extend([(from..end, above + from..below), (end..end, below..new.len())]);
    parts.retain(|(_, lines)| !lines.is_empty());
    parts
}

/// Returns true if an insertion directly above changed lines is no part of their change: it neither explains nor
/// encloses them, and has none of the words that they begin or cease to use.
fn is_unrelated(inserted: &[String], old: &[String], new: &[String]) -> bool {
    let (Some(last), Some(before), Some(after)) = (inserted.last(), old.first(), new.first())
    else {
        return false;
    };
    let is_enclosed = indentation(before) != indentation(after)
        || indentation(last).chars().count() < indentation(after).chars().count();
    let changed = changed_between(old, new);
    let is_word = |word: &&str| word.contains(char::is_alphanumeric);
    !is_enclosed
        && !last.trim_start().starts_with(OPENS_A_LINE)
        && !visible_words(inserted).filter(is_word).any(|word| changed.contains(word))
}

/// Returns where to cut neighbouring lines of which each changed in words of its own.
fn neighbours(old: &[String], new: &[String]) -> Vec<usize> {
    let is_pair = |(old, new): (&String, &String)| {
        old.trim().chars().count() >= MIN_VISIBLE
            && indentation(old) == indentation(new)
            && percent_equal(old.trim_end(), new.trim_end()) >= ALIKE
            && !changed_between(from_ref(old), from_ref(new)).is_empty()
    };
    let is_few = old.len() == new.len() && old.len() <= MAX_NEIGHBOURS;
    if !is_few || !old.iter().zip(new).all(is_pair) {
        return Vec::new();
    }
    let changed = |lines: Range<usize>| -> HashSet<&str> {
        lines.flat_map(|at| changed_between(&old[at..=at], &new[at..=at])).collect()
    };
    let is_apart = |&at: &usize| changed(0..at).is_disjoint(&changed(at..old.len()));
    (1..old.len()).filter(is_apart).collect()
}

/// Words, and other visible characters, that only one of two texts has.
fn changed_between<'a>(old: &'a [String], new: &'a [String]) -> HashSet<&'a str> {
    let [old, new]: [HashSet<&str>; 2] = [old, new].map(|lines| visible_words(lines).collect());
    &old ^ &new
}

fn visible_words(lines: &[String]) -> impl Iterator<Item = &str> {
    lines.iter().flat_map(|line| words(line)).filter(|word| !word.trim().is_empty())
}

fn is_text(lines: &[String]) -> bool {
    lines.iter().any(|line| !line.trim().is_empty())
}

fn indentation(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

/// Index of the line that an old one became; `None` if several lines are like it, or none is.
fn successor(old: &str, new: &[String]) -> Option<usize> {
    if old.trim().chars().count() < MIN_VISIBLE {
        return None;
    }
    let alike: Vec<usize> =
        new.iter().map(|line| percent_equal(old.trim_end(), line.trim_end())).collect();
    let (at, &best) = alike.iter().enumerate().max_by_key(|&(_, alike)| alike)?;
    let is_clear =
        alike.iter().enumerate().all(|(other, &alike)| other == at || alike + MARGIN <= best);
    (best >= ALIKE && is_clear).then_some(at)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.split_inclusive('\n').map(str::to_owned).collect()
    }

    fn show(old: &str, new: &str) -> String {
        let parts = parts(&lines(old), &lines(new), &[]);
        let show = |(old, new): &(std::ops::Range<usize>, std::ops::Range<usize>)| {
            format!("{} for {}", new.len(), old.len())
        };
        parts.iter().map(show).collect::<Vec<_>>().join(", ")
    }

    const CUT: &str = "def _cut(words, limit):\n    return words[:limit]\n\n\n";

    #[test]
    fn a_block_beside_changed_lines_is_a_part() {
        let old = "def short(text, max_length=45):\n    words = text.split()\n";
        let new =
            "def short(text, limit=45):\n    words = text.split(None, limit)\n    del limit\n";
        let end = "    return words[: max_length - 1]\n";
        let ended = "    return words[: limit - 1]\n";
        let below = "\n\ndef _next():\n    pass\n";
        for (old, new, shown) in [
            (old, format!("{CUT}{new}"), "4 for 0, 3 for 2"),
            (end, format!("{ended}{below}"), "1 for 1, 4 for 0"),
            (end, format!("{CUT}{ended}{below}"), "4 for 0, 1 for 1, 4 for 0"),
        ] {
            assert_eq!(show(old, &new), shown, "{new}");
        }
    }

    #[test]
    fn in_doubt_there_is_one_part() {
        let old = "def short(text, max_length=45):\n";
        let new = "def short(text, limit=45):\n";
        let twice = format!("{new}    pass\n\n{new}");
        let adjoining = format!("{}{new}", CUT.trim_end_matches('\n').to_owned() + "\n");
        let blank = format!("\n\n{new}");
        let many = format!("{}{new}", "call(a)\n\n".repeat(MAX_LINES));
        let wide = format!("{}\n\n{new}", "x".repeat(4 * MAX_LINE));
        for new in [
            new,
            &twice,
            &adjoining,
            &blank,
            &many,
            &wide,
            CUT,
            "",
            &format!("{CUT}{}", new.trim_end()),
        ] {
            let whole = format!("{} for 1", lines(new).len());
            assert_eq!(show(old, new), whole, "{new}");
        }
        assert_eq!(show("", &format!("{CUT}{new}")), "5 for 0");
        assert_eq!(show("}\n", "a();\n\n})\n"), "3 for 1");
        assert_eq!(show(old, &format!("{CUT}{new}").replace('\n', "\r\n")), "4 for 0, 1 for 1");
    }

    #[test]
    fn an_insertion_directly_above_changed_lines_is_a_part() {
        let signature = "def short(text, max_length=45):\n";
        let changed = "def short(text, *, max_length=45):\n";
        let function = "def _cut(words, limit):\n    return words[:limit]\n";
        let entries = "    \"b\": 2,\n";
        for (old, new, shown) in [
            (signature, format!("{function}{changed}"), "2 for 0, 1 for 1"),
            ("use a::{b};\n", "use std::fs;\nuse a::{b, c};\n".into(), "1 for 0, 1 for 1"),
            ("    \"a\": 1,\n", format!("{entries}    \"a\": 3,\n"), "1 for 0, 1 for 1"),
            // The lines need each other: a new name, a former expression, a block, a remark, an attribute.
            (
                "    return cut(text)\n",
                "    limit = 3\n    return cut(text, limit)\n".into(),
                "2 for 1",
            ),
            (
                "    return cut(text[1:], 2)\n",
                "    words = text[1:]\n    return cut(words, 2)\n".into(),
                "2 for 1",
            ),
            ("run(a)\n", "if (ready)\n  run(a);\n".into(), "2 for 1"),
            ("  run(a)\n", "if (ready)\n  run(b)\n".into(), "2 for 1"),
            ("run(a, b)\n", "// Never twice.\nrun(a, c)\n".into(), "2 for 1"),
            (signature, format!("@cached\n{changed}"), "2 for 1"),
            // Below, lines belong to the change above them.
            (signature, format!("{changed}{function}"), "3 for 1"),
        ] {
            assert_eq!(show(old, &new), shown, "{new}");
        }
    }

    #[test]
    fn neighbouring_lines_that_changed_in_other_words_are_parts() {
        let renamed =
            |name: &str| (0..30).map(|n| format!("{name}[{n}] = {n};\n")).collect::<String>();
        let many = |to: &str| {
            "abcd".split("").map(|it| format!("value{it} = {it}{to};\n")).collect::<String>()
        };
        for (old, new, shown) in [
            (
                "const LIMIT = 10;\nconst NAME = \"old\";\n".to_owned(),
                "const LIMIT = 20;\nconst NAME = \"new\";\n".to_owned(),
                "1 for 1, 1 for 1",
            ),
            (renamed("former"), renamed("present"), "30 for 30"),
            (many(""), many("x"), "6 for 6"),
            // The first and the last change in the same words: in doubt they belong together.
            ("a = 1;\nb = c;\na = 1;\n".into(), "a = 2;\nb = d;\na = 2;\n".into(), "3 for 3"),
            ("first()\nsecond()\n".into(), "if x {\n    other\n".into(), "2 for 2"),
            ("call(a)\nmake(b)\n".into(), "    call(a)\n    make(c)\n".into(), "2 for 2"),
        ] {
            assert_eq!(show(&old, &new), shown, "{new}");
        }
    }

    #[test]
    fn another_edit_is_a_part_of_its_own() {
        let parts = |old: &str, new: &str, cuts: &[(usize, usize)]| {
            let parts = parts(&lines(old), &lines(new), cuts);
            parts.iter().map(|(a, b)| format!("{a:?}-{b:?} ")).collect::<String>()
        };
        assert_eq!(parts("a\nb\n", "x\ny\n", &[(1, 1)]), "0..1-0..1 1..2-1..2 ");
        assert_eq!(parts("a\n", "x\ny\nz\n", &[(0, 1), (1, 2)]), "0..0-0..1 0..1-1..2 1..1-2..3 ");
        // Nothing visible on one side, the same name in both, lines that may merge.
        assert_eq!(parts("a\nb\n", "x\n\n", &[(1, 1)]), "0..2-0..2 ");
        assert_eq!(parts("f(old)\ng(old)\n", "f(new)\ng(new)\n", &[(1, 1)]), "0..2-0..2 ");
        assert_eq!(parts("a\nb", "x\ny", &[(1, 1)]), "0..2-0..2 ");
    }

    proptest! {
        #[test]
        fn parts_touch_and_cover_both_texts(
            old in "([ab ]{0,4}\n|name = call\\(a\\)\n){0,5}",
            new in "([ab ]{0,4}\n|name = call\\(b\\)\n|\n){0,9}",
            cuts in prop::collection::vec((0..6_usize, 0..10_usize), 0..4),
        ) {
            let (old, new) = (lines(&old), lines(&new));
            let parts = parts(&old, &new, &cuts);
            let (mut from, mut to) = (0, 0);
            for (a, b) in &parts {
                prop_assert_eq!((a.start, b.start), (from, to));
                prop_assert!(parts.len() == 1 || !b.is_empty());
                (from, to) = (a.end, b.end);
            }
            prop_assert_eq!((from, to), (old.len(), new.len()));
        }
    }
}

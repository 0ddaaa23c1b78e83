//! Parts of a replacement that are changes of their own: a block inserted above or below changed lines.
//!
//! Looks at the text alone, so that the same texts always have the same parts. In doubt there is one part.
//! The cost is bounded: a replacement with many or long lines is not split.

use super::{Blocks, words::percent_equal};

/// Most lines of a replacement, and most characters of a line.
pub(crate) const MAX_LINES: usize = 200;
const MAX_LINE: usize = 400;

/// Fewest visible characters of a line that can be recognised.
const MIN_VISIBLE: usize = 4;

/// Least share of a line and its successor that is equal, and the least distance of all other lines, in
/// percent.
const ALIKE: usize = 60;
const MARGIN: usize = 10;

/// Returns the parts of a replacement of lines, in order: at most an insertion, the changed lines, and
/// another insertion. The parts touch, and none is without new lines.
///
/// An insertion is a part if a blank line separates it from the changed lines, and the line of these
/// beside it is clearly the successor of an old one.
pub(crate) fn parts(old: &[String], new: &[String]) -> Blocks {
    let whole = vec![(0..old.len(), 0..new.len())];
    let is_plain = |line: &String| line.ends_with('\n') && line.len() <= 4 * MAX_LINE;
    if old.len().max(new.len()) > MAX_LINES || !old.iter().chain(new).all(is_plain) {
        return whole;
    }
    let (Some(first), Some(last)) = (old.first(), old.last()) else { return whole };
    let is_text = |lines: &[String]| lines.iter().any(|line| !line.trim().is_empty());
    let is_blank = |line: usize| new.get(line).is_some_and(|line| line.trim().is_empty());

    let above = successor(first, new)
        .filter(|&at| at > 0 && is_blank(at - 1) && is_text(&new[..at]))
        .unwrap_or(0);
    let below = successor(last, new)
        .map(|at| at + 1)
        .filter(|&end| is_blank(end) && is_text(&new[end..]))
        .unwrap_or(new.len());
    if above >= below {
        return whole;
    }
    let end = old.len();
    [(0..0, 0..above), (0..end, above..below), (end..end, below..new.len())]
        .into_iter()
        .filter(|(_, lines)| !lines.is_empty())
        .collect()
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
        let parts = parts(&lines(old), &lines(new));
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

    proptest! {
        #[test]
        fn parts_touch_and_cover_both_texts(
            old in "([ab ]{0,4}\n|name = call\\(a\\)\n){0,5}",
            new in "([ab ]{0,4}\n|name = call\\(b\\)\n|\n){0,9}",
        ) {
            let (old, new) = (lines(&old), lines(&new));
            let parts = parts(&old, &new);
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

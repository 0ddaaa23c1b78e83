//! Parts of a replacement that are decided alone: edits of two calls, and a block above or below changed lines.
//!
//! The cost is bounded: a replacement with many or long lines is divided only between calls.

use std::{collections::HashSet, ops::Range};

use super::{Blocks, words::words};

/// Most lines of a replacement, and most bytes of a line.
pub(crate) const MAX_LINES: usize = 200;
const MAX_LINE: usize = 1_600;

/// Returns the parts of a replacement of lines, in order. The parts touch, and none is without new lines.
///
/// `cuts` are lines of both texts at which the agent began another edit. Each cut divides, unless a side has no
/// visible line.
pub(crate) fn parts(old: &[String], new: &[String], cuts: &[(usize, usize)]) -> Blocks {
    let ends_lines = |lines: &[String]| lines.iter().all(|line| line.ends_with('\n'));
    if !ends_lines(old) || !ends_lines(new) {
        return vec![(0..old.len(), 0..new.len())];
    }
    let inner = cuts.iter().copied().filter(|&(a, b)| a <= old.len() && b < new.len());
    let (mut a, mut b) = (0, 0);
    let mut segments: Blocks = Vec::new();
    for end in inner.chain([(old.len(), new.len())]) {
        let lines = (a..end.0.max(a), b..end.1.max(b));
        (a, b) = (lines.0.end, lines.1.end);
        match segments.last_mut() {
            Some(last) if !is_text(&new[last.1.clone()]) || !is_text(&new[lines.1.clone()]) => {
                (last.0.end, last.1.end) = (a, b);
            }
            _ => segments.push(lines),
        }
    }
    segments.into_iter().flat_map(|segment| by_blank_lines(old, new, segment)).collect()
}

/// Divides a replacement into the block that takes the place of the old lines, what stands above it, and what stands
/// below it. Blank lines separate blocks. The block has more of the old words than any other, and at least
/// half of them; without such a block there is one part.
fn by_blank_lines(
    old: &[String],
    new: &[String],
    (before, after): (Range<usize>, Range<usize>),
) -> Blocks {
    let (lines, blocks) = (&old[before.clone()], blocks(&new[after.clone()], after.start));
    let is_long = |line: &String| line.len() > MAX_LINE;
    if lines.len().max(after.len()) > MAX_LINES
        || lines.iter().chain(&new[after.clone()]).any(is_long)
    {
        return vec![(before, after)];
    }
    let former = words_of(lines);
    let share = |block: &Range<usize>| words_of(&new[block.clone()]).intersection(&former).count();
    let shares: Vec<usize> = blocks.iter().map(share).collect();
    let most = shares.iter().copied().max().unwrap_or(0);
    let mut found = blocks.iter().zip(&shares).filter(|&(_, &share)| share == most);
    match (found.next(), found.next()) {
        (Some((block, _)), None) if most > 0 && 2 * most >= former.len() => {
            let is_last = blocks.last() == Some(block);
            let is_first = blocks.first() == Some(block);
            let start = if is_first { after.start } else { block.start };
            let end = if is_last { after.end } else { block.end };
            let above = (before.start..before.start, after.start..start);
            let below = (before.end..before.end, end..after.end);
            let mut parts = vec![above, (before, start..end), below];
            parts.retain(|(_, new)| !new.is_empty());
            parts
        }
        _ => vec![(before, after)],
    }
}

/// Runs of lines without a blank one.
fn blocks(lines: &[String], start: usize) -> Vec<Range<usize>> {
    let mut blocks: Vec<Range<usize>> = Vec::new();
    for (at, _) in lines.iter().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match blocks.last_mut().filter(|block| block.end == start + at) {
            Some(block) => block.end += 1,
            None => blocks.push(start + at..start + at + 1),
        }
    }
    blocks
}

fn words_of(lines: &[String]) -> HashSet<&str> {
    let is_word = |word: &&str| word.contains(char::is_alphanumeric);
    lines.iter().flat_map(|line| words(line)).filter(is_word).collect()
}

fn is_text(lines: &[String]) -> bool {
    lines.iter().any(|line| !line.trim().is_empty())
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
    fn another_edit_is_a_part_of_its_own() {
        let parts = |old: &str, new: &str, cuts: &[(usize, usize)]| {
            let parts = parts(&lines(old), &lines(new), cuts);
            parts.iter().map(|(a, b)| format!("{a:?}-{b:?} ")).collect::<String>()
        };
        assert_eq!(parts("a\nb\n", "x\ny\n", &[(1, 1)]), "0..1-0..1 1..2-1..2 ");
        assert_eq!(parts("a\n", "x\ny\nz\n", &[(0, 1), (1, 2)]), "0..0-0..1 0..1-1..2 1..1-2..3 ");
        // Nothing visible on one side, lines that may merge.
        assert_eq!(parts("a\nb\n", "x\n\n", &[(1, 1)]), "0..2-0..2 ");
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

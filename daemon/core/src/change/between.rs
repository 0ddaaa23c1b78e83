//! The change between two texts.

use std::ops::Range;

use ropey::RopeSlice;

use super::{Blocks, Edit, diff};
use crate::text::Text;

/// Maximum number of edits in one change: VS Code replaces the whole text for a thousand or more,
/// which takes half a minute in a large file.
const MAX_EDITS: usize = 900;

/// Number of equal lines around the difference that are compared too, so that a block with several
/// possible places can move to the most readable one.
const CONTEXT: usize = 100;

/// Numbers of equal lines at the beginning and the end of two texts.
pub(super) struct Ends {
    pub(super) before: usize,
    pub(super) after: usize,
}

/// Returns the sorted, disjoint edits that turn `old` into `new`.
pub(super) fn edits(old: &Text, new: &Text) -> Vec<Edit> {
    let edits = blocks(old, new)
        .iter()
        .map(|(a, b)| trimmed(old, old.lines_to_chars(a), new, new.lines_to_chars(b)))
        .collect();
    bounded(old, edits)
}

/// Returns the ranges of lines that differ.
pub(crate) fn blocks(old: &Text, new: &Text) -> Blocks {
    let Ends { before, after } = ends(old, new);
    let lines = |text: &Text| {
        before.saturating_sub(CONTEXT)..text.filled_lines() - after.saturating_sub(CONTEXT)
    };
    diff::lines(old, lines(old), new, lines(new))
}

/// Number of lines between the first and the last difference.
pub(crate) fn spread(old: &Text, new: &Text) -> usize {
    let Ends { before, after } = ends(old, new);
    old.filled_lines().max(new.filled_lines()).saturating_sub(before + after)
}

/// Finds the equal ends of two texts. Ropes compare whole pieces of memory, which is much faster
/// than comparing lines.
pub(super) fn ends(old: &Text, new: &Text) -> Ends {
    let (a, b) = (old.rope(), new.rope());
    let (a_len, b_len) = (a.len_chars(), b.len_chars());
    let shorter = a_len.min(b_len);
    let start = alike(shorter, |part| a.slice(part.clone()) == b.slice(part));
    // If the texts differ in a line ending, their numbers of lines before it differ.
    let before = a.char_to_line(start).min(b.char_to_line(start));

    let end = alike(shorter - start, |Range { start, end }| {
        a.slice(a_len - end..a_len - start) == b.slice(b_len - end..b_len - start)
    });
    // The line in which the equal end begins does not belong to it.
    let after = |text: &Text| {
        let first = text.char_to_line(text.len_chars() - end) + 1;
        text.filled_lines().saturating_sub(first)
    };
    Ends { before, after: after(old).min(after(new)) }
}

/// Length of the longest prefix for which `same` holds, found by binary search.
fn alike(len: usize, same: impl Fn(Range<usize>) -> bool) -> usize {
    let (mut known, mut end) = (0, len);
    while known < end {
        let middle = known + (end - known).div_ceil(2);
        if same(known..middle) {
            known = middle;
        } else {
            end = middle - 1;
        }
    }
    known
}

/// Returns the edit without the equal text at both ends.
fn trimmed(old: &Text, before: Range<usize>, new: &Text, after: Range<usize>) -> Edit {
    let (a, b) = (old.rope().slice(before.clone()), new.rope().slice(after.clone()));
    let (a_len, b_len) = (a.len_chars(), b.len_chars());

    let mut prefix = a.chars().zip(b.chars()).take_while(|(x, y)| x == y).count();
    if splits_ending(a, prefix) || splits_ending(b, prefix) {
        prefix -= 1;
    }

    let ends = a.chars_at(a_len).reversed().zip(b.chars_at(b_len).reversed());
    let rest = a_len.min(b_len) - prefix;
    let mut suffix = ends.take(rest).take_while(|(x, y)| x == y).count();
    if splits_ending(a, a_len - suffix) || splits_ending(b, b_len - suffix) {
        suffix -= 1;
    }

    let range = before.start + prefix..before.end - suffix;
    Edit { range, insert: new.slice(after.start + prefix..after.end - suffix) }
}

/// Returns true if an offset lies inside `\r
/// `: no editor position can name it.
fn splits_ending(slice: RopeSlice<'_>, at: usize) -> bool {
    at > 0 && slice.get_char(at) == Some('\n') && slice.get_char(at - 1) == Some('\r')
}

/// Joins edits over the smallest gaps until at most [`MAX_EDITS`] are left.
fn bounded(old: &Text, edits: Vec<Edit>) -> Vec<Edit> {
    let Some(excess) = edits.len().checked_sub(MAX_EDITS).filter(|&excess| excess > 0) else {
        return edits;
    };
    let mut gaps: Vec<usize> = (1..edits.len()).collect();
    gaps.sort_by_key(|&i| edits[i].range.start - edits[i - 1].range.end);
    let mut join = vec![false; edits.len()];
    for &i in &gaps[..excess] {
        join[i] = true;
    }
    let mut joined: Vec<Edit> = Vec::with_capacity(MAX_EDITS);
    for (edit, join) in edits.into_iter().zip(join) {
        match joined.last_mut() {
            Some(last) if join => {
                last.insert.push_str(&old.slice(last.range.end..edit.range.start));
                last.insert.push_str(&edit.insert);
                last.range.end = edit.range.end;
            }
            _ => joined.push(edit),
        }
    }
    joined
}

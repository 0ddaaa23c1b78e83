//! The whole lines that an edit replaces.

use std::ops::Range;

use crate::{change::Edit, text::Text};

/// The fewest lines such that all others are the same lines before and after the edit. Empty for
/// whole lines inserted between two.
pub(super) fn of(text: &Text, edit: &Edit) -> Range<usize> {
    let (start, end) = (edit.range.start, edit.range.end);
    let before = start.checked_sub(1).and_then(|at| text.char_at(at));
    let after = text.char_at(end);

    let mut first = text.char_to_line(start);
    let follows = edit.insert.chars().next().or(after);
    if start == text.line_to_char(first) && !is_clean(before, follows) {
        // A `\n` behind the `\r` of the line before becomes a part of that line's ending.
        first = first.saturating_sub(1);
    }

    let mut last = text.char_to_line(end);
    let precedes = edit.insert.chars().next_back().or(before);
    if end != text.line_to_char(last) || !is_clean(precedes, after) {
        last = (last + 1).min(text.filled_lines());
    }
    first..last
}

/// Returns true if a line ends and another one starts between these two chars. The borders of a
/// text are treated as line borders.
pub(super) fn is_clean(left: Option<char>, right: Option<char>) -> bool {
    match (left, right) {
        (Some('\n'), _) | (None, _) | (_, None) => true,
        (Some('\r'), Some(right)) => right != '\n',
        (Some(_), Some(_)) => false,
    }
}

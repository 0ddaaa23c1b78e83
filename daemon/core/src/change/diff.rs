//! The difference of two runs of lines.

use std::ops::Range;

use imara_diff::{Algorithm, Diff, IndentHeuristic, IndentLevel, InternedInput, Interner};

use crate::text::Text;

/// Decides between several places for one difference, by their indentation.
const TAB_WIDTH: u8 = 8;

/// Lines of two texts that differ, sorted, with at least one equal line between two of them.
pub(crate) type Blocks = Vec<(Range<usize>, Range<usize>)>;

/// Blocks of lines that differ: ranges of `old`, within `before`, with their replacement in `new`,
/// within `after`.
pub(crate) fn lines(old: &Text, before: Range<usize>, new: &Text, after: Range<usize>) -> Blocks {
    if before.is_empty() || after.is_empty() {
        let differ = before.len() != after.len();
        return if differ { vec![(before, after)] } else { Vec::new() };
    }
    let mut input = InternedInput {
        before: Vec::with_capacity(before.len()),
        after: Vec::with_capacity(after.len()),
        interner: Interner::new(before.len() + after.len()),
    };
    input.update_before(old.rope().lines_at(before.start).take(before.len()));
    input.update_after(new.rope().lines_at(after.start).take(after.len()));
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_with_heuristic(
        &input,
        IndentHeuristic::new(|token| {
            IndentLevel::for_ascii_line(input.interner[token].bytes(), TAB_WIDTH)
        }),
    );
    let shift = |range: Range<u32>, by: usize| range.start as usize + by..range.end as usize + by;
    diff.hunks()
        .map(|hunk| (shift(hunk.before, before.start), shift(hunk.after, after.start)))
        .collect()
}

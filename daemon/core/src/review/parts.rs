//! Hunks that touch: parts of one replacement, each decided alone.
//!
//! [`change::parts`] splits the lines that an edit made differ, at the borders of the agent's edits too.

use std::ops::Range;

use super::{Author, Hunk, HunkId, lineage::kin, state::ReviewState};
use crate::{
    change::{self, Blocks},
    text::Text,
};

/// Most characters that are split: each line of them is copied.
const MAX_CHARS: usize = 256 * 1024;

impl ReviewState {
    /// Returns the borders of hunks that an edit left as they are, as lines of the baseline and of the current
    /// text after it: to the next hunk, and to what another call of the agent wrote next to it. `after` are
    /// the touched hunks in the lines after the edit.
    pub(super) fn cuts(
        &self,
        touched: &Range<usize>,
        after: &[Hunk],
        edited: &Range<usize>,
        author: &Author,
    ) -> Vec<(usize, usize)> {
        let mut cuts = Vec::new();
        for (index, after) in touched.clone().zip(after) {
            let Hunk { new, origin, .. } = &self.hunks[index];
            if new.is_empty() || (new.start < edited.end && edited.start < new.end) {
                continue;
            }
            let is_other = matches!(author, Author::Agent(by) if by.doer() != origin.doer());
            let is_cut = |at: usize, touches: bool| {
                let borders = at == edited.start || at == edited.end;
                if borders && (edited.is_empty() || !touches) { is_other } else { touches }
            };
            if is_cut(new.start, self.is_touching(index)) {
                cuts.push((after.old.start, after.new.start));
            }
            if is_cut(new.end, self.is_touching(index + 1)) {
                cuts.push((after.old.end, after.new.end));
            }
        }
        cuts.sort_unstable();
        cuts.dedup();
        cuts
    }

    /// Splits lines that differ into the parts that can be decided alone.
    pub(super) fn parts(
        &self,
        (old, new): (Range<usize>, Range<usize>),
        cuts: &[(usize, usize)],
    ) -> Blocks {
        let inside = |&&(a, b): &&(usize, usize)| {
            (old.start..=old.end).contains(&a) && (new.start + 1..new.end).contains(&b)
        };
        let cuts: Vec<(usize, usize)> =
            cuts.iter().filter(inside).map(|&(a, b)| (a - old.start, b - new.start)).collect();
        let chars = |text: &Text, lines| text.lines_to_chars(lines).len();
        let is_large = old.len().max(new.len()) > change::MOST_LINES_WITH_PARTS
            || chars(&self.baseline, &old).max(chars(&self.current, &new)) > MAX_CHARS;
        if cuts.is_empty() && (is_large || old.is_empty()) {
            return vec![(old, new)];
        }
        if has_bare_return(&self.baseline, &old) || has_bare_return(&self.current, &new) {
            // Next to a part that is still pending, a `\n` of another one would complete its ending.
            return vec![(old, new)];
        }
        let lines = |text: &Text, lines: &Range<usize>| -> Vec<String> {
            lines.clone().map(|line| text.lines_slice(line..line + 1)).collect()
        };
        let shifted = |lines: Range<usize>, by: usize| lines.start + by..lines.end + by;
        change::parts(&lines(&self.baseline, &old), &lines(&self.current, &new), &cuts)
            .into_iter()
            .map(|(a, b)| (shifted(a, old.start), shifted(b, new.start)))
            .collect()
    }

    /// Adds the hunks that touch the first and the last of these.
    pub(super) fn with_parts(&self, mut hunks: Range<usize>) -> Range<usize> {
        if !hunks.is_empty() {
            while self.is_touching(hunks.start) {
                hunks.start -= 1;
            }
            while self.is_touching(hunks.end) {
                hunks.end += 1;
            }
        }
        hunks
    }

    /// Joins the hunk at an index with the one before, if no line is left between them.
    pub(super) fn coalesce(&mut self, index: usize) {
        if !self.is_touching(index) {
            return;
        }
        let second = self.hunks.remove(index);
        let first = &mut self.hunks[index - 1];
        first.kin = kin([&*first, &second]);
        first.old.end = second.old.end;
        first.new.end = second.new.end;
        first.mixed |= second.mixed;
        first.typed_inside |= second.typed_inside;
        first.user.extend(second.user);
    }

    /// Ids of the hunks that touch one of these hunks.
    pub(super) fn touching(&self, hunk: &Hunk) -> Vec<HunkId> {
        let touches = |other: &&Hunk| {
            (other.old.end, other.new.end) == (hunk.old.start, hunk.new.start)
                || (other.old.start, other.new.start) == (hunk.old.end, hunk.new.end)
        };
        self.hunks.iter().filter(touches).map(|other| other.id).collect()
    }

    /// Returns true if no line is left between the hunk at an index and the one before.
    pub(super) fn is_touching(&self, index: usize) -> bool {
        let before = index.checked_sub(1).and_then(|before| self.hunks.get(before));
        before.zip(self.hunks.get(index)).is_some_and(|(first, second)| {
            first.old.end == second.old.start && first.new.end == second.new.start
        })
    }
}

/// Returns true if one of these lines, or the line before them, ends with `\r` alone.
fn has_bare_return(text: &Text, lines: &Range<usize>) -> bool {
    let mut lines = lines.start.saturating_sub(1)..lines.end;
    lines.any(|line| {
        let end = text.line_to_char(line + 1);
        end > 0 && text.char_at(end - 1) == Some('\r')
    })
}

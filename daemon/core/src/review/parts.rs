//! Hunks that touch: parts of one replacement, each decided alone.
//!
//! [`change::parts`] splits the lines that an edit made differ. A rejection comes back as an ordinary
//! change of the text, and between hunks that touch its place does not tell which of them it takes back:
//! the resulting text does. Must never count a part as decided that the user did not decide.

use std::ops::Range;

use super::{
    Author, FileReview, Hunk, HunkId, OwnText,
    lineage::kin,
    state::{ReviewState, move_lines},
    window,
};
use crate::{
    change::{self, Blocks, Edit},
    text::Text,
};

/// Most touching hunks whose rejections are compared.
const MAX_PARTS: u32 = 6;

impl FileReview {
    /// Applies the edits of a rejection.
    pub(super) fn apply_decision(&mut self, mut edits: Vec<Edit>) {
        // From the last to the first, so that the offsets of the others stay valid.
        for parts in self.state.runs_of_parts().into_iter().rev() {
            let span = self.state.chars_of(&parts);
            let first = edits.partition_point(|edit| edit.range.end < span.start);
            let end = edits.partition_point(|edit| edit.range.start <= span.end).max(first);
            let (behind, inside) = (edits.split_off(end), edits.split_off(first));
            self.edit(&behind, &Author::Decision);
            if !inside.is_empty() && !self.state.settle_parts(&parts, &inside) {
                // Not a rejection of these: text that stays pending.
                self.edit(&inside, &Author::User);
            }
        }
        self.edit(&edits, &Author::Decision);
    }
}

impl ReviewState {
    /// Splits lines that differ into the parts that can be decided alone.
    pub(super) fn parts(&self, (old, new): (Range<usize>, Range<usize>)) -> Blocks {
        if old.is_empty() || old.len().max(new.len()) > change::MOST_LINES_WITH_PARTS {
            return vec![(old, new)];
        }
        let lines = |text: &Text, lines: &Range<usize>| -> Vec<String> {
            lines.clone().map(|line| text.lines_slice(line..line + 1)).collect()
        };
        let shifted = |lines: Range<usize>, by: usize| lines.start + by..lines.end + by;
        change::parts(&lines(&self.baseline, &old), &lines(&self.current, &new))
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
    fn is_touching(&self, index: usize) -> bool {
        let before = index.checked_sub(1).and_then(|before| self.hunks.get(before));
        before.zip(self.hunks.get(index)).is_some_and(|(first, second)| {
            first.old.end == second.old.start && first.new.end == second.new.start
        })
    }

    /// Indices of hunks that touch, for each run of them.
    fn runs_of_parts(&self) -> Vec<Range<usize>> {
        let mut runs: Vec<Range<usize>> = Vec::new();
        for index in (1..self.hunks.len()).filter(|&index| self.is_touching(index)) {
            match runs.last_mut() {
                Some(run) if run.end == index => run.end = index + 1,
                _ => runs.push(index - 1..index + 1),
            }
        }
        runs
    }

    /// Chars of the current text from the first of some hunks to the last.
    fn chars_of(&self, hunks: &Range<usize>) -> Range<usize> {
        let hunks = &self.hunks[hunks.clone()];
        let lines = hunks.first().map_or(0, |hunk| hunk.new.start)
            ..hunks.last().map_or(0, |hunk| hunk.new.end);
        self.current.lines_to_chars(&lines)
    }

    /// Applies the edits of a rejection of some of these hunks. Returns false, and nothing has
    /// happened, if they are no such edits.
    fn settle_parts(&mut self, parts: &Range<usize>, edits: &[Edit]) -> bool {
        let span = self.chars_of(parts);
        let mut after = Text::new(&self.current.slice(span.clone()));
        for edit in edits.iter().rev() {
            if edit.range.start < span.start || edit.range.end > span.end {
                return false;
            }
            after.replace(edit.range.start - span.start..edit.range.end - span.start, &edit.insert);
        }
        let before = span.start.checked_sub(1).and_then(|at| self.current.char_at(at));
        let follows = after.char_at(0).or(self.current.char_at(span.end));
        let Some(kept) = self.rejected_parts(parts, &after.to_string()) else { return false };
        if !window::is_clean(before, follows) {
            return false;
        }
        // From the last to the first, so that the lines of the others stay valid.
        for (index, kept) in parts.clone().zip(kept).rev() {
            let Some(kept) = kept else { continue };
            let hunk = self.hunks.remove(index);
            let count = Text::new(&kept).filled_lines();
            self.baseline.replace(self.baseline.lines_to_chars(&hunk.old), &kept);
            self.current.replace(self.current.lines_to_chars(&hunk.new), &kept);
            for later in &mut self.hunks[index..] {
                move_lines(&mut later.old, hunk.old.len(), count);
                move_lines(&mut later.new, hunk.new.len(), count);
            }
        }
        true
    }

    /// Returns what a rejection leaves of each hunk, and nothing for a hunk that is not rejected: the
    /// fewest hunks whose rejection gives this text.
    fn rejected_parts(&self, parts: &Range<usize>, after: &str) -> Option<Vec<Option<String>>> {
        let count = u32::try_from(parts.len()).ok().filter(|&count| count <= MAX_PARTS)?;
        let hunks = &self.hunks[parts.clone()];
        let new: Vec<String> =
            hunks.iter().map(|hunk| self.current.lines_slice(hunk.new.clone())).collect();
        let mut choices: Vec<u32> = (1..1 << count).collect();
        choices.sort_by_key(|choice| choice.count_ones());
        [OwnText::Keep, OwnText::Drop].into_iter().find_map(|own| {
            let kept: Vec<String> = hunks
                .iter()
                .map(|hunk| match own {
                    OwnText::Keep => self.kept_on_reject(hunk),
                    OwnText::Drop => self.baseline.lines_slice(hunk.old.clone()),
                })
                .collect();
            // Lines that end otherwise may merge with the next.
            if !kept.iter().chain(&new).all(|text| text.is_empty() || text.ends_with('\n')) {
                return None;
            }
            let gives = |choice: &u32| {
                let text: String = (0..kept.len())
                    .map(|at| if choice >> at & 1 == 1 { &*kept[at] } else { &*new[at] })
                    .collect();
                text == after
            };
            let choice = choices.iter().copied().find(gives)?;
            let taken = kept.into_iter().enumerate();
            Some(taken.map(|(at, text)| (choice >> at & 1 == 1).then_some(text)).collect())
        })
    }
}

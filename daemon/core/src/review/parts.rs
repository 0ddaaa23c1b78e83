//! Hunks that touch: parts of one replacement, each decided alone.
//!
//! [`change::parts`] splits the lines that an edit made differ, at the borders of the agent's edits too. A rejection comes back as an ordinary
//! change of the text, and between hunks that touch its place does not tell which of them it takes back:
//! the resulting text does. Must never count a part as decided that the user did not decide.

use std::{collections::BTreeMap, ops::Range};

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

/// Most characters that are split: each line of them is copied.
const MAX_CHARS: usize = 256 * 1024;

/// Most places in a text at which one of the touching hunks may end.
const MAX_PLACES: usize = 256;

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
    /// Returns the borders of hunks that an edit left as they are, as lines of the baseline and of the current
    /// text after it: to the next hunk, and to what another call of the agent wrote beside. `after` are
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
            // Beside a part that is still pending, a `\n` of another one would complete its ending.
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
        let Some(kept) = self.rejected_parts(parts, &after.to_string(), edits) else {
            return false;
        };
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
    /// fewest hunks whose rejection gives this text, if possible those that the edits change.
    fn rejected_parts(
        &self,
        parts: &Range<usize>,
        after: &str,
        edits: &[Edit],
    ) -> Option<Vec<Option<String>>> {
        let hunks = &self.hunks[parts.clone()];
        let is_edited = |hunk: &Hunk| {
            let span = self.current.lines_to_chars(&hunk.new);
            edits.iter().any(|Edit { range, .. }| match range.is_empty() {
                true => span.start <= range.start && range.start <= span.end,
                false => range.start < span.end && span.start < range.end,
            })
        };
        let edited: Vec<bool> = hunks.iter().map(is_edited).collect();
        let new: Vec<String> =
            hunks.iter().map(|hunk| self.current.lines_slice(hunk.new.clone())).collect();
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
            let rejected = fewest_rejected(&kept, &new, &edited, after)?;
            let taken = kept.into_iter().zip(rejected);
            Some(taken.map(|(text, rejected)| rejected.then_some(text)).collect())
        })
    }
}

/// Returns which of some texts are the `kept` ones, and not the `new` ones, in a text that consists of them: as
/// few as possible, but one at least, and of these as many `edited` ones as possible.
fn fewest_rejected(
    kept: &[String],
    new: &[String],
    edited: &[bool],
    after: &str,
) -> Option<Vec<bool>> {
    let cost = |choice: &[bool]| -> (usize, usize) {
        let rejected = || choice.iter().zip(edited).filter(|(rejected, _)| **rejected);
        (rejected().count(), rejected().filter(|(_, edited)| !**edited).count())
    };
    // By the length of the text so far, and by whether one is rejected.
    let mut found: BTreeMap<(usize, bool), Vec<bool>> = BTreeMap::from([((0, false), Vec::new())]);
    for (kept, new) in kept.iter().zip(new) {
        let mut next: BTreeMap<(usize, bool), Vec<bool>> = BTreeMap::new();
        for ((at, any), choice) in found {
            for (text, rejected) in [(new, false), (kept, true)] {
                if !after[at..].starts_with(text.as_str()) {
                    continue;
                }
                let choice = [&*choice, &[rejected]].concat();
                let place =
                    next.entry((at + text.len(), any || rejected)).or_insert(choice.clone());
                if cost(&choice) < cost(place) {
                    *place = choice;
                }
            }
        }
        if next.len() > MAX_PLACES {
            return None;
        }
        found = next;
    }
    found.remove(&(after.len(), true))
}

/// Returns true if one of these lines, or the line before them, ends with `\r` alone.
fn has_bare_return(text: &Text, lines: &Range<usize>) -> bool {
    let mut lines = lines.start.saturating_sub(1)..lines.end;
    lines.any(|line| {
        let end = text.line_to_char(line + 1);
        end > 0 && text.char_at(end - 1) == Some('\r')
    })
}

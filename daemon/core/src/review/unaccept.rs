//! Undoes an accept: its old lines are the baseline again, and newer changes stay.
//!
//! Works only where the accepted lines are still in the baseline and in the current text. Must never
//! change the current text, nor make later text of the user pending.

use std::{collections::HashSet, ops::Range};

use super::{FileReview, Hunk, HunkId, ReviewState, window};
use crate::{
    change::{self, Blocks},
    text::Text,
};

/// Reason for which an accepted hunk stays accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StaysAccepted {
    #[error("it is not accepted")]
    NotAccepted,
    #[error("its lines changed since")]
    Changed,
    #[error("a newer proposal changes its lines")]
    Covered,
}

/// Hunks that were accepted together.
pub(super) struct AcceptedHunks {
    before: Text,
    after: Text,
    hunks: Vec<Former>,
}

struct Former {
    /// Its id at the time of the accept.
    id: HunkId,
    hunk: Hunk,
    old_text: String,
    /// The accepted lines, in the baseline after the accept.
    lines: Range<usize>,
    /// The other parts of the same replacement that it touched.
    parts: Vec<HunkId>,
}

impl FileReview {
    /// Undoes the accept of hunks that were pending in `former`, the review before it. Returns the hunks
    /// that stay accepted, with the reasons.
    pub fn unaccept(
        &mut self,
        former: &FileReview,
        ids: &[HunkId],
    ) -> Vec<(HunkId, StaysAccepted)> {
        let is_accepted = |id: &HunkId| {
            former.hunk(*id).is_some_and(|hunk| {
                self.hunk(*id).is_none_or(|pending| pending.origin != hunk.origin)
            })
        };
        let (ids, unknown): (Vec<HunkId>, Vec<HunkId>) = ids.iter().partition(|id| is_accepted(id));
        let mut accepted = AcceptedHunks::new(&former.state, &ids);
        let mut next_id = self.next_id.max(former.next_id);
        // A review that began after `former` was forgotten gave the same ids to other hunks.
        for hunk in accepted.hunks.iter_mut().map(|former| &mut former.hunk) {
            if self.hunk(hunk.id).is_some() || self.memory.has(hunk.id) {
                (hunk.id, hunk.kin) = (HunkId(next_id), Vec::new());
                next_id += 1;
            }
        }
        let mut refused = self.state.unaccept(&accepted);
        if refused.len() < accepted.hunks.len() {
            self.existed &= former.existed;
            self.next_id = next_id;
        }
        self.memory.unaccept(&accepted);
        self.memory.remember(self.state.clone());
        refused.extend(unknown.into_iter().map(|id| (id, StaysAccepted::NotAccepted)));
        refused
    }
}

impl AcceptedHunks {
    fn new(former: &ReviewState, ids: &[HunkId]) -> AcceptedHunks {
        let mut state = former.clone();
        let accepted = state.accept(&ids.iter().copied().collect());
        let (mut from, mut to) = (0, 0);
        let hunks = accepted.into_iter().map(|hunk| {
            let start = hunk.old.start + to - from;
            let lines = start..start + hunk.new.len();
            (from, to) = (from + hunk.old.len(), to + hunk.new.len());
            let old_text = former.baseline.lines_slice(hunk.old.clone());
            Former { id: hunk.id, old_text, parts: former.touching(&hunk), hunk, lines }
        });
        let hunks = hunks.collect();
        AcceptedHunks { before: former.baseline.clone(), after: state.baseline, hunks }
    }

    /// Returns true if these hunks still have their old lines in a baseline: they were not accepted
    /// there yet.
    fn was_pending(&self, baseline: &Text, of: impl Fn(HunkId) -> bool) -> bool {
        let blocks = change::blocks(&self.before, baseline);
        let touched = |lines: &Range<usize>| {
            blocks.iter().any(|(old, _)| old.end >= lines.start && old.start <= lines.end)
        };
        let mut hunks = self.hunks.iter().filter(|former| of(former.id));
        hunks.all(|former| !touched(&former.hunk.old))
    }
}

impl ReviewState {
    fn unaccept(&mut self, accepted: &AcceptedHunks) -> Vec<(HunkId, StaysAccepted)> {
        let blocks = change::blocks(&accepted.after, &self.baseline);
        let mut refused = Vec::new();
        // From the last to the first, so that the lines of the others stay valid.
        for former in accepted.hunks.iter().rev() {
            let reopened = match moved(&former.lines, &blocks) {
                Some(lines) => self.reopen(former, lines),
                None => Err(StaysAccepted::Changed),
            };
            if let Err(reason) = reopened {
                refused.push((former.id, reason));
            }
        }
        refused
    }

    /// Undoes the accept in this earlier state, if the state has it.
    ///
    /// Returns false if a part stays accepted: then the state may no longer be recalled.
    pub(super) fn unaccept_if_known(&mut self, accepted: &AcceptedHunks) -> bool {
        // Most states are near one of the two baselines, and to compare with the other takes long.
        let is_earlier = change::spread(&accepted.before, &self.baseline)
            < change::spread(&accepted.after, &self.baseline);
        if is_earlier && accepted.was_pending(&self.baseline, |_| true) {
            return true;
        }
        let before = self.baseline.clone();
        let refused: HashSet<HunkId> =
            self.unaccept(accepted).into_iter().map(|(id, _)| id).collect();
        refused.is_empty() || accepted.was_pending(&before, |id| refused.contains(&id))
    }

    /// Makes a hunk of equal lines.
    fn reopen(&mut self, former: &Former, lines: Range<usize>) -> Result<(), StaysAccepted> {
        let covers = |hunk: &Hunk| hunk.old.start < lines.end && lines.start < hunk.old.end;
        let splits = |hunk: &Hunk| hunk.old.start < lines.start && lines.end < hunk.old.end;
        if self.hunks.iter().any(|hunk| covers(hunk) || splits(hunk)) {
            return Err(StaysAccepted::Covered);
        }
        let span = self.baseline.lines_to_chars(&lines);
        let before = span.start.checked_sub(1).and_then(|at| self.baseline.char_at(at));
        let after = self.baseline.char_at(span.end);
        let (first, last) = (former.old_text.chars().next(), former.old_text.chars().next_back());
        if !window::is_clean(before, first.or(after)) || !window::is_clean(last.or(before), after) {
            // Without its own ending, the last line of the text can only stay the last one.
            return Err(StaysAccepted::Changed);
        }

        let index = self.hunks.partition_point(|hunk| hunk.old.end <= lines.start);
        let start = match index.checked_sub(1).and_then(|last| self.hunks.get(last)) {
            Some(hunk) => hunk.new.end + lines.start - hunk.old.end,
            None => lines.start,
        };
        let mut hunk = former.hunk.clone();
        self.baseline.replace(span, &former.old_text);
        for later in &mut self.hunks[index..] {
            let start = later.old.start + hunk.old.len() - lines.len();
            later.old = start..start + later.old.len();
        }
        hunk.old = lines.start..lines.start + hunk.old.len();
        hunk.new = start..start + lines.len();
        let is_part = |hunk: Option<&Hunk>| {
            hunk.is_some_and(|hunk| former.parts.contains(&hunk.id) && !hunk.new.is_empty())
        };
        let before = index.checked_sub(1).and_then(|before| self.hunks.get(before));
        let (joins_before, joins_next) = (!is_part(before), !is_part(self.hunks.get(index)));
        self.hunks.insert(index, hunk);
        if joins_next {
            self.coalesce(index + 1);
        }
        if joins_before {
            self.coalesce(index);
        }
        Ok(())
    }
}

/// Place of unchanged lines after a difference. `None`: the difference changes them.
fn moved(lines: &Range<usize>, blocks: &Blocks) -> Option<Range<usize>> {
    let mut start = lines.start;
    for (old, new) in blocks {
        if old.end <= lines.start {
            start = start + new.len() - old.len();
        } else if old.start < lines.end || old.start < lines.start {
            return None;
        }
    }
    Some(start..start + lines.len())
}

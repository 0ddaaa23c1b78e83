//! Remembers states by their text, to recognise an editor's undo and redo.

use std::{
    cmp::Reverse,
    collections::{HashMap, HashSet, VecDeque},
    ops::Range,
};

use super::{Hunk, HunkId, state::ReviewState, unaccept::AcceptedHunks};
use crate::text::Text;

/// Number of states that an undo can restore. The texts share almost all of their memory.
const CAPACITY: usize = 64;

/// A time line of states. A text may be on it more than once, but not twice in a row.
#[derive(Debug, Clone, Default)]
pub(super) struct Memory {
    states: VecDeque<ReviewState>,
    /// The state that was remembered or recalled last.
    at: usize,
}

impl Memory {
    /// Puts a state on the time line behind the last one.
    pub(super) fn remember(&mut self, state: ReviewState) {
        match self.states.get_mut(self.at) {
            Some(last) if same_text(&last.current, &state.current) => *last = state,
            Some(_) => {
                self.at += 1;
                self.states.insert(self.at, state);
            }
            None => {
                self.at = self.states.len();
                self.states.push_back(state);
            }
        }
        if self.states.len() > CAPACITY {
            if self.at > CAPACITY / 2 {
                self.states.pop_front();
                self.at -= 1;
            } else {
                self.states.pop_back();
            }
        }
    }

    /// The state of a text that an undo or redo from here can lead to.
    ///
    /// One with our baseline may be anywhere: an editor can undo several edits at once, and where
    /// the baseline stays, nothing is accepted nor anything accepted lost. Another baseline takes
    /// a step back that the user's own edits or decisions made, so it must be one step away: by
    /// chance, an edit may give a text that once was there under another baseline.
    pub(super) fn step_to(&mut self, current: &Text, baseline: &Text) -> Option<ReviewState> {
        let here = self.states.get(self.at)?.current.clone();
        // Where the same text is on the time line twice, only the text before and after tells
        // at which of them we are. So a step may start at any of them.
        self.recall(current, baseline, |states, index| {
            let near = index.saturating_sub(1)..(index + 2).min(states.len());
            states.range(near).any(|state| same_text(&state.current, &here))
        })
    }

    /// The state of a text, however far away.
    pub(super) fn jump_to(&mut self, current: &Text, baseline: &Text) -> Option<ReviewState> {
        self.recall(current, baseline, |_, _| true)
    }

    /// The state of the same text in which the same is pending and more: an undo of several steps
    /// at once, of which one was a rejection. Elsewhere the baselines are the text, so nothing that
    /// is pending or typed is lost by it; what comes back is shown rather than accepted.
    pub(super) fn with_more_pending(&mut self, here: &ReviewState) -> Option<ReviewState> {
        let holds = |state: &ReviewState| {
            state.hunks.len() > here.hunks.len()
                && same_text(&state.current, &here.current)
                && here.hunks.iter().all(|hunk| {
                    state.hunks.iter().any(|other| {
                        other.id == hunk.id
                            && other.new == hunk.new
                            && state.baseline.lines_slice(other.old.clone())
                                == here.baseline.lines_slice(hunk.old.clone())
                    })
                })
        };
        let found = (0..self.states.len())
            .filter(|&index| holds(&self.states[index]))
            .min_by_key(|&index| index.abs_diff(self.at))?;
        self.at = found;
        self.states.get(found).cloned()
    }

    /// Returns true if a hunk of this id is pending in a remembered state.
    pub(super) fn has(&self, id: HunkId) -> bool {
        self.states.iter().flat_map(|state| &state.hunks).any(|hunk| hunk.id == id)
    }

    /// Forgets the user's part in hunks that have the lines of the agent again: the user has taken their typing
    /// back by hand.
    pub(super) fn disown(&self, here: &mut ReviewState) {
        let ReviewState { baseline, current, hunks } = here;
        for hunk in hunks.iter_mut().filter(|hunk| hunk.mixed) {
            let is_same =
                |text: &Text, lines: &Range<usize>, other: &Text, others: &Range<usize>| {
                    let (span, others) = (text.lines_to_chars(lines), other.lines_to_chars(others));
                    span.len() == others.len()
                        && text.rope().slice(span) == other.rope().slice(others)
                };
            let was_the_agents = self.states.iter().any(|state| {
                let known = state.hunks.iter().find(|known| known.id == hunk.id && !known.mixed);
                known.is_some_and(|known| {
                    is_same(current, &hunk.new, &state.current, &known.new)
                        && is_same(baseline, &hunk.old, &state.baseline, &known.old)
                })
            });
            if was_the_agents {
                (hunk.mixed, hunk.typed_inside) = (false, false);
                hunk.user.fill(false);
            }
        }
    }

    /// The nearest state of a text: one with this baseline or, if there is none, another one that
    /// may be reached.
    ///
    /// The text alone cannot always tell. When the agent deletes what the user just typed and that
    /// is undone, then the next step to the text without it undoes the typing or redoes the
    /// deletion. With our baseline it is the deletion: shown once too often rather than accepted.
    fn recall(
        &mut self,
        current: &Text,
        baseline: &Text,
        may_reach: impl Fn(&VecDeque<ReviewState>, usize) -> bool,
    ) -> Option<ReviewState> {
        let (_, _, found) = (0..self.states.len())
            .filter(|&index| same_text(&self.states[index].current, current))
            .map(|index| {
                let rebased = !same_text(&self.states[index].baseline, baseline);
                (rebased, index.abs_diff(self.at), index)
            })
            .filter(|&(rebased, _, index)| !rebased || may_reach(&self.states, index))
            .min_by_key(|&(rebased, distance, index)| (rebased, distance, Reverse(index)))?;
        self.at = found;
        self.states.get(found).cloned()
    }

    /// Accepts hunks in all remembered states, so that no undo takes the accept back. A state in which
    /// such a hunk was joined with others, or was a part of another one, is forgotten.
    pub(super) fn accept(&mut self, accepted: &[Hunk]) {
        let mut related: HashMap<HunkId, Vec<&Hunk>> = HashMap::new();
        for hunk in accepted {
            for id in hunk.lineage() {
                related.entry(id).or_default().push(hunk);
            }
        }
        self.retain(|state| {
            let mut alone = HashSet::new();
            for hunk in &state.hunks {
                for &accepted in hunk.lineage().filter_map(|id| related.get(&id)).flatten() {
                    let is_same = hunk.id == accepted.id && !hunk.has_kin() && !accepted.has_kin();
                    if !is_same {
                        return false;
                    }
                    alone.insert(hunk.id);
                }
            }
            if !alone.is_empty() {
                state.accept(&alone);
            }
            true
        });
    }

    /// Forgets the states in which an undone accept still holds, so that no undo restores it.
    pub(super) fn unaccept(&mut self, accepted: &AcceptedHunks) {
        self.retain(|state| state.unaccept_if_known(accepted));
    }

    fn retain(&mut self, mut keep: impl FnMut(&mut ReviewState) -> bool) {
        for index in (0..self.states.len()).rev() {
            if !keep(&mut self.states[index]) {
                self.states.remove(index);
                if index < self.at {
                    self.at -= 1;
                }
            }
        }
    }
}

/// Compares the lengths first, so that most different texts are not read.
fn same_text(a: &Text, b: &Text) -> bool {
    a.len_chars() == b.len_chars() && a == b
}

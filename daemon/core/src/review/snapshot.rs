//! Review as it is stored, and restored by another process.

use std::{ops::Range, sync::Arc};

use serde::{Deserialize, Serialize, Serializer};

use super::{FileReview, Hunk, HunkId, Memory, Origin, ReviewState};
use crate::{
    change::{Assoc, Change},
    text::Text,
};

/// Maximum number of ids: more than any file needs, and far below the range of the type.
const MOST_IDS: u64 = u64::MAX / 2;

/// Stored form of a review: without its memory of earlier texts.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct ReviewSnapshot {
    pub baseline: Text,
    pub current: Text,
    pub existed: bool,
    pub next_id: u64,
    pub hunks: Vec<Hunk>,
}

/// A proposal that is no longer in the text as the agent's, not even in part.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Outdated {
    pub id: HunkId,
    pub origin: Arc<Origin>,
    pub old_text: String,
    pub new_text: String,
    /// The line of the text where it would be now.
    pub line: usize,
}

impl Outdated {
    /// Returns the present place of the old lines in characters: the former one, or else the only
    /// match in the text.
    #[must_use]
    pub fn place(&self, text: &Text) -> Option<Range<usize>> {
        let at = text.line_to_char(self.line.min(text.filled_lines()));
        let length = self.old_text.chars().count();
        if at + length <= text.len_chars() && text.slice(at..at + length) == self.old_text {
            return Some(at..at + length);
        }
        let whole = text.to_string();
        let mut places = whole.match_indices(self.old_text.as_str());
        match (places.next(), places.next()) {
            (Some((byte, _)), None) if !self.old_text.is_empty() => {
                let at = whole[..byte].chars().count();
                Some(at..at + length)
            }
            _ => None,
        }
    }
}

impl Serialize for FileReview {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.snapshot().serialize(to)
    }
}

/// Without earlier texts: an undo to one is treated as the user's edit.
impl From<ReviewSnapshot> for FileReview {
    fn from(snapshot: ReviewSnapshot) -> Self {
        let ReviewSnapshot { baseline, current, existed, next_id, hunks } = snapshot;
        let state = ReviewState { baseline, current, hunks };
        FileReview { state, memory: Memory::default(), existed, next_id }
    }
}

impl FileReview {
    #[must_use]
    pub fn snapshot(&self) -> ReviewSnapshot {
        ReviewSnapshot {
            baseline: self.baseline().clone(),
            current: self.current().clone(),
            existed: self.existed,
            next_id: self.next_id,
            hunks: self.hunks().to_vec(),
        }
    }

    /// Checks a review that was read.
    ///
    /// # Errors
    /// Why it cannot be a review.
    pub fn check(&self) -> Result<(), String> {
        if self.next_id > MOST_IDS {
            return Err(format!("{} ids cannot have been given out", self.next_id));
        }
        self.check_invariants()
    }

    /// Takes the text of a restored review that differs from the recorded one. The difference is treated as
    /// an edit of the user, and hunks of which nothing is left are no longer pending.
    ///
    /// The text in their place is then the user's. A hunk stays while one visible character of the
    /// agent's is left, so this never accepts a line of the agent.
    pub fn reconcile_restored(&mut self, text: &Text) -> Vec<Outdated> {
        if self.current() == text {
            return Vec::new();
        }
        let change = Change::between(self.current(), text);
        let former = self.state.clone();
        self.apply_user(&change);
        // Edits made while no daemon ran have no undo step here.
        self.memory = Memory::default();

        let heirs: Vec<Option<usize>> =
            former.hunks.iter().map(|hunk| self.heir(&former, hunk, &change)).collect();
        let mut stands = vec![false; self.hunks().len()];
        for (hunk, heir) in former.hunks.iter().zip(&heirs) {
            if let Some(heir) = *heir {
                stands[heir] |= former.is_left(hunk, &change);
            }
        }
        let outdated = former.hunks.iter().zip(heirs);
        let outdated = outdated
            .filter(|(_, heir)| heir.is_none_or(|heir| !stands[heir]))
            .map(|(hunk, _)| former.outdated(hunk, self.place(&former, hunk, &change).start))
            .collect();
        let fallen = self.hunks().iter().zip(stands).filter(|&(_, stands)| !stands);
        let fallen = fallen.map(|(hunk, _)| hunk.id).collect();
        self.state.accept(&fallen);
        outdated
    }

    /// The proposals if their file is gone, or holds a text that they were not made for.
    #[must_use]
    pub fn as_outdated(&self) -> Vec<Outdated> {
        let hunks = self.hunks().iter();
        hunks.map(|hunk| self.state.outdated(hunk, hunk.new.start)).collect()
    }

    /// Index of the hunk that a former hunk is, or is a part of, after a change.
    fn heir(&self, former: &ReviewState, hunk: &Hunk, change: &Change) -> Option<usize> {
        let place = self.place(former, hunk, change);
        let adjoins = |heir: &Hunk| heir.new.start <= place.end && place.start <= heir.new.end;
        let same = self.hunks().iter().position(|heir| heir.id == hunk.id);
        same.or_else(|| self.hunks().iter().position(adjoins))
    }

    /// The lines that a former hunk has after a change.
    fn place(&self, former: &ReviewState, hunk: &Hunk, change: &Change) -> Range<usize> {
        let span = former.current.lines_to_chars(&hunk.new);
        let start = change.map_offset(span.start, Assoc::Before);
        let end = change.map_offset(span.end, Assoc::After);
        let line = |at| self.current().char_to_line(at);
        line(start)..line(end)
    }
}

impl ReviewState {
    fn outdated(&self, hunk: &Hunk, line: usize) -> Outdated {
        Outdated {
            id: hunk.id,
            origin: hunk.origin.clone(),
            old_text: self.baseline.lines_slice(hunk.old.clone()),
            new_text: self.current.lines_slice(hunk.new.clone()),
            line,
        }
    }

    /// Returns true if a change keeps any of the agent's lines of a hunk. Where the hunk only
    /// deleted lines, the result has no meaning.
    fn is_left(&self, hunk: &Hunk, change: &Change) -> bool {
        let lines = hunk.new.clone().zip(&hunk.user).filter(|&(_, &user)| !user);
        let spans: Vec<Range<usize>> =
            lines.map(|(line, _)| self.current.lines_to_chars(&(line..line + 1))).collect();
        let is_visible = |at: usize| self.current.char_at(at).is_some_and(|c| !c.is_whitespace());
        let has_visible = spans.iter().cloned().flatten().any(is_visible);
        let is_kept = |at: usize| !change.edits().iter().any(|edit| edit.range.contains(&at));
        spans.is_empty()
            || spans.into_iter().flatten().any(|at| is_visible(at) == has_visible && is_kept(at))
    }
}

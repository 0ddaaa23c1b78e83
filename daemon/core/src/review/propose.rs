//! Edits of the agent. Must never move or lose a line that the user typed in a proposal.

use std::ops::Range;

use super::{
    Author, HunkId, OwnText,
    state::{Region, ReviewState, Shift, move_lines},
};
use crate::{change::Edit, text::Text};

impl ReviewState {
    /// Applies an edit of the agent. A rejection of everything leaves the same text as before it: if it
    /// would move or lose lines of the user, these become part of the baseline.
    pub(super) fn propose(
        &mut self,
        touched: Range<usize>,
        edit: &Edit,
        current: Text,
        shift: &Shift,
        author: &Author,
        fresh_id: &mut impl FnMut() -> HunkId,
    ) {
        let mut region = self.region(touched.clone(), &shift.before);
        if region.user.contains(&true) {
            let kept = self.rejected();
            let mut plain = self.clone();
            plain.revise(region, edit, current.clone(), shift, author, fresh_id);
            if plain.rejected() == kept {
                *self = plain;
                return;
            }
            region = self.region(touched, &shift.before);
            self.absorb_user_lines(&mut region);
        }
        self.revise(region, edit, current, shift, author, fresh_id);
    }

    /// Returns the text that a rejection of all hunks leaves.
    fn rejected(&self) -> Option<Text> {
        self.rejection(&self.hunks.iter().collect::<Vec<_>>(), OwnText::Keep)?
            .apply(&self.current)
            .ok()
    }

    /// Moves the user's lines of a proposal into the baseline, so that a rejection restores them.
    fn absorb_user_lines(&mut self, region: &mut Region) {
        // Include the equal lines around, because their endings may merge with the kept lines.
        if region.old.start > 0 && region.new.start > 0 {
            region.old.start -= 1;
            region.new.start -= 1;
            region.user.insert(0, false);
        }
        if region.old.end < self.baseline.filled_lines()
            && region.new.end < self.current.filled_lines()
        {
            region.old.end += 1;
            region.new.end += 1;
            region.user.push(false);
        }
        let lines = self.baseline.filled_lines();
        for index in region.touched.clone().rev() {
            let hunk = &self.hunks[index];
            let kept = self.kept_on_reject(hunk);
            let before = self.baseline.filled_lines();
            self.baseline.replace(self.baseline.lines_to_chars(&hunk.old), &kept);
            let after = self.baseline.filled_lines();
            let old = &mut self.hunks[index].old;
            old.end = (old.end + after).saturating_sub(before).max(old.start);
            for later in &mut self.hunks[index + 1..] {
                move_lines(&mut later.old, before, after);
            }
        }
        region.old.end = region.old.end + self.baseline.filled_lines() - lines;
        region.user.fill(false);
    }
}

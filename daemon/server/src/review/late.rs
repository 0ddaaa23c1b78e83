//! Edits of one file that timed out and may still reach its text, which the review then follows.
//!
//! Must never take text of the agent for the user's.

use cairn_core::{
    ids::FileKey,
    review::{Cause, FileOperation, Transition},
    text::Text,
};

use super::{timed_out_edit::TimedOutEdit, tracked_file::TrackedFile};

/// Timed out edits of one file that are remembered; the newest ones.
const MOST_LATE: usize = 4;

impl TrackedFile {
    /// Remembers an edit that was given up.
    pub(super) fn wait_for(&mut self, late: TimedOutEdit) {
        self.late.push(late);
        if self.late.len() > MOST_LATE {
            self.late.remove(0);
        }
    }

    /// Forgets late edits that a newer one has made as well.
    pub(super) fn forget_done(&mut self, text: Option<&Text>) {
        self.late.retain(|late| !late.transition.is_done(text));
    }

    /// Position of the first of these texts that holds a late edit.
    pub(super) fn late_in<'t>(&self, mut texts: impl Iterator<Item = &'t Text>) -> Option<usize> {
        if self.late.is_empty() {
            return None;
        }
        texts.position(|text| self.late.iter().any(|late| late.transition.is_done(Some(text))))
    }

    /// The review follows a late edit that the file holds by now; what else is new in the text is
    /// the user's. False if there is none.
    pub(super) fn late_landed(&mut self, text: Option<&Text>) -> bool {
        let Some(at) = self.late.iter().position(|late| late.transition.is_done(text)) else {
            return false;
        };
        let late = self.late.remove(at);
        self.land_late(&late.transition, text);
        if let (Some(review), Some(text)) = (&mut self.state.review, text)
            && review.current() != text
        {
            self.by_others = true;
            review.reconcile(text);
        }
        self.recorded = None;
        self.landed.push(late);
        self.dirty = true;
        true
    }

    /// Compares the text after a restart with the texts before and after each edit that was on its
    /// way. `outdated` becomes what does not stand in it.
    pub(super) fn resume_late(&mut self, edits: Vec<TimedOutEdit>, text: Option<&Text>) {
        let (done, missing): (Vec<TimedOutEdit>, Vec<TimedOutEdit>) =
            edits.into_iter().partition(|late| late.transition.is_likely_done(text));
        for late in &done {
            self.land_late(&late.transition, text);
        }
        self.absent = text.is_none();
        if let (Some(text), Some(review)) = (text, &mut self.state.review) {
            self.outdated.extend(review.reconcile_restored(text));
        }
        for late in missing.iter().filter(|_| text.is_some()) {
            let missed = text.map(|text| late.transition.missed_in(&mut self.state.review, text));
            self.outdated.extend(missed.unwrap_or_default());
        }
        self.late = missing;
    }

    /// A late edit is in the text. A move takes the entry along, which is for the hub to do.
    fn land_late(&mut self, transition: &Transition, text: Option<&Text>) {
        let was_absent = std::mem::replace(&mut self.absent, text.is_none());
        if let Cause::Call { origin, .. } = &transition.cause {
            self.outdated.retain(|outdated| *outdated.origin != *origin);
        }
        transition.land(&mut self.state, was_absent, self.newest_edit);
    }

    /// The operation of a late move to this key.
    pub(super) fn take_late_move(
        &mut self,
        key: &FileKey,
    ) -> Option<(Option<FileOperation>, Text)> {
        let at = self.late.iter().position(|late| late.transition.target() == Some(key))?;
        let Transition { before, cause, .. } = self.late.remove(at).transition;
        match cause {
            Cause::Move { operation, .. } => Some((operation, before.unwrap_or_default())),
            Cause::Call { .. } | Cause::Reject { .. } | Cause::Restore { .. } => None,
        }
    }
}

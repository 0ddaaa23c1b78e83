//! Edits of one file that timed out and may still reach its text, which the review then follows.
//!
//! Must never take text of the agent for the user's.

use cairn_core::{
    ids::FileKey,
    review::{Author, FileOperation, FileReview},
    text::Text,
};

use super::{
    flight::Outcome,
    timed_out_edit::TimedOutEdit,
    tracked_file::{TrackedFile, accept_of},
};
use crate::ports::EditPolicy;

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
        self.late.retain(|late| !late.is_done(text));
    }

    /// Position of the first of these texts that holds a late edit.
    pub(super) fn late_in<'t>(&self, mut texts: impl Iterator<Item = &'t Text>) -> Option<usize> {
        if self.late.is_empty() {
            return None;
        }
        texts.position(|text| self.late.iter().any(|late| late.is_done(Some(text))))
    }

    /// The review follows a late edit that the file holds by now; what else is new in the text is
    /// the user's. False if there is none.
    pub(super) fn late_landed(&mut self, text: Option<&Text>) -> bool {
        let Some(at) = self.late.iter().position(|late| late.is_done(text)) else { return false };
        let late = self.late.remove(at);
        self.land_late(&late, text);
        if let (Some(review), Some(text)) = (&mut self.review, text)
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
            edits.into_iter().partition(|late| late.is_likely_done(text));
        for late in &done {
            self.land_late(late, text);
        }
        self.absent = text.is_none();
        if let (Some(text), Some(review)) = (text, &mut self.review) {
            self.outdated.extend(review.reconcile_restored(text));
        }
        for late in &missing {
            let (Some(text), Outcome::Agent { base: Some(base), origin, .. }, Some(intent)) =
                (text, &late.outcome, late.intent())
            else {
                continue;
            };
            // With the very text before the edit nothing was missed: it may still come.
            if text != base {
                let review = self.review.get_or_insert_with(|| FileReview::new(text.clone()));
                self.outdated.extend(review.missed(&intent, origin));
            }
        }
        self.late = missing;
    }

    fn land_late(&mut self, late: &TimedOutEdit, text: Option<&Text>) {
        let was_absent = std::mem::replace(&mut self.absent, text.is_none());
        match (&late.outcome, late.intent()) {
            (Outcome::Agent { base, origin, policy, .. }, Some(intent)) => {
                self.outdated.retain(|outdated| *outdated.origin != *origin);
                if base.is_none()
                    && was_absent
                    && !self.operation.take().is_some_and(|operation| operation.is_deletion())
                {
                    self.review = None;
                }
                let review = self.review.get_or_insert_with(|| match base {
                    Some(base) => FileReview::new(base.clone()),
                    None => FileReview::created(),
                });
                review.apply_intent(&intent, &Author::Agent(origin.clone()));
                if *policy == EditPolicy::Accept {
                    accept_of(review, origin);
                }
            }
            (Outcome::Reject { ids, own, .. }, _) => {
                if let Some(review) = &mut self.review {
                    review.reject(ids, *own);
                }
            }
            (Outcome::Restore { former, .. }, _) => {
                (self.review, self.operation) = (former.review.clone(), former.operation.clone());
                self.form = former.form;
            }
            (Outcome::Delete { .. }, _) => (self.review, self.operation) = (None, None),
            (Outcome::Deleted { base, origin, .. }, _) => {
                self.deleted(base, origin, self.newest_edit);
            }
            // A move takes the entry along, which is for the hub to do.
            (Outcome::Moved { .. } | Outcome::Agent { .. }, _) => {}
        }
    }

    /// The operation of a late move to this key.
    pub(super) fn take_late_move(
        &mut self,
        key: &FileKey,
    ) -> Option<(Option<FileOperation>, Text)> {
        let is_it =
            |late: &TimedOutEdit| matches!(&late.outcome, Outcome::Moved { to, .. } if to == key);
        let at = self.late.iter().position(is_it)?;
        match self.late.remove(at).outcome {
            Outcome::Moved { base, operation, .. } => Some((operation, base)),
            _ => None,
        }
    }
}

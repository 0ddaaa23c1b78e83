//! Edits that were given up, or whose daemon died, and that may still reach the text.
//!
//! An editor may apply an edit after its time-out: it asked its user to confirm, or was idle. The text
//! then holds the edit, and the review takes it as what it was meant to be. Must never take text of
//! the agent for the user's.

use cairn_core::{
    change::Change,
    review::{Author, FileReview, HunkId, Intent, Origin},
    text::Text,
};
use serde::{Deserialize, Serialize};

use super::{
    file_state::{FileOperation, ReviewState},
    flight::{InFlight, Outcome},
    records::{RecordedOperation, operation_of, recorded_operation, recorded_state, state_of},
    tracked_file::TrackedFile,
};
use crate::{ports::EditPolicy, store::reviews::UnderWay};

/// TimedOutEdit edits of one file that are remembered; the newest ones.
const MOST_LATE: usize = 4;
/// Restarts after which an edit is not waited for any more.
const MOST_RESTARTS: u32 = 3;

/// An edit that may still reach the text.
#[derive(Debug, Clone)]
pub(super) struct TimedOutEdit {
    /// Text after the edit; `None`: the edit deletes or moves the file.
    pub(super) expected: Option<Text>,
    pub(super) outcome: Outcome,
    /// Restarts of the daemon since the edit was sent.
    restarts: u32,
}

/// Meaning of a recorded edit for the review.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Meaning {
    Agent {
        origin: Origin,
        accepted: bool,
        created: bool,
    },
    /// The agent deletes the file.
    Deletion {
        origin: Origin,
    },
    /// The file goes to the path of this key.
    Moved {
        to: String,
        fate: Option<RecordedOperation>,
    },
    /// A rejection.
    User,
    /// A rejection that deletes the file which the agent created.
    Uncreated,
    /// A decision is undone, or a checkpoint restored.
    Restored {
        deletes: bool,
        is_undo: bool,
    },
}

impl TimedOutEdit {
    pub(super) fn of(in_flight: &InFlight) -> Self {
        let (expected, outcome) = (in_flight.expected.clone(), in_flight.outcome.clone());
        Self { expected, outcome, restarts: 0 }
    }

    /// `None`: the edit changes no text.
    fn intent(&self) -> Option<Intent> {
        let before = match &self.outcome {
            Outcome::Agent { base, .. } => base.clone(),
            Outcome::Reject { before, .. } => Some(before.clone()),
            Outcome::Restore { before, .. } => before.clone(),
            Outcome::Delete { .. } | Outcome::Deleted { .. } | Outcome::Moved { .. } => {
                return None;
            }
        };
        let after = self.expected.clone()?;
        Some(Intent { before: before.unwrap_or_default(), after })
    }

    fn deletes(&self) -> bool {
        self.expected.is_none() && !matches!(self.outcome, Outcome::Moved { .. })
    }

    /// True if the file is as the edit leaves it, but for what the user typed elsewhere.
    fn is_done(&self, text: Option<&Text>) -> bool {
        match (text, self.intent()) {
            (Some(text), Some(intent)) => intent.is_whole_in(text),
            (None, None) => self.deletes(),
            (Some(_), None) | (None, Some(_)) => false,
        }
    }

    /// The same after a restart, when nobody saw how the text came about.
    fn is_likely_done(&self, text: Option<&Text>) -> bool {
        match (text, self.intent()) {
            (Some(text), Some(intent)) => intent.is_likely_in(text),
            (None, None) => self.deletes(),
            (Some(_), None) | (None, Some(_)) => false,
        }
    }

    /// The state that the undo of a decision would have restored, if the daemon died over it.
    pub(super) fn unfinished_undo(&self) -> Option<ReviewState> {
        match &self.outcome {
            Outcome::Restore { former, is_undo: true, .. } if self.restarts == 1 => {
                Some((**former).clone())
            }
            _ => None,
        }
    }

    /// Record of it.
    pub(super) fn kept(&self) -> Option<UnderWay<Text>> {
        let (mut before, mut after) = (None, None);
        let mut expected = self.expected.clone().unwrap_or_default();
        let meaning = match &self.outcome {
            Outcome::Agent { base, origin, policy, .. } => {
                before.clone_from(base);
                Meaning::Agent {
                    origin: origin.clone(),
                    accepted: *policy == EditPolicy::Accept,
                    created: base.is_none(),
                }
            }
            Outcome::Deleted { base, origin, .. } => {
                before = Some(base.clone());
                Meaning::Deletion { origin: origin.clone() }
            }
            Outcome::Moved { to, base, fate, policy, .. } => {
                expected = base.clone();
                let fate = fate.as_ref().filter(|_| *policy != EditPolicy::Accept);
                Meaning::Moved { to: to.clone(), fate: fate.map(recorded_operation) }
            }
            Outcome::Reject { before: text, .. } => {
                before = Some(text.clone());
                Meaning::User
            }
            Outcome::Delete { .. } => Meaning::Uncreated,
            Outcome::Restore { before: text, former, is_undo } => {
                before.clone_from(text);
                after = Some(recorded_state(former));
                Meaning::Restored { deletes: self.expected.is_none(), is_undo: *is_undo }
            }
        };
        let (what, restarts) = (serde_json::to_value(meaning).ok()?, self.restarts);
        Some(UnderWay { before, expected, after, what, restarts })
    }

    /// The edit of a record, after one more restart. `None`: nobody waits for it any more.
    pub(super) fn known(kept: &UnderWay<Text>) -> Option<Self> {
        let UnderWay { before, expected, after, what, restarts } = kept.clone();
        let text = before.clone().unwrap_or_default();
        let (expected, outcome) = match serde_json::from_value::<Meaning>(what).ok()? {
            Meaning::Agent { origin, accepted, created } => {
                let policy = if accepted { EditPolicy::Accept } else { EditPolicy::Propose };
                let change = Change::between(&text, &expected);
                let base = before.filter(|_| !created);
                (Some(expected), Outcome::Agent { base, change, origin, policy })
            }
            Meaning::Deletion { origin } => {
                (None, Outcome::Deleted { base: text, origin, policy: EditPolicy::Propose })
            }
            Meaning::Moved { to, fate } => {
                let fate = fate.map(operation_of);
                let origin = fate.as_ref().map(|fate| fate.origin.clone());
                let policy = EditPolicy::Propose;
                (None, Outcome::Moved { to, base: expected, fate, origin, policy })
            }
            Meaning::User => {
                let change = Change::between(&text, &expected);
                (
                    Some(expected),
                    Outcome::Reject {
                        before: text,
                        change,
                        told: Vec::new(),
                        notice: String::new(),
                    },
                )
            }
            Meaning::Uncreated => {
                (None, Outcome::Delete { told: Vec::new(), notice: String::new() })
            }
            Meaning::Restored { deletes, is_undo } => {
                let former = Box::new(state_of(&after?).ok()?);
                let outcome = Outcome::Restore { before, former, is_undo };
                ((!deletes).then_some(expected), outcome)
            }
        };
        let restarts = restarts + 1;
        (restarts <= MOST_RESTARTS).then_some(Self { expected, outcome, restarts })
    }
}

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
                    && !self.fate.take().is_some_and(|fate| fate.is_deletion())
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
            (Outcome::Reject { .. }, Some(intent)) => {
                if let Some(review) = &mut self.review {
                    review.apply_intent(&intent, &Author::Decision);
                }
            }
            (Outcome::Restore { former, .. }, _) => {
                (self.review, self.fate) = (former.review.clone(), former.fate.clone());
                self.encoding = former.encoding;
            }
            (Outcome::Delete { .. }, _) => (self.review, self.fate) = (None, None),
            (Outcome::Deleted { base, origin, .. }, _) => {
                self.deleted(base, origin, self.newest_edit);
            }
            // A move takes the entry along, which is for the hub to do.
            (Outcome::Moved { .. } | Outcome::Agent { .. } | Outcome::Reject { .. }, _) => {}
        }
    }

    /// The operation of a late move to this key.
    pub(super) fn take_late_move(&mut self, key: &str) -> Option<(Option<FileOperation>, Text)> {
        let is_it =
            |late: &TimedOutEdit| matches!(&late.outcome, Outcome::Moved { to, .. } if to == key);
        let at = self.late.iter().position(is_it)?;
        match self.late.remove(at).outcome {
            Outcome::Moved { base, fate, .. } => Some((fate, base)),
            _ => None,
        }
    }
}

/// Accepts what one call has proposed. What was pending before stays the user's to decide.
pub(super) fn accept_of(review: &mut FileReview, origin: &Origin) {
    let hunks = review.hunks().iter().filter(|hunk| *hunk.origin == *origin);
    let landed: Vec<HunkId> = hunks.map(|hunk| hunk.id).collect();
    review.accept_many(&landed);
}

//! A change of a file: its text before and after, and its cause.
//!
//! A transition is planned before an edit is sent, and lands when the text of the file shows it. An editor may apply
//! an edit late, or after a restart; the text then shows whether it holds the edit. Must never take text of
//! the agent for the user's.

use super::{
    Author, EditPurpose, EditRecord, FileOperation, FileOperationKind, FileReview, FileState,
    HunkId, Intent, Origin, OwnText,
};
use crate::{ids::FileKey, text::Text};

/// Number of restarts that an edit is waited for.
const MOST_RESTARTS: u32 = 3;

/// A change of one file.
#[derive(Debug, Clone)]
pub struct Transition {
    /// `None`: there is no file.
    pub before: Option<Text>,
    /// `None`: the file is deleted, or moved.
    pub after: Option<Text>,
    pub cause: Cause,
}

/// Cause of a transition, which determines the review after it.
#[derive(Debug, Clone)]
pub enum Cause {
    /// A call of the agent. Without a text after it deletes the file.
    Call { origin: Origin, accepted: bool },
    /// A rejection. Without a text after it deletes the file that the agent created.
    Reject { ids: Vec<HunkId>, own: OwnText },
    /// The file gets a former state back.
    Restore {
        former: Box<FileState>,
        /// True if this undoes the newest decision.
        is_undo: bool,
    },
    /// The file goes to the path of the key `to`. Without an origin it is a decision.
    Move { to: FileKey, operation: Option<FileOperation>, origin: Option<Origin>, accepted: bool },
}

impl Transition {
    /// Returns the call of the agent that makes it.
    #[must_use]
    pub fn origin(&self) -> Option<&Origin> {
        match &self.cause {
            Cause::Call { origin, .. } => Some(origin),
            Cause::Move { origin, .. } => origin.as_ref(),
            Cause::Reject { .. } | Cause::Restore { .. } => None,
        }
    }

    /// Returns the text that a call changes or deletes.
    #[must_use]
    pub fn base(&self) -> Option<&Text> {
        self.before.as_ref().filter(|_| matches!(self.cause, Cause::Call { .. }))
    }

    /// Returns true if the agent deletes or moves the file, and may.
    #[must_use]
    pub fn is_accepted_operation(&self) -> bool {
        match &self.cause {
            Cause::Call { accepted, .. } => *accepted && self.after.is_none(),
            Cause::Move { origin, accepted, .. } => *accepted && origin.is_some(),
            Cause::Reject { .. } | Cause::Restore { .. } => false,
        }
    }

    /// Returns the key to which the file moves.
    #[must_use]
    pub fn target(&self) -> Option<&FileKey> {
        match &self.cause {
            Cause::Move { to, .. } => Some(to),
            Cause::Call { .. } | Cause::Reject { .. } | Cause::Restore { .. } => None,
        }
    }

    /// Returns true if it replaces text of the agent that may be on disk already.
    #[must_use]
    pub fn replaces_proposal(&self) -> bool {
        match &self.cause {
            Cause::Reject { .. } => self.after.is_some(),
            Cause::Restore { .. } => true,
            Cause::Call { .. } | Cause::Move { .. } => false,
        }
    }

    /// Returns its texts; `None`: it leaves no text here.
    fn intent(&self) -> Option<Intent> {
        let before = self.before.clone().unwrap_or_default();
        self.after.clone().map(|after| Intent { before, after })
    }

    /// Returns true if the text is as the edit leaves it, but for what the user typed elsewhere.
    #[must_use]
    pub fn is_done(&self, text: Option<&Text>) -> bool {
        self.is_in(text, Intent::is_whole_in)
    }

    /// The same after a restart, when nobody saw how the text came about.
    #[must_use]
    pub fn is_likely_done(&self, text: Option<&Text>) -> bool {
        self.is_in(text, Intent::is_likely_in)
    }

    fn is_in(&self, text: Option<&Text>, holds: fn(&Intent, &Text) -> bool) -> bool {
        match (text, self.intent()) {
            (Some(text), Some(intent)) => holds(&intent, text),
            (None, None) => self.target().is_none(),
            (Some(_), None) | (None, Some(_)) => false,
        }
    }

    /// Applies it to the state of the file, after the text has shown it. A move does not: its state goes along.
    ///
    /// `was_absent`: there was no file. `number` names an operation on the file.
    pub fn land(&self, state: &mut FileState, was_absent: bool, number: u64) {
        match (&self.cause, self.intent()) {
            (Cause::Call { origin, accepted }, Some(intent)) => {
                if self.before.is_none() && was_absent {
                    return state.write_anew(&intent.after, origin, *accepted);
                }
                let review = state.review.get_or_insert_with(|| match &self.before {
                    Some(before) => FileReview::new(before.clone()),
                    None => FileReview::created(),
                });
                review.apply_intent(&intent, &Author::Agent(origin.clone()));
                if *accepted {
                    review.accept_of(origin);
                }
            }
            (Cause::Call { origin, .. }, None) => {
                state.delete(self.before.as_ref(), origin, number)
            }
            (Cause::Reject { ids, own }, Some(_)) => {
                if let Some(review) = &mut state.review {
                    review.reject(ids, *own);
                }
            }
            (Cause::Reject { .. }, None) => (state.review, state.operation) = (None, None),
            (Cause::Restore { former, .. }, _) => state.clone_from(former),
            (Cause::Move { .. }, _) => {}
        }
    }

    /// Returns the places of a call that never reached this text, as outdated proposals.
    pub fn missed_in(&self, review: &mut Option<FileReview>, text: &Text) -> Vec<super::Outdated> {
        match (&self.cause, &self.before, self.intent()) {
            // With the very text before the edit nothing was missed: it may still come.
            (Cause::Call { origin, .. }, Some(before), Some(intent)) if text != before => {
                let review = review.get_or_insert_with(|| FileReview::new(text.clone()));
                review.missed(&intent, origin)
            }
            _ => Vec::new(),
        }
    }

    /// Returns its record, after this number of restarts.
    #[must_use]
    pub fn record(&self, restarts: u32) -> EditRecord {
        let mut before = self.before.clone();
        let mut expected = self.after.clone().unwrap_or_default();
        let mut after = None;
        let purpose = match &self.cause {
            Cause::Call { origin, .. } if self.after.is_none() => {
                EditPurpose::Deletion { origin: origin.clone() }
            }
            Cause::Call { origin, accepted } => EditPurpose::Agent {
                origin: origin.clone(),
                accepted: *accepted,
                created: self.before.is_none(),
            },
            Cause::Move { to, operation, accepted, .. } => {
                expected = before.take().unwrap_or_default();
                let operation = operation.as_ref().filter(|_| !accepted);
                EditPurpose::Moved { to: to.clone(), operation: operation.cloned() }
            }
            Cause::Reject { .. } if self.after.is_none() => EditPurpose::Uncreated,
            Cause::Reject { ids, own } => {
                EditPurpose::Rejected { ids: ids.clone(), drops: *own == OwnText::Drop }
            }
            Cause::Restore { former, is_undo } => {
                after = Some((**former).clone());
                EditPurpose::Restored { deletes: self.after.is_none(), is_undo: *is_undo }
            }
        };
        EditRecord { before, expected, after, purpose, restarts }
    }

    /// Returns the transition of a record, and the number of restarts since it was sent. `None` after
    /// [`MOST_RESTARTS`], and for an unknown purpose.
    #[must_use]
    pub fn of_record(record: &EditRecord) -> Option<(Transition, u32)> {
        let EditRecord { before, expected, after, purpose, restarts } = record.clone();
        let (before, after, cause) = match purpose {
            EditPurpose::Agent { origin, accepted, created } => {
                let before = before.filter(|_| !created);
                (before, Some(expected), Cause::Call { origin, accepted })
            }
            EditPurpose::Deletion { origin } => {
                (before, None, Cause::Call { origin, accepted: false })
            }
            EditPurpose::Moved { to, operation } => {
                let origin = operation.as_ref().map(|operation| operation.origin.clone());
                (Some(expected), None, Cause::Move { to, operation, origin, accepted: false })
            }
            EditPurpose::Rejected { ids, drops } => {
                let own = if drops { OwnText::Drop } else { OwnText::Keep };
                (before, Some(expected), Cause::Reject { ids, own })
            }
            EditPurpose::Uncreated => {
                (before, None, Cause::Reject { ids: Vec::new(), own: OwnText::Keep })
            }
            EditPurpose::Restored { deletes, is_undo } => {
                let former = Box::new(after?);
                (before, (!deletes).then_some(expected), Cause::Restore { former, is_undo })
            }
            EditPurpose::User | EditPurpose::Unknown(_) => return None,
        };
        let restarts = restarts + 1;
        (restarts <= MOST_RESTARTS).then_some((Transition { before, after, cause }, restarts))
    }
}

impl FileState {
    /// Adds the agent's whole text of a file that did not exist. If the agent had deleted the file, the text is an
    /// edit of the former one. If the user had, the former review ends.
    pub fn write_anew(&mut self, text: &Text, origin: &Origin, accepted: bool) {
        if !self.operation.take().is_some_and(|operation| operation.is_deletion()) {
            self.review = None;
        }
        let review = self.review.get_or_insert_with(FileReview::created);
        let before = review.current().clone();
        review
            .apply_intent(&Intent { before, after: text.clone() }, &Author::Agent(origin.clone()));
        if accepted {
            review.accept_of(origin);
        }
    }

    /// Adds the agent's deletion of the file. A file with text of the agent only needs no decision.
    pub fn delete(&mut self, base: Option<&Text>, origin: &Origin, number: u64) {
        let base = || FileReview::new(base.cloned().unwrap_or_default());
        let review = self.review.get_or_insert_with(base);
        if !review.existed() && review.without_proposals().1.is_empty() {
            (self.review, self.operation) = (None, None);
        } else {
            let (kind, origin) = (FileOperationKind::Deleted, origin.clone());
            self.operation = Some(FileOperation { kind, origin, number });
        }
    }
}

impl FileReview {
    /// Accepts the hunks of one call. Other pending hunks stay pending.
    fn accept_of(&mut self, origin: &Origin) {
        let hunks = self.hunks().iter().filter(|hunk| *hunk.origin == *origin);
        let landed: Vec<HunkId> = hunks.map(|hunk| hunk.id).collect();
        self.accept_many(&landed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin() -> Origin {
        Origin { call: "call".into(), ..Origin::default() }
    }

    fn call(before: Option<&str>, after: Option<&str>, accepted: bool) -> Transition {
        let cause = Cause::Call { origin: origin(), accepted };
        Transition { before: before.map(Text::new), after: after.map(Text::new), cause }
    }

    fn landed(transition: &Transition, state: &FileState, was_absent: bool) -> FileState {
        let mut state = state.clone();
        transition.land(&mut state, was_absent, 1);
        state
    }

    #[test]
    fn each_cause_outlives_a_restart() {
        let former = Box::new(FileState::default());
        let causes = [
            Cause::Call { origin: origin(), accepted: true },
            Cause::Reject { ids: vec![HunkId(3)], own: OwnText::Drop },
            Cause::Restore { former, is_undo: true },
        ];
        for cause in causes {
            for after in [Some("2\n"), None] {
                let before = Some(Text::new("1\n"));
                let sent = Transition { before, after: after.map(Text::new), cause: cause.clone() };
                let (found, restarts) = Transition::of_record(&sent.record(0)).unwrap();
                assert_eq!(restarts, 1);
                assert_eq!((&found.before, &found.after), (&sent.before, &sent.after), "{cause:?}");
                assert_eq!(found.record(0).purpose, sent.record(0).purpose);
            }
        }
        assert!(Transition::of_record(&call(None, Some("1\n"), false).record(3)).is_none());
    }

    #[test]
    fn a_call_is_proposed_or_accepted_and_its_rejection_restores_the_text() {
        let nothing = FileState::default();
        let accepted = landed(&call(Some("1\n"), Some("2\n"), true), &nothing, false);
        assert!(accepted.is_settled());
        let proposed = landed(&call(Some("1\n"), Some("2\n"), false), &nothing, false);
        let review = proposed.review.as_ref().unwrap();
        let cause = Cause::Reject { ids: review.ids(), own: OwnText::Keep };
        let [before, after] = ["2\n", "1\n"].map(|text| Some(Text::new(text)));
        let rejected = landed(&Transition { before, after, cause }, &proposed, false);
        assert!(rejected.is_settled());
        assert_eq!(rejected.review.unwrap().current().to_string(), "1\n");
    }

    #[test]
    fn a_file_that_the_agent_deleted_and_wrote_again_is_edited() {
        let nothing = FileState::default();
        let deleted = landed(&call(Some("1\n"), None, false), &nothing, false);
        assert!(deleted.operation.as_ref().is_some_and(FileOperation::is_deletion));
        let written = landed(&call(None, Some("2\n"), false), &deleted, true);
        let review = written.review.unwrap();
        assert!(review.existed() && written.operation.is_none());
        assert_eq!(review.old_text(&review.hunks()[0]), "1\n");
        let created = landed(&call(None, Some("2\n"), false), &nothing, true);
        assert!(!created.review.as_ref().unwrap().existed());
        assert!(landed(&call(Some("2\n"), None, false), &created, false).review.is_none());
    }
}

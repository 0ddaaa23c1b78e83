//! Edits that were given up, or whose daemon died, and that may still reach the text.
//!
//! An editor may apply an edit after its time-out: it asked its user to confirm, or was idle. The text
//! then holds the edit, and the review takes it as what it was meant to be. Must never take text of
//! the agent for the user's.

use cairn_core::{
    change::Change,
    review::{EditPurpose, EditRecord, FileState, Intent, OwnText},
    text::Text,
};

use super::flight::{InFlight, Outcome};
use crate::ports::EditPolicy;

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

impl TimedOutEdit {
    pub(super) fn of(in_flight: &InFlight) -> Self {
        let (expected, outcome) = (in_flight.expected.clone(), in_flight.outcome.clone());
        Self { expected, outcome, restarts: 0 }
    }

    /// `None`: the edit changes no text.
    pub(super) fn intent(&self) -> Option<Intent> {
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
    pub(super) fn is_done(&self, text: Option<&Text>) -> bool {
        match (text, self.intent()) {
            (Some(text), Some(intent)) => intent.is_whole_in(text),
            (None, None) => self.deletes(),
            (Some(_), None) | (None, Some(_)) => false,
        }
    }

    /// The same after a restart, when nobody saw how the text came about.
    pub(super) fn is_likely_done(&self, text: Option<&Text>) -> bool {
        match (text, self.intent()) {
            (Some(text), Some(intent)) => intent.is_likely_in(text),
            (None, None) => self.deletes(),
            (Some(_), None) | (None, Some(_)) => false,
        }
    }

    /// The state that the undo of a decision would have restored, if the daemon died over it.
    pub(super) fn unfinished_undo(&self) -> Option<FileState> {
        match &self.outcome {
            Outcome::Restore { former, is_undo: true, .. } if self.restarts == 1 => {
                Some((**former).clone())
            }
            _ => None,
        }
    }

    pub(super) fn record(&self) -> EditRecord {
        let (mut before, mut after) = (None, None);
        let mut expected = self.expected.clone().unwrap_or_default();
        let purpose = match &self.outcome {
            Outcome::Agent { base, origin, policy, .. } => {
                before.clone_from(base);
                EditPurpose::Agent {
                    origin: origin.clone(),
                    accepted: *policy == EditPolicy::Accept,
                    created: base.is_none(),
                }
            }
            Outcome::Deleted { base, origin, .. } => {
                before = Some(base.clone());
                EditPurpose::Deletion { origin: origin.clone() }
            }
            Outcome::Moved { to, base, operation, policy, .. } => {
                expected = base.clone();
                let operation = operation.as_ref().filter(|_| *policy != EditPolicy::Accept);
                EditPurpose::Moved { to: to.clone(), operation: operation.cloned() }
            }
            Outcome::Reject { before: text, ids, own, .. } => {
                before = Some(text.clone());
                EditPurpose::Rejected { ids: ids.clone(), drops: *own == OwnText::Drop }
            }
            Outcome::Delete { .. } => EditPurpose::Uncreated,
            Outcome::Restore { before: text, former, is_undo } => {
                before.clone_from(text);
                after = Some((**former).clone());
                EditPurpose::Restored { deletes: self.expected.is_none(), is_undo: *is_undo }
            }
        };
        EditRecord { before, expected, after, purpose, restarts: self.restarts }
    }

    /// The edit of a record, after one more restart. `None`: nobody waits for it any more.
    pub(super) fn of_record(record: &EditRecord) -> Option<Self> {
        let EditRecord { before, expected, after, purpose, restarts } = record.clone();
        let text = before.clone().unwrap_or_default();
        let (expected, outcome) = match purpose {
            EditPurpose::Agent { origin, accepted, created } => {
                let policy = if accepted { EditPolicy::Accept } else { EditPolicy::Propose };
                let change = Change::between(&text, &expected);
                let base = before.filter(|_| !created);
                (Some(expected), Outcome::Agent { base, change, origin, policy })
            }
            EditPurpose::Deletion { origin } => {
                (None, Outcome::Deleted { base: text, origin, policy: EditPolicy::Propose })
            }
            EditPurpose::Moved { to, operation } => {
                let origin = operation.as_ref().map(|operation| operation.origin.clone());
                let policy = EditPolicy::Propose;
                (None, Outcome::Moved { to, base: expected, operation, origin, policy })
            }
            EditPurpose::Rejected { ids, drops } => {
                let own = if drops { OwnText::Drop } else { OwnText::Keep };
                let (notified, notice) = (Vec::new(), String::new());
                (Some(expected), Outcome::Reject { before: text, ids, own, notified, notice })
            }
            EditPurpose::Uncreated => {
                (None, Outcome::Delete { notified: Vec::new(), notice: String::new() })
            }
            EditPurpose::Restored { deletes, is_undo } => {
                let former = Box::new(after?);
                let outcome = Outcome::Restore { before, former, is_undo };
                ((!deletes).then_some(expected), outcome)
            }
            EditPurpose::User | EditPurpose::Unknown(_) => return None,
        };
        let restarts = restarts + 1;
        (restarts <= MOST_RESTARTS).then_some(Self { expected, outcome, restarts })
    }
}

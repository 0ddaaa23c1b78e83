//! Edits that were given up, or whose daemon died, and that may still reach the text.
//!
//! An editor may apply an edit after its time-out, because it asked its user to confirm, or was idle. The
//! transition then lands late.

use cairn_core::review::{Cause, EditRecord, FileState, Transition};

use super::flight::{InFlight, RejectionNotice};

/// An edit that may still reach the text.
#[derive(Debug, Clone)]
pub(super) struct TimedOutEdit {
    pub(super) transition: Transition,
    pub(super) notice: RejectionNotice,
    /// Restarts of the daemon since the edit was sent.
    restarts: u32,
}

impl TimedOutEdit {
    pub(super) fn of(in_flight: &InFlight) -> Self {
        let (transition, notice) = (in_flight.transition.clone(), in_flight.notice.clone());
        Self { transition, notice, restarts: 0 }
    }

    /// The state that the undo of a decision would have restored, if the daemon died over it.
    pub(super) fn unfinished_undo(&self) -> Option<FileState> {
        match &self.transition.cause {
            Cause::Restore { former, is_undo: true } if self.restarts == 1 => {
                Some((**former).clone())
            }
            _ => None,
        }
    }

    pub(super) fn record(&self) -> EditRecord {
        self.transition.record(self.restarts)
    }

    /// Returns the edit of a record, after one more restart. `None`: it is no longer waited for.
    pub(super) fn of_record(record: &EditRecord) -> Option<Self> {
        let (transition, restarts) = Transition::of_record(record)?;
        Some(Self { transition, notice: RejectionNotice::default(), restarts })
    }
}

//! Queued edits of a file, the edit in flight, and the review update to apply once the text confirms
//! it. Never decides by itself that an edit is confirmed.

use cairn_core::{
    change::Change,
    ids::{FileKey, SessionId},
    review::{FileOperation, FileReview, FileSnapshot, FileState, HunkId, Origin, OwnText},
    text::Text,
};
use tokio::sync::oneshot;

use super::translate::same_but_last_break;
use crate::ports::{EditPolicy, Proposal, Proposed};

/// A change of a file that waits for its turn.
#[derive(Debug)]
pub(super) enum QueuedEdit {
    Propose(Proposal, oneshot::Sender<Proposed>),
    Reject {
        ids: Vec<HunkId>,
        own: OwnText,
        /// Notice for the model, with the patch and the user's reason.
        notice: String,
        reply: oneshot::Sender<Proposed>,
    },
    /// Restore the file to its state at a checkpoint, if its text is still `now`.
    GoBack {
        now: Option<Text>,
        before: Box<FileSnapshot>,
        reply: oneshot::Sender<Proposed>,
    },
    /// Propose an outdated edit again, and accept it.
    ApplyOutdated {
        id: HunkId,
        reply: oneshot::Sender<Proposed>,
    },
    /// Undo the agent's operation on the whole file.
    RejectFileOperation {
        reply: oneshot::Sender<Proposed>,
    },
    /// Restore a former review with its text, if the file still has the text after it (`None`: no
    /// file).
    Restore {
        former: Box<FileState>,
        after: Option<Text>,
        /// Accepted hunks. `None`: it was a rejection.
        accepted: Option<Vec<HunkId>>,
        reply: oneshot::Sender<Proposed>,
    },
    /// Move the file again to where a decision had taken it from; then do the rest there.
    MoveAgain {
        to: FileKey,
        base: Text,
        operation: Option<FileOperation>,
        then: Box<QueuedEdit>,
    },
}

impl QueuedEdit {
    /// Answers without doing it.
    pub(super) fn answer(self, answer: Proposed) {
        match self {
            QueuedEdit::Propose(_, reply)
            | QueuedEdit::Reject { reply, .. }
            | QueuedEdit::RejectFileOperation { reply }
            | QueuedEdit::ApplyOutdated { reply, .. }
            | QueuedEdit::GoBack { reply, .. }
            | QueuedEdit::Restore { reply, .. } => drop(reply.send(answer)),
            QueuedEdit::MoveAgain { then, .. } => then.answer(answer),
        }
    }
}

#[derive(Debug)]
pub(super) struct InFlight {
    pub(super) edit_id: u64,
    /// The text the edit produces; `None` when it deletes the file.
    pub(super) expected: Option<Text>,
    pub(super) outcome: Outcome,
    /// The text was seen.
    pub(super) seen: bool,
    /// The editor answered that it applied the edit.
    pub(super) answered: bool,
    pub(super) counts: (u32, u32),
    pub(super) reply: oneshot::Sender<Proposed>,
    /// Edit to queue at the target of a move.
    pub(super) then: Option<Box<QueuedEdit>>,
    /// The review before the first change that was not the edit. Edits of an editor that tells of
    /// each in a notification of its own come in pieces.
    pub(super) review_before: Option<Option<FileReview>>,
}

/// A proposal that is in the text, and whose tool call waits until all of it is decided.
#[derive(Debug)]
pub(super) struct AwaitingDecision {
    pub(super) origin: Origin,
    pub(super) answer: Proposed,
    pub(super) reply: oneshot::Sender<Proposed>,
}

/// Update of the review once the edit is confirmed.
#[derive(Debug, Clone)]
pub(super) enum Outcome {
    Agent {
        base: Option<Text>,
        change: Change,
        origin: Origin,
        policy: EditPolicy,
    },
    Reject {
        before: Text,
        ids: Vec<HunkId>,
        own: OwnText,
        notified: Vec<SessionId>,
        /// Notice for the model, should the rejection arrive late.
        notice: String,
    },
    Restore {
        before: Option<Text>,
        former: Box<FileState>,
        /// True if this undoes the newest decision.
        is_undo: bool,
    },
    /// Deletes the file that the agent created, after a rejection.
    Delete {
        notified: Vec<SessionId>,
        /// As in [`Outcome::Reject`].
        notice: String,
    },
    /// Deletion by the agent.
    Deleted {
        base: Text,
        origin: Origin,
        policy: EditPolicy,
    },
    /// Move to the path of the key `to`. Without an origin it is a decision.
    Moved {
        to: FileKey,
        base: Text,
        operation: Option<FileOperation>,
        origin: Option<Origin>,
        policy: EditPolicy,
    },
}

impl InFlight {
    /// Returns true if the text is the expected one except for the last line break, which some editors
    /// always add. False if that line break is the whole edit.
    pub(super) fn almost(&self, text: &Text) -> bool {
        let before = match &self.outcome {
            Outcome::Agent { base, .. } => base.as_ref(),
            Outcome::Reject { before, .. } => Some(before),
            Outcome::Restore { before, .. } => before.as_ref(),
            Outcome::Delete { .. } | Outcome::Deleted { .. } | Outcome::Moved { .. } => None,
        };
        match (before, &self.expected) {
            (Some(before), Some(expected)) => {
                same_but_last_break(expected, text) && !same_but_last_break(expected, before)
            }
            (Some(_) | None, _) => false,
        }
    }
}

impl Outcome {
    /// The text that the agent changes.
    pub(super) fn base(&self) -> Option<&Text> {
        match self {
            Outcome::Agent { base, .. } => base.as_ref(),
            Outcome::Deleted { base, .. } => Some(base),
            Outcome::Moved { .. }
            | Outcome::Reject { .. }
            | Outcome::Restore { .. }
            | Outcome::Delete { .. } => None,
        }
    }

    pub(super) fn is_of_agent(&self) -> bool {
        match self {
            Outcome::Agent { .. } | Outcome::Deleted { .. } => true,
            Outcome::Moved { origin, .. } => origin.is_some(),
            Outcome::Reject { .. } | Outcome::Restore { .. } | Outcome::Delete { .. } => false,
        }
    }

    /// The agent did something to the file as a whole, and may.
    pub(super) fn is_accepted_operation(&self) -> bool {
        matches!(
            self,
            Outcome::Deleted { policy: EditPolicy::Accept, .. }
                | Outcome::Moved { origin: Some(_), policy: EditPolicy::Accept, .. }
        )
    }

    /// Returns the call that continues when all of the edit is decided.
    pub(super) fn waits(&self) -> Option<&Origin> {
        match self {
            Outcome::Agent { origin, policy: EditPolicy::Wait, .. }
            | Outcome::Deleted { origin, policy: EditPolicy::Wait, .. }
            | Outcome::Moved { origin: Some(origin), policy: EditPolicy::Wait, .. } => Some(origin),
            Outcome::Agent { .. }
            | Outcome::Deleted { .. }
            | Outcome::Moved { .. }
            | Outcome::Reject { .. }
            | Outcome::Restore { .. }
            | Outcome::Delete { .. } => None,
        }
    }
}

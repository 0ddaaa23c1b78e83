//! Queued edits of a file, the edit in flight, and the review update to apply once the text confirms
//! it. Never decides by itself that an edit is confirmed.

use cairn_core::{
    change::Change,
    review::{FileReview, HunkId, Origin},
    text::Text,
};
use tokio::sync::oneshot;

use super::{
    file_state::{FileOperation, FileSnapshot, ReviewState},
    translate::same_but_last_break,
};
use crate::ports::{EditPolicy, Proposal, Proposed};

/// Something to do to a file, in turn.
#[derive(Debug)]
pub(super) enum QueuedEdit {
    Propose(Proposal, oneshot::Sender<Proposed>),
    Reject {
        ids: Vec<HunkId>,
        /// Notice for the model, with the patch and the user's reason.
        notice: String,
        reply: oneshot::Sender<Proposed>,
    },
    /// Make the file what it was at a checkpoint, if it is still what it is `now`.
    GoBack {
        now: Option<Text>,
        before: Box<FileSnapshot>,
        reply: oneshot::Sender<Proposed>,
    },
    /// Propose again, and accept, what no longer stands in the text.
    ApplyOutdated {
        id: HunkId,
        reply: oneshot::Sender<Proposed>,
    },
    /// Take back what was done to the file as a whole.
    RejectFileOperation {
        reply: oneshot::Sender<Proposed>,
    },
    /// Bring back a former review, text included, if the text is still the one after it (`None`:
    /// there is no file).
    Restore {
        former: Box<ReviewState>,
        after: Option<Text>,
        /// Accepted hunks. `None`: it was a rejection.
        accepted: Option<Vec<HunkId>>,
        reply: oneshot::Sender<Proposed>,
    },
    /// Move the file again to where a decision had taken it from; then do the rest there.
    MoveAgain {
        to: String,
        base: Text,
        fate: Option<FileOperation>,
        then: Box<QueuedEdit>,
    },
}

impl QueuedEdit {
    /// It is not going to be done.
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
        change: Change,
        told: Vec<String>,
        /// Notice for the model, should the rejection arrive late.
        notice: String,
    },
    Restore {
        before: Option<Text>,
        former: Box<ReviewState>,
        /// It undoes the newest decision.
        is_undo: bool,
    },
    /// The file that the agent created is rejected.
    Delete {
        told: Vec<String>,
        /// The same as of a rejection of lines.
        notice: String,
    },
    /// The agent deletes it.
    Deleted {
        base: Text,
        origin: Origin,
        policy: EditPolicy,
    },
    /// It goes to the path of this key. Without an origin it is a decision.
    Moved {
        to: String,
        base: Text,
        fate: Option<FileOperation>,
        origin: Option<Origin>,
        policy: EditPolicy,
    },
}

impl InFlight {
    /// The text is the one the edit makes but for the last line break: there are editors whose
    /// text always ends with one. Where that break is all there is to the edit it proves nothing.
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

    /// The call that goes on when all of it is decided.
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

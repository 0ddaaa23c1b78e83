//! Queued edits of a file and the edit in flight. Never decides alone that an edit is confirmed.

use cairn_core::{
    ids::{FileKey, SessionId},
    review::{
        FileOperation, FileReview, FileSnapshot, FileState, HunkId, Origin, OwnText, Transition,
    },
    text::Text,
};
use futures_util::future::{FutureExt, ready};
use tokio::sync::oneshot;

use super::translate::same_but_last_break;
use crate::ports::{Proposal, Proposed, Saved};

/// A change of a file that waits for its turn.
#[derive(Debug)]
pub(super) struct QueuedEdit {
    pub(super) request: EditRequest,
    pub(super) reply: oneshot::Sender<Proposed>,
}

/// Requested change of a file.
#[derive(Debug)]
pub(super) enum EditRequest {
    Propose(Proposal),
    Reject {
        ids: Vec<HunkId>,
        own: OwnText,
        /// Notice for the model, with the patch and the user's reason.
        notice: String,
    },
    /// Restore the file to its state at a checkpoint, if its text is still `now`.
    RestoreCheckpoint {
        now: Option<Text>,
        before: Box<FileSnapshot>,
    },
    /// Propose an outdated edit again, and accept it.
    ApplyOutdated(HunkId),
    /// Undo the agent's operation on the whole file.
    RejectFileOperation,
    /// Restore a former review with its text, if the file still has the text after it (`None`: no
    /// file).
    Restore {
        former: Box<FileState>,
        after: Option<Text>,
        /// Accepted hunks. `None`: it was a rejection.
        accepted: Option<Vec<HunkId>>,
    },
    /// Move the file again to where a decision had taken it from; then do the rest there.
    MoveAgain {
        to: FileKey,
        base: Text,
        operation: Option<FileOperation>,
        then: Box<QueuedEdit>,
    },
}

impl EditRequest {
    /// Record that the call of the agent began, if a call requests it.
    pub(super) fn begun(&self) -> Saved {
        if let Self::Propose(proposal) = self {
            return proposal.begun.clone();
        }
        ready(Ok(())).boxed().shared()
    }
}

impl QueuedEdit {
    /// Answers without doing it.
    pub(super) fn answer(self, answer: Proposed) {
        if let EditRequest::MoveAgain { then, .. } = self.request {
            then.answer(answer.clone());
        }
        drop(self.reply.send(answer));
    }
}

/// A transition for the editor.
pub(super) struct PlannedEdit {
    pub(super) transition: Transition,
    /// True if the call continues when all of the edit is decided.
    pub(super) waits: bool,
    pub(super) notice: RejectionNotice,
    /// Edit to queue at the target of a move.
    pub(super) then: Option<Box<QueuedEdit>>,
}

impl From<Transition> for PlannedEdit {
    fn from(transition: Transition) -> Self {
        Self { transition, waits: false, notice: RejectionNotice::default(), then: None }
    }
}

/// Answer to a request that changes no text.
pub(super) const UNCHANGED: Proposed = Proposed::Applied { added: 0, removed: 0 };

#[derive(Debug)]
pub(super) struct InFlight {
    pub(super) edit_id: u64,
    /// Applied to the review once the text shows it.
    pub(super) transition: Transition,
    /// True if the call continues when all of the edit is decided.
    pub(super) waits: bool,
    pub(super) notice: RejectionNotice,
    /// The text was seen.
    pub(super) seen: bool,
    /// The editor answered that it applied the edit.
    pub(super) answered: bool,
    pub(super) counts: (u32, u32),
    pub(super) reply: oneshot::Sender<Proposed>,
    /// Edit to queue at the target of a move.
    pub(super) then: Option<Box<QueuedEdit>>,
    /// The review before the first change that was not the edit. Edits of an editor that tells of
    /// each in a separate notification come in pieces.
    pub(super) review_before: Option<Option<FileReview>>,
}

/// A proposal that is in the text, and whose tool call waits until all of it is decided.
#[derive(Debug)]
pub(super) struct AwaitingDecision {
    pub(super) origin: Origin,
    pub(super) answer: Proposed,
    pub(super) reply: oneshot::Sender<Proposed>,
}

/// Notice for models about a rejection, should it arrive late.
#[derive(Debug, Clone, Default)]
pub(super) struct RejectionNotice {
    pub(super) sessions: Vec<SessionId>,
    pub(super) text: String,
}

impl InFlight {
    /// Returns true if the text is the expected one except for the last line break, which some editors
    /// always add. False if that line break is the whole edit.
    pub(super) fn almost(&self, text: &Text) -> bool {
        match (&self.transition.before, &self.transition.after) {
            (Some(before), Some(expected)) => {
                same_but_last_break(expected, text) && !same_but_last_break(expected, before)
            }
            (Some(_) | None, _) => false,
        }
    }
}

//! Plans of edits: how the text and the state of a file change by a request. Sends nothing.

use cairn_core::{
    change::{Change, LengthMismatch},
    ids::FileKey,
    review::{
        Cause, FileOperation, FileReview, FileSnapshot, FileState, HunkId, OwnText, Transition,
    },
    text::Text,
};
use cairn_protocol::EditProblem;

use super::{
    decisions::still_accepted,
    flight::{EditRequest, PlannedEdit, RejectionNotice, UNCHANGED},
    tracked_file::TrackedFile,
    translate::same_but_last_break,
};
use crate::{
    docs::Document,
    ports::{EditPolicy, Proposal, Proposed, Wanted},
};

/// Answer to a request that sends no edit.
pub(super) struct NotSent {
    pub(super) answer: Proposed,
    /// True if the file may have another text by now, so that it is read from the disk.
    pub(super) read_disk: bool,
}

impl From<Proposed> for NotSent {
    fn from(answer: Proposed) -> Self {
        Self { answer, read_disk: false }
    }
}

impl NotSent {
    fn with_read(answer: Proposed) -> Self {
        Self { answer, read_disk: true }
    }
}

type Plan = Result<PlannedEdit, NotSent>;

impl TrackedFile {
    /// Plans the edit of a request. `number`: the one that the edit will have.
    pub(super) fn plan(
        &mut self,
        key: &FileKey,
        request: EditRequest,
        open: Option<&Document>,
        number: u64,
    ) -> Plan {
        match request {
            EditRequest::Propose(proposal) => self.plan_proposal(key, proposal, open, number),
            EditRequest::Reject { ids, own, notice } => self.plan_rejection(ids, own, notice, open),
            EditRequest::RejectFileOperation => Ok(self.plan_operation_rejection(open)?),
            EditRequest::ApplyOutdated(id) => self.plan_outdated(id),
            EditRequest::RestoreCheckpoint { now, before } => {
                self.plan_checkpoint_restore(now, *before, open)
            }
            EditRequest::Restore { former, after, accepted } => {
                self.plan_undo(former, after, accepted, open)
            }
            EditRequest::MoveAgain { to, base, operation, then } => {
                // The undo of a decision about a move: the file moves again, then `then` follows.
                if open.is_some_and(|document| document.text != base) {
                    then.answer(Proposed::Stale);
                    return Err(Proposed::Stale.into());
                }
                let cause = Cause::Move { to, operation, origin: None, accepted: false };
                let transition = Transition { before: Some(base), after: None, cause };
                Ok(PlannedEdit { then: Some(then), ..transition.into() })
            }
        }
    }

    fn plan_proposal(
        &self,
        key: &FileKey,
        proposal: Proposal,
        open: Option<&Document>,
        number: u64,
    ) -> Plan {
        let Proposal { base, wanted, origin, policy, .. } = proposal;
        match (open, &base) {
            (Some(document), Some(base)) if document.text != *base => {
                return Err(Proposed::Stale.into());
            }
            (Some(_), None) => return Err(Proposed::Stale.into()),
            (Some(_), Some(_)) if self.absent => return Err(NotSent::with_read(Proposed::Stale)),
            (None, Some(base))
                if self.state.review.as_ref().is_some_and(|review| review.current() != base) =>
            {
                // Either the file changed unseen, or an edit arrived after the tool read it.
                return Err(NotSent::with_read(Proposed::Stale));
            }
            (Some(_), Some(_)) | (None, _) => {}
        }
        let (accepted, waits) = (policy == EditPolicy::Accept, policy == EditPolicy::Wait);
        let transition = match (wanted, base) {
            (Wanted::Text(text), base) => {
                let (text, before) = (Text::new(&text), base.clone().unwrap_or_default());
                let change = Change::between(&before, &text);
                if base.is_some() && change.is_empty() {
                    return Err(UNCHANGED.into());
                }
                // Shares what stays with the text before.
                let after = Some(change.apply(&before).unwrap_or(text));
                Transition { before: base, after, cause: Cause::Call { origin, accepted } }
            }
            (Wanted::Gone, Some(base)) => {
                let cause = Cause::Call { origin, accepted };
                Transition { before: Some(base), after: None, cause }
            }
            (Wanted::At(to), Some(base)) => {
                let cause = self.plan_move(key, &to, origin, accepted, number)?;
                Transition { before: Some(base), after: None, cause }
            }
            (Wanted::Gone | Wanted::At(_), None) => return Err(Proposed::Stale.into()),
        };
        Ok(PlannedEdit { waits, ..transition.into() })
    }

    fn plan_rejection(
        &mut self,
        ids: Vec<HunkId>,
        own: OwnText,
        text: String,
        open: Option<&Document>,
    ) -> Plan {
        let review = self.state.review.as_mut().filter(|_| !self.absent).ok_or(Proposed::Stale)?;
        if let Some(document) = open
            && *review.current() != document.text
        {
            review.reconcile(&document.text);
            self.dirty = true;
        }
        let change = review.rejection(&ids, own).ok_or(Proposed::Stale)?;
        if change.is_empty() {
            // Nothing of the agent's is left in these hunks.
            review.reject(&ids, own);
            self.dirty = true;
            return Err(UNCHANGED.into());
        }
        let current = review.current().clone();
        let rejected = review.hunks().iter().filter(|hunk| ids.contains(&hunk.id));
        let sessions = rejected.flat_map(|hunk| hunk.origin.sessions().cloned()).collect();
        let after = change.apply(&current).map_err(mismatch)?;
        let after = Some(after).filter(|it| review.existed() || !it.is_empty());
        let transition =
            Transition { before: Some(current), after, cause: Cause::Reject { ids, own } };
        Ok(PlannedEdit { notice: RejectionNotice { sessions, text }, ..transition.into() })
    }

    fn plan_checkpoint_restore(
        &mut self,
        now: Option<Text>,
        before: FileSnapshot,
        open: Option<&Document>,
    ) -> Plan {
        if open.is_some_and(|document| Some(&document.text) != now.as_ref()) {
            return Err(Proposed::Stale.into());
        }
        let FileSnapshot { state, text: after, .. } = before;
        if now == after {
            self.state = state;
            self.absent = after.is_none();
            self.dirty = true;
            return Err(UNCHANGED.into());
        }
        let cause = Cause::Restore { former: Box::new(state), is_undo: false };
        Ok(Transition { before: now, after, cause }.into())
    }

    /// Makes an outdated proposal again, on the user's request.
    fn plan_outdated(&self, id: HunkId) -> Plan {
        let outdated = self.outdated.iter().find(|it| it.id == id).ok_or(Proposed::Stale)?;
        let current = self.state.review.as_ref().ok_or(Proposed::Stale)?.current().clone();
        let range = outdated.place(&current).filter(|_| !self.absent);
        let mut after = current.clone();
        after.replace(range.ok_or(Proposed::Refused(EditProblem::LinesGone))?, &outdated.new_text);
        let cause = Cause::Call { origin: (*outdated.origin).clone(), accepted: true };
        Ok(Transition { before: Some(current), after: Some(after), cause }.into())
    }

    fn plan_undo(
        &mut self,
        former: Box<FileState>,
        after: Option<Text>,
        accepted: Option<Vec<HunkId>>,
        open: Option<&Document>,
    ) -> Plan {
        let is_deletion = former.operation.as_ref().is_some_and(FileOperation::is_deletion);
        let review = former.review.as_ref().ok_or(Proposed::Stale)?;
        let target = review.current().clone();
        let Some(after) = after else {
            if !is_deletion {
                // A checkpoint was restored where there was no file.
                return Ok(undo(None, Some(target), former));
            }
            // A deletion was accepted. If the file exists again, the disk will say so.
            if open.is_some() {
                return Err(Proposed::Stale.into());
            }
            self.state = *former;
            (self.absent, self.dirty) = (true, true);
            return Err(NotSent::with_read(UNCHANGED));
        };
        if is_deletion {
            let is_other = open.is_some_and(|document| document.text != after);
            return if is_other {
                Err(Proposed::Stale.into())
            } else {
                Ok(undo(Some(after), None, former))
            };
        }
        if self.is_gone() {
            return Err(Proposed::Stale.into());
        }
        if target == after {
            return Err(self.undo_accept(*former, &after, accepted.as_deref(), open.is_some()));
        }
        if self.state.review.is_none() && (review.existed() || !after.is_empty()) {
            // It was forgotten when nothing was pending. The edit is checked by its hash.
            let text = open.map_or(&after, |document| &document.text);
            self.state.review = Some(FileReview::new(text.clone()));
        }
        // Without a review, the file was deleted by the rejection of its creation.
        let current = self.state.review.as_ref().map(|review| review.current().clone());
        if current.as_ref().is_some_and(|current| !same_but_last_break(current, &after)) {
            return Err(Proposed::Stale.into());
        }
        Ok(undo(current, Some(target), former))
    }

    /// Undoes an accept: no text goes back, and the user's later text is theirs. But a later proposal
    /// must not pass for it.
    fn undo_accept(
        &mut self,
        mut state: FileState,
        after: &Text,
        accepted: Option<&[HunkId]>,
        is_open: bool,
    ) -> NotSent {
        let Some(former) = &mut state.review else { return Proposed::Stale.into() };
        let mut answer = UNCHANGED;
        match (&self.state.review, accepted) {
            (Some(review), _)
                if review.current() == after
                    // A later edit of the agent that touches a hunk keeps its id, but not its origin.
                    || review.hunks().iter().all(|hunk| {
                        former.hunk(hunk.id).is_some_and(|known| known.origin == hunk.origin)
                    }) =>
            {
                former.reconcile(review.current());
            }
            (Some(review), Some(accepted)) => {
                let mut reopened = review.clone();
                let stays = reopened.unaccept(former, accepted);
                if !stays.is_empty() {
                    answer = Proposed::Refused(still_accepted(former, &stays));
                }
                *former = reopened;
            }
            (Some(_), None) => return Proposed::Stale.into(),
            (None, _) => {}
        }
        let read_disk = self.state.review.is_none() && !is_open;
        let operation = self.state.operation.take().or(state.operation);
        (self.state.review, self.state.operation, self.dirty) = (state.review, operation, true);
        NotSent { answer, read_disk }
    }
}

/// Undo of a decision.
fn undo(before: Option<Text>, after: Option<Text>, former: Box<FileState>) -> PlannedEdit {
    Transition { before, after, cause: Cause::Restore { former, is_undo: true } }.into()
}

/// Answer to a rejection that does not fit the text of the review.
fn mismatch(error: LengthMismatch) -> Proposed {
    tracing::warn!("a rejection is refused: {error}");
    Proposed::Refused(EditProblem::EditMismatch)
}

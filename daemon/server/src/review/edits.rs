//! Edits on their way to the editor.
//!
//! One edit of a file is in flight at a time; the rest wait in its queue. The editor's "applied"
//! is a claim: an edit is done when the document's text (or, for a file that is not open, the
//! disk) says so. What arrives with exactly the text an edit was to produce is that edit; anything
//! else is the user's own.

use cairn_core::{
    change::{Change, LengthMismatch},
    ids::FileKey,
    review::{Cause, FileOperation, FileReview, FileState, HunkId, OwnText, Transition},
    text::Text,
};
use cairn_protocol::EditProblem;
use tokio::sync::oneshot;

use super::{
    Reviews,
    decisions::still_accepted,
    event::DiskPurpose,
    flight::{EditRequest, PlannedEdit, QueuedEdit, RejectionNotice, UNCHANGED},
    tracked_file::TrackedFile,
    translate::same_but_last_break,
};
use crate::{
    ports::{EditPolicy, Proposal, Proposed, Wanted},
    workspace::{key_of, path_of, uri_of},
};

impl Reviews {
    pub(super) fn propose(&mut self, proposal: Proposal, reply: oneshot::Sender<Proposed>) {
        let Some(key) = key_of(&proposal.path) else {
            drop(reply.send(Proposed::Refused(EditProblem::PathWithoutUri)));
            return;
        };
        if proposal.cancel.is_cancelled() {
            // The user stopped the turn while the tool was still reading.
            drop(reply.send(Proposed::Refused(EditProblem::TurnOver)));
            return;
        }
        self.enqueue(&key, EditRequest::Propose(proposal), reply);
    }

    pub(super) fn enqueue(
        &mut self,
        key: &FileKey,
        request: EditRequest,
        reply: oneshot::Sender<Proposed>,
    ) {
        let Some(path) = path_of(key) else { return };
        let uri = self
            .services
            .docs
            .get(key)
            .map(|document| document.uri.clone())
            .or_else(|| uri_of(&path));
        let Some(uri) = uri else { return };
        let display = self.services.display(&path);
        let entry = self
            .files
            .entries
            .entry(key.to_owned())
            .or_insert_with(|| TrackedFile::new(uri, display));
        entry.queue.push_back(QueuedEdit { request, reply });
        self.next_work(key);
    }

    /// Starts the next thing in the file's queue if nothing is in flight.
    pub(super) fn next_work(&mut self, key: &FileKey) {
        loop {
            let Some(entry) = self.files.entries.get_mut(key) else { return };
            if entry.in_flight.is_some() {
                return;
            }
            let Some(QueuedEdit { request, reply }) = entry.queue.pop_front() else { return };
            if matches!(request, EditRequest::Propose(_)) && reply.is_closed() {
                // Its turn was cancelled while it waited.
                continue;
            }
            match self.plan(key, request) {
                Ok(planned) => self.send(key, planned, reply),
                Err(answer) => drop(reply.send(answer)),
            }
        }
    }

    fn plan(&mut self, key: &FileKey, request: EditRequest) -> Result<PlannedEdit, Proposed> {
        match request {
            EditRequest::Propose(proposal) => self.plan_proposal(key, proposal),
            EditRequest::Reject { ids, own, notice } => self.plan_rejection(key, ids, own, notice),
            EditRequest::RejectFileOperation => self.plan_operation_rejection(key),
            EditRequest::ApplyOutdated(id) => self.plan_outdated(key, id),
            EditRequest::RestoreCheckpoint { now, before } => {
                self.plan_checkpoint_restore(key, now, *before)
            }
            EditRequest::Restore { former, after, accepted } => {
                self.plan_undo(key, former, after, accepted)
            }
            EditRequest::MoveAgain { to, base, operation, then } => {
                self.plan_move_again(key, to, base, operation, then)
            }
        }
    }

    fn plan_proposal(
        &mut self,
        key: &FileKey,
        proposal: Proposal,
    ) -> Result<PlannedEdit, Proposed> {
        let Proposal { base, wanted, origin, policy, .. } = proposal;
        let open = self.services.docs.get(key);
        let entry = self.files.entries.get(key).ok_or(Proposed::Stale)?;
        match (&open, &base) {
            (Some(document), Some(base)) if document.text != *base => return Err(Proposed::Stale),
            (Some(_), None) => return Err(Proposed::Stale),
            (Some(_), Some(_)) if entry.absent => {
                self.read_disk(key, DiskPurpose::Reconcile);
                return Err(Proposed::Stale);
            }
            (None, Some(base))
                if entry.review.as_ref().is_some_and(|review| review.current() != base) =>
            {
                // Either the file changed unseen, or an edit arrived after the tool read it.
                self.read_disk(key, DiskPurpose::Reconcile);
                return Err(Proposed::Stale);
            }
            (Some(_), Some(_)) | (None, _) => {}
        }
        let (accepted, waits) = (policy == EditPolicy::Accept, policy == EditPolicy::Wait);
        let transition = match (wanted, base) {
            (Wanted::Text(text), base) => {
                let (text, before) = (Text::new(&text), base.clone().unwrap_or_default());
                let change = Change::between(&before, &text);
                if base.is_some() && change.is_empty() {
                    return Err(UNCHANGED);
                }
                // Shares what stays with the text before.
                let after = Some(change.apply(&before).unwrap_or(text));
                Transition { before: base, after, cause: Cause::Call { origin, accepted } }
            }
            (Wanted::Gone, Some(base)) => {
                let cause = Cause::Call { origin, accepted };
                Transition { before: Some(base), after: None, cause }
            }
            (Wanted::At(to), Some(base)) => self.plan_move(key, &to, base, origin, accepted)?,
            (Wanted::Gone | Wanted::At(_), None) => return Err(Proposed::Stale),
        };
        Ok(PlannedEdit { waits, ..transition.into() })
    }

    fn plan_rejection(
        &mut self,
        key: &FileKey,
        ids: Vec<HunkId>,
        own: OwnText,
        text: String,
    ) -> Result<PlannedEdit, Proposed> {
        let open = self.services.docs.get(key);
        let entry = self.files.entries.get_mut(key).filter(|entry| !entry.absent);
        let entry = entry.ok_or(Proposed::Stale)?;
        let review = entry.review.as_mut().ok_or(Proposed::Stale)?;
        if let Some(document) = &open
            && *review.current() != document.text
        {
            review.reconcile(&document.text);
            entry.dirty = true;
        }
        let change = review.rejection(&ids, own).ok_or(Proposed::Stale)?;
        if change.is_empty() {
            // Nothing of the agent's is left in these hunks.
            review.reject(&ids, own);
            entry.dirty = true;
            return Err(UNCHANGED);
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

    fn plan_undo(
        &mut self,
        key: &FileKey,
        former: Box<FileState>,
        after: Option<Text>,
        accepted: Option<Vec<HunkId>>,
    ) -> Result<PlannedEdit, Proposed> {
        let open = self.services.docs.get(key);
        let entry = self.files.entries.get_mut(key).ok_or(Proposed::Stale)?;
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
                return Err(Proposed::Stale);
            }
            entry.change_state(|state| *state = *former);
            (entry.absent, entry.dirty) = (true, true);
            self.read_disk(key, DiskPurpose::Reconcile);
            return Err(UNCHANGED);
        };
        if is_deletion {
            let is_other = open.is_some_and(|document| document.text != after);
            return if is_other {
                Err(Proposed::Stale)
            } else {
                Ok(undo(Some(after), None, former))
            };
        }
        if entry.is_gone() {
            return Err(Proposed::Stale);
        }
        if target == after {
            return Err(self.undo_accept(key, *former, &after, accepted.as_deref()));
        }
        if entry.review.is_none() && (review.existed() || !after.is_empty()) {
            // It was forgotten when nothing was pending. The edit is checked by its hash.
            let text = open.as_ref().map_or(&after, |document| &document.text);
            entry.review = Some(FileReview::new(text.clone()));
        }
        // Without a review, the file was deleted by the rejection of its creation.
        let current = entry.review.as_ref().map(|review| review.current().clone());
        if current.as_ref().is_some_and(|current| !same_but_last_break(current, &after)) {
            return Err(Proposed::Stale);
        }
        Ok(undo(current, Some(target), former))
    }

    /// Undoes an accept: no text goes back, and the user's later text is theirs. But a later proposal
    /// must not pass for it.
    fn undo_accept(
        &mut self,
        key: &FileKey,
        mut state: FileState,
        after: &Text,
        accepted: Option<&[HunkId]>,
    ) -> Proposed {
        let open = self.services.docs.get(key).is_some();
        let (Some(entry), Some(former)) = (self.files.entries.get_mut(key), &mut state.review)
        else {
            return Proposed::Stale;
        };
        let mut answer = UNCHANGED;
        match (&entry.review, accepted) {
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
            (Some(_), None) => return Proposed::Stale,
            (None, _) => {}
        }
        let is_forgotten = entry.review.is_none();
        let operation = entry.operation.take().or(state.operation);
        (entry.review, entry.operation, entry.dirty) = (state.review, operation, true);
        if is_forgotten && !open {
            self.read_disk(key, DiskPurpose::Reconcile);
        }
        answer
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

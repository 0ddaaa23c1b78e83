//! Edits on their way to the editor.
//!
//! One edit of a file is in flight at a time; the rest wait in its queue. The editor's "applied"
//! is a claim: an edit is done when the document's text (or, for a file that is not open, the
//! disk) says so. What arrives with exactly the text an edit was to produce is that edit; anything
//! else is the user's own.

use cairn_core::{
    change::{Change, LengthMismatch},
    ids::FileKey,
    review::{Cause, FileOperation, FileReview, FileState, Hunk, HunkId, OwnText, Transition},
    text::Text,
};
use cairn_protocol::EditProblem;
use tokio::sync::oneshot;

use super::{
    Reviews,
    decisions::still_accepted,
    delivery::Sending,
    event::DiskPurpose,
    flight::{QueuedEdit, RejectionNotice},
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
        self.enqueue(&key, QueuedEdit::Propose(proposal, reply));
    }

    pub(super) fn enqueue(&mut self, key: &FileKey, work: QueuedEdit) {
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
        entry.queue.push_back(work);
        self.next_work(key);
    }

    /// Starts the next thing in the file's queue if nothing is in flight.
    pub(super) fn next_work(&mut self, key: &FileKey) {
        loop {
            let Some(entry) = self.files.entries.get_mut(key) else { return };
            if entry.in_flight.is_some() {
                return;
            }
            let Some(work) = entry.queue.pop_front() else { return };
            match work {
                // Its turn was cancelled while it waited.
                QueuedEdit::Propose(_, reply) if reply.is_closed() => {}
                QueuedEdit::Propose(proposal, reply) => self.start_proposal(key, proposal, reply),
                QueuedEdit::Reject { ids, own, notice, reply } => {
                    self.start_reject(key, (&ids, own), notice, reply)
                }
                QueuedEdit::RejectFileOperation { reply } => {
                    self.start_operation_rejection(key, reply)
                }
                QueuedEdit::ApplyOutdated { id, reply } => self.apply_outdated(key, id, reply),
                QueuedEdit::GoBack { now, before, reply } => {
                    self.start_going_back(key, now, *before, reply)
                }
                QueuedEdit::Restore { former, after, accepted, reply } => {
                    self.start_restore(key, former, after, accepted.as_deref(), reply)
                }
                QueuedEdit::MoveAgain { to, base, operation, then } => {
                    self.start_move_again(key, to, base, operation, *then)
                }
            }
        }
    }

    fn start_proposal(
        &mut self,
        key: &FileKey,
        proposal: Proposal,
        reply: oneshot::Sender<Proposed>,
    ) {
        let Proposal { base, wanted, origin, policy, .. } = proposal;
        let open = self.services.docs.get(key);
        let Some(entry) = self.files.entries.get_mut(key) else { return };
        match (&open, &base) {
            (Some(document), Some(base)) if document.text != *base => {
                return drop(reply.send(Proposed::Stale));
            }
            (Some(_), None) => return drop(reply.send(Proposed::Stale)),
            (Some(_), Some(_)) if entry.absent => {
                self.read_disk(key, DiskPurpose::Reconcile);
                return drop(reply.send(Proposed::Stale));
            }
            (None, Some(base))
                if entry.review.as_ref().is_some_and(|review| review.current() != base) =>
            {
                // Either the file changed unseen, or an edit arrived after the tool read it.
                self.read_disk(key, DiskPurpose::Reconcile);
                return drop(reply.send(Proposed::Stale));
            }
            (Some(_), Some(_)) | (None, _) => {}
        }
        let (new_text, base) = match (wanted, base) {
            (Wanted::Text(text), base) => (Text::new(&text), base),
            (Wanted::Gone, Some(base)) => {
                return self.start_deletion(key, base, origin, policy, reply);
            }
            (Wanted::At(to), Some(base)) => {
                return self.start_move(key, &to, &base, origin, policy, reply);
            }
            (Wanted::Gone | Wanted::At(_), None) => return drop(reply.send(Proposed::Stale)),
        };
        let before = base.clone().unwrap_or_default();
        let change = Change::between(&before, &new_text);
        if base.is_some() && change.is_empty() {
            return drop(reply.send(Proposed::Applied { added: 0, removed: 0 }));
        }
        // Shares what stays with the text before.
        let new_text = change.apply(&before).unwrap_or(new_text);
        let cause = Cause::Call { origin, accepted: policy == EditPolicy::Accept };
        let transition = Transition { before: base, after: Some(new_text), cause };
        let waits = policy == EditPolicy::Wait;
        self.send(key, Sending { waits, ..Sending::of(transition, reply) });
    }

    fn start_reject(
        &mut self,
        key: &FileKey,
        (ids, own): (&[HunkId], OwnText),
        notice: String,
        reply: oneshot::Sender<Proposed>,
    ) {
        let open = self.services.docs.get(key);
        let Some(entry) = self.files.entries.get_mut(key) else { return };
        let Some(review) = &mut entry.review else { return drop(reply.send(Proposed::Stale)) };
        if entry.absent {
            return drop(reply.send(Proposed::Stale));
        }
        if let Some(document) = &open
            && *review.current() != document.text
        {
            review.reconcile(&document.text);
            entry.dirty = true;
        }
        let Some(change) = review.rejection(ids, own) else {
            return drop(reply.send(Proposed::Stale));
        };
        if change.is_empty() {
            // Nothing of the agent's is left in these hunks.
            review.reject(ids, own);
            entry.dirty = true;
            return drop(reply.send(Proposed::Applied { added: 0, removed: 0 }));
        }
        let current = review.current().clone();
        let notified = review
            .hunks()
            .iter()
            .filter(|hunk| ids.contains(&hunk.id))
            .flat_map(|hunk| hunk.origin.sessions().cloned())
            .collect();
        let after = match change.apply(&current) {
            Ok(after) => Some(after).filter(|it| review.existed() || !it.is_empty()),
            Err(error) => return drop(reply.send(mismatch(error))),
        };
        let cause = Cause::Reject { ids: ids.to_vec(), own };
        let transition = Transition { before: Some(current), after, cause };
        let notice = RejectionNotice { sessions: notified, text: notice };
        self.send(key, Sending { notice, ..Sending::of(transition, reply) });
    }

    fn start_restore(
        &mut self,
        key: &FileKey,
        mut state: Box<FileState>,
        after: Option<Text>,
        accepted: Option<&[HunkId]>,
        reply: oneshot::Sender<Proposed>,
    ) {
        let open = self.services.docs.get(key);
        let Some(entry) = self.files.entries.get_mut(key) else { return };
        let operation = state.operation.clone();
        let is_deletion = operation.as_ref().is_some_and(FileOperation::is_deletion);
        if let (None, false, Some(former)) = (&after, is_deletion, &state.review) {
            // It was gone back to where there was no file.
            let transition = undo(None, Some(former.current().clone()), state);
            return self.send(key, Sending::of(transition, reply));
        }
        let (Some(former), true) =
            (&mut state.review, is_deletion || (after.is_some() && !entry.is_gone()))
        else {
            return drop(reply.send(Proposed::Stale));
        };
        let Some(after) = after else {
            // A deletion was accepted. If the file is back meanwhile, the disk will say so.
            if open.is_some() {
                return drop(reply.send(Proposed::Stale));
            }
            entry.form = state.form;
            (entry.review, entry.operation) = (state.review, operation);
            (entry.absent, entry.dirty) = (true, true);
            self.read_disk(key, DiskPurpose::Reconcile);
            return drop(reply.send(Proposed::Applied { added: 0, removed: 0 }));
        };
        let after = &after;
        if is_deletion {
            if open.is_some_and(|document| document.text != *after) {
                return drop(reply.send(Proposed::Stale));
            }
            let transition = undo(Some(after.clone()), None, state);
            return self.send(key, Sending::of(transition, reply));
        }
        let target = former.current().clone();
        if target == *after {
            // It was an accept: no text goes back, and what the user wrote since is theirs. But
            // a later proposal must not pass for it.
            let mut answer = Proposed::Applied { added: 0, removed: 0 };
            if let Some(review) = &entry.review {
                // A later edit of the agent that touches a hunk keeps its id, but not its origin.
                let known = |hunk: &Hunk| {
                    former.hunk(hunk.id).is_some_and(|known| known.origin == hunk.origin)
                };
                if review.current() == after || review.hunks().iter().all(known) {
                    former.reconcile(review.current());
                } else if let Some(accepted) = accepted {
                    let mut reopened = review.clone();
                    let stays = reopened.unaccept(former, accepted);
                    if !stays.is_empty() {
                        answer = Proposed::Refused(still_accepted(former, &stays));
                    }
                    *former = reopened;
                } else {
                    return drop(reply.send(Proposed::Stale));
                }
            } else if open.is_none() {
                self.read_disk(key, DiskPurpose::Reconcile);
            }
            let Some(entry) = self.files.entries.get_mut(key) else { return };
            (entry.review, entry.operation) = (state.review, entry.operation.take().or(operation));
            entry.dirty = true;
            return drop(reply.send(answer));
        }
        if entry.review.is_none() && (former.existed() || !after.is_empty()) {
            // It was forgotten when nothing was pending any more. The edit is checked by its hash.
            let text = open.as_ref().map_or(after, |document| &document.text);
            entry.review = Some(FileReview::new(text.clone()));
        }
        let Some(review) = &mut entry.review else {
            // The file was deleted by the reject of its creation.
            let transition = undo(None, Some(target), state);
            return self.send(key, Sending::of(transition, reply));
        };
        let current = review.current().clone();
        if !same_but_last_break(&current, after) {
            return drop(reply.send(Proposed::Stale));
        }
        self.send(key, Sending::of(undo(Some(current), Some(target), state), reply));
    }
}

/// Undo of a decision.
fn undo(before: Option<Text>, after: Option<Text>, former: Box<FileState>) -> Transition {
    Transition { before, after, cause: Cause::Restore { former, is_undo: true } }
}

/// Answer to a rejection that does not fit the text of the review.
fn mismatch(error: LengthMismatch) -> Proposed {
    tracing::warn!("a rejection is refused: {error}");
    Proposed::Refused(EditProblem::EditMismatch)
}

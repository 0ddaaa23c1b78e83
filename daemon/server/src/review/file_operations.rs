//! Deletions and moves of whole files by the agent, and their undo. Each is one decision.

use std::path::Path;

use cairn_core::{
    ids::{FileKey, SessionId},
    review::{Cause, FileOperation, FileOperationKind, FileReview, FileState, Origin, Transition},
};
use cairn_protocol::EditProblem;

use super::{
    Reviews,
    event::DiskPurpose,
    flight::{EditRequest, InFlight, PlannedEdit, QueuedEdit},
    tracked_file::TrackedFile,
};
use crate::{
    docs::Document,
    ports::Proposed,
    workspace::{key_of, path_of, uri_of},
};

impl TrackedFile {
    /// Plans a move by the agent.
    pub(super) fn plan_move(
        &self,
        key: &FileKey,
        to: &Path,
        origin: Origin,
        accepted: bool,
        number: u64,
    ) -> Result<Cause, Proposed> {
        let to = key_of(to).ok_or(Proposed::Refused(EditProblem::PathWithoutUri))?;
        let created = self.state.review.as_ref().is_some_and(|review| !review.existed());
        let from = match &self.state.operation {
            Some(FileOperation { kind: FileOperationKind::MovedFrom(first), .. }) => {
                Some(first.clone())
            }
            Some(FileOperation { kind: FileOperationKind::Deleted, .. }) | None => {
                (!created).then(|| key.to_owned())
            }
        };
        let operation = from.filter(|from| *from != to).map(|from| FileOperation {
            kind: FileOperationKind::MovedFrom(from),
            origin: origin.clone(),
            number,
        });
        Ok(Cause::Move { to, operation, origin: Some(origin), accepted })
    }

    /// Plans the rejection of an operation on the whole file.
    pub(super) fn plan_operation_rejection(
        &self,
        open: Option<&Document>,
    ) -> Result<PlannedEdit, Proposed> {
        let review = self.state.review.as_ref().ok_or(Proposed::Stale)?;
        match self.state.operation.as_ref().map(|operation| &operation.kind) {
            Some(FileOperationKind::Deleted) if self.absent => {
                let (review, text) = review.without_proposals();
                let former =
                    FileState { review: Some(review), operation: None, form: self.state.form };
                let cause = Cause::Restore { former: Box::new(former), is_undo: false };
                Ok(Transition { before: None, after: Some(text), cause }.into())
            }
            Some(FileOperationKind::MovedFrom(to)) => {
                let base = open.map_or_else(|| review.current().clone(), |it| it.text.clone());
                let to = to.clone();
                let cause = Cause::Move { to, operation: None, origin: None, accepted: true };
                Ok(Transition { before: Some(base), after: None, cause }.into())
            }
            Some(FileOperationKind::Deleted) | None => Err(Proposed::Stale),
        }
    }
}

impl Reviews {
    /// Moves the entry of a file whose move in flight was seen. Returns its new key, if it has one.
    pub(super) fn confirm_move(&mut self, from: &FileKey) -> Option<FileKey> {
        let entry = self.files.entries.get(from)?;
        let InFlight { transition, edit_id: number, .. } = entry.in_flight.as_ref()?;
        let (number, Transition { before, cause, .. }) = (*number, transition.clone());
        let (base, Cause::Move { to, operation, origin, accepted }) = (before?, cause) else {
            return None;
        };
        let deleted_there = self.files.entries.get(&to).is_some_and(|it| {
            it.state.operation.as_ref().is_some_and(FileOperation::is_deletion)
                && it.state.review.is_some()
        });
        let of_file = operation.as_ref().or(entry.state.operation.as_ref()).map(|it| &it.origin);
        let moved_by = origin.as_ref().or(of_file).into_iter();
        let notified: Vec<SessionId> = moved_by.flat_map(Origin::sessions).cloned().collect();
        if let (Some(origin), true) = (origin, deleted_there) {
            // The file deleted there is edited now, and the file here is deleted.
            if let Some(entry) = self.files.entries.get_mut(from) {
                entry.state.delete(Some(&base), &origin, number);
                (entry.absent, entry.dirty) = (true, true);
            }
            if let Some(there) = self.files.entries.get_mut(&to) {
                let cause = Cause::Call { origin, accepted };
                let transition = Transition { before: None, after: Some(base), cause };
                there.land_now(&transition);
                there.dirty = true;
            }
            self.reads.moved(from, &to, "", &notified);
            return None;
        }
        self.follow_move(from, &to, &notified);
        if let Some(entry) = self.files.entries.get_mut(&to) {
            entry.state.operation = operation;
            entry.state.review.get_or_insert_with(|| FileReview::new(base));
        }
        // In this order: between the two it is better known twice than not at all.
        self.files.store_file(&to);
        self.files.store_file(from);
        Some(to)
    }

    /// Moves the review of a file, with its pending decisions, to its new path.
    pub(super) fn follow_move(&mut self, from: &FileKey, to: &FileKey, notified: &[SessionId]) {
        let Some(path) = path_of(to) else { return };
        self.reads.moved(from, to, &self.services.display_key(from), notified);
        self.decisions.moved(from, to);
        let Some(mut entry) = self.files.entries.remove(from) else {
            return self.read_disk(to, DiskPurpose::Reconcile);
        };
        if !std::mem::take(&mut entry.published).is_empty() {
            self.files.left.push((entry.uri.clone(), entry.path.clone()));
        }
        let open = self.services.docs.get(to);
        if let Some(uri) = open.as_ref().map(|it| it.uri.clone()).or_else(|| uri_of(&path)) {
            entry.uri = uri;
        }
        entry.path = self.services.display(&path);
        (entry.absent, entry.dirty) = (false, true);
        let there = FileOperationKind::MovedFrom(to.to_owned());
        entry.state.operation = entry
            .state
            .operation
            .take()
            .filter(|operation| !operation.is_deletion() && operation.kind != there);
        for work in std::mem::take(&mut entry.queue) {
            match work {
                // It was made for the other path.
                QueuedEdit { request: EditRequest::Propose(_), reply } => {
                    drop(reply.send(Proposed::Stale));
                }
                other => entry.queue.push_back(other),
            }
        }
        if let Some(replaced) = self.files.entries.remove(to) {
            entry.published = replaced.published;
            entry.undecided.extend(replaced.undecided);
            entry.queue.extend(replaced.queue);
            if let Some(in_flight) = replaced.in_flight {
                drop(in_flight.reply.send(Proposed::Stale));
            }
        }
        if let Some(document) = &open {
            entry.record_read(&document.text);
            // It is unknown whether the user's unsaved text moved with the file.
            entry.saveable &= !notified.is_empty();
        }
        self.files.entries.insert(to.to_owned(), entry);
        if open.is_none() {
            self.read_disk(to, DiskPurpose::Reconcile);
        }
    }

    /// Handles a move of files or folders by the user in the editor. Their reviews move with them.
    pub(crate) fn on_user_rename(&mut self, renames: &[(String, String)]) {
        for (from, to) in renames {
            let (Some(from), Some(to)) = (path_of(from), path_of(to)) else { continue };
            let mut keys: Vec<FileKey> = self.files.entries.keys().cloned().collect();
            keys.extend(self.reads.keys().cloned());
            keys.sort();
            keys.dedup();
            for key in keys {
                let Some(path) = path_of(&key) else { continue };
                let Ok(below) = path.strip_prefix(&from) else { continue };
                let new = if below.as_os_str().is_empty() { to.clone() } else { to.join(below) };
                let Some(new) = key_of(&new) else { continue };
                let ours = self.files.entries.get(&key).is_some_and(|entry| entry.is_moving());
                if ours {
                    continue;
                }
                let entry = self.files.entries.get_mut(&key);
                let late = entry.and_then(|entry| entry.take_late_move(&new));
                self.follow_move(&key, &new, &[]);
                if let (Some((operation, base)), Some(entry)) =
                    (late, self.files.entries.get_mut(&new))
                {
                    // The agent's move, after all.
                    entry.state.operation = operation;
                    entry.state.review.get_or_insert_with(|| FileReview::new(base));
                    entry.dirty = true;
                }
            }
        }
    }
}

//! Pending edits over restarts: the state of each file is passed to the store as it changes, and restored
//! when the workspace is opened.
//!
//! An edit of the agent is recorded before it is sent: if this process ends before the edit arrives, the
//! next one still knows its author.

use std::{io, path::Path};

use cairn_core::{
    ids::FileKey,
    review::{Cause, Checkpoint, DecisionUndo, HunkId, Transition},
};
use cairn_protocol::EditProblem;
use tokio::sync::oneshot;

use super::{Reviews, flight::PlannedEdit, restore::FoundFile, tracked_file::TrackedFile};
use crate::{
    ports::Proposed,
    store::{
        journal,
        reviews::{Found, ReviewStore},
    },
    workspace::{Workspace, path_of, uri_of},
};

/// Pending edits, decisions and checkpoints that an earlier process has left, with their store.
#[derive(Debug)]
pub(crate) struct FoundReviews {
    store: ReviewStore,
    files: Vec<FoundFile>,
    decisions: Vec<Vec<DecisionUndo>>,
    checkpoints: Vec<Checkpoint>,
}

impl FoundReviews {
    /// Blocks.
    pub(crate) fn find(
        folder: &Path,
        workspace: &Workspace,
        on_storage: impl Fn(journal::State) + Send + 'static,
    ) -> io::Result<Self> {
        let (store, mut found) = ReviewStore::open(folder, on_storage)?;
        let read = |key: &FileKey| {
            let path = workspace.resolve(key).ok();
            path.and_then(|path| workspace.read_text(&path).ok()).map(|decoded| decoded.text)
        };
        let files = std::mem::take(&mut found.files);
        let files = files.into_iter().map(|record| FoundFile::find(record, read)).collect();
        let Found { decisions, checkpoints, .. } = found;
        Ok(Self { store, files, decisions, checkpoints })
    }
}

impl Reviews {
    /// Queues the present state of the file for the store.
    pub(super) fn store_file(&self, key: &FileKey) {
        let Some(store) = &self.store else { return };
        match self.files.entries.get(key).filter(|entry| entry.is_pending()) {
            Some(entry) => store.file(entry.record(key)),
            None => store.settled(key.to_owned()),
        }
    }

    /// Resolves when the present state of the file is on the disk. `None`: no store exists.
    pub(super) fn persist_now(
        &self,
        key: &FileKey,
    ) -> Option<oneshot::Receiver<Result<(), String>>> {
        self.store_file(key);
        self.persisted()
    }

    /// Resolves when all queued states are on the disk. `None`: no store exists.
    pub(super) fn persisted(&self) -> Option<oneshot::Receiver<Result<(), String>>> {
        self.store.as_ref().map(ReviewStore::sync)
    }

    pub(super) fn keep_decision(&self, formers: &[DecisionUndo]) {
        // With what it decided: a decision that can be undone was made.
        for former in formers {
            self.store_file(&former.key);
        }
        let Some(store) = &self.store else { return };
        store.decided(formers.to_vec());
        drop(store.sync());
    }

    pub(super) fn keep_undo(&self) {
        if let Some(store) = &self.store {
            store.undone();
            drop(store.sync());
        }
    }

    /// Restores the state that an earlier process recorded.
    pub(crate) fn restore(&mut self, found: FoundReviews) {
        let FoundReviews { store, files, mut decisions, checkpoints } = found;
        let mut undos = Vec::new();
        for FoundFile { record, disk, left } in files {
            if let Some(left) = left {
                store.settled(left);
            }
            let Some(path) = path_of(&record.key) else { continue };
            let open = self.services.docs.get(&record.key);
            let uri = open.as_ref().map(|document| document.uri.clone()).or_else(|| uri_of(&path));
            let Some(uri) = uri else { continue };
            if self.files.entries.contains_key(&record.key) {
                // The agent was quicker; the file is in its hands already.
                continue;
            }
            let mut entry = TrackedFile::new(uri, self.services.display(&path));
            let text = open.map(|document| document.text.clone()).or(disk);
            entry.restore(&record, text.as_ref());
            if let (true, Some(workspace)) = (entry.absent, &self.services.workspace) {
                // The agent may write the file again.
                workspace.remember_form(&path, entry.form);
            }
            // Numbers name operations of all files.
            let number = entry.operation.as_ref().map_or(0, |operation| operation.number);
            self.files.edits_sent = self.files.edits_sent.max(number);
            undos.extend(entry.unfinished_undo(&record.key));
            self.files.entries.insert(record.key, entry);
        }
        for undo in undos {
            store.decided(vec![undo.clone()]);
            decisions.push(vec![undo]);
        }
        self.decisions.remember_older(decisions);
        self.checkpoints.known.splice(0..0, checkpoints);
        self.store = Some(store);
        let keys: Vec<FileKey> = self.files.entries.keys().cloned().collect();
        for key in keys {
            self.store_file(&key);
        }
    }

    /// Makes an outdated proposal again, on the user's request.
    pub(super) fn plan_outdated(
        &mut self,
        key: &FileKey,
        id: HunkId,
    ) -> Result<PlannedEdit, Proposed> {
        let entry = self.files.entries.get(key).ok_or(Proposed::Stale)?;
        let outdated = entry.outdated.iter().find(|it| it.id == id).ok_or(Proposed::Stale)?;
        let current = entry.review.as_ref().ok_or(Proposed::Stale)?.current().clone();
        let range = outdated.place(&current).filter(|_| !entry.absent);
        let mut after = current.clone();
        after.replace(range.ok_or(Proposed::Refused(EditProblem::LinesGone))?, &outdated.new_text);
        let cause = Cause::Call { origin: (*outdated.origin).clone(), accepted: true };
        Ok(Transition { before: Some(current), after: Some(after), cause }.into())
    }
}

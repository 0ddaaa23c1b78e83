//! Pending edits over restarts: the state of each file is passed to the store as it changes, and restored
//! when the workspace is opened.
//!
//! An edit of the agent is recorded before it is sent: if this process ends before the edit arrives, the
//! next one still knows its author.

use std::{io, path::Path};

use cairn_core::{
    ids::FileKey,
    review::{Checkpoint, DecisionUndo},
};

use super::{Reviews, restore::FoundFile, tracked_file::TrackedFile};
use crate::{
    event::Responder,
    store::{
        journal,
        reviews::{Found, ReviewLine, ReviewStore},
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
        let (store, found) = ReviewStore::open(folder, on_storage)?;
        let Found { files, decisions, checkpoints, .. } = found;
        let read = |key: &FileKey| workspace.text_of(key);
        let files = files.into_iter().map(|record| FoundFile::find(record, read)).collect();
        Ok(Self { store, files, decisions, checkpoints })
    }
}

impl Reviews {
    /// Answers once the decision is stored, so that it outlives the daemon. A record that cannot be
    /// written delays no answer; the status reports it.
    pub(super) fn answer_recorded<T: Send + 'static>(&self, answer: T, reply: Responder<T>) {
        // A file is recorded when it is published, which may come after this answer.
        for (key, _) in self.files.entries.iter().filter(|(_, entry)| entry.dirty) {
            self.files.store_file(key);
        }
        let saved = self.files.persisted();
        self.services.spawn(async move {
            let _ = saved.await;
            reply.send(Ok(answer));
        });
    }

    /// Restores the state that an earlier process recorded.
    pub(crate) fn restore(&mut self, found: FoundReviews) {
        let FoundReviews { store, files, mut decisions, checkpoints } = found;
        let mut undos = Vec::new();
        for FoundFile { record, disk, left } in files {
            if let Some(left) = left {
                store.write(ReviewLine::Settled(left));
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
                workspace.remember_form(&path, entry.state.form);
            }
            // Numbers name operations of all files.
            let number = entry.state.operation.as_ref().map_or(0, |operation| operation.number);
            self.files.edits_sent = self.files.edits_sent.max(number);
            undos.extend(entry.unfinished_undo(&record.key));
            self.files.entries.insert(record.key, entry);
        }
        for undo in undos {
            store.write(ReviewLine::Decided(vec![undo.clone()]));
            decisions.push(vec![undo]);
        }
        self.decisions.remember_older(decisions);
        self.checkpoints.remember_older(checkpoints);
        self.files.store = Some(store);
        self.files.entries.keys().for_each(|key| self.files.store_file(key));
    }
}

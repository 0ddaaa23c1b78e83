//! Pending edits over restarts: each file is handed to the store as it changes, and restored when the
//! workspace is opened.
//!
//! An edit of the agent is recorded before it is sent: should this process end while it is on its
//! way, the next one still knows whose text that is.

use std::{io, path::Path};

use cairn_core::{change::Change, review::HunkId, text::Text};
use tokio::sync::oneshot;

use super::{
    Reviews,
    file_state::{DecisionUndo, place},
    flight::Outcome,
    records::{recorded_undo, undo_of},
    restore::FoundFile,
    tracked_file::TrackedFile,
    translate::edit_of,
};
use crate::{
    ports::{EditPolicy, Proposed},
    store::{
        journal,
        reviews::{self, ReviewStore},
    },
    workspace::{Workspace, path_of, uri_of},
};

/// Pending edits, decisions and checkpoints that an earlier process has left, with their store.
#[derive(Debug)]
pub(crate) struct FoundReviews {
    keeper: ReviewStore,
    files: Vec<FoundFile>,
    decisions: Vec<Vec<reviews::Former<Text>>>,
    checkpoints: Vec<reviews::Checkpoint<Text>>,
}

impl FoundReviews {
    /// Blocks.
    pub(crate) fn find(
        folder: &Path,
        workspace: &Workspace,
        on_storage: impl Fn(journal::State) + Send + 'static,
    ) -> io::Result<Self> {
        let (keeper, mut found) = ReviewStore::open(folder, on_storage)?;
        let read = |key: &str| {
            let path = workspace.resolve(key).ok();
            path.and_then(|path| workspace.read_text(&path).ok()).map(|decoded| decoded.text)
        };
        let files = std::mem::take(&mut found.files);
        let files = files.into_iter().map(|kept| FoundFile::find(kept, read)).collect();
        let reviews::Found { decisions, checkpoints, .. } = found;
        Ok(Self { keeper, files, decisions, checkpoints })
    }
}

impl Reviews {
    /// The file is written down as it now stands, soon.
    pub(super) fn keep_file(&self, key: &str) {
        let Some(keeper) = &self.store else { return };
        match self.files.entries.get(key).filter(|entry| entry.is_pending()) {
            Some(entry) => keeper.file(entry.kept(key)),
            None => keeper.settled(key.to_owned()),
        }
    }

    /// Resolves when the file is on record as it now stands. `None`: nothing is kept.
    pub(super) fn keep_now(&self, key: &str) -> Option<oneshot::Receiver<Result<(), String>>> {
        self.keep_file(key);
        self.kept()
    }

    /// Resolves when everything handed over so far is on record. `None`: nothing is kept.
    pub(super) fn kept(&self) -> Option<oneshot::Receiver<Result<(), String>>> {
        self.store.as_ref().map(ReviewStore::sync)
    }

    pub(super) fn keep_decision(&self, formers: &[DecisionUndo]) {
        // With what it decided: a decision that can be undone was made.
        for former in formers {
            self.keep_file(&former.key);
        }
        let Some(keeper) = &self.store else { return };
        keeper.decided(formers.iter().map(recorded_undo).collect());
        drop(keeper.sync());
    }

    pub(super) fn keep_undo(&self) {
        if let Some(keeper) = &self.store {
            keeper.undone();
            drop(keeper.sync());
        }
    }

    /// Goes on with what an earlier process has left.
    pub(crate) fn restore(&mut self, found: FoundReviews) {
        let FoundReviews { keeper, files, decisions, checkpoints } = found;
        let mut undos = Vec::new();
        for FoundFile { kept, disk, left } in files {
            if let Some(left) = left {
                keeper.settled(left);
            }
            let Some(path) = path_of(&kept.key) else { continue };
            let open = self.services.docs.get(&kept.key);
            let uri = open.as_ref().map(|document| document.uri.clone()).or_else(|| uri_of(&path));
            let Some(uri) = uri else { continue };
            if self.files.entries.contains_key(&kept.key) {
                // The agent was quicker; the file is in its hands already.
                continue;
            }
            let mut entry = TrackedFile::new(uri, self.services.display(&path));
            let text = open.map(|document| document.text.clone()).or(disk);
            if let Err(error) = entry.restore(&kept, text.as_ref()) {
                tracing::warn!("what is pending in {} is not shown: {error}", path.display());
                continue;
            }
            if let (true, Some(workspace)) = (entry.absent, &self.services.workspace) {
                // The agent may write the file anew.
                workspace.remember_encoding(&path, entry.encoding);
            }
            // Numbers name fates of all files.
            let number = entry.fate.as_ref().map_or(0, |fate| fate.number);
            self.files.edits_sent = self.files.edits_sent.max(number);
            undos.extend(entry.unfinished_undo(&kept.key));
            self.files.entries.insert(kept.key, entry);
        }
        let known = decisions.into_iter().filter_map(|formers| {
            formers.into_iter().map(|former| undo_of(former).ok()).collect::<Option<Vec<_>>>()
        });
        let mut known: Vec<Vec<DecisionUndo>> = known.collect();
        for former in undos {
            keeper.decided(vec![recorded_undo(&former)]);
            known.push(vec![former]);
        }
        self.decisions.remember_older(known);
        self.restore_checkpoints(checkpoints);
        self.store = Some(keeper);
        let keys: Vec<String> = self.files.entries.keys().cloned().collect();
        for key in keys {
            self.keep_file(&key);
        }
    }

    /// The user wants a proposal again of which nothing stands in the text any more.
    pub(super) fn apply_outdated(
        &mut self,
        key: &str,
        id: HunkId,
        reply: oneshot::Sender<Proposed>,
    ) {
        let open = self.services.docs.get(key);
        let Some(entry) = self.files.entries.get_mut(key) else {
            return drop(reply.send(Proposed::Stale));
        };
        let found = entry.outdated.iter().find(|outdated| outdated.id == id).cloned();
        let (Some(outdated), Some(review)) = (found, &entry.review) else {
            return drop(reply.send(Proposed::Stale));
        };
        let current = review.current().clone();
        let Some(range) = place(&current, &outdated).filter(|_| !entry.absent) else {
            let why =
                "the lines it was made for are not there any more; copy what you need from it";
            return drop(reply.send(Proposed::Refused(why.into())));
        };
        let mut after = current.clone();
        after.replace(range, &outdated.new_text);
        let change = Change::between(&current, &after);
        let edit = edit_of(&current, &change, open.as_deref(), self.form);
        let label = format!("Cairn: accept in {}", entry.path);
        let origin = (*outdated.origin).clone();
        let policy = EditPolicy::Accept;
        let outcome = Outcome::Agent { base: Some(current), change, origin, policy };
        self.send_edit(key, label, edit, Some(after), outcome, (0, 0), reply);
    }
}

//! The files the agent has proposed something for, by key, and which reads of the disk are news.

use futures_util::future::OptionFuture;
use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use cairn_core::{ids::FileKey, review::FileState};

use super::tracked_file::TrackedFile;
use crate::{
    services::Services,
    store::reviews::{ReviewLine, ReviewStore},
    workspace::{canonical_uri, path_of, uri_of},
};

#[derive(Debug, Default)]
pub(super) struct Files {
    pub(super) entries: HashMap<FileKey, TrackedFile>,
    /// Store of pending edits. `None`: they are lost at a restart.
    pub(super) store: Option<ReviewStore>,
    pub(super) edits_sent: u64,
    /// Former URI and path of shown files that have moved. The client still has to be notified.
    pub(super) left: Vec<(String, String)>,
    /// Folders that were made for files of the agent.
    pub(super) made: BTreeSet<PathBuf>,
    /// Keys of open documents whose own path leads there by symbolic links.
    pub(super) links: HashMap<FileKey, FileKey>,
    /// Paths of the last two notifications about files that changed on disk, without repetitions.
    pub(super) changed_last: VecDeque<Vec<PathBuf>>,
    /// Counts reads of the disk.
    reads: AtomicU64,
    /// Number of the newest read of each file, by key.
    heard: HashMap<FileKey, u64>,
    /// Number of the first read of each file that began after an edit of the agent, by key.
    edited: HashMap<FileKey, u64>,
}

/// Number of files of which reads are remembered, to detect texts that are outdated.
const READS_KEPT: usize = 1_000;

impl Files {
    /// Key of a file for any spelling of the client. A document that was opened by a symbolic
    /// link has the key of the link's target.
    pub(super) fn key_of(&self, uri: &str) -> Option<FileKey> {
        let key = canonical_uri(uri)?;
        Some(self.links.get(&key).cloned().unwrap_or(key))
    }

    /// Key of a document that is being opened.
    pub(super) fn key_to_open(&mut self, uri: &str, services: &Services) -> Option<FileKey> {
        let key = canonical_uri(uri)?;
        // A document by the file's own name takes precedence over one by a link to it.
        self.links.retain(|_, file| *file != key);
        path_of(&key)?;
        let file = services.workspace.as_ref()?.key(&key).ok();
        let file = file.filter(|file| *file != key);
        match file {
            Some(file) if services.docs.get(&file).is_none() => {
                self.links.insert(key, file.clone());
                Some(file)
            }
            Some(_) | None => {
                self.links.remove(&key);
                Some(key)
            }
        }
    }

    /// Key of the file that the edit with this id was sent for.
    pub(super) fn key_in_flight(&self, edit_id: u64) -> Option<FileKey> {
        let sent = |entry: &TrackedFile| entry.in_flight.as_ref().map(|edit| edit.edit_id);
        let mut entries = self.entries.iter();
        entries.find(|(_, entry)| sent(entry) == Some(edit_id)).map(|(key, _)| key.clone())
    }

    /// Returns true while a move to this path is in flight.
    pub(super) fn is_arriving(&self, key: &FileKey) -> bool {
        let mut in_flight = self.entries.values().filter_map(|it| it.in_flight.as_ref());
        in_flight.any(|edit| edit.transition.target() == Some(key))
    }

    pub(super) fn state(&self, key: &FileKey) -> FileState {
        self.entries.get(key).map(|entry| entry.state.clone()).unwrap_or_default()
    }

    /// Queues the present state of the file for the store.
    pub(super) fn store_file(&self, key: &FileKey) {
        let Some(store) = &self.store else { return };
        match self.entries.get(key).filter(|entry| entry.is_pending()) {
            Some(entry) => store.write(ReviewLine::File(Box::new(entry.record(key)))),
            None => store.write(ReviewLine::Settled(key.to_owned())),
        }
    }

    pub(super) fn store_now(&self, line: ReviewLine) {
        if let Some(store) = &self.store {
            store.write(line);
        }
        drop(self.persisted());
    }

    /// Resolves when all queued states are on the disk, at once if no store exists.
    pub(super) fn persisted(&self) -> impl Future<Output = Result<(), String>> + use<> {
        let saved = OptionFuture::from(self.store.as_ref().map(ReviewStore::sync));
        async move { saved.await.and_then(Result::ok).unwrap_or(Ok(())) }
    }

    /// Folders above a file that were made for files of the agent, innermost first, as URIs.
    pub(super) fn made_folders(&self, key: &FileKey) -> Vec<String> {
        let Some(path) = path_of(key) else { return Vec::new() };
        let folders = path.ancestors().skip(1);
        folders.take_while(|folder| self.made.contains(*folder)).filter_map(uri_of).collect()
    }

    /// Before a file is created: the folders that will be created for it.
    pub(super) fn remember_folders(&mut self, path: &Path) {
        let missing = path.ancestors().skip(1).take_while(|folder| !folder.exists());
        self.made.extend(missing.map(Path::to_owned));
    }

    /// URI for saving a file; `None` if its path leads to another file by now.
    pub(super) fn uri_to_save(&self, key: &FileKey, services: &Services) -> Option<String> {
        let uri = &self.entries.get(key)?.uri;
        let file = services.workspace.as_ref()?.key(uri).ok()?;
        (file == *key).then(|| uri.clone())
    }

    pub(super) fn next_read(&self) -> u64 {
        self.reads.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns false for a read that began before a completed one: its text is outdated.
    pub(super) fn is_news(&mut self, key: &FileKey, read: u64) -> bool {
        if self.heard.len() >= READS_KEPT {
            self.heard.clear();
        }
        let newest = self.heard.entry(key.to_owned()).or_insert(read);
        *newest = (*newest).max(read);
        *newest == read
    }

    /// An edit of the agent is sent or ends. A read that is under way may find the text before or
    /// after it.
    pub(super) fn edited(&mut self, key: &FileKey) {
        if self.edited.len() >= READS_KEPT {
            self.edited.clear();
        }
        let next = self.next_read();
        self.edited.insert(key.to_owned(), next);
    }

    /// True for a read that began before an edit was sent or ended.
    pub(super) fn is_unsure(&self, key: &FileKey, read: u64) -> bool {
        self.edited.get(key).is_some_and(|edited| read < *edited)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_read_of_a_file_is_ignored() {
        let mut files = Files::default();
        let (first, second) = (files.next_read(), files.next_read());
        assert!(files.is_news(&"a".into(), second));
        assert!(!files.is_news(&"a".into(), first));
        assert!(files.is_news(&"b".into(), first), "each file for itself");
    }

    #[test]
    fn a_read_that_began_before_the_end_of_an_edit_is_unsure() {
        let mut files = Files::default();
        let before = files.next_read();
        files.edited(&"a".into());
        assert!(files.is_unsure(&"a".into(), before));
        assert!(!files.is_unsure(&"b".into(), before));
        assert!(!files.is_unsure(&"a".into(), files.next_read()));
    }
}

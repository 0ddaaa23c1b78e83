//! The files the agent has proposed something for, by key, and which reads of the disk are news.

use cairn_core::ids::FileKey;
use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    path::PathBuf,
    sync::atomic::{AtomicU64, Ordering},
};

use super::tracked_file::TrackedFile;

#[derive(Debug, Default)]
pub(super) struct Files {
    pub(super) entries: HashMap<FileKey, TrackedFile>,
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

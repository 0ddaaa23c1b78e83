//! Texts that the editor saved for the user while commands ran. A control file with such a text
//! belongs to the user.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use cairn_core::{
    policy::control_files::EntryKind,
    text::{self, Text},
};
use parking_lot::Mutex;

use super::super::{path_scan::Stamp, quarantine::FormerEntry};

/// Files whose saved text is remembered.
const MAX_FILES: usize = 512;

/// Last saved text of each file. Has a separate lock, so that a save never waits for a scan.
#[derive(Debug, Default)]
pub(super) struct SavedTexts(Mutex<HashMap<PathBuf, Text>>);

impl SavedTexts {
    pub(super) fn insert(&self, path: &Path, text: Text) {
        let mut texts = self.0.lock();
        if texts.len() < MAX_FILES || texts.contains_key(path) {
            texts.insert(path.to_owned(), text);
        }
    }

    pub(super) fn clear(&self) {
        self.0.lock().clear();
    }

    /// True if the file at `path` below `root` holds the text that the editor saved.
    pub(super) fn matches(&self, root: &Path, path: &Path, stamp: &Stamp) -> bool {
        let saved = self.0.lock().get(&root.join(path)).cloned();
        let Some(saved) = saved else { return false };
        let now = FormerEntry::of(root, path, crate::workspace::MAX_FILE_BYTES);
        match now {
            Some(FormerEntry::File { bytes, .. }) if stamp.kind == EntryKind::File => {
                text::decode(&bytes).is_ok_and(|decoded| decoded.text == saved)
            }
            Some(FormerEntry::File { .. } | FormerEntry::Link(_)) | None => false,
        }
    }
}

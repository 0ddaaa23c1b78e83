//! Reads of files on disk: after a notification that they changed, and to see an edit arrive. Follows a
//! file that was moved outside of the editor, and a text that comes from Git.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use cairn_core::{ids::FileKey, text::Text};

use super::{
    ReviewEvent, Reviews,
    event::{DiskFound, DiskPurpose},
    tracked_file::TrackedFile,
};
use crate::{
    exec::{IndexState, index_state},
    workspace::{Workspace, key_of, path_of},
};

/// Most paths of one notification at which a moved file is sought.
const MOST_CANDIDATES: usize = 1_000;

/// Reads while a git command changes files, and the time between two.
const MOST_READS: u32 = 30;
const READ_AGAIN: Duration = Duration::from_millis(100);

/// Knowledge about a file before a read of the disk.
struct Known {
    key: FileKey,
    /// The text with the proposals, if there are any.
    proposed: Option<Text>,
    /// The text on disk when it was last read or written.
    on_disk: Option<Text>,
    /// Paths to which the file may have moved.
    candidates: Vec<PathBuf>,
}

impl Reviews {
    /// Reads files from the disk that have pending edits or were read by a model, and are not open.
    pub(super) fn refresh_closed_files(&self) {
        for key in self.awaited(|_| true) {
            if self.services.docs.get(key).is_none() {
                self.read_disk(key, DiskPurpose::Reconcile);
            }
        }
    }

    /// The user deleted files or folders in the editor: that decides about the edits in them, too.
    pub(crate) fn on_user_delete(&mut self, uris: &[String]) {
        let paths: Vec<PathBuf> = uris.iter().filter_map(|uri| path_of(uri)).collect();
        for (key, entry) in &mut self.files.entries {
            let below = |path: PathBuf| paths.iter().any(|at| path.starts_with(at));
            entry.deleted_by_user |= path_of(key).is_some_and(below);
        }
        self.on_watched_files(uris);
    }

    pub(crate) fn on_watched_files(&mut self, uris: &[String]) {
        // An editor may report the two ends of a move one after the other, and each of them twice.
        let changed: Vec<PathBuf> = uris.iter().filter_map(|uri| path_of(uri)).collect();
        let known = &mut self.files.changed_last;
        if !known.contains(&changed) {
            known.push_back(changed.iter().take(MOST_CANDIDATES).cloned().collect());
            if known.len() > 2 {
                known.pop_front();
            }
        }
        let paths: Vec<PathBuf> = known.iter().flatten().chain(&changed).cloned().collect();
        // For a removed folder an editor does not name the files in it.
        let keys = self.awaited(|path| path.ancestors().any(|at| paths.iter().any(|it| it == at)));
        for key in keys {
            self.read_disk_among(key, DiskPurpose::Reconcile, &paths);
        }
    }

    /// Files with pending edits, or that were read by a model.
    fn awaited(&self, wanted: impl Fn(&Path) -> bool) -> BTreeSet<&FileKey> {
        // A file that a late edit creates has no review until the edit arrives.
        let awaited = |entry: &TrackedFile| entry.state.review.is_some() || !entry.late.is_empty();
        let tracked = self.files.entries.iter().filter(|(_, entry)| awaited(entry));
        let keys = tracked.map(|(key, _)| key).chain(self.reads.keys());
        keys.filter(|key| path_of(key).is_some_and(|path| wanted(&path))).collect()
    }

    pub(super) fn read_disk(&self, key: &FileKey, purpose: DiskPurpose) {
        self.read_disk_among(key, purpose, &[]);
    }

    /// `changed`: paths that changed together with the file.
    fn read_disk_among(&self, key: &FileKey, purpose: DiskPurpose, changed: &[PathBuf]) {
        let Some(workspace) = self.services.workspace.clone() else { return };
        let (mailbox, key) = (self.mailbox.clone(), key.to_owned());
        let read = self.files.next_read();
        let entry = self.files.entries.get(&key).filter(|_| purpose == DiskPurpose::Reconcile);
        let review = entry.and_then(|entry| entry.state.review.as_ref());
        let proposed = review.filter(|it| !it.hunks().is_empty()).map(|it| it.current().clone());
        let candidates = path_of(&key).map(|path| candidates(&path, changed)).unwrap_or_default();
        let on_disk = entry.and_then(|entry| entry.disk.text.clone());
        let known = Known { key: key.clone(), proposed, on_disk, candidates };
        self.services.spawn(async move {
            let found = known.find(workspace).await;
            mailbox.send(ReviewEvent::DiskText { key, purpose, read, found });
        });
    }
}

impl Known {
    async fn find(self, workspace: Arc<Workspace>) -> DiskFound {
        let known = Arc::new(self);
        for last in (0..MOST_READS).map(|read| read + 1 == MOST_READS) {
            let (workspace, known) = (workspace.clone(), known.clone());
            let read = tokio::task::spawn_blocking(move || known.read(&workspace, last));
            match read.await {
                Ok(None) => tokio::time::sleep(READ_AGAIN).await,
                found => return found.ok().flatten().unwrap_or_default(),
            }
        }
        DiskFound::default()
    }

    /// `None`: a git command is at work, and this is not the last read. Blocks.
    fn read(&self, workspace: &Workspace, last: bool) -> Option<DiskFound> {
        let Some(proposed) = &self.proposed else {
            return Some(DiskFound { text: workspace.text_of(&self.key), ..DiskFound::default() });
        };
        let Some(text) = workspace.text_of(&self.key) else {
            let moved = self.candidates.iter().filter(|path| may_hold(path, proposed));
            let mut moved = moved
                .filter_map(|path| key_of(path))
                .filter(|key| workspace.text_of(key).as_ref() == Some(proposed));
            let moved_to = match (moved.next(), moved.next()) {
                (Some(to), None) => Some((to, proposed.clone())),
                _ => None,
            };
            return Some(DiskFound { moved_to, ..DiskFound::default() });
        };
        let is_news = Some(&text) != self.on_disk.as_ref();
        let state = path_of(&self.key).filter(|_| is_news).map(|path| index_state(&path));
        match state {
            Some(IndexState::Locked) if !last => None,
            state => Some(DiskFound {
                text: Some(text),
                is_gits: state == Some(IndexState::Unmodified),
                moved_to: None,
            }),
        }
    }
}

/// Paths at which a file may be that was at `path`, if these paths changed. Of a moved folder a client names
/// the folder alone.
fn candidates(path: &Path, changed: &[PathBuf]) -> Vec<PathBuf> {
    // An editor may report a file twice, as saved and as removed.
    let (gone, others): (BTreeSet<&PathBuf>, BTreeSet<&PathBuf>) =
        changed.iter().partition(|changed| path.starts_with(changed));
    let below = |other: &PathBuf| {
        let names = gone.iter().filter_map(|gone| path.strip_prefix(gone).ok());
        names
            .map(|name| if name.as_os_str().is_empty() { other.clone() } else { other.join(name) })
            .collect::<Vec<_>>()
    };
    others.into_iter().flat_map(below).take(MOST_CANDIDATES).collect()
}

/// True for a file that is as long as the text: other files are not read. Another encoding has another
/// length, so such a file is not followed.
fn may_hold(path: &Path, text: &Text) -> bool {
    const BYTE_ORDER_MARK: u64 = 3;
    let length = text.len_bytes() as u64;
    let found = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file);
    found.is_some_and(|file| (length..=length + BYTE_ORDER_MARK).contains(&file.len()))
}

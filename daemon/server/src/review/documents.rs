//! Notifications of the editor about its documents, in wire order, and changes on disk of files that
//! are not open.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use cairn_core::{change::Change, ids::FileKey, text::Text};

use super::{
    Reviews,
    event::{DiskPurpose, ReviewEvent},
    flight::Outcome,
    tracked_file::TrackedFile,
};
use crate::{
    docs::Document,
    event::ContentChange,
    workspace::{canonical_uri, path_of, uri_of},
};

impl Reviews {
    /// Key of a file for any spelling of the client. A document that was opened by a symbolic
    /// link has the key of the link's target.
    pub(super) fn key_of(&self, uri: &str) -> Option<FileKey> {
        let key = canonical_uri(uri)?;
        Some(self.files.links.get(&key).cloned().unwrap_or(key))
    }

    fn key_to_open(&mut self, uri: &str) -> Option<FileKey> {
        let key = canonical_uri(uri)?;
        // A document by the file's own name takes precedence over one by a link to it.
        self.files.links.retain(|_, file| *file != key);
        path_of(&key)?;
        let file = self.services.workspace.as_ref()?.resolve(&key).ok();
        let file = file.map(|file| file.key()).filter(|file| *file != key);
        match file {
            Some(file) if self.services.docs.get(&file).is_none() => {
                self.files.links.insert(key, file.clone());
                Some(file)
            }
            Some(_) | None => {
                self.files.links.remove(&key);
                Some(key)
            }
        }
    }

    pub(crate) fn did_open(&mut self, uri: &str, version: i32, text: &str) {
        let Some(key) = self.key_to_open(uri).or_else(|| canonical_uri(uri)) else { return };
        let text = Text::new(text);
        self.services.docs.put(Document {
            key: key.clone(),
            uri: uri.to_owned(),
            version,
            text: text.clone(),
        });
        self.reads.touched(&key);
        let arriving = self.is_arriving(&key);
        if let Some(entry) = self.files.entries.get_mut(&key) {
            self.files.left.extend(entry.named(uri.to_owned()));
            entry.dirty = true;
            if !arriving {
                entry.saw(&text);
            }
        }
        // A file that the editor created opens with the text it was created with.
        self.settle(&key);
    }

    pub(crate) fn did_change(&mut self, uri: &str, version: i32, changes: Vec<ContentChange>) {
        let Some(key) = self.key_of(uri) else { return };
        let Some(document) =
            self.services.docs.get(&key).filter(|document| is_same(&document.uri, uri))
        else {
            tracing::warn!("a change of a document that is not open was ignored");
            return;
        };
        let mut text = document.text.clone();
        let units = self.form.units;
        let mut steps = Vec::with_capacity(changes.len());
        for change in changes {
            let step = match change.range {
                Some((start, end)) => {
                    let (start, end) = (text.char_of_in(start, units), text.char_of_in(end, units));
                    Change::single(text.len_chars(), start..end.max(start), change.text)
                }
                None => Ok(Change::between(&text, &Text::new(&change.text))),
            };
            let step = match step {
                Ok(step) => step,
                Err(error) => {
                    tracing::error!("a document change was dropped: {error}");
                    continue;
                }
            };
            match step.apply(&text) {
                Ok(next) => {
                    text = next;
                    steps.push((step, text.clone()));
                }
                Err(error) => tracing::error!("a document change was dropped: {error}"),
            }
        }
        self.services.docs.put(Document { key: key.clone(), uri: uri.to_owned(), version, text });
        self.reads.touched(&key);
        if let Some(entry) = self.files.entries.get_mut(&key) {
            entry.dirty = true;
            entry.changed(&steps);
        } else {
            self.remember_touched(&key);
        }
        self.settle(&key);
    }

    pub(crate) fn did_save(&mut self, uri: &str) {
        let Some(key) = self.key_of(uri) else { return };
        if let (Some(path), Some(document)) = (path_of(&key), self.services.docs.get(&key)) {
            self.services.sources.user_saved(&path, Some(&document.text.to_string()));
            self.watch.was_saved(&path, document.text.clone());
        }
        let Some(entry) = self.files.entries.get_mut(&key) else { return };
        // The user's unsaved text is saved now.
        entry.saveable = true;
        if let Some(document) = self.services.docs.get(&key).filter(|_| entry.absent) {
            entry.dirty = true;
            entry.saw(&document.text);
        }
    }

    pub(crate) fn did_close(&mut self, uri: &str) {
        let Some(key) = self.key_of(uri) else { return };
        // The document may be the one by the file's own name, and this one by a link to it.
        if self.services.docs.get(&key).is_none_or(|document| !is_same(&document.uri, uri)) {
            return;
        }
        self.services.docs.remove(&key);
        if self.files.entries.contains_key(&key) || self.reads.is_known(&key) {
            // Unsaved text may have been thrown away with the document.
            self.read_disk(&key, DiskPurpose::Reconcile);
        }
        let by_link = canonical_uri(uri).is_some_and(|name| name != key);
        if let Some(entry) = self.files.entries.get_mut(&key) {
            if let Some(own) = path_of(&key).and_then(|path| uri_of(&path)).filter(|_| by_link) {
                self.files.left.extend(entry.named(own));
            }
            entry.dirty = true;
            // Unsaved text of the user moves with the file.
            entry.saveable |= !entry.is_moving();
            // The document sends no more changes: the disk shows whether the edit arrived.
            let awaited = entry.in_flight.as_ref().filter(|edit| edit.answered && !edit.seen);
            let awaited = awaited.map(|edit| match &edit.outcome {
                Outcome::Moved { to, .. } => (to.clone(), edit.edit_id),
                _ => (key, edit.edit_id),
            });
            if let Some((at, edit_id)) = awaited {
                self.read_disk(&at, DiskPurpose::Confirm(edit_id));
            }
        }
    }

    /// Reads files from the disk that have pending edits or were read by a model, and are not open.
    pub(super) fn look_at_closed_files(&self) {
        self.look_at(|_| true);
    }

    pub(crate) fn watched(&mut self, uris: &[String]) {
        let paths: Vec<PathBuf> = uris.iter().filter_map(|uri| path_of(uri)).collect();
        // For a removed folder an editor does not name the files in it.
        self.look_at(|path| path.ancestors().any(|above| paths.iter().any(|it| it == above)));
    }

    fn look_at(&self, wanted: impl Fn(&Path) -> bool) {
        // A file that a late edit creates has no review until the edit arrives.
        let awaited = |entry: &TrackedFile| entry.review.is_some() || !entry.late.is_empty();
        let tracked = self.files.entries.iter().filter(|(_, entry)| awaited(entry));
        let keys: BTreeSet<&FileKey> =
            tracked.map(|(key, _)| key).chain(self.reads.keys()).collect();
        for key in keys {
            if self.services.docs.get(key).is_none()
                && path_of(key).is_some_and(|path| wanted(&path))
            {
                self.read_disk(key, DiskPurpose::Reconcile);
            }
        }
    }

    pub(super) fn read_disk(&self, key: &FileKey, purpose: DiskPurpose) {
        let Some(workspace) = self.services.workspace.clone() else { return };
        let (mailbox, key, named) = (self.mailbox.clone(), key.to_owned(), key.to_owned());
        let number = self.files.next_read();
        self.services.spawn(async move {
            let read = tokio::task::spawn_blocking(move || {
                let path = workspace.resolve(&named).ok()?;
                workspace.read_text(&path).ok().map(|decoded| decoded.text)
            });
            let text = read.await.unwrap_or_default();
            mailbox.send(ReviewEvent::DiskText { key, purpose, read: number, text });
        });
    }

    /// Applies a text from the disk, unless a newer one is known.
    pub(super) fn disk_answered(
        &mut self,
        key: &FileKey,
        purpose: DiskPurpose,
        read: u64,
        text: Option<Text>,
    ) {
        let is_news = self.files.is_news(key, read);
        match purpose {
            DiskPurpose::Confirm(_) => self.disk_text(key, purpose, text),
            DiskPurpose::Reconcile if !is_news => {}
            DiskPurpose::Reconcile if self.files.is_unsure(key, read) => {
                self.read_disk(key, DiskPurpose::Reconcile);
            }
            DiskPurpose::Reconcile => self.disk_text(key, purpose, text),
        }
    }

    fn disk_text(&mut self, key: &FileKey, purpose: DiskPurpose, text: Option<Text>) {
        match purpose {
            DiskPurpose::Confirm(edit_id) => {
                let open = self.services.docs.get(key).is_some();
                let Some(mut owner) = self.key_in_flight(edit_id) else { return };
                let Some(entry) = self.files.entries.get_mut(&owner) else { return };
                let Some(in_flight) = entry.in_flight.as_mut().filter(|edit| !edit.seen) else {
                    return;
                };
                let moved = matches!(in_flight.outcome, Outcome::Moved { .. });
                // If a file moved with unsaved text, the disk has an older text.
                if if moved { open || text.is_some() } else { in_flight.expected == text } {
                    in_flight.seen = true;
                    entry.dirty = true;
                    if in_flight.expected.is_none() {
                        // An editor may still show the document of a file that no longer exists.
                        self.services.docs.remove(&owner);
                    }
                    if moved {
                        owner = self.land_move(&owner);
                    } else {
                        entry.land();
                    }
                    self.settle(&owner);
                } else {
                    self.overdue(edit_id);
                }
            }
            DiskPurpose::Reconcile => {
                if self.services.docs.get(key).is_some() {
                    return;
                }
                if self.is_arriving(key) {
                    return;
                }
                if let Some(entry) = self.files.entries.get_mut(key) {
                    if entry.in_flight.is_some() {
                        return;
                    }
                    entry.dirty = true;
                    match &text {
                        Some(text) => entry.saw(text),
                        None if entry.late_landed(None) => {}
                        None => entry.absent = true,
                    }
                }
                self.reads.on_disk(key, text.as_ref());
            }
        }
    }
}

/// Returns true if two URIs are spellings of one path.
fn is_same(a: &str, b: &str) -> bool {
    a == b || canonical_uri(a) == canonical_uri(b)
}

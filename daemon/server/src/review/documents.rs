//! Texts of files as they are now: notifications of the editor about its documents, in wire order, and
//! reads of the disk.

use cairn_core::{change::Change, ids::FileKey, text::Text};

use super::{
    Reviews,
    event::{DiskFound, DiskPurpose},
};
use crate::{
    docs::Document,
    event::ContentChange,
    workspace::{canonical_uri, path_of, uri_of},
};

impl Reviews {
    pub(crate) fn did_open(&mut self, uri: &str, version: i32, text: &str) {
        let Some(key) = self.files.key_to_open(uri, &self.services).or_else(|| canonical_uri(uri))
        else {
            return;
        };
        let text = Text::new(text);
        self.services.docs.put(Document {
            key: key.clone(),
            uri: uri.to_owned(),
            version,
            text: text.clone(),
        });
        self.reads.touched(&key);
        let arriving = self.files.is_arriving(&key);
        if let Some(entry) = self.files.entries.get_mut(&key) {
            self.files.left.extend(entry.named(uri.to_owned()));
            entry.dirty = true;
            if !arriving {
                entry.record_read(&text);
            }
        }
        // A file that the editor created opens with the text it was created with.
        self.settle(&key);
    }

    pub(crate) fn did_change(&mut self, uri: &str, version: i32, changes: Vec<ContentChange>) {
        let Some(key) = self.files.key_of(uri) else { return };
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
            if entry.absent {
                // The file may exist again.
                self.read_disk(&key, DiskPurpose::Reconcile);
            }
        } else {
            self.checkpoints.record_touched(&key, &self.files);
        }
        self.settle(&key);
    }

    pub(crate) fn did_save(&mut self, uri: &str) {
        let Some(key) = self.files.key_of(uri) else { return };
        if let (Some(path), Some(document)) = (path_of(&key), self.services.docs.get(&key)) {
            self.services.sources.user_saved(&path, Some(&document.text.to_string()));
            self.watch.was_saved(&path, document.text.clone());
        }
        let Some(entry) = self.files.entries.get_mut(&key) else { return };
        // The user's unsaved text is saved now.
        entry.saveable = true;
        entry.disk.text = self.services.docs.get(&key).map(|document| document.text.clone());
        if let Some(document) = self.services.docs.get(&key).filter(|_| entry.absent) {
            entry.dirty = true;
            entry.record_read(&document.text);
        }
    }

    pub(crate) fn did_close(&mut self, uri: &str) {
        let Some(key) = self.files.key_of(uri) else { return };
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
            let awaited = awaited
                .map(|edit| (edit.transition.target().cloned().unwrap_or(key), edit.edit_id));
            if let Some((at, edit_id)) = awaited {
                self.read_disk(&at, DiskPurpose::Confirm(edit_id));
            }
        }
    }

    /// Applies a text from the disk, unless a newer one is known.
    pub(super) fn on_disk_read(
        &mut self,
        key: &FileKey,
        purpose: DiskPurpose,
        read: u64,
        found: DiskFound,
    ) {
        let is_news = self.files.is_news(key, read);
        match purpose {
            DiskPurpose::Confirm(edit_id) => self.confirm(key, edit_id, found.text),
            DiskPurpose::Reconcile if !is_news => {}
            DiskPurpose::Reconcile if self.files.is_unsure(key, read) => {
                self.read_disk(key, DiskPurpose::Reconcile);
            }
            DiskPurpose::Reconcile => self.reconcile(key, found),
        }
    }

    fn reconcile(&mut self, key: &FileKey, found: DiskFound) {
        if self.files.is_arriving(key) {
            return;
        }
        let DiskFound { text, is_gits, moved_to } = found;
        if let Some((to, proposed)) = moved_to
            && !self.files.entries.contains_key(&to)
            && let Some(entry) = self.files.entries.get(key)
            && entry.in_flight.is_none()
            && entry.state.review.as_ref().is_some_and(|review| *review.current() == proposed)
        {
            return self.follow_move(key, &to, &[]);
        }
        let open = self.services.docs.get(key);
        if let Some(entry) = self.files.entries.get_mut(key) {
            if entry.in_flight.is_some() {
                return;
            }
            let was_absent = entry.absent;
            match (&open, &text) {
                (Some(document), Some(_)) if entry.absent => entry.record_read(&document.text),
                (Some(_), Some(_)) => {}
                // A document with unsaved text holds the edits.
                (Some(document), None) => {
                    entry.absent |= entry.state.review.is_some()
                        && entry.state.operation.is_none()
                        && entry.disk.text.as_ref() == Some(&document.text);
                }
                (None, Some(text)) => entry.record_read(text),
                (None, None) if entry.late_landed(None) => {}
                (None, None) => entry.absent = true,
            }
            entry.dirty |= open.is_none() || entry.absent != was_absent;
            if let Some(text) = &text {
                entry.disk_shows(text, is_gits);
            }
        }
        if open.is_none() {
            self.reads.on_disk(key, text.as_ref());
        }
    }
}

/// Returns true if two URIs are spellings of one path.
fn is_same(a: &str, b: &str) -> bool {
    a == b || canonical_uri(a) == canonical_uri(b)
}

//! Saves documents that were clean before the agent's edits.
//!
//! Must never save a document with unsaved text of the user, nor through a link that was placed on its
//! path.

use cairn_core::{ids::FileKey, sanitize::foreign_words};
use cairn_protocol::SaveParams;
use tokio::sync::oneshot;

use super::Reviews;

impl Reviews {
    /// Saves these documents; answers with the reviewed files that stay unsaved.
    pub(super) fn flush(&mut self, reply: oneshot::Sender<Vec<String>>) {
        let mut unsaved: Vec<String> = self
            .files
            .entries
            .iter()
            .filter(|(key, entry)| {
                entry.review.is_some() && !entry.saveable && self.services.docs.get(key).is_some()
            })
            .map(|(_, entry)| entry.path.clone())
            .collect();
        let saving = self.services.editor.save(SaveParams { uris: self.saveable() });
        let paths: Vec<(String, String)> = self
            .files
            .entries
            .values()
            .map(|entry| (entry.uri.clone(), entry.path.clone()))
            .collect();
        self.services.spawn(async move {
            for failure in saving.await.failed {
                tracing::warn!("not saved: {}: {}", failure.uri, foreign_words(&failure.reason));
                unsaved.extend(
                    paths.iter().find(|(uri, _)| *uri == failure.uri).map(|(_, path)| path.clone()),
                );
            }
            drop(reply.send(unsaved));
        });
    }

    pub(crate) fn save_at_turn_end(&mut self) {
        let uris = self.saveable();
        if self.save_at_turn_end && !uris.is_empty() {
            self.save_later(uris);
        }
    }

    pub(super) fn save_later(&self, uris: impl IntoIterator<Item = String>) {
        let saving = self.services.editor.save(SaveParams { uris: uris.into_iter().collect() });
        self.services.spawn(async move {
            for failure in saving.await.failed {
                tracing::warn!("not saved: {}: {}", failure.uri, foreign_words(&failure.reason));
            }
        });
    }

    /// Open documents that were clean before the agent touched them.
    fn saveable(&self) -> Vec<String> {
        self.files
            .entries
            .iter()
            .filter(|(key, entry)| {
                entry.review.is_some() && entry.saveable && self.services.docs.get(key).is_some()
            })
            .filter_map(|(key, _)| self.may_be_saved(key))
            .collect()
    }

    /// URI for saving a file; `None` if its path leads to another file by now.
    pub(super) fn may_be_saved(&self, key: &FileKey) -> Option<String> {
        let uri = &self.files.entries.get(key)?.uri;
        let file = self.services.workspace.as_ref()?.resolve(uri).ok()?;
        (file.key() == *key).then(|| uri.clone())
    }
}

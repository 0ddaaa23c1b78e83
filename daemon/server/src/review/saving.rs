//! Saves documents that were clean before the agent's edits.
//!
//! Must never save a document with unsaved text of the user, nor through a link that was placed on its
//! path.

use cairn_core::{ids::FileKey, sanitize::foreign_words};
use cairn_protocol::{SaveFailure, SaveParams};
use tokio::sync::oneshot;

use super::{Reviews, tracked_file::TrackedFile};

impl Reviews {
    /// Saves these documents; answers with the reviewed files that stay unsaved.
    pub(super) fn flush(&self, reply: oneshot::Sender<Vec<String>>) {
        let kept = self.open_files().filter(|(_, entry)| !entry.saveable);
        let mut unsaved: Vec<String> = kept.map(|(_, entry)| entry.path.clone()).collect();
        let names = self.files.entries.values().map(|entry| (&entry.uri, &entry.path));
        let names: Vec<(String, String)> = names.map(|(a, b)| (a.clone(), b.clone())).collect();
        let saving = self.save(self.saveable());
        self.services.spawn(async move {
            for failed in saving.await {
                let name = names.iter().find(|(uri, _)| *uri == failed);
                unsaved.extend(name.map(|(_, path)| path.clone()));
            }
            drop(reply.send(unsaved));
        });
    }

    pub(crate) fn save_at_turn_end(&self) {
        let uris = self.saveable();
        if self.save_at_turn_end && !uris.is_empty() {
            self.save_later(uris);
        }
    }

    pub(super) fn save_later(&self, uris: impl IntoIterator<Item = String>) {
        let saving = self.save(uris.into_iter().collect());
        self.services.spawn(async move { drop(saving.await) });
    }

    /// Saves documents. Resolves to those that could not be saved.
    fn save(&self, uris: Vec<String>) -> impl Future<Output = Vec<String>> + use<> {
        let saving = self.services.editor.save(SaveParams { uris });
        async move {
            let failed = saving.await.failed.into_iter();
            let log = |failure: &SaveFailure| {
                tracing::warn!("not saved: {}: {}", failure.uri, foreign_words(&failure.reason));
            };
            failed.inspect(log).map(|failure| failure.uri).collect()
        }
    }

    /// Open documents that were clean before the agent touched them.
    fn saveable(&self) -> Vec<String> {
        let files = self.open_files().filter(|(_, entry)| entry.saveable);
        files.filter_map(|(key, _)| self.files.uri_to_save(key, &self.services)).collect()
    }

    /// Files under review that are open.
    fn open_files(&self) -> impl Iterator<Item = (&FileKey, &TrackedFile)> {
        let files = self.files.entries.iter().filter(|(_, entry)| entry.state.review.is_some());
        files.filter(|(key, _)| self.services.docs.get(key).is_some())
    }
}

//! Publication of reviews: to the client as they change, and to a model that is about to be compacted.

use std::collections::HashMap;

use cairn_core::{
    ids::{FileKey, SessionId, TurnId},
    review::{FileOperationKind, Origin},
};
use cairn_protocol::{Notice, ReviewNotification};

use super::{Reviews, decisions::patch_for_model, tracked_file::TrackedFile};
use crate::{services::Services, workspace::path_of};

/// Most bytes of the patch of one file; the rest is in the file itself.
const MOST_PATCH_BYTES: usize = 8_000;

/// Proposed edits of one session.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct SessionEdits {
    pub(crate) pending: u32,
    /// True if a call waits for the decision about some of them.
    pub(crate) awaited: bool,
}

impl Reviews {
    /// Tells the client of each file whose review changed since the last time.
    pub(crate) fn publish(&mut self) {
        let dirty = self.files.entries.iter().filter(|(_, entry)| entry.dirty);
        let mut keys: Vec<FileKey> = dirty.map(|(key, _)| key.clone()).collect();
        keys.sort();
        for (uri, path) in std::mem::take(&mut self.files.left) {
            let gone = ReviewNotification {
                uri,
                path,
                rev: self.services.next_rev(),
                ..ReviewNotification::default()
            };
            self.services.notify(Notice::Review(gone));
        }
        for key in keys {
            let rev = self.services.next_rev();
            let version = self.services.docs.get(&key).map(|document| document.version);
            let Some(entry) = self.files.entries.get_mut(&key) else { continue };
            entry.dirty = false;
            let by_others = std::mem::take(&mut entry.by_others);
            let landed = std::mem::take(&mut entry.landed);
            entry.answer_decided();
            let was_empty = entry.published.is_empty();
            entry.publish(rev);
            let kept = entry.absent
                && entry.state.review.as_ref().is_some_and(|review| !review.is_settled());
            let at_rest = entry.queue.is_empty()
                && entry.in_flight.is_none()
                && entry.late.is_empty()
                && entry.undecided.is_empty();
            let notification = entry.notification(version, &self.services);
            let is_empty = notification.hunks.is_empty();
            if !is_empty {
                self.services.agent_changed(&key);
            } else if let Some(path) = path_of(&key).filter(|_| !was_empty) {
                // The user decided all of its edits.
                let open = self.services.docs.get(&key).map(|document| document.text.clone());
                let reviewed =
                    || entry.state.review.as_ref().map(|review| review.current().clone());
                let text = open.or_else(reviewed).map(|text| text.to_string());
                self.services.sources.user_decided(&path, text.as_deref());
            }
            if !(was_empty && is_empty) {
                self.services.notify(Notice::Review(notification));
            }
            if is_empty && (version.is_none() || entry.absent) && at_rest && !kept {
                self.files.entries.remove(&key);
            }
            self.files.store_file(&key);
            for late in landed {
                self.on_late_edit_confirmed(&key, late);
            }
            if by_others {
                self.checkpoints.record_touched(&key, &self.files);
            }
        }
    }

    /// Calls of a turn that is over no longer wait for anybody.
    pub(crate) fn stop_waiting(&mut self, turn_id: &TurnId) {
        for entry in self.files.entries.values_mut() {
            let before = entry.undecided.len();
            entry.undecided.retain(|undecided| undecided.origin.doer().1 != turn_id);
            if entry.undecided.len() < before {
                entry.dirty = true;
            }
        }
    }

    /// Every review that the client knows, as it was told last.
    pub(crate) fn reviews(&self) -> Vec<ReviewNotification> {
        let version = |key| self.services.docs.get(key).map(|document| document.version);
        let shown = self.files.entries.iter().filter(|(_, entry)| !entry.published.is_empty());
        let mut reviews: Vec<_> =
            shown.map(|(key, entry)| entry.notification(version(key), &self.services)).collect();
        reviews.sort_by(|a, b| a.path.cmp(&b.path));
        reviews
    }

    /// Counts the proposed edits of each session, as last published.
    pub(crate) fn edits_by_session(&self) -> HashMap<SessionId, SessionEdits> {
        let mut edits: HashMap<SessionId, SessionEdits> = HashMap::new();
        for entry in self.files.entries.values() {
            for published in &entry.published {
                edits.entry(published.hunk.session_id.as_str().into()).or_default().pending += 1;
            }
            for undecided in &entry.undecided {
                edits.entry(undecided.origin.session.clone()).or_default().awaited = true;
            }
        }
        edits
    }

    /// Words about what of this session waits for a decision, one for each file.
    pub(crate) fn pending_edits(&self, session_id: &SessionId) -> Vec<String> {
        let mut entries: Vec<_> = self.files.entries.iter().collect();
        entries.sort_by_key(|(key, _)| *key);
        let entries = entries.into_iter();
        entries.filter_map(|(_, entry)| entry.proposal(session_id, &self.services)).collect()
    }
}

impl TrackedFile {
    fn proposal(&self, session_id: &SessionId, services: &Services) -> Option<String> {
        let of_session = |origin: &Origin| origin.sessions().any(|id| id == session_id);
        let operation = self.state.operation.as_ref();
        let mut out = String::new();
        if let Some(operation) = operation.filter(|operation| of_session(&operation.origin)) {
            out += &match &operation.kind {
                FileOperationKind::Deleted => format!("You deleted {}.\n", self.path),
                FileOperationKind::MovedFrom(from) => {
                    format!("You moved {} to {}.\n", services.display_key(from), self.path)
                }
            };
        }
        let hunks = self.lines().iter().filter(|hunk| of_session(&hunk.origin));
        let ids: Vec<_> = hunks.map(|hunk| hunk.id).collect();
        if let Some(review) = self.state.review.as_ref().filter(|_| !ids.is_empty()) {
            let patch = patch_for_model(services, review, &ids, &self.path);
            let end = patch.floor_char_boundary(MOST_PATCH_BYTES);
            out += &patch[..end];
            if end < patch.len() {
                out += &format!("\n[the patch goes on; read {}]\n", self.path);
            }
        }
        (!out.is_empty()).then_some(out)
    }
}

//! Follow-ups: tasks of the user that start one after the other.
//!
//! None starts after a turn that did not complete, because it may depend on its result.

use cairn_protocol::{FollowUp, Notice, QueueNotification, RequestProblem};

use super::entry::SessionEntry;
use crate::{
    event::RequestError,
    store::sessions::{self, FollowUpLine, Line},
};

impl SessionEntry {
    /// Tells the clients that follow-ups start after the turn that has just begun.
    pub(super) fn queue_follows_a_turn(&mut self) {
        if std::mem::take(&mut self.queue.held) {
            self.publish_queue();
        }
    }

    /// Leaves the follow-ups to the user.
    pub(super) fn hold_queue(&mut self) {
        self.queue.held = true;
        self.publish_queue();
    }

    /// Returns the place of a follow-up that waits.
    pub(super) fn waiting(&self, id: &str) -> Result<usize, RequestError> {
        let at = self.queue.items.iter().position(|item| item.id == id);
        at.ok_or_else(|| RequestProblem::FollowUpStarted.into())
    }

    pub(super) fn on_queue_change(&mut self) {
        self.queue.held &= !self.queue.items.is_empty();
        self.write(&Line::Queue(self.queue.items.clone()));
        self.publish_queue();
    }

    /// Removes a follow-up whose turn has begun. The record of the turn says that it left the queue.
    pub(super) fn on_follow_up_started(&mut self, id: &str) {
        self.queue.items.retain(|item| item.id != id);
        self.queue.held = false;
        self.publish_queue();
    }

    fn publish_queue(&mut self) {
        self.queue.rev = self.services.next_rev();
        self.services.notify(Notice::Queue(self.queue_state()));
    }

    pub(super) fn queue_state(&self) -> QueueNotification {
        let shown = |item: &FollowUpLine| FollowUp {
            id: item.id.clone(),
            text: item.text.clone(),
            mode: item.mode,
            attachments: sessions::described(&item.attached),
        };
        QueueNotification {
            session_id: self.id.clone().into(),
            rev: self.queue.rev,
            items: self.queue.items.iter().map(shown).collect(),
            held: self.queue.held && self.turn.is_none(),
        }
    }
}

//! Follow-ups: tasks of the user that start one after the other.
//!
//! None starts after a turn that did not complete, because it may depend on its result.

use cairn_core::ids::SessionId;
use cairn_protocol::{FollowUp, Notice, QueueNotification, RequestProblem, RunTaskParams};

use super::{
    Sessions,
    entry::{Queue, SessionEntry, TurnStart},
};
use crate::{event::RequestError, store::sessions::Line};

impl Sessions {
    /// Handles the end of a turn: starts the next follow-up, or holds the queue for the user.
    pub(super) fn continue_queue(&mut self, session_id: &SessionId, completed: bool) {
        let Some(session) = self.entries.get_mut(session_id) else { return };
        if session.queue.items.is_empty() {
            return;
        }
        if completed {
            match self.begin_follow_up(session_id, 0) {
                Ok(()) => return,
                Err(error) => tracing::warn!("a follow-up did not begin: {}", error.0.english()),
            }
        }
        if let Some(session) = self.entries.get_mut(session_id) {
            session.queue.held = true;
        }
        self.publish_queue(session_id);
    }

    /// Tells the clients that follow-ups start after the turn that has just begun.
    pub(super) fn queue_follows_a_turn(&mut self, session_id: &SessionId) {
        let queue = self.entries.get_mut(session_id).map(|session| &mut session.queue);
        if let Some(queue) = queue.filter(|queue| queue.held) {
            queue.held = false;
            self.publish_queue(session_id);
        }
    }

    pub(super) fn begin_follow_up(
        &mut self,
        session_id: &SessionId,
        at: usize,
    ) -> Result<(), RequestError> {
        let session = self.known(session_id)?;
        let Some(FollowUp { id, text, mode, .. }) = session.queue.items.get(at).cloned() else {
            return Ok(());
        };
        let attached = session.queue.attached.get(&id).cloned().unwrap_or_default();
        let mode = Some(mode.unwrap_or(session.mode));
        let params = RunTaskParams {
            text,
            session_id: Some(session_id.into()),
            mode,
            ..RunTaskParams::default()
        };
        // The record of its turn also records that it left the queue.
        let opening = TurnStart { follow_up: Some(id.clone()), attached, ..TurnStart::default() };
        self.run_task(params, opening)?;
        let queue = &mut self.known(session_id)?.queue;
        queue.items.retain(|item| item.id != id);
        queue.attached.remove(&id);
        queue.held = false;
        self.publish_queue(session_id);
        Ok(())
    }

    pub(super) fn waiting(
        &mut self,
        session_id: &SessionId,
        id: &str,
    ) -> Result<usize, RequestError> {
        let queue = &self.known(session_id)?.queue;
        queue
            .items
            .iter()
            .position(|item| item.id == id)
            .ok_or_else(|| RequestError::from(RequestProblem::FollowUpStarted))
    }

    pub(super) fn on_queue_change(&mut self, session_id: &SessionId) {
        let Some(session) = self.entries.get_mut(session_id) else { return };
        session.queue.held &= !session.queue.items.is_empty();
        let line = Line::Queue(session.queue.stored());
        self.write(session_id, &line);
        self.publish_queue(session_id);
    }

    fn publish_queue(&mut self, session_id: &SessionId) {
        let rev = self.services.next_rev();
        if let Some(session) = self.entries.get_mut(session_id) {
            session.queue.rev = rev;
            self.services.notify(Notice::Queue(snapshot(session)));
        }
    }
}

pub(super) fn snapshot(session: &SessionEntry) -> QueueNotification {
    let Queue { items, attached: _, held, rev } = &session.queue;
    QueueNotification {
        session_id: session.id.clone().into(),
        rev: *rev,
        items: items.clone(),
        held: *held && session.turn.is_none(),
    }
}

pub(super) fn said(text: String) -> Result<String, RequestError> {
    if text.trim().is_empty() {
        return Err(RequestError::from(RequestProblem::EmptyFollowUp));
    }
    Ok(text)
}

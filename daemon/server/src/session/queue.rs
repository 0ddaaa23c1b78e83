//! Follow-ups: tasks of the user that start one after the other.
//!
//! None starts after a turn that did not complete, because it may depend on its result.

use cairn_core::{conversation::Attached, ids::SessionId, turn::Input};
use cairn_protocol::{
    Empty, FollowUp, Notice, QueueAddParams, QueueAddResult, QueueDropParams, QueueEditParams,
    QueueNotification, QueueSendParams, RequestProblem, RunTaskParams,
};

use super::{
    Sessions, attachments,
    entry::{Queue, SessionEntry, TurnStart, new_id},
};
use crate::{
    event::RequestError,
    store::sessions::{self, Line},
};

/// Maximum number of follow-ups of one session.
const MOST: usize = 20;
/// Largest size of all content attached to the follow-ups of one session.
const MOST_BYTES: usize = 16 * 1024 * 1024;

impl Sessions {
    pub(crate) fn queue_add(
        &mut self,
        QueueAddParams { session_id, text, mode, attachments: _ }: QueueAddParams,
        attached: Vec<Attached>,
    ) -> Result<QueueAddResult, RequestError> {
        let text = match attached.is_empty() || !text.trim().is_empty() {
            true => said(text)?,
            false => sessions::attachment_names(&attached),
        };
        let session_id = SessionId::from(session_id);
        let session = self.known(&session_id)?;
        if session.turn.is_none() && session.queue.items.is_empty() {
            let params = RunTaskParams {
                text,
                session_id: Some(session_id.into()),
                mode,
                ..RunTaskParams::default()
            };
            let opening = TurnStart { attached, ..TurnStart::default() };
            let started = self.run_task(params, opening)?;
            return Ok(QueueAddResult { started: Some(started) });
        }
        if session.queue.items.len() >= MOST {
            return Err(RequestError::from(RequestProblem::QueueFull { limit: MOST as u32 }));
        }
        let size: usize = session.queue.attached.values().flatten().map(Attached::size).sum();
        if size + attached.iter().map(Attached::size).sum::<usize>() > MOST_BYTES {
            let name = sessions::attachment_names(&attached);
            return Err(attachments::too_large(name, MOST_BYTES));
        }
        session.queue.add(new_id("q"), text, mode, attached);
        self.queue_changed(&session_id);
        Ok(QueueAddResult { started: None })
    }

    pub(crate) fn queue_edit(&mut self, params: QueueEditParams) -> Result<Empty, RequestError> {
        let QueueEditParams { session_id, id, text } = params;
        let session_id = SessionId::from(session_id);
        let text = said(text)?;
        let at = self.waiting(&session_id, &id)?;
        if let Some(item) = self.known(&session_id)?.queue.items.get_mut(at) {
            item.text = text;
        }
        self.queue_changed(&session_id);
        Ok(Empty {})
    }

    pub(crate) fn queue_drop(&mut self, params: QueueDropParams) -> Result<Empty, RequestError> {
        let QueueDropParams { session_id, id } = params;
        let session_id = SessionId::from(session_id);
        let at = self.waiting(&session_id, &id)?;
        self.known(&session_id)?.queue.take(at);
        self.queue_changed(&session_id);
        Ok(Empty {})
    }

    pub(crate) fn queue_send(&mut self, params: QueueSendParams) -> Result<Empty, RequestError> {
        let QueueSendParams { session_id, id } = params;
        let session_id = SessionId::from(session_id);
        let at = self.waiting(&session_id, &id)?;
        let session = self.known(&session_id)?;
        let Some(turn_id) = session.turn.as_ref().map(|turn| turn.id.clone()) else {
            return self.begin_follow_up(&session_id, at).map(|()| Empty {});
        };
        let (FollowUp { text, .. }, attached) = session.queue.take(at);
        self.user_message(&session_id, &turn_id, text.clone(), &attached);
        self.turn_input(&session_id, &turn_id, Input::Steer { text, attached });
        self.queue_changed(&session_id);
        Ok(Empty {})
    }

    /// Handles the end of a turn: starts the next follow-up, or holds the queue for the user.
    pub(super) fn queue_goes_on(&mut self, session_id: &SessionId, completed: bool) {
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

    fn begin_follow_up(&mut self, session_id: &SessionId, at: usize) -> Result<(), RequestError> {
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

    fn waiting(&mut self, session_id: &SessionId, id: &str) -> Result<usize, RequestError> {
        let queue = &self.known(session_id)?.queue;
        queue
            .items
            .iter()
            .position(|item| item.id == id)
            .ok_or_else(|| RequestError::from(RequestProblem::FollowUpStarted))
    }

    fn queue_changed(&mut self, session_id: &SessionId) {
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

fn said(text: String) -> Result<String, RequestError> {
    if text.trim().is_empty() {
        return Err(RequestError::from(RequestProblem::EmptyFollowUp));
    }
    Ok(text)
}

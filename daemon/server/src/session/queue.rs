//! Follow-ups: what the user wants done next, kept in order and begun one after the other.
//!
//! Must never begin one after a turn that did not complete: it may build on what is not there.

use cairn_core::turn::Input;
use cairn_protocol::{
    Empty, ErrorKind, FollowUp, MessageRole, Notice, QueueAddParams, QueueAddResult,
    QueueDropParams, QueueEditParams, QueueNotification, QueueSendParams, RunTaskParams,
};

use super::{
    Sessions,
    entry::{Queue, SessionEntry, TurnStart, new_id},
};
use crate::{event::RequestError, store::sessions::Line};

/// Follow-ups of one session, at most.
const MOST: usize = 20;

impl Sessions {
    pub(crate) fn queue_add(
        &mut self,
        QueueAddParams { session_id, text, mode }: QueueAddParams,
    ) -> Result<QueueAddResult, RequestError> {
        let text = said(text)?;
        let session = self.known(&session_id)?;
        if session.turn.is_none() && session.queue.items.is_empty() {
            let params = RunTaskParams { text, session_id: Some(session_id), mode, context: None };
            let started = self.run_task(params, TurnStart::default())?;
            return Ok(QueueAddResult { started: Some(started) });
        }
        if session.queue.items.len() >= MOST {
            return Err(RequestError::new(
                ErrorKind::InvalidParams,
                format!("{MOST} follow-ups wait already"),
                "Drop one of them first, or put what you want into one.",
            ));
        }
        session.queue.items.push(FollowUp { id: new_id("q"), text, mode });
        self.queue_changed(&session_id);
        Ok(QueueAddResult { started: None })
    }

    pub(crate) fn queue_edit(&mut self, params: QueueEditParams) -> Result<Empty, RequestError> {
        let QueueEditParams { session_id, id, text } = params;
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
        let at = self.waiting(&session_id, &id)?;
        self.known(&session_id)?.queue.items.remove(at);
        self.queue_changed(&session_id);
        Ok(Empty {})
    }

    pub(crate) fn queue_send(&mut self, params: QueueSendParams) -> Result<Empty, RequestError> {
        let QueueSendParams { session_id, id } = params;
        let at = self.waiting(&session_id, &id)?;
        let session = self.known(&session_id)?;
        let Some(turn_id) = session.turn.as_ref().map(|turn| turn.id.clone()) else {
            return self.begin_follow_up(&session_id, at).map(|()| Empty {});
        };
        let FollowUp { text, .. } = session.queue.items.remove(at);
        self.message(&session_id, &turn_id, MessageRole::User, text.clone());
        self.turn_input(&session_id, &turn_id, Input::Steer { text });
        self.queue_changed(&session_id);
        Ok(Empty {})
    }

    /// A turn is over: the next begins, or all waits for the user.
    pub(super) fn queue_goes_on(&mut self, session_id: &str, completed: bool) {
        let Some(session) = self.entries.get_mut(session_id) else { return };
        if session.queue.items.is_empty() {
            return;
        }
        if completed {
            match self.begin_follow_up(session_id, 0) {
                Ok(()) => return,
                Err(error) => tracing::warn!("a follow-up did not begin: {}", error.message),
            }
        }
        if let Some(session) = self.entries.get_mut(session_id) {
            session.queue.held = true;
        }
        self.publish_queue(session_id);
    }

    fn begin_follow_up(&mut self, session_id: &str, at: usize) -> Result<(), RequestError> {
        let session = self.known(session_id)?;
        let Some(FollowUp { id, text, mode }) = session.queue.items.get(at).cloned() else {
            return Ok(());
        };
        let mode = Some(mode.unwrap_or(session.mode));
        let params =
            RunTaskParams { text, session_id: Some(session_id.into()), mode, context: None };
        // That it left the queue is on record with the turn it has become.
        self.run_task(params, TurnStart { follow_up: Some(id.clone()), ..TurnStart::default() })?;
        let queue = &mut self.known(session_id)?.queue;
        queue.items.retain(|item| item.id != id);
        queue.held = false;
        self.publish_queue(session_id);
        Ok(())
    }

    fn waiting(&mut self, session_id: &str, id: &str) -> Result<usize, RequestError> {
        let queue = &self.known(session_id)?.queue;
        queue.items.iter().position(|item| item.id == id).ok_or_else(|| {
            RequestError::new(
                ErrorKind::TurnMismatch,
                "This follow-up does not wait any more",
                "It has begun, or it was dropped. Look at the conversation.",
            )
        })
    }

    fn queue_changed(&mut self, session_id: &str) {
        let Some(session) = self.entries.get_mut(session_id) else { return };
        session.queue.held &= !session.queue.items.is_empty();
        let line = Line::Queue(session.queue.items.clone());
        self.write(session_id, &line);
        self.publish_queue(session_id);
    }

    fn publish_queue(&mut self, session_id: &str) {
        let rev = self.services.next_rev();
        if let Some(session) = self.entries.get_mut(session_id) {
            session.queue.rev = rev;
            self.services.notify(Notice::Queue(snapshot(session)));
        }
    }
}

pub(super) fn snapshot(session: &SessionEntry) -> QueueNotification {
    let Queue { items, held, rev } = &session.queue;
    QueueNotification {
        session_id: session.id.clone(),
        rev: *rev,
        items: items.clone(),
        held: *held && session.turn.is_none(),
    }
}

fn said(text: String) -> Result<String, RequestError> {
    if text.trim().is_empty() {
        return Err(RequestError::new(
            ErrorKind::InvalidParams,
            "The follow-up is empty",
            "Say what the agent should do next, or drop it.",
        ));
    }
    Ok(text)
}

//! Adds a follow-up to the queue of a session, or starts it.

use cairn_core::{conversation::Attached, ids::SessionId};
use cairn_protocol::{QueueAddParams, QueueAddResult, RequestProblem, RunTaskParams};

use crate::{
    event::{RequestError, Responder},
    review::Reviews,
    session::{
        Sessions, attachments,
        entry::{TurnStart, new_id},
    },
    store::{sessions as store, sessions::FollowUpLine},
};

/// Maximum number of follow-ups of one session.
const MOST: usize = 20;

/// Largest size of all content attached to the follow-ups of one session.
const MOST_BYTES: usize = 16 * 1024 * 1024;

/// Adds a follow-up, once its attachments were read.
pub(crate) fn handle(
    sessions: &mut Sessions,
    params: QueueAddParams,
    reply: Responder<QueueAddResult>,
    reviews: &mut Reviews,
) {
    let (id, attachments) = (params.session_id.as_str().into(), params.attachments.clone());
    attachments::with(sessions, reviews, id, attachments, reply, move |sessions, attached| {
        queue_add_now(sessions, params, attached)
    });
}

fn queue_add_now(
    sessions: &mut Sessions,
    QueueAddParams { session_id, text, mode, attachments: _ }: QueueAddParams,
    attached: Vec<Attached>,
) -> Result<QueueAddResult, RequestError> {
    let text = match (text.trim().is_empty(), attached.is_empty()) {
        (false, _) => text,
        (true, false) => store::attachment_names(&attached),
        (true, true) => return Err(RequestProblem::EmptyFollowUp.into()),
    };
    let session_id = SessionId::from(session_id);
    let session = sessions.known(&session_id)?;
    if session.turn.is_none() && session.queue.items.is_empty() {
        let params = RunTaskParams {
            text,
            session_id: Some(session_id.into()),
            mode,
            ..RunTaskParams::default()
        };
        let opening = TurnStart { attached, ..TurnStart::default() };
        let started = sessions.run_task(params, opening)?;
        return Ok(QueueAddResult { started: Some(started) });
    }
    if session.queue.items.len() >= MOST {
        return Err(RequestProblem::QueueFull { limit: MOST as u32 }.into());
    }
    let size: usize =
        session.queue.items.iter().flat_map(|item| &item.attached).map(Attached::size).sum();
    if size + attached.iter().map(Attached::size).sum::<usize>() > MOST_BYTES {
        let name = store::attachment_names(&attached);
        return Err(attachments::too_large(name, MOST_BYTES));
    }
    session.queue.items.push(FollowUpLine { id: new_id("q"), text, mode, attached });
    session.on_queue_change();
    Ok(QueueAddResult { started: None })
}

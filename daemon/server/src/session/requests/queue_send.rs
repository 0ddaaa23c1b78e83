//! Sends a follow-up to the running turn, or starts it.

use cairn_core::{ids::SessionId, turn::Input};
use cairn_protocol::{Empty, FollowUpParams};

use crate::{event::RequestError, session::Sessions, store::sessions::FollowUpLine};

pub(crate) fn handle(
    sessions: &mut Sessions,
    params: FollowUpParams,
) -> Result<Empty, RequestError> {
    let FollowUpParams { session_id, id } = params;
    let session_id = SessionId::from(session_id);
    let session = sessions.known(&session_id)?;
    let at = session.waiting(&id)?;
    let Some(turn_id) = session.turn.as_ref().map(|turn| turn.id.clone()) else {
        return sessions.begin_follow_up(&session_id, at).map(|()| Empty {});
    };
    let FollowUpLine { text, attached, .. } = session.queue.items.remove(at);
    session.user_message(text.clone(), &attached);
    session.on_queue_change();
    sessions.steps.input(&session_id, &turn_id, Input::Steer { text, attached });
    Ok(Empty {})
}

//! Removes a follow-up that waits.

use cairn_protocol::{Empty, FollowUpParams};

use crate::{event::RequestError, session::Sessions};

pub(crate) fn handle(
    sessions: &mut Sessions,
    params: FollowUpParams,
) -> Result<Empty, RequestError> {
    let FollowUpParams { session_id, id } = params;
    let session = sessions.known(&session_id.into())?;
    let at = session.waiting(&id)?;
    session.queue.items.remove(at);
    session.on_queue_change();
    Ok(Empty {})
}

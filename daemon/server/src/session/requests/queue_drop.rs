//! Removes a follow-up that waits.

use cairn_core::ids::SessionId;
use cairn_protocol::{Empty, QueueDropParams};

use crate::{event::RequestError, session::Sessions};

pub(crate) fn queue_drop(
    sessions: &mut Sessions,
    params: QueueDropParams,
) -> Result<Empty, RequestError> {
    let QueueDropParams { session_id, id } = params;
    let session_id = SessionId::from(session_id);
    let at = sessions.waiting(&session_id, &id)?;
    sessions.known(&session_id)?.queue.take(at);
    sessions.on_queue_change(&session_id);
    Ok(Empty {})
}

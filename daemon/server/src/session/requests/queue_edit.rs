//! Changes the text of a follow-up that waits.

use cairn_core::ids::SessionId;
use cairn_protocol::{Empty, QueueEditParams};

use crate::{
    event::RequestError,
    session::{Sessions, queue::said},
};

pub(crate) fn queue_edit(
    sessions: &mut Sessions,
    params: QueueEditParams,
) -> Result<Empty, RequestError> {
    let QueueEditParams { session_id, id, text } = params;
    let session_id = SessionId::from(session_id);
    let text = said(text)?;
    let at = sessions.waiting(&session_id, &id)?;
    if let Some(item) = sessions.known(&session_id)?.queue.items.get_mut(at) {
        item.text = text;
    }
    sessions.on_queue_change(&session_id);
    Ok(Empty {})
}

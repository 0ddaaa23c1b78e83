//! Changes the text of a follow-up that waits.

use cairn_protocol::{Empty, QueueEditParams};

use crate::{
    event::RequestError,
    session::{Sessions, queue::said},
};

pub(crate) fn handle(
    sessions: &mut Sessions,
    params: QueueEditParams,
) -> Result<Empty, RequestError> {
    let QueueEditParams { session_id, id, text } = params;
    let text = said(text)?;
    let session = sessions.known(&session_id.into())?;
    let at = session.waiting(&id)?;
    if let Some(item) = session.queue.items.get_mut(at) {
        item.text = text;
    }
    session.on_queue_change();
    Ok(Empty {})
}

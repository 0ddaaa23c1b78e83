//! Returns what the user attached to the messages of a turn.

use cairn_protocol::{TurnAttachmentsResult, TurnParams};

use crate::{event::Responder, session::Sessions, store::sessions};

pub(crate) fn handle(
    sessions: &mut Sessions,
    params: TurnParams,
    reply: Responder<TurnAttachmentsResult>,
) {
    let TurnParams { session_id, turn_id } = params;
    sessions.answer_from_disk(session_id.into(), reply, move |folder, id| {
        let attached = sessions::attached(&sessions::journal_path(folder, id), &turn_id.into())?;
        let attachments = attached.iter().map(sessions::with_content).collect();
        Ok(TurnAttachmentsResult { attachments })
    });
}

//! Returns what the user attached to the messages of a turn.

use cairn_core::ids::{SessionId, TurnId};
use cairn_protocol::{TurnAttachmentsParams, TurnAttachmentsResult};

use crate::{
    event::Responder,
    session::{
        Sessions,
        session_list::{blocking, saved, unknown, unknown_or},
    },
    store::sessions,
};

/// Reads what the user attached to the messages of a turn.
pub(crate) fn turn_attachments(
    sessions: &Sessions,
    params: TurnAttachmentsParams,
    reply: Responder<TurnAttachmentsResult>,
) {
    let id = SessionId::from(params.session_id);
    let Some(folder) = sessions.folder_of(&id) else { return reply.send(Err(unknown())) };
    let path = sessions::journal_path(&folder, &id);
    let writer = sessions.entries.get(&id).and_then(|session| session.journal.clone());
    let turn = TurnId::from(params.turn_id);
    sessions.services.spawn(async move {
        saved(writer).await;
        let read = blocking(move || {
            let attached = sessions::attached(&path, &turn)?;
            let attachments = attached.iter().map(sessions::with_content).collect();
            Ok(TurnAttachmentsResult { attachments })
        });
        reply.send(read.await.map_err(unknown_or));
    });
}

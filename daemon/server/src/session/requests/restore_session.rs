//! Moves a session back from the trash.

use cairn_protocol::{Empty, SessionParams};

use crate::{event::Responder, session::Sessions, store::session_list::trash};

pub(crate) fn handle(sessions: &mut Sessions, params: SessionParams, reply: Responder<Empty>) {
    sessions.answer_from_disk(params.session_id.into(), reply, |folder, id| {
        trash::restore(folder, id)?;
        Ok(Empty {})
    });
}

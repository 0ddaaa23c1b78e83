//! Moves a session back from the trash.

use cairn_core::ids::SessionId;
use cairn_protocol::{Empty, RestoreSessionParams};

use crate::{
    event::Responder,
    session::{
        Sessions,
        session_list::{unknown, unknown_or},
    },
    store::session_list::trash,
};

pub(crate) fn restore_session(
    sessions: &mut Sessions,
    params: RestoreSessionParams,
    reply: Responder<Empty>,
) {
    let id = SessionId::from(params.session_id);
    let Some(folder) = sessions.folder_of(&id) else {
        return reply.send(Err(unknown()));
    };
    sessions.answer_in_background(reply, move || {
        trash::restore(&folder, &id).map(|()| Empty {}).map_err(unknown_or)
    });
}

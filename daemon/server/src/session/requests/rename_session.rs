//! Gives a session a name.

use cairn_core::ids::SessionId;
use cairn_protocol::{Empty, RenameSessionParams, RequestProblem};

use crate::{
    event::Responder,
    session::{Sessions, session_list::unknown},
    store::{session_list, sessions},
};

pub(crate) fn handle(
    sessions: &mut Sessions,
    params: RenameSessionParams,
    reply: Responder<Empty>,
) {
    let id = SessionId::from(params.session_id);
    if sessions.folder_of(&id).is_none() {
        return reply.send(Err(unknown()));
    }
    let Some(name) = sessions::name(&params.name) else {
        let limit = sessions::NAME as u32;
        return reply.send(Err(RequestProblem::SessionNameInvalid { limit }.into()));
    };
    let name = (!name.is_empty()).then(|| name.to_owned());
    if let Some(session) = sessions.entries.get_mut(&id)
        && (session.journal.is_some() || session.read_only.is_some())
    {
        if let Some(refused) = session.locked() {
            return reply.send(Err(refused));
        }
        session.facts.name = name;
        session.write_digest();
        return sessions.reply_when_saved(&id, Ok(Empty {}), reply);
    }
    sessions.answer_from_disk(id, reply, move |folder, id| {
        session_list::rename(folder, id, name)?;
        Ok(Empty {})
    });
}

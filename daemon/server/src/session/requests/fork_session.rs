//! Copies a session up to a turn.

use cairn_core::ids::SessionId;
use cairn_protocol::{ForkSessionParams, OpenSessionResult, ReadOnlyReason};

use super::open_session::{LoadedPart, show_when_read};
use crate::{
    event::Responder,
    session::{
        Sessions,
        entry::new_id,
        session_list::{blocking, saved, unknown},
    },
    store::{session_list, sessions},
};

pub(crate) fn handle(
    sessions: &mut Sessions,
    params: ForkSessionParams,
    reply: Responder<OpenSessionResult>,
) {
    let ForkSessionParams { session_id, at_turn } = params;
    let from = SessionId::from(session_id);
    let Some(folder) = sessions.folder_of(&from) else {
        return reply.send(Err(unknown()));
    };
    let session = sessions.entries.get(&from);
    let writer = session.and_then(|session| session.journal.clone());
    // The last turn of a session that is not in memory may run in another process.
    let whole = session.is_some_and(|session| {
        let elsewhere = session.read_only.as_ref().map(|it| it.reason);
        session.turn.is_none() && elsewhere != Some(ReadOnlyReason::OpenElsewhere)
    });
    let to = SessionId::from(new_id("s"));
    show_when_read(sessions, reply, async move {
        saved(writer).await;
        blocking(move || {
            let facts = session_list::fork(&folder, &from, &to, at_turn.as_deref(), whole)?;
            let mut loaded = sessions::load(&sessions::journal_path(&folder, &to))?;
            loaded.facts.session = facts;
            Ok(LoadedPart::Session(Box::new(loaded)))
        })
        .await
    });
}

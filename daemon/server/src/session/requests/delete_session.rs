//! Moves a session to the trash.

use cairn_core::ids::SessionId;
use cairn_protocol::{Empty, RequestProblem, SessionParams};

use crate::{
    event::Responder,
    session::{
        Sessions,
        session_list::{blocking, unknown, unknown_or},
    },
    store::{export, session_list::trash},
};

pub(crate) fn handle(sessions: &mut Sessions, params: SessionParams, reply: Responder<Empty>) {
    let id = SessionId::from(params.session_id);
    let Some(folder) = sessions.folder_of(&id) else {
        return reply.send(Err(unknown()));
    };
    if sessions.entries.get(&id).is_some_and(|session| session.turn.is_some()) {
        return reply.send(Err(RequestProblem::SessionRunning.into()));
    }
    let writer = sessions.unload(&id);
    sessions.services.spawn(async move {
        if let Some(writer) = writer {
            // Records that could not be written would be deleted anyway.
            let _ = writer.close().await;
        }
        let place = folder.clone();
        let deleted = blocking(move || {
            trash::delete(&folder, &id)?;
            export::forget(&folder, &id);
            Ok(Empty {})
        });
        let deleted = deleted.await.map_err(unknown_or);
        let in_trash = deleted.is_ok();
        reply.send(deleted);
        if in_trash {
            tokio::time::sleep(trash::KEPT).await;
            let emptied = blocking(move || Ok(trash::empty(&place, trash::KEPT)?)).await;
            if let Err(error) = emptied {
                tracing::warn!("deleted sessions were not removed: {error}");
            }
        }
    });
}

//! Exports a session as Markdown or as a replay script.

use std::io;

use cairn_core::ids::SessionId;
use cairn_protocol::{ExportSessionParams, ExportSessionResult};

use crate::{
    event::Responder,
    session::{
        Sessions,
        session_list::{blocking, saved, unknown, unknown_or},
    },
    store::export::{self, Exported},
    workspace::uri_of,
};

pub(crate) fn export_session(
    sessions: &Sessions,
    params: ExportSessionParams,
    reply: Responder<ExportSessionResult>,
) {
    let ExportSessionParams { session_id, format } = params;
    let id = SessionId::from(session_id);
    let Some(folder) = sessions.folder_of(&id) else {
        return reply.send(Err(unknown()));
    };
    let writer = sessions.entries.get(&id).and_then(|session| session.journal.clone());
    sessions.services.spawn(async move {
        saved(writer).await;
        let exported = blocking(move || {
            Ok(match export::export(&folder, &id, format)? {
                Exported::Text(text) => ExportSessionResult::Text { text },
                Exported::File(path) => ExportSessionResult::File {
                    uri: uri_of(&path)
                        .ok_or_else(|| io::Error::other("the folder of state has no URI"))?,
                },
            })
        });
        reply.send(exported.await.map_err(unknown_or));
    });
}

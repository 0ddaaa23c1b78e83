//! Exports a session as Markdown or as a replay script.

use std::io;

use cairn_protocol::{ExportSessionParams, ExportSessionResult};

use crate::{
    event::Responder,
    session::Sessions,
    store::export::{self, Exported},
    workspace::uri_of,
};

pub(crate) fn handle(
    sessions: &mut Sessions,
    params: ExportSessionParams,
    reply: Responder<ExportSessionResult>,
) {
    let ExportSessionParams { session_id, format } = params;
    sessions.answer_from_disk(session_id.into(), reply, move |folder, id| {
        Ok(match export::export(folder, id, format)? {
            Exported::Text(text) => ExportSessionResult::Text { text },
            Exported::File(path) => ExportSessionResult::File {
                uri: uri_of(&path)
                    .ok_or_else(|| io::Error::other("the folder of state has no URI"))?,
            },
        })
    });
}

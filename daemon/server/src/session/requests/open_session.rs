//! Brings a session into view, or reads an earlier page of its transcript.

use cairn_core::ids::SessionId;
use cairn_protocol::{
    OpenSessionParams, OpenSessionResult, RequestProblem, SessionSnapshot, TranscriptEntry,
};

use crate::{
    event::{RequestError, Responder},
    session::{
        Sessions,
        event::{LoadResult, LoadedPart},
        persistence::RestoreOrder,
        session_list::{blocking, saved, unknown, unknown_or},
    },
    store::{
        session_list::Fault,
        sessions::{self, PageEnd},
    },
};

pub(crate) fn open_session(
    sessions: &mut Sessions,
    params: OpenSessionParams,
    reply: Responder<OpenSessionResult>,
) {
    let OpenSessionParams { session_id, before, before_turn, before_call } = params;
    let id = SessionId::from(session_id);
    let Some(folder) = sessions.folder_of(&id) else { return reply.send(Err(unknown())) };
    let path = sessions::journal_path(&folder, &id);
    let entry =
        before.map(|before| before.parse().ok().filter(|number| *number > 0).map(PageEnd::Entry));
    let turn = before_turn.map(|turn| Some(PageEnd::Turn(turn.into())));
    let call = before_call.map(|call| Some(PageEnd::Call(call.into())));
    if let Some(end) = entry.or(turn).or(call) {
        return sessions.answer_in_background(reply, move || {
            let read = |end| sessions::page(&path, end);
            let page = end.map(read).transpose().map_err(|error| unknown_or(error.into()))?;
            let page =
                page.flatten().ok_or_else(|| RequestError::from(RequestProblem::InvalidPage))?;
            Ok(OpenSessionResult::Earlier { transcript: page.entries, earlier: page.earlier })
        });
    }
    let held = sessions.entries.get(&id).filter(|session| session.read_only.is_none());
    let writer = held.and_then(|session| session.journal.clone());
    let is_held = held.is_some();
    sessions.read_in_background(reply, async move {
        saved(writer).await;
        blocking(move || {
            if is_held {
                let page = sessions::page(&path, PageEnd::Journal).map_err(Fault::from)?;
                let page = page.unwrap_or_default();
                Ok(LoadedPart::Newest(id, page))
            } else {
                Ok(LoadedPart::Session(Box::new(sessions::load(&path).map_err(Fault::from)?)))
            }
        })
        .await
    });
}

/// Handles the result of a background read.
pub(in crate::session) fn on_loaded(sessions: &mut Sessions, read: LoadResult) {
    let LoadResult { what, reply } = read;
    let (id, page) = match what {
        LoadedPart::Newest(id, page) => (id, page),
        LoadedPart::Session(mut loaded) => {
            let id = loaded.header.session_id.clone();
            let page = std::mem::take(&mut loaded.page);
            let known = sessions.entries.get(&id);
            // Another request may have opened it since.
            if known.is_none_or(|session| session.read_only.is_some()) {
                sessions.unload(&id);
                sessions.restore(*loaded, RestoreOrder::Newest);
            }
            (id, page)
        }
    };
    let Some(session) = sessions.entries.get(&id) else { return reply.send(Err(unknown())) };
    session.write_digest();
    let unwritten = session.unwritten_messages().into_iter().map(TranscriptEntry::Message);
    sessions.bring_into_view(&id);
    sessions.evict_idle();
    let opened = sessions.snapshot_of(&id).ok_or_else(unknown).map(|session| {
        let transcript = page.entries.into_iter().chain(unwritten).collect();
        let session = SessionSnapshot { transcript, earlier: page.earlier, ..session };
        OpenSessionResult::Opened { session: Box::new(session) }
    });
    reply.send(opened);
}

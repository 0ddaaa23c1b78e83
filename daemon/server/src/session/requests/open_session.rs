//! Brings a session into view, or reads an earlier page of its transcript.

use cairn_core::ids::SessionId;
use cairn_protocol::{
    OpenSessionParams, OpenSessionResult, RequestProblem, SessionSnapshot, TranscriptEntry,
};

use crate::{
    event::{RequestError, Responder},
    session::{
        Sessions,
        session_list::{blocking, saved, unknown, unknown_or},
    },
    store::{
        session_list::Fault,
        sessions::{self, Loaded, Page, PageEnd},
    },
};

/// Result of a background read of a session.
#[derive(Debug)]
pub(super) enum LoadedPart {
    /// A whole session.
    Session(Box<Loaded>),
    /// The newest page of the transcript of a session in memory.
    Newest(SessionId, Page),
}

pub(crate) fn handle(
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
    show_when_read(sessions, reply, async move {
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

/// Brings a session into view when it was read.
pub(super) fn show_when_read(
    sessions: &Sessions,
    reply: Responder<OpenSessionResult>,
    reading: impl Future<Output = Result<LoadedPart, Fault>> + Send + 'static,
) {
    sessions.after(reading, |sessions, read, _| match read {
        Ok(part) => show(sessions, part, reply),
        Err(fault) => reply.send(Err(unknown_or(fault))),
    });
}

fn show(sessions: &mut Sessions, part: LoadedPart, reply: Responder<OpenSessionResult>) {
    let (id, page) = match part {
        LoadedPart::Newest(id, page) => (id, page),
        LoadedPart::Session(mut loaded) => {
            let id = loaded.header.session_id.clone();
            let page = std::mem::take(&mut loaded.page);
            let known = sessions.entries.get(&id);
            // Another request may have opened it since.
            if known.is_none_or(|session| session.read_only.is_some()) {
                sessions.unload(&id);
                sessions.restore(*loaded);
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

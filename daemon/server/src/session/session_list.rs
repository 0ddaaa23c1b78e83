//! Stored sessions of this workspace: list, search, open, fork, rename, delete,
//! restore, export.
//!
//! Disk access runs in background tasks; results return as events. No turn starts in a session
//! whose journal another process holds.

use std::{
    collections::{HashMap, HashSet},
    io,
    path::PathBuf,
    sync::Arc,
};

use cairn_core::ids::SessionId;
use cairn_protocol::{
    DeleteSessionParams, Empty, ExportSessionParams, ExportSessionResult, ForkSessionParams,
    ListSessionsParams, ListSessionsResult, OpenSessionParams, OpenSessionResult, ReadOnlyReason,
    RenameSessionParams, RequestProblem, RestoreSessionParams, SearchSessionsParams,
    SearchSessionsResult, SessionSnapshot, SessionSummary, TranscriptEntry, Usage,
};

use super::{
    Sessions,
    entry::{SessionEntry, new_id},
    event::{Read, SessionEvent, What},
    persistence::RestoreOrder,
    queue,
};
use crate::{
    event::{RequestError, Responder},
    review::Reviews,
    store::{
        export::{self, Exported},
        journal::Writer,
        session_list::{self, Fault, SessionFlags, search, trash},
        sessions::{self, Digest, Line, Loaded, Page, PageEnd},
    },
    workspace::uri_of,
};

/// Maximum number of sessions that stay in memory, with their journals, when another one is opened.
const HELD: usize = 8;

type Outcome<T> = Result<T, RequestError>;

/// Facts of this process for a list of sessions.
struct Listed {
    mine: HashMap<SessionId, SessionFlags>,
    /// Number of proposed edits that wait for a decision.
    pending: HashMap<SessionId, u32>,
}

impl Listed {
    fn count_edits(&self, session: &mut SessionSummary) {
        session.pending_edits =
            self.pending.get(&session.session_id.as_str().into()).copied().unwrap_or(0);
    }
}

impl Sessions {
    /// Facts about the sessions in memory for a list, and the number of edits of each that wait.
    fn listed(&self, reviews: &Reviews) -> Listed {
        let current = self.order.last();
        let edits = reviews.edits_by_session();
        let asking: HashSet<&SessionId> = self
            .entries
            .values()
            .filter(|session| session.asks_user())
            .map(|session| self.root_of(&session.id))
            .collect();
        let flags = |session: &SessionEntry| SessionFlags {
            current: current == Some(&session.id),
            held: session
                .journal
                .is_some()
                .then(|| Digest { running: session.turn.is_some(), ..session.digest() }),
            waiting: asking.contains(&session.id)
                || edits.get(&session.id).is_some_and(|edits| edits.awaited),
        };
        let mine: HashMap<SessionId, SessionFlags> =
            self.entries.iter().map(|(id, session)| (id.clone(), flags(session))).collect();
        let pending = edits.into_iter().map(|(id, edits)| (id, edits.pending)).collect();
        Listed { mine, pending }
    }

    pub(crate) fn list_sessions(
        &self,
        params: ListSessionsParams,
        reviews: &Reviews,
        reply: Responder<ListSessionsResult>,
    ) {
        let Some(folder) = self.state_dir.clone() else {
            return reply.send(Ok(ListSessionsResult::default()));
        };
        let here = self.listed(reviews);
        self.answer_in_background(reply, move || {
            let ListSessionsParams { cursor, limit } = params;
            let page = session_list::page(&folder, cursor.as_deref(), limit, &here.mine);
            let mut list = page.map_err(unreadable)?;
            list.sessions.iter_mut().for_each(|session| here.count_edits(session));
            Ok(list)
        });
    }

    pub(crate) fn search_sessions(
        &self,
        params: SearchSessionsParams,
        reviews: &Reviews,
        reply: Responder<SearchSessionsResult>,
    ) {
        let Some(folder) = self.state_dir.clone() else {
            return reply.send(Ok(SearchSessionsResult::default()));
        };
        let here = self.listed(reviews);
        let (searches, is_wanted) = (Arc::clone(&self.searches), reply.is_wanted());
        self.services.spawn(async move {
            // One that was cancelled ends at once.
            let Some(turn) = searches.begin_in_sessions().await else { return };
            let found = blocking(move || {
                let _turn = turn;
                let limits = search::SessionSearchLimits::default();
                let mut found =
                    search::search(&folder, &params.query, &here.mine, limits, &*is_wanted)?;
                found.matches.iter_mut().for_each(|found| here.count_edits(&mut found.session));
                Ok(found)
            });
            reply.send(found.await.map_err(unknown_or));
        });
    }

    pub(crate) fn open_session(
        &mut self,
        params: OpenSessionParams,
        reply: Responder<OpenSessionResult>,
    ) {
        let OpenSessionParams { session_id, before, before_turn, before_call } = params;
        let id = SessionId::from(session_id);
        let path = match self.journal_of(&id) {
            Ok(path) => path,
            Err(error) => return reply.send(Err(error)),
        };
        let entry = before
            .map(|before| before.parse().ok().filter(|number| *number > 0).map(PageEnd::Entry));
        let turn = before_turn.map(|turn| Some(PageEnd::Turn(turn.into())));
        let call = before_call.map(|call| Some(PageEnd::Call(call.into())));
        if let Some(end) = entry.or(turn).or(call) {
            return self.answer_in_background(reply, move || {
                let read = |end| sessions::page(&path, end);
                let page = end.map(read).transpose().map_err(|error| unknown_or(error.into()))?;
                let page = page
                    .flatten()
                    .ok_or_else(|| RequestError::from(RequestProblem::InvalidPage))?;
                Ok(OpenSessionResult::Earlier { transcript: page.entries, earlier: page.earlier })
            });
        }
        let held = self.entries.get(&id).filter(|session| session.read_only.is_none());
        let writer = held.and_then(|session| session.journal.clone());
        let is_held = held.is_some();
        self.read_in_background(reply, async move {
            saved(writer).await;
            blocking(move || {
                if is_held {
                    let page = sessions::page(&path, PageEnd::Journal).map_err(Fault::from)?;
                    let page = page.unwrap_or_default();
                    Ok(What::Newest(id, page))
                } else {
                    Ok(What::Session(Box::new(sessions::load(&path).map_err(Fault::from)?)))
                }
            })
            .await
        });
    }

    pub(crate) fn fork_session(
        &mut self,
        params: ForkSessionParams,
        reply: Responder<OpenSessionResult>,
    ) {
        let ForkSessionParams { session_id, at_turn } = params;
        let from = SessionId::from(session_id);
        let (Ok(_), Some(folder)) = (self.journal_of(&from), self.state_dir.clone()) else {
            return reply.send(Err(unknown()));
        };
        let session = self.entries.get(&from);
        let writer = session.and_then(|session| session.journal.clone());
        // The last turn of a session that is not in memory may run in another process.
        let whole = session.is_some_and(|session| {
            let elsewhere = session.read_only.as_ref().map(|it| it.reason);
            session.turn.is_none() && elsewhere != Some(ReadOnlyReason::OpenElsewhere)
        });
        let to = SessionId::from(new_id("s"));
        self.read_in_background(reply, async move {
            saved(writer).await;
            blocking(move || {
                let name = session_list::fork(&folder, &from, &to, at_turn.as_deref(), whole)?;
                let loaded = sessions::load(&sessions::journal_path(&folder, &to))?;
                Ok(What::Session(Box::new(Loaded { name, ..loaded })))
            })
            .await
        });
    }

    pub(crate) fn rename_session(&mut self, params: RenameSessionParams, reply: Responder<Empty>) {
        let id = SessionId::from(params.session_id);
        let (Ok(_), Some(folder)) = (self.journal_of(&id), self.state_dir.clone()) else {
            return reply.send(Err(unknown()));
        };
        let Some(name) = sessions::name(&params.name) else {
            return reply.send(Err(RequestError::from(RequestProblem::SessionNameInvalid {
                limit: sessions::NAME as u32,
            })));
        };
        let name = (!name.is_empty()).then(|| name.to_owned());
        if let Some(session) = self.entries.get_mut(&id)
            && (session.journal.is_some() || session.read_only.is_some())
        {
            if let Some(refused) = session.locked() {
                return reply.send(Err(refused));
            }
            session.name = name;
            let digest = session.digest();
            self.write(&id, &Line::Digest(digest));
            return self.answer_saved(&id, Ok(Empty {}), reply);
        }
        self.answer_in_background(reply, move || {
            session_list::rename(&folder, &id, name).map(|()| Empty {}).map_err(unknown_or)
        });
    }

    pub(crate) fn delete_session(&mut self, params: DeleteSessionParams, reply: Responder<Empty>) {
        let id = SessionId::from(params.session_id);
        let (Ok(_), Some(folder)) = (self.journal_of(&id), self.state_dir.clone()) else {
            return reply.send(Err(unknown()));
        };
        if self.entries.get(&id).is_some_and(|session| session.turn.is_some()) {
            let error = RequestError::from(RequestProblem::SessionRunning);
            return reply.send(Err(error));
        }
        let writer = self.let_go(&id);
        self.services.spawn(async move {
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

    pub(crate) fn restore_session(
        &mut self,
        params: RestoreSessionParams,
        reply: Responder<Empty>,
    ) {
        let id = SessionId::from(params.session_id);
        let (Ok(_), Some(folder)) = (self.journal_of(&id), self.state_dir.clone()) else {
            return reply.send(Err(unknown()));
        };
        self.answer_in_background(reply, move || {
            trash::restore(&folder, &id).map(|()| Empty {}).map_err(unknown_or)
        });
    }

    pub(crate) fn export_session(
        &self,
        params: ExportSessionParams,
        reply: Responder<ExportSessionResult>,
    ) {
        let ExportSessionParams { session_id, format } = params;
        let id = SessionId::from(session_id);
        let (Ok(_), Some(folder)) = (self.journal_of(&id), self.state_dir.clone()) else {
            return reply.send(Err(unknown()));
        };
        let writer = self.entries.get(&id).and_then(|session| session.journal.clone());
        self.services.spawn(async move {
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

    /// Handles the result of a background read.
    pub(super) fn read(&mut self, read: Read) {
        let Read { what, reply } = read;
        let (id, page) = match what {
            What::Newest(id, page) => (id, page),
            What::Session(mut loaded) => {
                let id = loaded.header.session_id.clone();
                let page = std::mem::take(&mut loaded.page);
                let known = self.entries.get(&id);
                // Another request may have opened it since.
                if known.is_none_or(|session| session.read_only.is_some()) {
                    self.let_go(&id);
                    self.restore(*loaded, RestoreOrder::Newest);
                }
                (id, page)
            }
        };
        self.bring_into_view(&id);
        self.let_old_ones_go();
        let unwritten = self.unwritten_messages(&id);
        let session = self.snapshot_of(&id).ok_or_else(unknown).map(|session| {
            let Page { entries: mut transcript, earlier } = page;
            transcript.extend(unwritten.into_iter().map(TranscriptEntry::Message));
            Box::new(SessionSnapshot { transcript, earlier, ..session })
        });
        reply.send(session.map(|session| OpenSessionResult::Opened { session }));
    }

    /// Makes a session the newest: it is restored at the next start, and dropped last.
    pub(super) fn bring_into_view(&mut self, id: &SessionId) {
        self.order.retain(|known| known != id);
        if let Some(session) = self.entries.get(id) {
            self.order.push(id.to_owned());
            self.write(id, &Line::Digest(session.digest()));
        }
    }

    /// Deletes sessions beyond the limit of age and number, in the background.
    pub(super) fn prune_sessions(&self) {
        let Some(folder) = self.state_dir.clone() else { return };
        self.services.spawn(async move {
            let pruned = tokio::task::spawn_blocking(move || {
                trash::empty(&folder, trash::KEPT)?;
                session_list::prune(&folder)
            })
            .await;
            match pruned {
                Ok(Ok(0)) | Err(_) => {}
                Ok(Ok(removed)) => tracing::info!("{removed} old sessions were removed"),
                Ok(Err(error)) if error.kind() == io::ErrorKind::NotFound => {}
                Ok(Err(error)) => tracing::warn!("old sessions were not removed: {error}"),
            }
        });
    }

    pub(super) fn journal_of(&self, id: &SessionId) -> Outcome<PathBuf> {
        let folder =
            self.state_dir.as_ref().filter(|_| session_list::is_id(id)).ok_or_else(unknown)?;
        Ok(sessions::journal_path(folder, id))
    }

    /// Drops a session from memory. Dropping the result releases its journal.
    fn let_go(&mut self, id: &SessionId) -> Option<Arc<Writer>> {
        self.order.retain(|known| known != id);
        self.services.processes.forget(id);
        self.questions.forget(id);
        self.entries.remove(id)?.journal
    }

    /// Drops the oldest idle sessions: other processes may need their journals, and each holds a
    /// conversation in memory.
    fn let_old_ones_go(&mut self) {
        while self.order.len() > HELD {
            let view = self.order.len() - 1;
            let idle = self.order[..view].iter().find(|id| {
                self.entries.get(*id).is_none_or(|session| {
                    let on_disk = session.journal.is_some() || session.read_only.is_some();
                    let runs = self.services.processes.has_running(id);
                    session.turn.is_none() && on_disk && !runs
                })
            });
            let Some(id) = idle.cloned() else { return };
            self.let_go(&id);
        }
    }

    fn read_in_background(
        &self,
        reply: Responder<OpenSessionResult>,
        reading: impl Future<Output = Result<What, Fault>> + Send + 'static,
    ) {
        let mailbox = self.mailbox.clone();
        self.services.spawn(async move {
            match reading.await {
                Ok(what) => mailbox.send(SessionEvent::Read(Read { what, reply })),
                Err(fault) => reply.send(Err(unknown_or(fault))),
            }
        });
    }

    pub(super) fn answer_in_background<T: Send + 'static>(
        &self,
        reply: Responder<T>,
        work: impl FnOnce() -> Outcome<T> + Send + 'static,
    ) {
        self.services.spawn(async move {
            // A panic drops the reply, which answers the request with an error.
            if let Ok(result) = tokio::task::spawn_blocking(work).await {
                reply.send(result);
            }
        });
    }
}

impl Sessions {
    pub(super) fn snapshot_of(&mut self, session_id: &SessionId) -> Option<SessionSnapshot> {
        let last = self.entries.get(session_id)?.last_turn.clone();
        let usage = last.and_then(|turn| self.usage_of(session_id, &turn.turn_id.as_str().into()));
        let session = self.entries.get(session_id)?;
        let (subagents, calls) = self.subagents_of(session);
        Some(SessionSnapshot {
            session_id: session.id.clone().into(),
            task: session.task.clone(),
            name: session.name.clone(),
            title: session.title.clone(),
            turn: session.last_turn.clone(),
            plan: session.plan.clone(),
            tools: session.tools.iter().cloned().chain(calls).collect(),
            queue: Some(queue::snapshot(session)).filter(|queue| !queue.items.is_empty()),
            subagents,
            processes: self.processes_of(session_id),
            transcript: session.before.clone(),
            earlier: session.earlier.clone(),
            usage: usage.filter(|usage| usage.session != Usage::default()),
            read_only: session.read_only.clone(),
        })
    }
}

/// Waits until the queued records are in the file, or their writing failed.
pub(super) async fn saved(writer: Option<Arc<Writer>>) {
    if let Some(writer) = writer {
        let saving = writer.sync();
        drop(writer);
        let _ = saving.await;
    }
}

pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(Fault::Io(io::Error::other(error))))
}

fn unknown() -> RequestError {
    RequestError::from(RequestProblem::SessionNotFound)
}

fn unreadable(error: io::Error) -> RequestError {
    RequestError::from(RequestProblem::SessionUnreadable { reason: error.to_string() })
}

pub(super) fn unknown_or(fault: Fault) -> RequestError {
    match fault {
        Fault::Unknown => unknown(),
        Fault::UnknownTurn => RequestError::from(RequestProblem::NoEndedTurn),
        Fault::Locked => RequestError::from(RequestProblem::SessionOpenElsewhere),
        Fault::Io(error) => unreadable(error),
    }
}

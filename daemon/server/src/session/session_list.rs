//! The sessions of this workspace, beyond those in memory: listed, opened, forked, deleted, exported.
//!
//! What takes time is done in tasks of their own; what they read comes back as an event. Must never
//! let a turn start in a session whose journal is not ours.

use std::{collections::HashMap, io, path::PathBuf, sync::Arc};

use cairn_protocol::{
    DeleteSessionParams, Empty, ErrorKind, ExportSessionParams, ExportSessionResult,
    ForkSessionParams, ListSessionsParams, ListSessionsResult, OpenSessionParams,
    OpenSessionResult, ReadOnlyReason, SessionSnapshot, Usage,
};

use super::{
    Sessions,
    entry::{SessionEntry, new_id},
    event::{Read, SessionEvent, What},
    persistence::Place,
    queue,
};
use crate::{
    event::{Reply, RequestError},
    store::{
        export::{self, Exported},
        journal::Writer,
        session_list::{self, Fault, SessionFlags},
        sessions::{self, Line, Page},
    },
    workspace::uri_of,
};

/// Sessions that stay in memory, each holding its journal, when another one is opened.
const HELD: usize = 8;

type Outcome<T> = Result<T, RequestError>;

impl Sessions {
    pub(crate) fn list_sessions(
        &self,
        params: ListSessionsParams,
        reply: Reply<ListSessionsResult>,
    ) {
        let Some(folder) = self.state_dir.clone() else {
            return drop(reply.send(Ok(ListSessionsResult::default())));
        };
        let current = self.order.last();
        let mine = |session: &SessionEntry| SessionFlags {
            running: session.turn.is_some(),
            current: current == Some(&session.id),
            held: session.journal.is_some(),
        };
        let mine: HashMap<String, SessionFlags> =
            self.entries.iter().map(|(id, session)| (id.clone(), mine(session))).collect();
        self.answer_in_background(reply, move || {
            let ListSessionsParams { cursor, limit } = params;
            session_list::page(&folder, cursor.as_deref(), limit, &mine).map_err(unreadable)
        });
    }

    pub(crate) fn open_session(
        &mut self,
        params: OpenSessionParams,
        reply: Reply<OpenSessionResult>,
    ) {
        let OpenSessionParams { session_id: id, before } = params;
        let path = match self.journal_of(&id) {
            Ok(path) => path,
            Err(error) => return drop(reply.send(Err(error))),
        };
        if let Some(before) = before {
            return self.answer_in_background(reply, move || {
                let number = before.parse().ok().filter(|number| *number > 0);
                let number = number.ok_or_else(|| {
                    let what = "before is not what a snapshot or a page gave as earlier";
                    RequestError::new(ErrorKind::InvalidParams, what, "Open the session again.")
                })?;
                let Page { transcript, earlier } = sessions::page(&path, Some(number))
                    .map_err(|error| unknown_or(error.into()))?;
                let earlier = earlier.map(|number| number.to_string());
                Ok(OpenSessionResult::Earlier { transcript, earlier })
            });
        }
        let held = self.entries.get(&id).filter(|session| session.read_only.is_none());
        let writer = held.and_then(|session| session.journal.clone());
        let is_held = held.is_some();
        self.read_in_background(reply, async move {
            saved(writer).await;
            blocking(move || {
                if is_held {
                    let page = sessions::page(&path, None).map_err(Fault::from)?;
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
        reply: Reply<OpenSessionResult>,
    ) {
        let ForkSessionParams { session_id: from, at_turn } = params;
        let (Ok(_), Some(folder)) = (self.journal_of(&from), self.state_dir.clone()) else {
            return drop(reply.send(Err(unknown())));
        };
        let session = self.entries.get(&from);
        let writer = session.and_then(|session| session.journal.clone());
        // Of one that is not here, its last turn may run elsewhere.
        let whole = session.is_some_and(|session| {
            let elsewhere = session.read_only.as_ref().map(|it| it.reason);
            session.turn.is_none() && elsewhere != Some(ReadOnlyReason::OpenElsewhere)
        });
        let to = new_id("s");
        self.read_in_background(reply, async move {
            saved(writer).await;
            blocking(move || {
                session_list::fork(&folder, &from, &to, at_turn.as_deref(), whole)?;
                let loaded = sessions::load(&sessions::journal_path(&folder, &to))?;
                Ok(What::Session(Box::new(loaded)))
            })
            .await
        });
    }

    pub(crate) fn delete_session(&mut self, params: DeleteSessionParams, reply: Reply<Empty>) {
        let id = params.session_id;
        let (Ok(_), Some(folder)) = (self.journal_of(&id), self.state_dir.clone()) else {
            return drop(reply.send(Err(unknown())));
        };
        if self.entries.get(&id).is_some_and(|session| session.turn.is_some()) {
            let hint = "Cancel its turn first.";
            let error = RequestError::new(ErrorKind::SessionLocked, "The session runs", hint);
            return drop(reply.send(Err(error)));
        }
        let writer = self.let_go(&id);
        self.services.spawn(async move {
            if let Some(writer) = writer {
                // What could not be saved is to be deleted anyway.
                let _ = writer.close().await;
            }
            let deleted = blocking(move || {
                session_list::delete(&folder, &id)?;
                export::forget(&folder, &id);
                Ok(Empty {})
            });
            drop(reply.send(deleted.await.map_err(unknown_or)));
        });
    }

    pub(crate) fn export_session(
        &self,
        params: ExportSessionParams,
        reply: Reply<ExportSessionResult>,
    ) {
        let ExportSessionParams { session_id: id, format } = params;
        let (Ok(_), Some(folder)) = (self.journal_of(&id), self.state_dir.clone()) else {
            return drop(reply.send(Err(unknown())));
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
            drop(reply.send(exported.await.map_err(unknown_or)));
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
                // Another request may have been quicker.
                if known.is_none_or(|session| session.read_only.is_some()) {
                    self.let_go(&id);
                    self.restore(*loaded, Place::Last);
                }
                (id, page)
            }
        };
        self.bring_into_view(&id);
        self.let_old_ones_go();
        let session = self.snapshot_of(&id).ok_or_else(unknown).map(|session| {
            let Page { transcript, earlier } = page;
            let earlier = earlier.map(|number| number.to_string());
            Box::new(SessionSnapshot { transcript, earlier, ..session })
        });
        drop(reply.send(session.map(|session| OpenSessionResult::Opened { session })));
    }

    /// The one to come back at the next start, and to go last when memory is short.
    pub(super) fn bring_into_view(&mut self, id: &str) {
        self.order.retain(|known| known != id);
        if let Some(session) = self.entries.get(id) {
            self.order.push(id.to_owned());
            self.write(id, &Line::Digest(session.digest()));
        }
    }

    /// Sessions too old to be kept, in the background.
    pub(super) fn prune_sessions(&self) {
        let Some(folder) = self.state_dir.clone() else { return };
        self.services.spawn(async move {
            let pruned = tokio::task::spawn_blocking(move || session_list::prune(&folder)).await;
            match pruned {
                Ok(Ok(0)) | Err(_) => {}
                Ok(Ok(removed)) => tracing::info!("{removed} old sessions were removed"),
                Ok(Err(error)) if error.kind() == io::ErrorKind::NotFound => {}
                Ok(Err(error)) => tracing::warn!("old sessions were not removed: {error}"),
            }
        });
    }

    fn journal_of(&self, id: &str) -> Outcome<PathBuf> {
        let folder =
            self.state_dir.as_ref().filter(|_| session_list::is_id(id)).ok_or_else(unknown)?;
        Ok(sessions::journal_path(folder, id))
    }

    /// Out of memory. Its journal is freed when what it returns is dropped.
    fn let_go(&mut self, id: &str) -> Option<Arc<Writer>> {
        self.order.retain(|known| known != id);
        self.entries.remove(id)?.journal
    }

    /// Others may want their journals, and each is a conversation in memory.
    fn let_old_ones_go(&mut self) {
        while self.order.len() > HELD {
            let view = self.order.len() - 1;
            let idle = self.order[..view].iter().find(|id| {
                self.entries.get(*id).is_none_or(|session| {
                    let on_disk = session.journal.is_some() || session.read_only.is_some();
                    session.turn.is_none() && on_disk
                })
            });
            let Some(id) = idle.cloned() else { return };
            self.let_go(&id);
        }
    }

    fn read_in_background(
        &self,
        reply: Reply<OpenSessionResult>,
        reading: impl Future<Output = Result<What, Fault>> + Send + 'static,
    ) {
        let mailbox = self.mailbox.clone();
        self.services.spawn(async move {
            match reading.await {
                Ok(what) => mailbox.send(SessionEvent::Read(Read { what, reply })),
                Err(fault) => drop(reply.send(Err(unknown_or(fault)))),
            }
        });
    }

    pub(super) fn answer_in_background<T: Send + 'static>(
        &self,
        reply: Reply<T>,
        work: impl FnOnce() -> Outcome<T> + Send + 'static,
    ) {
        self.services.spawn(async move {
            // One that panicked drops the reply, which answers too.
            if let Ok(result) = tokio::task::spawn_blocking(work).await {
                drop(reply.send(result));
            }
        });
    }
}

impl Sessions {
    pub(super) fn snapshot_of(&mut self, session_id: &str) -> Option<SessionSnapshot> {
        let last = self.entries.get(session_id)?.last_turn.clone();
        let usage = last.and_then(|turn| self.usage_of(session_id, &turn.turn_id));
        let session = self.entries.get(session_id)?;
        let (children, calls) = self.subagents_of(session);
        Some(SessionSnapshot {
            session_id: session.id.clone(),
            task: session.task.clone(),
            turn: session.last_turn.clone(),
            plan: session.plan.clone(),
            tools: session.tools.iter().cloned().chain(calls).collect(),
            queue: Some(queue::snapshot(session)).filter(|queue| !queue.items.is_empty()),
            children,
            transcript: session.before.clone(),
            earlier: session.earlier.map(|number| number.to_string()),
            usage: usage.filter(|usage| usage.session != Usage::default()),
            read_only: session.read_only.clone(),
        })
    }
}

/// Everything that was told so far is in the file, or cannot be for now.
async fn saved(writer: Option<Arc<Writer>>) {
    if let Some(writer) = writer {
        let saving = writer.sync();
        drop(writer);
        let _ = saving.await;
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(Fault::Io(io::Error::other(error))))
}

fn unknown() -> RequestError {
    RequestError::new(
        ErrorKind::UnknownSession,
        "There is no such session in this workspace",
        "Look for another one with Cairn: Open Session.",
    )
}

fn unreadable(error: io::Error) -> RequestError {
    RequestError::new(
        ErrorKind::Internal,
        format!("The session cannot be read: {error}"),
        "The log and docs/sessions.md say where its file is.",
    )
}

fn unknown_or(fault: Fault) -> RequestError {
    match fault {
        Fault::Unknown => unknown(),
        Fault::UnknownTurn => RequestError::new(
            ErrorKind::InvalidParams,
            "No turn of this session is over that could be taken along",
            "Wait for the end of its turn.",
        ),
        Fault::Locked => RequestError::new(
            ErrorKind::SessionLocked,
            "Another window has this session",
            "Close it there first.",
        ),
        Fault::Io(error) => unreadable(error),
    }
}

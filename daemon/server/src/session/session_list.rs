//! Stored sessions of this workspace: list, search, open, fork, rename, delete,
//! restore, export.
//!
//! Disk access runs in background tasks; results return as events. No turn starts in a session
//! whose journal another process holds.

use std::{
    collections::{HashMap, HashSet},
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use cairn_core::{ids::SessionId, prompt::Surroundings, turn::Session};
use cairn_protocol::{
    RequestProblem, ReviewMode, SessionFacts, SessionNews, SessionSnapshot, SubagentNotification,
    ToolNotification, Usage,
};

use super::{
    SessionEvent, Sessions,
    entry::{Queue, SessionEntry},
    processes,
    work::PlanWork,
};
use crate::{
    event::{RequestError, Responder},
    ports::Mailbox,
    review::{Reviews, SessionEdits},
    store::{
        journal::Writer,
        session_list::{self, Fault, SessionFlags, trash},
        sessions::Digest,
    },
};

/// Maximum number of sessions that stay in memory, with their journals, when another one is opened.
const HELD: usize = 8;

type Outcome<T> = Result<T, RequestError>;

impl Sessions {
    /// Facts of this process about sessions, for a list.
    pub(super) fn listed(&self, reviews: &Reviews) -> HashMap<SessionId, SessionFlags> {
        let edits = reviews.edits_by_session();
        let asking: HashSet<&SessionId> = self
            .entries
            .values()
            .filter(|session| session.asks_user())
            .map(SessionEntry::root)
            .collect();
        let pending =
            |it: &SessionEdits| SessionFlags { pending: it.pending, ..SessionFlags::default() };
        let mut mine: HashMap<SessionId, SessionFlags> =
            edits.iter().map(|(id, edits)| (id.clone(), pending(edits))).collect();
        for session in self.entries.values() {
            let flags = mine.entry(session.id.clone()).or_default();
            flags.current = self.order.last() == Some(&session.id);
            flags.held = session
                .journal
                .is_some()
                .then(|| Digest { running: session.turn.is_some(), ..session.digest() });
            flags.waiting = asking.contains(&session.id)
                || edits.get(&session.id).is_some_and(|edits| edits.awaited);
        }
        mine
    }

    /// Creates a session of the user without turns and without a journal.
    pub(super) fn new_entry(
        &self,
        id: &SessionId,
        machine: Session,
        surroundings: Surroundings,
        mode: ReviewMode,
    ) -> SessionEntry {
        let mailbox = self.mailbox.clone();
        SessionEntry {
            services: self.services.clone(),
            mailbox: Mailbox::new(move |(session, turn, news)| {
                mailbox.send(SessionEvent::Turn(session, turn, news));
            }),
            machine,
            id: id.clone(),
            subagent: None,
            waiting: Vec::new(),
            shown: Vec::new(),
            turn: None,
            began: None,
            encoded: None,
            surroundings,
            instructed: HashSet::new(),
            mode,
            trusted: true,
            allowed: HashSet::new(),
            news: SessionNews::default(),
            task: None,
            title: None,
            facts: SessionFacts::default(),
            turns: 0,
            plan: None,
            plan_stale: false,
            completed_items: Vec::new(),
            work: PlanWork::default(),
            tools: Vec::new(),
            queue: Queue::default(),
            stream: None,
            messages: 0,
            unread: Vec::new(),
            journal: None,
            read_only: None,
            before: Vec::new(),
            earlier: None,
        }
    }

    /// Makes a session the newest: it is restored at the next start, and dropped last.
    pub(super) fn bring_into_view(&mut self, id: &SessionId) {
        self.order.retain(|known| known != id);
        self.order.push(id.clone());
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

    /// Folder with the journal of a session. `None`: no state is stored, or this is no id.
    pub(super) fn folder_of(&self, id: &SessionId) -> Option<PathBuf> {
        self.state_dir.clone().filter(|_| session_list::is_id(id))
    }

    /// Drops a session from memory. Dropping the result releases its journal.
    pub(super) fn unload(&mut self, id: &SessionId) -> Option<Arc<Writer>> {
        self.order.retain(|known| known != id);
        self.services.processes.forget(id);
        self.questions.retain(|_, question| *id != question.params.session_id);
        self.entries.remove(id)?.journal
    }

    /// Drops the oldest idle sessions: other processes may need their journals, and each holds a
    /// conversation in memory.
    pub(super) fn evict_idle(&mut self) {
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
            self.unload(&id);
        }
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

    /// Answers with the result of work on a stored session, once its queued records are in the file.
    pub(super) fn answer_from_disk<T: Send + 'static>(
        &self,
        id: SessionId,
        reply: Responder<T>,
        work: impl FnOnce(&Path, &SessionId) -> Result<T, Fault> + Send + 'static,
    ) {
        let Some(folder) = self.folder_of(&id) else { return reply.send(Err(unknown())) };
        let writer = self.entries.get(&id).and_then(|session| session.journal.clone());
        self.services.spawn(async move {
            saved(writer).await;
            let done = blocking(move || work(&folder, &id)).await;
            reply.send(done.map_err(unknown_or));
        });
    }

    /// Returns the subagents of a session for a client, with the calls of those that the newest
    /// turn started.
    fn subagents_of(
        &self,
        session: &SessionEntry,
    ) -> (Vec<SubagentNotification>, Vec<ToolNotification>) {
        let turn = session.news.turn.as_ref().map(|turn| &turn.turn_id);
        let (mut notes, mut calls) = (Vec::new(), Vec::new());
        for it in &session.shown {
            if Some(&it.note.parent.turn_id) == turn {
                let running = self.entries.get(&it.note.session_id.as_str().into());
                calls.extend(running.map_or(&it.calls, |subagent| &subagent.tools).iter().cloned());
            }
            notes.push(it.note.clone());
        }
        (notes, calls)
    }

    pub(super) fn snapshot_of(&self, session_id: &SessionId) -> Option<SessionSnapshot> {
        let session = self.entries.get(session_id)?;
        let usage = session.news.turn.as_ref().map(|_| session.usage());
        let (subagents, calls) = self.subagents_of(session);
        Some(SessionSnapshot {
            session_id: session_id.into(),
            task: session.task.clone(),
            facts: session.facts.clone(),
            title: session.title.clone(),
            news: session.news.clone(),
            plan: session.plan.clone(),
            tools: session.tools.iter().cloned().chain(calls).collect(),
            queue: Some(session.queue_state()).filter(|queue| !queue.items.is_empty()),
            subagents,
            processes: processes::infos(&self.services, session_id),
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

pub(super) fn unknown() -> RequestError {
    RequestError::from(RequestProblem::SessionNotFound)
}

pub(super) fn unreadable(error: io::Error) -> RequestError {
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

//! Restores sessions when their workspace opens, and closes their journals.

use std::{io, sync::Arc};

use cairn_core::{
    ids::{SessionId, TurnId},
    turn::{Input, RestoredSession, Session, TurnSettings},
};
use cairn_protocol::{
    EndReason, MessageRole, PlanNotification, ReadOnlyReason, TurnPhase, TurnProblem, Usage,
};
use futures_util::future::join_all;

use super::{
    SessionEvent, Sessions,
    entry::{Queue, SessionEntry},
    event::SavedState,
    work::PlanWork,
};
use crate::{
    event::{Remember, RequestError, Responder},
    review::{FoundReviews, Reviews},
    store::{
        journal::{self, Journal, Writer},
        session_list::{self, Newest},
        sessions::{self, EndedLine, Line, Loaded, TurnLine},
    },
};

impl Sessions {
    /// Reads the stored state of the workspace in the background, then restores it.
    pub(super) fn look_for_sessions(&mut self, remember: Remember) {
        let folders =
            self.services.workspace.as_ref().map(|workspace| workspace.folders().to_vec());
        self.state_dir = match (remember, &self.config.environment.state_dir, folders) {
            (Remember::Sessions | Remember::Conversations, Some(state), Some(folders)) => {
                Some(sessions::folder(state, &folders))
            }
            (Remember::Sessions | Remember::Conversations | Remember::Nothing, _, _) => None,
        };
        if remember == Remember::Conversations {
            return;
        }
        let Some(folder) = self.state_dir.clone() else { return };
        self.restoring = true;
        let workspace = self.services.workspace.clone();
        let on_storage = self.on_storage();
        let found = move || SavedState {
            session: session_list::newest(&folder),
            pending: workspace.map(|workspace| FoundReviews::find(&folder, &workspace, on_storage)),
        };
        self.after(tokio::task::spawn_blocking(found), |sessions, found, reviews| {
            sessions.on_saved_state(found.unwrap_or_default(), reviews);
        });
    }

    /// Restores the state of an earlier process.
    pub(super) fn on_saved_state(&mut self, found: SavedState, reviews: &mut Reviews) {
        self.restoring = false;
        match found.session {
            Some(Newest::Here(loaded)) => self.restore(*loaded),
            Some(Newest::Elsewhere) => self.status.on_locked_by_other_window(),
            None => {}
        }
        match found.pending {
            Some(Ok(pending)) => reviews.restore(pending),
            Some(Err(error)) => {
                if error.kind() == io::ErrorKind::WouldBlock {
                    self.status.on_locked_by_other_window();
                }
                tracing::warn!("proposed edits are not kept: {error}");
            }
            None => {}
        }
        self.prune_sessions();
    }

    /// Restores a session, before those that began since the start.
    pub(super) fn restore(&mut self, loaded: Loaded) {
        let Loaded { header, facts, streamed, page, messages, hold } = loaded;
        let id = header.session_id.clone();
        if self.entries.contains_key(&id) {
            return;
        }
        self.services.rev_after(facts.rev);
        let settings = self.config.turn_settings(&self.config.choice.info.name);
        let machine = machine(settings, facts.memory, facts.unheard);
        let (journal, read_only) = match hold {
            Ok(journal) => (started(Writer::spawn(journal, self.on_storage())), None),
            Err(cause) => (None, Some(cause)),
        };
        let (turn, plan) = (facts.turn, facts.plan);
        let mode = turn.as_ref().map_or(self.config.settings.review_mode, |(turn, _)| turn.mode);
        let mut entry = SessionEntry {
            task: turn.as_ref().map(|(turn, _)| turn.task.clone()),
            title: facts.title,
            facts: facts.session,
            turns: facts.turns,
            work: PlanWork::of(plan.as_ref(), facts.history),
            tools: facts.tools,
            queue: Queue::restored(facts.queue),
            messages,
            journal,
            read_only,
            before: page.entries,
            earlier: page.earlier,
            ..self.new_entry(&id, machine, header.surroundings, mode)
        };
        let interrupted = matches!(&turn, Some((_, None)));
        let ended = turn.map(|(TurnLine { turn_id, .. }, ended)| {
            ended.unwrap_or_else(|| interruption(&entry, turn_id))
        });
        if let Some(ended) = &ended {
            let phase = phase_of_end(&entry, ended, interrupted);
            entry.restore_turn(&ended.turn_id, self.services.next_rev(), phase, interrupted);
        }
        if let Some(record) = streamed {
            entry.write(&Line::Step(record));
        }
        // The system prompt and the tools are not known yet; the next turn adds their tokens.
        entry.measure(&self.config, "", &[]);
        entry.write_steps();
        entry.restore_subagents(facts.subagents);
        if let Some(turn_id) = turn_of_plan(plan, &entry) {
            entry.publish_plan(&self.config, &turn_id.into(), Vec::new());
        }
        if let Some(ended) = ended.filter(|_| interrupted) {
            entry.keep_plan(ended.reason);
            entry.write(&Line::Ended(ended));
        }
        self.entries.insert(id.clone(), entry);
        self.order.insert(0, id);
    }

    /// Creates the journal of a new session.
    pub(super) fn begin_journal(&self, id: &SessionId) -> Option<Arc<Writer>> {
        let path = sessions::journal_path(self.state_dir.as_ref()?, id);
        started(Writer::spawn_with(move || Journal::create(&path), self.on_storage()))
    }

    /// Ends the turns that run, because the editor closed the connection (`closed`) or a signal ends
    /// the daemon. Their text stays.
    pub(crate) fn interrupt(&mut self, closed: bool) {
        for id in &self.order {
            let Some(session) = self.entries.get_mut(id) else { continue };
            let Some(turn) = session.turn.take() else { continue };
            let stream = session.stream.take();
            let answer = stream.filter(|stream| stream.role == MessageRole::Assistant);
            if let Some(record) = answer.and_then(|it| sessions::unfinished(&it.text)) {
                session.write(&Line::Step(record));
            }
            session.cancel_tools(|state| !state.is_over());
            let summary = if closed { CLOSED } else { INTERRUPTED }.to_owned();
            let ended = session.ended(turn.id, EndReason::Interrupted, summary);
            session.write(&Line::Ended(EndedLine { closed, ..ended }));
        }
    }

    /// Writes all queued records to disk and releases the sessions for another process.
    pub(crate) async fn close_journals(&mut self) {
        let journals = self.entries.iter_mut().filter_map(|(id, session)| {
            let journal = session.journal.take()?;
            Some((id.clone(), journal))
        });
        let (ids, journals): (Vec<SessionId>, Vec<Arc<Writer>>) = journals.unzip();
        // A call that is being cancelled may have a journal, too.
        for closed in join_all(journals.iter().map(|journal| journal.close())).await {
            if let Err(reason) = closed {
                tracing::error!("a session was not written to its end: {reason}");
            }
        }
        let (Some(in_view), Some(folder)) = (self.order.last(), self.state_dir.clone()) else {
            return;
        };
        if ids.len() > 1 && ids.contains(in_view) {
            let in_view = in_view.clone();
            let marked = move || session_list::mark_newest(&folder, &in_view, &ids);
            match tokio::task::spawn_blocking(marked).await {
                Ok(Ok(())) | Err(_) => {}
                Ok(Err(error)) => tracing::warn!("another session may come back: {error}"),
            }
        }
    }

    fn on_storage(&self) -> impl Fn(journal::State) + Send + 'static {
        let mailbox = self.mailbox.clone();
        move |state| mailbox.send(SessionEvent::Storage(state))
    }

    /// Answers after the records of the request are on disk. A journal that cannot be written does
    /// not delay the answer; the status reports it.
    pub(crate) fn reply_when_saved<T: Send + 'static>(
        &self,
        session_id: &SessionId,
        answer: Result<T, RequestError>,
        reply: Responder<T>,
    ) {
        let journal = self.entries.get(session_id).and_then(|session| session.journal.as_ref());
        match (answer, journal) {
            (Ok(answer), Some(journal)) => {
                let saved = journal.sync();
                self.services.spawn(async move {
                    let _ = saved.await;
                    reply.send(Ok(answer));
                });
            }
            (answer, _) => reply.send(answer),
        }
    }
}

const ELSEWHERE: &str = "It may be at work in the window that has it.";

const INTERRUPTED: &str =
    "Interrupted: Cairn ended while the agent worked. Its conversation and plan were kept.";

const CLOSED: &str = "Interrupted: the window was closed or reloaded, or it crashed. Its conversation and plan were kept.";

fn started(writer: std::io::Result<Writer>) -> Option<Arc<Writer>> {
    match writer {
        Ok(writer) => Some(Arc::new(writer)),
        Err(error) => {
            tracing::error!("a session is not written down: {error}");
            None
        }
    }
}

/// True if another window has the session open.
fn is_elsewhere(entry: &SessionEntry) -> bool {
    entry.read_only.as_ref().is_some_and(|why| why.reason == ReadOnlyReason::OpenElsewhere)
}

/// The turn machine of a stored session. `unheard`: task that is not in its conversation.
fn machine(settings: TurnSettings, memory: RestoredSession, unheard: Option<String>) -> Session {
    let mut machine = Session::restore(settings, memory);
    if let Some(text) = unheard {
        machine.step(Input::Notice { text: format!("The user had said: {text}") });
    }
    machine
}

/// Turn whose plan is shown. `None`: there is no plan.
fn turn_of_plan(plan: Option<PlanNotification>, entry: &SessionEntry) -> Option<String> {
    match (plan, &entry.news.turn) {
        (Some(PlanNotification { turn_id, .. }), _) => Some(turn_id),
        // It was created just before the end of the process and never shown.
        (None, Some(turn)) if !entry.machine.plan().is_empty() => Some(turn.turn_id.clone()),
        (None, _) => None,
    }
}

/// End of a turn of which the journal has no end.
fn interruption(entry: &SessionEntry, turn_id: TurnId) -> EndedLine {
    let summary = if is_elsewhere(entry) { ELSEWHERE } else { INTERRUPTED }.to_owned();
    EndedLine { usage: Usage::default(), ..entry.ended(turn_id, EndReason::Interrupted, summary) }
}

fn phase_of_end(entry: &SessionEntry, ended: &EndedLine, interrupted: bool) -> TurnPhase {
    let mut phase = ended.clone().into();
    if let TurnPhase::Ended { problem, .. } = &mut phase
        && interrupted
        && is_elsewhere(entry)
    {
        *problem = Some(TurnProblem::RunsElsewhere.message());
    }
    phase
}

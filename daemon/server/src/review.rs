//! Reviews: the documents of the editor, the edits proposed in them, and the decisions about these.
//!
//! Knows sessions only as ids: messages for sessions are returned as [`SessionNotice`]s. Must never
//! wait, nor read a file except in a background task.

use std::sync::Arc;

use cairn_core::{
    ids::{FileKey, SessionId},
    review::Checkpoint,
};
use cairn_protocol::{ApplyEditResult, EditProblem};
use event::{DiskFound, DiskPurpose};
use futures_util::future::{BoxFuture, FutureExt};
use tokio::sync::oneshot;

use crate::{
    config::Settings,
    event::Selection,
    exec::sandbox::Watch,
    ports::{Edits, Mailbox, Proposal, Proposed, ReadText},
    secrets,
    services::Services,
    workspace::Workspace,
};

mod checkpoints;
mod decision_log;
mod decisions;
mod delivery;
mod disk_reads;
mod documents;
mod edits;
mod event;
mod file_operations;
mod files;
mod flight;
mod follow;
mod late;
mod mismatched;
mod pending;
mod problem;
mod publication;
mod published_hunk;
mod read_tracking;
pub(crate) mod requests;
mod restore;
mod saving;
mod shown;
mod timed_out_edit;
mod tracked_file;
mod translate;

use checkpoints::Checkpoints;
use decision_log::DecisionLog;
pub(crate) use event::SessionNotice;
use files::Files;
pub(crate) use pending::FoundReviews;
pub(crate) use publication::SessionEdits;
use read_tracking::ReadTracker;
pub(crate) use translate::EditForm;

/// Events for the reviews from tools and background tasks.
pub(crate) enum ReviewEvent {
    Propose {
        proposal: Proposal,
        reply: oneshot::Sender<Proposed>,
    },
    Flush {
        reply: oneshot::Sender<Vec<String>>,
    },
    /// A command ran: files under review may have other texts by now.
    CommandRan,
    /// The editor's answer to the edit with this edit_id.
    Applied {
        edit_id: u64,
        /// A problem if the edit was not sent.
        result: Result<ApplyEditResult, EditProblem>,
    },
    /// The document does not show the edit with this edit_id yet, which is on disk.
    Unseen {
        edit_id: u64,
    },
    /// The edit with this edit_id should have been seen by now.
    Overdue {
        edit_id: u64,
    },
    /// The file of this key was read.
    DiskText {
        key: FileKey,
        purpose: DiskPurpose,
        /// Counts the reads in the order they began.
        read: u64,
        found: DiskFound,
    },
    /// Code that continues a request once its edits are answered or its texts are read.
    Then(Box<dyn FnOnce(&mut Reviews) + Send>),
}

pub(crate) struct Reviews {
    services: Services,
    mailbox: Mailbox<ReviewEvent>,
    /// Form in which the editor gets edits of open documents.
    form: EditForm,
    save_at_turn_end: bool,
    files: Files,
    reads: ReadTracker,
    decisions: DecisionLog,
    checkpoints: Checkpoints,
    watch: Arc<Watch>,
    for_sessions: Vec<SessionNotice>,
}

impl Reviews {
    pub(crate) fn new(
        services: Services,
        mailbox: Mailbox<ReviewEvent>,
        watch: Arc<Watch>,
    ) -> Self {
        Self {
            services,
            mailbox,
            form: EditForm::default(),
            save_at_turn_end: Settings::default().save_at_turn_end,
            files: Files::default(),
            reads: ReadTracker::default(),
            decisions: DecisionLog::default(),
            checkpoints: Checkpoints::default(),
            watch,
            for_sessions: Vec::new(),
        }
    }

    pub(crate) fn open(&mut self, workspace: Option<Arc<Workspace>>, form: EditForm) {
        self.services.workspace = workspace;
        self.form = form;
    }

    pub(crate) fn configure(&mut self, settings: &Settings) {
        self.save_at_turn_end = settings.save_at_turn_end;
    }

    pub(crate) fn handle(&mut self, event: ReviewEvent) {
        match event {
            ReviewEvent::Propose { proposal, reply } => self.propose(proposal, reply),
            ReviewEvent::Flush { reply } => self.flush(reply),
            ReviewEvent::CommandRan => self.refresh_closed_files(),
            ReviewEvent::Applied { edit_id, result } => self.on_applied(edit_id, result),
            ReviewEvent::Unseen { edit_id } => self.on_unseen(edit_id),
            ReviewEvent::Overdue { edit_id } => self.on_overdue(edit_id),
            ReviewEvent::DiskText { key, purpose, read, found } => {
                self.on_disk_read(&key, purpose, read, found);
            }
            ReviewEvent::Then(then) => then(self),
        }
    }

    /// Waits in the background, then continues with the result.
    fn after<T: Send + 'static>(
        &self,
        wait: impl Future<Output = T> + Send + 'static,
        then: impl FnOnce(&mut Self, T) + Send + 'static,
    ) {
        let mailbox = self.mailbox.clone();
        self.services.spawn(async move {
            let found = wait.await;
            mailbox.send(ReviewEvent::Then(Box::new(move |reviews| then(reviews, found))));
        });
    }

    /// Remembers how everything is before a turn.
    pub(crate) fn begin_checkpoint(&mut self, checkpoint: Checkpoint) {
        self.checkpoints.begin(checkpoint);
    }

    /// Takes the queued messages for sessions.
    pub(crate) fn take_notices(&mut self) -> Vec<SessionNotice> {
        std::mem::take(&mut self.for_sessions)
    }

    /// The session's model has read a text. Texts of sessions that are not in memory are forgotten.
    pub(crate) fn record_read(
        &mut self,
        session: &SessionId,
        saw: ReadText,
        is_known: impl Fn(&SessionId) -> bool,
    ) {
        self.reads.retain(is_known);
        self.reads.record_read(session, saw);
    }

    /// Text for the session's model about files that others changed since it last saw them.
    pub(crate) fn changes_for(&mut self, session: &SessionId) -> Option<String> {
        self.reads.changes(session, &self.services.docs, |path| self.services.display(path))
    }

    /// The selected text, without known keys; `None`: its document is not open.
    pub(crate) fn selected_text(&self, selection: &Selection) -> Option<String> {
        let Selection { uri, start, end } = selection;
        let document = self.services.docs.get(&self.files.key_of(uri)?)?;
        let at = |position| document.text.char_of_in(position, self.form.units);
        let mut text = document.text.slice(at(*start)..at(*end));
        secrets::clean(&mut text);
        Some(text)
    }

    /// Writes all queued records to disk and releases the files for another process.
    pub(crate) async fn close(&mut self) {
        if let Some(store) = self.files.store.take() {
            store.close().await;
        }
    }
}

impl Edits for Mailbox<ReviewEvent> {
    fn propose(&self, proposal: Proposal) -> BoxFuture<'static, Proposed> {
        let (reply, answer) = oneshot::channel();
        self.send(ReviewEvent::Propose { proposal, reply });
        let gone = Proposed::Refused(EditProblem::EditorGone);
        async move { answer.await.unwrap_or(gone) }.boxed()
    }

    fn flush(&self) -> BoxFuture<'static, Vec<String>> {
        let (reply, answer) = oneshot::channel();
        self.send(ReviewEvent::Flush { reply });
        async move { answer.await.unwrap_or_default() }.boxed()
    }

    fn on_command_end(&self) {
        self.send(ReviewEvent::CommandRan);
    }
}

//! Delivery of edits to the editor: sent, confirmed by the text, or abandoned after a timeout. One edit of
//! a file is in flight at a time; the rest wait in its queue.
//!
//! The editor's "applied" is only a claim: an edit is done when the document's text (or, for a file that
//! is not open, the disk) shows it, or when the daemon itself wrote it to the disk.

use std::{
    collections::BTreeSet,
    sync::Arc,
    time::{Duration, SystemTime},
};

use cairn_core::{
    change::Change,
    ids::{FileKey, SessionId},
    review::{Cause, Transition},
    sanitize::foreign_words,
    text::{FileEncoding, Text},
};
use cairn_protocol::{
    ApplyEditParams, ApplyEditResult, DecideResult, EditProblem, FileChange, RefusedEdit,
    TextEncoding,
};
use tokio::sync::oneshot;

use super::{
    ReviewEvent, Reviews,
    decisions::Target,
    edits::NotSent,
    event::{DiskPurpose, SessionNotice},
    flight::{AwaitingDecision, EditRequest, InFlight, PlannedEdit, QueuedEdit},
    timed_out_edit::TimedOutEdit,
    tracked_file::TrackedFile,
    translate::{edit_of, line_counts},
};
use crate::{
    ports::{Editor, Proposal, Proposed, Saved, text_hash},
    workspace::{Workspace, key_of, path_of, uri_of},
};

/// An edit that the editor says it applied must be seen in the text within this time.
const SEEN_WITHIN: Duration = Duration::from_secs(5);
/// Number of times that an editor is made to look at a file on disk in that time.
const LOOKS: u32 = 4;

impl Reviews {
    pub(super) fn propose(&mut self, proposal: Proposal, reply: oneshot::Sender<Proposed>) {
        let Some(key) = key_of(&proposal.path) else {
            drop(reply.send(Proposed::Refused(EditProblem::PathWithoutUri)));
            return;
        };
        if proposal.cancel.is_cancelled() {
            // The user stopped the turn while the tool was still reading.
            drop(reply.send(Proposed::Refused(EditProblem::TurnOver)));
            return;
        }
        self.enqueue(&key, EditRequest::Propose(proposal), reply);
    }

    pub(super) fn enqueue(
        &mut self,
        key: &FileKey,
        request: EditRequest,
        reply: oneshot::Sender<Proposed>,
    ) {
        let Some(path) = path_of(key) else { return };
        let open = self.services.docs.get(key).map(|document| document.uri.clone());
        let Some(uri) = open.or_else(|| uri_of(&path)) else { return };
        let display = self.services.display(&path);
        let entries = self.files.entries.entry(key.to_owned());
        let entry = entries.or_insert_with(|| TrackedFile::new(uri, display));
        entry.queue.push_back(QueuedEdit { request, reply });
        self.next_work(key);
    }

    /// Starts the next edit in the file's queue if none is in flight.
    fn next_work(&mut self, key: &FileKey) {
        loop {
            let Some(entry) = self.files.entries.get_mut(key) else { return };
            if entry.in_flight.is_some() {
                return;
            }
            let Some(QueuedEdit { request, reply }) = entry.queue.pop_front() else { return };
            if matches!(request, EditRequest::Propose(_)) && reply.is_closed() {
                // Its turn was cancelled while it waited.
                continue;
            }
            let begun = request.begun();
            let (open, number) = (self.services.docs.get(key), self.files.edits_sent + 1);
            let planned = entry.plan(key, request, open.as_deref(), number);
            match planned.and_then(|planned| self.check_target(planned)) {
                Ok(planned) => self.send(key, planned, reply, begun),
                Err(NotSent { answer, read_disk }) => {
                    if read_disk {
                        self.read_disk(key, DiskPurpose::Reconcile);
                    }
                    drop(reply.send(answer));
                }
            }
        }
    }

    /// Refuses a move by the agent to a path that is open, or that has edits on their way.
    fn check_target(&self, planned: PlannedEdit) -> Result<PlannedEdit, NotSent> {
        let transition = &planned.transition;
        let (Some(to), Some(_)) = (transition.target(), transition.origin()) else {
            return Ok(planned);
        };
        self.services.agent_changed(to);
        let there = self.files.entries.get(to);
        let busy = there.is_some_and(|it| it.in_flight.is_some() || !it.queue.is_empty());
        match busy || self.services.docs.get(to).is_some() {
            true => Err(Proposed::Refused(EditProblem::PathBusy).into()),
            false => Ok(planned),
        }
    }

    fn send(
        &mut self,
        key: &FileKey,
        planned: PlannedEdit,
        reply: oneshot::Sender<Proposed>,
        begun: Saved,
    ) {
        let PlannedEdit { transition, waits, notice, then } = planned;
        let label = self.label(key, &transition);
        let (change, counts) = self.file_change(key, &transition);
        self.files.edits_sent += 1;
        let edit_id = self.files.edits_sent;
        let made_for = match &change {
            FileChange::Create { .. } => path_of(key),
            FileChange::Rename { to, .. } => path_of(to),
            FileChange::Edit { .. } | FileChange::Delete { .. } => None,
        };
        if let Some(path) = made_for {
            self.files.remember_folders(&path);
        }
        self.files.edited(key);
        self.record_before(key, &transition);
        let Some(entry) = self.files.entries.get_mut(key) else { return };
        // A file that is created again gets its recorded form.
        if let (FileChange::Create { .. }, Some(path)) = (&change, path_of(key)) {
            let recorded = match &transition.cause {
                Cause::Restore { former, .. } => former.form,
                Cause::Call { .. } | Cause::Reject { .. } | Cause::Move { .. } => entry.state.form,
            };
            let workspace = self.services.workspace.iter();
            workspace.for_each(|workspace| workspace.will_create(&path, recorded));
        }
        entry.newest_edit = edit_id;
        let of_agent = transition.origin().is_some();
        entry.in_flight = Some(InFlight {
            edit_id,
            transition,
            waits,
            notice,
            seen: false,
            answered: false,
            counts,
            reply,
            then,
            review_before: None,
        });
        let params = ApplyEditParams { uri: entry.uri.clone(), label, encoding: None, change };
        self.files.store_file(key);
        let recorded = self.files.persisted();
        let (workspace, key) = (self.services.workspace.clone(), key.to_owned());
        let (mailbox, editor) = (self.mailbox.clone(), Arc::clone(&self.services.editor));
        self.services.spawn(async move {
            // If this daemon ends before the edit arrives, the next one must know its author.
            let recorded = recorded.await.and(begun.await);
            // An undo of the user continues although it could not be recorded.
            let recorded = if of_agent { recorded } else { Ok(()) };
            let result = apply(recorded, workspace, &key, params, editor.as_ref()).await;
            mailbox.send(ReviewEvent::Applied { edit_id, result });
        });
    }

    /// Returns the change for the editor, and the lines that a call of the agent adds and removes.
    fn file_change(&self, key: &FileKey, transition: &Transition) -> (FileChange, (u32, u32)) {
        let is_call = matches!(transition.cause, Cause::Call { .. });
        let empty = Text::default();
        let before = transition.before.as_ref().unwrap_or(&empty);
        let Some(after) = &transition.after else {
            let (expected_hash, empty_folders) = (text_hash(before), self.files.made_folders(key));
            let change = match transition.target() {
                Some(to) => FileChange::Rename { to: to.into(), expected_hash, empty_folders },
                None => FileChange::Delete { expected_hash, empty_folders },
            };
            return (change, (0, if is_call { before.filled_lines() as u32 } else { 0 }));
        };
        let change = Change::between(before, after);
        let counts = if is_call { line_counts(before, &change) } else { (0, 0) };
        let open = self.services.docs.get(key);
        match transition.before {
            Some(_) => (edit_of(before, &change, open.as_deref(), self.form), counts),
            None => (FileChange::Create { text: after.to_string() }, counts),
        }
    }

    /// Name of the change in the editor's list of what can be undone.
    fn label(&self, key: &FileKey, transition: &Transition) -> String {
        let path = self.services.display_key(key);
        match (&transition.cause, &transition.after) {
            (Cause::Call { .. }, Some(_)) => format!("Cairn: edit {path}"),
            (Cause::Call { .. }, None) => format!("Cairn: delete {path}"),
            (Cause::Reject { .. }, _) => format!("Cairn: reject in {path}"),
            (Cause::Restore { .. }, _) => format!("Cairn: restore {path}"),
            (Cause::Move { to, .. }, _) => {
                format!("Cairn: move {path} to {}", self.services.display_key(to))
            }
        }
    }

    /// Records the form of a file that the agent is about to change, and the file for the checkpoint.
    fn record_before(&mut self, key: &FileKey, transition: &Transition) {
        let Some(origin) = transition.origin() else { return };
        let entry = self.files.entries.get_mut(key).filter(|_| transition.before.is_some());
        if let (Some(entry), Some(workspace), Some(path)) =
            (entry, &self.services.workspace, path_of(key))
        {
            entry.state.form = workspace.look_at_form(&path);
        }
        let (files, before) = (&self.files, transition.before.as_ref());
        self.checkpoints.record_before(key, &origin.turn, before, files);
        if let Some(to) = transition.target() {
            self.checkpoints.record_before(to, &origin.turn, None, files);
        }
    }

    pub(super) fn on_applied(
        &mut self,
        edit_id: u64,
        result: Result<ApplyEditResult, EditProblem>,
    ) {
        let Some(key) = self.files.key_in_flight(edit_id) else { return };
        let open = self.services.docs.get(&key).is_some();
        let Some(entry) = self.files.entries.get_mut(&key) else { return };
        let Some(in_flight) = &mut entry.in_flight else { return };
        if !in_flight.seen
            && let Some((refused, may_come)) = refusal(&result)
        {
            return self.finish(&key, refused, may_come);
        }
        // An edit in the text is done, even if the answer is an error or late.
        in_flight.answered = true;
        let on_disk = matches!(&result, Ok(it) if it.reason == Some(RefusedEdit::Closed));
        if result.is_ok_and(|result| result.applied && !result.was_dirty) {
            entry.saveable = true;
        }
        if in_flight.seen {
            return self.settle(&key);
        }
        // A deleted file may stay open in the editor as a struck-through tab: no close ever comes.
        let deleted = in_flight.transition.after.is_none();
        let at = in_flight.transition.target().unwrap_or(&key).clone();
        if !open || deleted {
            // The daemon needs no second look at its own write.
            if on_disk {
                let Transition { before, after, .. } = &in_flight.transition;
                let written = if at == key { after.clone() } else { before.clone() };
                return self.confirm(&at, edit_id, written);
            }
            return self.read_disk(&at, DiskPurpose::Confirm(edit_id));
        }
        let mailbox = self.mailbox.clone();
        self.services.spawn(async move {
            for _ in 0..LOOKS {
                tokio::time::sleep(SEEN_WITHIN / (LOOKS + 1)).await;
                if on_disk {
                    mailbox.send(ReviewEvent::Unseen { edit_id });
                }
            }
            tokio::time::sleep(SEEN_WITHIN / (LOOKS + 1)).await;
            mailbox.send(ReviewEvent::Overdue { edit_id });
        });
    }

    /// Gives the file of an edit on disk another time, so that the editor loads it. An editor that has
    /// just started can miss the first change.
    pub(super) fn on_unseen(&mut self, edit_id: u64) {
        let Some(key) = self.files.key_in_flight(edit_id) else { return };
        let Some(workspace) = self.services.workspace.clone() else { return };
        self.services.spawn(async move {
            let touching = tokio::task::spawn_blocking(move || {
                let path = workspace.resolve(&key).map_err(|error| error.to_string())?;
                let (_, file) = workspace.open_text(&path).map_err(|error| error.to_string())?;
                file.set_modified(SystemTime::now()).map_err(|error| error.to_string())
            });
            if let Ok(Err(error)) = touching.await {
                tracing::warn!("an editor may not load a changed file: {error}");
            }
        });
    }

    pub(super) fn on_overdue(&mut self, edit_id: u64) {
        let Some(key) = self.files.key_in_flight(edit_id) else { return };
        self.finish(&key, Proposed::Late(EditProblem::EditNotSeen), true);
    }

    /// Confirms an edit by the text on the disk.
    pub(super) fn confirm(&mut self, key: &FileKey, edit_id: u64, text: Option<Text>) {
        let open = self.services.docs.get(key).is_some();
        let Some(mut owner) = self.files.key_in_flight(edit_id) else { return };
        let Some(entry) = self.files.entries.get_mut(&owner) else { return };
        let Some(in_flight) = entry.in_flight.as_mut().filter(|edit| !edit.seen) else { return };
        let moved = in_flight.transition.target().is_some();
        // If a file moved with unsaved text, the disk has an older text.
        if !(if moved { open || text.is_some() } else { in_flight.transition.after == text }) {
            return self.on_overdue(edit_id);
        }
        in_flight.seen = true;
        entry.dirty = true;
        if in_flight.transition.after.is_none() {
            // An editor may still show the document of a file that no longer exists.
            self.services.docs.remove(&owner);
        }
        if moved {
            owner = self.confirm_move(&owner).unwrap_or(owner);
        } else {
            entry.land();
        }
        self.settle(&owner);
    }

    /// Ends the edit in flight when the editor has answered and the text was seen.
    pub(super) fn settle(&mut self, key: &FileKey) {
        let Some(in_flight) =
            self.files.entries.get(key).and_then(|entry| entry.in_flight.as_ref())
        else {
            return;
        };
        if in_flight.seen && in_flight.answered {
            let (added, removed) = in_flight.counts;
            self.finish(key, Proposed::Applied { added, removed }, false);
        }
    }

    /// Ends the edit in flight. `may_come`: its text may still arrive.
    fn finish(&mut self, key: &FileKey, answer: Proposed, may_come: bool) {
        let done = matches!(answer, Proposed::Applied { .. });
        let open = self.services.docs.get(key);
        let entry = self.files.entries.get_mut(key).filter(|_| !done).zip(open);
        let astray = entry.and_then(|(entry, open)| entry.recover_mismatched(&open.text));
        let answer = if astray.is_some() { Proposed::Astray } else { answer };
        if let Some(transition) = astray {
            self.record_landed(key, transition, &[]);
        }
        let may_come = may_come && !matches!(answer, Proposed::Astray);
        let Some(entry) = self.files.entries.get_mut(key) else { return };
        let Some(in_flight) = entry.in_flight.take() else { return };
        self.files.edited(key);
        if let Some(to) = in_flight.transition.target() {
            self.files.edited(to);
        }
        let Some(entry) = self.files.entries.get_mut(key) else { return };
        if done && in_flight.transition.origin().is_some() {
            // Before the call continues and loads the instructions around the file.
            self.services.agent_changed(key);
        }
        if may_come {
            entry.wait_for(TimedOutEdit::of(&in_flight));
            entry.dirty = true;
        } else if done {
            entry.forget_done(in_flight.transition.after.as_ref());
        }
        let save = in_flight.transition.replaces_proposal() && entry.saveable && done;
        match in_flight.then {
            Some(then) if done => entry.queue.push_front(*then),
            Some(then) => then.answer(answer.clone()),
            None => {}
        }
        match in_flight.transition.origin().filter(|_| in_flight.waits) {
            Some(origin) if done => {
                let origin = origin.clone();
                entry.undecided.push(AwaitingDecision { origin, answer, reply: in_flight.reply });
                entry.dirty = true;
            }
            Some(_) | None => drop(in_flight.reply.send(answer)),
        }
        if done {
            self.record_landed(key, in_flight.transition, &in_flight.notice.sessions);
        } else if self.services.docs.get(key).is_none() {
            self.read_disk(key, DiskPurpose::Reconcile);
        }
        if save && self.services.docs.get(key).is_some() {
            // The rejected proposal may be on disk already and must not stay there.
            self.save_later(self.files.uri_to_save(key, &self.services));
        }
        self.next_work(key);
    }

    /// Records a change that is in the text: the decision about it in mode `auto`, the text for the
    /// checkpoints and for the models that know it already. `told`: the sessions that learn of a rejection.
    fn record_landed(&mut self, key: &FileKey, transition: Transition, told: &[SessionId]) {
        if transition.is_accepted_operation()
            && let Some(entry) = self.files.entries.get_mut(key)
            && entry.state.operation.is_some()
        {
            // Nobody was asked, so the user must be able to take it back.
            let (ids, outdated) = (Vec::new(), Vec::new());
            let target = Target { key: key.to_owned(), ids, outdated, operation: true };
            let former = entry.accept(&target, &mut DecideResult::default());
            self.decisions.record(former.into_iter().collect(), &self.files);
        }
        self.checkpoints.record_left(key, transition.after.as_ref(), &self.files);
        if let Some(to) = transition.target() {
            self.checkpoints.record_left(to, transition.before.as_ref(), &self.files);
        }
        if let (Cause::Call { .. }, Some(_)) = (&transition.cause, &transition.after) {
            self.services.agent_changed(key);
        }
        let is_open = self.services.docs.get(key).is_some();
        self.reads.mark_known(key, transition, told, is_open);
    }

    /// Notifies the model of a late edit that has arrived, because it knows of the timeout.
    pub(super) fn on_late_edit_confirmed(&mut self, key: &FileKey, late: TimedOutEdit) {
        let path = self.services.display_key(key);
        let TimedOutEdit { transition, notice, .. } = late;
        let (notified, text) = match &transition.cause {
            Cause::Call { origin, .. } => (
                vec![origin.doer().0.to_owned()],
                format!(
                    "Your change of {path}, of which you were told that the editor had not applied it, has been applied now. Read the file before you change it again."
                ),
            ),
            Cause::Reject { .. } | Cause::Restore { .. } | Cause::Move { .. } => {
                (notice.sessions.clone(), notice.text)
            }
        };
        self.tell_models(notified.into_iter().collect(), text);
        if let Cause::Restore { is_undo: true, .. } = &transition.cause {
            self.decisions.undo_landed(key, transition.before.as_ref(), &self.files);
        }
        self.record_landed(key, transition, &notice.sessions);
    }

    /// Queues a text for the models of these sessions.
    pub(super) fn tell_models(&mut self, sessions: BTreeSet<SessionId>, text: String) {
        if !sessions.is_empty() {
            self.for_sessions.push(SessionNotice::Tell { sessions, text });
        }
    }
}

/// Encoding of a file for an editor that opens or creates it; `None` for plain UTF-8.
fn encoding_for_editor(encoding: FileEncoding) -> Option<TextEncoding> {
    (encoding != FileEncoding::UTF_8)
        .then(|| TextEncoding { name: encoding.label(), bom: encoding.has_bom() })
}

/// Outcome of an edit that was not applied, and whether its text may still arrive; `None` if the editor
/// reports it as applied.
fn refusal(result: &Result<ApplyEditResult, EditProblem>) -> Option<(Proposed, bool)> {
    let result = match result {
        Ok(result) if result.applied => return None,
        Ok(result) => result,
        Err(problem) => return Some((Proposed::Refused(problem.clone()), true)),
    };
    let refused = |problem| (Proposed::Refused(problem), false);
    let words = || match result.message.as_deref().map(foreign_words) {
        Some(reason) if !reason.is_empty() => EditProblem::EditorFailed { reason },
        Some(_) | None => EditProblem::EditorGaveNoReason,
    };
    Some(match result.reason {
        Some(RefusedEdit::Stale) => (Proposed::Stale, false),
        Some(RefusedEdit::ReadOnly) => refused(EditProblem::FileReadOnly),
        Some(RefusedEdit::Closed) => refused(EditProblem::FileNotOpened),
        Some(RefusedEdit::Notebook) => refused(EditProblem::NotebookUnsaved),
        Some(RefusedEdit::Encoding) => refused(EditProblem::EncodingLacksCharacter),
        // The failure may have come after the edit.
        Some(RefusedEdit::Failed) => (Proposed::Refused(words()), true),
        None if result.message.is_none() => (Proposed::Late(EditProblem::EditorTimedOut), true),
        None => (Proposed::Late(words()), true),
    })
}

/// Has the editor apply an edit that is recorded, if its path still leads to the same file.
async fn apply(
    recorded: Result<(), String>,
    workspace: Option<Arc<Workspace>>,
    key: &FileKey,
    mut params: ApplyEditParams,
    editor: &dyn Editor,
) -> Result<ApplyEditResult, EditProblem> {
    if let Err(reason) = recorded {
        return Err(EditProblem::EditNotRecorded { reason: foreign_words(&reason) });
    }
    let workspace = paths_unchanged(workspace, key, &params).await?;
    let encoding = path_of(key).map(|path| workspace.form_of(&path).encoding);
    params.encoding = encoding.and_then(encoding_for_editor);
    Ok(editor.apply(params, workspace).await)
}

/// Checks, right before an edit is sent, that its paths still lead to the files it was made for: a link
/// may have been placed there since. After that the editor opens the files by name.
async fn paths_unchanged(
    workspace: Option<Arc<Workspace>>,
    key: &FileKey,
    params: &ApplyEditParams,
) -> Result<Arc<Workspace>, EditProblem> {
    let workspace = workspace.ok_or(EditProblem::FolderNotOpen)?;
    let mut names = vec![(params.uri.clone(), key.to_owned())];
    if let FileChange::Rename { to, .. } = &params.change {
        names.push((to.clone(), to.as_str().into()));
    }
    let looking = tokio::task::spawn_blocking(move || {
        for (uri, file) in names {
            let found = workspace.key(&uri).map_err(|error| path_refused(&error))?;
            if found != file {
                return Err(EditProblem::PathRedirected);
            }
        }
        Ok(workspace)
    });
    looking.await.map_err(|error| path_refused(&error))?
}

fn path_refused(error: &impl ToString) -> EditProblem {
    EditProblem::PathRefused { reason: foreign_words(&error.to_string()) }
}

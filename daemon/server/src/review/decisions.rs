//! Accept, reject and undo: what the user decides about hunks.
//!
//! An accept changes only the baseline. A reject is an ordinary edit through the editor. A
//! decision about a hunk that is gone or changed since the user saw it does nothing and is reported.

use std::collections::BTreeSet;

use cairn_core::{
    context::REJECTED,
    ids::{FileKey, SessionId},
    review::{
        DecisionEffects, DecisionUndo, FileOperationKind, FileReview, HunkId, Hunks, Origin,
        OwnText, StaysAccepted,
    },
};
use cairn_protocol::{
    BaselineParams, BaselineResult, DecideParams, DecideResult, Decision, EditProblem, Scope,
    StillAcceptedEdit,
};
use futures_util::future::join_all;
use tokio::sync::oneshot;

use super::{
    Reviews,
    decision_log::Step,
    event::{OutdatedReapplied, Rejected, Rejection, ReviewEvent},
    flight::EditRequest,
    problem::of_outcome,
};
use crate::{event::Responder, ports::Proposed, workspace::path_of};

/// Hunks of one file that a decision is about.
struct Target {
    key: FileKey,
    ids: Vec<HunkId>,
    /// Proposals of which nothing stands in the text.
    outdated: Vec<HunkId>,
    /// And about what was done to the file as a whole.
    operation: bool,
}

impl Target {
    fn count(&self) -> u32 {
        (self.ids.len() + self.outdated.len()) as u32 + u32::from(self.operation)
    }
}

impl Reviews {
    pub(crate) fn decide(&mut self, params: DecideParams, reply: Responder<DecideResult>) {
        // What changed in this very moment makes what the user saw stale.
        self.publish();
        let mut result = DecideResult::default();
        let mut targets = self.targets(&params, &mut result.stale);
        match params.decision {
            Decision::Accept => {
                let former =
                    targets.iter().filter_map(|target| self.accept(target, &mut result)).collect();
                self.record_undo(former);
                for target in &targets {
                    self.store_file(&target.key);
                }
                self.apply_all_outdated(&targets, result, reply);
            }
            Decision::Reject | Decision::Drop => {
                for Target { key, outdated, .. } in &mut targets {
                    result.applied += self.forget_outdated(key, &std::mem::take(outdated));
                }
                targets.retain(|target| target.count() > 0);
                let own = match params.decision {
                    Decision::Drop => OwnText::Drop,
                    Decision::Accept | Decision::Reject => OwnText::Keep,
                };
                self.reject(&targets, own, params.feedback.as_deref(), result, reply);
            }
        }
    }

    fn accept(&mut self, target: &Target, result: &mut DecideResult) -> Option<DecisionUndo> {
        if target.ids.is_empty() && !target.operation {
            return None;
        }
        let entry = self.files.entries.get_mut(&target.key)?;
        let state = entry.state();
        let review = entry.review.as_mut()?;
        let former = DecisionUndo {
            key: target.key.clone(),
            state,
            after: (!entry.absent).then(|| review.current().clone()),
            effects: DecisionEffects {
                accepted: Some(target.ids.clone()),
                ..DecisionEffects::default()
            },
        };
        let accepted = review.accept_many(&target.ids) as u32;
        result.applied += accepted;
        result.stale += target.ids.len() as u32 - accepted;
        if target.operation
            && entry.operation.take().is_some_and(|operation| operation.is_deletion())
        {
            entry.review = None;
        }
        result.applied += u32::from(target.operation);
        entry.mark_changed();
        Some(former)
    }

    /// To accept what is outdated is to make it again, through the editor.
    fn apply_all_outdated(
        &mut self,
        targets: &[Target],
        mut result: DecideResult,
        reply: Responder<DecideResult>,
    ) {
        let mut waits = Vec::new();
        for Target { key, outdated, .. } in targets {
            let path = path_of(key).map(|path| self.services.display(&path)).unwrap_or_default();
            for id in outdated {
                let (done, wait) = oneshot::channel();
                self.enqueue(key, EditRequest::ApplyOutdated(*id), done);
                let (path, key, id) = (path.clone(), key.clone(), *id);
                waits.push(async move { (path, key, id, wait.await) });
            }
        }
        if waits.is_empty() {
            return self.answer_recorded(result, reply);
        }
        let mailbox = self.mailbox.clone();
        self.services.spawn(async move {
            let mut done = Vec::new();
            for (path, key, id, outcome) in join_all(waits).await {
                match outcome {
                    Ok(Proposed::Applied { .. }) => {
                        result.applied += 1;
                        done.push((key, id));
                    }
                    Ok(Proposed::Stale | Proposed::Astray) => result.stale += 1,
                    other => {
                        if let Some(problem) = of_outcome(&path, other.ok()) {
                            result.failed.push(problem.message());
                        }
                    }
                }
            }
            let made = OutdatedReapplied { done, result, reply };
            mailbox.send(ReviewEvent::OutdatedReapplied(Box::new(made)));
        });
    }

    pub(super) fn on_outdated_reapplied(
        &mut self,
        OutdatedReapplied { done, result, reply }: OutdatedReapplied,
    ) {
        for (key, id) in done {
            self.forget_outdated(&key, &[id]);
        }
        self.answer_recorded(result, reply);
    }

    fn forget_outdated(&mut self, key: &FileKey, ids: &[HunkId]) -> u32 {
        let Some(entry) = self.files.entries.get_mut(key) else { return 0 };
        let before = entry.outdated.len();
        entry.outdated.retain(|outdated| !ids.contains(&outdated.id));
        let mut forgotten = before - entry.outdated.len();
        if let Some(review) = entry.review.as_mut().filter(|_| entry.absent) {
            forgotten += review.accept_many(ids);
        }
        entry.mark_changed();
        forgotten as u32
    }

    /// In mode `auto`: nobody was asked, so the user must be able to take it back.
    pub(super) fn accept_operation(&mut self, key: &FileKey) {
        if self.files.entries.get(key).is_some_and(|entry| entry.operation.is_some()) {
            let (ids, outdated) = (Vec::new(), Vec::new());
            let target = Target { key: key.to_owned(), ids, outdated, operation: true };
            let former = self.accept(&target, &mut DecideResult::default());
            self.record_undo(former.into_iter().collect());
        }
    }

    /// Queues the edits of a rejection: of the lines, then of the file operation.
    fn enqueue_rejection(
        &mut self,
        target: &Target,
        own: OwnText,
        rejection: &Rejection,
    ) -> Vec<oneshot::Receiver<Proposed>> {
        let (ids, notice) = (target.ids.clone(), rejection.of_lines.clone());
        let lines = (!ids.is_empty()).then_some(EditRequest::Reject { ids, own, notice });
        let operation = target.operation.then_some(EditRequest::RejectFileOperation);
        let requests = lines.into_iter().chain(operation);
        requests
            .map(|request| {
                let (reply, step) = oneshot::channel();
                self.enqueue(&target.key, request, reply);
                step
            })
            .collect()
    }

    fn reject(
        &mut self,
        targets: &[Target],
        own: OwnText,
        feedback: Option<&str>,
        mut result: DecideResult,
        reply: Responder<DecideResult>,
    ) {
        let mut waits = Vec::new();
        let mut keys = Vec::new();
        for target in targets {
            let Some(rejection) = self.rejection(target, own, feedback) else {
                result.stale += target.count();
                continue;
            };
            let steps = self.enqueue_rejection(target, own, &rejection);
            if let Some(entry) = self.files.entries.get_mut(&target.key) {
                entry.rejecting += 1;
                keys.push(target.key.clone());
            }
            waits.push(async move { (rejection, all_applied(steps).await) });
        }
        self.decisions.rejections += 1;
        let number = self.decisions.rejections;
        self.decisions.waiting.push_back(Step::Rejecting(number));
        let mailbox = self.mailbox.clone();
        self.services.spawn(async move {
            let mut done = Vec::new();
            for (rejection, outcome) in join_all(waits).await {
                let Rejection { path, hunks, .. } = &rejection;
                match outcome {
                    Ok(Proposed::Applied { .. }) => {
                        result.applied += hunks;
                        done.push(rejection);
                    }
                    Ok(Proposed::Stale | Proposed::Astray) => result.stale += hunks,
                    other => {
                        if let Some(problem) = of_outcome(path, other.ok()) {
                            result.failed.push(problem.message());
                        }
                    }
                }
            }
            mailbox.send(ReviewEvent::Rejected(Rejected { number, keys, done, result, reply }));
        });
    }

    /// Returns a change as a patch for a model. Not for a file that may hold secrets, whose lines around
    /// the change would be in it: who approved the change did not approve to read them.
    pub(super) fn patch_for_model(
        &self,
        review: &FileReview,
        ids: &[HunkId],
        path: &str,
    ) -> String {
        let resolved = self.services.workspace.as_ref().and_then(|it| it.resolve(path).ok());
        match resolved.is_some_and(|path| !path.is_secret()) {
            true => review.unified_patch(Hunks::Only(ids), path),
            false => format!("[not shown: {path} may hold secrets]\n"),
        }
    }

    fn rejection(
        &self,
        target: &Target,
        own: OwnText,
        feedback: Option<&str>,
    ) -> Option<Rejection> {
        let entry = self.files.entries.get(&target.key)?;
        let state = entry.state();
        let (review, path) = (entry.review.as_ref()?, &entry.path);
        let mut notified: BTreeSet<SessionId> = review
            .hunks()
            .iter()
            .filter(|hunk| target.ids.contains(&hunk.id))
            .flat_map(|hunk| hunk.origin.sessions().cloned())
            .collect();
        let mut after = review.current().clone();
        let (mut notices, mut moved_to) = (Vec::new(), None);
        if !target.ids.is_empty() {
            after = review.rejection(&target.ids, own)?.apply(&after).ok()?;
            let patch = bounded(self.patch_for_model(review, &target.ids, path));
            notices.push(format!(
                "{REJECTED} this change of yours in {path}; it is no longer in the file. Do not propose it again unless they ask:\n{patch}"
            ));
        }
        let of_lines = notices.concat() + &reason(feedback);
        if let Some(operation) = entry.operation.as_ref().filter(|_| target.operation) {
            notified.extend(operation.origin.sessions().cloned());
            notices.push(match &operation.kind {
                FileOperationKind::Deleted => {
                    after = review.without_proposals().1;
                    format!("{REJECTED} that you deleted {path}: the file is there again. Do not delete it again unless they ask.")
                }
                FileOperationKind::MovedFrom(key) => {
                    moved_to = Some(key.clone());
                    let from = path_of(key).map(|path| self.services.display(&path)).unwrap_or_default();
                    format!("{REJECTED} that you moved {from} to {path}: it is {from} again. Do not move it again unless they ask.")
                }
            });
        }
        let hunks = target.count();
        let (path, notice) = (path.clone(), notices.join("\n") + &reason(feedback));
        let former = DecisionUndo {
            key: target.key.clone(),
            state,
            after: Some(after),
            effects: DecisionEffects { moved_to, notified, ..DecisionEffects::default() },
        };
        Some(Rejection { former, path, hunks, notice, of_lines })
    }

    /// Now that it is so, the model learns at its next safe point what the user did not want.
    pub(super) fn rejected(&mut self, rejected: Rejected) {
        let Rejected { number, keys, done, result, reply } = rejected;
        for Rejection { former, notice, .. } in &done {
            self.tell_models(former.effects.notified.clone(), notice.clone());
        }
        for key in keys {
            // A rejected move took the entry along.
            let gone_to = done.iter().map(|rejection| &rejection.former);
            let gone_to = gone_to.filter(|former| former.key == key);
            let key =
                gone_to.filter_map(|former| former.effects.moved_to.clone()).next().unwrap_or(key);
            if let Some(entry) = self.files.entries.get_mut(&key) {
                entry.rejecting = entry.rejecting.saturating_sub(1);
                entry.mark_changed();
            }
        }
        let former = done.into_iter().map(|rejection| rejection.former).collect();
        let mut steps = self.decisions.waiting.iter_mut();
        if let Some(step) = steps.find(|step| matches!(step, Step::Rejecting(it) if *it == number))
        {
            *step = Step::Decided(former);
        }
        self.process_pending_decisions();
        self.answer_recorded(result, reply);
    }

    /// Answers when what was decided is on record, so that it outlives the daemon. A record that
    /// cannot be written holds no answer up; the status says that.
    pub(super) fn answer_recorded<T: Send + 'static>(&self, answer: T, reply: Responder<T>) {
        // A file is recorded when it is published, which may come after this answer.
        for (key, _) in self.files.entries.iter().filter(|(_, entry)| entry.dirty) {
            self.store_file(key);
        }
        let Some(saved) = self.persisted() else { return reply.send(Ok(answer)) };
        self.services.spawn(async move {
            let _ = saved.await;
            reply.send(Ok(answer));
        });
    }

    /// The hunks of the scope, in files and order; ones that are not as the user saw them are
    /// counted as stale.
    fn targets(&self, params: &DecideParams, stale: &mut u32) -> Vec<Target> {
        let mut targets = Vec::new();
        let mut keys: Vec<&FileKey> = self.files.entries.keys().collect();
        keys.sort();
        for key in keys {
            let Some(entry) = self.files.entries.get(key) else { continue };
            let mut wanted = |id: &str, origin: &Origin| {
                let wanted = match &params.scope {
                    Scope::Hunk { uri, hunk_id } => {
                        self.key_of(uri).as_ref() == Some(key) && id == hunk_id
                    }
                    Scope::File { uri } => self.key_of(uri).as_ref() == Some(key),
                    Scope::PlanItem { session_id, plan_item } => {
                        let is_item = |session: &SessionId, item: Option<&str>| {
                            *session == *session_id && item == Some(plan_item)
                        };
                        let subagent = origin.subagent.as_deref();
                        is_item(&origin.session, origin.plan_item.as_deref())
                            || subagent
                                .is_some_and(|it| is_item(&it.session, it.plan_item.as_deref()))
                    }
                    Scope::Turn { turn_id } => origin.turn == *turn_id,
                    Scope::All => true,
                };
                let as_seen = entry.shown_since(id, params.rev);
                *stale += u32::from(wanted && !as_seen);
                wanted && as_seen
            };
            let operation = entry
                .operation
                .as_ref()
                .is_some_and(|operation| wanted(&operation.id(), &operation.origin));
            let hunks = entry.lines().iter();
            let ids: Vec<HunkId> = hunks
                .filter(|hunk| wanted(&hunk.id.0.to_string(), &hunk.origin))
                .map(|hunk| hunk.id)
                .collect();
            let outdated = entry.all_outdated();
            let outdated: Vec<HunkId> = outdated
                .iter()
                .filter(|it| wanted(&it.id.0.to_string(), &it.origin))
                .map(|it| it.id)
                .collect();
            if operation || !ids.is_empty() || !outdated.is_empty() {
                targets.push(Target { key: key.clone(), ids, outdated, operation });
            }
        }
        if targets.is_empty() && *stale == 0 && matches!(params.scope, Scope::Hunk { .. }) {
            *stale = 1;
        }
        targets
    }

    pub(crate) fn baseline(&self, params: &BaselineParams) -> BaselineResult {
        let text = self
            .key_of(&params.uri)
            .and_then(|key| self.files.entries.get(&key))
            .and_then(|entry| entry.review.as_ref())
            .map(|review| review.baseline().to_string());
        BaselineResult { text }
    }
}

/// Problem of an undo that leaves edits accepted.
pub(super) fn still_accepted(
    former: &FileReview,
    stays: &[(HunkId, StaysAccepted)],
) -> EditProblem {
    const MOST_NAMED: usize = 3;
    const MOST_CHARS: usize = 40;
    let named = stays.iter().take(MOST_NAMED).map(|(id, why)| {
        let lines = former.hunk(*id).map(|hunk| match former.new_text(hunk) {
            text if text.is_empty() => former.old_text(hunk),
            text => text,
        });
        let lines = lines.unwrap_or_default();
        let line: String =
            lines.lines().next().unwrap_or_default().trim().chars().take(MOST_CHARS).collect();
        match why {
            StaysAccepted::NotAccepted => StillAcceptedEdit::EditNotAccepted { line },
            StaysAccepted::Changed => StillAcceptedEdit::EditChangedSince { line },
            StaysAccepted::Covered => StillAcceptedEdit::EditCovered { line },
        }
    });
    let more = u32::try_from(stays.len().saturating_sub(MOST_NAMED)).unwrap_or(u32::MAX);
    EditProblem::EditsStayAccepted { edits: named.collect(), more }
}

/// Outcome of the last step, or of the first that was not applied.
async fn all_applied(
    steps: Vec<oneshot::Receiver<Proposed>>,
) -> Result<Proposed, oneshot::error::RecvError> {
    let mut last = Ok(Proposed::Stale);
    for step in steps {
        last = step.await;
        if !matches!(last, Ok(Proposed::Applied { .. })) {
            break;
        }
    }
    last
}

/// The user's reason for a rejection, for the model.
fn reason(feedback: Option<&str>) -> String {
    const MOST_CHARS: usize = 2_000;
    match feedback.map(str::trim) {
        None | Some("") => String::new(),
        Some(words) => {
            let words: String = words.chars().take(MOST_CHARS).collect();
            format!("The user's reason: {words}\n")
        }
    }
}

/// A notice stays in the conversation for good: what the model proposed itself, it need not read
/// again in full.
fn bounded(patch: String) -> String {
    const MOST_CHARS: usize = 4_000;
    match patch.char_indices().nth(MOST_CHARS) {
        Some((at, _)) => format!("{}\n[the patch goes on]\n", &patch[..at]),
        None => patch,
    }
}

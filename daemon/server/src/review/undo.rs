//! Decisions in their order, and the undo of the newest.

use std::collections::BTreeMap;

use cairn_core::{
    context::TAKEN_BACK,
    ids::FileKey,
    review::{DecisionEffects, DecisionUndo},
    text::Text,
};
use cairn_protocol::{ReviewProblem, UndoDecisionResult};
use futures_util::future::join_all;
use tokio::sync::oneshot;

use super::{
    Reviews,
    decision_log::Step,
    event::{Restored, ReviewEvent, SessionNotice},
    flight::{EditRequest, QueuedEdit},
    problem::of_outcome,
};
use crate::{event::Responder, workspace::path_of};

const MOST_UNDOS: usize = 50;

impl Reviews {
    pub(super) fn record_undo(&mut self, former: Vec<DecisionUndo>) {
        self.decisions.waiting.push_back(Step::Decided(former));
        self.process_pending_decisions();
    }

    /// Processes the steps of the user in order, up to a rejection that is not confirmed yet.
    pub(super) fn process_pending_decisions(&mut self) {
        while let Some(step) = self.decisions.waiting.pop_front() {
            match step {
                Step::Rejecting(_) => return self.decisions.waiting.push_front(step),
                Step::TakeBack(reply) => self.undo_last(reply),
                Step::Decided(former) if former.is_empty() => {}
                Step::Decided(former) => {
                    self.keep_decision(&former);
                    self.decisions.stack.push_back(former);
                    while self.decisions.stack.len() > MOST_UNDOS {
                        self.decisions.stack.pop_front();
                    }
                }
            }
        }
    }

    /// Undoes the last decision. Waits for a rejection that is still in flight.
    pub(crate) fn undo_decision(&mut self, reply: Responder<UndoDecisionResult>) {
        self.decisions.waiting.push_back(Step::TakeBack(reply));
        self.process_pending_decisions();
    }

    fn undo_last(&mut self, reply: Responder<UndoDecisionResult>) {
        let Some(former) = self.decisions.stack.pop_back() else {
            return reply.send(Ok(undone(Some(ReviewProblem::NothingToUndo))));
        };
        self.keep_undo();
        let (mut waits, mut redone) = (Vec::new(), BTreeMap::new());
        for DecisionUndo { key, state, after, effects } in former {
            let DecisionEffects { moved_to, notified, accepted, restored } = effects;
            redone.extend(restored);
            let (reply, wait) = oneshot::channel();
            let operation = state.operation.clone();
            let former = Box::new(state);
            let restore = EditRequest::Restore { former, after: after.clone(), accepted };
            match (moved_to, after) {
                (Some(at), Some(base)) => {
                    let then = Box::new(QueuedEdit { request: restore, reply });
                    let to = key.clone();
                    let again = EditRequest::MoveAgain { to, base, operation, then };
                    self.enqueue(&at, again, oneshot::channel().0);
                }
                _ => self.enqueue(&key, restore, reply),
            }
            let path = path_of(&key).map(|path| self.services.display(&path)).unwrap_or_default();
            waits.push(async move { (path, notified, wait.await) });
        }
        let mailbox = self.mailbox.clone();
        self.services.spawn(async move {
            let (mut done, mut problem) = (Vec::new(), None);
            for (path, notified, outcome) in join_all(waits).await {
                match of_outcome(&path, outcome.ok()) {
                    None => done.push((path, notified)),
                    failed => problem = failed,
                }
            }
            mailbox.send(ReviewEvent::Restored(Restored { done, redone, problem, reply }));
        });
    }

    pub(super) fn restored(&mut self, restored: Restored) {
        let Restored { done, redone, problem, reply } = restored;
        if problem.is_none() && !redone.is_empty() {
            self.for_sessions.push(SessionNotice::Redone { turns: redone });
        }
        for (path, notified) in done {
            let text = format!(
                "{TAKEN_BACK}: your change in {path} is in the file again, for them to decide."
            );
            self.tell_models(notified, text);
        }
        self.answer_recorded(undone(problem), reply);
    }

    /// Handles an undo that was in flight when the daemon died, and arrived after the restart.
    pub(super) fn undo_landed(&mut self, key: &FileKey, before: Option<&Text>) {
        let is_it = |formers: &Vec<DecisionUndo>| match formers.as_slice() {
            [former] => former.key == *key && former.after.as_ref() == before,
            _ => false,
        };
        if self.decisions.stack.back().is_some_and(is_it) {
            self.decisions.stack.pop_back();
            self.keep_undo();
        }
    }
}

/// Answer to the request for an undo.
fn undone(problem: Option<ReviewProblem>) -> UndoDecisionResult {
    let undone = problem.is_none();
    UndoDecisionResult { undone, problem: problem.map(|problem| problem.message()) }
}

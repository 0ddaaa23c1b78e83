//! Undoes the newest decision.

use std::collections::BTreeMap;

use cairn_core::{
    context::TAKEN_BACK,
    review::{DecisionEffects, DecisionUndo},
};
use cairn_protocol::{ReviewProblem, UndoDecisionResult};
use futures_util::future::join_all;
use tokio::sync::oneshot;

use crate::{
    event::Responder,
    review::{
        Reviews,
        event::SessionNotice,
        flight::{EditRequest, QueuedEdit},
        problem::of_outcome,
    },
};

/// Undoes the last decision. Waits for a rejection that is still in flight.
pub(crate) fn handle(reviews: &mut Reviews, reply: Responder<UndoDecisionResult>) {
    reviews.decisions.add_undo(reply);
    undo_waiting(reviews);
}

/// Processes the steps of the user in order, up to a rejection that is not confirmed yet.
pub(super) fn undo_waiting(reviews: &mut Reviews) {
    while let Some(reply) = reviews.decisions.next_undo(&reviews.files) {
        undo_last(reviews, reply);
    }
}

fn undo_last(reviews: &mut Reviews, reply: Responder<UndoDecisionResult>) {
    let Some(former) = reviews.decisions.pop(&reviews.files) else {
        return reply.send(Ok(undone(Some(ReviewProblem::NothingToUndo))));
    };
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
                reviews.enqueue(&at, again, oneshot::channel().0);
            }
            _ => reviews.enqueue(&key, restore, reply),
        }
        let path = reviews.services.display_key(&key);
        waits.push(async move { (path, notified, wait.await) });
    }
    reviews.after(join_all(waits), move |reviews, outcomes| {
        let (mut done, mut problem) = (Vec::new(), None);
        for (path, notified, outcome) in outcomes {
            match of_outcome(&path, outcome.ok()) {
                None => done.push((path, notified)),
                failed => problem = failed,
            }
        }
        if problem.is_none() && !redone.is_empty() {
            reviews.for_sessions.push(SessionNotice::Redone { turns: redone });
        }
        for (path, notified) in done {
            let text = format!(
                "{TAKEN_BACK}: your change in {path} is in the file again, for them to decide."
            );
            reviews.tell_models(notified, text);
        }
        reviews.answer_recorded(undone(problem), reply);
    });
}

/// Answer to the request for an undo.
fn undone(problem: Option<ReviewProblem>) -> UndoDecisionResult {
    let undone = problem.is_none();
    UndoDecisionResult { undone, problem: problem.map(|problem| problem.message()) }
}

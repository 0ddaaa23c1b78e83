//! Restores the files, their reviews and the plan to their state before a turn.
//!
//! Must never overwrite what somebody else wrote since without being told to: such files are named
//! first, with both texts.

use std::collections::BTreeMap;

use cairn_core::{
    ids::{FileKey, TurnId},
    review::{DecisionEffects, DecisionUndo, FileReview, FileSnapshot},
    text::Text,
};
use cairn_protocol::{
    CheckpointConflict, RequestProblem, RestoreCheckpointParams, RestoreCheckpointResult,
};
use futures_util::future::join_all;
use tokio::sync::oneshot;

use crate::{
    event::{RequestError, Responder},
    review::{Reviews, event::SessionNotice, flight::EditRequest, problem::of_outcome},
    workspace::{path_of, uri_of},
};

/// Reads the files that are not open from the disk first.
pub(crate) fn handle(
    reviews: &mut Reviews,
    params: RestoreCheckpointParams,
    reply: Responder<RestoreCheckpointResult>,
) {
    let (Some(files), Some(workspace)) = (
        reviews.checkpoints.before(&params.turn_id.as_str().into()),
        reviews.services.workspace.clone(),
    ) else {
        return reply.send(Err(RequestError::from(RequestProblem::CheckpointNotFound)));
    };
    let docs = &reviews.services.docs;
    let closed: Vec<FileKey> = files.into_keys().filter(|key| docs.get(key).is_none()).collect();
    let read = tokio::task::spawn_blocking(move || {
        let read = |key: FileKey| (key.clone(), workspace.text_of(&key));
        closed.into_iter().map(read).collect::<BTreeMap<_, _>>()
    });
    reviews.after(read, move |reviews, disk| {
        restore(reviews, params, &disk.unwrap_or_default(), reply);
    });
}

/// Restores the files, unless somebody else changed one and the client does not want it overwritten.
fn restore(
    reviews: &mut Reviews,
    params: RestoreCheckpointParams,
    disk: &BTreeMap<FileKey, Option<Text>>,
    reply: Responder<RestoreCheckpointResult>,
) {
    let files = reviews.checkpoints.before(&params.turn_id.as_str().into()).unwrap_or_default();
    let mut result = RestoreCheckpointResult::default();
    let mut back = Vec::new();
    for (key, before) in files {
        let open = reviews.services.docs.get(&key).map(|document| document.text.clone());
        let now = open.or_else(|| disk.get(&key).cloned().flatten());
        if now == before.text && before.state.is_settled() {
            continue;
        }
        let Some(path) = path_of(&key) else { continue };
        let display = reviews.services.display(&path);
        if now != before.text && (before.touched || now != before.left) {
            result.conflicts.push(CheckpointConflict {
                uri: uri_of(&path).unwrap_or_else(|| key.clone().into()),
                path: display.clone(),
                text: before.text.as_ref().map(Text::to_string),
            });
        }
        back.push((key, display, now, before));
    }
    if !result.conflicts.is_empty() && !params.overwrite {
        return reply.send(Ok(result));
    }
    let mut waits = Vec::new();
    for (key, path, now, before) in back {
        let former = former(reviews, &key, now.as_ref(), &before);
        let (done, wait) = oneshot::channel();
        let request = EditRequest::RestoreCheckpoint { now, before: Box::new(before) };
        reviews.enqueue(&key, request, done);
        waits.push(async move { (path, former, wait.await) });
    }
    reviews.after(join_all(waits), move |reviews, outcomes| {
        let mut done = Vec::new();
        for (path, former, outcome) in outcomes {
            match of_outcome(&path, outcome.ok()) {
                None => {
                    result.restored.push(path);
                    done.push(former);
                }
                Some(problem) => result.failed.push(problem.message()),
            }
        }
        on_restored(reviews, params.turn_id.into(), done, result, reply);
    });
}

/// Returns the present state of a file, to undo the restoration in the same way as a decision.
fn former(
    reviews: &Reviews,
    key: &FileKey,
    now: Option<&Text>,
    before: &FileSnapshot,
) -> DecisionUndo {
    let mut state = reviews.files.state(key);
    if let (None, Some(now)) = (&state.review, now) {
        state.review = Some(FileReview::new(now.clone()));
    }
    if let (Some(_), Some(workspace), Some(path)) = (now, &reviews.services.workspace, path_of(key))
    {
        // The file was read a moment ago.
        state.form = workspace.form_of(&path);
    }
    let (key, after) = (key.to_owned(), before.text.clone());
    DecisionUndo { key, state, after, effects: DecisionEffects::default() }
}

/// Restores the plans, and records the restoration as a decision.
fn on_restored(
    reviews: &mut Reviews,
    turn: TurnId,
    mut done: Vec<DecisionUndo>,
    result: RestoreCheckpointResult,
    reply: Responder<RestoreCheckpointResult>,
) {
    let plans = match result.failed.is_empty() {
        true => reviews.checkpoints.forget_since(turn, &result.restored, &reviews.files),
        false => Vec::new(),
    };
    if let Some(first) = done.first_mut() {
        let turns = plans.iter().map(|before| (before.session.clone(), before.turn.clone()));
        first.effects.restored = turns.collect();
    }
    reviews.decisions.record(done, &reviews.files);
    reviews.for_sessions.push(SessionNotice::CheckpointRestored { plans, result, reply });
}

//! Accepts or rejects edits.
//!
//! A decision about a hunk that is gone or changed since the user saw it does nothing and is reported.

use std::collections::HashMap;

use cairn_core::{
    ids::{FileKey, SessionId},
    review::{HunkId, Origin, OwnText},
};
use cairn_protocol::{DecideParams, DecideResult, Decision, Scope};
use futures_util::future::join_all;
use tokio::sync::oneshot;

use super::undo_decision::undo_waiting;
use crate::{
    event::Responder,
    ports::Proposed,
    review::{
        Reviews,
        decisions::{Rejection, Target},
        files::Files,
        flight::EditRequest,
        problem::of_outcome,
    },
};

pub(crate) fn handle(reviews: &mut Reviews, params: DecideParams, reply: Responder<DecideResult>) {
    // What changed in this very moment makes what the user saw stale.
    reviews.publish();
    let mut result = DecideResult::default();
    let mut targets = targets(&reviews.files, &params, &mut result.stale);
    let files = &mut reviews.files;
    let own = match params.decision {
        Decision::Accept => {
            let former = targets.iter().filter_map(|target| {
                files.entries.get_mut(&target.key)?.accept(target, &mut result)
            });
            let former = former.collect();
            reviews.decisions.record(former, files);
            targets.iter().for_each(|target| files.store_file(&target.key));
            return apply_outdated(reviews, &targets, result, reply);
        }
        Decision::Reject => OwnText::Keep,
        Decision::Drop => OwnText::Drop,
    };
    for Target { key, outdated, .. } in &mut targets {
        let outdated = std::mem::take(outdated);
        let entry = files.entries.get_mut(key);
        result.applied += entry.map_or(0, |entry| entry.forget_outdated(&outdated));
    }
    targets.retain(|target| target.count() > 0);
    reject(reviews, &targets, own, params.feedback.as_deref(), result, reply);
}

/// Makes the outdated edits among the accepted ones again, through the editor.
fn apply_outdated(
    reviews: &mut Reviews,
    targets: &[Target],
    mut result: DecideResult,
    reply: Responder<DecideResult>,
) {
    let mut waits = Vec::new();
    for Target { key, outdated, .. } in targets {
        let path = reviews.services.display_key(key);
        for id in outdated {
            let (done, wait) = oneshot::channel();
            reviews.enqueue(key, EditRequest::ApplyOutdated(*id), done);
            let (path, key, id) = (path.clone(), key.clone(), *id);
            waits.push(async move { (path, key, id, wait.await.ok()) });
        }
    }
    if waits.is_empty() {
        return reviews.answer_recorded(result, reply);
    }
    reviews.after(join_all(waits), move |reviews, outcomes| {
        for (path, key, id, outcome) in outcomes {
            let is_made = count(&mut result, &path, 1, outcome);
            if let Some(entry) = reviews.files.entries.get_mut(&key).filter(|_| is_made) {
                entry.forget_outdated(&[id]);
            }
        }
        reviews.answer_recorded(result, reply);
    });
}

/// Counts the outcome of an edit. Returns true if it was applied.
fn count(result: &mut DecideResult, path: &str, hunks: u32, outcome: Option<Proposed>) -> bool {
    match outcome {
        Some(Proposed::Applied { .. }) => {
            result.applied += hunks;
            return true;
        }
        Some(Proposed::Stale | Proposed::Astray) => result.stale += hunks,
        other => {
            let problem = of_outcome(path, other);
            result.failed.extend(problem.map(|problem| problem.message()));
        }
    }
    false
}

fn reject(
    reviews: &mut Reviews,
    targets: &[Target],
    own: OwnText,
    feedback: Option<&str>,
    mut result: DecideResult,
    reply: Responder<DecideResult>,
) {
    let mut waits = Vec::new();
    let mut keys = Vec::new();
    for target in targets {
        let entry = reviews.files.entries.get(&target.key);
        let rejection = entry.and_then(|it| it.rejection(target, own, feedback, &reviews.services));
        let Some(rejection) = rejection else {
            result.stale += target.count();
            continue;
        };
        let steps = enqueue(reviews, target, own, &rejection);
        if let Some(entry) = reviews.files.entries.get_mut(&target.key) {
            entry.rejecting += 1;
            keys.push(target.key.clone());
        }
        waits.push(async move { (rejection, all_applied(steps).await) });
    }
    let number = reviews.decisions.begin_rejection();
    reviews.after(join_all(waits), move |reviews, outcomes| {
        let mut done = Vec::new();
        for (rejection, outcome) in outcomes {
            if count(&mut result, &rejection.path, rejection.hunks, outcome) {
                done.push(rejection);
            }
        }
        on_rejected(reviews, number, keys, done);
        reviews.answer_recorded(result, reply);
    });
}

/// Queues the edits of a rejection: of the lines, then of the file operation.
fn enqueue(
    reviews: &mut Reviews,
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
            reviews.enqueue(&target.key, request, reply);
            step
        })
        .collect()
}

/// Outcome of the last step, or of the first that was not applied. `None`: it was dropped.
async fn all_applied(steps: Vec<oneshot::Receiver<Proposed>>) -> Option<Proposed> {
    let mut last = Some(Proposed::Stale);
    for step in steps {
        last = step.await.ok();
        if !matches!(last, Some(Proposed::Applied { .. })) {
            break;
        }
    }
    last
}

/// Informs the models of what the user did not want, at their next safe point, now that it is gone.
fn on_rejected(reviews: &mut Reviews, number: u64, keys: Vec<FileKey>, done: Vec<Rejection>) {
    for Rejection { former, notice, .. } in &done {
        reviews.tell_models(former.effects.notified.clone(), notice.clone());
    }
    for key in keys {
        // A rejected move took the entry along.
        let formers = done.iter().map(|rejection| &rejection.former);
        let mut moved = formers.filter(|former| former.key == key);
        let key = moved.find_map(|former| former.effects.moved_to.clone()).unwrap_or(key);
        if let Some(entry) = reviews.files.entries.get_mut(&key) {
            entry.rejecting = entry.rejecting.saturating_sub(1);
            entry.dirty = true;
        }
    }
    let formers = done.into_iter().map(|rejection| rejection.former).collect();
    reviews.decisions.end_rejection(number, formers);
    undo_waiting(reviews);
}

/// The hunks that a scope names one by one, each with the revision that showed it.
fn named<'a>(files: &Files, params: &'a DecideParams) -> HashMap<(FileKey, &'a str), Option<u32>> {
    let entry = |uri: &str, id: &'a str, rev| Some(((files.key_of(uri)?, id), rev));
    match &params.scope {
        Scope::Hunk { uri, hunk_id } => entry(uri, hunk_id, params.rev).into_iter().collect(),
        Scope::Hunks { hunks } => {
            hunks.iter().filter_map(|it| entry(&it.uri, &it.hunk_id, it.rev)).collect()
        }
        Scope::File { .. } | Scope::PlanItem { .. } | Scope::All => HashMap::new(),
    }
}

/// The hunks of the scope, in files and order; ones that are not as the user saw them are
/// counted as stale.
fn targets(files: &Files, params: &DecideParams, stale: &mut u32) -> Vec<Target> {
    let named = named(files, params);
    let mut targets = Vec::new();
    let mut keys: Vec<&FileKey> = files.entries.keys().collect();
    keys.sort();
    for key in keys {
        let Some(entry) = files.entries.get(key) else { continue };
        let mut wanted = |id: &str, origin: &Origin| {
            let is_wanted = match &params.scope {
                Scope::Hunk { .. } | Scope::Hunks { .. } => named.contains_key(&(key.clone(), id)),
                Scope::File { uri } => files.key_of(uri).as_ref() == Some(key),
                Scope::PlanItem { session_id, plan_item } => {
                    let is_item = |session: &SessionId, item: Option<&str>| {
                        *session == *session_id && item == Some(plan_item)
                    };
                    let subagent = origin.subagent.as_deref();
                    is_item(&origin.session, origin.plan_item.as_deref())
                        || subagent.is_some_and(|it| is_item(&it.session, it.plan_item.as_deref()))
                }
                Scope::All => true,
            };
            let rev = named.get(&(key.clone(), id)).copied().unwrap_or(params.rev);
            let as_seen = entry.shown_since(id, rev);
            *stale += u32::from(is_wanted && !as_seen);
            is_wanted && as_seen
        };
        let operation = entry
            .state
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
    if targets.is_empty() && *stale == 0 {
        *stale = match &params.scope {
            Scope::Hunk { .. } => 1,
            Scope::Hunks { hunks } => u32::try_from(hunks.len()).unwrap_or(u32::MAX),
            Scope::File { .. } | Scope::PlanItem { .. } | Scope::All => 0,
        };
    }
    targets
}

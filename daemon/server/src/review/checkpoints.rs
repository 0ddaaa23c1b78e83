//! Checkpoints: how files, their review and the plan were before each turn, and the way back.
//!
//! A file is remembered before the agent first changes it in a turn. Must never overwrite what
//! somebody else wrote since without being told to: such files are named first, with both texts.

use std::collections::{BTreeMap, BTreeSet};

use cairn_core::{
    context::WENT_BACK,
    ids::{FileKey, SessionId, TurnId},
    plan::Plan,
    review::{
        Cause, Checkpoint, DecisionEffects, DecisionUndo, FileReview, FileSnapshot, FileState,
        Transition,
    },
    text::Text,
};
use cairn_protocol::{
    CheckpointConflict, CheckpointsResult, RequestProblem, RestoreCheckpointParams,
    RestoreCheckpointResult,
};
use futures_util::future::join_all;
use tokio::sync::oneshot;

use super::{
    Reviews,
    event::{CheckpointRestore, CheckpointRestored, PlanBefore, ReviewEvent, SessionNotice},
    flight::{EditRequest, PlannedEdit, UNCHANGED},
    problem::of_outcome,
};
use crate::{
    event::{RequestError, Responder},
    ports::Proposed,
    store::reviews::CHECKPOINTS_KEPT,
    workspace::{path_of, uri_of},
};

impl Reviews {
    /// Remembers how everything is before a turn.
    pub(crate) fn begin_checkpoint(
        &mut self,
        session: SessionId,
        turn: TurnId,
        task: String,
        plan: Plan,
    ) {
        let files = BTreeMap::new();
        self.checkpoints.known.push(Checkpoint { turn, session, task, plan, files });
        if self.checkpoints.known.len() > CHECKPOINTS_KEPT {
            self.checkpoints.known.remove(0);
        }
    }

    /// The agent is about to change a file.
    pub(super) fn remember_before(&mut self, key: &FileKey, turn: &TurnId, text: Option<&Text>) {
        let state =
            self.files.entries.get(key).map_or_else(FileState::settled, |entry| entry.state());
        let checkpoints = &mut self.checkpoints.known;
        let Some(at) = checkpoints.iter().position(|checkpoint| checkpoint.turn == *turn) else {
            return;
        };
        let (text, left) = (text.cloned(), text.cloned());
        checkpoints[at].files.entry(key.to_owned()).or_insert_with(|| FileSnapshot {
            state,
            text,
            left,
            touched: false,
        });
        self.store_checkpoint(at);
    }

    /// The agent, or a decision, left this text.
    pub(super) fn remember_left(&mut self, key: &FileKey, text: Option<&Text>) {
        let mut changed = Vec::new();
        for (index, checkpoint) in self.checkpoints.known.iter_mut().enumerate() {
            if let Some(before) = checkpoint.files.get_mut(key) {
                before.left = text.cloned();
                changed.push(index);
            }
        }
        // The others are older: the newest alone is asked for what was left.
        if let Some(newest) = changed.pop() {
            self.store_checkpoint(newest);
        }
    }

    pub(super) fn remember_touched(&mut self, key: &FileKey) {
        for index in self.checkpoints.touched(key) {
            self.store_checkpoint(index);
        }
    }

    fn store_checkpoint(&self, index: usize) {
        if let (Some(store), Some(checkpoint)) =
            (&self.store, self.checkpoints.known.get(index).filter(|it| !it.files.is_empty()))
        {
            store.checkpoint(checkpoint.clone());
        }
    }

    pub(crate) fn list_checkpoints(&self) -> CheckpointsResult {
        let known = self.checkpoints.known.iter().rev();
        let checkpoints = known.filter(|checkpoint| !checkpoint.files.is_empty());
        let display = |key: &FileKey| path_of(key).map(|path| self.services.display(&path));
        CheckpointsResult {
            checkpoints: checkpoints
                .map(|checkpoint| cairn_protocol::Checkpoint {
                    session_id: checkpoint.session.clone().into(),
                    turn_id: checkpoint.turn.clone().into(),
                    task: checkpoint.task.clone(),
                    files: checkpoint.files.keys().filter_map(display).collect(),
                })
                .collect(),
        }
    }

    /// Looks at the disk first, for files that are not open.
    pub(crate) fn restore_checkpoint(
        &mut self,
        params: RestoreCheckpointParams,
        reply: Responder<RestoreCheckpointResult>,
    ) {
        let (Some(files), Some(workspace)) = (
            self.checkpoints.before(&params.turn_id.as_str().into()),
            self.services.workspace.clone(),
        ) else {
            return reply.send(Err(RequestError::from(RequestProblem::CheckpointNotFound)));
        };
        let closed: Vec<FileKey> =
            files.into_keys().filter(|key| self.services.docs.get(key).is_none()).collect();
        let mailbox = self.mailbox.clone();
        self.services.spawn(async move {
            let read = tokio::task::spawn_blocking(move || {
                let text = |key: &FileKey| {
                    let path = workspace.resolve(key).ok()?;
                    workspace.read_text(&path).ok().map(|decoded| decoded.text)
                };
                closed.into_iter().map(|key| (key.clone(), text(&key))).collect()
            });
            let disk = read.await.unwrap_or_default();
            mailbox.send(ReviewEvent::CheckpointRestore(Box::new(CheckpointRestore {
                params,
                disk,
                reply,
            })));
        });
    }

    pub(super) fn on_checkpoint_restore(&mut self, going: CheckpointRestore) {
        let CheckpointRestore { params, disk, reply } = going;
        let files = self.checkpoints.before(&params.turn_id.as_str().into()).unwrap_or_default();
        let mut result = RestoreCheckpointResult::default();
        let mut back = Vec::new();
        for (key, before) in files {
            let open = self.services.docs.get(&key).map(|document| document.text.clone());
            let now = open.or_else(|| disk.get(&key).cloned().flatten());
            if now == before.text && before.state.is_settled() {
                continue;
            }
            let Some(path) = path_of(&key) else { continue };
            if now != before.text && (before.touched || now != before.left) {
                result.conflicts.push(CheckpointConflict {
                    uri: uri_of(&path).unwrap_or_else(|| key.clone().into()),
                    path: self.services.display(&path),
                    text: before.text.as_ref().map(Text::to_string),
                });
            }
            back.push((key, self.services.display(&path), now, before));
        }
        if !result.conflicts.is_empty() && !params.overwrite {
            return reply.send(Ok(result));
        }
        let mut waits = Vec::new();
        for (key, path, now, before) in back {
            let former = self.former(&key, now.as_ref(), &before);
            let (done, wait) = oneshot::channel();
            self.enqueue(
                &key,
                EditRequest::RestoreCheckpoint { now, before: Box::new(before) },
                done,
            );
            waits.push(async move { (path, former, wait.await) });
        }
        let mailbox = self.mailbox.clone();
        self.services.spawn(async move {
            let mut done = Vec::new();
            for (path, former, outcome) in join_all(waits).await {
                match of_outcome(&path, outcome.ok()) {
                    None => {
                        result.restored.push(path);
                        done.push(former);
                    }
                    Some(problem) => result.failed.push(problem.message()),
                }
            }
            let turn = params.turn_id.into();
            mailbox.send(ReviewEvent::CheckpointRestored(Box::new(CheckpointRestored {
                turn,
                done,
                result,
                reply,
            })));
        });
    }

    /// To undo it all the same way as a decision.
    fn former(&self, key: &FileKey, now: Option<&Text>, before: &FileSnapshot) -> DecisionUndo {
        let mut state =
            self.files.entries.get(key).map_or_else(FileState::settled, |entry| entry.state());
        if let (None, Some(now)) = (&state.review, now) {
            state.review = Some(FileReview::new(now.clone()));
        }
        if let (Some(_), Some(workspace), Some(path)) =
            (now, &self.services.workspace, path_of(key))
        {
            // The file was read a moment ago.
            state.form = workspace.form_of(&path);
        }
        let (key, after) = (key.to_owned(), before.text.clone());
        DecisionUndo { key, state, after, effects: DecisionEffects::default() }
    }

    pub(super) fn plan_checkpoint_restore(
        &mut self,
        key: &FileKey,
        now: Option<Text>,
        before: FileSnapshot,
    ) -> Result<PlannedEdit, Proposed> {
        let open = self.services.docs.get(key);
        let entry = self.files.entries.get_mut(key).ok_or(Proposed::Stale)?;
        if open.is_some_and(|document| Some(&document.text) != now.as_ref()) {
            return Err(Proposed::Stale);
        }
        if now == before.text {
            entry.change_state(|state| *state = before.state);
            entry.absent = before.text.is_none();
            entry.mark_changed();
            return Err(UNCHANGED);
        }
        let cause = Cause::Restore { former: Box::new(before.state), is_undo: false };
        Ok(Transition { before: now, after: before.text, cause }.into())
    }

    pub(super) fn on_checkpoint_restored(&mut self, went: CheckpointRestored) {
        let CheckpointRestored { turn, mut done, result, reply } = went;
        let mut plans = Vec::new();
        let at = self.checkpoints.known.iter().position(|checkpoint| checkpoint.turn == turn);
        if let Some(at) = at.filter(|_| result.failed.is_empty()) {
            let gone = self.checkpoints.known.split_off(at);
            if let Some(store) = &self.store {
                store.record_restore(turn);
            }
            plans = plans_before(gone, &result.restored);
        }
        if let Some(first) = done.first_mut() {
            let turns = plans.iter().map(|before| (before.session.clone(), before.turn.clone()));
            first.effects.restored = turns.collect();
        }
        self.record_undo(done);
        self.for_sessions.push(SessionNotice::CheckpointRestored { plans, result, reply });
    }
}

/// Plans of the sessions as they were before the oldest of their turns.
fn plans_before(gone: Vec<Checkpoint>, restored: &[String]) -> Vec<PlanBefore> {
    let mut known = BTreeSet::new();
    let oldest = gone.into_iter().filter(|it| known.insert(it.session.clone()));
    let plan = |Checkpoint { session, turn, task, plan, .. }: Checkpoint| {
        let text = format!(
            "{WENT_BACK} to how everything was before you began with: {task}\nThese files are as they were then: {}. The plan is too. Read a file again before you change it.",
            restored.join(", ")
        );
        PlanBefore { session, turn, plan, text }
    };
    oldest.map(plan).collect()
}

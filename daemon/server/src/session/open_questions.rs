//! Questions to the user that tool calls wait for.

use std::collections::HashMap;

use cairn_core::{
    ids::{SessionId, TurnId},
    policy::Access,
};
use cairn_protocol::{ApproveParams, ApproveResult};
use tokio::sync::oneshot;

/// Questions without an answer, by the id of their approval.
#[derive(Debug, Default)]
pub(super) struct OpenQuestions(HashMap<String, OpenQuestion>);

#[derive(Debug)]
pub(super) struct OpenQuestion {
    pub(super) params: ApproveParams,
    pub(super) access: Access,
    pub(super) reply: oneshot::Sender<ApproveResult>,
}

impl OpenQuestions {
    pub(super) fn insert(&mut self, question: OpenQuestion) {
        self.0.insert(question.params.approval_id.clone(), question);
    }

    pub(super) fn remove(&mut self, approval_id: &str) -> Option<OpenQuestion> {
        self.0.remove(approval_id)
    }

    /// Returns what the questions ask, oldest first.
    pub(super) fn all(&self) -> Vec<ApproveParams> {
        let mut open: Vec<_> = self.0.values().map(|question| question.params.clone()).collect();
        // Ids sort by time.
        open.sort_by(|one, other| one.approval_id.cmp(&other.approval_id));
        open
    }

    /// Removes all questions and returns them.
    pub(super) fn take(&mut self) -> Vec<OpenQuestion> {
        self.0.drain().map(|(_, question)| question).collect()
    }

    /// Removes the questions of a turn, which has ended.
    pub(super) fn withdraw(&mut self, turn_id: &TurnId) {
        self.0.retain(|_, question| *turn_id != question.params.turn_id);
    }

    /// Removes the questions of a session that is dropped from memory.
    pub(super) fn forget(&mut self, session: &SessionId) {
        self.0.retain(|_, question| *session != question.params.session_id);
    }
}

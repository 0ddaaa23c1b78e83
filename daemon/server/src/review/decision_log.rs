//! Decisions of the user that can be taken back, in order.

use std::collections::VecDeque;

use cairn_protocol::UndoDecisionResult;

use super::file_state::DecisionUndo;
use crate::event::Reply;

/// Decisions that can be taken back, newest last.
#[derive(Debug, Default)]
pub(super) struct DecisionLog {
    pub(super) stack: VecDeque<Vec<DecisionUndo>>,
    /// Steps of the user, in order, since the oldest rejection that is not confirmed yet.
    pub(super) waiting: VecDeque<Step>,
    /// Rejections so far.
    pub(super) rejections: u64,
}

#[derive(Debug)]
pub(super) enum Step {
    /// The rejection of this number is under way.
    Rejecting(u64),
    Decided(Vec<DecisionUndo>),
    TakeBack(Reply<UndoDecisionResult>),
}

impl DecisionLog {
    /// Decisions from before this process, oldest first.
    pub(super) fn remember_older(&mut self, older: Vec<Vec<DecisionUndo>>) {
        for formers in older.into_iter().rev() {
            self.stack.push_front(formers);
        }
    }

    /// A file is at another path now.
    pub(super) fn moved(&mut self, from: &str, to: &str) {
        let waiting = self.waiting.iter_mut().filter_map(|step| match step {
            Step::Decided(formers) => Some(formers),
            Step::Rejecting(_) | Step::TakeBack(_) => None,
        });
        for former in self.stack.iter_mut().chain(waiting).flatten() {
            let key = former.moved_to.as_mut().unwrap_or(&mut former.key);
            if key == from {
                to.clone_into(key);
            }
        }
    }
}

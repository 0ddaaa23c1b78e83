//! Decisions of the user that can be undone, in order.

use std::collections::VecDeque;

use cairn_core::{ids::FileKey, review::DecisionUndo};
use cairn_protocol::UndoDecisionResult;

use crate::event::Responder;

/// Decisions that can be undone, newest last.
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
    /// The rejection with this number has been sent to the editor.
    Rejecting(u64),
    Decided(Vec<DecisionUndo>),
    TakeBack(Responder<UndoDecisionResult>),
}

impl DecisionLog {
    /// Decisions from before this process, oldest first.
    pub(super) fn remember_older(&mut self, older: Vec<Vec<DecisionUndo>>) {
        for formers in older.into_iter().rev() {
            self.stack.push_front(formers);
        }
    }

    /// Handles the move of a file to another path.
    pub(super) fn moved(&mut self, from: &FileKey, to: &FileKey) {
        let waiting = self.waiting.iter_mut().filter_map(|step| match step {
            Step::Decided(formers) => Some(formers),
            Step::Rejecting(_) | Step::TakeBack(_) => None,
        });
        for former in self.stack.iter_mut().chain(waiting).flatten() {
            let key = former.effects.moved_to.as_mut().unwrap_or(&mut former.key);
            if key == from {
                key.clone_from(to);
            }
        }
    }
}

//! Decisions of the user that can be undone, in order.

use std::collections::VecDeque;

use cairn_core::{ids::FileKey, review::DecisionUndo, text::Text};
use cairn_protocol::UndoDecisionResult;

use super::files::Files;
use crate::{event::Responder, store::reviews::ReviewLine};

const MOST_UNDOS: usize = 50;

/// Decisions that can be undone, newest last.
#[derive(Debug, Default)]
pub(super) struct DecisionLog {
    stack: VecDeque<Vec<DecisionUndo>>,
    /// Steps of the user, in order, since the oldest rejection that is not confirmed yet.
    waiting: VecDeque<Step>,
    /// Rejections so far.
    rejections: u64,
}

#[derive(Debug)]
enum Step {
    /// The rejection with this number has been sent to the editor.
    Rejecting(u64),
    Decided(Vec<DecisionUndo>),
    Undo(Responder<UndoDecisionResult>),
}

impl DecisionLog {
    /// Decisions from before this process, oldest first.
    pub(super) fn remember_older(&mut self, older: Vec<Vec<DecisionUndo>>) {
        for formers in older.into_iter().rev() {
            self.stack.push_front(formers);
        }
    }

    /// Records a decision, after the steps that wait for a rejection.
    pub(super) fn record(&mut self, formers: Vec<DecisionUndo>, files: &Files) {
        if self.waiting.is_empty() {
            self.push(formers, files);
        } else {
            self.waiting.push_back(Step::Decided(formers));
        }
    }

    /// Adds a rejection that was sent to the editor. Returns its number.
    pub(super) fn begin_rejection(&mut self) -> u64 {
        self.rejections += 1;
        self.waiting.push_back(Step::Rejecting(self.rejections));
        self.rejections
    }

    /// Ends the rejection with this number.
    pub(super) fn end_rejection(&mut self, number: u64, formers: Vec<DecisionUndo>) {
        let is_it = |step: &&mut Step| matches!(step, Step::Rejecting(it) if *it == number);
        if let Some(step) = self.waiting.iter_mut().find(is_it) {
            *step = Step::Decided(formers);
        }
    }

    /// Adds a request for an undo. It waits for the rejections before it.
    pub(super) fn add_undo(&mut self, reply: Responder<UndoDecisionResult>) {
        self.waiting.push_back(Step::Undo(reply));
    }

    /// Returns the next request for an undo, and records the decisions before it. `None` if a
    /// rejection before it is not confirmed yet.
    pub(super) fn next_undo(&mut self, files: &Files) -> Option<Responder<UndoDecisionResult>> {
        loop {
            match self.waiting.pop_front()? {
                step @ Step::Rejecting(_) => {
                    self.waiting.push_front(step);
                    return None;
                }
                Step::Undo(reply) => return Some(reply),
                Step::Decided(formers) => self.push(formers, files),
            }
        }
    }

    fn push(&mut self, formers: Vec<DecisionUndo>, files: &Files) {
        if formers.is_empty() {
            return;
        }
        // The files first: each decision in the log was made.
        for former in &formers {
            files.store_file(&former.key);
        }
        files.store_now(ReviewLine::Decided(formers.clone()));
        self.stack.push_back(formers);
        while self.stack.len() > MOST_UNDOS {
            self.stack.pop_front();
        }
    }

    /// Takes the newest decision, to undo it.
    pub(super) fn pop(&mut self, files: &Files) -> Option<Vec<DecisionUndo>> {
        let formers = self.stack.pop_back()?;
        files.store_now(ReviewLine::Undone);
        Some(formers)
    }

    /// Handles an undo that was in flight when the daemon died, and arrived after the restart.
    pub(super) fn undo_landed(&mut self, key: &FileKey, before: Option<&Text>, files: &Files) {
        let is_it = |formers: &Vec<DecisionUndo>| match formers.as_slice() {
            [former] => former.key == *key && former.after.as_ref() == before,
            _ => false,
        };
        if self.stack.back().is_some_and(is_it) {
            self.pop(files);
        }
    }

    /// Handles the move of a file to another path.
    pub(super) fn moved(&mut self, from: &FileKey, to: &FileKey) {
        let waiting = self.waiting.iter_mut().filter_map(|step| match step {
            Step::Decided(formers) => Some(formers),
            Step::Rejecting(_) | Step::Undo(_) => None,
        });
        for former in self.stack.iter_mut().chain(waiting).flatten() {
            let key = former.effects.moved_to.as_mut().unwrap_or(&mut former.key);
            if key == from {
                key.clone_from(to);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use cairn_core::review::{DecisionEffects, FileState};

    use super::*;

    fn decision(key: &str) -> Vec<DecisionUndo> {
        let (state, effects) = (FileState::default(), DecisionEffects::default());
        vec![DecisionUndo { key: key.into(), state, after: None, effects }]
    }

    #[test]
    fn a_decision_is_recorded_after_the_rejection_before_it() {
        let (mut log, files) = (DecisionLog::default(), Files::default());
        let (first, second) = (log.begin_rejection(), log.begin_rejection());
        log.record(decision("c"), &files);
        log.end_rejection(second, decision("b"));
        assert!(log.next_undo(&files).is_none() && log.pop(&files).is_none());
        log.end_rejection(first, decision("a"));
        assert!(log.next_undo(&files).is_none());
        let undone = std::iter::from_fn(|| log.pop(&files)).flatten();
        let undone: Vec<String> = undone.map(|former| former.key.to_string()).collect();
        assert_eq!(undone, ["c", "b", "a"]);
    }
}

//! Decisions in their order, and how the newest is taken back.

use cairn_core::{context::TAKEN_BACK, text::Text};
use cairn_protocol::UndoDecisionResult;
use futures_util::future::join_all;
use tokio::sync::oneshot;

use super::{
    Reviews,
    decision_log::Step,
    decisions::not_yet,
    event::{Restored, ReviewEvent},
    file_state::DecisionUndo,
    flight::QueuedEdit,
};
use crate::{event::Reply, ports::Proposed, workspace::path_of};

const MOST_UNDOS: usize = 50;

impl Reviews {
    pub(super) fn can_undo(&mut self, former: Vec<DecisionUndo>) {
        self.decisions.waiting.push_back(Step::Decided(former));
        self.go_on_deciding();
    }

    /// As far as it can be said what the user decided last.
    pub(super) fn go_on_deciding(&mut self) {
        while let Some(step) = self.decisions.waiting.pop_front() {
            match step {
                Step::Rejecting(_) => return self.decisions.waiting.push_front(step),
                Step::TakeBack(reply) => self.take_back(reply),
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

    /// A rejection that is still on its way is a decision too: it is waited for.
    pub(crate) fn undo_decision(&mut self, reply: Reply<UndoDecisionResult>) {
        self.decisions.waiting.push_back(Step::TakeBack(reply));
        self.go_on_deciding();
    }

    fn take_back(&mut self, reply: Reply<UndoDecisionResult>) {
        let Some(former) = self.decisions.stack.pop_back() else {
            let message = Some("There is no decision to undo.".into());
            return drop(reply.send(Ok(UndoDecisionResult { undone: false, message })));
        };
        self.keep_undo();
        let mut waits = Vec::new();
        for DecisionUndo { key, standing, after, moved_to, told, accepted } in former {
            let (reply, wait) = oneshot::channel();
            let fate = standing.fate.clone();
            let restore = QueuedEdit::Restore {
                former: Box::new(standing),
                after: after.clone(),
                accepted,
                reply,
            };
            match (moved_to, after) {
                (Some(at), Some(base)) => {
                    let then = Box::new(restore);
                    self.enqueue(&at, QueuedEdit::MoveAgain { to: key.clone(), base, fate, then });
                }
                _ => self.enqueue(&key, restore),
            }
            let path = path_of(&key).map(|path| self.services.display(&path)).unwrap_or_default();
            waits.push(async move { (path, told, wait.await) });
        }
        let mailbox = self.mailbox.clone();
        self.services.spawn(async move {
            let (mut done, mut message) = (Vec::new(), None);
            for (path, told, outcome) in join_all(waits).await {
                match outcome {
                    Ok(Proposed::Applied { .. }) => done.push((path, told)),
                    Ok(Proposed::Stale | Proposed::Astray) => {
                        message = Some(format!(
                            "{path} changed since that decision; it was left as it is."
                        ));
                    }
                    Ok(Proposed::Refused(reason)) => message = Some(format!("{path}: {reason}")),
                    Ok(Proposed::Late(reason)) => message = Some(not_yet(&path, &reason)),
                    Err(_) => message = Some(format!("{path}: the edit was given up")),
                }
            }
            mailbox.send(ReviewEvent::Restored(Restored { done, message, reply }));
        });
    }

    pub(super) fn restored(&mut self, restored: Restored) {
        let Restored { done, message, reply } = restored;
        for (path, told) in done {
            let text = format!(
                "{TAKEN_BACK}: your change in {path} is in the file again, for them to decide."
            );
            self.tell_models(told, text);
        }
        self.answer_recorded(UndoDecisionResult { undone: message.is_none(), message }, reply);
    }

    /// The undo of a decision was on its way when the daemon died, and came after the restart.
    pub(super) fn undo_landed(&mut self, key: &str, before: Option<&Text>) {
        let is_it = |formers: &Vec<DecisionUndo>| match formers.as_slice() {
            [former] => former.key == key && former.after.as_ref() == before,
            _ => false,
        };
        if self.decisions.stack.back().is_some_and(is_it) {
            self.decisions.stack.pop_back();
            self.keep_undo();
        }
    }
}

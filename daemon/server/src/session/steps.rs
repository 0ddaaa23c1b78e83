//! Queue of steps that events cause.

use std::collections::VecDeque;

use cairn_core::{
    ids::{SessionId, TurnId},
    turn::{End, Input},
};

/// A step that an event caused and that is not yet done.
pub(super) enum SessionStep {
    /// Input of a turn's machine.
    Input { session: SessionId, turn: TurnId, input: Input },
    /// Start of a turn: creates its checkpoint.
    Checkpoint { session: SessionId, turn: TurnId, task: String },
    /// End of a turn, after its subagents have ended.
    TurnEnded { session: SessionId, turn: TurnId, end: End },
}

/// Steps in the order in which they are done.
#[derive(Default)]
pub(super) struct StepQueue(VecDeque<SessionStep>);

impl StepQueue {
    /// Queues an input of a turn.
    pub(super) fn input(&mut self, session: &SessionId, turn: &TurnId, input: Input) {
        let (session, turn) = (session.clone(), turn.clone());
        self.push(SessionStep::Input { session, turn, input });
    }

    pub(super) fn push(&mut self, step: SessionStep) {
        self.0.push_back(step);
    }

    /// Queues these steps before all others.
    pub(super) fn push_first(&mut self, mut steps: VecDeque<SessionStep>) {
        steps.append(&mut self.0);
        self.0 = steps;
    }

    pub(super) fn pop(&mut self) -> Option<SessionStep> {
        self.0.pop_front()
    }
}

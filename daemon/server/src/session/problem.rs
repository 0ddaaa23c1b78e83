//! Problems that end turns, in the form of the protocol.

use cairn_core::{
    context::{Shortened, Shortening},
    turn::EndCause,
};
use cairn_protocol::{TurnNotice, TurnProblem};

use crate::model::problem::of_failure;

/// Converts the cause of an end. `provider` is the one whose model was asked.
pub(super) fn of_end(cause: &EndCause, provider: &str) -> TurnProblem {
    match cause {
        EndCause::Model(failure) => match cause.long_wait() {
            Some(seconds) => TurnProblem::ModelBusy {
                reason: failure.message.clone(),
                seconds: u32::try_from(seconds).unwrap_or(u32::MAX),
            },
            None => of_failure(failure, provider),
        },
        EndCause::ModelRefused => TurnProblem::ModelRefused,
        EndCause::UnknownStop(reason) => TurnProblem::UnknownStop { reason: reason.clone() },
        EndCause::RepeatedCall(tool) => TurnProblem::RepeatedCall { tool: tool.clone() },
        EndCause::CallInText => TurnProblem::CallInText,
        EndCause::ContextFull { message, .. } => {
            TurnProblem::ContextFull { reason: message.clone() }
        }
        EndCause::WindowTooSmall { window, head } => {
            TurnProblem::WindowTooSmall { window: tokens(*window), head: tokens(*head) }
        }
        EndCause::NotCompacted(reason) => TurnProblem::NotCompacted { reason: reason.clone() },
        EndCause::RoundLimit(limit) => {
            TurnProblem::RoundLimit { limit: *limit, setting: "cairn.limits.rounds".to_owned() }
        }
        EndCause::OutputLimit => {
            TurnProblem::OutputLimit { setting: "cairn.model.maxTokens".to_owned() }
        }
    }
}

pub(super) fn tokens(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Returns the notice of a shorter conversation.
pub(super) fn of_shortened(shortened: &Shortened) -> TurnNotice {
    let (before, after) = (tokens(shortened.before), tokens(shortened.after));
    match shortened.how {
        Shortening::Elided => TurnNotice::ResultsElided { before, after },
        Shortening::Summarized => TurnNotice::ConversationCompacted { before, after },
        Shortening::Mechanical => TurnNotice::CompactedWithoutSummary { before, after },
        Shortening::ImagesLeftOut => TurnNotice::ImagesLeftOut,
    }
}

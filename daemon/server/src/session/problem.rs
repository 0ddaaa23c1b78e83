//! Ends of turns and their problems, in the form of the protocol.

use cairn_core::turn::{self, End, EndCause};
use cairn_protocol::{EndReason, TurnProblem};

use crate::{
    model::problem::{of_failure, part},
    shortened,
};

/// Converts the cause of an end. `provider` is the one whose model was asked.
pub(super) fn of_end(cause: &EndCause, provider: &str) -> TurnProblem {
    match cause {
        EndCause::Model(failure) => match cause.long_wait() {
            Some(seconds) => TurnProblem::ModelBusy {
                reason: part(&failure.message),
                seconds: u32::try_from(seconds).unwrap_or(u32::MAX),
            },
            None => of_failure(failure, provider),
        },
        EndCause::ModelRefused => TurnProblem::ModelRefused,
        EndCause::UnknownStop(reason) => TurnProblem::UnknownStop { reason: reason.clone() },
        EndCause::RepeatedCall(tool) => TurnProblem::RepeatedCall { tool: tool.clone() },
        EndCause::CallInText => TurnProblem::CallInText,
        EndCause::ContextFull { message, compacted } => {
            TurnProblem::ContextFull { reason: part(message), compacted: *compacted }
        }
        EndCause::WindowTooSmall { window, head } => {
            TurnProblem::WindowTooSmall { window: tokens(*window), head: tokens(*head) }
        }
        EndCause::NotCompacted(reason) => TurnProblem::NotCompacted { reason: part(reason) },
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

/// Text of an end: the problem, the compaction that it was for, or the last text of the model.
pub(super) fn summary(end: &End, provider: &str) -> String {
    match (&end.cause, &end.compacted) {
        (Some(cause), _) => of_end(cause, provider).english(),
        (None, Some(compacted)) => format!("{}.", shortened::english(compacted)),
        (None, None) => end.summary.clone(),
    }
}

pub(super) fn end_reason(reason: turn::EndReason) -> EndReason {
    match reason {
        turn::EndReason::Completed => EndReason::Completed,
        turn::EndReason::NeedsInput => EndReason::NeedsInput,
        turn::EndReason::Cancelled => EndReason::Cancelled,
        turn::EndReason::Failed => EndReason::Failed,
        turn::EndReason::Limit => EndReason::Limit,
    }
}

//! End of a turn: the reason, and the cause if the work was not done.

use super::retry;
use crate::{context::Shortened, model::Failure};

#[derive(Debug, Clone, PartialEq)]
pub struct End {
    pub reason: EndReason,
    /// Last text of the model; empty if the turn has a cause, or is a compaction.
    pub summary: String,
    /// Cause of a failure or a limit.
    pub cause: Option<EndCause>,
    /// Compaction that the turn was for.
    pub compacted: Option<Shortened>,
    /// Number of open items of the plan; 0 if the turn neither changed it nor did anything.
    pub open_items: u32,
    /// No command has checked the last edit of the turn with success.
    pub unchecked_edits: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndReason {
    Completed,
    /// The final text asks the user a question.
    NeedsInput,
    Cancelled,
    Failed,
    Limit,
}

/// Cause of the end of a turn before its work was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EndCause {
    /// A request to the model failed, and is not sent again.
    Model(Failure),
    ModelRefused,
    /// The model stopped for a reason that is not in the format.
    UnknownStop(String),
    /// The model repeated a call of this tool.
    RepeatedCall(String),
    /// The conversation does not fit the model, also after a compaction if one was possible.
    ContextFull {
        message: String,
        compacted: bool,
    },
    /// The server's window has no room besides the system prompt and the tools, which take `head`
    /// tokens.
    WindowTooSmall {
        window: u64,
        head: u64,
    },
    /// A compaction that the user asked for failed.
    NotCompacted(String),
    /// The model wrote a call into its answer, and again after it was asked not to.
    CallInText,
    RoundLimit(u32),
    OutputLimit,
}

impl End {
    pub(super) fn new(reason: EndReason, summary: impl Into<String>) -> Self {
        Self {
            reason,
            summary: summary.into(),
            cause: None,
            compacted: None,
            open_items: 0,
            unchecked_edits: false,
        }
    }
}

impl From<EndCause> for End {
    fn from(cause: EndCause) -> Self {
        let reason = match &cause {
            EndCause::RoundLimit(_) | EndCause::OutputLimit => EndReason::Limit,
            _ => EndReason::Failed,
        };
        Self { cause: Some(cause), ..Self::new(reason, "") }
    }
}

impl EndCause {
    /// Returns the wait in seconds that the server asked for, if it is too long to wait without
    /// asking the user.
    pub fn long_wait(&self) -> Option<u64> {
        match self {
            EndCause::Model(failure) => retry::too_long(failure).map(|wait| wait.div_ceil(1000)),
            _ => None,
        }
    }
}

//! End of a turn: the reason, and the cause if the work was not done.

use std::fmt;

use super::retry;
use crate::model::Failure;

#[derive(Debug, Clone, PartialEq)]
pub struct End {
    pub reason: EndReason,
    /// Final text of the model, or the error and the next step for the user.
    pub summary: String,
    /// Cause of a failure or a limit; its text is the summary.
    pub cause: Option<EndCause>,
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

/// Cause of the end of a turn before its work was done. Its text is for the user.
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
    /// The server's window has no room beside the system prompt and the tools, which take `head`
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
        Self { reason, summary: summary.into(), cause: None, open_items: 0, unchecked_edits: false }
    }
}

impl From<EndCause> for End {
    fn from(cause: EndCause) -> Self {
        let reason = match &cause {
            EndCause::RoundLimit(_) | EndCause::OutputLimit => EndReason::Limit,
            EndCause::Model(_)
            | EndCause::ModelRefused
            | EndCause::UnknownStop(_)
            | EndCause::RepeatedCall(_)
            | EndCause::CallInText
            | EndCause::ContextFull { .. }
            | EndCause::WindowTooSmall { .. }
            | EndCause::NotCompacted(_) => EndReason::Failed,
        };
        let summary = cause.to_string();
        Self { cause: Some(cause), ..Self::new(reason, summary) }
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

impl fmt::Display for EndCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EndCause::Model(failure) => {
                write!(f, "{}.", failure.message.trim_end_matches('.'))?;
                if let Some(seconds) = self.long_wait() {
                    write!(f, " It asks to wait {seconds} s before the next try, which is longer than Cairn waits by itself: reply then.")?;
                }
                match failure.advice.to_string().as_str() {
                    "" => Ok(()),
                    advice => write!(f, " {advice}"),
                }
            }
            EndCause::ModelRefused => f.write_str("The model refused to answer. Nothing was run. Say it differently, or choose another model."),
            EndCause::UnknownStop(reason) => write!(f, "The model stopped for a reason Cairn does not know ({reason}). Nothing further was run."),
            EndCause::RepeatedCall(tool) => write!(f, "Stopped: the model kept making the same call of {tool}. Reply with a hint on what to do differently."),
            EndCause::CallInText => f.write_str("The model wrote its tool calls as text, twice in a row, so nothing was run. Usually the chat template of the model server is the cause: start the server with its support for tools (llama.cpp: --jinja, vLLM: --enable-auto-tool-choice with a --tool-call-parser), or choose another model."),
            EndCause::ContextFull { message, compacted } => {
                let message = message.trim_end_matches('.');
                let tried = if *compacted { ", also after it was compacted" } else { "" };
                write!(f, "{message}. The conversation does not fit the model{tried}. Choose a model with more context, or start a new task.")
            }
            EndCause::WindowTooSmall { window, head } => write!(f, "The context window of the model server has {window} tokens, and the agent's instructions and tools take about {head} of them. Make it larger, for example 32768 tokens (Ollama: OLLAMA_CONTEXT_LENGTH, LM Studio: Context Length, llama.cpp: --ctx-size, vLLM: --max-model-len), or choose another model."),
            EndCause::NotCompacted(reason) => {
                write!(f, "Not compacted, nothing was changed: {}.", reason.trim_end_matches('.'))
            }
            EndCause::RoundLimit(limit) => write!(f, "Stopped after {limit} rounds. Reply to let the agent go on, or raise cairn.limits.rounds."),
            EndCause::OutputLimit => f.write_str("The answer was cut at the output limit. Raise cairn.model.maxTokens, or reply to let the agent go on."),
        }
    }
}

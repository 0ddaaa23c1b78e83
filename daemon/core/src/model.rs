//! Interface of the agent loop and a model provider, independent of wire formats.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::conversation::AssistantMessage;

/// Tool as the model sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    /// JSON Schema of the arguments, an object.
    pub schema: Value,
    /// Calls of this tool in one message may run at the same time.
    pub parallel: bool,
}

/// Event that a provider reports while an answer streams. The last event is exactly one of
/// `Finished` and `Failed`.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelEvent {
    /// Visible text, to append.
    Text(String),
    /// Thinking shown dimmed, to append.
    Thinking(String),
    /// The model began to write a call; its arguments are still streaming.
    CallStarted {
        id: String,
        name: String,
    },
    /// The message ended properly. Only this makes tools run.
    Finished(Reply),
    Failed(Failure),
}

/// A complete answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    pub message: AssistantMessage,
    pub stop: Stop,
    pub usage: Usage,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// Calls in the answer are a fault of the server, and are not run.
    EndTurn,
    /// The calls of the answer are complete and to be run, by the rules of the format.
    ToolUse,
    /// The answer was cut at the output limit; a call in it is incomplete and never run.
    MaxTokens,
    Refusal,
    ContextOverflow,
    /// The server paused a long turn: send the conversation again as it is.
    Pause,
    /// Unknown: the turn stops and says so.
    Other(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// All input tokens, cached ones included.
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cached_tokens: u64,
}

impl std::ops::AddAssign for Usage {
    /// Saturates: a wrong count of a server must not overflow.
    fn add_assign(&mut self, other: Usage) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.cached_tokens = self.cached_tokens.saturating_add(other.cached_tokens);
    }
}

/// Failure of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub kind: FailureKind,
    /// Description for the user, without secrets.
    pub message: String,
    /// Advice for the user; may be empty.
    pub hint: String,
    /// Wait that the server asked for, in milliseconds.
    pub retry_after_ms: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// No connection, or it broke before an answer began.
    Connect,
    /// 408, or no byte for the idle limit.
    Timeout,
    /// 429.
    RateLimited,
    /// 500 and above, 529, 409, `overloaded_error` in the stream.
    Server,
    /// The stream ended or broke before the message did.
    StreamCut,
    /// Bytes that are not of the format: HTML instead of events, invalid JSON.
    Protocol,
    /// 401, 403: the key is missing, wrong or not allowed.
    Auth,
    /// 400, 404, 422: the server refuses this request; sending it again cannot help.
    Rejected,
    /// The conversation no longer fits the model.
    ContextOverflow,
    /// No model can be used: nothing configured, or a replay script is wrong.
    Unusable,
}

impl FailureKind {
    pub fn is_retryable(self) -> bool {
        match self {
            FailureKind::Connect
            | FailureKind::Timeout
            | FailureKind::RateLimited
            | FailureKind::Server
            | FailureKind::StreamCut
            | FailureKind::Protocol => true,
            FailureKind::Auth
            | FailureKind::Rejected
            | FailureKind::ContextOverflow
            | FailureKind::Unusable => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_claims_to_have_used_does_not_overflow() {
        let absurd = Usage { input_tokens: u64::MAX, output_tokens: u64::MAX, cached_tokens: 1 };
        let mut total = absurd;
        total += absurd;
        assert_eq!(total, Usage { cached_tokens: 2, ..absurd });
    }
}

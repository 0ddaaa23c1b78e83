//! Interface of the agent loop and a model provider, independent of wire formats.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{conversation::AssistantMessage, ids::CallId};

/// Name of a model in lower case, without a path before it (`openai/o3`).
pub fn name_without_path(model_name: &str) -> String {
    let name = model_name.rsplit('/').next().unwrap_or(model_name);
    name.to_ascii_lowercase()
}

/// Definition of a tool for the model.
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
    /// All text of the answer so far was thinking: its first tag was missing.
    TextWasThinking,
    /// The model began to write a call; its arguments are still streaming.
    CallStarted {
        id: CallId,
        name: String,
    },
    /// The message ended properly. Only this makes tools run.
    Finished(Reply),
    Failed(Failure),
}

impl ModelEvent {
    /// Length of the text that it appends.
    #[must_use]
    pub fn text_bytes(&self) -> usize {
        match self {
            Self::Text(text) | Self::Thinking(text) => text.len(),
            _ => 0,
        }
    }
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
    /// Unknown: the turn ends with an error that names it.
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
    /// The server's or the system's own words, which `message` contains.
    pub said: Option<Box<Said>>,
    /// `None`: the kind says it.
    pub advice: Option<Advice>,
    /// Wait that the server asked for, in milliseconds.
    pub retry_after_ms: Option<u64>,
}

impl Failure {
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), said: None, advice: None, retry_after_ms: None }
    }

    /// Adds the words of the server or of the system.
    pub fn said(self, words: impl Into<String>, status: Option<u16>) -> Self {
        Self { said: Some(Box::new(Said { status, words: words.into() })), ..self }
    }

    pub fn advise(self, advice: Advice) -> Self {
        Self { advice: Some(advice), ..self }
    }
}

/// Words of a server or of the system about a failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// HTTP status of the answer.
    pub status: Option<u16>,
    pub words: String,
}

/// Next step of the user after a failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Advice {
    /// No key is known.
    SetKey {
        /// Environment variable that may hold the key.
        variable: &'static str,
    },
    /// The known keys are for other servers, `owners`, than the configured one.
    EnterKey {
        owners: String,
        origin: String,
    },
    StartLocalServer,
    CheckModelName,
    CheckAddress,
    UseFinalAddress,
    CheckCertificates,
    CorrectScript,
    ChangeHook,
    ShowLog,
    /// The answer was empty.
    TryAgain,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
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
    /// 400, 422: the server refuses the form of the request, and the next one has another form.
    #[serde(skip)]
    Adapted,
    /// The conversation no longer fits the model.
    ContextOverflow,
    /// No model can be used: nothing configured, or a replay script is wrong.
    Unusable,
}

impl FailureKind {
    pub fn is_retryable(self) -> bool {
        matches!(
            self,
            FailureKind::Connect
                | FailureKind::Timeout
                | FailureKind::RateLimited
                | FailureKind::Server
                | FailureKind::StreamCut
                | FailureKind::Protocol
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_counts_of_a_server_do_not_overflow() {
        let absurd = Usage { input_tokens: u64::MAX, output_tokens: u64::MAX, cached_tokens: 1 };
        let mut total = absurd;
        total += absurd;
        assert_eq!(total, Usage { cached_tokens: 2, ..absurd });
    }
}

//! Errors of requests: a kind for programs, and a message for the user.

use macro_rules_attribute::apply;

use crate::{RequestProblem, UiMessage};

/// `data` of every error of an `agent/*` request.
#[apply(wire)]
pub struct ErrorData {
    pub kind: ErrorKind,
    #[serde(flatten)]
    pub message: UiMessage,
}

impl From<&RequestProblem> for ErrorData {
    fn from(problem: &RequestProblem) -> Self {
        Self { kind: problem.kind(), message: problem.message() }
    }
}

/// Kinds of failures. The JSON-RPC code is -32803 except where noted.
#[apply(wire)]
#[derive(Copy)]
pub enum ErrorKind {
    /// Before `initialized` (code -32002) or after `shutdown` (code -32600).
    NotReady,
    NoModel,
    /// The params do not have the method's form (code -32602).
    InvalidParams,
    UnknownSession,
    /// The session is read-only here, or something that runs needs it.
    SessionLocked,
    TurnMismatch,
    Untrusted,
    /// Too many unanswered requests (code -32001).
    Overloaded,
    Internal,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_has_its_message_and_leaves_absent_members_out() {
        let data = ErrorData::from(&RequestProblem::NoFolder);
        let sent = serde_json::to_value(&data).unwrap();
        let expected = serde_json::json!({
            "kind": "notReady",
            "code": "no_folder",
            "template": "No folder is open. The agent works inside a folder.",
            "action": "open_folder",
        });
        assert_eq!(sent, expected);
        assert_eq!(serde_json::from_value::<ErrorData>(sent).unwrap(), data);
        let bare = serde_json::to_value(ErrorData::from(&RequestProblem::EmptyTask));
        assert_eq!(bare.unwrap().as_object().unwrap().len(), 3);
    }
}

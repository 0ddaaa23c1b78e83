//! Errors of requests: a kind for programs, and a code with arguments and an action for the user
//! interface.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::{ActionId, RequestProblem};

/// `data` of every error of an `agent/*` request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ErrorData {
    pub kind: ErrorKind,
    /// Next step for the user, in English.
    pub hint: String,
    /// Code and arguments of the text. Since 1.1.
    #[serde(flatten)]
    pub refusal: RequestProblem,
    /// Action that solves the problem; absent if there is none. Since 1.1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub action: Option<ActionId>,
}

impl ErrorData {
    /// Builds the data of a refusal, with its kind and action.
    pub fn new(refusal: RequestProblem, hint: impl Into<String>) -> Self {
        Self { kind: refusal.kind(), hint: hint.into(), action: refusal.action(), refusal }
    }
}

/// Kinds of failures. The JSON-RPC code is -32803 except where noted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum ErrorKind {
    /// Before `initialized` (code -32002) or after `shutdown` (code -32600).
    NotReady,
    NoModel,
    /// The params do not have the method's form (code -32602).
    InvalidParams,
    StaleRevision,
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
    fn an_error_has_its_code_and_action_and_leaves_absent_members_out() {
        let data = ErrorData::new(RequestProblem::NoFolder, "Open a folder.");
        let sent = serde_json::to_value(&data).unwrap();
        let expected = serde_json::json!({
            "kind": "notReady", "hint": "Open a folder.", "code": "no_folder", "action": "open_folder",
        });
        assert_eq!(sent, expected);
        assert_eq!(serde_json::from_value::<ErrorData>(sent).unwrap(), data);
        let bare = serde_json::to_value(ErrorData::new(RequestProblem::EmptyTask, "Type a task."));
        assert_eq!(bare.unwrap().as_object().unwrap().len(), 3);
    }
}

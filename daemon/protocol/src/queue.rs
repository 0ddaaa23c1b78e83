//! Follow-ups: words of the user that become turns of their own, one after the other, when the turn
//! before each has completed.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::{ReviewMode, RunTaskResult};

/// Runs at once when nothing runs in the session and nothing waits in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct QueueAddParams {
    pub session_id: String,
    pub text: String,
    /// Of the turn it becomes; else the session's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub mode: Option<ReviewMode>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct QueueAddResult {
    /// The turn it has become already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub started: Option<RunTaskResult>,
}

/// Other words for a follow-up that has not begun.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct QueueEditParams {
    pub session_id: String,
    pub id: String,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct QueueDropParams {
    pub session_id: String,
    pub id: String,
}

/// Not later but now: told to the turn that runs, else a turn of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct QueueSendParams {
    pub session_id: String,
    pub id: String,
}

/// `agent/queue`: all that waits in a session, in the order in which it will run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct QueueNotification {
    pub session_id: String,
    pub rev: u32,
    pub items: Vec<FollowUp>,
    /// The turn before did not complete, so nothing of this begins by itself.
    pub held: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct FollowUp {
    pub id: String,
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub mode: Option<ReviewMode>,
}

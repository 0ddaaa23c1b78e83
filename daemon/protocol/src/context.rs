//! How full the model's window is, and compacting on request.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// Tokens of the next request, partly estimated, and what the model can take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ContextUse {
    #[ts(type = "number")]
    pub used: u64,
    #[ts(type = "number")]
    pub window: u64,
}

/// Replaces the conversation, for the model, by a summary and what must be kept word for word:
/// between two rounds of the turn that runs, else in a turn of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CompactParams {
    pub session_id: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CompactResult {
    pub session_id: String,
    /// The turn in which it happens.
    pub turn_id: String,
}

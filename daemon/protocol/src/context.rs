//! Use of the model's context window, and compaction on request.

use macro_rules_attribute::apply;

use crate::method::declare_client_requests;

/// Tokens of the next request, partly estimated, and the size of the context window.
#[apply(wire)]
#[derive(Copy, Default)]
pub struct ContextUse {
    #[ts(type = "number")]
    pub used: u64,
    #[ts(type = "number")]
    pub window: u64,
}

/// Replaces the conversation, for the model, by a summary and the parts that must stay verbatim:
/// between two rounds of the running turn, else in a separate turn.
#[apply(wire)]
pub struct CompactParams {
    pub session_id: String,
}

#[apply(wire)]
pub struct CompactResult {
    pub session_id: String,
    /// Turn in which the compaction happens.
    pub turn_id: String,
}

declare_client_requests! {
    REQUESTS:
    Compact("agent/compact", CompactParams {}) -> CompactResult,
}

//! Use of the model's context window, and compaction on request.

use macro_rules_attribute::apply;

use crate::{RunTaskResult, SessionParams, method::declare_client_requests};

/// Tokens of the next request, partly estimated, and the size of the context window.
#[apply(wire)]
#[derive(Copy, Default)]
pub struct ContextUse {
    #[ts(type = "number")]
    pub used: u64,
    #[ts(type = "number")]
    pub window: u64,
}

declare_client_requests! {
    REQUESTS:
    Compact("agent/compact", SessionParams {}) -> RunTaskResult,
}

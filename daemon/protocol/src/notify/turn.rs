//! Beginning, end and cost of a turn.

use macro_rules_attribute::apply;

use crate::{Attachment, ContextUse, UiMessage};

/// Beginning or end of a turn.
#[apply(wire)]
pub struct TurnNotification {
    pub session_id: String,
    pub turn_id: String,
    pub rev: u32,
    pub phase: TurnPhase,
}

#[apply(wire)]
#[serde(tag = "kind", rename_all_fields = "camelCase")]
pub enum TurnPhase {
    Started {
        /// Text of the user.
        text: String,
        /// Content sent with the text, without `text` and `data`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[ts(optional, as = "Option<Vec<Attachment>>")]
        attachments: Vec<Attachment>,
    },
    Ended {
        reason: EndReason,
        /// Last text of the assistant, or the failure and the next step for the user.
        summary: String,
        open_items: u32,
        /// No command has tested, built or checked the last edit of the turn with success.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        #[ts(optional, as = "Option<bool>")]
        unchecked_edits: bool,
        usage: Usage,
        /// Reason why the turn ended before its work was done; absent if it was completed or
        /// cancelled.
        problem: Option<UiMessage>,
        /// Time, tokens and cost of this turn alone; absent for turns of earlier versions.
        spent: Option<TurnSpent>,
    },
}

/// Time, tokens and cost of one turn.
#[apply(wire)]
#[derive(Copy)]
pub struct TurnSpent {
    #[ts(type = "number")]
    pub elapsed_ms: u64,
    pub usage: Usage,
    /// Estimate in millionths of a dollar; present only if every price is known.
    #[ts(optional, type = "number")]
    pub cost_micros: Option<u64>,
}

#[apply(wire)]
#[derive(Copy)]
pub enum EndReason {
    Completed,
    NeedsInput,
    Cancelled,
    Failed,
    Limit,
    /// The daemon ended while the turn ran; its known part was kept.
    Interrupted,
}

/// Tokens as the model's server counted them.
#[apply(wire)]
#[derive(Copy, Default)]
pub struct Usage {
    #[ts(type = "number")]
    pub input_tokens: u64,
    #[ts(type = "number")]
    pub output_tokens: u64,
    #[ts(type = "number")]
    pub cached_tokens: u64,
}

/// Cost of a round, and the totals of the session.
#[apply(wire)]
pub struct UsageNotification {
    pub session_id: String,
    pub turn_id: String,
    pub rev: u32,
    pub rounds: u32,
    pub turn: Usage,
    pub session: Usage,
    pub context: ContextUse,
    /// Estimated cost of the session in millionths of a dollar; present only if every price is
    /// known.
    #[ts(optional, type = "number")]
    pub cost_micros: Option<u64>,
}

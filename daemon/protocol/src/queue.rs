//! Follow-ups: messages of the user that become turns, one after the other, each after the previous
//! turn completed.

use macro_rules_attribute::apply;

use crate::{Attachment, Empty, ReviewMode, RunTaskResult, method::declare_client_requests};

/// Adds a follow-up. It starts at once if nothing runs or waits in the session.
#[apply(wire)]
pub struct QueueAddParams {
    pub session_id: String,
    pub text: String,
    /// Mode of its turn; by default the session's.
    pub mode: Option<ReviewMode>,
    /// Content sent with the text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<Attachment>>")]
    pub attachments: Vec<Attachment>,
}

#[apply(wire)]
pub struct QueueAddResult {
    /// Its turn, if it already started.
    pub started: Option<RunTaskResult>,
}

/// Params of requests about one follow-up.
#[apply(wire)]
pub struct FollowUpParams {
    pub session_id: String,
    pub id: String,
}

/// `agent/queue`: the follow-ups of a session, in their order.
#[apply(wire)]
pub struct QueueNotification {
    pub session_id: String,
    pub rev: u32,
    pub items: Vec<FollowUp>,
    /// The previous turn did not complete, so none starts automatically.
    pub held: bool,
}

#[apply(wire)]
pub struct FollowUp {
    pub id: String,
    pub text: String,
    pub mode: Option<ReviewMode>,
    /// Content sent with the text, without `text` and `data`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<Attachment>>")]
    pub attachments: Vec<Attachment>,
}

declare_client_requests! {
    REQUESTS:
    QueueAdd("agent/queue/add", QueueAddParams { text, attachments }) -> QueueAddResult,
    QueueDrop("agent/queue/drop", FollowUpParams {}) -> Empty,
    QueueSend("agent/queue/send", FollowUpParams {}) -> Empty,
}

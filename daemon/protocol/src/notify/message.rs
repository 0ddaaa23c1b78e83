//! Messages of the conversation.

use macro_rules_attribute::apply;

use crate::{Attachment, UiMessage};

/// A message of the conversation as it streams. Deltas append. The last one carries the complete
/// text, which repairs a missed delta.
#[apply(wire)]
#[derive(Default)]
pub struct MessageNotification {
    pub session_id: String,
    pub turn_id: String,
    pub rev: u32,
    pub item_id: String,
    pub role: MessageRole,
    pub delta: String,
    /// Complete text; present when the message ended.
    pub text: Option<String>,
    /// The stream was cut: this text is not part of the conversation.
    #[serde(default)]
    pub incomplete: bool,
    /// A notice of the daemon; `text` is the same in English.
    pub notice: Option<UiMessage>,
    /// Time at which the message began, in milliseconds since 1970; absent in messages of earlier
    /// processes.
    #[ts(optional, type = "number")]
    pub at: Option<u64>,
    /// Time at which it ended, likewise.
    #[ts(optional, type = "number")]
    pub ended_at: Option<u64>,
    /// Words for a running task that its model has not read. The same message without it follows, with the time of
    /// reading as `endedAt`; a turn that ends before keeps them for the next one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[ts(optional, as = "Option<bool>")]
    pub unread: bool,
    /// Content sent with the text, without `text` and `data`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<Attachment>>")]
    pub attachments: Vec<Attachment>,
}

#[apply(wire)]
#[derive(Copy, Default)]
pub enum MessageRole {
    User,
    #[default]
    Assistant,
    Thinking,
    /// Guidance that the daemon added for the model; shown dimmed, never hidden.
    Reminder,
    /// Message of the daemon to the user.
    Notice,
}

//! The conversation of a session in the wire format of its provider.
//!
//! Bytes that were sent change only when a new epoch begins.

use std::sync::Arc;

use bytes::Bytes;
use cairn_core::{
    context,
    conversation::{Item, UserMessage},
    turn::Session,
};

use crate::{
    model::{Provider, history::History},
    secrets,
};

/// Encoded conversation.
pub(super) struct EncodedConversation {
    pub(super) provider: Arc<dyn Provider>,
    /// Generation of the settings and keys from which the provider was chosen.
    pub(super) generation: u32,
    history: History,
}

impl EncodedConversation {
    pub(super) fn new(provider: Arc<dyn Provider>, generation: u32) -> Self {
        Self { provider, generation, history: History::default() }
    }

    /// Returns the encoded conversation for the next request.
    pub(super) fn catch_up(&mut self, machine: &Session) -> Bytes {
        self.history.catch_up(&*self.provider, machine)
    }

    /// Returns the conversation followed by the request for a summary, which is not stored in it.
    pub(super) fn with_wish(&mut self, machine: &Session, shortest: bool) -> Bytes {
        let mut bytes = if shortest {
            let mut bytes = Vec::new();
            let mut previous = None;
            for item in machine.sent_shortest() {
                self.provider.encode(previous.as_deref(), &item, &mut bytes);
                previous = Some(item);
            }
            secrets::clean_bytes(bytes)
        } else {
            self.catch_up(machine).to_vec()
        };
        let text = context::SUMMARY_WANTED.to_owned();
        let wish = Item::User(UserMessage { text, ..UserMessage::default() });
        self.provider.encode(machine.conversation().last(), &wish, &mut bytes);
        bytes.into()
    }
}

//! The conversation of a session as its provider wants it.
//!
//! Must never change bytes that were sent, except when an epoch of the conversation begins.

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

    /// The conversation as it is sent now.
    pub(super) fn catch_up(&mut self, machine: &Session) -> Bytes {
        self.history.catch_up(&*self.provider, machine)
    }

    /// The same with the wish for a summary after it, in bytes of its own.
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
        let wish = Item::User(UserMessage { text, notes: Vec::new() });
        self.provider.encode(machine.conversation().last(), &wish, &mut bytes);
        bytes.into()
    }
}

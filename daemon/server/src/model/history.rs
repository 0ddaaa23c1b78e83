//! Encoded form of a conversation, which grows with it and is never rewritten within an epoch.
//!
//! Encodes each item once and appends without a copy. It starts again with a new epoch, and copies if
//! an earlier request still holds the buffer.

use bytes::Bytes;
use cairn_core::{context::Epoch, turn::Session};

use super::Provider;
use crate::secrets;

#[derive(Debug, Default)]
pub struct History {
    epoch: Epoch,
    /// Revision of the provider's encoding.
    revision: usize,
    bytes: Bytes,
    items: usize,
    copied: usize,
}

impl History {
    /// Encodes the new items and returns the conversation as it is sent now.
    pub fn catch_up(&mut self, provider: &dyn Provider, session: &Session) -> Bytes {
        let revision = provider.revision();
        if self.epoch != session.epoch() || self.revision != revision {
            self.epoch = session.epoch();
            self.revision = revision;
            self.bytes = Bytes::new();
            self.items = self.epoch.start;
        }
        let items = session.conversation().len();
        if self.items == items {
            return self.bytes.clone();
        }
        let (at, held) = (self.bytes.as_ptr(), self.bytes.len());
        // Takes the buffer without a copy if no request holds it.
        let mut bytes = Vec::from(std::mem::take(&mut self.bytes));
        let new = bytes.len();
        for index in self.items..items {
            let previous = index.checked_sub(1).filter(|previous| *previous >= self.epoch.start);
            let previous = previous.map(|index| session.sent(index));
            provider.encode(previous.as_deref(), &session.sent(index), &mut bytes);
        }
        // Texts and files of the user may also hold a key, which no model needs.
        secrets::clean_from(&mut bytes, new);
        if bytes.as_ptr() != at {
            self.copied += held;
        }
        self.items = items;
        self.bytes = bytes.into();
        self.bytes.clone()
    }

    /// Number of bytes copied so far, because the buffer grew or a request held it.
    pub fn copied(&self) -> usize {
        self.copied
    }
}

#[cfg(test)]
mod tests {
    use cairn_core::{
        context::Window,
        conversation::{AssistantMessage, Block},
        model::{ModelEvent, Reply, Stop, Usage},
        plan::{Dialect, ListDialect, reminder::ReminderSettings},
        turn::{Input, TurnSettings},
    };

    use super::*;
    use crate::model::{client::Format, manners::KnownServer, testing};

    #[test]
    fn encoded_bytes_are_not_moved_or_changed() {
        let known = KnownServer::default();
        let provider = testing::client(Format::Chat, "http://localhost:1", "m", known);
        let dialect = Dialect::List(ListDialect::TodoWrite);
        let mut session = Session::new(TurnSettings {
            max_rounds: 10,
            dialect,
            reminders: ReminderSettings::defaults(dialect),
            tools: Vec::new(),
            plans_only: false,
        });
        session.set_window(Window { tokens: 10_000_000, reserve: 0, head: 0 });
        let mut history = History::default();
        let mut before = Bytes::new();
        for turn in 1..=500 {
            session.step(Input::UserMessage { text: "word ".repeat(100), attached: Vec::new() });
            let sent = history.catch_up(&provider, &session);
            assert!(sent.starts_with(&before), "turn {turn}");
            assert_eq!(history.catch_up(&provider, &session), sent, "nothing is new");
            let message = AssistantMessage { blocks: vec![Block::Text("Done.".into())] };
            let reply = Reply { message, stop: Stop::EndTurn, usage: Usage::default() };
            session.step(Input::Model { request: turn, event: ModelEvent::Finished(reply) });
            before = Bytes::copy_from_slice(&sent);
        }
        // A buffer that doubles is copied once for each byte it holds; the system may move it
        // without that, so this is the most.
        assert!(history.copied() <= 2 * before.len(), "{} of {}", history.copied(), before.len());
        // The bytes of a request that still holds them do not change.
        let held = history.catch_up(&provider, &session);
        let was = held.to_vec();
        session.step(Input::UserMessage { text: "more".into(), attached: Vec::new() });
        let copied = history.copied();
        let next = history.catch_up(&provider, &session);
        assert!(held == was && next.starts_with(&was));
        assert_eq!(history.copied(), copied + was.len());
    }
}

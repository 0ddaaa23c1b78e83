//! Messages of the conversation: streamed text, notices, and what the user said.

use std::time::Duration;

use cairn_core::{
    conversation::{Attached, Note, NoteKind},
    ids::TurnId,
};
use cairn_protocol::{MessageNotification, MessageRole, Notice, TurnNotice};

use super::entry::{SessionEntry, Stream};
use crate::{
    clock,
    ports::TurnNews,
    secrets,
    store::sessions::{self, Line, NoticeLine},
};

/// Time after which new text of an answer is written to the journal.
const STREAM_WRITTEN_EVERY: Duration = Duration::from_secs(1);

impl SessionEntry {
    pub(super) fn stream(&mut self, role: MessageRole, delta: &str) {
        if self.stream.as_ref().is_some_and(|stream| stream.role != role) {
            self.end_stream(Some(String::new()));
        }
        let stream = self.stream.get_or_insert_with(|| {
            self.messages += 1;
            Stream {
                item_id: format!("m{}", self.messages),
                role,
                text: String::new(),
                delta: String::new(),
                at: clock::now_ms(),
                written: 0,
                is_due: false,
            }
        });
        stream.text.push_str(delta);
        stream.delta.push_str(delta);
        if role == MessageRole::Assistant && !stream.is_due {
            stream.is_due = true;
            let mailbox = self.turn_mailbox();
            self.services.spawn(async move {
                tokio::time::sleep(STREAM_WRITTEN_EVERY).await;
                mailbox.send(TurnNews::StreamDue);
            });
        }
    }

    /// Writes the text that streamed since the last call, for a daemon that is killed before the answer ends.
    pub(super) fn write_stream(&mut self) {
        let Some(stream) = &mut self.stream else { return };
        stream.is_due = false;
        let news = stream.text.get(stream.written..).filter(|news| !news.is_empty());
        if let Some(news) = news.filter(|_| stream.role == MessageRole::Assistant) {
            let line = Line::Streamed(Some(news.to_owned()));
            stream.written = stream.text.len();
            self.write(&line);
        }
    }

    /// Publishes the text that streamed since the last call.
    pub(super) fn publish_stream(&mut self) {
        let Some(stream) = self.stream.as_mut().filter(|_| self.turn.is_some()) else { return };
        let delta = std::mem::take(&mut stream.delta);
        if let Some(stream) = self.stream.as_ref().filter(|_| !delta.is_empty()) {
            let note = MessageNotification { delta, ..self.piece(stream) };
            self.services.notify(Notice::Message(note));
        }
    }

    /// Returns the messages that the journal does not have, for a client that opens the session: the streaming
    /// one up to its last notification, and the words that the model has not read.
    pub(super) fn unwritten_messages(&self) -> Vec<MessageNotification> {
        let mut messages = self.unread.clone();
        if let Some(stream) = self.stream.as_ref().filter(|_| self.turn.is_some())
            && let Some(published) = stream.text.strip_suffix(&stream.delta)
            && !published.is_empty()
        {
            messages
                .push(MessageNotification { delta: published.to_owned(), ..self.piece(stream) });
        }
        messages
    }

    /// Makes the streaming message one of thinking. The next text begins another.
    pub(super) fn mark_text_as_thinking(&mut self) {
        if let Some(stream) = &mut self.stream {
            stream.role = MessageRole::Thinking;
        }
    }

    /// Ends the streaming message. `None`: its text is not part of the conversation. The final text
    /// is published in the parts in which it streamed: reasoning between two texts separates them.
    pub(super) fn end_stream(&mut self, text: Option<String>) {
        let Some(stream) = self.stream.take() else {
            if let Some(text) = text.filter(|text| !text.is_empty()) {
                self.message(MessageRole::Assistant, text);
            }
            return;
        };
        let incomplete = text.is_none();
        if incomplete && stream.written > 0 {
            self.write(&Line::Streamed(None));
        }
        let (piece, ended_at) = (self.piece(&stream), Some(clock::now_ms()));
        let (delta, text) = (stream.delta, Some(stream.text));
        let note = MessageNotification { delta, text, incomplete, ended_at, ..piece };
        self.services.notify(Notice::Message(note));
    }

    pub(super) fn show_note(&mut self, note: Note) {
        match note.kind {
            NoteKind::Reminder | NoteKind::Notice => self.message(MessageRole::Reminder, note.text),
            // The text of the user was published when it arrived.
            NoteKind::Steer => self.mark_words_as_read(),
        }
    }

    /// Publishes the words that the user sent to the running task as read. The model reads all at once.
    fn mark_words_as_read(&mut self) {
        for note in std::mem::take(&mut self.unread) {
            let (rev, ended_at) = (self.services.next_rev(), Some(clock::now_ms()));
            let read = MessageNotification { rev, ended_at, unread: false, ..note };
            self.services.notify(Notice::Message(read));
        }
    }

    /// Publishes a complete message.
    pub(super) fn message(&mut self, role: MessageRole, text: String) {
        let note = self.whole_message(role, text);
        self.services.notify(Notice::Message(note));
    }

    /// Shows a notice of the daemon in a turn.
    pub(super) fn turn_notice(&mut self, turn_id: &TurnId, notice: TurnNotice) {
        let mut message = serde_json::to_value(notice.message()).unwrap_or_default();
        secrets::clean_json(&mut message);
        let mut text = notice.english();
        secrets::clean(&mut text);
        let line = NoticeLine {
            turn_id: turn_id.clone(),
            at: clock::now_ms(),
            notice: serde_json::from_value(message).ok(),
            text,
        };
        self.write_to_root(&Line::Notice(line.clone()));
        let whole = self.whole_message(notice.kind(), line.text);
        let turn_id = line.turn_id.into();
        let note = MessageNotification { turn_id, notice: line.notice, ..whole };
        self.services.notify(Notice::Message(note));
    }

    /// Shows a notice whose cause is in the journal.
    pub(super) fn show_notice(&mut self, notice: &TurnNotice) {
        let whole = self.whole_message(notice.kind(), notice.english());
        let note = MessageNotification { notice: Some(notice.message()), ..whole };
        self.services.notify(Notice::Message(note));
    }

    /// Publishes words for the running task.
    pub(super) fn steering(&mut self, text: String, attached: &[Attached]) {
        let whole = self.whole_message(MessageRole::User, text);
        // Not a number of the journal, which counts the message when it is read.
        let item_id = format!("s{}", self.messages);
        let attachments = sessions::described(attached);
        let note =
            MessageNotification { item_id, ended_at: None, unread: true, attachments, ..whole };
        self.unread.push(note.clone());
        self.services.notify(Notice::Message(note));
    }

    /// Publishes a message of the user.
    pub(super) fn user_message(&mut self, text: String, attached: &[Attached]) {
        let attachments = sessions::described(attached);
        let whole = self.whole_message(MessageRole::User, text);
        self.services.notify(Notice::Message(MessageNotification { attachments, ..whole }));
    }

    fn whole_message(&mut self, role: MessageRole, text: String) -> MessageNotification {
        self.messages += 1;
        let now = clock::now_ms();
        let note = self.note(format!("m{}", self.messages), role, now);
        MessageNotification { text: Some(text), ended_at: Some(now), ..note }
    }

    /// Returns a part of the streaming message, without its text.
    fn piece(&self, stream: &Stream) -> MessageNotification {
        self.note(stream.item_id.clone(), stream.role, stream.at)
    }

    fn note(&self, item_id: String, role: MessageRole, at: u64) -> MessageNotification {
        MessageNotification {
            session_id: self.id.clone().into(),
            turn_id: self.newest_turn().into(),
            rev: self.services.next_rev(),
            item_id,
            role,
            at: Some(at),
            ..MessageNotification::default()
        }
    }
}

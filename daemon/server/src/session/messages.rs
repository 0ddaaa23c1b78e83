//! Messages of the conversation: streamed text, notices, and what the user said.

use std::time::Duration;

use cairn_core::{
    conversation::{Attached, Note, NoteKind},
    ids::{SessionId, TurnId},
};
use cairn_protocol::{Attachment, MessageNotification, MessageRole, Notice, TurnNotice, UiMessage};

use super::{Sessions, entry::Stream, event::SessionEvent};
use crate::{
    clock, secrets,
    store::sessions::{self, Line, NoticeLine},
};

/// Time after which new text of an answer is written to the journal.
const STREAM_WRITTEN_EVERY: Duration = Duration::from_secs(1);

impl Sessions {
    pub(super) fn stream(&mut self, session_id: &SessionId, role: MessageRole, delta: &str) {
        let Some(session) = self.entries.get_mut(session_id) else { return };
        if session.stream.as_ref().is_some_and(|stream| stream.role != role) {
            let turn_id = session.turn.as_ref().map(|turn| turn.id.clone()).unwrap_or_default();
            let text = session.stream.as_ref().map(|stream| stream.text.clone());
            self.end_stream(session_id, &turn_id, text);
        }
        let Some(session) = self.entries.get_mut(session_id) else { return };
        let stream = match &mut session.stream {
            Some(stream) => stream,
            None => {
                session.messages += 1;
                let item_id = format!("m{}", session.messages);
                session.stream.insert(Stream {
                    item_id,
                    role,
                    text: String::new(),
                    delta: String::new(),
                    at: clock::now_ms(),
                    written: 0,
                    is_due: false,
                })
            }
        };
        stream.text.push_str(delta);
        stream.delta.push_str(delta);
        if role == MessageRole::Assistant && !stream.is_due {
            stream.is_due = true;
            let (mailbox, session) = (self.mailbox.clone(), session_id.to_owned());
            self.services.spawn(async move {
                tokio::time::sleep(STREAM_WRITTEN_EVERY).await;
                mailbox.send(SessionEvent::StreamDue(session));
            });
        }
    }

    /// Writes the text that streamed since the last call, for a daemon that is killed before the answer ends.
    pub(super) fn write_stream(&mut self, session_id: &SessionId) {
        let Some(session) = self.entries.get_mut(session_id) else { return };
        let Some(stream) = &mut session.stream else { return };
        stream.is_due = false;
        let news = stream.text.get(stream.written..).filter(|news| !news.is_empty());
        if let Some(news) = news.filter(|_| stream.role == MessageRole::Assistant) {
            let line = Line::Streamed(Some(news.to_owned()));
            stream.written = stream.text.len();
            self.write(session_id, &line);
        }
    }

    /// Publishes the text since the last call: one notification for each streaming message.
    pub(super) fn publish_streams(&mut self) {
        let mut notes = Vec::new();
        for session in self.entries.values_mut() {
            let Some(turn) = &session.turn else { continue };
            let Some(stream) = session.stream.as_mut().filter(|stream| !stream.delta.is_empty())
            else {
                continue;
            };
            let (rev, delta) = (self.services.next_rev(), std::mem::take(&mut stream.delta));
            notes.push(piece((&session.id, &turn.id), rev, stream, delta));
        }
        for note in notes {
            self.services.notify(Notice::Message(note));
        }
    }

    /// Returns the messages that the journal does not have, for a client that opens the session: the streaming
    /// one up to its last notification, and the words that the model has not read.
    pub(super) fn unwritten_messages(&self, session_id: &SessionId) -> Vec<MessageNotification> {
        let Some(session) = self.entries.get(session_id) else { return Vec::new() };
        let mut messages = session.unread.clone();
        if let (Some(stream), Some(turn)) = (&session.stream, &session.turn)
            && let Some(published) = stream.text.strip_suffix(&stream.delta)
            && !published.is_empty()
        {
            let rev = self.services.next_rev();
            messages.push(piece((session_id, &turn.id), rev, stream, published.to_owned()));
        }
        messages
    }

    /// Makes the streaming message one of thinking. The next text begins another.
    pub(super) fn mark_text_as_thinking(&mut self, session_id: &SessionId) {
        let session = self.entries.get_mut(session_id);
        if let Some(stream) = session.and_then(|session| session.stream.as_mut()) {
            stream.role = MessageRole::Thinking;
        }
    }

    /// Ends the streaming message. `None`: its text is not part of the conversation. The final text
    /// is published in the parts in which it streamed: reasoning between two texts separates them.
    pub(super) fn end_stream(
        &mut self,
        session_id: &SessionId,
        turn_id: &TurnId,
        text: Option<String>,
    ) {
        let rev = self.services.next_rev();
        let Some(session) = self.entries.get_mut(session_id) else { return };
        let Some(stream) = session.stream.take() else {
            if let Some(text) = text.filter(|text| !text.is_empty()) {
                self.message(session_id, turn_id, MessageRole::Assistant, text);
            }
            return;
        };
        let incomplete = text.is_none();
        if incomplete && stream.written > 0 {
            self.write(session_id, &Line::Streamed(None));
        }
        self.services.notify(Notice::Message(MessageNotification {
            session_id: session_id.into(),
            turn_id: turn_id.into(),
            rev,
            item_id: stream.item_id,
            role: stream.role,
            delta: stream.delta,
            text: Some(stream.text),
            incomplete,
            notice: None,
            at: Some(stream.at),
            ended_at: Some(clock::now_ms()),
            unread: false,
            attachments: Vec::new(),
        }));
    }

    pub(super) fn show_note(&mut self, session_id: &SessionId, turn_id: &TurnId, note: Note) {
        match note.kind {
            NoteKind::Reminder | NoteKind::Notice => {
                self.message(session_id, turn_id, MessageRole::Reminder, note.text);
            }
            // The text of the user was published when it arrived.
            NoteKind::Steer => self.mark_words_as_read(session_id),
        }
    }

    /// Publishes the words that the user sent to the running task as read. The model reads all at once.
    fn mark_words_as_read(&mut self, session_id: &SessionId) {
        let session = self.entries.get_mut(session_id);
        for note in session.map(|session| std::mem::take(&mut session.unread)).unwrap_or_default() {
            let (rev, ended_at) = (self.services.next_rev(), Some(clock::now_ms()));
            let read = MessageNotification { rev, ended_at, unread: false, ..note };
            self.services.notify(Notice::Message(read));
        }
    }

    /// Publishes a complete message.
    pub(super) fn message(
        &mut self,
        session_id: &SessionId,
        turn_id: &TurnId,
        role: MessageRole,
        text: String,
    ) {
        self.show_message(session_id, turn_id, (role, None), text, Vec::new());
    }

    /// Shows a notice of the daemon in a turn.
    pub(super) fn turn_notice(
        &mut self,
        session_id: &SessionId,
        turn_id: &TurnId,
        notice: TurnNotice,
    ) {
        let mut message = serde_json::to_value(notice.message()).unwrap_or_default();
        secrets::clean_json(&mut message);
        let mut text = notice.english();
        secrets::clean(&mut text);
        let message: Option<UiMessage> = serde_json::from_value(message).ok();
        let line = NoticeLine {
            turn_id: turn_id.clone(),
            at: clock::now_ms(),
            notice: message.clone(),
            text: text.clone(),
        };
        self.write(self.root_of(session_id), &Line::Notice(line));
        self.show_message(session_id, turn_id, (notice.kind(), message), text, Vec::new());
    }

    /// Shows a notice whose cause is in the journal.
    pub(super) fn show_notice(
        &mut self,
        session_id: &SessionId,
        turn_id: &TurnId,
        notice: TurnNotice,
    ) {
        let text = notice.english();
        let says = (notice.kind(), Some(notice.message()));
        self.show_message(session_id, turn_id, says, text, Vec::new());
    }

    /// Publishes words for the running task.
    pub(super) fn steering(
        &mut self,
        session_id: &SessionId,
        turn_id: &TurnId,
        text: String,
        attached: &[Attached],
    ) {
        let (says, attachments) = ((MessageRole::User, None), sessions::described(attached));
        let whole = self.whole_message(session_id, turn_id, says, text, attachments);
        if let (Some(whole), Some(session)) = (whole, self.entries.get_mut(session_id)) {
            // Not a number of the journal, which counts the message when it is read.
            let item_id = format!("s{}", session.messages);
            let note = MessageNotification { item_id, ended_at: None, unread: true, ..whole };
            session.unread.push(note.clone());
            self.services.notify(Notice::Message(note));
        }
    }

    /// Publishes a message of the user.
    pub(super) fn user_message(
        &mut self,
        session_id: &SessionId,
        turn_id: &TurnId,
        text: String,
        attached: &[Attached],
    ) {
        let attachments = sessions::described(attached);
        self.show_message(session_id, turn_id, (MessageRole::User, None), text, attachments);
    }

    fn show_message(
        &mut self,
        session_id: &SessionId,
        turn_id: &TurnId,
        says: (MessageRole, Option<UiMessage>),
        text: String,
        attachments: Vec<Attachment>,
    ) {
        if let Some(note) = self.whole_message(session_id, turn_id, says, text, attachments) {
            self.services.notify(Notice::Message(note));
        }
    }

    /// Returns a message that is complete. `None` for an unknown session.
    fn whole_message(
        &mut self,
        session_id: &SessionId,
        turn_id: &TurnId,
        (role, notice): (MessageRole, Option<UiMessage>),
        text: String,
        attachments: Vec<Attachment>,
    ) -> Option<MessageNotification> {
        let rev = self.services.next_rev();
        let session = self.entries.get_mut(session_id)?;
        session.messages += 1;
        let (item_id, now) = (format!("m{}", session.messages), clock::now_ms());
        Some(MessageNotification {
            session_id: session_id.into(),
            turn_id: turn_id.into(),
            rev,
            item_id,
            role,
            delta: String::new(),
            text: Some(text),
            incomplete: false,
            notice,
            at: Some(now),
            ended_at: Some(now),
            unread: false,
            attachments,
        })
    }
}

/// A part of a message that streams.
fn piece(
    (session, turn): (&SessionId, &TurnId),
    rev: u32,
    stream: &Stream,
    delta: String,
) -> MessageNotification {
    MessageNotification {
        session_id: session.into(),
        turn_id: turn.into(),
        rev,
        item_id: stream.item_id.clone(),
        role: stream.role,
        delta,
        text: None,
        incomplete: false,
        notice: None,
        at: Some(stream.at),
        ended_at: None,
        unread: false,
        attachments: Vec::new(),
    }
}

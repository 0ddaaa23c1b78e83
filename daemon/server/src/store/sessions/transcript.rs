//! Transcript of a session, one page at a time, built from the lines of its journal.
//!
//! Holds at most one page in memory.

use std::collections::VecDeque;

use cairn_core::{
    conversation::{Item, Note, NoteKind},
    ids::{CallId, SessionId, TurnId},
    prompt::instructions::loaded,
    turn::Record,
};
use cairn_protocol::{
    MessageNotification, MessageRole, TranscriptEntry, TurnNotification, TurnPhase,
};

use super::{
    attached::described,
    lines::{Line, NoticeLine},
};
use crate::shortened;

/// Largest number of entries of a page.
const PAGE: usize = 1_000;
/// Size of a page in bytes of text. A longer entry is a separate page.
const PAGE_BYTES: usize = 4 * 1024 * 1024;

/// End of a page, exclusive.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum PageEnd {
    #[default]
    Journal,
    /// Entry with this number, from 0.
    Entry(u64),
    /// First entry of a turn.
    Turn(TurnId),
    /// Tool call with this id.
    Call(CallId),
}

/// Consecutive entries of a transcript, oldest first.
#[derive(Debug, Default)]
pub struct Page {
    pub entries: Vec<TranscriptEntry>,
    /// Cursor of the page before it: the number of the first entry, if there are earlier ones.
    pub earlier: Option<String>,
}

/// Builder of one page from the lines of a journal in order.
#[derive(Default)]
pub(super) struct Transcript {
    session_id: SessionId,
    /// Newest turn.
    turn_id: TurnId,
    /// Names of the instructions of the session, until the first turn shows them.
    instructions: Option<String>,
    /// Words for the running turn that its model has not read.
    unread: Vec<Note>,
    messages: u32,
    rev: u32,
    /// Number of entries so far.
    entries: u64,
    page: VecDeque<TranscriptEntry>,
    /// Size of the page's texts.
    bytes: usize,
    end: PageEnd,
    /// The end was reached: later lines do not change the page.
    complete: bool,
}

impl Transcript {
    /// Creates the builder of the page with this end.
    pub(super) fn until(end: PageEnd) -> Self {
        Self { end, ..Self::default() }
    }

    pub(super) fn add(&mut self, line: &Line) {
        match line {
            Line::Session(header) => {
                self.session_id.clone_from(&header.session_id);
                let instructions = &header.surroundings.instructions;
                self.instructions = (!instructions.is_empty()).then(|| loaded(instructions));
            }
            Line::Turn(turn) => {
                self.turn_id.clone_from(&turn.turn_id);
                let (text, attachments) = (turn.task.clone(), turn.attachments.clone());
                self.phase(TurnPhase::Started { text, attachments });
                if let Some(names) = self.instructions.take() {
                    self.message(MessageRole::Reminder, names);
                }
            }
            Line::Tool(call) => self.push(TranscriptEntry::Tool(call.clone())),
            Line::Ended(end) => {
                self.turn_id.clone_from(&end.turn_id);
                for Note { text, attached, .. } in std::mem::take(&mut self.unread) {
                    let attachments = described(&attached);
                    let words = self.new_message(MessageRole::User, text);
                    let words = MessageNotification { attachments, unread: true, ..words };
                    self.push(TranscriptEntry::Message(words));
                }
                self.phase(end.clone().into());
            }
            Line::Step(_) | Line::Steps(_) => {
                line.records().iter().for_each(|record| self.record(record));
            }
            Line::Notice(NoticeLine { turn_id, at, notice, text }) => {
                self.turn_id.clone_from(turn_id);
                let (notice, at) = (notice.clone(), Some(*at));
                let shown = self.new_message(MessageRole::Notice, text.clone());
                let shown = MessageNotification { notice, at, ended_at: at, ..shown };
                self.push(TranscriptEntry::Message(shown));
            }
            _ => {}
        }
    }

    /// Returns true if later lines do not change the page.
    pub(super) fn is_complete(&self) -> bool {
        self.complete
    }

    /// Number of messages so far.
    pub(super) fn messages(&self) -> u32 {
        self.messages
    }

    /// Highest revision so far.
    pub(super) fn rev(&self) -> u32 {
        self.rev
    }

    /// Returns the page; `None` if there is no such end.
    pub(super) fn page(self) -> Option<Page> {
        let ends = self.complete || matches!(self.end, PageEnd::Journal | PageEnd::Entry(_));
        if !ends {
            return None;
        }
        let first = self.entries - self.page.len() as u64;
        Some(Page { entries: self.page.into(), earlier: (first > 0).then(|| first.to_string()) })
    }

    pub(super) fn record(&mut self, record: &Record) {
        match record {
            Record::Item(item) => self.item(item),
            Record::Shortened(shortened) => {
                self.message(MessageRole::Notice, shortened::english(shortened))
            }
            // Kept when the turn ends, which makes them notices of the next one.
            Record::Memo(memo) if memo.unread().len() > 0 => self.unread = memo.unread().collect(),
            Record::Begun { .. } | Record::Result(_) | Record::Memo(_) => {}
        }
    }

    /// Adds the texts of an item as they were shown when the item was new.
    fn item(&mut self, item: &Item) {
        match item {
            Item::User(message) => self.notes(&message.notes),
            Item::Assistant(message) => {
                let text = message.text();
                if !text.is_empty() {
                    self.message(MessageRole::Assistant, text);
                }
            }
            Item::ToolResults { notes, .. } => self.notes(notes),
        }
    }

    fn notes(&mut self, notes: &[Note]) {
        for note in notes {
            let speaker = match note.kind {
                NoteKind::Reminder | NoteKind::Notice => MessageRole::Reminder,
                // The model reads all at once.
                NoteKind::Steer => {
                    self.unread.clear();
                    MessageRole::User
                }
            };
            let attachments = described(&note.attached);
            let told = self.new_message(speaker, note.text.clone());
            self.push(TranscriptEntry::Message(MessageNotification { attachments, ..told }));
        }
    }

    fn message(&mut self, speaker: MessageRole, text: String) {
        let message = self.new_message(speaker, text);
        self.push(TranscriptEntry::Message(message));
    }

    fn new_message(&mut self, role: MessageRole, text: String) -> MessageNotification {
        self.messages += 1;
        MessageNotification {
            session_id: (&self.session_id).into(),
            turn_id: (&self.turn_id).into(),
            rev: self.next_rev(),
            item_id: format!("m{}", self.messages),
            role,
            text: Some(text),
            ..MessageNotification::default()
        }
    }

    /// Adds the start or the end of the newest turn.
    fn phase(&mut self, phase: TurnPhase) {
        let turn = TurnNotification {
            session_id: (&self.session_id).into(),
            turn_id: (&self.turn_id).into(),
            rev: self.next_rev(),
            phase,
        };
        self.push(TranscriptEntry::Turn(turn));
    }

    fn push(&mut self, entry: TranscriptEntry) {
        self.complete |= match &self.end {
            PageEnd::Journal => false,
            PageEnd::Entry(number) => self.entries >= *number,
            PageEnd::Turn(turn) => {
                matches!(&entry, TranscriptEntry::Turn(it) if *turn == it.turn_id
                    && matches!(it.phase, TurnPhase::Started { .. }))
            }
            PageEnd::Call(call) => {
                matches!(&entry, TranscriptEntry::Tool(it) if it.parent.is_none() && *call == it.call_id)
            }
        };
        if self.complete {
            return;
        }
        self.entries += 1;
        self.bytes += size(&entry);
        self.page.push_back(entry);
        while self.page.len() > PAGE || (self.bytes > PAGE_BYTES && self.page.len() > 1) {
            self.bytes -= self.page.pop_front().as_ref().map_or(0, size);
        }
    }

    /// Revision of the next entry: a client shows entries in this order. The session continues above
    /// the last one.
    fn next_rev(&mut self) -> u32 {
        self.rev += 1;
        self.rev
    }
}

/// Approximate size of an entry's texts, in bytes.
fn size(entry: &TranscriptEntry) -> usize {
    match entry {
        TranscriptEntry::Turn(TurnNotification { phase, .. }) => match phase {
            TurnPhase::Started { text, .. } => text.len(),
            TurnPhase::Ended { summary, .. } => summary.len(),
        },
        TranscriptEntry::Message(message) => message.text.as_ref().map_or(0, String::len),
        TranscriptEntry::Tool(call) => call.detail.as_ref().map_or(0, String::len),
    }
}

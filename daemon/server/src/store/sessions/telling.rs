//! Transcript of a session for a client, one page at a time, built from the journal's lines.
//!
//! Holds at most one page.

use std::collections::VecDeque;

use cairn_core::{
    conversation::{Item, Note, NoteKind},
    prompt::instructions::loaded,
    turn::Record,
};
use cairn_protocol::{
    MessageNotification, MessageRole, TranscriptEntry, TurnNotification, TurnPhase,
};

use super::{EndedLine, Line};

const PAGE: usize = 1_000;
/// Size of a page in bytes of text. A longer entry is a page of its own.
const PAGE_BYTES: usize = 4 * 1024 * 1024;

/// Consecutive entries, oldest first.
#[derive(Debug, Default)]
pub struct Page {
    pub transcript: Vec<TranscriptEntry>,
    /// Number of the first entry, if there are earlier ones.
    pub earlier: Option<u64>,
}

#[derive(Default)]
pub(super) struct Telling {
    session_id: String,
    turn_id: String,
    /// Told at the first turn.
    instructions: Option<String>,
    messages: u32,
    rev: u32,
    /// Told so far.
    entries: u64,
    page: VecDeque<TranscriptEntry>,
    bytes: usize,
    /// Where the page ends; 0: at the end of all.
    before: u64,
}

impl Telling {
    pub(super) fn until(before: Option<u64>) -> Self {
        Self { before: before.unwrap_or(0), ..Self::default() }
    }

    pub(super) fn add(&mut self, line: &Line) {
        match line {
            Line::Session(header) => {
                self.session_id.clone_from(&header.session_id);
                let told = &header.surroundings.instructions;
                self.instructions = (!told.is_empty()).then(|| loaded(told));
            }
            Line::Turn(turn) => {
                self.turn_id.clone_from(&turn.turn_id);
                self.turn(TurnPhase::Started { text: turn.task.clone() });
                if let Some(line) = self.instructions.take() {
                    self.say(MessageRole::Reminder, line);
                }
            }
            Line::Tool(tool) => self.keep(TranscriptEntry::Tool(tool.clone())),
            Line::Ended(EndedLine { turn_id, reason, summary, open_items, usage }) => {
                self.turn_id.clone_from(turn_id);
                self.turn(TurnPhase::Ended {
                    reason: *reason,
                    summary: summary.clone(),
                    open_items: *open_items,
                    usage: *usage,
                });
            }
            Line::Step(_) | Line::Steps(_) => {
                line.records().iter().for_each(|record| self.record(record));
            }
            Line::Plan(_)
            | Line::Child(_)
            | Line::ChildStep(_)
            | Line::Queue(_)
            | Line::Digest(_) => {}
        }
    }

    pub(super) fn is_complete(&self) -> bool {
        self.before > 0 && self.entries >= self.before
    }

    pub(super) fn messages(&self) -> u32 {
        self.messages
    }

    pub(super) fn rev(&self) -> u32 {
        self.rev
    }

    pub(super) fn page(self) -> Page {
        let first = self.entries - self.page.len() as u64;
        Page { transcript: self.page.into(), earlier: (first > 0).then_some(first) }
    }

    fn record(&mut self, record: &Record) {
        match record {
            Record::Item(item) => self.item(item),
            Record::Shortened(shortened) => self.say(MessageRole::Notice, shortened.in_words()),
            Record::Begun { .. } | Record::Result(_) | Record::Memo(_) => {}
        }
    }

    /// The words of an item, as they were shown when they were said.
    fn item(&mut self, item: &Item) {
        match item {
            Item::User(message) => self.notes(&message.notes),
            Item::Assistant(message) => {
                let text = message.text();
                if !text.is_empty() {
                    self.say(MessageRole::Assistant, text);
                }
            }
            Item::ToolResults { notes, .. } => self.notes(notes),
        }
    }

    fn notes(&mut self, notes: &[Note]) {
        for note in notes {
            let role = match note.kind {
                NoteKind::Reminder | NoteKind::Notice => MessageRole::Reminder,
                NoteKind::Steer => MessageRole::User,
            };
            self.say(role, note.text.clone());
        }
    }

    fn say(&mut self, role: MessageRole, text: String) {
        self.messages += 1;
        let message = MessageNotification {
            session_id: self.session_id.clone(),
            turn_id: self.turn_id.clone(),
            rev: self.next_rev(),
            item_id: format!("m{}", self.messages),
            role,
            delta: String::new(),
            text: Some(text),
            incomplete: false,
        };
        self.keep(TranscriptEntry::Message(message));
    }

    fn turn(&mut self, phase: TurnPhase) {
        let (session_id, turn_id) = (self.session_id.clone(), self.turn_id.clone());
        let turn = TurnNotification { session_id, turn_id, rev: self.next_rev(), phase };
        self.keep(TranscriptEntry::Turn(turn));
    }

    fn keep(&mut self, entry: TranscriptEntry) {
        if self.is_complete() {
            return;
        }
        self.entries += 1;
        self.bytes += size(&entry);
        self.page.push_back(entry);
        while self.page.len() > PAGE || (self.bytes > PAGE_BYTES && self.page.len() > 1) {
            self.bytes -= self.page.pop_front().as_ref().map_or(0, size);
        }
    }

    /// Shown in this order: what is told after this counts on.
    fn next_rev(&mut self) -> u32 {
        self.rev += 1;
        self.rev
    }
}

/// Approximate size of an entry's texts, in bytes.
fn size(entry: &TranscriptEntry) -> usize {
    match entry {
        TranscriptEntry::Turn(turn) => match &turn.phase {
            TurnPhase::Started { text } => text.len(),
            TurnPhase::Ended { summary, .. } => summary.len(),
        },
        TranscriptEntry::Message(message) => message.text.as_ref().map_or(0, String::len),
        TranscriptEntry::Tool(tool) => {
            tool.title.len() + tool.detail.as_ref().map_or(0, String::len)
        }
    }
}
